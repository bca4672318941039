"""Files with random metadata, made by the libraries of their formats: attributes, sizes, encodings, fills, links."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import zarr

VERSIONS = {
    "cdf1": "NETCDF3_CLASSIC",
    "cdf2": "NETCDF3_64BIT_OFFSET",
    "cdf5": "NETCDF3_64BIT_DATA",
    "netcdf4": "NETCDF4",
}
OLD = ("i1", "i2", "i4", "f4", "f8")
NEW = (*OLD, "u1", "u2", "u4", "u8", "i8")
ALL = (*NEW, "f2", "c8", "?")
TEXTS = ("", "K", "größe", "two\nlines", "x" * 300, "café", " ", "0")
NAMES = (
    "units",
    "long_name",
    "comment",
    "valid_min",
    "flag_values",
    "größe",
    "with space",
    "CLASSES",
    "_hidden",
    "x-y",
)


def make(path: Path, kind: str, dice: random.Random) -> None:
    """Make a file of a kind."""
    makers = {"hdf5": _make_hdf5, "zarr": _make_zarr, "zarr:v2": _make_zarr}
    makers.get(kind, _make_netcdf)(path, kind, dice)


def number(dice: random.Random, dtype: str) -> Any:
    kind = np.dtype(dtype).kind
    if kind == "?":
        return np.bool_(dice.random() < 0.5)
    if kind == "b":
        return np.bool_(dice.random() < 0.5)
    if kind in "fc":
        return np.dtype(dtype).type(dice.choice([0, 1.5, -2.25, float("nan"), float("inf")]))
    limits = np.iinfo(dtype)
    return np.dtype(dtype).type(dice.choice([0, 1, int(limits.min), int(limits.max), 17]))


def numbers(dice: random.Random, dtype: str) -> Any:
    return np.array([number(dice, dtype) for _ in range(dice.randint(2, 5))], dtype)


def values(dice: random.Random, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    return np.array([number(dice, dtype) for _ in range(count)], dtype).reshape(shape)


def plain_attributes(dice: random.Random, dtypes: tuple[str, ...]) -> dict[str, Any]:
    """Text and numbers, which every format has."""
    found: dict[str, Any] = {}
    for name in dice.sample(NAMES, dice.randint(0, 4)):
        dtype = dice.choice(dtypes)
        makers: list[Callable[[], Any]] = [
            lambda: dice.choice(TEXTS),
            lambda dtype=dtype: number(dice, dtype),
            lambda dtype=dtype: numbers(dice, dtype),
        ]
        found[name] = dice.choice(makers)()
    return found


def fill(dice: random.Random, dtype: str) -> Any:
    """Return a fill value; in half of the cases the type cannot hold it; None for none."""
    kind = np.dtype(dtype).kind
    if kind not in "iuf" or dice.random() < 0.4:
        return None
    fits = number(dice, dtype)
    beyond = {
        "i": [np.float64("nan"), np.int32(70000)],
        "u": [np.int16(-1), np.float64("nan")],
        "f": [np.float64(1e300)],
    }
    return dice.choice([fits, dice.choice(beyond[kind])])


# ---- netCDF ----------------------------------------------------------------------------------------------------------


def _make_netcdf(path: Path, kind: str, dice: random.Random) -> None:
    dtypes = OLD if kind in ("cdf1", "cdf2") else NEW
    with netCDF4.Dataset(path, "w", format=VERSIONS[kind]) as file:
        file.createDimension("time", None)
        file.createDimension("x", 3)
        file.createDimension("chars", 5)
        file.setncatts(plain_attributes(dice, dtypes))
        groups = [file, file.createGroup("g")] if kind == "netcdf4" else [file]
        for count in range(dice.randint(1, 4)):
            group = dice.choice(groups)
            dtype = dice.choice(dtypes)
            dimensions = dice.choice([(), ("x",), ("time", "x")])
            missing = number(dice, dtype) if dice.random() < 0.4 else None
            made = group.createVariable(f"v{count}", dtype, dimensions, fill_value=missing)
            made.set_auto_maskandscale(False)
            made.setncatts(plain_attributes(dice, dtypes))
            shape = tuple({"x": 3, "time": 2}[name] for name in dimensions)
            made[...] = values(dice, dtype, shape) if shape else number(dice, dtype)
        made = file.createVariable("flag", "S1", ("x",), fill_value=dice.choice([None, b"-"]))
        made.set_auto_maskandscale(False)
        made[:] = np.array([b"a", b"-", b"c"])
        if kind == "netcdf4":
            _more_of_netcdf4(file, dice)
    if kind == "netcdf4" and dice.random() < 0.5:
        with h5py.File(path, "r+") as again:
            again["linked"] = again["flag"]
            again["soft"] = h5py.SoftLink("/flag")


def _more_of_netcdf4(file: Any, dice: random.Random) -> None:
    if dice.random() < 0.6:
        text = file.createVariable("names", str, ("x",))
        text[:] = np.array([dice.choice(TEXTS) for _ in range(3)], object)
        text.setncattr("about", "text")
    if dice.random() < 0.4:
        cloud = file.createEnumType(np.uint8, "cloud_t", {"clear": 0, "cloudy": 1})
        file.createVariable("cloud", cloud, ("x",))[:] = np.array([0, 1, 1], "u1")
    if dice.random() < 0.4:
        file.setncattr_string("people", ["Ann", "Bob"])


# ---- HDF5 ------------------------------------------------------------------------------------------------------------


def _odd_attributes(attributes: Any, dice: random.Random, file: Any) -> None:
    makers: dict[str, Callable[[], Any]] = {
        "structure": lambda: attributes.__setitem__("odd1", np.array((1, 2.5), [("a", "i4"), ("b", "f8")])),
        "opaque": lambda: attributes.__setitem__("odd2", np.void(b"ab\0c")),
        "ragged": lambda: attributes.create(
            "odd3", np.array([np.arange(2), np.arange(3)], dtype=object), dtype=h5py.vlen_dtype("i4")
        ),
        "texts": lambda: attributes.__setitem__("odd4", np.array([["a", "b"], ["c", "d"]], h5py.string_dtype())),
        "reference": lambda: attributes.__setitem__("odd5", file.ref),
        "table": lambda: attributes.__setitem__("odd6", np.ones((2, 2))),
        "nothing": lambda: attributes.__setitem__("odd7", h5py.Empty("f4")),
        "class": lambda: attributes.__setitem__("CLASS", "IMAGE"),
        "fixed": lambda: attributes.__setitem__("odd8", np.array([b"a", b"bcd"])),
        "enumeration": lambda: attributes.create("odd9", 1, dtype=h5py.enum_dtype({"A": 0, "B": 1}, "i1")),
    }
    for name in dice.sample(sorted(makers), dice.randint(0, 3)):
        makers[name]()


def _make_hdf5(path: Path, kind: str, dice: random.Random) -> None:
    del kind
    with h5py.File(path, "w", track_order=dice.random() < 0.5) as file:
        for name, value in plain_attributes(dice, ALL).items():
            file.attrs[name] = value
        names = []
        for count in range(dice.randint(1, 4)):
            dtype = dice.choice(ALL)
            name = f"{dice.choice(['', 'g/', 'g/deep/'])}v{count}"
            made = file.create_dataset(name, data=values(dice, dtype, dice.choice([(), (3,), (2, 3), (0, 3)])))
            names.append(name)
            for key, value in plain_attributes(dice, ALL).items():
                made.attrs[key] = value
            missing = fill(dice, dtype)
            if missing is not None:
                made.attrs["_FillValue"] = missing
            _odd_attributes(made.attrs, dice, file)
        _scales_of_hdf5(file, dice, names)
        _more_of_hdf5(file, dice, names[0])


def _scales_of_hdf5(file: Any, dice: random.Random, names: list[str]) -> None:
    """Dimensions with names, with labels, and without either; fill values that are no attribute."""
    for name in names:
        dataset = file[name]
        if "CLASS" in dataset.attrs:  # HDF5 attaches no scale to it
            continue
        for place, length in enumerate(dataset.shape):
            choice = dice.randrange(4)
            if choice == 0 and length:
                scale = f"scale{length}"
                if scale not in file:
                    file[scale] = np.arange(length)
                    file[scale].make_scale(dice.choice([scale, "another name"]))
                dataset.dims[place].attach_scale(file[scale])
            elif choice == 1:
                dataset.dims[place].label = dice.choice(["row", "column"])
    file.create_dataset("filled", (2, 3), "i2", fillvalue=dice.choice([None, 7]), maxshape=(None, 3), chunks=(4, 3))
    file.create_dataset("letters", (2,), "S3", fillvalue=dice.choice([None, b"abc"]))


def _more_of_hdf5(file: Any, dice: random.Random, first: str) -> None:
    makers: dict[str, Callable[[], Any]] = {
        "text": lambda: file.create_dataset(
            "text", data=np.array(["a", "", "größe"], object), dtype=h5py.string_dtype()
        ),
        "fixed": lambda: file.create_dataset("fixed", data=np.array([b"ab", b"cde"])),
        "null": lambda: file.create_dataset("null", data=h5py.Empty("f4")),
        "references": lambda: file.create_dataset("references", data=np.array([file[first].ref], h5py.ref_dtype)),
        "arrays": lambda: file.create_dataset("arrays", (2,), np.dtype(("f4", (3,)))),
        "enumeration": lambda: file.create_dataset("enum", data=[0, 1], dtype=h5py.enum_dtype({"A": 0, "B": 1}, "i1")),
        "type": lambda: file.__setitem__("type", np.dtype([("a", "i4")])),
        "hard": lambda: file.__setitem__("hard", file[first]),
        "soft": lambda: file.__setitem__("soft", h5py.SoftLink(f"/{first}")),
        "nowhere": lambda: file.__setitem__("nowhere", h5py.SoftLink("/nothing")),
        "outside": lambda: file.__setitem__("outside", h5py.ExternalLink("other.h5", "/z")),
        "group": lambda: file.__setitem__("again", h5py.SoftLink("/")),
    }
    for name in dice.sample(sorted(makers), dice.randint(0, 5)):
        makers[name]()


# ---- Zarr ------------------------------------------------------------------------------------------------------------


def _make_zarr(path: Path, kind: str, dice: random.Random) -> None:
    version = 2 if kind == "zarr:v2" else 3
    root = zarr.open_group(path, mode="w", zarr_format=version, attributes=_json_attributes(dice))
    for count in range(dice.randint(1, 4)):
        dtype = dice.choice(ALL)
        shape = dice.choice([(), (3,), (2, 3)])
        data = values(dice, dtype, shape)
        names = None if version == 2 or dice.random() < 0.3 else ("y", "x")[2 - len(shape) :]
        group = dice.choice([root, root.require_group("g")])
        made = group.create_array(
            f"v{count}",
            shape=shape,
            dtype=dtype,
            chunks=shape or (),
            fill_value=dice.choice([None, 0]),
            dimension_names=names,
            attributes=_json_attributes(dice),
        )
        made[...] = data
    if dice.random() < 0.5:
        made = root.create_array("text", shape=(3,), dtype=str if version == 3 else "str", chunks=(2,))
        made[:] = np.array(["a", "", "größe"])
    if dice.random() < 0.5:
        zarr.consolidate_metadata(path)


def _json_attributes(dice: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {}
    choices = [
        "text",
        1,
        -2.5,
        [1, 2, 3],
        [1.5, 2.5],
        ["a", "b"],
        {"deep": [1, None]},
        None,
        True,
        [[1, 2], [3, 4]],
        "",
    ]
    for name in dice.sample(NAMES, dice.randint(0, 4)):
        found[name] = dice.choice(choices)
    return found

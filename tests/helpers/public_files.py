"""Files of other people and other libraries: those that installed packages ship, and those that libraries write."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from public_netcdf_files import (
    CONTENTS,
    compressed,
    groups,
    h5netcdf,
    in_netcdf4,
    netcdf4,
    of_classic,
    scipy,
    user_types,
    xarray,
)

SHIPPED = {
    "netcdf-classic": {
        "scipy": ["io/tests/data/*.nc"],
        "xarray": ["tests/data/*.nc"],
        "iris_sample_data": ["sample_data/*.nc"],
    },
    "hdf5": {
        "h5py": ["tests/data_files/*.h5"],
        "iris_sample_data": ["sample_data/*.nc", "sample_data/NEMO/*0201-*.nc"],
    },
    "npy": {
        "numpy": ["lib/tests/data/*.npy"],
        "scipy": ["interpolate/tests/data/*.npy", "stats/tests/data/*.npy", "stats/tests/data/levy_stable/*.npy"],
        "matplotlib": ["mpl-data/sample_data/axes_grid/*.npy"],
    },
}
"""The packages that contain files of each format, and the folders."""

MAGIC = {"netcdf-classic": b"CDF", "hdf5": b"\x89HDF", "npy": b"\x93NUMPY"}


def shipped(format: str) -> list[Path]:  # noqa: A002
    """Return the files of a format that packages of this environment ship."""
    found = []
    for package, patterns in SHIPPED[format].items():
        spec = importlib.util.find_spec(package)
        folders = spec.submodule_search_locations if spec is not None else None
        for folder in folders or ():
            for pattern in patterns:
                found += sorted(Path(folder).glob(pattern))
    return [path for path in found if path.read_bytes()[:6].startswith(MAGIC[format])]


# ---- Written here ----------------------------------------------------------------------------------------------------


def _h5py(path: Path) -> None:
    import h5py

    with h5py.File(path, "w", libver="latest", userblock_size=512) as file:
        for name, words in {
            "plain": {},
            "gzip": {"chunks": (3, 4), "compression": "gzip", "shuffle": True},
            "lzf": {"chunks": (4, 4), "compression": "lzf"},
            "growing": {"chunks": (2, 3), "maxshape": (None, None)},
            "scaleoffset": {"chunks": (5, 7), "scaleoffset": 0},
        }.items():
            file.create_dataset(name, data=np.arange(70).reshape(10, 7), **words)
        file["complex"] = np.array([1 + 2j, 3])
        file["bool"] = np.array([True, False])
        file["fixed"] = np.array([b"ab", b"c"])
        file["half"] = np.array([0.5, 2], "f2")
        file["big"] = np.array([1, 2], ">u4")
        file.create_dataset("never", (3,), "i4", fillvalue=5)


def _in_h5py(write_into: Callable[[Any], None], **words: Any) -> Callable[[Path], None]:
    """Return a function that makes a file by h5py."""

    def write(path: Path) -> None:
        import h5py

        with h5py.File(path, "w", **words) as file:
            write_into(file)

    return write


def _indexes_of_chunks(file: Any) -> None:
    """Make every kind of chunk index of HDF5 that the file's version has."""
    values = np.arange(70).reshape(10, 7)
    file.create_dataset("single", data=values, chunks=(10, 7))
    file.create_dataset("fixed", data=values, chunks=(3, 4), compression="gzip")
    file.create_dataset("extensible", data=values, chunks=(3, 4), maxshape=(None, 7))
    file.create_dataset("tree", data=values, chunks=(3, 4), maxshape=(None, None))
    file.create_dataset("ends", data=values, chunks=(3, 4), maxshape=(20, 9))


def _numbers(file: Any) -> None:
    for kind in ("i1", "u1", ">i2", "<u4", ">i8", "u8", "f2", ">f4", "f8"):
        file[kind] = np.arange(6).reshape(2, 3).astype(kind)
    file["scalar"] = 3.5
    file.create_dataset("none", (0, 3), "i4")


def _filters(file: Any) -> None:
    values = np.arange(600, dtype="i4").reshape(30, 20)
    for name, words in {
        "shuffled": {"shuffle": True},
        "checked": {"fletcher32": True},
        "all": {"compression": 9, "shuffle": True, "fletcher32": True},
        "lzf": {"compression": "lzf", "shuffle": True},
        "scaled": {"scaleoffset": 4},
    }.items():
        file.create_dataset(name, data=values % 10, chunks=(7, 6), **words)


def _deep(file: Any) -> None:
    group = file
    for depth in range(12):
        group = group.create_group(f"level {depth}")
        group.attrs["depth"] = depth
        group[f"v{depth}"] = np.arange(depth)


def _fixed_texts(file: Any) -> None:
    file["names"] = np.array([[b"Berlin", b"Oslo"], [b"Rome", b""]])
    file["one"] = np.bytes_(b"text")
    file["names"].attrs["several"] = ["a", "bb", "ö"]


def _unwritten_chunks(file: Any) -> None:
    file.create_dataset("never", (30, 20), "f4", chunks=(7, 6), fillvalue=-1)
    partly = file.create_dataset("partly", (30, 20), "f4", chunks=(7, 6), fillvalue=np.nan, compression=1)
    partly[8:12] = 3
    file.create_dataset("late", (5,), "i2", fillvalue=4)


def _attributes_of_h5py(file: Any) -> None:
    file["v"] = np.arange(3)
    for kind in ("i1", "u2", ">i4", "u8", "f2", ">f8"):
        file["v"].attrs[kind] = np.array([1, 2], kind)
    file["v"].attrs["text"], file.attrs["fixed"] = "größe", np.bytes_(b"fixed")
    file["v"].attrs["table"] = np.arange(6).reshape(2, 3)


def _scales(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file["x"], file["v"] = np.arange(4.0), np.arange(12.0).reshape(3, 4)
        file["x"].make_scale("x")
        file["v"].dims[1].attach_scale(file["x"])
        file["v"].dims[0].label = "time"
        file["soft"] = h5py.SoftLink("/v")


def _zarr(version: int, kind: str = "f4", **words: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import zarr

        group = zarr.open_group(path, mode="w", zarr_format=version)
        values = (np.arange(70).reshape(10, 7) % 50).astype(kind)
        named = {"dimension_names": ["y", "x"]} if version == 3 else {}
        if isinstance(words.get("compressors"), str):
            words["compressors"] = [_codec(words["compressors"])]
        array = group.create_array("g/v", shape=(10, 7), dtype=kind, **{"chunks": (4, 3), **named, **words})
        array[...] = values
        array.attrs["units"] = "K"
        if version == 2:
            array.attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]
        scalar = group.create_array("alone", shape=(), dtype="i4")
        scalar[...] = 3

    return write


def _zarr_of_xarray(version: int) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import xarray as xr

        values = np.where(np.arange(12.0) % 5 == 0, np.nan, np.arange(12.0)).reshape(4, 3)
        data_set = xr.Dataset({"t": (("y", "x"), values)}, {"x": [1, 2, 3]}, {"title": "of xarray"})
        data_set.to_zarr(path, zarr_format=version, consolidated=True)

    return write


def _npy(values: Any, version: tuple[int, int] | None = None) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with open(path, "wb") as file:
            np.lib.format.write_array(file, np.asanyarray(values), version=version)

    return write


def _codec(name: str) -> Any:
    import zarr

    return {"blosc": zarr.codecs.BloscCodec(cname="lz4"), "gzip": zarr.codecs.GzipCodec(level=1)}[name]


WRITTEN: dict[str, dict[str, Callable[[Path], None]]] = {
    "netcdf-classic": {
        "scipy-1": scipy(1),
        "scipy-2": scipy(2),
        "xarray-scipy": xarray("scipy"),
        **of_classic("CDF-1"),
        **of_classic("CDF-2"),
        **of_classic("CDF-5"),
    },
    "hdf5": {
        "netcdf4": netcdf4("NETCDF4"),
        "netcdf4-classic": netcdf4("NETCDF4_CLASSIC"),
        "compressed": compressed,
        "user-types": user_types,
        "groups": groups,
        "h5netcdf": h5netcdf,
        "h5py": _h5py,
        "scales": _scales,
        "xarray-netcdf4": xarray("netcdf4"),
        "xarray-h5netcdf": xarray("h5netcdf"),
        **{f"netcdf4-{name}": in_netcdf4("NETCDF4", contents) for name, contents in CONTENTS.items()},
        "h5py-earliest": _in_h5py(_indexes_of_chunks, libver="earliest"),
        "h5py-latest": _in_h5py(_indexes_of_chunks, libver="latest"),
        "h5py-numbers": _in_h5py(_numbers),
        "h5py-filters": _in_h5py(_filters),
        "h5py-deep": _in_h5py(_deep, track_order=True),
        "h5py-texts": _in_h5py(_fixed_texts),
        "h5py-unwritten": _in_h5py(_unwritten_chunks),
        "h5py-attributes": _in_h5py(_attributes_of_h5py),
    },
    "zarr": {
        "v3": _zarr(3),
        "v3-plain": _zarr(3, compressors=None),
        "v3-blosc": _zarr(3, compressors="blosc"),
        "v3-gzip": _zarr(3, compressors="gzip"),
        "v3-shards": _zarr(3, shards=(8, 6)),
        "v3-integers": _zarr(3, "i8", fill_value=7),
        "v3-bool": _zarr(3, "bool"),
        "v3-complex": _zarr(3, "c16"),
        "v3-big-endian": _zarr(3, ">f4"),
        "v2": _zarr(2),
        "v2-integers": _zarr(2, "<i8", fill_value=7),
        "v2-unsigned": _zarr(2, "|u1"),
        "v2-bool": _zarr(2, "bool"),
        "v2-complex": _zarr(2, "<c16"),
        "v2-plain": _zarr(2, compressors=None),
        "v2-fortran": _zarr(2, order="F"),
        "v2-big-endian": _zarr(2, ">i2"),
        "v2-slashes": _zarr(2, chunk_key_encoding={"name": "v2", "separator": "/"}),
        "v2-xarray": _zarr_of_xarray(2),
        "v3-xarray": _zarr_of_xarray(3),
    },
    "npy": {
        "C": _npy(np.arange(12.0).reshape(3, 4)),
        "Fortran": _npy(np.asfortranarray(np.arange(12).reshape(3, 4))),
        "big-endian": _npy(np.arange(5, dtype=">u2")),
        "no-dimensions": _npy(np.float32(2.5)),
        "empty": _npy(np.zeros((0, 3), "i2")),
        "complex": _npy(np.array([1 + 2j, 3])),
        "structure": _npy(np.array([(1, 2.5)], [("a", "i4"), ("b", "f8")])),
        "text": _npy(np.array([b"ab", b"c"])),
        "version-2": _npy(np.arange(3), (2, 0)),
        "version-3": _npy(np.array([(1,)], [("é", "i4")]), (3, 0)),
    },
}
"""By format and name: the function that writes the file."""


def variety(path: Path) -> str:
    """Return the format and the version of a file, by its bytes."""
    if path.is_dir():
        return "Zarr 3" if (path / "zarr.json").exists() else "Zarr 2"
    head = path.read_bytes()[:4]
    if head[:3] == b"CDF":
        return f"CDF-{head[3]}"
    if head[:4] == MAGIC["npy"][:4]:
        return "npy"
    import h5py

    with h5py.File(path) as file:
        datasets: list[Any] = []
        file.visititems(lambda _, one: datasets.append(one) if isinstance(one, h5py.Dataset) else None)
        is_netcdf4 = "_NCProperties" in file.attrs or any("_Netcdf4Dimid" in one.attrs for one in datasets)
    return "netCDF-4" if is_netcdf4 else "HDF5"

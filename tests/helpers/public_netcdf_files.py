"""Files that netCDF's library, SciPy, h5netcdf and xarray write, for the tests of other people's files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def scipy(version: int) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from scipy.io import netcdf_file

        with netcdf_file(path, "w", version=version) as file:
            for name, length in (("time", None), ("y", 3), ("x", 5)):
                file.createDimension(name, length)
            v = file.createVariable("v", "i2", ("time", "y", "x"))
            v[:4] = np.arange(60).reshape(4, 3, 5)
            v.units, v.scale_factor, v._FillValue = b"K", 0.5, np.int16(7)
            file.createVariable("time", "f8", ("time",))[:4] = [0.5, 1, 1.5, 2]
            file.createVariable("odd", "i1", ("time", "y"))[:4] = np.arange(12).reshape(4, 3)
            file.createVariable("text", "c", ("y", "x"))[:] = np.full((3, 5), b"a")
            file.title = b"of scipy"

    return write


def netcdf4(model: str, *, unlimited: bool = True) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import netCDF4

        with netCDF4.Dataset(path, "w", format=model) as file:
            for name, length in (("time", None if unlimited else 4), ("y", 3), ("x", 5)):
                file.createDimension(name, length)
            for name, kind in (("b", "i1"), ("s", "i2"), ("i", "i4"), ("f", "f4"), ("d", "f8")):
                v = file.createVariable(name, kind, ("time", "y", "x"), fill_value=9)
                v[:] = np.arange(60).reshape(4, 3, 5)
                v.long_name = f"{name} of {model}"
            file.createVariable("c", "S1", ("x",))[:] = np.array(list("abcde"), "S1")
            file.createVariable("alone", "f8", ())[:] = 4.5

    return write


MODELS = {"CDF-1": "NETCDF3_CLASSIC", "CDF-2": "NETCDF3_64BIT_OFFSET", "CDF-5": "NETCDF3_64BIT_DATA"}
"""The names that netCDF's library has for the versions of netCDF classic."""


def in_netcdf4(model: str, write_into: Callable[[Any], None]) -> Callable[[Path], None]:
    """Return a function that makes a file by netCDF's library, of a model such as "NETCDF4"."""

    def write(path: Path) -> None:
        import netCDF4

        with netCDF4.Dataset(path, "w", format=model) as file:
            write_into(file)

    return write


def _one_record_variable(file: Any) -> None:
    """The records of a single record variable follow each other without padding."""
    file.createDimension("time", None)
    file.createDimension("x", 3)
    file.createVariable("v", "i1", ("time", "x"))[:] = np.arange(15).reshape(5, 3)
    file.createVariable("fixed", "i2", ("x",))[:] = [1, 2, 3]


def _no_records(file: Any) -> None:
    file.createDimension("time", None)
    file.createDimension("x", 3)
    file.createVariable("v", "f4", ("time", "x")).units = "K"
    file.createVariable("w", "f8", ("x",))[:] = [1, 2, 3]


def _only_attributes(file: Any) -> None:
    file.createDimension("unused", 7)
    file.title, file.empty = "ä text of\ntwo lines", ""
    for kind in ("i1", "i2", "i4", "f4", "f8"):
        file.setncattr(kind, np.array([1, 2, 3], kind))
        file.setncattr(f"one {kind}", np.dtype(kind).type(7))


def _odd_names_and_lengths(file: Any) -> None:
    for name, length in (("time", None), ("größe", 1), ("two words", 3), ("x.y-z", 5)):
        file.createDimension(name, length)
    for name, kind in (("über", "i1"), ("a b", "i2"), ("_v", "S1"), ("w+1", "f4")):
        values = np.full((3, 3, 5), b"x") if kind == "S1" else np.arange(45).reshape(3, 3, 5)
        file.createVariable(name, kind, ("time", "two words", "x.y-z"))[:] = values.astype(kind)
    file.createVariable("short", "i2", ("größe",))[:] = 9


def _unwritten(file: Any) -> None:
    file.createDimension("time", None)
    file.createDimension("x", 4)
    for kind in ("i1", "i2", "i4", "f4", "f8"):
        file.createVariable(f"never_{kind}", kind, ("x",))
        file.createVariable(f"lags_{kind}", kind, ("time", "x"), fill_value=3)
    file["lags_i2"][4] = np.arange(4)


def _many(file: Any) -> None:
    file.createDimension("time", None)
    for number in range(30):
        file.createDimension(f"d{number}", number + 1)
        v = file.createVariable(f"v{number}", ("i2", "f8", "i4")[number % 3], ("time", f"d{number}"))
        v[:2] = np.arange(2 * (number + 1)).reshape(2, -1)
        v.setncatts({f"a{other}": other for other in range(5)})


def _texts(file: Any) -> None:
    for name, length in (("time", None), ("station", 3), ("characters", 6)):
        file.createDimension(name, length)
    names = np.array([list("Berlin"), list("Oslo  "), list("Rome  ")], "S1")
    file.createVariable("name", "S1", ("station", "characters"))[:] = names
    file.createVariable("log", "S1", ("time", "characters"))[:] = names[::-1]


CONTENTS: dict[str, Callable[[Any], None]] = {
    "one-record-variable": _one_record_variable,
    "no-records": _no_records,
    "only-attributes": _only_attributes,
    "odd-names": _odd_names_and_lengths,
    "unwritten": _unwritten,
    "many": _many,
    "texts": _texts,
}
"""The contents of files of any version of netCDF."""


def of_classic(version: str) -> dict[str, Callable[[Path], None]]:
    model = MODELS[version]
    found = {f"{version}-{name}": in_netcdf4(model, contents) for name, contents in CONTENTS.items()}
    found |= {f"{version}-all-types": netcdf4(model), f"{version}-fixed": netcdf4(model, unlimited=False)}
    return {**found, f"{version}-xarray": xarray("netcdf4", format=model)}


def compressed(path: Path) -> None:
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        for name, length in (("time", None), ("y", 30), ("x", 50)):
            file.createDimension(name, length)
        values = np.random.default_rng(1).normal(size=(4, 30, 50)).astype("f4")
        for name, words in {
            "zlib": {"compression": "zlib", "shuffle": True, "fletcher32": True},
            "digits": {"compression": "zlib", "least_significant_digit": 2},
            "rounded": {"compression": "zlib", "significant_digits": 3},
            "big": {"endian": "big", "chunksizes": (1, 7, 50)},
            "contiguous": {},
        }.items():
            file.createVariable(name, "f4", ("time", "y", "x"), **words)[:] = values


def user_types(path: Path) -> None:
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 3)
        kinds = file.createEnumType("u1", "kinds", {"rain": 0, "snow": 1})
        file.createVariable("enum", kinds, ("x",))[:] = [0, 1, 1]
        file.createVariable("text", str, ("x",))[:] = np.array(["a", "éé", ""], object)
        pair = np.dtype([("a", "i4"), ("b", "f8")])
        compound = file.createVariable("pair", file.createCompoundType(pair, "pair_t"), ("x",))
        compound[:] = np.array([(1, 2.5), (3, 4.5), (5, 6.5)], pair)
        ragged = file.createVariable("ragged", file.createVLType("i4", "list_t"), ("x",))
        for number in range(3):
            ragged[number] = np.arange(number + 1, dtype="i4")


def groups(path: Path) -> None:
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 4)
        inner = file.createGroup("ocean/deep")
        inner.createDimension("z", None)
        inner.createVariable("t", "f8", ("z", "x"))[:] = np.arange(8.0).reshape(2, 4)
        file["ocean"].createVariable("x", "i8", ("x",))[:] = np.arange(4)
        file["ocean"].source = "a group"


def h5netcdf(path: Path) -> None:
    import h5netcdf

    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"x": 4, "time": None}
        v = file.create_variable("v", ("time", "x"), "f4", chunks=(2, 2), compression="lzf")
        file.resize_dimension("time", 3)
        v[...] = np.arange(12.0).reshape(3, 4)
        file.create_variable("g/w", ("x",), "i8", data=np.arange(4))


def xarray(engine: str, **words: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import xarray as xr

        times = np.datetime64("2001-01-01", "ns") + np.arange(4) * np.timedelta64(6, "h")
        packed = {"dtype": "i2", "scale_factor": 0.25, "_FillValue": -1}
        data_set = xr.Dataset(
            {"t": (("time", "x"), np.arange(12.0).reshape(4, 3), {"units": "K"}, packed), "n": ("x", ["a", "bb", "c"])},
            {"time": times, "x": [1.5, 2.5, 3.5]},
        )
        data_set.to_netcdf(path, engine=engine, unlimited_dims=["time"], **words)

    return write

"""Filtered datasets of HDF5 and netCDF-4 that ranks write, compared with what h5py and netCDF4 read."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import swath
from cases import Case, holds, make_case, share, strided_like, who
from swath.formats import FORMATS

CODECS: tuple[Any, ...] = (
    "zlib",
    ["shuffle", {"name": "deflate", "configuration": {"level": 6}}],
    ["shuffle", "gzip", "fletcher32"],
    ["fletcher32", "shuffle"],
    "fletcher32",
)
WRITES = 3
MAKERS = (*(name for name in ("hdf5", "netcdf4") if name in FORMATS), "h5py", "netCDF4")
"""Swath's formats, and other libraries."""


def make_filtered_case(rng: random.Random, ranks: int) -> Case:
    """A random case whose array has chunks."""
    while True:
        case = make_case(rng, ranks, layouts=("hdf5",))
        if case.shape and all(case.shape) and case.dtype.names is None:
            tuning = rng.choice([{}, {"chunk_buffer_bytes": 4096}, {"chunk_buffer_bytes": 1}])
            return dataclasses.replace(case, tuning=tuning)


def make_with(maker: str, case: Case, path: Path, comm: Any) -> str:
    """Make the dataset "g/v" without stored chunks; return the name of its library. Collective."""
    rng = random.Random(case.seed)
    chunks = tuple(rng.randint(1, n) for n in case.shape)
    if maker in ("netcdf4", "netCDF4") and case.dtype.kind not in "iuf":
        maker = "h5py"
    if maker in ("hdf5", "netcdf4"):
        options = {"variable": "g/v", "chunks": chunks, "codecs": rng.choice(CODECS), "format": maker}
        fill = 0 if maker == "netcdf4" else None  # else netCDF's own
        swath.create(path, case.shape, case.dtype, fill=fill, comm=comm, **options).close()
    elif comm.rank == 0 and maker == "h5py":
        filters = rng.choice([{"compression": 4}, {"shuffle": True, "compression": 1, "fletcher32": True}])
        with h5py.File(path, "w", libver=rng.choice(["earliest", "latest"])) as file:
            file["before"] = np.arange(3)
            grows = (rng.choice([None, case.shape[0]]), *case.shape[1:])
            file.create_dataset("g/v", case.shape, case.dtype, chunks=chunks, maxshape=grows, **filters)
    elif comm.rank == 0:
        make_netcdf4(case, path, chunks, rng)
    return maker


def make_netcdf4(case: Case, path: Path, chunks: tuple[int, ...], rng: random.Random) -> None:
    """Make the dataset by netCDF4, with dimensions and an attribute."""
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        group = file.createGroup("g")
        names = [f"d{i}" for i in range(len(case.shape))]
        for name, n in zip(names, case.shape, strict=True):
            group.createDimension(name, n)
        endian = "big" if case.dtype.str[0] == ">" else "little"
        options = {"zlib": True, "complevel": 2, "shuffle": rng.random() < 0.5, "fletcher32": rng.random() < 0.5}
        v = group.createVariable("v", case.dtype, names, chunksizes=chunks, endian=endian, fill_value=0, **options)
        v.units = "K"


def check_filtered_writes(case: Case, path: Path, comm: Any, barrier: Any) -> None:
    """Ranks write with several opens; after each, h5py reads NumPy's values. Collective."""
    made = make_with(MAKERS[case.seed % len(MAKERS)], case, path, comm)
    barrier()
    expected = np.zeros(case.shape, case.dtype)
    numbers = np.arange(expected.size).reshape(case.shape)
    for salt in range(1, WRITES + 1):
        new = case.values(salt)
        for rank in range(case.ranks):
            for part in share(case, numbers, rank) if holds(case, rank) else []:
                expected.reshape(-1)[part.ravel()] = new.reshape(-1)[part.ravel()]
        parts = share(case, new, comm.rank)
        if case.strided_memory:
            strided = [strided_like(part, random.Random(case.seed + comm.rank)) for part in parts]
            for target, part in zip(strided, parts, strict=True):
                target[...] = part
            parts = strided
        with swath.open(path, "g/v", mode="r+", comm=comm) as a:
            values = parts if case.boxes is not None else parts[0]
            a.write(values, who(case, comm.rank), selection=case.selection, tuning=case.tuning)
            assert a.counters.method == "chunks"
            assert a[...].tobytes() == expected.tobytes(), "by the places that this rank remembers"
        barrier()
        if comm.rank == 0:
            check_stored(path, expected, made)
        barrier()


def check_stored(path: Path, expected: np.ndarray, made: str) -> None:
    """Check other readers' values bit for bit, and that no other file is left."""
    with h5py.File(path) as file:
        assert file["g/v"][...].tobytes() == expected.tobytes()
        assert made != "h5py" or list(file["before"]) == [0, 1, 2]
    if made in ("netcdf4", "netCDF4"):
        import netCDF4

        with netCDF4.Dataset(path) as file:
            file.set_auto_mask(False)
            v = file["g/v"]
            assert np.asarray(v[...]).astype(expected.dtype).tobytes() == expected.tobytes()
            assert made == "netcdf4" or (v.units == "K" and v.filters()["zlib"])
    assert [name.name for name in path.parent.iterdir() if name.name.startswith(f".{path.name}")] == []

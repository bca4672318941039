"""Calls whose arguments differ between the ranks, and what every rank must see: simulated and under MPI.

A case is made from a `random.Random`, so that all MPI ranks can make the same one from a seed. Each changed argument is
valid by itself: the call would succeed if all ranks passed it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import swath
from cases import random_distribution, random_selection
from swath.base import stored_path
from swath.space import normalise_selection

SHAPE = (8, 6)
VALUES = np.arange(48, dtype="<i4").reshape(SHAPE)
NOISE = np.random.default_rng(1).integers(0, 256, 2000, dtype=np.uint8).tobytes()
METHODS = ("auto", "direct", "sieve", "list", "two-phase")
ENGINES = (None, "posix", "uring", "null")
STREAMS = ("default", 4, None, {"read": 2, "write": 3}, "read=auto,write=auto")


def make_files(folder: Path) -> None:
    """Make the files that the cases open: none of them may change."""
    import h5py
    import netCDF4

    for number, name in enumerate(("a.npy", "b.npy")):
        np.save(folder / name, VALUES + number)
    (folder / "a.raw").write_bytes(NOISE)
    (folder / "old.npy").write_bytes(b"what was there before")
    with h5py.File(folder / "two.h5", "w") as file:
        for number, name in enumerate("uv"):
            file.create_dataset(name, data=VALUES + number)
            file.create_dataset(f"chunked_{name}", data=VALUES + number, chunks=(3, 4))
            file.create_dataset(f"coded_{name}", data=VALUES + number, chunks=(3, 4), compression="gzip")
    with netCDF4.Dataset(folder / "two.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("y", SHAPE[0])
        file.createDimension("x", SHAPE[1])
        for number, name in enumerate("uv"):
            file.createVariable(name, "i4", ("y", "x"))[:] = VALUES + number


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file, hidden ones too."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b"" for p in sorted(folder.rglob("*"))}


# ---- calls that open or make files -----------------------------------------------------------------------------------

Arguments = dict[str, Any]
Call = Callable[[Path, Any, Arguments], object]


def named(folder: Path, arguments: Arguments) -> Arguments:
    """Return the arguments with paths instead of names, except for pools."""
    names = {key: arguments[key] for key in ("path", "source", "target", "a", "b") if key in arguments}
    return {**arguments, **{k: folder / name if stored_path.of(name).is_local else name for k, name in names.items()}}


def call_open(folder: Path, comm: Any, arguments: Arguments) -> None:
    swath.open(**named(folder, arguments), comm=comm).close()


def call_create(folder: Path, comm: Any, arguments: Arguments) -> None:
    with swath.create(**named(folder, arguments), comm=comm):
        raise AssertionError("created, though the ranks asked for different files")


def call_copy(folder: Path, comm: Any, arguments: Arguments) -> None:
    swath.copy(**named(folder, arguments), comm=comm)


def call_explain_copy(folder: Path, comm: Any, arguments: Arguments) -> None:
    swath.explain_copy(**named(folder, arguments), comm=comm)


def call_verify(folder: Path, comm: Any, arguments: Arguments) -> None:
    swath.verify(**named(folder, arguments), comm=comm)


OPEN_RAW = {"path": "a.raw", "shape": SHAPE, "dtype": "<i4"}
CREATE_ZARR = {"path": "new.zarr", "shape": SHAPE, "dtype": "<i4"}
COPY = {"source": "a.npy", "target": "new.npy"}
COPY_H5 = {"source": "two.h5", "target": "new.zarr", "variable": "u"}
ADVICE = [swath.advise_layout([access], SHAPE, "<i4", formats=["hdf5"]) for access in ("[:, j]", "[i, :]")]
TABLES: list[tuple[Call, Arguments, dict[str, tuple[Any, ...]]]] = [
    (
        call_open,
        OPEN_RAW,
        {
            "path": ("a.npy",),
            "mode": ("r+",),
            "shape": ((6, 8), (8, 5), 48),
            "dtype": ("<f4", ">i4", "<i2", [("a", "<i2"), ("b", "<i2")]),
            "order": ("F", (1, 0)),
            "offset": (4, 100),
            "format": ("raw",),
            "engine": ENGINES[1:],
            "streams": STREAMS[1:],
            "lock_timeout": [5, 0.5],
            "decode": (True,),
        },
    ),
    (call_open, {"path": "two.nc", "variable": "u"}, {"variable": ("v",), "format": ("netcdf-classic",)}),
    (call_open, {"path": "two.h5", "variable": "u"}, {"variable": ("v", "coded_u"), "path": ("two.nc",)}),
    (
        call_create,
        CREATE_ZARR,
        {
            "path": ("other.zarr",),
            "shape": ((6, 8), (8, 7)),
            "dtype": ("<i8", "<f4", "u1"),
            "order": ("F",),
            "fill": (0, 1, -7),
            "variable": ("u", "group/u"),
            "dimensions": (("y", "x"), ("x", "y")),
            "attributes": ({"units": "m"}, {"units": "km"}, {"units": "m", "scale": 2}, {"scale": 2.0}),
            "chunks": ((4, 3), (8, 6)),
            "shards": ((8, 6),),
            "codecs": ("gzip", [], ["shuffle", "zstd"]),
            "format": ("zarr:v2",),
            "atomic": (False,),
            "overwrite": (True,),
            "engine": ENGINES[1:3],
            "streams": STREAMS[1:],
            "lock_timeout": [5, 0.5],
        },
    ),
    (
        call_create,
        {"path": "old.npy", "shape": SHAPE, "dtype": "<f8", "fill": 0.0, "overwrite": True},
        {"fill": (-0.0, 1e-9, float("nan"), None), "dtype": ("f4", ">f8"), "order": ("F",), "atomic": (False,)},
    ),
    (call_create, {"path": "new.h5", "shape": SHAPE, "dtype": "<i4"}, {"layout": tuple(ADVICE)}),
    (
        call_create,
        {"path": "rados:climate/new.npy", "shape": SHAPE, "dtype": "<i4", "stripe": (65536, 4, 1 << 22)},
        {"stripe": ((65536, 8, 1 << 22), None), "path": ("rados:climate/other.npy", "rados:weather/new.npy")},
    ),
    (
        call_copy,
        COPY,
        {
            "source": ("b.npy",),
            "target": ("other.npy",),
            "axes": ((1, 0),),
            "order": ("F",),
            "dtype": ("<i8", "<f8"),
            "casting": ("unsafe",),
            "format": ("raw",),
            "memory": ("1MiB", 1 << 21),
            "overwrite": (True,),
            "resume": (True, False),
            "workers": (1,),
            "engine": ENGINES[1:3],
            "checkpoint_bytes": (1000,),
            "exclude": (["a"],),
            "skip_unsupported": (True,),
        },
    ),
    (
        call_copy,
        COPY_H5,
        {
            "variable": ("v", "coded_v"),
            "target_variable": ("w",),
            "coordinates": (True,),
            "chunks": ((4, 3),),
            "shards": ((8, 6),),
            "codecs": ("gzip", []),
        },
    ),
    (call_copy, {**COPY, "target": "old.npy", "overwrite": True}, {"source": ("b.npy",), "dtype": ("<f8",)}),
    (
        call_explain_copy,
        COPY_H5,
        {
            "source": ("two.nc",),
            "target": ("other.zarr",),
            "variable": ("v",),
            "memory": ("1MiB",),
            "workers": (1,),
            "cached": (True,),
            "overwrite": (True,),
            "resume": (True,),
            "coordinates": (True,),
            "target_variable": ("w",),
            "axes": ((1, 0),),
            "order": ("F",),
            "chunks": ((4, 3),),
            "shards": ((8, 6),),
            "codecs": ("gzip",),
            "dtype": ("<f8",),
            "casting": ("unsafe",),
            "format": ("zarr:v2",),
        },
    ),
    (
        call_verify,
        {"a": "two.nc", "b": "two.h5", "variable": "u", "other_variable": "u"},
        {
            "a": ("two.h5",),
            "b": ("two.nc",),
            "variable": ("v",),
            "other_variable": ("v",),
            "axes": ((1, 0),),
            "memory": ("1MiB",),
            "engine": ENGINES[1:3],
            "by_library": (True,),
        },
    ),
]
NOT_COMPARED = {"comm"}


# ---- calls on arrays that are open, and on memory --------------------------------------------------------------------


@dataclass(frozen=True)
class Opened:
    """Two arrays, opened in the same way on all ranks."""

    first: swath.Array
    second: swath.Array


PAIRS: dict[str, tuple[Arguments, Arguments]] = {
    "variables of a netCDF file": ({"path": "two.nc", "variable": "u"}, {"path": "two.nc", "variable": "v"}),
    "variables of an HDF5 file": ({"path": "two.h5", "variable": "u"}, {"path": "two.h5", "variable": "v"}),
    "chunks": ({"path": "two.h5", "variable": "chunked_u"}, {"path": "two.h5", "variable": "chunked_v"}),
    "coded chunks": ({"path": "two.h5", "variable": "coded_u"}, {"path": "two.h5", "variable": "coded_v"}),
    "offsets": ({**OPEN_RAW, "offset": 4}, {**OPEN_RAW, "offset": 104}),
    "byte orders": (OPEN_RAW, {**OPEN_RAW, "dtype": ">i4"}),
    "orders": (OPEN_RAW, {**OPEN_RAW, "order": "F"}),
    "dtypes of one size": (OPEN_RAW, {**OPEN_RAW, "dtype": "<f4"}),
    "files": ({"path": "a.npy"}, {"path": "b.npy"}),
    "the same file twice": ({"path": "a.npy"}, {"path": "a.npy"}),
}


def own_boxes(ranks: int, rank: int, cut: int) -> swath.Boxes:
    """Return rows of the first `cut` columns."""
    rows = SHAPE[0] // ranks
    return swath.Boxes([((rank * rows, 0), ((rank + 1) * rows, cut))])


def do(array: swath.Array, comm: Any, ranks: int, rank: int, doing: str, arguments: Arguments) -> None:
    """Make one collective call, with memory of the right shape."""
    if doing == "sync":
        array.sync()
        return
    given = dict(arguments)
    cut = given.pop("cut", None)
    if cut is not None:
        given["distribution"] = own_boxes(ranks, rank, cut)
    if doing in ("read", "explain"):
        getattr(array, doing)(**given)
        return
    if doing == "analyze":
        array.explain(**given, analyze=True)
        return
    shape = np.empty(array.shape)[given.get("selection", ...)].shape
    boxes = cut is not None
    local = given["distribution"].shapes if boxes else [given["distribution"].local_shape(shape, rank)]
    values = [np.full(one, 77, array.dtype) for one in local]
    array.write(values if boxes else values[0], **given)


def redistribute(comm: Any, rank: int, arguments: Arguments) -> None:
    given = dict(arguments)
    dtype, cut, ranks = given.pop("dtype"), given.pop("cut", None), comm_size(comm)
    if cut is not None:
        given["source"] = own_boxes(ranks, rank, cut)
        values: Any = [np.zeros(one, dtype) for one in given["source"].shapes]
    else:
        values = np.zeros(given["source"].local_shape(given["shape"], rank), dtype)
    swath.redistribute(values, comm=comm, **given)


def comm_size(comm: Any) -> int:
    return int(comm.size)


# ---- cases -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A call, and the ranks that make it with another argument."""

    what: str
    usual: Callable[[Path, Any, int, Any], object]
    different: Callable[[Path, Any, int, Any], object]
    culprits: frozenset[int]
    pair: tuple[Arguments, Arguments] | None = None

    def __str__(self) -> str:
        return f"{self.what}, otherwise on {sorted(self.culprits)}"


def make_case(rng: random.Random, ranks: int) -> Case:
    """A random case for `ranks` ranks."""
    culprits = frozenset(rng.sample(range(ranks), rng.randint(1, ranks - 1)))
    kind = rng.random()
    if kind < 0.45:
        return _table_case(rng, culprits)
    return _array_case(rng, ranks, culprits) if kind < 0.88 else _memory_case(rng, ranks, culprits)


def _table_case(rng: random.Random, culprits: frozenset[int]) -> Case:
    table = rng.choice(TABLES)
    name = rng.choice(list(table[2]))
    return table_case(table, name, rng.choice(table[2][name]), culprits)


def table_case(
    table: tuple[Call, Arguments, dict[str, tuple[Any, ...]]], name: str, value: Any, culprits: frozenset[int]
) -> Case:
    """Return the case with one argument of one row changed."""
    call, base, _ = table
    other = {**base, name: value}
    return Case(
        f"{call.__name__} {base} {name}={value!r}",
        lambda folder, comm, rank, opened: call(folder, comm, base),
        lambda folder, comm, rank, opened: call(folder, comm, other),
        culprits,
    )


def _array_case(rng: random.Random, ranks: int, culprits: frozenset[int]) -> Case:
    which = rng.choice(list(PAIRS))
    doing = rng.choice(["read", "read", "write", "write", "sync", "analyze"])
    base, other_doing, other = _operation(rng, ranks, doing), doing, {}
    changed = rng.choice(["array", "array", "array", "distribution", "selection", "method", "tuning", "boxes", "doing"])
    if doing == "sync" and changed not in ("array", "doing"):
        changed = "array"
    if changed == "doing":
        other_doing = rng.choice([one for one in ("read", "write", "sync", "analyze") if one != doing])
        base = base or _operation(rng, ranks, "read")
    elif changed == "boxes":
        other = {"distribution": None, "selection": ..., "cut": 3}
    elif changed != "array":
        while _means_the_same(changed, value := _operation(rng, ranks, doing)[changed], base[changed]):
            pass
        other = {changed: value}
        if changed == "selection":  # of which it must be a distribution, too
            other["distribution"] = base["distribution"]
    if changed == "array" and doing != "sync" and rng.random() < 0.4:
        base = {"cut": rng.randint(1, SHAPE[1]), "method": rng.choice(METHODS)}
        doing = other_doing = rng.choice(["read", "write", "explain"])
    first = rng.random() < 0.5

    def usual(folder: Path, comm: Any, rank: int, opened: Opened) -> None:
        do(opened.first if first else opened.second, comm, ranks, rank, doing, base)

    def different(folder: Path, comm: Any, rank: int, opened: Opened) -> None:
        array = opened.first if first == (changed != "array") else opened.second
        do(array, comm, ranks, rank, other_doing, {**base, **other})

    return Case(f"{doing} of {which}, other {changed}: {base} {other_doing} {other}", usual, different, culprits,
                PAIRS[which])  # fmt: skip


def _means_the_same(name: str, one: Any, other: Any) -> bool:
    if name == "selection":
        return normalise_selection(one, SHAPE) == normalise_selection(other, SHAPE)
    return bool(one == other)


def _operation(rng: random.Random, ranks: int, doing: str) -> Arguments:
    if doing == "sync":
        return {}
    selection = rng.choice([..., np.s_[::2], np.s_[1:, ::-1], random_selection(rng, SHAPE)])
    while np.empty(SHAPE)[selection].ndim != len(SHAPE):
        selection = random_selection(rng, SHAPE)
    shape = np.empty(SHAPE)[selection].shape
    distribution = random_distribution(rng, shape, ranks)
    # Of any selection: blocks of a fixed size leave elements without an owner.
    while any(isinstance(rule, swath.Block) and rule.size for rule in distribution.rules):
        distribution = random_distribution(rng, shape, ranks)
    return {
        "distribution": distribution,
        "selection": selection,
        "method": rng.choice(METHODS),
        "tuning": {"window_bytes": rng.choice([64, 100, 4096])},
    }


def _memory_case(rng: random.Random, ranks: int, culprits: frozenset[int]) -> Case:
    def distribution() -> swath.Distribution:
        return _operation(rng, ranks, "read")["distribution"]

    base = {"source": distribution(), "target": distribution(), "shape": SHAPE, "dtype": "<f8"}
    name = rng.choice(["source", "target", "shape", "dtype", "boxes"])
    other: Any = {"shape": (8, 7), "dtype": "<i8"}.get(name)
    while other is None or (name in base and other == base[name]):
        other = distribution()
    changed = {"cut": 6, "source": None} if name == "boxes" else {name: other}
    if name == "dtype" and rng.random() < 0.3:
        base["cut"] = 6
    return Case(
        f"redistribute {base} {changed}",
        lambda folder, comm, rank, opened: redistribute(comm, rank, base),
        lambda folder, comm, rank, opened: redistribute(comm, rank, {**base, **changed}),
        culprits,
    )


def outcome(case: Case, folder: Path, comm: Any, rank: int) -> str:
    """Return the error of this rank as text, and check that the arrays can still be used. Collective."""
    opened = None
    if case.pair is not None:
        opened = Opened(*(swath.open(**named(folder, one), mode="r+", comm=comm) for one in case.pair))
    try:
        (case.different if rank in case.culprits else case.usual)(folder, comm, rank, opened)
    except swath.Error as error:
        told = f"{type(error).__name__}: {error}"
    else:
        told = "no error"
    if opened is not None:
        whole = swath.Distribution((swath.Whole(), swath.Whole()), grid=(1, 1))
        for array in (opened.first, opened.second):
            got = array.read(whole)
            assert rank > 0 or got.tobytes() == array[...].tobytes()
            array.close()
    return told


def check(case: Case, outcomes: list[str], before: dict[str, bytes], folder: Path) -> None:
    """Check for the same disagreement on all ranks, and that no file has changed."""
    assert len(set(outcomes)) == 1, (str(case), outcomes)
    assert outcomes[0].startswith("DisagreementError: "), (str(case), outcomes[0])
    assert files_in(folder) == before, str(case)

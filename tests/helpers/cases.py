"""Random requests, and their expected results by NumPy: shared by the simulated and the MPI property tests.

A case is made from a `random.Random`, so that hypothesis can draw (and shrink) it, and all MPI ranks can make the same
one from a seed.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import swath
from swath import formats
from swath.base import stored_path
from swath.formats import ChunkedLayout, StridedLayout
from swath.space import Distribution, normalise_selection, selected_shape

METHODS = ("direct", "sieve", "list", "datatype", "two-phase", "auto")
DTYPES = ("<f8", ">f8", "<i4", ">i2", "u1", "<c16", "<f4", ">c8", "S3", "V5", [("a", "<i2"), ("b", "<f8")])
# Small windows and batches, so that small arrays go through many rounds.
TUNINGS: tuple[dict[str, int], ...] = (
    {},
    {"window_bytes": 64, "sieve_bytes": 48, "list_pieces": 3, "bounce_bytes": 16, "domain_bytes_min": 8}
    | {"staged_run_bytes": 1},
    {"window_bytes": 256, "sieve_bytes": 1024, "domain_bytes_min": 100, "runs_bytes_min": 24}
    | {"staged_run_bytes": 10_000},
    {"window_bytes": 100, "aggregators": 2, "domain_bytes_min": 1, "sieve_bytes": 7, "runs_bytes_min": 1},
)


@dataclass
class Case:
    """One array in one file, one selection, and the ranks' shares."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    layout: str
    selection: Any
    ranks: int
    distribution: Distribution | None
    boxes: list[list[tuple[tuple[int, ...], tuple[int, ...]]]] | None
    tuning: dict[str, int]
    strided_memory: bool
    seed: int
    methods: tuple[str, ...] = METHODS

    def values(self, salt: int = 0) -> np.ndarray:
        """Return the array's elements: random bytes of its dtype."""
        count = int(np.prod(self.shape)) * self.dtype.itemsize
        data = np.random.default_rng([self.seed, salt]).integers(0, 256, count, dtype=np.uint8)
        return data.view(self.dtype).reshape(self.shape) if count else np.zeros(self.shape, self.dtype)


def make_case(rng: random.Random, ranks: int, *, layouts: tuple[str, ...] = ("raw", "npy", "netcdf", "hdf5")) -> Case:
    """Return a random case for `ranks` ranks."""
    ndim = rng.randint(0, 5)
    limit = {0: 1, 1: 200, 2: 24, 3: 10, 4: 6, 5: 5}[ndim]
    shape = tuple(
        rng.choice([rng.randint(1, limit), rng.randint(1, limit), 1, 0 if rng.random() < 0.2 else 2])
        for _ in range(ndim)
    )
    layout = rng.choice(layouts)
    if layout == "netcdf":  # an extent of 0 is how its header marks the record dimension
        shape = (*shape[:1], *(max(n, 1) for n in shape[1:]))
    dtype = np.dtype(rng.choice([">f8", ">i2", ">i4", ">f4", "i1"] if layout == "netcdf" else DTYPES))
    if layout == "hdf5" and dtype.kind == "S":
        dtype = np.dtype("<u2")
    selection = random_selection(rng, shape) if rng.random() < 0.7 else ...
    boxes = None
    distribution = None
    if ndim > 0 and rng.random() < 0.25:
        selection = ...
        boxes = random_boxes(rng, shape, ranks)
    else:
        distribution = random_distribution(rng, selected_shape(normalise_selection(selection, shape)), ranks)
    return Case(
        shape, dtype, layout, selection, ranks, distribution, boxes,
        rng.choice(TUNINGS), rng.random() < 0.3, rng.getrandbits(32),
    )  # fmt: skip


def random_selection(rng: random.Random, shape: tuple[int, ...]) -> Any:
    """NumPy basic slicing: integers, slices with steps of either sign, and an Ellipsis."""
    items: list[Any] = []
    for n in shape:
        kind = rng.random()
        if kind < 0.2 and n > 0:
            items.append(rng.randint(-n, n - 1))
        elif kind < 0.4:
            items.append(slice(None))
        else:
            bound = lambda: rng.choice([None, rng.randint(-n - 1, n + 1)])  # noqa: B023, E731
            items.append(slice(bound(), bound(), rng.choice([None, 1, 2, 3, -1, -2, -3, 7])))
    if items and rng.random() < 0.3:
        place = rng.randrange(len(items))
        items[place : rng.randint(place, len(items))] = [Ellipsis]
    return tuple(items)


def random_distribution(rng: random.Random, shape: tuple[int, ...], ranks: int) -> Distribution:
    """Rules and a grid of at most `ranks` places."""
    rules: list[Any] = []
    grid = []
    room = ranks
    for n in shape:
        places = rng.randint(1, room)
        rule = rng.choice(["whole", "block", "block(k)", "cyclic"])
        if rule == "whole":
            places = 1
        room //= places
        grid.append(places)
        least = max(-(-n // places), 1)
        rules.append(
            {
                "whole": swath.Whole(),
                "block": swath.Block(),
                "block(k)": swath.Block(rng.randint(least, least + 2)),
                "cyclic": swath.Cyclic(rng.randint(1, 4)),
            }[rule]
        )
    places = int(np.prod(grid)) if grid else 1
    chosen = rng.sample(range(ranks), places) if rng.random() < 0.2 else None
    return Distribution(rules, grid, ranks=chosen)


def random_boxes(rng: random.Random, shape: tuple[int, ...], ranks: int) -> list[list[Any]]:
    """Return boxes that do not overlap, several or none per rank: cells of a random grid, some of them unused."""
    cuts = [sorted({0, n, *(rng.randint(0, n) for _ in range(2))}) for n in shape]
    cells: list[tuple[list[int], list[int]]] = [([], [])]
    for cut in cuts:
        pairs = list(itertools.pairwise(cut)) or [(0, 0)]
        cells = [([*low, b], [*high, e]) for low, high in cells for b, e in pairs]
    rng.shuffle(cells)
    boxes: list[list[Any]] = [[] for _ in range(ranks)]
    for low, high in cells[:12]:
        if rng.random() < 0.8:
            boxes[rng.randrange(ranks)].append((tuple(low), tuple(high)))
    return boxes


def make_file(case: Case, folder: Path) -> dict[str, Any]:
    """Write the case's array without Swath; return the arguments that open it."""
    rng = random.Random(case.seed)
    values = case.values()
    ndim = len(case.shape)
    if case.layout == "npy":
        path = folder / "a.npy"
        fortran = ndim > 0 and rng.random() < 0.5
        np.save(path, np.asfortranarray(values) if fortran else np.ascontiguousarray(values).reshape(case.shape))
        return {"path": path}
    if case.layout == "netcdf":
        return {"path": make_netcdf(case, values, folder, rng), "variable": "v"}
    if case.layout == "hdf5":
        import h5py

        path = folder / "a.h5"
        with h5py.File(path, "w") as f:
            f["before"] = np.arange(3)
            chunks = tuple(rng.randint(1, max(n, 1)) for n in case.shape)
            resizable = ndim > 0 and all(case.shape) and rng.random() < 0.7
            f.create_dataset("v", data=values, chunks=chunks if resizable else None)
            f["after"] = np.arange(3)
        return {"path": path, "variable": "v"}
    path = folder / "a.bin"
    order = rng.sample(range(ndim), ndim)
    offset = rng.choice([0, 1, 12, 4096])
    noise = np.random.default_rng(case.seed).integers(0, 256, offset + 9, dtype=np.uint8).tobytes()
    path.write_bytes(noise[:offset] + np.ascontiguousarray(values.transpose(order)).tobytes() + noise[offset:])
    return {"path": path, "shape": case.shape, "dtype": case.dtype, "order": order, "offset": offset}


def make_netcdf(case: Case, values: np.ndarray, folder: Path, rng: random.Random) -> Path:
    """Make a classic file with the variable among others, with records or without."""
    import netCDF4

    path = folder / "a.nc"
    flavour = rng.choice(["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
    record = bool(case.shape) and (case.shape[0] == 0 or rng.random() < 0.6)
    with netCDF4.Dataset(path, "w", format=flavour) as f:
        f.set_auto_maskandscale(False)
        dimensions = [f"d{i}" for i in range(len(case.shape))]
        for i, n in enumerate(case.shape):
            # An extent of 0 would mean "unlimited" to the library.
            f.createDimension(dimensions[i], None if record and i == 0 else n)
        f.createDimension("three", 3)
        f.createVariable("fixed", "i2", ("three",))[:] = [1, 2, 3]
        kind = case.dtype.newbyteorder("=")
        v = f.createVariable("v", kind, dimensions)
        if record and rng.random() < 0.7:
            other = f.createVariable("other", "i1", (dimensions[0], "three"))
            other[: case.shape[0]] = np.full((case.shape[0], 3), 7, np.int8)
        v[...] = values.astype(kind)
    return path


def bytes_of(path: Path | str) -> bytes:
    """All bytes of a file, which may be in a pool."""
    with stored_path.of(str(path)).open() as file:
        return file.read()


def element_offsets(path: Path | str, variable: str | None, **described: Any) -> np.ndarray:
    """Return the file offset of every element, one by one from the layout."""
    description = formats.describe(path, variable, **described)
    layout = description.layout
    if isinstance(layout, StridedLayout):
        offsets = np.full(description.shape, layout.offset, dtype=np.int64)
        for d, stride in enumerate(layout.strides):
            extent = description.shape[d]
            offsets += (np.arange(extent) * stride).reshape(
                [-1 if i == d else 1 for i in range(len(description.shape))]
            )
        return offsets
    assert isinstance(layout, ChunkedLayout)
    offsets = np.empty(description.shape, dtype=np.int64)
    for index in np.ndindex(*description.shape):
        chunk = tuple(i // c for i, c in zip(index, layout.chunk_shape, strict=False))
        inside = np.ravel_multi_index(
            [i % c for i, c in zip(index, layout.chunk_shape, strict=False)], layout.chunk_shape
        )
        offsets[index] = layout.offsets[chunk] + int(inside) * description.dtype.itemsize
    return offsets


def share(case: Case, array: np.ndarray, rank: int) -> list[np.ndarray]:
    """Return the share of `rank` by NumPy: the reference."""
    if case.boxes is not None:
        return [array[tuple(slice(b, e) for b, e in zip(*box, strict=False))] for box in case.boxes[rank]]
    assert case.distribution is not None
    selected = np.asarray(array[case.selection], dtype=array.dtype)
    if selected.ndim == 0:
        return [selected]
    return [selected[np.ix_(*case.distribution.indices(selected.shape, rank))]]


def holds(case: Case, rank: int) -> bool:
    """Return whether a rank has the one element of an array without dimensions."""
    return case.distribution is None or bool(case.distribution._core.holds(rank))


def strided_like(part: np.ndarray, rng: random.Random) -> np.ndarray:
    """Return memory of the part's shape that is neither packed nor in C order, surrounded by other bytes."""
    padded = np.zeros([2 * n + 3 for n in part.shape], dtype=part.dtype, order=rng.choice("CF"))
    picks = (slice(1, 1 + 2 * n, 2) if rng.random() < 0.5 else slice(1, 1 + n) for n in part.shape)
    return padded[(..., *picks)]


def who(case: Case, rank: int) -> Any:
    """Return the distribution argument of a rank for read and write."""
    return swath.Boxes(case.boxes[rank]) if case.boxes is not None else case.distribution


def check_reads(case: Case, opened: dict[str, Any], comm: Any, rank: int) -> None:
    """Check that every method reads what NumPy reads. Collective."""
    expected = share(case, case.values(), rank)
    with swath.open(**opened, comm=comm) as a:
        assert a.shape == case.shape
        assert a.dtype == case.dtype
        for method in case.methods:
            out: Any = None
            if case.strided_memory:
                out = [strided_like(part, random.Random(case.seed + rank)) for part in expected]
            one = out if case.boxes is not None or out is None else out[0]
            got = a.read(who(case, rank), selection=case.selection, method=method, out=one, tuning=case.tuning)
            parts = got if case.boxes is not None else [got]
            for part, reference in zip(parts, expected, strict=True):
                assert part.dtype == case.dtype
                if part.ndim == 0 and not holds(case, rank):
                    continue
                assert part.shape == reference.shape, (method, part.shape, reference.shape)
                assert part.tobytes() == reference.tobytes(), (method, part, reference)


def check_writes(case: Case, opened: dict[str, Any], comm: Any, rank: int, barrier: Any, first: bool) -> None:
    """Check that every method writes exactly the request's bytes: the whole file is compared, also gaps. Collective."""
    path = opened["path"]
    described = {k: v for k, v in opened.items() if k not in ("path", "variable")}
    offsets = element_offsets(path, opened.get("variable"), **described)
    numbers = np.arange(offsets.size).reshape(offsets.shape)
    image = bytes_of(path)
    barrier()
    for salt, method in enumerate(case.methods, start=1):
        new = case.values(salt)
        before = np.frombuffer(image, np.uint8).copy()
        for r in range(case.ranks):
            for part in share(case, numbers, r) if holds(case, r) else []:
                for number in part.ravel():
                    at = offsets.ravel()[number]
                    element = new.reshape(-1)[number : number + 1].tobytes()
                    before[at : at + case.dtype.itemsize] = np.frombuffer(element, np.uint8)
        image = before.tobytes()
        parts = share(case, new, rank)
        if case.strided_memory:
            strided = [strided_like(part, random.Random(case.seed + rank)) for part in parts]
            for target, part in zip(strided, parts, strict=False):
                target[...] = part
            parts = strided
        with swath.open(**opened, mode="r+", comm=comm) as a:
            values = parts if case.boxes is not None else parts[0]
            a.write(values, who(case, rank), selection=case.selection, method=method, tuning=case.tuning)
        barrier()
        if first:
            now = bytes_of(path)
            assert len(now) == len(image)
            wrong = [i for i in range(len(now)) if now[i] != image[i]][:5]
            assert not wrong, (method, wrong)
        barrier()


def check_redistribution(case: Case, comm: Any, rank: int, rng: random.Random) -> None:
    """Check that memory to memory equals NumPy. Collective."""
    if case.distribution is None:
        return
    values = case.values()
    shape = case.shape
    source = random_distribution(rng, shape, case.ranks)
    target = random_distribution(rng, shape, case.ranks)
    mine = values[np.ix_(*source.indices(shape, rank))] if shape else values
    got = swath.redistribute(mine, source, target, shape, comm=comm)
    expected = values[np.ix_(*target.indices(shape, rank))] if shape else values
    if shape or target._core.holds(rank):
        assert got.tobytes() == expected.tobytes()

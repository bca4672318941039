"""Random places, and their expected elements by NumPy's index arrays: for the simulated and the MPI property tests."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

import swath
from cases import METHODS, Case, element_offsets, strided_like

PARTS_MAX = 3


def random_indices(rng: random.Random, shape: tuple[int, ...], *, repeats: bool = True) -> tuple[Any, ...]:
    """Index arrays as `full[indices]` takes them, for some or all leading dimensions."""
    given = rng.randint(1, len(shape))
    pick = np.random.default_rng(rng.getrandbits(32))
    if 0 in shape[:given]:
        empty = np.zeros(rng.choice([0, (0, 2), (2, 0)]), dtype=np.int64)
        return (empty,) * given
    if rng.random() < 0.4:
        lists = [random_list(rng, pick, n, repeats=repeats) for n in shape[:given]]
        return np.ix_(*lists) if rng.random() < 0.8 else tuple(_outer(lists, rng))
    if rng.random() < 0.2:
        return tuple(rng.randint(-n, n - 1) for n in shape[:given])
    lengths = rng.choice([(0,), (1,), (7,), (20,), (4, 3), (2, 1, 3)])
    indices = [pick.integers(-n, n, lengths) for n in shape[:given]]
    if not repeats:
        indices = _unique(indices, shape)
    if rng.random() < 0.3:
        wrapped = [index.ravel() % n for index, n in zip(indices, shape, strict=False)]
        order = np.lexsort(wrapped[::-1])
        indices = [index.ravel()[order] % n for index, n in zip(indices, shape, strict=False)]
    if rng.random() < 0.2 and not any(np.ndim(i) > 1 for i in indices):
        indices = [index.tolist() for index in indices]
    if given > 1 and rng.random() < 0.3 and repeats:
        indices[rng.randrange(given)] = rng.randint(0, min(shape[:given]) - 1)  # broadcast
    return tuple(indices)


def random_list(rng: random.Random, pick: np.random.Generator, n: int, *, repeats: bool) -> np.ndarray:
    """Indices of one dimension."""
    kind = rng.random()
    if kind < 0.4:
        return np.arange(rng.randrange(n), n, rng.randint(1, 3))
    if kind < 0.5:
        return np.arange(n)[::-1]
    if repeats and kind < 0.7:
        return pick.integers(-n, n, rng.randint(0, n + 2))
    return pick.permutation(n)[: rng.randint(0, n)]


def _outer(lists: list[np.ndarray], rng: random.Random) -> list[np.ndarray]:
    """The same as np.ix_, with the axes in another order."""
    axes = rng.sample(range(len(lists)), len(lists))
    return [one.reshape([-1 if axis == axes[d] else 1 for axis in range(len(lists))]) for d, one in enumerate(lists)]


def _unique(indices: list[np.ndarray], shape: tuple[int, ...]) -> list[np.ndarray]:
    flat = np.stack([index.ravel() % n for index, n in zip(indices, shape, strict=False)])
    flat = np.unique(flat, axis=1)
    return list(flat[:, np.random.default_rng(flat.shape[1]).permutation(flat.shape[1])])


def random_places(rng: random.Random, shape: tuple[int, ...]) -> tuple[swath.Places, Any]:
    """Return places to read, and a function that gives their elements of an array in memory."""
    if shape and rng.random() < 0.7:
        indices = random_indices(rng, shape)
        return swath.Places(*indices), lambda full: np.asarray(full[indices])
    parts: list[Any] = []
    references = []
    for _ in range(rng.randint(0, PARTS_MAX)):
        part, reference = random_part(rng, shape)
        parts.append(part)
        references.append(reference)

    def joined(full: np.ndarray) -> np.ndarray:
        return np.concatenate([np.empty(0, full.dtype), *(reference(full).ravel() for reference in references)])

    return swath.Places.union(*parts), joined


def random_part(rng: random.Random, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return a part of a union, and its elements of an array in memory."""
    kind = rng.random()
    if kind < 0.4 and shape:
        indices = random_indices(rng, shape)
        return swath.Places(*indices), lambda full: np.asarray(full[indices])
    if kind < 0.7 or not shape:
        low = [rng.randint(0, n) for n in shape]
        high = [rng.randint(b, n) for b, n in zip(low, shape, strict=True)]
        box = tuple(slice(b, e) for b, e in zip(low, high, strict=True))
        return swath.Boxes([(low, high)]), lambda full: np.asarray(full[box])
    rules = [rng.choice([swath.Whole(), swath.Cyclic(rng.randint(1, 3)), swath.Block()]) for _ in shape]
    grid = [1 if isinstance(rule, swath.Whole) else rng.randint(1, 3) for rule in rules]
    distribution = swath.Distribution(rules, grid)
    rank = rng.randrange(distribution.size)
    step = rng.choice([1, 1, 2, -1])
    selection = np.s_[::step] if rng.random() < 0.5 else ...

    def share(full: np.ndarray) -> np.ndarray:
        selected = full[selection]
        return selected[np.ix_(*distribution.indices(selected.shape, rank))]

    return (distribution, rank) if selection is ... else (distribution, rank, selection), share


def disjoint_places(rng: random.Random, shape: tuple[int, ...], ranks: int) -> list[tuple[swath.Places, np.ndarray]]:
    """Return each rank's places to write, and the numbers of their elements; no two ranks share one."""
    pick = np.random.default_rng(rng.getrandbits(32))
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    owner = pick.integers(0, ranks + 1, shape[0] if rng.random() < 0.5 else numbers.size)
    found = []
    for rank in range(ranks):
        mine = pick.permutation(np.flatnonzero(owner == rank))
        if len(owner) == shape[0] and len(shape) != 1:
            others = [random_list(rng, pick, n, repeats=False) if n else np.arange(0) for n in shape[1:]]
            indices = np.ix_(mine, *others[: rng.randint(0, len(others))])
        else:
            indices = np.unravel_index(mine, shape)
        chosen = numbers[indices]
        if rng.random() < 0.2:
            found.append((swath.Places.union(swath.Places(*indices)), chosen.ravel()))
        else:
            found.append((swath.Places(*indices), chosen))
    return found


def memory_like(part: np.ndarray, case: Case, rank: int) -> np.ndarray:
    """Memory of the part's shape, sometimes strided, sometimes in the other byte order."""
    rng = random.Random(case.seed + rank)
    dtype = part.dtype if rng.random() < 0.7 or part.dtype.names else part.dtype.newbyteorder()
    if case.strided_memory:
        return strided_like(part.astype(dtype), rng)
    return np.zeros(part.shape, dtype)


def check_reads_of_places(case: Case, opened: dict[str, Any], comm: Any, rank: int) -> None:
    """Every method reads what NumPy's index arrays give. Collective."""
    rng = random.Random(case.seed * 100 + rank)
    places, reference = random_places(rng, case.shape)
    expected = np.asarray(reference(case.values()), dtype=case.dtype)
    with swath.open(**opened, comm=comm) as a:
        assert places.shape_in(a.shape) == expected.shape
        for method in METHODS:
            out = memory_like(expected, case, rank) if rng.random() < 0.5 else None
            got = a.read(places, method=method, out=out, tuning=case.tuning)
            assert out is None or got is out
            assert got.shape == expected.shape, (method, got.shape, expected.shape, places)
            assert got.astype(case.dtype).tobytes() == expected.tobytes(), (method, places, got, expected)
        assert a.read_async(places).result().tobytes() == expected.tobytes()


def check_writes_of_places(case: Case, opened: dict[str, Any], comm: Any, rank: int, first: bool) -> None:
    """Every method writes the places' bytes and no others: the whole file is compared. Collective."""
    if not case.shape or 0 in case.shape:
        return
    barrier = getattr(comm, "Barrier", None) or comm.barrier
    path = Path(opened["path"])
    described = {k: v for k, v in opened.items() if k not in ("path", "variable")}
    offsets = element_offsets(path, opened.get("variable"), **described).ravel()
    image = np.frombuffer(path.read_bytes(), np.uint8).copy()
    barrier()
    itemsize = case.dtype.itemsize
    for salt, method in enumerate(METHODS, start=1):
        rng = random.Random(case.seed + salt)
        of_ranks = disjoint_places(rng, case.shape, case.ranks)
        new = case.values(salt)
        bytes_of = np.frombuffer(new.tobytes(), np.uint8).reshape(-1, itemsize)
        for _, numbers in of_ranks:
            for number in numbers.ravel():
                image[offsets[number] : offsets[number] + itemsize] = bytes_of[number]
        places, mine = of_ranks[rank]
        values = memory_like(new.reshape(-1)[mine], case, rank)
        values[...] = new.reshape(-1)[mine]
        with swath.open(**opened, mode="r+", comm=comm) as a:
            if rng.random() < 0.2:
                a.write_async(values, places, method=method, tuning=case.tuning).result()
            else:
                a.write(values, places, method=method, tuning=case.tuning)
        barrier()
        if first:
            now = np.frombuffer(path.read_bytes(), np.uint8)
            assert now.shape == image.shape
            wrong = np.flatnonzero(now != image)[:5]
            assert not wrong.size, (method, wrong, places)
        barrier()

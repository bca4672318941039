"""Recognises the distribution of a file over ranks by their requests, if one fits. Pure.

Distributions are guessed from lengths and distances that most requests have in common. A guess is accepted only if the
ranks touched nearly all bytes that it gives them, and nearly none that it gives to others. A few differences are
accepted: requests may be missing, or may have another purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from swath.trace.distribution_forms import Cyclic, Distribution, Grid, Int64s, MultiPartition
from swath.trace.intervals import Runs, runs_of

COVERED_MIN = 0.85
"""The least part of the bytes of a distribution that its ranks must have touched."""
FOREIGN_MAX = 0.03
"""The largest part of the touched bytes that the distribution may give to other ranks, or to none."""
AXES_MAX = 5
SPAN_MAX = 1 << 62
ELEMENT_MAX = 1 << 12
PREDICTED_RUNS_MAX = 4
"""A guess is rejected if it has more runs than this multiple of the observed ones."""


class Pieces:
    """The runs of each rank: maximal, sorted by rank and offset.

    Attributes:
        ranks: the number of ranks; they are numbered from 0.
        runs: the runs of all ranks, one rank behind the other.
        rank: the rank of each run.
        start: the offset of each run in the file.
        length: the length of each run.
    """

    def __init__(self, rank: Int64s, offset: Int64s, length: Int64s, ranks: int) -> None:
        self.ranks = ranks
        self.low = int(offset.min())
        self.span = int((offset + length).max()) - self.low + 1
        self.runs = runs_of(self.placed(rank, offset), length)
        self.rank, self.start = np.divmod(self.runs.starts, self.span)
        self.start += self.low
        self.length = self.runs.lengths

    def placed(self, rank: Int64s, offset: Int64s) -> Int64s:
        """Map offsets of ranks to one axis, on which each rank has a range of its own."""
        return rank * self.span + (offset - self.low)

    def usual(self) -> npt.NDArray[np.bool_]:
        """Return which runs have the length that most runs of their rank have."""
        order = np.lexsort((self.length, self.rank))
        key = np.stack([self.rank[order], self.length[order]])
        first = np.flatnonzero(np.concatenate([[True], (key[:, 1:] != key[:, :-1]).any(axis=0)]))
        counts = np.diff(np.append(first, len(order)))
        best = np.zeros(self.ranks, np.int64)
        for at in np.argsort(counts, kind="stable"):
            best[key[0, first[at]]] = key[1, first[at]]
        found: npt.NDArray[np.bool_] = self.length == best[self.rank]
        return found


def distribution_of(rank: Int64s, offset: Int64s, length: Int64s, ranks: int | None = None) -> Distribution | None:
    """Return the distribution of requests of ranks in one file, or None if none is certain.

    Args:
        rank: the rank of each request.
        offset: the offset of each request, in bytes.
        length: the length of each request, in bytes.
        ranks: the number of ranks that take part; None for the ranks that made requests.
    """
    is_some = length > 0
    members, number = np.unique(rank[is_some].astype(np.int64), return_inverse=True)
    if not len(members) or len(members) != (ranks or len(members)):
        return None
    offset, length = offset[is_some].astype(np.int64), length[is_some].astype(np.int64)
    span = int(offset.max()) + int(length.max()) - int(offset.min()) + 1
    if span * len(members) > SPAN_MAX:
        return None
    pieces = Pieces(number.reshape(-1).astype(np.int64), offset, length, len(members))
    for guess in _guesses(pieces):
        if _agrees(guess, pieces):
            return guess
    return None


def _guesses(pieces: Pieces) -> Iterator[Distribution]:
    if pieces.ranks > 1:
        yield from _blocks(pieces)
        yield from _cyclic(pieces)
        yield from _multi_partitions(pieces)
    elif len(pieces.runs) == 1:
        yield Grid(int(pieces.start[0]), (1,), (((0, int(pieces.length[0])),),), np.zeros(1, np.int64))
    for missing in (0, 1, 2):
        yield from _grids(pieces, missing)


def _agrees(guess: Distribution, pieces: Pieces) -> bool:
    if guess.runs_count > PREDICTED_RUNS_MAX * len(pieces.runs) + pieces.ranks:
        return False
    rank, starts, lengths = guess.runs()
    is_there = (starts >= pieces.low) & (starts + lengths < pieces.low + pieces.span)
    if not is_there.all():
        return False
    given = runs_of(pieces.placed(rank, starts), lengths)
    common = given.common_bytes(pieces.runs)
    return common >= COVERED_MIN * given.bytes and common >= (1 - FOREIGN_MAX) * pieces.runs.bytes


def _blocks(pieces: Pieces) -> Iterator[Distribution]:
    """Guess BLOCK: all blocks but the last are equal, or the first ones are an element longer."""
    first = np.searchsorted(pieces.rank, np.arange(pieces.ranks))
    last = np.append(first[1:], len(pieces.rank)) - 1
    longest = np.lexsort((-pieces.length, pieces.rank))[first]
    ends = pieces.start + pieces.length
    for low, high in ((pieces.start[first], ends[last]), (pieces.start[longest], ends[longest])):
        size = high - low
        equal = (size[:-1] == size[0]).all() and size[-1] <= size[0]
        balanced = len(np.unique(size)) == 2 and (np.diff(size) <= 0).all()
        if (high[:-1] == low[1:]).all() and (equal or balanced):
            base = int(low[0])
            cuts = tuple(zip((low - base).tolist(), (high - base).tolist(), strict=True))
            yield Grid(base, (1,), (cuts,), np.arange(pieces.ranks))


def _most_common(values: Int64s) -> tuple[int, int]:
    """Return the most frequent value, and its count."""
    found, counts = np.unique(values, return_counts=True)
    at = int(counts.argmax())
    return int(found[at]), int(counts[at])


def _distances(rank: Int64s, start: Int64s) -> Int64s:
    found: Int64s = np.diff(start)[np.diff(rank) == 0]
    return found


def _cyclic(pieces: Pieces) -> Iterator[Distribution]:
    block, _ = _most_common(pieces.length)
    is_usual = pieces.length == block
    rank, start = pieces.rank[is_usual], pieces.start[is_usual]
    distances = _distances(rank, start)
    if not len(distances):
        return
    distance, _ = _most_common(distances)
    if distance != block * pieces.ranks:
        return
    place, _ = _most_common((start - rank * block) % distance)
    follows = (pieces.start - pieces.rank * block - place) % distance == 0
    base = int((pieces.start - pieces.rank * block)[follows].min())
    end = int((pieces.start + np.minimum(pieces.length, block))[follows].max())
    yield Cyclic(base, block, pieces.ranks, end)


def _multi_partitions(pieces: Pieces) -> Iterator[Distribution]:
    side = round(pieces.ranks**0.5)
    if side * side != pieces.ranks:
        return
    usual = pieces.usual()
    common, shortest = int(np.gcd.reduce(pieces.length[usual])), int(pieces.length[usual].min())
    elements = [size for size in range(1, min(common, ELEMENT_MAX) + 1) if common % size == 0]
    for of in (np.ones_like(usual), usual):
        base = int(pieces.start[of].min())
        total = int((pieces.start + pieces.length)[of].max()) - base
        for element in elements:
            points = round((total / element) ** (1 / 3))
            fits = shortest // element in (points // side, points // side + 1)
            if points**3 * element == total and points >= side and fits:
                yield MultiPartition(base, points, element, side)


def _grids(pieces: Pieces, missing: int) -> Iterator[Distribution]:
    """Guess a row-major array that is cut along its axes. Up to `missing` successive runs may be absent."""
    usual = pieces.usual()
    rank, start, length = pieces.rank[usual], pieces.start[usual], pieces.length[usual]
    strides = _strides(rank, start, missing)
    if not strides:
        return
    base = int(start.min())
    rest = start - base
    axes = []
    for stride in strides:
        place, rest = np.divmod(rest, stride)
        axes.append((place, np.ones_like(place)))
    axes.append((rest, length))
    cuts, index = [], []
    for place, extent in axes:
        found = _cuts(rank, place, extent, pieces.ranks)
        if found is None:
            return
        cuts.append(found[0])
        index.append(found[1])
    shape = tuple(len(of) for of in cuts)
    cell = np.ravel_multi_index(tuple(index), shape)
    if int(np.prod(shape)) == pieces.ranks == len(np.unique(cell)):
        owner = np.empty(pieces.ranks, np.int64)
        owner[cell] = np.arange(pieces.ranks)
        yield from _by_its_name(Grid(base, (*strides, 1), tuple(cuts), owner.reshape(shape)))


def _by_its_name(grid: Grid) -> Iterator[Distribution]:
    """Return the grid, or the equal CYCLIC distribution if its ranks have equal parts of rows without gaps."""
    widths = {high - low for low, high in grid.cuts[-1]}
    ranks, block = grid.owner.size, min(widths)
    is_cyclic = len(grid.cuts) == 2 and grid.owner.shape == (1, ranks) and ranks > 1
    if not is_cyclic or len(widths) > 1 or block * ranks != grid.strides[0]:
        yield grid
    elif (grid.owner.reshape(-1) == np.arange(ranks)).all():
        yield Cyclic(grid.base, block, ranks, grid.base + grid.cuts[0][0][1] * grid.strides[0])


def _strides(rank: Int64s, start: Int64s, missing: int) -> list[int]:
    """Return the distances at which runs repeat, the largest first."""
    strides: list[int] = []
    span = int(start.max() - start.min()) + 1
    heads = rank * (4 * span) + (start - start.min())
    while len(strides) < AXES_MAX - 1:
        distances = _distances(heads // (4 * span), heads)
        if not len(distances):
            break
        stride, count = _most_common(distances)
        if 2 * count < len(distances) and not (strides and 4 * count >= len(distances)):
            break
        strides.append(stride)
        before = [heads - step * stride for step in range(1, missing + 2)]
        heads = heads[~np.isin(np.stack(before), heads).any(axis=0)]
    return strides[::-1] if strides == sorted(strides) else []


def _cuts(
    rank: Int64s, place: Int64s, extent: Int64s, ranks: int
) -> tuple[tuple[tuple[int, int], ...], npt.NDArray[np.intp]] | None:
    """Return the intervals of an axis, and the interval number of each rank; None if they do not fit."""
    pairs, counts = np.unique(np.stack([rank, place, place + extent]), axis=1, return_counts=True)
    most = np.zeros(ranks, np.int64)
    np.maximum.at(most, pairs[0], counts)
    often = 2 * counts >= most[pairs[0]]
    low, high = np.full(ranks, np.iinfo(np.int64).max), np.full(ranks, -1)
    np.minimum.at(low, pairs[0][often], pairs[1][often])
    np.maximum.at(high, pairs[0][often], pairs[2][often])
    found, index = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
    if (found[0, 1:] != found[1, :-1]).any():
        return None
    return tuple((int(one), int(two)) for one, two in found.T), index.reshape(-1)


def owned_runs(distribution: Distribution, rank: int) -> Runs:
    """Return the bytes that a distribution gives to a rank; ranks that take part are numbered from 0."""
    owner, starts, lengths = distribution.runs()
    return runs_of(starts[owner == rank], lengths[owner == rank])

"""Cuts the arrays of a data set into blocks that are computed and written within a budget of memory. Pure.

blocks = blocks_of(Blocked((8, 6), 8, source=((4, 4), (3, 3)), chunk=(2, 6)), 200)
# [(0:4, 0:6), (4:8, 0:6)]: whole chunks of the source and of the file
batches([blocks, …], sizes, budget)         # the blocks that are computed together
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from swath.errors import ArgumentError

RECODINGS_MAX = 4
"""The most times that a chunk of the file may be decoded and encoded again while its parts are written."""

Block = tuple[slice, ...]
Cuts = tuple[int, ...]
"""The begins of blocks along a dimension, and the end of the last one."""


class Blocked(NamedTuple):
    """An array that is written block by block.

    Attributes:
        shape: in elements.
        itemsize: bytes of an element.
        source: lengths of the dask chunks along each dimension; None for an array in memory.
        chunk: of the file, in elements; None if it has none.
        first: the row of the file's array for its first row.
        is_coded: whether a write of a part of a chunk decodes and encodes the chunk.
    """

    shape: tuple[int, ...]
    itemsize: int
    source: tuple[tuple[int, ...], ...] | None = None
    chunk: tuple[int, ...] | None = None
    first: int = 0
    is_coded: bool = False

    def into_chunk(self, axis: int) -> int:
        """Return the number of elements of a chunk before the first element, along an axis."""
        return self.first % self.chunk[0] if self.chunk and axis == 0 else 0


class ArrayBlock(NamedTuple):
    """A block of one of several arrays."""

    array: int
    block: Block
    nbytes: int


def blocks_of(array: Blocked, budget: int) -> list[Block]:
    """Return blocks that cover the array once, in C order.

    No chunk of the source is in two blocks: each is computed once. Chunks of the file are whole if the budget, in
    bytes, allows it. An array in memory is cut between chunks of the file.
    """
    if 0 in array.shape:
        return []
    cuts = _cuts(array, budget)
    return [tuple(itertools.starmap(slice, ends)) for ends in itertools.product(*(itertools.pairwise(c) for c in cuts))]


def refuse_recoding(name: str, array: Blocked, budget: int) -> None:
    """Raise ArgumentError if a chunk would be coded more than `RECODINGS_MAX` times with this budget."""
    times = recodings(array, budget)
    if not array.is_coded or times <= RECODINGS_MAX:
        return
    needed = _largest(_common_cuts(array, _cuts_of_source(array))) * array.itemsize
    raise ArgumentError(
        f"{name}: memory={budget} bytes is too little: a chunk of {array.chunk} would be decoded and encoded {times} "
        f"times, for the data come in smaller blocks; give memory= at least {needed} bytes, smaller chunks in "
        "encoding=, or data in larger dask chunks"
    )


def recodings(array: Blocked, budget: int) -> int:
    """Return the most blocks that touch one chunk of the file, with this budget."""
    if array.chunk is None or 0 in array.shape:
        return 1
    return math.prod(_most_blocks(array, axis, cuts) for axis, cuts in enumerate(_cuts(array, budget)))


def _most_blocks(array: Blocked, axis: int, cuts: Cuts) -> int:
    assert array.chunk is not None
    chunk, before, length = array.chunk[axis], array.into_chunk(axis), array.shape[axis]
    begins = [0, *range(chunk - before, length, chunk)]
    ends = [*begins[1:], length]
    pairs = zip(begins, ends, strict=True)
    return max(bisect.bisect_left(cuts, end) - bisect.bisect_right(cuts, begin) + 1 for begin, end in pairs)


def _cuts(array: Blocked, budget: int) -> list[Cuts]:
    return _cuts_of_memory(array, budget) if array.source is None else _cuts_of_chunks(array, budget)


def _cuts_of_source(array: Blocked) -> list[Cuts]:
    return [tuple(itertools.accumulate(lengths, initial=0)) for lengths in array.source or ()]


def _common_cuts(array: Blocked, cuts: list[Cuts]) -> list[Cuts]:
    """Return the cuts at which a chunk of the file ends, too."""
    found = []
    for axis, (chunk, along) in enumerate(zip(array.chunk or (), cuts, strict=True)):
        before = array.into_chunk(axis)
        found.append(tuple(c for c in along if c in (0, along[-1]) or (c + before) % chunk == 0))
    return found


def _cuts_of_chunks(array: Blocked, budget: int) -> list[Cuts]:
    """Cut between chunks of the source: along as many dimensions as possible where chunks of the file end, too.

    Along the others, a block has as many chunks of the source as the budget allows.
    """
    cuts = _cuts_of_source(array)
    if array.chunk is None:
        return cuts
    common = _common_cuts(array, cuts)
    for axis in range(len(cuts)):
        if _largest([*cuts[:axis], common[axis], *cuts[axis + 1 :]]) * array.itemsize <= budget:
            cuts[axis] = common[axis]
    for axis in range(len(cuts)):
        others = _largest([*cuts[:axis], *cuts[axis + 1 :]]) * array.itemsize
        if cuts[axis] != common[axis]:
            cuts[axis] = _joined(cuts[axis], common[axis], budget // others)
    return cuts


def _joined(cuts: Cuts, common: Cuts, longest: int) -> Cuts:
    """Return fewer cuts: blocks are at most `longest` if possible, and end at common cuts if possible.

    >>> _joined((0, 1, 2, 3, 4, 5, 6), (0, 3, 6), 4), _joined((0, 1, 2, 3, 4, 5, 6), (0, 6), 4)
    ((0, 3, 6), (0, 4, 6))
    """
    next_common = dict(itertools.pairwise(common))
    kept = [0]
    for cut, following in itertools.pairwise(cuts[1:]):
        if max(following, next_common.get(cut, 0)) - kept[-1] > longest:
            kept.append(cut)
    return (*kept, cuts[-1])


def _largest(cuts: Sequence[Cuts]) -> int:
    """Return the number of elements of the largest block."""
    return math.prod(max(end - begin for begin, end in itertools.pairwise(c)) for c in cuts)


def _cuts_of_memory(array: Blocked, budget: int) -> list[Cuts]:
    """Cut along the first dimension; along the next one, too, if a row of chunks is more than the budget."""
    chunk = array.chunk or (1,) * len(array.shape)
    cuts: list[Cuts] = []
    for axis, length in enumerate(array.shape):
        bytes_of_one = array.itemsize * math.prod(array.shape[axis + 1 :])
        bytes_of_one *= math.prod(min(c, n) for c, n in zip(chunk[:axis], array.shape, strict=False))
        step = max(budget // bytes_of_one // chunk[axis], 1) * chunk[axis]
        is_cut = axis == 0 or len(cuts[-1]) == _count(array, axis - 1, chunk[axis - 1]) + 1
        cuts.append((0, *range(step - array.into_chunk(axis), length, step), length) if is_cut else (0, length))
    return cuts


def _count(array: Blocked, axis: int, chunk: int) -> int:
    return -(-(array.shape[axis] + array.into_chunk(axis)) // chunk)


def batches(arrays: Sequence[Blocked], budget: int) -> Iterator[list[ArrayBlock]]:
    """Yield the blocks of all arrays in groups that are computed together: as many as the budget allows.

    The groups go through all arrays at the same time, so that common inputs are computed once if possible. Blocks of
    one array are in C order.
    """
    places = []
    for number, array in enumerate(arrays):
        for block in blocks_of(array, budget):
            count = math.prod(s.stop - s.start for s in block)
            begun = block[0].start / array.shape[0] if block else 0.0
            places.append((begun, ArrayBlock(number, block, count * array.itemsize)))
    places.sort(key=lambda one: one[0])
    batch: list[ArrayBlock] = []
    room = budget
    for _, place in places:
        if batch and place.nbytes > room:
            yield batch
            batch, room = [], budget
        batch.append(place)
        room -= place.nbytes
    if batch:
        yield batch

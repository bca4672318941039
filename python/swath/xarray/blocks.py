"""In which blocks the arrays of a data set are computed and written, within a budget of memory. Pure.

blocks = blocks_of(Blocked((8, 6), 8, source=((4, 4), (3, 3)), chunk=(2, 6)), 200)
# [(0:4, 0:6), (4:8, 0:6)]: whole chunks of the source and of the file
batches([blocks, …], sizes, budget)         # which are computed at a time
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

Block = tuple[slice, ...]
Cuts = tuple[int, ...]
"""Where blocks begin along a dimension, and last where they end."""


class Blocked(NamedTuple):
    """An array that is written block by block.

    Attributes:
        shape: in elements.
        itemsize: bytes of an element.
        source: lengths of the chunks that it is computed in, along each dimension; None for what is in memory.
        chunk: of the file, in elements; None where it has none.
    """

    shape: tuple[int, ...]
    itemsize: int
    source: tuple[tuple[int, ...], ...] | None = None
    chunk: tuple[int, ...] | None = None


class Place(NamedTuple):
    """A block of one of several arrays."""

    array: int
    block: Block
    nbytes: int


def blocks_of(array: Blocked, budget: int) -> list[Block]:
    """Return blocks that together are the array, in C order, none twice.

    No chunk of the source is in two blocks: each is computed once. Chunks of the file are whole where the budget, in
    bytes, lets so much be in memory. What is in memory is cut between chunks of the file.
    """
    if 0 in array.shape:
        return []
    cuts = _cuts_of_memory(array, budget) if array.source is None else _cuts_of_chunks(array, budget)
    return [tuple(itertools.starmap(slice, ends)) for ends in itertools.product(*(itertools.pairwise(c) for c in cuts))]


def _cuts_of_chunks(array: Blocked, budget: int) -> list[Cuts]:
    assert array.source is not None
    cuts = [tuple(itertools.accumulate(lengths, initial=0)) for lengths in array.source]
    for axis, chunk in enumerate(array.chunk or ()):
        end = array.shape[axis]
        common = tuple(c for c in cuts[axis] if c % chunk == 0 or c == end)
        if _largest([*cuts[:axis], common, *cuts[axis + 1 :]]) * array.itemsize <= budget:
            cuts[axis] = common
    return cuts


def _largest(cuts: Sequence[Cuts]) -> int:
    """Return how many elements the largest block has."""
    return math.prod(max(end - begin for begin, end in itertools.pairwise(c)) for c in cuts)


def _cuts_of_memory(array: Blocked, budget: int) -> list[Cuts]:
    """Cut along the first dimension; along the next one too where a row of chunks is more than the budget."""
    chunk = array.chunk or (1,) * len(array.shape)
    cuts: list[Cuts] = []
    for axis, length in enumerate(array.shape):
        bytes_of_one = array.itemsize * math.prod(array.shape[axis + 1 :])
        bytes_of_one *= math.prod(min(c, n) for c, n in zip(chunk[:axis], array.shape, strict=False))
        step = max(budget // bytes_of_one // chunk[axis], 1) * chunk[axis]
        is_cut = axis == 0 or len(cuts[-1]) == _count(array.shape[axis - 1], chunk[axis - 1]) + 1
        cuts.append((*range(0, length, step), length) if is_cut else (0, length))
    return cuts


def _count(length: int, chunk: int) -> int:
    return -(-length // chunk)


def batches(arrays: Sequence[Blocked], budget: int) -> Iterator[list[Place]]:
    """Return all blocks of all arrays, those that are computed at a time together: as many as the budget holds.

    They go through all arrays side by side, so that what several are made of is computed once where it can be. Blocks
    of one array come in C order.
    """
    places = []
    for number, array in enumerate(arrays):
        for block in blocks_of(array, budget):
            count = math.prod(s.stop - s.start for s in block)
            begun = block[0].start / array.shape[0] if block else 0.0
            places.append((begun, Place(number, block, count * array.itemsize)))
    places.sort(key=lambda one: one[0])
    batch: list[Place] = []
    room = budget
    for _, place in places:
        if batch and place.nbytes > room:
            yield batch
            batch, room = [], budget
        batch.append(place)
        room -= place.nbytes
    if batch:
        yield batch

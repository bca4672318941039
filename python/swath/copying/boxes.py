"""Cuts an array into boxes that fit in memory. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

Box = tuple[slice, ...]


def boxes(shape: tuple[int, ...], chunks: tuple[int, ...] | None, elements_max: int) -> Iterator[Box]:
    """Yield boxes of at most `elements_max` elements, in C order; a box has whole chunks if they fit.

    >>> [(rows.start, rows.stop) for rows, _ in boxes((5, 4), (2, 4), 8)]
    [(0, 2), (2, 4), (4, 5)]
    """
    if 0 in shape:
        return
    single = (1,) * len(shape)
    chunk = tuple(chunks[: len(shape)]) if chunks and len(chunks) >= len(shape) else single
    steps = list(shape)
    for unit in (chunk, single):
        while math.prod(steps) > elements_max:
            longest = max(range(len(steps)), key=lambda d: -(-steps[d] // unit[d]))
            if steps[longest] <= unit[longest]:
                break
            steps[longest] = -(-steps[longest] // (2 * unit[longest])) * unit[longest]
    yield from each_chunk(shape, tuple(steps))


def each_chunk(shape: tuple[int, ...], chunks: tuple[int, ...]) -> Iterator[Box]:
    """Yield the box of each chunk, in C order, cut at the ends of the array.

    >>> [(rows.start, columns.stop) for rows, columns in each_chunk((3, 4), (2, 3))]
    [(0, 3), (0, 4), (2, 3), (2, 4)]
    """
    steps = chunks
    grid = [range(0, n, step) for n, step in zip(shape, steps, strict=True)]
    for number in range(math.prod(map(len, grid))):
        rest = number
        box: list[slice] = []
        for begins, step, n in reversed(list(zip(grid, steps, shape, strict=True))):
            rest, place = divmod(rest, len(begins))
            box.append(slice(begins[place], min(begins[place] + step, n)))
        yield tuple(reversed(box))


def turned_back(box: Box, axes: tuple[int, ...]) -> Box:
    """Return the box in the array before the transpose: dimension d of `box` is dimension `axes[d]` there."""
    back = [slice(0)] * len(axes)
    for place, axis in enumerate(axes):
        back[axis] = box[place]
    return tuple(back)

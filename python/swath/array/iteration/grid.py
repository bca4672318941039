"""Blocks that cover an array exactly once. Pure."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

from swath.errors import ArgumentError
from swath.space import Shape

Box = tuple[slice, ...]


def checked_block(block: Any, shape: Shape) -> Shape:
    """Return the lengths of a block: None is the whole dimension, too large ones are cut. Raises ArgumentError."""
    given = tuple(block) if isinstance(block, Sequence) and not isinstance(block, str) else (block,)
    if len(given) != len(shape):
        raise ArgumentError(
            f"blocks: {len(given)} lengths {given} for an array of {len(shape)} dimensions, shape {shape}; None takes "
            "the whole of one"
        )
    lengths = []
    for d, (asked, length) in enumerate(zip(given, shape, strict=True)):
        try:
            wanted = length if asked is None else operator.index(asked)
        except TypeError:
            wanted = 0 if length else -1
        if wanted < 1 and not (asked is None and length == 0):
            raise ArgumentError(f"blocks: dimension {d}: expected a length of at least 1, or None, not {asked!r}")
        lengths.append(min(wanted, length))
    return tuple(lengths)


class Grid(Sequence[Box]):
    """The blocks of an array in order, or those of one rank if several ranks take turns.

    Args:
        shape: the shape of the array.
        block: the shape of a block; the last blocks may be shorter.
        axes: the dimensions from slowest to fastest in the order of blocks.
        rank: the rank that gets the blocks.
        ranks: the number of ranks, to which blocks are dealt in turn.
    """

    def __init__(self, shape: Shape, block: Shape, axes: Sequence[int], *, rank: int = 0, ranks: int = 1) -> None:
        self._shape, self._block, self._axes = shape, block, tuple(axes)
        self._counts = tuple(0 if n == 0 else -(-n // b) for n, b in zip(shape, block, strict=True))
        self._numbers = range(rank, math.prod(self._counts), ranks)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = self._numbers[index]
        box = [slice(0, 0)] * len(self._shape)
        for d in reversed(self._axes):
            number, place = divmod(number, self._counts[d])
            begin = place * self._block[d]
            box[d] = slice(begin, min(begin + self._block[d], self._shape[d]))
        return tuple(box)


def steps_along(axis: int, length: int) -> Sequence[tuple[Any, ...]]:
    """Return the selection of each index of a dimension; selections drop the dimension."""
    return [(*itertools.repeat(slice(None), axis), i) for i in range(length)]


def checked_axis(axis: Any, ndim: int) -> int:
    """Return a dimension, counted from 0. Raises ArgumentError."""
    try:
        counted = operator.index(axis)
    except TypeError:
        counted = -ndim - 1
    if not -ndim <= counted < ndim:
        raise ArgumentError(f"iterate: axis {axis!r}: the array has {ndim} dimensions")
    return counted % ndim

"""Loops over open arrays: what is read at each step, and by whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from swath.array.counters import Counters
from swath.computing.iteration.depth import Measured, depth_of_memory
from swath.computing.iteration.grid import Box, Grid, checked_axis, checked_block, steps_along
from swath.computing.iteration.loop import Loop, Steps, checked_depth
from swath.computing.iteration.writer import Writer
from swath.errors import ArgumentError
from swath.formats import StridedLayout
from swath.space import Distribution, Shape

Values = np.ndarray[Any, np.dtype[Any]]


def blocks(array: Any, block: Any, prefetch: Any, memory: Any, order: str) -> Loop[tuple[Box, Values]]:
    """Return the loop of `Array.blocks`."""
    asked = checked_depth("prefetch", prefetch)
    lengths = checked_block(block, array.shape)
    grid = Grid(array.shape, lengths, axes_in(array, order), rank=array._ranks.rank, ranks=array._ranks.size)
    nbytes = math.prod(lengths) * array.dtype.itemsize
    depth_max = _depth_max(array, nbytes, memory)

    def read(box: Box) -> tuple[Values, Any]:
        return array._read_alone(box), array.counters

    steps = Steps(grid, array._read_beside, read, lambda box, values: (box, values), _totals(array))
    return Loop(steps, depth_max, None if asked is None else min(asked, depth_max))


def iterate(array: Any, distribution: Distribution | None, axis: int, prefetch: Any, memory: Any) -> Loop[Values]:
    """Return the loop of `Array.iterate`. Raises errors of its arguments on all ranks alike."""
    ranks = array._ranks

    def prepare() -> tuple[int | None, Sequence[Any], int]:
        array.refuse_closed("iterate")
        asked = checked_depth("prefetch", prefetch)
        along = checked_axis(axis, len(array.shape))
        items = steps_along(along, array.shape[along])
        rest = (*array.shape[:along], *array.shape[along + 1 :])
        share = rest if distribution is None else _share(array, distribution, rest)
        return asked, items, _depth_max(array, math.prod(share) * array.dtype.itemsize, memory)

    words = f"iterate {array.path} by {distribution!r} axis={axis!r} prefetch={prefetch!r} memory={memory!r}"
    with ranks.in_turn(f"iterate {array.path}"):
        asked, items, depth_max = ranks.run_collectively(words, prepare)
        depth_max = min(ranks.gather_objects(depth_max)) if ranks.size > 1 else depth_max

    def read(selection: Any) -> tuple[Values, Any]:
        values = array.read(distribution, selection=selection)
        return values, array.counters

    def agree(measured: tuple[Measured, Measured]) -> list[tuple[Measured, Measured]]:
        with ranks.in_turn(f"iterate {array.path}"):
            return list(ranks.gather_objects(measured))

    steps: Steps[Values] = Steps(
        items,
        lambda selection: array.read_async(distribution, selection=selection),
        read,
        lambda _, values: values,
        _totals(array),
        agree if ranks.size > 1 else None,
    )
    return Loop(steps, depth_max, None if asked is None else min(asked, depth_max))


def writer(array: Any, behind: Any, memory: Any) -> Writer:
    """Return what `Array.writer` returns."""
    return Writer(array, _budget(memory), checked_depth("behind", behind), _totals(array))


def axes_in(array: Any, order: str) -> tuple[int, ...]:
    """Return the dimensions from slowest to fastest: "C", "F", or "fast", as the file stores them."""
    ndim = len(array.shape)
    ascending = tuple(range(ndim))
    if order == "fast":
        layout = array._description.layout
        if isinstance(layout, StridedLayout):
            return tuple(sorted(ascending, key=lambda d: -abs(layout.strides[d])))
        return ascending  # of chunks: in C order of their grid, whatever the order inside of one
    if order not in ("C", "F"):
        raise ArgumentError(f'blocks: order: expected "C", "F" or "fast", not {order!r}')
    return ascending if order == "C" else ascending[::-1]


def _share(array: Any, distribution: Distribution, rest: Shape) -> Shape:
    if not isinstance(distribution, Distribution):
        raise ArgumentError(f"iterate {array.path}: expected a swath.Distribution, not {type(distribution).__name__}")
    return distribution.local_shape(rest, array._ranks.rank)


def _budget(memory: Any) -> int:
    from swath.copying.request import memory_bytes

    return memory_bytes(memory)


def _depth_max(array: Any, step_bytes: int, memory: Any) -> int:
    budget = _budget(memory)
    depth = depth_of_memory(budget, step_bytes)
    if depth < 0:
        raise ArgumentError(
            f"{array.path}: memory {budget:,} bytes: a step takes {step_bytes:,}, and the one before it is still there "
            "when it is read: give at least twice as much, or take smaller steps"
        )
    return depth


def _totals(array: Any) -> Callable[[Counters], None]:
    """Return what adds up the counters of a loop's steps, as the array's counters."""
    total = Counters()

    def add(counters: Counters) -> None:
        nonlocal total
        total = total.plus(counters)
        array._counters = total

    return add

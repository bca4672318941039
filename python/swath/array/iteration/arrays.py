"""Loops over open arrays: the selection and the rank of each step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from swath import _core
from swath.array.async_operations import Participants, note_of_ranks
from swath.array.counters import OperationCounts, Totals
from swath.array.iteration.depth import depth_of_memory
from swath.array.iteration.grid import Box, Grid, checked_axis, checked_block, steps_along
from swath.array.iteration.loop import Loop, Steps, checked_depth
from swath.array.iteration.writer import Writer
from swath.array.request import Request
from swath.base.adaptive import PREFETCH, WRITE_BEHIND
from swath.base.memory_budget import memory_bytes
from swath.errors import ArgumentError
from swath.formats.description import StridedLayout
from swath.space import Distribution, Shape

Values = np.ndarray[Any, np.dtype[Any]]


class Settings(NamedTuple):
    """The settings of a loop.

    Attributes:
        prefetch: see `Array.blocks`.
        memory: see `Array.blocks`.
        order: see `Array.blocks`.
        decode: converts stored values to those that the program gets.
        decoded_bytes: the additional memory of decoded values, in bytes per element.
    """

    prefetch: Any
    memory: Any
    order: Any = "C"
    decode: Callable[[Any], Any] = lambda values: values
    decoded_bytes: int = 0


class SharedLoop:
    """A loop over an array, or a writer's block, in which all ranks take part. The constructor is collective."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self._made_in = _core.fork_generation()
        self.number: int = array._core.begin_loop()
        array._stored.has_shared_loops = True
        note_of_ranks(array)

    def compare(self, numbers: Sequence[float], *, is_waited_for: bool) -> Any:
        """Start a comparison of numbers of all ranks, at this step."""
        return self._array._core.start_comparing(self.number, "compare steps of", numbers, is_waited_for)

    def carry_out_begun(self) -> None:
        """Carry out started operations that other ranks wait for, if no thread does so."""
        if not self._array._core.ranks_allow_background and self._made_in == _core.fork_generation():
            self._array._core.finish_started(is_alone=False)

    def end(self) -> None:
        """Wait for the other ranks at the end of the loop."""
        self._array._core.start_comparing(self.number, "end the writer of", (), is_waited_for=True).wait()

    def leave(self, text: str) -> None:
        """Tell the other ranks that this one leaves the loop. A forked child is not a rank, and sends nothing."""
        if self._made_in == _core.fork_generation():
            self._array._core.leave_loop(self.number, text)


def blocks(array: Any, block: Any, settings: Settings) -> Loop[tuple[Box, Values]]:
    """Return the loop of `Array.blocks`."""
    asked = checked_depth("prefetch", settings.prefetch)
    array.refuse_closed("blocks")
    _trace_prefetch(array, asked)
    lengths = checked_block(block, array.shape)
    grid = Grid(array.shape, lengths, axes_in(array, settings.order), rank=array._ranks.rank, ranks=array._ranks.size)
    depth_max = _depth_max(array, math.prod(lengths), settings)
    alone = Participants(alone=True)

    def read(box: Box, out: Values | None) -> tuple[Values, Any]:
        part = array._read(Request("read", None, box), out, alone=True)[0]
        return part, array._last_counts()

    steps = Steps(
        items=grid,
        start=lambda box, out: array._start_to_read(Request("read", None, box), alone, out),
        read=read,
        item=lambda box, values: (box, settings.decode(values)),
        shape=lambda box: tuple(side.stop - side.start for side in box),
        dtype=array.dtype,
        done=_totals(array),
        name=f"blocks of {array.path}",
    )
    return Loop(steps, depth_max, None if asked is None else min(asked, depth_max))


def iterate(array: Any, distribution: Distribution | None, axis: int, settings: Settings) -> Loop[Values]:
    """Return the loop of `Array.iterate`. Errors of its arguments are raised on all ranks."""
    ranks = array._ranks

    def prepare() -> tuple[int | None, Sequence[Any], Shape, int]:
        array.refuse_closed("iterate")
        asked = checked_depth("prefetch", settings.prefetch)
        along = checked_axis(axis, len(array.shape))
        items = steps_along(along, array.shape[along])
        rest = (*array.shape[:along], *array.shape[along + 1 :])
        share = rest if distribution is None else _share(array, distribution, rest)
        return asked, items, share, _depth_max(array, math.prod(share), settings)

    words = (
        f"iterate {array.path} by {distribution!r} axis={axis!r} prefetch={settings.prefetch!r} "
        f"memory={settings.memory!r}"
    )
    together: SharedLoop | None = None
    with ranks.in_turn(f"iterate {array.path}"):
        asked, items, share, depth_max = ranks.run_collectively(words, prepare)
        if ranks.size > 1:
            depth_max = min(ranks.gather_objects(depth_max))
            together = SharedLoop(array)
    participants = Participants(loop=0 if together is None else together.number)

    def read(selection: Any, out: Values | None) -> tuple[Values, Any]:
        request = Request("read", distribution, selection)
        if together is None:
            return array._read(request, out)[0], array._last_counts()
        future = array._start_to_read(request, participants._replace(is_waited_for=True), out)
        return future.result(), future._counts

    steps: Steps[Values] = Steps(
        items=items,
        start=lambda selection, out: array._start_to_read(Request("read", distribution, selection), participants, out),
        read=read,
        item=lambda _, values: settings.decode(values),
        shape=lambda _: share,
        dtype=array.dtype,
        done=_totals(array),
        name=f"iterate over {array.path}",
        together=together,
    )
    loop = Loop(steps, depth_max, None if asked is None else min(asked, depth_max))
    _trace_prefetch(array, asked)
    if together is not None:
        array._stored.shared_loops.add(loop)
        if asked is None and not array._core.ranks_allow_background:
            loop.never("off: MPI serves one thread: nothing goes on in the background")
    return loop


def writer(array: Any, behind: Any, memory: Any) -> Writer:
    """Return the writer of `Array.writer`. Errors of its arguments are raised on all ranks."""
    ranks = array._ranks

    def prepare() -> tuple[int, int | None]:
        array.refuse_closed("writer")
        return memory_bytes(memory), checked_depth("behind", behind)

    with ranks.in_turn(f"writer of {array.path}"):
        budget, asked = ranks.run_collectively(f"writer of {array.path} behind={behind!r} memory={memory!r}", prepare)
        together = SharedLoop(array) if ranks.size > 1 else None
    made = Writer(array, budget, asked, _totals(array), together)
    if asked != 0:
        array._stored.trace_adaptive(WRITE_BEHIND)
    if together is not None:
        array._stored.shared_loops.add(made)
        if not array._core.ranks_allow_background:  # a rank that waits for memory would wait for ranks that do not
            made.never("off: MPI serves one thread: nothing goes on in the background")
    return made


def axes_in(array: Any, order: str) -> tuple[int, ...]:
    """Return the dimensions from slowest to fastest: "C", "F", or "fast", as the file stores them."""
    ndim = len(array.shape)
    ascending = tuple(range(ndim))
    if order == "fast":
        layout = array._description.layout
        if isinstance(layout, StridedLayout):
            return tuple(sorted(ascending, key=lambda d: -abs(layout.strides[d])))
        return ascending  # chunks follow in C order of their grid, for any order inside a chunk
    if order not in ("C", "F"):
        raise ArgumentError(f'blocks: order: expected "C", "F" or "fast", not {order!r}')
    return ascending if order == "C" else ascending[::-1]


def _trace_prefetch(array: Any, asked: int | None) -> None:
    if asked != 0:
        array._stored.trace_adaptive(PREFETCH)


def _share(array: Any, distribution: Distribution, rest: Shape) -> Shape:
    if not isinstance(distribution, Distribution):
        raise ArgumentError(f"iterate {array.path}: expected a swath.Distribution, not {type(distribution).__name__}")
    return distribution.local_shape(rest, array._ranks.rank)


def _depth_max(array: Any, elements: int, settings: Settings) -> int:
    budget = memory_bytes(settings.memory)
    step_bytes = elements * (array.dtype.itemsize + settings.decoded_bytes)
    depth = depth_of_memory(budget, step_bytes)
    if depth < 0:
        raise ArgumentError(
            f"{array.path}: memory {budget:,} bytes: a step takes {step_bytes:,}, and the one before it is still there "
            "when it is read: give at least twice as much, or take smaller steps"
        )
    return depth


def _totals(array: Any) -> Callable[[OperationCounts], None]:
    """Return a function that sums the counters of a loop's steps, and sets them as those of the array."""
    totals = Totals()

    def add(counts: OperationCounts) -> None:
        totals.add(counts)
        array._counts = totals

    return add

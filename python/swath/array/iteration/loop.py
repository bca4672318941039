"""A loop whose steps are read ahead, while the program works on earlier ones."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from swath.array.counters import OperationCounts
from swath.array.iteration.buffers import Buffers, Values
from swath.array.iteration.depth import Measurements, decide, first_decision, fixed, is_point
from swath.errors import ArgumentError
from swath.space import Shape

T = TypeVar("T")
TRIAL_STEPS = 4


class Pending(Protocol):
    """A step that is being read."""

    def result(self) -> Any:
        """Wait for it, and return its values."""

    _counts: OperationCounts | None

    def _cancel(self) -> None: ...

    def _abandon(self) -> None: ...


class Comparing(Protocol):
    """An asynchronous comparison of numbers of all ranks."""

    def wait(self) -> list[float]:
        """Return the maximum over all ranks of each number."""


class Together(Protocol):
    """A loop in which all ranks take part."""

    def compare(self, numbers: Sequence[float], *, is_waited_for: bool) -> Comparing:
        """Start a comparison of numbers of all ranks, at this step."""

    def leave(self, text: str) -> None:
        """Tell the other ranks that this one leaves the loop."""

    def carry_out_begun(self) -> None:
        """Carry out started operations that other ranks wait for, if no thread does so."""


@dataclasses.dataclass(frozen=True)
class Steps(Generic[T]):
    """The steps of a loop, and the functions that carry them out.

    Attributes:
        items: for each step, what it reads.
        start: starts the read of an item, into given memory or (None) into new memory.
        read: reads an item now, and returns its values and the OperationCounts.
        item: makes the result for the program from an item and its values.
        shape: returns the shape of an item's values.
        dtype: the dtype of the values.
        done: is called with the OperationCounts of each step.
        name: the loop and the array, for messages.
        together: the shared loop if all ranks take part; None if this rank is alone.
    """

    items: Sequence[Any]
    start: Callable[[Any, Values | None], Pending]
    read: Callable[[Any, Values | None], tuple[Any, OperationCounts]]
    item: Callable[[Any, Any], T]
    shape: Callable[[Any], Shape]
    dtype: np.dtype[Any]
    done: Callable[[OperationCounts], None]
    name: str
    together: Together | None = None


class Loop(Generic[T]):
    """A loop over its steps, in order. If it is left early, by `break` or an error, nothing is left running.

    If all ranks take part, and one rank leaves early while others continue, the others raise an error.

    Attributes:
        depth: the number of steps that are read ahead now.
        reason: the reason for this depth, in words.
    """

    def __init__(self, steps: Steps[T], depth_max: int, prefetch: int | None) -> None:
        self._steps = steps
        self._depth_max = depth_max
        self._is_auto = prefetch is None
        self._next = 0  # the first step that is not started
        self._given = 0
        self._under_way: deque[Pending] = deque()
        self._buffers = Buffers(steps.dtype)
        self._measurements = Measurements()
        self._left: float | None = None  # when the program got the latest step
        self._latest: tuple[bool, float, float, float, int] | None = None
        self._decides_at = 0
        self._comparing: tuple[int, Comparing] | None = None  # (step before which the result is needed, comparison)
        self._is_closed = False
        self._refuses: str | None = None  # why there is no next step
        decision = first_decision(depth_max) if prefetch is None else fixed(prefetch)
        self.depth, self.reason = decision.depth, decision.reason

    def __iter__(self) -> Iterator[T]:
        return self

    def __len__(self) -> int:
        return len(self._steps.items)

    def __next__(self) -> T:
        asked = time.monotonic()
        self._measure(asked)
        if self._refuses is not None:
            raise ArgumentError(f"{self._steps.name}: {self._refuses}")
        if self._is_closed or self._given >= len(self._steps.items):
            self.close()
            raise StopIteration
        try:
            if self._is_auto:
                self._decide_if_due()
            item = self._steps.items[self._given]
            values = self._values(item, asked)
        except BaseException as error:
            self._close(f" by {type(error).__name__}")
            raise
        self._given += 1
        self._buffers.give(values)
        given = self._steps.item(item, values)
        self._left = time.monotonic()
        return given

    def close(self) -> None:
        """End the loop. Reads under way are stopped, and nothing is left running."""
        self._close("")

    def _close(self, why: str) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        together = self._steps.together
        under_way, self._under_way = self._under_way, deque()
        if together is None:
            while under_way:
                under_way.pop()._cancel()  # the latest first: it has most likely not begun
            return
        begun = len(under_way)
        while under_way:
            under_way.pop()._abandon()
        if self._next == len(self._steps.items):
            if begun:
                together.carry_out_begun()
        else:
            together.leave(
                f"left {self._steps.name} after step {self._given} of {len(self)}{why}, while others went on to the "
                "next. Let all ranks leave a loop at the same step, for a reason that they have agreed on"
            )

    def never(self, reason: str) -> None:
        """Stop reading ahead for good; `reason` is reported."""
        self.depth, self.reason, self._is_auto = 0, reason, False

    def _refuse(self, why: str) -> None:
        """End the loop. A request for another step raises an error with the reason."""
        if not self._is_closed and self._given < len(self._steps.items):
            self._refuses = why
        self.close()

    def __enter__(self) -> Loop[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close("" if kind is None else f" by {kind.__name__}")

    def __del__(self) -> None:
        if "_refuses" in self.__dict__ and not sys.is_finalizing():
            self.close()

    def __repr__(self) -> str:
        return f"<swath loop: step {self._given} of {len(self)}, prefetch {self.reason}>"

    def _values(self, item: Any, asked: float) -> Any:
        if self.depth == 0 and not self._under_way:
            values, counts = self._steps.read(item, self._buffers.take(self._steps.shape(item)))
            self._next = self._given + 1
            is_ahead = False
        else:
            self._start_up_to(self._given + 1)
            pending = self._under_way.popleft()
            values = pending.result()
            assert pending._counts is not None
            counts = pending._counts
            del pending
            self._start_up_to(self._given + 1 + self.depth)
            is_ahead = True
        waiting = time.monotonic() - asked
        if not is_ahead or counts.hidden_seconds > 0:
            self._latest = (
                is_ahead,
                counts.total_seconds,
                waiting,
                counts.waited_seconds,
                getattr(values, "nbytes", 0),
            )
        self._steps.done(counts)
        return values

    def _start_up_to(self, end: int) -> None:
        while self._next < min(end, len(self._steps.items)):
            item = self._steps.items[self._next]
            self._under_way.append(self._steps.start(item, self._buffers.take(self._steps.shape(item))))
            self._next += 1

    def _measure(self, now: float) -> None:
        """Record the time of the step that the program has just ended."""
        if self._latest is None or self._left is None:
            return
        is_ahead, *seconds, nbytes = self._latest
        self._latest = None
        if self._given <= 1:
            return  # the first step is slow
        self._measurements = self._measurements.with_step(is_ahead, (now - self._left, *seconds), nbytes)

    def _decide_if_due(self) -> None:
        together = self._steps.together
        if together is None:
            if self._is_due():
                self._decide(self._measurements)
            return
        if self._comparing is not None and self._given >= self._comparing[0]:
            (_, comparing), self._comparing = self._comparing, None
            self._decide(Measurements.of_numbers(comparing.wait()))
        elif self._comparing is None and self._is_due():
            # The comparison is ordered like the steps: it ends before the step that is started next.
            is_waited_for = not self._under_way
            comparing = together.compare(self._measurements.numbers(), is_waited_for=is_waited_for)
            if is_waited_for:
                self._decide(Measurements.of_numbers(comparing.wait()))
            else:
                self._comparing = self._given + len(self._under_way) + 1, comparing

    def _is_due(self) -> bool:
        if self._given < self._decides_at:
            return False  # a trial is under way
        return is_point(self._given) or self._given == self._decides_at != 0

    def _decide(self, measurements: Measurements) -> None:
        """Decide the depth from the measurements of all ranks, so that all ranks decide equally."""
        decision = decide(self._depth_max, measurements, depth=self.depth, is_long_ago=self._given % 64 == 0)
        self.depth, self.reason = decision.depth, decision.reason
        if decision.is_trial:
            self._decides_at = self._given + len(self._under_way) + TRIAL_STEPS
            self._measurements = self._measurements.before_trial(is_ahead=decision.depth > 0)


def checked_depth(name: str, asked: Any) -> int | None:
    """Return how many steps may be under way; None for "auto". Raise ArgumentError for anything else."""
    if isinstance(asked, str) and asked == "auto":
        return None
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 0:
        raise ArgumentError(f'{name}: expected "auto", 0 (off), or how many are under way at once, not {asked!r}')
    return asked

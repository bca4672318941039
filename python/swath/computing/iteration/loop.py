"""A loop whose steps are read ahead of the program."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from swath.computing.iteration.depth import Decision, Measured, decide, first_decision, is_point
from swath.errors import ArgumentError

T = TypeVar("T")
TRIAL_STEPS = 3
FORGETS = 0.25
"""The weight of the latest step in what is measured, once there are some."""


class Pending(Protocol):
    """A step that is being read."""

    def result(self) -> Any:
        """Wait for it, and return its values."""

    @property
    def counters(self) -> Any:
        """Return what it took."""

    def _let_go(self) -> None: ...


@dataclasses.dataclass(frozen=True)
class Steps(Generic[T]):
    """What a loop goes through.

    Attributes:
        items: of each step what it reads.
        start: begins to read one.
        read: reads one now, and returns the values and the counters.
        item: makes of an item and its values what the program gets.
        done: is told the counters of each step.
        agree: gives the measurements of all ranks; None where this one goes alone.
    """

    items: Sequence[Any]
    start: Callable[[Any], Pending]
    read: Callable[[Any], tuple[Any, Any]]
    item: Callable[[Any, Any], T]
    done: Callable[[Any], None]
    agree: Callable[[tuple[Measured, Measured]], list[tuple[Measured, Measured]]] | None = None


class Loop(Generic[T]):
    """The steps of a loop, in order. Left early, by `break` or an error, it leaves nothing running.

    Attributes:
        depth: how many steps are read ahead now.
        reason: why, in words.
    """

    def __init__(self, steps: Steps[T], depth_max: int, prefetch: int | None) -> None:
        self._steps = steps
        self._depth_max = depth_max
        self._is_auto = prefetch is None
        self._next = 0  # of the steps: the first that is not started
        self._given = 0
        self._under_way: deque[Pending] = deque()
        self._ahead = Measured()
        self._without = Measured()
        self._left: float | None = None  # when the program got the latest step
        self._latest: tuple[bool, float, float, int] | None = None
        self._decides_at = 0
        decision = (
            first_decision(depth_max) if prefetch is None else Decision(prefetch, f"prefetch={prefetch} was asked for")
        )
        self.depth, self.reason = decision.depth, decision.reason

    def __iter__(self) -> Iterator[T]:
        return self

    def __len__(self) -> int:
        return len(self._steps.items)

    def __next__(self) -> T:
        self._measure()
        if self._given >= len(self._steps.items):
            self.close()
            raise StopIteration
        try:
            if self._is_auto and (is_point(self._given) or self._given == self._decides_at != 0):
                self._decide()
            item = self._steps.items[self._given]
            values = self._values(item)
        except BaseException:
            self.close()
            raise
        self._given += 1
        self._left = time.monotonic()
        return self._steps.item(item, values)

    def close(self) -> None:
        """End the loop: what is being read stops, and nothing is left of it."""
        self._given = self._next = len(self._steps.items)
        while self._under_way:
            self._under_way.pop()._let_go()  # the latest first: it has not begun

    def __enter__(self) -> Loop[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if "_under_way" in self.__dict__ and not sys.is_finalizing():
            self.close()

    def __repr__(self) -> str:
        return f"<swath loop: step {self._given} of {len(self)}, prefetch {self.reason}>"

    def _values(self, item: Any) -> Any:
        if self.depth == 0 and not self._under_way:
            self._next = self._given + 1
            values, counters = self._steps.read(item)
        else:
            self._start_up_to(self._given + 1)
            pending = self._under_way.popleft()
            values = pending.result()
            counters = pending.counters
            del pending
            self._start_up_to(self._given + 1 + self.depth)
        reading = counters.total_seconds
        self._latest = (counters.hidden_seconds > 0, reading, counters.waited_seconds, getattr(values, "nbytes", 0))
        self._steps.done(counters)
        return values

    def _start_up_to(self, end: int) -> None:
        while self._next < min(end, len(self._steps.items)):
            self._under_way.append(self._steps.start(self._steps.items[self._next]))
            self._next += 1

    def _measure(self) -> None:
        """Take note of the step that the program has just ended."""
        if self._latest is None or self._left is None:
            return
        computing = time.monotonic() - self._left
        is_ahead, reading, waiting, nbytes = self._latest
        self._latest = None
        if self._given <= 1:
            return  # nothing was hidden of the first one yet, and first calls are slow
        if is_ahead:
            self._ahead = _with(self._ahead, computing, reading, waiting, nbytes)
        elif self.depth == 0:
            self._without = _with(self._without, computing, reading, waiting, nbytes)

    def _decide(self) -> None:
        measured = [(self._ahead, self._without)]
        if self._steps.agree is not None:
            measured = self._steps.agree(measured[0])
        ahead, without = (Measured.of_all([one[i] for one in measured]) for i in (0, 1))
        decision = decide(self._depth_max, ahead, without)
        self.depth, self.reason = decision.depth, decision.reason
        if decision.is_trial:
            self._decides_at = self._given + len(self._under_way) + TRIAL_STEPS


def _with(before: Measured, computing: float, reading: float, waiting: float, nbytes: int) -> Measured:
    part = max(1 / (before.steps + 1), FORGETS)

    def mean(old: float, new: float) -> float:
        return old + part * (new - old)

    return Measured(
        before.steps + 1,
        mean(before.computing, computing),
        mean(before.reading, reading),
        mean(before.waiting, waiting),
        max(before.nbytes, nbytes),
    )


def checked_depth(name: str, asked: Any) -> int | None:
    """Return how many steps may be under way; None for "auto". Raise ArgumentError where it is neither."""
    if isinstance(asked, str) and asked == "auto":
        return None
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 0:
        raise ArgumentError(f'{name}: expected "auto", 0 (off), or how many are under way at once, not {asked!r}')
    return asked

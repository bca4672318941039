"""A writer that copies values, and writes the copies asynchronously while the program continues."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Protocol

import numpy as np

from swath.array.async_operations import Participants
from swath.array.places import Places
from swath.array.request import Request
from swath.errors import ArgumentError
from swath.space import Boxes, Distribution

BEHIND_MAX = 8
MEASURED_WRITES = 4
WRITES_PAY = 2.0
"""Copies pay only if a write takes this many times as long as the copy."""


class SharedWriter(Protocol):
    """A writer's block in which all ranks take part."""

    number: int

    def end(self) -> None:
        """Wait for the other ranks at the end of the block."""

    def leave(self, text: str) -> None:
        """Tell the other ranks that this one leaves the block."""


class _Write(NamedTuple):
    number: int
    future: Any
    nbytes: int


class Writer:
    """An asynchronous writer, which `Array.writer` makes.

    Values are copied, so that the program may change them at once. If they do not fit into the memory, or with
    `behind=0`, they are written before `write` returns. An error of a write is raised once: by a later `write`, at the
    latest at the end of the block. Writes after the failed one are carried out, too.

    Attributes:
        reason: how many writes may be under way, and why, in words.
    """

    def __init__(
        self,
        array: Any,
        memory: int,
        behind: int | None,
        done: Callable[[Any], None],
        together: SharedWriter | None = None,
    ) -> None:
        self._array = array
        self._together = together
        self._participants = Participants(loop=0 if together is None else together.number)
        self._refuses: str | None = None  # why further writes are refused
        self._has_ended = False
        self._memory = memory
        self._behind = BEHIND_MAX if behind is None else behind
        self._is_auto = behind is None
        self._done = done
        self._writes: deque[_Write] = deque()
        self._errors: dict[int, BaseException] = {}
        self._number = 0
        self._held = 0
        self._copying = self._writing = 0.0
        self._copies = True
        auto = f"on: up to {BEHIND_MAX} writes, as far as {memory:,} bytes go"
        self.reason = auto if behind is None else f"behind={behind} was asked for"

    def never(self, reason: str) -> None:
        """Write synchronously from now on; `reason` is reported."""
        self._behind, self._is_auto, self.reason = 0, False, reason

    def write(
        self,
        values: Any,
        distribution: Distribution | Boxes | Places | None = None,
        *,
        selection: Any = ...,
        method: str = "auto",
        rank: int | None = None,
        tuning: Mapping[str, int] | None = None,
    ) -> None:
        """Write as `Array.write` does, but asynchronously. Collective if `Array.write` is.

        Raises the error of an earlier write, or ArgumentError if this write is invalid.
        """
        if self._refuses is not None:
            raise ArgumentError(f"write {self._array.path}: {self._refuses}")
        self._number += 1
        self._has_ended = False
        self._wait_before(self._number - max(self._behind, 1))
        self._raise_up_to(self._number - max(self._behind, 1) if self._is_shared else self._number)
        nbytes = _nbytes(values)
        while self._writes and self._held + nbytes > self._memory:
            self._wait_for(self._writes.popleft())
        copies = self._behind > 0 and self._copies and self._held + nbytes <= self._memory
        begun = time.monotonic()
        kept = _copied(values) if copies else values
        self._copying += time.monotonic() - begun if copies else 0.0
        request = Request("write", distribution, selection, method, rank, tuning)
        future = self._array._start_to_write(request, kept, self._participants)
        self._held += nbytes
        self._writes.append(_Write(self._number, future, nbytes))
        if not copies:
            self._wait_before(self._number)
            if not self._is_shared or self._behind == 0:
                self._raise_up_to(self._number)

    def flush(self) -> None:
        """Wait until all values are in the file. Collective if the writes are. Raises as `write` does."""
        self._wait_before(self._number)
        self._raise_up_to(self._number)

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._end()
            elif isinstance(error, Exception) or self._is_shared:
                self._wait_before(self._number)  # accepted writes are carried out; the error of the block is raised
            else:
                while self._writes:
                    self._writes.pop().future._cancel()
        finally:
            self._errors.clear()
            self._leave("" if kind is None else f" by {kind.__name__}")
        if self._refuses is None:
            self._refuses = "the block of its writer has ended"

    def _end(self) -> None:
        """Wait for all writes, and for all ranks at the end of the block."""
        self._wait_before(self._number)
        if self._together is not None and not self._has_ended:
            self._together.end()
            self._has_ended = True
        self._raise_up_to(self._number)

    def _leave(self, why: str) -> None:
        """Tell the other ranks that this one has left the block, unless all have ended it."""
        if self._together is None or self._has_ended:
            return
        self._has_ended = True
        self._together.leave(
            f"left the writer of {self._array.path} after {self._number} writes{why}, while others went on. Let all "
            "ranks end its block after the same write"
        )

    def _refuse(self, why: str) -> None:
        """Carry out accepted writes. Later writes raise an error with the reason."""
        self._wait_before(self._number)
        self._refuses = why
        self._leave("")

    def __repr__(self) -> str:
        return f"<swath writer: {len(self._writes)} writes under way, {self.reason}>"

    def __del__(self) -> None:
        if "_copies" not in self.__dict__ or sys.is_finalizing():
            return
        self._leave("")
        self._raise_up_to(self._number)

    @property
    def _is_shared(self) -> bool:
        """Whether other ranks take part: then all ranks must raise an error at the same write."""
        return bool(self._array._ranks.size > 1)

    def _wait_before(self, number: int) -> None:
        """Wait for the writes up to this number. Without other ranks, also collect further writes that are done."""
        while self._writes and (
            self._writes[0].number <= number or (not self._is_shared and self._writes[0].future.done())
        ):
            self._wait_for(self._writes.popleft())

    def _wait_for(self, write: _Write) -> None:
        try:
            write.future.result()
        except BaseException as error:
            if not write.future.done():
                self._writes.appendleft(write)  # the wait was interrupted
                raise
            self._errors[write.number] = error
        else:
            self._done(write.future._counts)
            self._writing += write.future._counts.total_seconds
        self._held -= write.nbytes
        self._weigh(write.number)

    def _weigh(self, number: int) -> None:
        """Stop making copies if a write takes hardly longer than a copy, as a write into the page cache does."""
        if not self._is_auto or not self._copies or number < MEASURED_WRITES:
            return
        if self._writing < WRITES_PAY * self._copying:
            self._copies = False
            self.reason = "off: writing takes hardly longer than copying what is written"

    def _raise_up_to(self, number: int) -> None:
        due = sorted(n for n in self._errors if n <= number)
        if not due:
            return
        error = self._errors.pop(due[0])
        for other in due[1:]:
            with contextlib.suppress(KeyError):
                del self._errors[other]
        raise error


def _nbytes(values: Any) -> int:
    if isinstance(values, (list, tuple)):
        return sum(_nbytes(value) for value in values)
    return int(np.asanyarray(values).nbytes)


def _copied(values: Any) -> Any:
    if isinstance(values, (list, tuple)):
        return [_copied(value) for value in values]
    if isinstance(values, (bool, int, float, complex)):
        return values  # they are immutable, and take the array's dtype
    return np.array(values, copy=True, order="K", subok=True)

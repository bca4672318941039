"""Reads and writes that go on beside the program, and what it gets of them later."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from swath import _core
from swath.array.counters import Counters
from swath.array.memory import Part
from swath.array.places import Places
from swath.array.request import Request
from swath.errors import Error, to_core
from swath.ranks.ranks import Ranks
from swath.space import Boxes, Distribution

Operation = _core.Operation
Execution = _core.Execution
PartsOf = Callable[[Operation], list[Part]]


class Future:
    """What will come of `Array.read_async` or `write_async`.

    It holds the array, and the memory that is read into or written from. Let go of before its result was asked for, a
    read of this process alone stops, and nothing is left running; a write comes to its end first, and an error of it is
    shown as one of an object that comes to its end ("Exception ignored in ...").
    """

    def __init__(self, array: OperationsBeside, request: Request, started: _core.Started, parts: list[Part]) -> None:
        self._array = array
        self._request = request
        self._started: _core.Started | None = started
        self._parts = parts
        self._value: Any = None
        self._error: BaseException | None = None
        self._counters: Counters | None = None

    @classmethod
    def done_at_once(cls, array: OperationsBeside, request: Request, work: Callable[[], list[Part]]) -> Future:
        """Return that of an operation that is carried out now, by `work`."""
        future = cls.__new__(cls)
        future._array, future._request, future._started, future._parts = array, request, None, []
        future._value = future._error = future._counters = None
        try:
            future._value = future._result_of(work())
            future._counters = array.counters
        except Exception as error:
            if getattr(error, "is_from_signal", False):
                raise
            future._error = error
        return future

    @property
    def counters(self) -> Counters:
        """Return what the operation did on this rank, once `result` has returned; before, zeros."""
        return self._counters or Counters()

    def done(self) -> bool:
        """Return whether `result` returns, or raises, at once. Local."""
        return self._started is None or self._started.is_done

    def result(self) -> Any:
        """Wait for the operation's end, and return what it has read, or None. Collective where the operation is.

        A Ctrl-C ends the wait, not the operation; then it can be called again, or the future let go of.

        Raises what `Array.read` or `write` would have raised; called again, the same.
        """
        if self._started is not None:
            self._finish(self._started)
        if self._error is not None:
            raise self._error
        return self._value

    def _finish(self, started: _core.Started) -> None:
        asked = time.monotonic()
        try:
            done = started.wait()
        except Error as error:
            if started.is_done:
                self._array._ranks.have_agreed(error)
                self._started, self._error, self._parts = None, error, []
            raise
        returned = time.monotonic()
        began, ended = started.times
        waited = max(min(returned, ended) - max(asked, began), 0.0)
        waiting = (returned - asked, max(ended - began - waited, 0.0))
        self._counters = Counters.of(done.method, done.counters, waiting)
        self._array._note(self._request, done, self._counters)
        self._value = self._result_of(self._array._in_order_of(self._parts) if self._reads else self._parts)
        self._started, self._parts = None, []

    @property
    def _reads(self) -> bool:
        return self._request.direction == "read"

    def _result_of(self, parts: list[Part]) -> Any:
        if not self._reads:
            return None
        return parts if isinstance(self._request.distribution, Boxes) else parts[0]

    def _let_go(self) -> None:
        """Stop it where no other rank takes part, and wait for its end; what comes of it is not wanted."""
        started, self._started = self._started, None
        self._parts = []
        if started is not None:
            started.let_go()

    def __del__(self) -> None:
        if self.__dict__.get("_started") is None or self._reads or sys.is_finalizing():
            return
        if self._array._ranks.size == 1:
            self.result()

    def __repr__(self) -> str:
        state = "done" if self.done() else "under way"
        return f"<swath.Future {self._request.direction} of {self._array.path}: {state}>"


class OperationsBeside:
    """What an open array does beside the program: `read_async` and `write_async`."""

    dtype: np.dtype[Any]
    path: str
    _core: _core.Array
    _ranks: Ranks

    if TYPE_CHECKING:

        @property
        def counters(self) -> Counters:
            """Return those of the last operation."""

        def _operation(self, request: Request, *, alone: bool = False) -> Operation: ...
        def _memory_to_read(self, request: Request, out: Any, operation: Operation) -> list[Part]: ...
        def _memory_to_write(self, request: Request, values: Any, operation: Operation) -> list[Part]: ...
        def _read(self, request: Request, out: Any, *, alone: bool = False) -> list[Part]: ...
        def _write(self, request: Request, values: Any) -> None: ...
        def _in_order_of(self, parts: list[Part]) -> list[Part]: ...
        def _note(self, request: Request, done: Execution, counters: Counters | None = None) -> None: ...
        def _relocation(self) -> Callable[[], Any] | None: ...

    def read_async(
        self,
        distribution: Distribution | Boxes | Places | None = None,
        *,
        selection: Any = ...,
        method: str = "auto",
        out: Any = None,
        rank: int | None = None,
        tuning: Mapping[str, int] | None = None,
    ) -> Future:
        """Begin to read, and return at once: `read_async(...).result()` is `read(...)`. Collective as `read` is.

        Any number of operations may be under way. They are carried out one after another, in the order in which they
        were asked for, by one thread of the array's; with a communicator on one of its own. They take effect in the
        order of all calls: a write waits for the operations called before it, and those called after it wait for it.
        `close`, `sync` and `append` wait for all of them. What needs the format's own library is read before this
        returns, and where MPI allows no second thread ranks read when they ask for the result.

        Args:
            distribution: see `read`.
            selection: see `read`.
            method: see `read`.
            out: see `read`. It belongs to the operation until `result` has returned.
            rank: see `read`.
            tuning: see `read`.

        Raises:
            ArgumentError: without a communicator, what `read` raises before anything is read. All else, and with a
                communicator that too, is raised by the future's `result`, on all ranks alike.
        """
        request = Request("read", distribution, selection, method, rank, tuning)
        return self._start(
            request, functools.partial(self._memory_to_read, request, out), lambda: self._read(request, out)
        )

    def write_async(
        self,
        values: Any,
        distribution: Distribution | Boxes | Places | None = None,
        *,
        selection: Any = ...,
        method: str = "auto",
        rank: int | None = None,
        tuning: Mapping[str, int] | None = None,
    ) -> Future:
        """Begin to write, and return at once, as `read_async` does; `values` must not change before it is done.

        `writer` copies what it is given. What takes places in the file first (coded chunks of HDF5, chunks that are not
        allocated yet), or needs the format's own library, is written before this returns.

        Args:
            values: see `write`.
            distribution: see `write`.
            selection: see `read`.
            method: see `read`.
            rank: see `read`.
            tuning: see `read`.

        Raises:
            ArgumentError: as `read_async` does.
        """
        request = Request("write", distribution, selection, method, rank, tuning)

        def write() -> list[Part]:
            self._write(request, values)
            return []

        return self._start(request, functools.partial(self._memory_to_write, request, values), write)

    def _start(
        self, request: Request, parts_of: PartsOf, at_once: Callable[[], list[Part]], *, alone: bool = False
    ) -> Future:
        """Begin with what is requested, or do it now where it may not go beside. Collective, unless `alone`."""
        if not self._core.may_go_beside(request.direction) or (
            request.direction == "write" and self._relocation() is not None
        ):
            return Future.done_at_once(self, request, at_once)
        if alone or self._ranks.size == 1:
            operation = self._operation(request, alone=alone)
            parts = parts_of(operation)
            return Future(self, request, self._core.start(operation, parts), parts)
        with self._ranks.in_turn(f"{request.direction} {self.path}"):
            return self._start_together(request, parts_of)

    def _start_together(self, request: Request, parts_of: PartsOf) -> Future:
        operation: Operation | None = None
        try:
            operation = self._operation(request)
            parts = parts_of(operation)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other ranks must hear of it
            return Future(self, request, self._core.start_refused(operation, to_core(error)), [])
        return Future(self, request, self._core.start(operation, parts), parts)

    def _read_beside(self, selection: Any, out: Part | None = None) -> Future:
        """Begin to read what this rank alone wants."""
        request = Request("read", None, selection)
        read = functools.partial(self._memory_to_read, request, out)
        return self._start(request, read, lambda: self._read(request, out, alone=True), alone=True)

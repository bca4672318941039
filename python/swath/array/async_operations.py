"""Asynchronous reads and writes, and their futures."""

from __future__ import annotations

import atexit
import contextlib
import functools
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swath import _core
from swath.array.counters import Counters, OperationCounts
from swath.array.memory import Part
from swath.array.places import Places
from swath.array.request import Request
from swath.base.adaptive import PREFETCH, WRITE_BEHIND
from swath.errors import Error, to_core
from swath.files.stored_array import StoredArray
from swath.ranks.ranks import Ranks
from swath.space import Boxes, Distribution

Operation = _core.Operation
Execution = _core.Execution
PartsOf = Callable[[Operation], list[Part]]


class Participants(NamedTuple):
    """Which ranks take part in an asynchronous operation.

    Attributes:
        alone: whether only this rank takes part.
        loop: the number of the shared loop that the operation is a step of; 0 for none.
        is_waited_for: whether the caller waits for the operation immediately after it starts it.
    """

    alone: bool = False
    loop: int = 0
    is_waited_for: bool = False


ALL_RANKS = Participants()


class Future:
    """The future of `Array.read_async` or `write_async`.

    It keeps the array and the memory of the operation alive. If it is dropped before `result`, a read of one process
    stops, and nothing is left running; a write of one process is completed first, and Python prints its error
    ("Exception ignored in ...").
    """

    def __init__(self, array: AsyncOperations, request: Request, started: _core.Started, parts: list[Part]) -> None:
        self._array = array
        self._request = request
        self._started: _core.Started | None = started
        self._parts = parts
        self._is_waited_for = False
        self._finishing = threading.Lock()
        _futures.add(self)
        self._value: Any = None
        self._error: BaseException | None = None
        self._counts: OperationCounts | None = None
        self._times = (0.0, 0.0)

    @classmethod
    def done_at_once(cls, array: AsyncOperations, request: Request, work: Callable[[], list[Part]]) -> Future:
        """Return the future of an operation that `work` carries out now."""
        future = cls.__new__(cls)
        future._array, future._request, future._started, future._parts = array, request, None, []
        future._value = future._error = future._counts = None
        began = time.monotonic()
        future._times = (began, began)
        try:
            future._value = future._result_of(work())
            future._counts = array._last_counts()
            future._times = (began, time.monotonic())
        except Exception as error:
            if getattr(error, "is_from_signal", False):
                raise
            future._error = error
        return future

    @property
    def counters(self) -> Counters:
        """Return what the operation did on this rank; zeros before `result` has returned."""
        return Counters() if self._counts is None else self._counts.counters()

    @property
    def times(self) -> tuple[float, float]:
        """Return when the operation began and ended, by `time.monotonic`; zeros before `result` has returned."""
        return self._times

    def done(self) -> bool:
        """Return whether `result` would return, or raise, without waiting. Local."""
        return self._started is None or self._started.is_done

    def result(self) -> Any:
        """Wait for the end of the operation, and return the elements read, or None. Collective if the operation is.

        Ctrl-C ends the wait, but not the operation: call `result` again, or drop the future.

        Raises the same errors as `Array.read` or `write`. Further calls return or raise the same again.
        """
        started = self._started
        if started is not None:
            self._finish(started)
        if self._error is not None:
            raise self._error
        return self._value

    def _finish(self, started: _core.Started) -> None:
        """Wait for the operation. If several threads wait, the first one stores the result."""
        asked = time.monotonic()
        try:
            done = started.wait()
        except Error as error:
            if not started.is_done:
                raise
            with self._finishing:
                if self._started is not None:
                    self._array._ranks.have_agreed(error)
                    self._started, self._error, self._parts = None, error, []
            return
        returned = time.monotonic()
        with self._finishing:
            if self._started is not None:
                self._take(started, done, asked, returned)

    def _take(self, started: _core.Started, done: Execution, asked: float, returned: float) -> None:
        self._times = began, ended = started.times
        waited = max(min(returned, ended) - max(asked, began), 0.0)
        counts = OperationCounts(done.method, done.counters, returned - asked, max(ended - began - waited, 0.0))
        if self._is_waited_for:  # before `result` was called
            counts = counts._replace(waited_seconds=ended - began, hidden_seconds=0.0)
        self._counts = counts
        self._array._note(self._request, done, counts)
        self._value = self._result_of(self._array._in_order_of(self._parts) if self._reads else self._parts)
        self._started, self._parts = None, []

    @property
    def _reads(self) -> bool:
        return self._request.direction == "read"

    def _result_of(self, parts: list[Part]) -> Any:
        if not self._reads:
            return None
        return parts if isinstance(self._request.distribution, Boxes) else parts[0]

    def _cancel(self) -> None:
        """Stop an operation of this rank alone, wait for its end, and discard its result."""
        started, self._started = self._started, None
        self._parts = []
        if started is not None:
            started.cancel()

    def _abandon(self) -> None:
        """Discard the result of a shared operation. It ends when the other ranks do; until then it keeps its memory."""
        started, self._started = self._started, None
        self._parts = []
        if started is not None:
            started.abandon()

    def _end_with_the_program(self) -> None:
        """At the end of the interpreter, end an operation of this rank alone: stop a read, finish a write."""
        if self._started is None or self._started.is_done:
            return
        if not self._started.is_alone:
            return
        if self._reads:
            self._cancel()
        else:
            self.result()

    def __del__(self) -> None:
        if self.__dict__.get("_started") is None or self._reads or sys.is_finalizing():
            return
        if self._array._ranks.size == 1:
            self.result()

    def __repr__(self) -> str:
        state = "done" if self.done() else "under way"
        return f"<swath.Future {self._request.direction} of {self._array.path}: {state}>"


_futures: weakref.WeakSet[Future] = weakref.WeakSet()
_of_ranks: weakref.WeakValueDictionary[int, AsyncOperations] = weakref.WeakValueDictionary()
"""Arrays on which ranks have started asynchronous operations together."""


def note_of_ranks(array: AsyncOperations) -> None:
    """Register an array on which ranks start asynchronous operations together."""
    _of_ranks[id(array)] = array


@atexit.register
def _end_with_the_program() -> None:
    for future in list(_futures):
        with contextlib.suppress(Exception):  # the program has ended: no caller gets the error
            future._end_with_the_program()
    for array in list(_of_ranks.values()):
        array._core.outlive_interpreter()  # other ranks may still need it, or must learn that this one has ended
    _core.end_calls()


class AsyncOperations:
    """The asynchronous operations of an open array: `read_async` and `write_async`."""

    dtype: np.dtype[Any]
    path: str
    _core: _core.OpenArray
    _ranks: Ranks
    _stored: StoredArray

    if TYPE_CHECKING:

        @property
        def counters(self) -> Counters:
            """Return the counters of the last operation."""

        def _operation(self, request: Request, *, alone: bool = False) -> Operation: ...
        def _memory_to_read(self, request: Request, out: Any, operation: Operation) -> list[Part]: ...
        def _memory_to_write(self, request: Request, values: Any, operation: Operation) -> list[Part]: ...
        def _read(self, request: Request, out: Any, *, alone: bool = False) -> list[Part]: ...
        def _write(self, request: Request, values: Any) -> None: ...
        def _in_order_of(self, parts: list[Part]) -> list[Part]: ...
        def _note(self, request: Request, done: Execution, counts: OperationCounts | None = None) -> None: ...
        def _last_counts(self) -> OperationCounts: ...

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
        """Start a read, and return its future: `read_async(...).result()` is `read(...)`. Collective if `read` is.

        Any number of operations may be under way. One thread of the array carries them out one after another, in the
        order of the calls; with a communicator, it uses a communicator of its own. They take effect in the order of all
        calls: a write waits for the operations called before it, and those called after it wait for it. `close`, `sync`
        and `append` wait for all of them. An array that needs the format's own library is read before this returns. If
        MPI allows no second thread, ranks read when they ask for the result.

        Args:
            distribution: see `read`.
            selection: see `read`.
            method: see `read`.
            out: see `read`. It belongs to the operation until `result` has returned.
            rank: see `read`.
            tuning: see `read`.

        Raises:
            ArgumentError: as `read` raises it, but only without a communicator. The future's `result` raises all other
                errors; with a communicator it raises all errors, on all ranks.
        """
        self._stored.trace_adaptive(PREFETCH)
        return self._start_to_read(Request("read", distribution, selection, method, rank, tuning), ALL_RANKS, out)

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
        """Start a write, and return its future, as `read_async` does. Do not change `values` before the write is done.

        (`writer` copies its values instead.) Some writes are done before this returns: those that allocate chunks in
        the file first (coded chunks of HDF5, absent chunks), and those that need the format's own library.

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
        self._stored.trace_adaptive(WRITE_BEHIND)
        return self._start_to_write(Request("write", distribution, selection, method, rank, tuning), values)

    def _start(
        self,
        request: Request,
        parts_of: PartsOf,
        at_once: Callable[[], list[Part]],
        participants: Participants = ALL_RANKS,
    ) -> Future:
        """Start the requested operation, or carry it out now if it cannot be asynchronous. Collective, unless alone."""
        is_alone = participants.alone or self._ranks.size == 1
        if not self._core.may_run_in_background(request.direction) or (
            request.direction == "write" and self._stored.has_absent_chunks
        ):
            if participants.loop and not is_alone:
                # Check that all ranks are at this step.
                self._core.start_comparing(participants.loop, request.direction, (), is_waited_for=True).wait()
            return Future.done_at_once(self, request, at_once)
        if is_alone:
            operation = self._operation(request, alone=participants.alone)
            parts = parts_of(operation)
            return Future(self, request, self._core.start(operation, parts), parts)
        with self._ranks.in_turn(f"{request.direction} {self.path}"):
            return self._start_together(request, parts_of, participants)

    def _start_together(self, request: Request, parts_of: PartsOf, participants: Participants) -> Future:
        operation: Operation | None = None
        try:
            operation = self._operation(request)
            parts = parts_of(operation)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other ranks must hear of it
            return Future(self, request, self._core.start_refused(operation, to_core(error), participants.loop), [])
        note_of_ranks(self)
        started = self._core.start(operation, parts, participants.loop, participants.is_waited_for)
        future = Future(self, request, started, parts)
        future._is_waited_for = participants.is_waited_for
        return future

    def _start_to_read(self, request: Request, participants: Participants, out: Part | None = None) -> Future:
        """Start the read of a step of a loop, into the memory `out` if given."""
        read = functools.partial(self._memory_to_read, request, out)
        return self._start(request, read, lambda: self._read(request, out, alone=participants.alone), participants)

    def _start_to_write(self, request: Request, values: Any, participants: Participants = ALL_RANKS) -> Future:
        """Start a write; see `write_async`."""

        def write() -> list[Part]:
            self._write(request, values)
            return []

        return self._start(request, functools.partial(self._memory_to_write, request, values), write, participants)

"""The last operation of an open array: its counters and its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from swath import _core
from swath.array import explaining
from swath.array.counters import Counters, OperationCounts, Totals
from swath.array.plan import Plan

if TYPE_CHECKING:
    from swath.array.open_array import Array


class LastOperation:
    """The part of an open array that reports its last operation."""

    _done: _core.Execution | None
    _counts: OperationCounts | Totals | None

    if TYPE_CHECKING:

        def _title(self) -> str: ...

    @property
    def counters(self) -> Counters:
        """Return what the last operation did on this rank; with several threads, the operation that ended last.

        An asynchronous operation (`read_async`) counts once its result was asked for. After a loop, it is the sum.
        """
        if self._counts is not None:
            return self._counts.counters()
        return Counters() if self._done is None else Counters.of(self._done.method, self._done.counters)

    @property
    def last_plan(self) -> Plan | None:
        """Return the plan of the last read or write, which was made for the memory and page cache at that time.

        It is None before the first operation, and after one by the format's own library. For coded chunks the plan is
        made now, from the chunks that are stored now.
        """
        done = self._done
        if done is None:
            return None
        if done.of_chunks is not None:
            return explaining.plan_of_chunks(cast("Array", self), done.of_chunks, None)
        return None if done.plan is None else Plan(done.plan, self._title())

    def _last_counts(self) -> OperationCounts:
        """Return the counts of the last operation that the program waited for."""
        assert self._done is not None
        return OperationCounts(self._done.method, self._done.counters, self._done.counters.total_seconds, 0.0)

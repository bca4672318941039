"""A set of bytes of a file, as ranges that are added one by one. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

Range = tuple[int, int]
"""The first byte, and the one behind the last."""


class ByteRanges:
    """A set of bytes: ascending ranges that neither overlap nor touch."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []
        self.bytes = 0

    def __len__(self) -> int:
        """Return the number of ranges."""
        return len(self._begins)

    def missing(self, begin: int, end: int) -> list[Range]:
        """Return the ranges of [begin, end) that are not in the set."""
        found = []
        at = begin
        for index in range(bisect_right(self._ends, begin), bisect_left(self._begins, end)):
            if self._begins[index] > at:
                found.append((at, self._begins[index]))
            at = self._ends[index]
        return [*found, (at, end)] if at < end else found

    def add(self, begin: int, end: int) -> None:
        """Add the bytes [begin, end); some of them may be in the set."""
        self.bytes += sum(last - first for first, last in self.missing(begin, end))
        first, last = bisect_left(self._ends, begin), bisect_right(self._begins, end)
        if first < last:
            begin, end = min(begin, self._begins[first]), max(end, self._ends[last - 1])
        self._begins[first:last], self._ends[first:last] = [begin], [end]

    def items(self) -> list[Range]:
        """Return all ranges."""
        return list(zip(self._begins, self._ends, strict=True))

"""The record of a rank, with times: every operation on files, and every computation."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import NamedTuple

OPEN, READ, WRITE, FLUSH, CLOSE = "open", "read", "write", "flush", "close"
"""Operations on files. There are no seeks: Swath reads and writes at offsets."""
INTEGRALS, FOCK = "integrals", "fock"
"""Kinds of computation: a batch of integrals, and its contribution to the Fock matrix."""


class Event(NamedTuple):
    """One operation or computation. `seconds` is the time that the program waited, not the time of the disk."""

    kind: str
    begin: float
    seconds: float
    bytes: int


class Recorder:
    """Collects the events of a rank; `begin` of an event is in seconds since the recorder was made."""

    def __init__(self) -> None:
        self._made = time.perf_counter()
        self.events: list[Event] = []

    @property
    def now(self) -> float:
        """Seconds since it was made."""
        return time.perf_counter() - self._made

    def add(self, kind: str, begin: float, size: int = 0) -> None:
        """An event that began at `begin` and has just ended; `size`: bytes read or written."""
        self.events.append(Event(kind, begin, self.now - begin, size))

    @contextlib.contextmanager
    def timed(self, kind: str, size: int = 0) -> Iterator[None]:
        """The block is one event, unless it fails."""
        begin = self.now
        yield
        self.add(kind, begin, size)

    def seconds_of(self, kind: str) -> float:
        """Return the seconds of all events of a kind together."""
        return sum(event.seconds for event in self.events if event.kind == kind)

"""Counters of what an operation did."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from swath import _core


@dataclasses.dataclass(frozen=True)
class IoAmounts:
    """Amounts that a plan predicts and an operation counts, in bytes. The core names them (core/base/counters.h).

    `decoded_bytes` counts whole decoded chunks.
    """

    read_requests: int = 0
    write_requests: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    exchanged_bytes: int = 0
    locks: int = 0
    chunks_decoded: int = 0
    decoded_bytes: int = 0
    chunks_encoded: int = 0
    buffer_bytes: int = 0

    @property
    def bytes_read(self) -> int:
        """Return `read_bytes`."""
        return self.read_bytes

    @property
    def bytes_written(self) -> int:
        """Return `written_bytes`."""
        return self.written_bytes


@dataclasses.dataclass(frozen=True)
class Counters(IoAmounts):
    """What one operation did on this rank, as counted. Sizes are in bytes, times in seconds.

    `token_seconds` is how long this rank's stream waited for its turn at the file's target, in `token_waits` waits.

    `waited_seconds` is how long the program waited for the operation. `hidden_seconds` is how long the operation ran
    while the program did something else; for a plain read or write it is 0. The time to start an operation is in
    neither. After a loop (`Array.blocks`, `iterate`, `writer`) all counters are sums over the loop.
    """

    token_waits: int = 0
    token_seconds: float = 0.0
    transfer_seconds: float = 0.0
    exchange_seconds: float = 0.0
    total_seconds: float = 0.0
    waited_seconds: float = 0.0
    hidden_seconds: float = 0.0
    method: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the counters as plain data, for JSON."""
        return {"method": self.method, **dataclasses.asdict(self)}

    @classmethod
    def of(cls, method: str, counted: _core.Counters, waiting: tuple[float, float] | None = None) -> Counters:
        """Make Counters from the counters of the core.

        Args:
            method: the name of the method.
            counted: the counters of the core.
            waiting: the seconds waited and hidden; None if the program waited all the time.
        """
        waited, hidden = (counted.total_seconds, 0.0) if waiting is None else waiting
        amounts = {name: getattr(counted, name) for name in COUNTED}
        return cls(**amounts, waited_seconds=waited, hidden_seconds=hidden, method=method)


WAITING = ("waited_seconds", "hidden_seconds")
COUNTED = tuple(field.name for field in dataclasses.fields(Counters) if field.name not in (*WAITING, "method"))
"""The names of the counters of the core."""


class OperationCounts(NamedTuple):
    """The core's counters of one operation; `counters` converts them to Counters.

    Attributes:
        method: the name of the method.
        counted: the counters of the core.
        waited_seconds: see `Counters`.
        hidden_seconds: see `Counters`.
    """

    method: str
    counted: _core.Counters
    waited_seconds: float
    hidden_seconds: float

    @property
    def total_seconds(self) -> float:
        """Return how long the operation took."""
        return self.counted.total_seconds

    def counters(self) -> Counters:
        """Return Counters of the operation."""
        return Counters.of(self.method, self.counted, (self.waited_seconds, self.hidden_seconds))


class Totals:
    """The counters of all steps of a loop: sums, but the largest `buffer_bytes`; "several" if the methods differ."""

    def __init__(self) -> None:
        self._counted = _core.Counters()
        self._waited = self._hidden = 0.0
        self._method = ""

    def add(self, counts: OperationCounts) -> None:
        """Add one step."""
        self._counted += counts.counted
        self._waited += counts.waited_seconds
        self._hidden += counts.hidden_seconds
        self._method = counts.method if self._method in ("", counts.method) else "several"

    def counters(self) -> Counters:
        """Return Counters of the loop."""
        return Counters.of(self._method, self._counted, (self._waited, self._hidden))

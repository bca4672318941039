"""What an operation really did."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from swath import _core


@dataclasses.dataclass(frozen=True)
class IoAmounts:
    """What a plan predicts and an operation counts. Sizes in bytes. The names are the core's (core/base/counters.h).

    `decoded_bytes` are those of the chunks decoded, each counted whole.
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
    """What one operation really did on this rank, counted where it happened. Sizes in bytes, times in seconds.

    `token_seconds` is how long this rank's stream waited for its turn at the file's target, in `token_waits` waits.

    `waited_seconds` is how long the program waited for it, and `hidden_seconds` how long it went on while the program
    did something else: of a plain read or write nothing is hidden. It is waiting that is counted, never how long it
    took to ask for the operation. After a loop (`Array.blocks`, `iterate`, `writer`) all of them are the loop's sums.
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
        """Return them as plain data, for JSON."""
        return {"method": self.method, **dataclasses.asdict(self)}

    @classmethod
    def of(cls, method: str, counted: _core.Counters, waiting: tuple[float, float] | None = None) -> Counters:
        """Return what the core counted while it used `method`.

        Args:
            method: its name.
            counted: by the core.
            waiting: the seconds waited and hidden; None: all of it was waited for.
        """
        waited, hidden = (counted.total_seconds, 0.0) if waiting is None else waiting
        amounts = {name: getattr(counted, name) for name in COUNTED}
        return cls(**amounts, waited_seconds=waited, hidden_seconds=hidden, method=method)


WAITING = ("waited_seconds", "hidden_seconds")
COUNTED = tuple(field.name for field in dataclasses.fields(Counters) if field.name not in (*WAITING, "method"))
"""What the core counts."""


class OperationCounts(NamedTuple):
    """What the core counted of one operation; `counters` makes Counters of it.

    Attributes:
        method: its name.
        counted: by the core.
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
        """Return it as Counters."""
        return Counters.of(self.method, self.counted, (self.waited_seconds, self.hidden_seconds))


class Totals:
    """What the steps of a loop did together: sums; the largest `buffer_bytes`; the method where it is the same."""

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
        """Return them as Counters."""
        return Counters.of(self._method, self._counted, (self._waited, self._hidden))

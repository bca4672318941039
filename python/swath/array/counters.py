"""What an operation really did."""

from __future__ import annotations

import dataclasses
from typing import Any

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
    """

    token_waits: int = 0
    token_seconds: float = 0.0
    transfer_seconds: float = 0.0
    exchange_seconds: float = 0.0
    total_seconds: float = 0.0
    method: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return them as plain data, for JSON."""
        return {"method": self.method, **dataclasses.asdict(self)}

    @classmethod
    def of(cls, method: str, counted: _core.Counters) -> Counters:
        """Return what the core counted while it used `method`."""
        names = [field.name for field in dataclasses.fields(cls) if field.name != "method"]
        return cls(**{name: getattr(counted, name) for name in names}, method=method)

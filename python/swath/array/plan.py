"""The plans that `explain` returns. They print as text and convert to plain data."""

from __future__ import annotations

import dataclasses
from typing import Any

from swath import _core
from swath.array.counters import IoAmounts
from swath.errors import ArgumentError

OF_CHUNKS = ("chunks_decoded", "decoded_bytes", "chunks_encoded")
"""The amounts that exist for coded chunks only."""


@dataclasses.dataclass(frozen=True)
class Measured(IoAmounts):
    """The measured costs of an operation: counts of all ranks together; the largest seconds and buffers of any rank.

    Sizes are in bytes, times in seconds.
    """

    seconds: float = 0.0

    @staticmethod
    def of(counters_of_ranks: list[dict[str, Any]]) -> Measured:
        """Make it from the counters of all ranks, which are plain data."""
        measured: dict[str, Any] = {
            field.name: sum(counters[field.name] for counters in counters_of_ranks)
            for field in dataclasses.fields(IoAmounts)
        }
        measured["buffer_bytes"] = max(counters["buffer_bytes"] for counters in counters_of_ranks)
        return Measured(**measured, seconds=max(counters["total_seconds"] for counters in counters_of_ranks))


class Plan:
    """The plan of a request: how it will be carried out, and its cost by every method. `str()` is the text.

    Attributes:
        measured: the measurements of `explain(analyze=True)`; else None.

    Counts are R_dist and S_dist in table 1 of the two-phase paper (1993); `requests_with_stripes` is its equation 1.
    """

    def __init__(self, core: _core.Plan, title: str, measured: Measured | None = None) -> None:
        self._core = core
        self._title = title
        self.measured = measured

    @property
    def method(self) -> str:
        """Return the method that will be used: "direct", "sieve", "list", "datatype" or "two-phase"."""
        return str(self._core.method)

    @property
    def inner(self) -> str | None:
        """Return how two-phase moves windows with holes: "sieve" (as a whole), "list" or "datatype".

        It is None for other methods, and for files, where it depends on the length of the windows' runs.
        """
        return None if self._core.inner is None else str(self._core.inner)

    @property
    def reason(self) -> str:
        """Return the reason for this method."""
        return str(self._core.reason)

    @property
    def ranks(self) -> int:
        """Return how many ranks take part."""
        return int(self._core.ranks)

    @property
    def seconds(self) -> float | None:
        """Return the predicted time of the slowest rank, by the chosen method."""
        return float(self._core.price["seconds"])

    @property
    def tuning(self) -> dict[str, int]:
        """Return the chosen sizes, in bytes (list_pieces and aggregators are counts); see docs/methods.md."""
        return dict(self._core.tuning)

    def cost(self, method: str, rank: int) -> dict[str, Any]:
        """Return the costs of `method` for one rank: requests, bytes read, written, exchanged, locks, bytes of buffers.

        `exact` is False if there are too many windows to count each.
        """
        return dict(self._core.cost(method, rank))

    def requests_with_stripes(self, stripe_bytes: int) -> int:
        """Return R_trans of equation 1: the direct requests to a file with stripe units of `stripe_bytes`."""
        return int(self._core.requests_with_stripes(stripe_bytes))

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data, for JSON; sizes in bytes."""
        core = self._core
        candidates = core.candidates()
        ranks = [
            {
                "rank": rank,
                "bytes": core.local_bytes(rank),
                "methods": {method: self.cost(method, rank) for method in candidates},
            }
            for rank in range(self.ranks)
        ]
        return {
            "array": self._title,
            "direction": core.direction,
            "distribution": core.decomposition,
            "layout": core.layout,
            "ranks": self.ranks,
            "bytes": core.bytes,
            "runs": core.runs,
            "run_bytes_max": core.run_bytes_max,
            "method": self.method,
            "inner": self.inner,
            "reason": self.reason,
            "price": core.price,
            "tuning": core.tuning,
            "methods": candidates,
            "file_domains": [{"rank": r, "begin": b, "end": e} for r, b, e in core.domains],
            "each_rank": ranks,
            "measured": None if self.measured is None else dataclasses.asdict(self.measured),
        }

    def __str__(self) -> str:
        return str(self._core.text(self._title)) + self._measured_text()

    def _predicted(self) -> dict[str, Any]:
        """Return the amounts and seconds of the chosen method, by the names of `Measured`."""
        predicted = dict(self._core.candidates()[self.method])
        return predicted | {
            "seconds": predicted["price"]["seconds"],
            "buffer_bytes": predicted["buffer_bytes_max"],
        }

    def _measured_text(self) -> str:
        """Return predicted and measured amounts side by side; amounts of chunks if there are chunks."""
        if self.measured is None:
            return ""
        measured, predicted = dataclasses.asdict(self.measured), self._predicted()
        lines = [("all ranks together", "predicted", "measured")]
        for name in measured:
            if name == "seconds":
                ratio = measured[name] / predicted[name]
                lines.append((name, f"{predicted[name]:.6f}", f"{measured[name]:.6f}  ({ratio:.2f} x)"))
            elif name not in OF_CHUNKS or predicted[name] or measured[name]:
                lines.append((name.replace("_", " "), f"{predicted[name]:,}", f"{measured[name]:,}"))
        widths = [max(len(line[column]) for line in lines) for column in range(2)]
        text = "\n".join(f"  {a:<{widths[0]}}  {b:>{widths[1]}}  {c}" for a, b, c in lines)
        return f"\nMeasured beside predicted (seconds and buffers: of the rank that had most):\n{text}\n"

    def __repr__(self) -> str:
        return f"<Plan: {self.method} ({self.reason})>"


class OtherPlan(Plan):
    """A plan without a choice of methods; the base class of the plans below."""

    _method = ""

    @property
    def method(self) -> str:
        """Return the name of the only method: "library", or "chunks"."""
        return self._method

    @property
    def tuning(self) -> dict[str, int]:
        """Return an empty dict: there are no sizes to choose."""
        return {}

    def requests_with_stripes(self, stripe_bytes: int) -> int:
        """Return 0: nothing is predicted."""
        return 0


class LibraryPlan(OtherPlan):
    """The plan for arrays that only the format's own library can read and write."""

    _method = "library"

    def __init__(self, title: str, direction: str, ranks: int, reason: str) -> None:
        self.measured = None
        self._title = title
        self._direction = direction
        self._ranks = ranks
        self._reason = reason

    @property
    def reason(self) -> str:
        """Return why Swath's engines cannot move the bytes."""
        return self._reason

    @property
    def ranks(self) -> int:
        """Return how many ranks take part."""
        return self._ranks

    def cost(self, method: str, rank: int) -> dict[str, Any]:
        """Return no costs: the library decides."""
        return {}

    @property
    def seconds(self) -> float | None:
        """Return None: nothing is predicted."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return {
            "array": self._title,
            "direction": self._direction,
            "ranks": self._ranks,
            "method": self.method,
            "reason": self._reason,
        }

    def __str__(self) -> str:
        return (
            f"{self._direction} {self._title}\n  method        library: {self._reason}\n"
            "  Swath's engines cannot reach these bytes: each rank goes through the format's own library, correct but "
            "slower;\n  ranks write one after another.\n"
        )


class ChunkPlan(OtherPlan):
    """The plan for chunks that are decoded, or encoded, by Swath's own threads; its method is "chunks".

    Its counts are those of `Array.counters`. Counts that are not exact are estimates: stored bytes if there are too
    many files to look at each, stored bytes of chunks that will be encoded, and all counts of very many chunks.
    """

    _method = "chunks"

    def __init__(self, core: _core.ChunkPlan, title: str, layout: str) -> None:
        self._chunks = core
        self._title = title
        self._layout = layout
        self.measured = None

    @property
    def reason(self) -> str:
        """Return how the ranks share the work."""
        return self._chunks.reason

    @property
    def ranks(self) -> int:
        """Return how many ranks take part."""
        return self._chunks.ranks

    @property
    def seconds(self) -> float | None:
        """Return the predicted time of the slowest rank."""
        return self._chunks.price["seconds"]

    def cost(self, method: str, rank: int) -> dict[str, Any]:
        """Return the costs of `method`, which is "chunks", for one rank, with the names of the counters.

        It also has the number of `chunks` with elements of the rank, of `units` (chunks, or shards), and of units that
        are shared with other ranks; `exact` refers to numbers of chunks, `stored_exact` to stored bytes.
        """
        if method != self._method:
            raise ArgumentError(f'the bytes of coded chunks are moved by the method "chunks", not "{method}"')
        return self._chunks.cost(rank)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data, for JSON; sizes in bytes."""
        core = self._chunks
        ranks = [
            {"rank": rank, "bytes": core.local_bytes(rank), "methods": {self._method: core.cost(rank)}}
            for rank in range(self.ranks)
        ]
        return {
            "array": self._title,
            "direction": core.direction,
            "distribution": core.decomposition,
            "layout": self._layout,
            "ranks": self.ranks,
            "nodes": core.nodes,
            "bytes": core.bytes,
            "chunk_bytes": core.chunk_bytes,
            "times_decoded": core.times_decoded,
            "method": self._method,
            "reason": self.reason,
            "price": core.price,
            "methods": {self._method: core.total},
            "each_rank": ranks,
            "measured": None if self.measured is None else dataclasses.asdict(self.measured),
        }

    def _predicted(self) -> dict[str, Any]:
        core = self._chunks
        return core.total | {"seconds": core.price["seconds"], "buffer_bytes": core.buffer_bytes_max}

    def __str__(self) -> str:
        return self._chunks.text(self._title, self._layout) + self._measured_text()

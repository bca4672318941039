"""Sets of bytes of a file: sorted runs with gaps between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Runs:
    """A set of bytes: sorted half-open runs with gaps between them.

    Attributes:
        starts: the first byte of each run.
        ends: the byte behind each run.
    """

    starts: Int64s
    ends: Int64s

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Int64s:
        """Return how many bytes each run has."""
        return self.ends - self.starts

    @property
    def bytes(self) -> int:
        """Return how many bytes there are."""
        return int(self.lengths.sum())

    def below(self, places: Int64s) -> Int64s:
        """Return how many bytes of the set lie before each offset."""
        before = np.concatenate([[0], np.cumsum(self.lengths)])
        run = np.searchsorted(self.starts, places, side="right")
        last = np.maximum(run - 1, 0)
        over = np.maximum(self.ends[last] - places, 0) if len(self) else np.zeros(len(places), np.int64)
        return np.where(run > 0, before[run] - over, 0)

    def common_bytes(self, other: Runs) -> int:
        """Return how many bytes are in both sets."""
        return int((self.below(other.ends) - self.below(other.starts)).sum())


def runs_of(offsets: Int64s, lengths: Int64s) -> Runs:
    """Return the bytes of requests, which may have any order and may overlap."""
    is_some = lengths > 0
    order = np.argsort(offsets[is_some], kind="stable")
    starts = offsets[is_some][order]
    ends = np.maximum.accumulate(starts + lengths[is_some][order])
    begins = np.ones(len(starts), bool)
    begins[1:] = starts[1:] > ends[:-1]
    finishes = np.ones(len(starts), bool)
    finishes[:-1] = begins[1:]
    return Runs(starts[begins], ends[finishes])

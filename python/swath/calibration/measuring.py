"""The tools of every step of a calibration."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Sequence

from swath.calibration.file import MeasuredFile
from swath.calibration.findings import Findings
from swath.calibration.samples import Sample, in_turn

SIZES = (8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 512 << 10, 2 << 20, 4 << 20, 16 << 20)
"""Sizes of requests in bytes; they include the windows of two-phase and of sieving."""


@dataclasses.dataclass(frozen=True)
class Effort:
    """The effort: seconds, bytes of the file, bytes of the memory that is copied to."""

    seconds: float
    file_bytes: int
    memory_bytes: int

    @property
    def room_bytes(self) -> int:
        """The free bytes that the folder must have, with a reserve."""
        return 4 * self.file_bytes


class Measuring:
    """A file for measurements, the results so far, and the time limit.

    Attributes:
        file, effort, findings: see their classes.
        cores: the number of cores that this process may use.
    """

    def __init__(self, file: MeasuredFile, effort: Effort) -> None:
        self.file = file
        self.effort = effort
        self.findings = Findings()
        self.cores = len(os.sched_getaffinity(0))
        self.findings.numbers["cores"] = float(self.cores)
        self._deadline = time.monotonic() + 2 * effort.seconds

    def sizes(self) -> list[int]:
        """Return the sizes of requests that fit into the file twice."""
        return [size for size in SIZES if size <= self.file.nbytes // 2]

    def in_turn(self, runs: Sequence[Callable[[], float]], seconds: float) -> list[Sample]:
        """See `samples.in_turn`."""
        return in_turn(runs, seconds, self._deadline)

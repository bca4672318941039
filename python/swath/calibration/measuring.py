"""What every step of a calibration works with."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Sequence

from swath.calibration.file import MeasuredFile
from swath.calibration.findings import Findings
from swath.calibration.samples import Sample, in_turn

SIZES = (8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 512 << 10, 2 << 20, 4 << 20, 16 << 20)
"""Of requests, bytes; the windows of two-phase and of sieving are among them."""


@dataclasses.dataclass(frozen=True)
class Effort:
    """How long to take, and how large to be: seconds, bytes of the file, bytes of the memory that is copied to."""

    seconds: float
    file_bytes: int
    memory_bytes: int

    @property
    def room_bytes(self) -> int:
        """What must be free in the folder: nobody likes a full file system."""
        return 4 * self.file_bytes


class Measuring:
    """A file to measure with, what was found so far, and how long it may take.

    Attributes:
        file, effort, findings: see there.
        cores: that this process may use.
    """

    def __init__(self, file: MeasuredFile, effort: Effort) -> None:
        self.file = file
        self.effort = effort
        self.findings = Findings()
        self.cores = len(os.sched_getaffinity(0))
        self.findings.numbers["cores"] = float(self.cores)
        self._deadline = time.monotonic() + 2 * effort.seconds

    def sizes(self) -> list[int]:
        """Return the sizes of requests, as far as the file has room for two."""
        return [size for size in SIZES if size <= self.file.nbytes // 2]

    def in_turn(self, runs: Sequence[Callable[[], float]], seconds: float) -> list[Sample]:
        """See `samples.in_turn`."""
        return in_turn(runs, seconds, self._deadline)

"""The programs whose advice is checked, and the options of the benchmark."""

from __future__ import annotations

import dataclasses

from swath.errors import ArgumentError
from swath_bench.advice.programs import PROGRAMS
from swath_bench.applications.options import CASES as APPLICATIONS
from swath_bench.applications.options import PRESETS, SCALES

HERE = "here"
"""The disk of the folder, in the list of disks."""
CASES = (*PROGRAMS, *APPLICATIONS)
"""Programs with one flaw each, then applications as they were found."""


@dataclasses.dataclass(frozen=True)
class Options:
    """The benchmark's parameters.

    Attributes:
        cases: names of programs.
        ranks: the number of ranks of programs that have several.
        scale: of the applications: "test", "small" or "large".
        rounds: how often the unchanged run is replayed; the median counts.
        disks: modelled disks by name, and "here".
        steps_max: of this many advised changes all orders are replayed.
        application: the folder applications of a checkout; by default it is searched.
        prefix: an installation of Swath with Fortran for the MPI of `mpicc`; None leaves compiled applications out.
        mpicc: the C compiler of that MPI.
        limit_seconds: a run that takes longer is ended, which ends the benchmark.
    """

    cases: tuple[str, ...] = CASES
    ranks: int = 4
    scale: str = "test"
    rounds: int = 3
    disks: tuple[str, ...] = ("p690-scsi", HERE)
    steps_max: int = 4
    application: str | None = None
    prefix: str | None = None
    mpicc: str | None = None
    limit_seconds: float = 600.0

    in_one_process = True

    def __post_init__(self) -> None:
        for flag, values, known in (("cases", self.cases, CASES), ("disk", self.disks, (*PRESETS, HERE))):
            for value in values:
                if value not in known:
                    raise ArgumentError(f'--{flag}: "{value}" is unknown: expected some of {", ".join(known)}')
        if self.scale not in SCALES:
            raise ArgumentError(f'--scale: "{self.scale}" is unknown: expected one of {", ".join(SCALES)}')


def quick_options() -> Options:
    """Small enough for a look, and for tests."""
    return Options(cases=("regions",), rounds=1, disks=(HERE,))


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory: the files of a run, and the scratch files of its replay."""
    sizes = [APPLICATIONS[name].bytes[options.scale] for name in options.cases if name in APPLICATIONS]
    most = max(sizes, default=16 << 20)
    return {"disk": 3 * most, "memory": 3 * most + options.ranks * (100 << 20)}

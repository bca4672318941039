"""What a suite is made of, and what a run of one of its tests says."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from mpis import Mpi
from workshop import Workshop

PASSED = "passed"
FAILED = "failed"
TIMED_OUT = "timed out"
NOT_BUILT = "not built"


@dataclasses.dataclass(frozen=True)
class Finished:
    """A program that has ended.

    Attributes:
        exit_code: of mpiexec; none when its time was up.
        stdout: what all ranks printed.
        stderr: likewise.
        work: the folder it ran in.
        ranks: how many there were.
    """

    exit_code: int | None
    stdout: str
    stderr: str
    work: Path
    ranks: int


Judge = Callable[[Finished], dict[str, str]]
"""From a finished program to the tests in it: name to PASSED, FAILED, …; the empty name is the program as a whole."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A program of a suite, run by some ranks.

    Attributes:
        name: of the program, unique within its group.
        group: a row of the table: "io", "f77/io".
        command: the program and its arguments, run in an empty folder.
        ranks: how many.
        judge: what it says of itself.
        seconds: after which it is ended.
        environment: of the program.
        inputs: files that are copied into the folder before.
        after: a command, without MPI and the drop-in, that must end well too: a validator.
        keeps_files: whether the files it leaves are compared.
    """

    name: str
    group: str
    command: tuple[str, ...]
    ranks: int
    judge: Judge
    seconds: float = 120
    environment: tuple[tuple[str, str], ...] = ()
    inputs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    keeps_files: bool = True


@dataclasses.dataclass(frozen=True)
class Suite:
    """Tests of another project.

    Attributes:
        name: as it is asked for.
        mpis: it runs on.
        prepare: fetches and builds it for an MPI, and returns its version.
        cases: of an MPI, once it is prepared.
    """

    name: str
    mpis: tuple[str, ...]
    prepare: Callable[[Mpi, Workshop], str]
    cases: Callable[[Mpi, Workshop], list[Case]]


def ends_well(finished: Finished) -> dict[str, str]:
    """Passed is an exit code of 0."""
    return {"": TIMED_OUT if finished.exit_code is None else PASSED if finished.exit_code == 0 else FAILED}


def says_no_errors(finished: Finished) -> dict[str, str]:
    """Passed is an exit code of 0 and " No Errors", as MPICH's own runner has it."""
    status = ends_well(finished)[""]
    return {"": FAILED if status == PASSED and "No Errors" not in finished.stdout else status}

"""The parts of a suite, and the results of one run of a test."""

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
        exit_code: of mpiexec; None after the time limit.
        stdout: the output of all ranks.
        stderr: the error output of all ranks.
        work: the folder in which it ran.
        ranks: their number.
    """

    exit_code: int | None
    stdout: str
    stderr: str
    work: Path
    ranks: int


Judge = Callable[[Finished], dict[str, str]]
"""A function from a finished program to its tests: name to PASSED, FAILED, …; the empty name is the whole program."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A program of a suite, run by some ranks.

    Attributes:
        name: the name of the program, unique within its group.
        group: a row of the table: "io", "f77/io".
        command: the program and its arguments, run in an empty folder.
        ranks: their number.
        judge: the function that finds the results in the output.
        seconds: the time limit.
        environment: the variables of the program.
        inputs: files that are copied into the folder before the run.
        after: a command, without MPI and the drop-in, that must succeed, too: a validator.
        keeps_files: whether the remaining files are compared.
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
        name: its name on the command line.
        mpis: the MPIs that it runs on.
        prepare: a function that fetches and builds it for an MPI, and returns its version.
        cases: a function that returns the cases of an MPI, after `prepare`.
    """

    name: str
    mpis: tuple[str, ...]
    prepare: Callable[[Mpi, Workshop], str]
    cases: Callable[[Mpi, Workshop], list[Case]]


def ends_well(finished: Finished) -> dict[str, str]:
    """Judge by the exit code: 0 is passed."""
    return {"": TIMED_OUT if finished.exit_code is None else PASSED if finished.exit_code == 0 else FAILED}


def says_no_errors(finished: Finished) -> dict[str, str]:
    """Judge by the exit code 0 and the text " No Errors", as MPICH's own runner does."""
    status = ends_well(finished)[""]
    return {"": FAILED if status == PASSED and "No Errors" not in finished.stdout else status}

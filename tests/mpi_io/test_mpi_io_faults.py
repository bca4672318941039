"""Faults of the medium under MPI-IO: one error on all ranks of a collective call, else on the caller alone; no hang."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from mpi_io_runs import compiled, python, run, run_well

ERR_NO_SPACE = 36  # of MPICH's mpi.h
ERR_IN_STATUS = 17
TOGETHER = ["write_at_all", "write_ordered", "split", "iwrite_at_all"]
ALONE = [
    "write_at",
    "write_shared",
    "iwrite_at",
    "test",
    "waitall",
    "testall",
    "waitany",
    "testany",
    "waitsome",
    "testsome",
]
FULL = {"SWATH_MPI_IO_ENGINE": "fault:write@0=ENOSPC"}


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_some_faults_of_every_call(tmp_path: Path, ranks: int) -> None:
    ended = run_well(ranks, python("mpi_io_faults.py", "matrix", tmp_path, 30))
    assert "all right" in ended.out


@pytest.mark.slow
@pytest.mark.timeout(3700)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_more_faults_of_every_call(tmp_path: Path, ranks: int) -> None:
    """SWATH_MPI_IO_FAULTS=3000 runs all of them."""
    faults = os.environ.get("SWATH_MPI_IO_FAULTS", "300")
    run_well(ranks, python("mpi_io_faults.py", "matrix", tmp_path, faults), seconds_max=3600)


@pytest.mark.parametrize("ranks", [1, 3])
def test_syncs_that_fail_and_mistakes_of_one_rank_are_errors_of_all(tmp_path: Path, ranks: int) -> None:
    run_well(ranks, python("mpi_io_faults.py", "other", tmp_path))


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_killed_rank_ends_the_job(tmp_path: Path, ranks: int) -> None:
    begin = time.monotonic()
    ended = run(ranks, python("mpi_io_faults.py", "kill", tmp_path), seconds_max=60)
    assert "writing" in ended.out, ended.err
    assert ended.status != 0
    assert time.monotonic() - begin < 40


@pytest.fixture(scope="module")
def handlers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("handlers"), "handlers.c")


@pytest.mark.parametrize("threads", ["on", "off"])
@pytest.mark.parametrize("way", ["return", "count"])
def test_the_files_handler_is_told_once_and_the_program_goes_on(
    handlers: Path, tmp_path: Path, way: str, threads: str
) -> None:
    """Also of requests, though the handlers of communicators are MPI's fatal ones."""
    path = tmp_path / "a"
    calls = [*TOGETHER, *ALONE]
    ended = run_well(
        (1, 2), [handlers, way, path, *calls], environments=[FULL, {}], environment={"SWATH_MPI_IO_THREADS": threads}
    )
    lines = [line.split(maxsplit=4) for line in ended.out.splitlines()]
    assert len(lines) == 3 * len(calls)
    for call, rank, code, handled, text in lines:
        fails = call in TOGETHER or rank == "0"
        assert int(code) == (ERR_NO_SPACE if fails else 0), (call, rank, code)
        assert int(handled) == (1 if fails and way == "count" else 0), (call, rank, handled)
        if fails:
            assert f"write {path} at " in text
            assert "No space left on device" in text


def test_an_error_of_requests_without_statuses_is_told(handlers: Path, tmp_path: Path) -> None:
    ended = run_well(1, [handlers, "count", tmp_path / "a", "waitall_ignored"], environment=FULL)
    assert ended.out.split()[:4] == ["waitall_ignored", "0", str(ERR_IN_STATUS), "1"]
    assert any("No space left on device" in line for line in ended.told)

"""Ranks that come late, or wait for each other elsewhere: the order is kept, and there is no deadlock."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpi_io_runs import compiled, run_well


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("late"), "late.c")


@pytest.mark.parametrize("call", ["sync", "seek_shared", "atomicity"])
def test_a_call_begins_nothing_before_a_late_rank_has_come(late: Path, tmp_path: Path, call: str) -> None:
    assert run_well(2, [late, call, tmp_path / "data"], seconds_max=30).out == "right\n"


@pytest.fixture(scope="module")
def progress(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("progress"), "progress.c")


WAITS = ["write_at_all", "window", "wait", "waitall", "waitany", "waitsome", "set_atomicity"]


@pytest.mark.parametrize("threads", ["on", "off"])
@pytest.mark.parametrize("call", WAITS)
def test_mpi_goes_on_with_what_was_begun_while_a_rank_waits(
    progress: Path, tmp_path: Path, call: str, threads: str
) -> None:
    environment = {"SWATH_MPI_IO_THREADS": threads}
    assert run_well(2, [progress, call, tmp_path / "data"], seconds_max=30, environment=environment).out == "right\n"


@pytest.mark.parametrize("threads", ["on", "off"])
def test_no_thread_but_the_programs_calls_an_mpi_that_serves_one(progress: Path, tmp_path: Path, threads: str) -> None:
    """Ranks of one node use MPI if they get no shared memory."""
    environment = {"SWATH_SHM_DIR": "/proc/none", "SWATH_MPI_IO_THREADS": threads}
    ended = run_well(2, [progress, "wait", tmp_path / "data"], seconds_max=30, environment=environment)
    assert ended.out == "right\n"
    assert ("nonblocking calls were done at their start" in ended.err) == (threads == "off")

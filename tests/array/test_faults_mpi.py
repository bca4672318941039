"""The same faults under real MPI, at 1 to 4 ranks. A deadlock ends at the time limit of mpi_runs.run_ranks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fault_cases import has_uring
from mpi_runs import run_ranks, run_well

WAYS = {
    "shared memory": {},
    "two nodes": {"SWATH_NODES": "2"},
    "messages only": {"SWATH_SHARED_MEMORY": "0"},
}


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_a_fault_is_the_same_error_on_all_ranks(tmp_path: Path, ranks: int) -> None:
    assert "all right" in run_well(ranks, "fault_ranks.py", "faults", tmp_path, "posix", 8)


@pytest.mark.parametrize("way", ["two nodes", "messages only"])
def test_a_fault_is_the_same_error_on_ranks_that_exchange_messages(tmp_path: Path, way: str) -> None:
    assert "all right" in run_well(3, "fault_ranks.py", "faults", tmp_path, "posix", 5, environment=WAYS[way])


@pytest.mark.exhaustive
@pytest.mark.timeout(1900)
@pytest.mark.parametrize(("way", "kind"), [*((way, "posix") for way in WAYS), ("shared memory", "uring")])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_fault_at_every_step(tmp_path: Path, ranks: int, way: str, kind: str) -> None:
    if kind == "uring" and not has_uring(tmp_path):
        pytest.skip("no io_uring here")
    run_well(ranks, "fault_ranks.py", "faults", tmp_path, kind, 10_000, environment=WAYS[way], seconds_max=1800)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_create_that_fails_leaves_the_old_file_or_nothing(tmp_path: Path, ranks: int) -> None:
    run_well(ranks, "fault_ranks.py", "create", tmp_path)


@pytest.mark.parametrize("ranks", [2, 4])
def test_different_arguments_are_the_same_error_on_all_ranks(tmp_path: Path, ranks: int) -> None:
    run_well(ranks, "fault_ranks.py", "disagree", tmp_path)


@pytest.mark.parametrize("ranks", [2, 3])
def test_an_error_that_not_all_ranks_know_of_reaches_them(tmp_path: Path, ranks: int) -> None:
    run_well(ranks, "fault_ranks.py", "split", tmp_path)


@pytest.mark.parametrize(("ranks", "way"), [(2, "shared memory"), (4, "shared memory"), (3, "messages only")])
def test_a_killed_rank_ends_the_job(tmp_path: Path, ranks: int, way: str) -> None:
    begin = time.monotonic()
    result = run_ranks(ranks, "fault_ranks.py", "kill", tmp_path, environment=WAYS[way], seconds_max=60)
    assert "reading" in result.stdout, result.stderr
    assert result.returncode != 0
    assert time.monotonic() - begin < 40

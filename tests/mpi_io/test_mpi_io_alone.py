"""Collective calls in which ranks need not wait for each other: when they do, and the errors that they get then."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpi_io_runs import compiled, run, run_well

ERR_NO_SPACE = 36  # of MPICH's mpi.h
FULL = {"SWATH_MPI_IO_ENGINE": "fault:write@0=ENOSPC"}
TOGETHER = "swath_contiguous=together"
LOCAL = "swath_set_view=local"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("alone"), "alone.c")


@pytest.mark.parametrize("what", ["waits", "waits_beside"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_contiguous_collective_call_does_not_wait_for_a_rank_that_is_late(
    alone: Path, tmp_path: Path, ranks: int, what: str
) -> None:
    assert run_well(ranks, [alone, what, tmp_path / "a"], seconds_max=30).out == "right\n"


def test_set_view_waits_for_nobody_where_a_hint_says_so(alone: Path, tmp_path: Path) -> None:
    assert run_well(2, [alone, "waits_in_set_view", tmp_path / "a", LOCAL], seconds_max=30).out == "right\n"


@pytest.mark.parametrize("hints", [(), (TOGETHER,), (LOCAL,), ("romio_cb_write=disable", "romio_cb_read=disable")])
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_collective_read_finds_what_late_ranks_have_written_collectively(
    alone: Path, tmp_path: Path, ranks: int, hints: tuple[str, ...]
) -> None:
    assert run_well(ranks, [alone, "order", tmp_path / "a", *hints]).out == "right\n"


@pytest.mark.parametrize("ranks", [2, 4])
def test_set_view_is_a_barrier(alone: Path, tmp_path: Path, ranks: int) -> None:
    assert run_well(ranks, [alone, "barrier", tmp_path / "a"]).out == "right\n"


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_one_view_with_holes_makes_all_ranks_go_together(alone: Path, tmp_path: Path, ranks: int) -> None:
    ended = run_well(ranks, [alone, "holes", tmp_path / "a"], seconds_max=30)
    assert ended.out == "right\n"
    assert ranks == 1 or not any("one contiguous transfer" in line for line in ended.told), ended.told


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_a_rank_that_begins_to_sieve_loses_no_byte_of_ranks_that_write_without_locks(
    alone: Path, tmp_path: Path, ranks: int
) -> None:
    ended = run_well(ranks, [alone, "sieve", tmp_path / "a"])
    assert ended.out == "right\n"
    assert any("independent write by sieve" in line for line in ended.told), ended.told


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_view_that_one_rank_gives_wrongly_is_an_error_of_all_and_no_view_changes(
    alone: Path, tmp_path: Path, ranks: int
) -> None:
    assert run_well(ranks, [alone, "wrong_view", tmp_path / "a"], seconds_max=30).out == "right\n"


@pytest.mark.parametrize(
    "call",
    [
        "sync",
        "set_view",
        "set_size",
        "set_atomicity",
        "preallocate",
        "seek_shared",
        "write_ordered",
        "read_at_all",
        "close",
    ],
)
def test_an_error_of_one_rank_is_told_to_the_others_once_where_they_meet(
    alone: Path, tmp_path: Path, call: str
) -> None:
    ended = run((1, 2), [alone, f"errors_{call}", tmp_path / "a"], environments=[FULL, {}], seconds_max=30)
    assert ended.status == 0, ended.err
    assert sorted(ended.out.splitlines()) == [
        f"0: {ERR_NO_SPACE} 0 {ERR_NO_SPACE} 0",
        f"1: 0 0 {ERR_NO_SPACE} 0",
        f"2: 0 0 {ERR_NO_SPACE} 0",
    ]
    assert any("rank 0: write" in line and "No space left on device" in line for line in ended.told), ended.told


def test_ranks_that_go_together_hear_of_an_error_at_once(alone: Path, tmp_path: Path) -> None:
    command = [alone, "errors_sync", tmp_path / "a", TOGETHER]
    ended = run((1, 2), command, environments=[FULL, {}], seconds_max=30)
    assert sorted(ended.out.splitlines()) == [f"{rank}: {ERR_NO_SPACE} 0 0 0" for rank in range(3)], ended.err


def test_on_a_modelled_disk_contiguous_calls_go_together(alone: Path, tmp_path: Path) -> None:
    engine = {"SWATH_MPI_IO_ENGINE": "model:ssd"}
    ended = run_well(2, [alone, "order", tmp_path / "a"], environment=engine)
    assert ended.out == "right\n"
    assert not any("one contiguous transfer" in line for line in ended.told), ended.told

"""The same properties under real MPI, at 1 to 4 ranks, by shared memory and by messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpi_runs import run_well

WAYS = {
    "shared memory": {},
    "two nodes": {"SWATH_NODES": "2"},
    "messages only": {"SWATH_SHARED_MEMORY": "0"},
    # Real messages, by the library's path between machines; the ranks of two nodes above use shared memory.
    "a network": {"MPIR_CVAR_NOLOCAL": "1"},
}


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_communicators_of_mpi4py_are_taken_over(ranks: int) -> None:
    run_well(ranks, "comm_ranks.py")


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_method_reads_and_writes_what_numpy_does(ranks: int) -> None:
    assert "all right" in run_well(ranks, "property_ranks.py", 1000 * ranks, 25)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["two nodes", "messages only", "a network"])
def test_ranks_on_several_nodes_exchange_messages(way: str) -> None:
    assert "all right" in run_well(3, "property_ranks.py", 77, 25, environment=WAYS[way])


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ranks", [2, 4])
def test_every_method_reads_and_writes_what_numpy_does_many_times(ranks: int, way: str) -> None:
    assert "all right" in run_well(
        ranks, "property_ranks.py", 5000 * ranks, 400, environment=WAYS[way], seconds_max=800
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", ["blocking", "beside"])
def test_mpi_goes_on_with_messages_while_a_rank_waits(tmp_path: Path, call: str, way: str) -> None:
    done = run_well(2, "progress_ranks.py", tmp_path, call, environment=WAYS[way], seconds_max=30)
    assert "well" in done

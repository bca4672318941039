"""Each application as the paper found it gets the paper's advice first; what is in order gets none."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from impossible_advice import impossible
from made_logs import Call, batches, columns, made_log, rows_of_one_rank, rows_of_ranks
from swath import _core
from swath.advice.runs.advise import RunAdvice, advise
from swath.advice.runs.pattern import Pattern, parsed
from swath.advice.runs.prices import Prices
from swath.advice.runs.store_prices import prices_of
from swath.commands.advise import as_data
from swath.trace.characteristics import characterise
from swath.trace.log import Log, Stripes

MIB = 1 << 20


@pytest.fixture(scope="module")
def disk() -> Prices:
    """Prices of a modelled disk, for logs of a run on this disk."""
    return dataclasses.replace(prices_of("disk:p690-scsi", None, ()), is_elsewhere=False)


def advised(log: Log, prices: Prices) -> RunAdvice:
    """The advice, which must be possible for the log."""
    found = advise(log, prices)
    assert impossible(characterise(log), as_data(found)) == []
    return found


def titles(found: RunAdvice) -> list[str]:
    return [one.proposal.title for one in found.advice]


def test_rows_of_ranks_are_to_be_collective(disk: Prices) -> None:
    found = advised(made_log(rows_of_ranks(4, 64, 240), 4), disk)
    first = found.advice[0]
    assert first.proposal.title == "collective I/O: one call for all regions of all ranks"
    assert first.part > 0.9
    assert first.proposal.change is not None
    assert first.proposal.change.words == "collective,file=/data/file"
    assert first.evidence["calls"] == 256
    assert first.evidence["calls_of_log"] == [0, 255]
    assert "CYCLIC(240 bytes)" in first.evidence["what"]


def test_rows_that_rank_0_writes_for_all_are_to_be_collective(disk: Prices) -> None:
    found = advised(made_log(rows_of_one_rank(4, 64, 256), 4), disk)
    assert titles(found)[0] == "collective I/O: all ranks, with one call"
    assert found.advice[0].proposal.step.words == "parallelism"


@pytest.mark.parametrize("has_mpi", [True, False])
def test_collective_calls_need_ranks_of_mpi(disk: Prices, has_mpi: bool) -> None:
    found = advised(made_log(rows_of_ranks(4, 64, 240), 4, has_mpi=has_mpi), disk)
    assert any("collective" in title for title in titles(found)) == has_mpi
    assert any("MPI" in one.proposal.means for one in found.advice) == has_mpi


def test_a_file_that_is_written_by_rows_and_read_by_columns_needs_another_layout(disk: Prices) -> None:
    found = advised(made_log(columns(48, 16), 1), disk)
    assert titles(found)[0] == "another layout: the order in which the program goes through the file"
    assert found.advice[0].proposal.step.number == 2


def test_no_layout_for_a_file_that_is_read_once(disk: Prices) -> None:
    reads = [call for call in columns(48, 16, passes=1) if call.name == "read"]
    assert not any("layout" in title for title in titles(advised(made_log(reads, 1), disk)))
    again = [call for call in columns(48, 16, passes=2) if call.name == "read"]
    found = advised(made_log(again, 1), disk)
    assert "layout" in titles(found)[0]
    assert "it pays after" in " ".join(found.advice[0].proposal.presumes)


def test_batches_with_computing_between_are_to_be_prefetched(disk: Prices) -> None:
    found = advised(made_log(batches(2, 16, 200_000, passes=5, compute=6e-3), 2), disk)
    assert titles(found)[0] == "prefetch: read the next part while the program computes"
    assert 0.2 < found.advice[0].part < 0.5


def test_batches_in_small_pieces_are_to_be_read_by_large_calls_and_prefetched(disk: Prices) -> None:
    calls = batches(2, 16, 65_536, passes=5, compute=0.08, pieces=16)
    found = advised(made_log(calls, 2), disk)
    assert titles(found)[:2] == [
        "one large call instead of many small ones",
        "prefetch: read the next part while the program computes",
    ]


def test_batches_that_are_read_without_computing_are_not_to_be_prefetched(disk: Prices) -> None:
    found = advised(made_log(batches(2, 16, 200_000, passes=1, compute=0.0), 2), disk)
    assert not any("prefetch" in title for title in titles(found))


def test_ranks_with_different_shares_are_to_be_balanced(disk: Prices) -> None:
    def calls(counts: tuple[int, ...]) -> list[Call]:
        return [
            Call(rank, "read", batch * MIB, MIB, 0.03, file=f"/data/{rank}")
            for rank, count in enumerate(counts)
            for batch in range(count)
        ]

    found = advised(made_log(calls((8, 8, 8, 24)), 4), disk)
    assert "balanced reads: the same bytes for each rank" in titles(found)
    assert not any("balanced" in title for title in titles(advised(made_log(calls((12, 12, 12, 12)), 4), disk)))


def test_many_opens_and_syncs_are_to_be_one() -> None:
    calls = []
    for step in range(50):
        calls += [Call(0, "open", 0, 0, 2e-3), Call(0, "write", step * MIB, MIB, 4e-3), Call(0, "sync", 0, 0, 8e-3)]
    found = advised(made_log(calls, 1), prices_of(None, None, ()))
    assert titles(found) == ["open the file once", "one sync after the last write"]
    changes = [one.proposal.change for one in found.advice]
    assert [change.words for change in changes if change is not None] == [
        "keep-open,file=/data/file",
        "one-sync,file=/data/file",
    ]


def test_small_reads_with_gaps_are_to_be_sieved(disk: Prices) -> None:
    calls = [Call(0, "read", at * 1024, 100, 6e-3) for at in range(400)]
    assert titles(advised(made_log(calls, 1), disk))[0] == "data sieving: read a window, and pick from it"


def test_bytes_that_are_read_again_are_to_be_kept(disk: Prices) -> None:
    calls = [Call(0, "read", at * MIB, MIB, 0.03) for _ in range(4) for at in range(16)]
    found = advised(made_log(calls, 1), disk)
    assert titles(found) == ["caching: keep in memory what is read again"]
    assert found.advice[0].part == pytest.approx(0.75, abs=0.02)


def test_more_streams_than_a_disk_serves_well_are_to_be_fewer(disk: Prices) -> None:
    calls = [
        Call(rank, "read", (rank * 8 + at) * 4 * MIB, 4 * MIB, 0.8, file=f"/data/{rank}")
        for at in range(8)
        for rank in range(4)
    ]
    found = advised(made_log(calls, 4), disk)
    assert titles(found) == ["at most 1 stream at a time"]


def test_a_slow_server_and_a_file_on_one_server_are_named(disk: Prices) -> None:
    calls = [
        Call(rank, "write", (at * 4 + rank) * MIB, MIB, 0.5 if rank == 2 else 0.03)
        for at in range(12)
        for rank in range(4)
    ]
    log = made_log(calls, 4)
    log.stripes = {0: Stripes(MIB, (10, 11, 12, 13))}
    assert "server 12 is slow" in titles(advised(log, disk))


def test_a_file_on_one_server_that_ranks_use_at_once_is_to_be_striped(disk: Prices) -> None:
    def log_of(after: float) -> Log:
        calls = [
            Call(rank, "write", (at * 4 + rank) * MIB, MIB, 0.1, after * (3 if at else rank))
            for at in range(12)
            for rank in range(4)
        ]
        log = made_log(calls, 4)
        log.stripes = {0: Stripes(MIB, (10,))}
        return log

    assert "stripe the file over 4 servers" in titles(advised(log_of(0.0), disk))
    in_turn = titles(advised(log_of(0.1), disk))  # one rank at a time: more servers would have nothing to do
    assert not any("stripe" in title for title in in_turn)


def test_what_saves_less_than_5_percent_is_not_said(disk: Prices) -> None:
    log = made_log(rows_of_ranks(4, 64, 240), 4)
    log.execution_seconds *= 30
    assert titles(advised(log, disk)) == []


def test_large_contiguous_accesses_of_ranks_get_no_advice(disk: Prices) -> None:
    calls = [Call(rank, "write", rank * 16 * MIB, 16 * MIB, 0.5) for rank in range(1)]
    assert titles(advised(made_log(calls, 1), disk)) == []


def test_an_empty_log_gets_no_advice(disk: Prices) -> None:
    assert titles(advise(Log("/data/log", "Swath made", ranks=4), disk)) == []


def test_counters_alone_have_wide_intervals(disk: Prices) -> None:
    log = made_log(rows_of_ranks(4, 64, 240), 4)
    exact = advise(log, disk).advice[0].saving
    from swath.trace.totals import all_totals

    log.totals = all_totals(log)
    log.requests = log.requests.take(np.zeros(0, np.intp))
    found = advise(log, disk)
    assert found.only_counters
    saving = found.advice[0].saving
    assert saving.high - saving.low > exact.high - exact.low


def test_prices_of_another_store_replace_measured_seconds() -> None:
    log = made_log(rows_of_ranks(4, 64, 240, seconds=1e-6), 4)
    here, there = advise(log, prices_of(None, None, ())), advise(log, prices_of("disk:p690-scsi", None, ()))
    assert here.seconds == pytest.approx(64e-6)
    assert there.seconds > 1000 * here.seconds
    assert there.advice[0].evidence["seconds"] == pytest.approx(there.io_seconds)


def test_patterns_are_read_as_they_are_written() -> None:
    for pattern in (
        Pattern("read"),
        Pattern("write", 4, 4096, 8, 128, 2, "two-phase", 3),
        Pattern("read", regions=7, method="sieve"),
    ):
        assert parsed(pattern.words) == pattern


def test_two_phase_is_cheaper_than_calls_for_small_regions_and_not_for_large_ones() -> None:
    prices = Prices(_core.default_profile())
    small, large = Pattern("write", 4, 4096, 8), Pattern("write", 4, 1, 64 * MIB)
    with_method = {
        method: [prices.seconds(dataclasses.replace(one, method=method)) for one in (small, large)]
        for method in ("direct", "two-phase")
    }
    assert with_method["two-phase"][0] < with_method["direct"][0] / 4
    assert with_method["two-phase"][1] > with_method["direct"][1] / 1.5

"""Advice leaves alone what Swath decides by itself, and what is computed can be computed again."""

from __future__ import annotations

import dataclasses

import pytest

from impossible_advice import impossible
from made_logs import Call, batches, made_log, rows_of_ranks
from swath.advice.runs.advise import RunAdvice, advise
from swath.advice.runs.observed import observed
from swath.advice.runs.prices import Prices
from swath.advice.runs.store_prices import prices_of
from swath.base.adaptive import PREFETCH, RECOMPUTE, WRITE_BEHIND
from swath.commands.advise import as_data
from swath.trace.characteristics import characterise
from swath.trace.log import Kind, Log

MIB = 1 << 20
BALANCED = "balanced I/O: compute some of the data again while the others are read"
CACHING = "caching: keep in memory what is read again"
COLLECTIVE = "collective I/O: one call for all regions of all ranks"


@pytest.fixture(scope="module")
def elsewhere() -> Prices:
    """Prices of a modelled disk, for logs of runs on other stores."""
    return prices_of("disk:p690-scsi", None, ())


@pytest.fixture(scope="module")
def disk(elsewhere: Prices) -> Prices:
    """The same for logs of runs on this disk."""
    return dataclasses.replace(elsewhere, is_elsewhere=False)


def advised(log: Log, prices: Prices) -> RunAdvice:
    """The advice, which must be possible for the log."""
    found = advise(log, prices)
    assert impossible(characterise(log), as_data(found)) == []
    return found


def titles(found: RunAdvice) -> list[str]:
    return [one.proposal.title for one in found.advice]


def computed(*, compute: float, passes: int, reads_between: int = 0) -> list[Call]:
    """Batches that a rank computes and writes one after the other, then reads several times."""
    calls = []
    for batch in range(16):
        calls += [Call(0, "read", batch * MIB, MIB, 0.03, file="/data/input")] * reads_between
        calls.append(Call(0, "write", batch * MIB, MIB, 1e-3, compute))
    return calls + [Call(0, "read", batch * MIB, MIB, 0.03) for _ in range(passes) for batch in range(16)]


def of_swath(calls: list[Call]) -> Log:
    """A log of operations of Swath, which have no offset."""
    log = made_log(calls, 1, layer="swath")
    log.requests.offset[:] = -1
    return log


def test_data_that_are_computed_once_and_read_often_are_to_be_balanced(disk: Prices) -> None:
    log = of_swath(computed(compute=0.03, passes=10))
    log.command = "python program.py"
    found = advised(log, disk)
    assert titles(found) == [BALANCED]
    (one,) = found.advice
    assert one.proposal.step.words == "balance"
    assert "swath.Balanced" in one.proposal.means["Python"]
    # Reading a batch takes as long as computing it: half of them are read while the others are computed.
    assert one.saving.likely == pytest.approx(10 * 16 * 0.03 / 2)


@pytest.mark.parametrize(
    ("compute", "passes", "reads_between"),
    [(0.03, 2, 0), (100.0, 10, 0), (0.03, 10, 1)],
    ids=["read twice", "dear to compute", "computed from a file"],
)
def test_other_data_are_not_to_be_balanced(disk: Prices, compute: float, passes: int, reads_between: int) -> None:
    found = advised(of_swath(computed(compute=compute, passes=passes, reads_between=reads_between)), disk)
    assert BALANCED not in titles(found)


def test_what_swath_balances_is_left_alone(disk: Prices) -> None:
    log = of_swath(computed(compute=0.03, passes=10))
    log.adaptive = {"/data/file": {RECOMPUTE}}
    assert titles(advised(log, disk)) == []


def test_either_caching_or_balancing_is_advised(disk: Prices) -> None:
    found = advised(made_log(computed(compute=0.03, passes=10), 1), disk)
    assert titles(found) == [CACHING]


def test_what_swath_reads_ahead_and_writes_behind_is_left_alone(disk: Prices, elsewhere: Prices) -> None:
    calls = batches(1, 16, 200_000, passes=5, compute=6e-3)
    for prices in (disk, elsewhere):
        assert any("prefetch" in title for title in titles(advised(made_log(calls, 1), prices)))
        log = made_log(calls, 1)
        log.adaptive = {"/data/integrals.0": {PREFETCH, WRITE_BEHIND}}
        assert not any("prefetch" in title for title in titles(advised(log, prices)))


def test_reads_beside_computing_take_less_of_the_run(elsewhere: Prices) -> None:
    calls = batches(1, 16, 200_000, passes=5, compute=6e-3)
    log = made_log(calls, 1)
    alone = advise(log, elsewhere)
    log.adaptive = {"/data/integrals.0": {PREFETCH}}
    beside = advise(log, elsewhere)
    assert alone.seconds - beside.seconds == pytest.approx(5 * 16 * 6e-3, rel=0.02)


def test_file_calls_below_swath_get_no_advice(disk: Prices) -> None:
    for name in ("/data/file (<f8 (4, 8), raw, opened as number 1)", "/data/file:u (<f8 (4, 8), hdf5)", "/data/file"):
        log = made_log(rows_of_ranks(4, 64, 240), 4)
        assert titles(advised(log, disk))[0] == COLLECTIVE
        log.kinds.append(Kind("swath", "write"))
        log.files.append(name)
        log.requests.kind[-1], log.requests.file[-1] = len(log.kinds) - 1, len(log.files) - 1
        assert [one.layer for one in observed(log).accesses] == ["swath"]
        assert titles(advise(log, disk)) == []


def test_files_that_swath_makes_have_a_hidden_name_first(disk: Prices) -> None:
    calls = [dataclasses.replace(call, file="/data/.file.swath-0ee7ea47dcca") for call in rows_of_ranks(4, 64, 240)]
    log = made_log([*calls, Call(0, "read", 0, 8, file="/data/file")], 4)
    assert COLLECTIVE in titles(advise(log, disk))
    log.kinds[log.requests.kind[-1]] = Kind("swath", "read")
    assert titles(advise(log, disk)) == []


def test_collective_calls_are_neither_to_be_collective_nor_balanced(disk: Prices) -> None:
    log = made_log(rows_of_ranks(4, 64, 240), 4, layer="mpi-io")
    assert titles(advised(log, disk))[0] == COLLECTIVE
    log.requests.collective[:] = True
    assert COLLECTIVE not in titles(advised(log, disk))
    unequal = [
        Call(rank, "read", batch * MIB, MIB, 0.03, file=f"/data/{rank}")
        for rank, count in enumerate((8, 8, 8, 24))
        for batch in range(count)
    ]
    log = made_log(unequal, 4)
    assert any("balanced" in title for title in titles(advised(log, disk)))
    log.requests.collective[:] = True
    assert not any("balanced" in title for title in titles(advised(log, disk)))


def test_on_another_store_calls_that_move_no_bytes_have_no_price(disk: Prices, elsewhere: Prices) -> None:
    calls = []
    for step in range(50):
        calls += [Call(0, "open", 0, 0, 0.5), Call(0, "write", step * MIB, MIB, 4e-3), Call(0, "sync", 0, 0, 0.5)]
    assert titles(advised(made_log(calls, 1), disk)) != []
    assert titles(found := advised(made_log(calls, 1), elsewhere)) == []
    assert found.seconds == pytest.approx(found.io_seconds)

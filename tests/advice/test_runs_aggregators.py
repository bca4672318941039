"""Advice about aggregators: where the log tells their number, and a number that costs less."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from impossible_advice import impossible
from made_logs import of_mpi_io, of_swath
from swath.advice.runs.advise import RunAdvice, advise
from swath.advice.runs.prices import Prices
from swath.advice.runs.store_prices import prices_of
from swath.commands.advise import as_data
from swath.trace.characteristics import characterise
from swath.trace.log import Log
from swath.trace.totals import all_totals

TITLE = "another number of aggregators"


@pytest.fixture(scope="module")
def disk() -> Prices:
    """Prices of a modelled disk, which serves one stream best, for logs of a run on this disk."""
    return dataclasses.replace(prices_of("disk:p690-scsi", None, ()), is_elsewhere=False)


def found(log: Log, prices: Prices) -> RunAdvice:
    """The advice, which must be possible for the log."""
    advice = advise(log, prices)
    assert impossible(characterise(log), as_data(advice)) == []
    return advice


def about_aggregators(log: Log, prices: Prices) -> list[str]:
    return [one.proposal.condition for one in found(log, prices).advice if one.proposal.title == TITLE]


def test_too_many_aggregators_of_swath_s_operations_are_found_and_can_be_replayed(disk: Prices) -> None:
    (one,) = (one for one in found(of_swath(4), disk).advice if one.proposal.title == TITLE)
    assert one.proposal.condition == "4 of 4 ranks write for all; 1 would cost less"
    assert one.proposal.change is not None
    assert one.proposal.change.words == "aggregators=1,file=/data/file"
    assert 0 < one.saving.low < one.saving.likely < one.saving.high
    assert "cb_nodes=1" in one.proposal.means["MPI"]


def test_too_few_aggregators_for_many_servers_are_found() -> None:
    prices = dataclasses.replace(prices_of(None, "paragon", ()), is_elsewhere=False)
    (condition,) = about_aggregators(of_swath(1, ranks=16), prices)
    assert condition == "1 of 16 ranks write for all; 16 would cost less"
    assert about_aggregators(of_swath(16, ranks=16), prices) == []


@pytest.mark.parametrize("number", [None, 1])
def test_nothing_is_said_of_a_good_number_or_of_one_that_plans_choose(disk: Prices, number: int | None) -> None:
    assert about_aggregators(of_swath(number), disk) == []


def test_calls_below_mpi_io_tell_the_number(disk: Prices) -> None:
    (one,) = (one for one in found(of_mpi_io((0, 1, 3)), disk).advice if one.proposal.title == TITLE)
    assert one.proposal.condition == "3 of 4 ranks write for all; 1 would cost less"
    assert one.proposal.change is None  # the MPI library's exchange is not in the log
    assert about_aggregators(of_mpi_io((2,)), disk) == []
    assert about_aggregators(of_mpi_io((0, 1, 2, 3)), disk) == []  # each may move its own bytes
    assert about_aggregators(of_mpi_io(()), disk) == []


def test_counters_tell_the_number_if_they_are_those_of_each_rank() -> None:
    paragon = dataclasses.replace(prices_of(None, "paragon", ()), is_elsewhere=False)
    log = of_mpi_io((3,), ranks=16)
    log.totals = all_totals(log)
    log.requests = log.requests.take(np.zeros(0, np.intp))
    assert about_aggregators(log, paragon) == ["1 of 16 ranks write for all; 16 would cost less"]
    log.totals["rank"][log.totals["kind"] == 1] = -1  # of all ranks together
    assert about_aggregators(log, paragon) == []


def test_calls_that_are_not_collective_have_no_aggregators(disk: Prices) -> None:
    log = of_mpi_io((0, 1, 2, 3))
    log.counts = {"mpi-io": {"indep_writes": 4}}
    assert about_aggregators(log, disk) == []

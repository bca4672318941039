"""The work of every operation before bytes move: little, once, and the same on all ranks."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.array import counters, open_array
from swath.errors import ArgumentError, DisagreementError
from swath.simulated import run_ranks
from swath.space import Block, Boxes, Cyclic, Distribution

SHAPE = (12, 10)
VALUES = np.arange(120, dtype="<i4").reshape(SHAPE)
COLUMNS = Distribution((Block(), Cyclic()), grid=(1, 1))


def opened(folder: Path, **arguments: Any) -> swath.Array:
    """An array of VALUES."""
    path = folder / "a.raw"
    if not path.exists():
        VALUES.tofile(path)
    return swath.open(path, shape=SHAPE, dtype="<i4", **arguments)


def plans_made(a: swath.Array) -> int:
    """Return how many of its operations needed a new plan."""
    return a._core.plans_made


def test_what_is_asked_again_is_not_planned_again(tmp_path: Path) -> None:
    with opened(tmp_path) as a:
        for repetition in range(3):
            np.testing.assert_array_equal(a.read(COLUMNS, selection=np.s_[2:5]), VALUES[2:5], str(repetition))
        # The same operation with other objects: another distribution, other slices.
        a.read(Distribution((Block(), Cyclic()), grid=(1, 1)), selection=np.s_[2:5:1, :])
        assert plans_made(a) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"selection": np.s_[2:6]},
        {"selection": np.s_[2:5, ::-1]},
        {"selection": np.s_[2]},
        {"distribution": Distribution((Cyclic(), Block()), grid=(1, 1))},
        {"method": "list"},
        {"tuning": {"sieve_bytes": 64}},
        {"out": np.empty(SHAPE[::-1], "<i4").T[2:5]},
    ],
)
def test_what_is_asked_otherwise_is_planned_anew(tmp_path: Path, other: dict[str, Any]) -> None:
    with opened(tmp_path) as a:
        first: dict[str, Any] = {"distribution": COLUMNS, "selection": np.s_[2:5]}
        a.read(**first)
        asked = {**first, **other}
        if asked["selection"] == 2:
            asked["distribution"] = Distribution((Cyclic(),), grid=(1,))
        np.testing.assert_array_equal(a.read(**asked), VALUES[asked["selection"]])
        assert plans_made(a) == 2
        np.testing.assert_array_equal(a.read(**first), VALUES[2:5])
        assert plans_made(a) == 2


def test_reads_and_writes_of_the_same_are_not_taken_for_each_other(tmp_path: Path) -> None:
    with opened(tmp_path, mode="r+") as a:
        for stamp in (1, 2):
            a.write(VALUES[2:5] * stamp, selection=np.s_[2:5])
            np.testing.assert_array_equal(a.read(selection=np.s_[2:5]), VALUES[2:5] * stamp)
        np.testing.assert_array_equal(a[:2], VALUES[:2])


def test_only_the_latest_operations_are_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as a:
        for number in range(open_array.OPERATIONS_KEPT + 10):
            row = number % 12
            np.testing.assert_array_equal(a[row, : 1 + number // 12], VALUES[row, : 1 + number // 12])
        assert a._as_stored.operations.cache_info().currsize == open_array.OPERATIONS_KEPT


def test_a_closed_array_answers_nothing_from_memory(tmp_path: Path) -> None:
    a = opened(tmp_path)
    a.read(selection=np.s_[2:5])
    a.close()
    with pytest.raises(ArgumentError, match="the array is closed"):
        a.read(selection=np.s_[2:5])


@pytest.mark.parametrize("wrong", [{"method": "sieved"}, {"tuning": {"sieve_bytes": 0}}, {"selection": np.s_[99]}])
def test_what_cannot_be_is_refused_every_time(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with opened(tmp_path) as a:
        for _ in range(2):
            with pytest.raises(ArgumentError):
                a.read(**wrong)


def test_an_array_that_nobody_holds_is_gone_at_once(tmp_path: Path) -> None:
    """Cached operations do not reference the array: otherwise its file would stay open until a garbage collection."""
    a = opened(tmp_path)
    a.read(COLUMNS)
    a.read(Boxes([((1, 2), (5, 7))]))
    gone = weakref.ref(a)
    gc.disable()
    try:
        del a
        assert gone() is None
    finally:
        gc.enable()


def test_what_is_asked_otherwise_on_another_rank_is_told_before_what_is_wrong_with_memory(tmp_path: Path) -> None:
    opened(tmp_path).close()
    rows, columns = Distribution((Block(), Block()), grid=(2, 1)), Distribution((Block(), Block()), grid=(1, 2))

    def work(comm: Any) -> str:
        with (
            opened(tmp_path, comm=comm) as a,
            pytest.raises(DisagreementError) as raised,
        ):
            a.read(rows if comm.rank == 0 else columns, selection=np.s_[1:, ::-2], out=np.empty(3))
        with (
            opened(tmp_path, comm=comm) as a,
            pytest.raises(ArgumentError, match=r"^rank 1: out: shape"),
        ):
            a.read(rows, out=None if comm.rank == 0 else np.empty(3))
        return str(raised.value)

    told = set(run_ranks(2, work))
    assert len(told) == 1
    assert "distribution=(block, block) over grid (2, 1) selection=[1:12, 9::-2]" in told.pop()


def test_boxes_that_are_read_again_are_not_planned_again(tmp_path: Path) -> None:
    with opened(tmp_path) as a:
        for _ in range(2):
            (part,) = a.read(Boxes([((1, 2), (5, 7))]))
            np.testing.assert_array_equal(part, VALUES[1:5, 2:7])
        assert plans_made(a) == 1


def test_counters_are_those_of_the_latest_operation(tmp_path: Path) -> None:
    with opened(tmp_path) as a:
        assert a.counters == counters.Counters()
        a[2:5]
        assert (a.counters.method, a.counters.read_requests, a.counters.read_bytes) == ("direct", 1, 120)
        a.read(selection=np.s_[0], method="sieve")
        assert (a.counters.method, a.counters.read_bytes) == ("sieve", 40)

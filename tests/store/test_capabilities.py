"""The capabilities of a store reach the plan; an unknown capability counts as missing."""

from pathlib import Path

import numpy as np
import pytest

import swath
from swath import _core
from swath.simulated import run_ranks

SHAPE = (8, 6)
UNKNOWN = "not known what is in the page cache"


def cyclic(ranks: int) -> swath.Distribution:
    return swath.Distribution((swath.Cyclic(1), swath.Whole()), grid=(ranks, 1))


def explained(path: Path, comm: object) -> str:
    with swath.open(path, comm=comm, engine="null") as a:
        return str(a.explain(cyclic(2)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", np.ones(SHAPE, "<i4"))
    return tmp_path / "a.npy"


@pytest.mark.parametrize("asked_before", [1, 3])
@pytest.mark.parametrize("is_same", [True, False])
def test_nothing_is_read_before_the_agreement_where_it_is_not_known_what_is_cached(
    path: Path, asked_before: int, is_same: bool
) -> None:
    outs = [np.full((4, 6), 7, "<i4") for _ in range(2)]

    def work(comm):
        with swath.open(path, comm=comm, engine="null") as a:
            for _ in range(asked_before):
                a.read(cyclic(2))
            assert UNKNOWN in str(a.last_plan)
            selection = np.s_[:] if is_same or comm.rank == 0 else np.s_[::-1]
            a.read(cyclic(2), selection=selection, out=outs[comm.rank])

    if is_same:
        run_ranks(2, work)
    else:
        with pytest.raises((swath.DisagreementError, swath.ArgumentError)):
            run_ranks(2, work)
    for out in outs:
        np.testing.assert_array_equal(out, 0 if is_same else 7)


def test_a_plan_is_made_by_what_the_store_tells(path: Path) -> None:
    with swath.open(path, engine="null") as a:
        assert UNKNOWN in str(a.explain())
        assert UNKNOWN in str(run_ranks(2, lambda comm: explained(path, comm))[1])
        assert "50 % in the page cache" in str(a.explain(cached=0.5))
    with swath.open(path, engine="model:p690-raid5") as a:
        assert " 0 % in the page cache" in str(a.explain())


def test_holes_of_a_store_that_needs_no_locks_are_filled_in_without(path: Path) -> None:
    distribution = swath.Distribution((swath.Whole(), swath.Cyclic()), grid=(1, 2))
    for engine, locks in [("null", 0), ("posix", 1)]:
        with swath.open(path, mode="r+", engine=engine) as a:
            mine = np.zeros(distribution.local_shape(SHAPE, 0), "<i4")
            a.write(mine, distribution, rank=0, method="sieve")
            assert a.counters.locks == locks
            assert a.last_plan.cost("sieve", 0)["locks"] == locks


@pytest.mark.parametrize("engine", ["posix", "uring", "auto", "null", "model:p690-raid5", "fault:read@9=EIO"])
def test_an_engine_says_what_it_can_do_and_keeps_to_it(path: Path, engine: str) -> None:
    opened = _core.open_file(str(path), "r+", _core.FileOptions(engine))
    able = opened.capabilities
    assert able.reports_cached == (opened.cached_range(0, 1) is not None)
    assert able.read_ranges_max == able.write_ranges_max == 1024
    assert able.lock_for_holes == (engine != "null")
    assert able.durable_when_answered == (engine == "null")
    assert not able.structured_requests

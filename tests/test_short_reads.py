"""Reads that are asked for again: done at once, agreed on once, and right whatever has changed meanwhile."""

from pathlib import Path

import numpy as np
import pytest

import swath
from swath import _core
from swath.simulated import run_ranks

SHAPE = (10, 6)
OLD = np.arange(60, dtype="<i4").reshape(SHAPE)
NEW = OLD + 1000


def cyclic(ranks):
    return swath.Distribution((swath.Cyclic(1), swath.Whole()), grid=(ranks, 1))


def expected(values, comm):
    return values[comm.rank :: comm.size]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", OLD)
    return tmp_path / "a.npy"


@pytest.fixture
def runs(monkeypatch):
    """Of every operation that a rank carried out: whether it did so before all had agreed."""
    seen = []
    run = _core.run

    def recorded(*arguments, **how):
        seen.append(how.get("own_part", False))
        return run(*arguments, **how)

    monkeypatch.setattr(_core, "run", recorded)
    return seen


@pytest.mark.parametrize("ranks", [2, 3, 5, 12])  # of 12 two have nothing
@pytest.mark.parametrize("method", ["direct", "sieve", "list"])
def test_what_is_read_again_is_read_at_once(path, runs, ranks, method):
    def work(comm):
        with swath.open(path, mode="r+", comm=comm) as a:
            for values in (OLD, NEW, OLD):
                a.write(np.ascontiguousarray(expected(values, comm)), cyclic(ranks))
                for _ in range(3):
                    out = np.full((len(expected(OLD, comm)), 6), -1, "<i4")
                    a.read(cyclic(ranks), out=out, method=method)
                    np.testing.assert_array_equal(out, expected(values, comm))
                    assert a.last_plan.method != "two-phase"

    run_ranks(ranks, work)
    # The first read of all, and every write, waits for the ranks to agree.
    assert sum(runs) == 8 * ranks
    assert len(runs) == 12 * ranks


def test_two_phase_reads_and_writes_are_agreed_on_first(path, runs):
    def work(comm):
        with swath.open(path, mode="r+", comm=comm) as a:
            for _ in range(3):
                mine = a.read(cyclic(2), method="two-phase")
                a.write(mine, cyclic(2), method="direct")

    run_ranks(2, work)
    assert runs == [False] * 12


def test_a_process_alone_reads_again_by_the_last_plan(path, runs):
    with swath.open(path) as a:
        for _ in range(3):
            np.testing.assert_array_equal(a[...], OLD)
        np.testing.assert_array_equal(a[2:], OLD[2:])
    assert runs == [False, True, True, False]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_the_same_objects_are_not_looked_at_again_but_the_memory_is(path, runs, ranks):
    """The distribution and the selection are the same objects every time; memory may have changed in place."""
    d = cyclic(ranks)
    rows = np.s_[:]

    def work(comm):
        own = expected(OLD, comm) if ranks > 1 else OLD
        out = np.full(own.shape, -1, "<i4")
        with swath.open(path, mode="r+", comm=comm) as a:
            for _ in range(2):
                assert a.read(d, selection=rows, method="direct", out=out) is out
                np.testing.assert_array_equal(out, own)
            np.testing.assert_array_equal(a.read(d, selection=rows, method="direct"), own)
            a.write(own + 5, d, selection=rows)
            np.testing.assert_array_equal(a.read(d, selection=rows, method="direct", out=out), own + 5)
            out.shape = (-1,)
            for wrong in (out, np.zeros(own.shape, "<i8"), [1], np.zeros((*own.shape, 1), "<i4")):
                with pytest.raises(swath.ArgumentError, match="out"):
                    a.read(d, selection=rows, method="direct", out=wrong)
            out.shape = own.shape
            out.flags.writeable = False
            with pytest.raises(swath.ArgumentError, match="read-only"):
                a.read(d, selection=rows, method="direct", out=out)
            np.testing.assert_array_equal(out, own + 5)
            big_endian = np.zeros(own.shape, ">i4")
            np.testing.assert_array_equal(a.read(d, selection=rows, method="direct", out=big_endian), own + 5)
            counted = a.counters
            assert (counted.method, counted.read_bytes) == ("direct", own.nbytes)
        with pytest.raises(swath.ArgumentError, match="closed"):
            a.read(d, selection=rows, method="direct")

    if ranks == 1:
        work(None)
    else:
        run_ranks(ranks, work)
    assert sum(runs) == 4 * ranks  # the second, the third, after the write, and into the other byte order


@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_an_error_of_one_rank_that_asks_by_the_same_objects_is_that_of_all(path, culprit):
    d = cyclic(3)

    def work(comm):
        engine = f"fault:read@{len(expected(OLD, comm))}=EIO" if comm.rank == culprit else "posix"
        with swath.open(path, comm=comm, engine=engine) as a:
            a.read(d, method="direct")
            with pytest.raises(swath.StoreError, match="Input/output error") as raised:
                a.read(d, method="direct")
            np.testing.assert_array_equal(a.read(d, method="direct"), expected(OLD, comm))
        return str(raised.value)

    assert len(set(run_ranks(3, work))) == 1


def test_one_rank_with_other_memory_has_all_read_by_a_new_plan(path, runs):
    def work(comm):
        mine = expected(OLD, comm)
        with swath.open(path, comm=comm) as a:
            for strided in (False, False, True, True, False):
                memory = np.full((len(mine), 12), -1, "<i4")
                out = memory[:, ::2] if strided and comm.rank == 1 else np.empty_like(mine)
                np.testing.assert_array_equal(a.read(cyclic(3), out=out, method="direct"), mine)
                assert (memory[:, 1::2] == -1).all()

    run_ranks(3, work)
    # Read at once by all: the 2nd and the 4th. Of the 3rd and the 5th all but rank 1 have, and read again.
    assert sum(runs) == 3 + 3 + 2 + 2
    assert len(runs) - sum(runs) == 3 * 3


def test_chunks_that_a_write_allocates_are_read(tmp_path, runs):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", SHAPE, "<i4", chunks=(5, 6), fillvalue=-7)

    def work(comm):
        mine = np.ascontiguousarray(expected(NEW, comm))
        with swath.open(tmp_path / "a.h5", "x", mode="r+", comm=comm) as a:
            for _ in range(3):
                assert (a.read(cyclic(2), method="direct") == -7).all()
            a.write(mine, cyclic(2))
            for _ in range(3):
                np.testing.assert_array_equal(a.read(cyclic(2), method="direct"), mine)

    run_ranks(2, work)
    assert sum(runs) == 2 * (2 + 2)


def test_big_endian_memory_is_swapped_once(path):
    def work(comm):
        with swath.open(path, comm=comm) as a:
            for _ in range(3):
                out = np.zeros((5, 6), ">i4")
                np.testing.assert_array_equal(a.read(cyclic(2), out=out, method="direct"), expected(OLD, comm))

    run_ranks(2, work)


@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_ranks_that_ask_for_another_read_all_hear_of_it(path, culprit):
    def work(comm):
        with swath.open(path, comm=comm) as a:
            a.read(cyclic(3), method="direct")
            other = np.s_[::2] if comm.rank == culprit else np.s_[:]
            for _ in range(2):
                with pytest.raises(swath.DisagreementError, match="ask for different things"):
                    a.read(cyclic(3), method="direct", selection=other)
                np.testing.assert_array_equal(a.read(cyclic(3), method="direct"), expected(OLD, comm))

    run_ranks(3, work)


@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_an_error_of_one_rank_is_that_of_all(path, culprit):
    def work(comm):
        # Its second read, which is done at once, fails at its first piece.
        engine = f"fault:read@{len(expected(OLD, comm))}=EIO" if comm.rank == culprit else "posix"
        with swath.open(path, comm=comm, engine=engine) as a:
            a.read(cyclic(3), method="direct")
            with pytest.raises(swath.StoreError) as raised:
                a.read(cyclic(3), method="direct")
            np.testing.assert_array_equal(a.read(cyclic(3), method="direct"), expected(OLD, comm))
        return str(raised.value)

    told = run_ranks(3, work)
    assert len(set(told)) == 1
    assert told[0].startswith(f"rank {culprit}: read {path} at ")
    assert "Input/output error" in told[0]


def test_what_will_be_synced_is_written_in_parts_that_the_device_can_begin_with(tmp_path):
    values = np.arange(5 << 17)  # 5 MiB
    with swath.create(tmp_path / "new.npy", values.shape, values.dtype) as a:
        a.write(values)
        assert a.counters.write_requests == 3
    with swath.open(tmp_path / "new.npy", mode="r+") as a:
        a.write(values + 1)
        assert a.counters.write_requests == 1
        a.sync()
        a.write(values + 2)
        assert a.counters.write_requests == 3
    np.testing.assert_array_equal(np.load(tmp_path / "new.npy"), values + 2)

"""Short operations that are repeated: one agreement at first, and right results whatever has changed since."""

import copy
from pathlib import Path

import numpy as np
import pytest

import swath
from kernels import needs_cachestat
from swath.array import open_array
from swath.simulated import run_ranks
from swath.store import page_cache

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
    """Record each operation of a rank: read before the agreement ("at once"), by a cached plan, or by a new one."""
    seen, plans = [], []
    execute = open_array.Array._execute_in_turn

    def recorded(self, *arguments, **options):
        parts = execute(self, *arguments, **options)
        plan = self._done.plan
        if self._done.was_read_before_agreement:
            seen.append("at once")
        else:
            seen.append("kept" if any(plan is other for other in plans) else "planned")
        plans.append(plan)
        return parts

    monkeypatch.setattr(open_array.Array, "_execute_in_turn", recorded)
    return seen


@pytest.mark.parametrize("ranks", [2, 3, 5, 12])  # of 12 two have nothing
@pytest.mark.parametrize("method", ["direct", "sieve", "list"])
def test_reads_in_turn_with_writes_are_agreed_on_once(path, runs, ranks, method):
    def work(comm):
        with swath.open(path, mode="r+", comm=comm) as a:
            for values in (OLD, NEW, OLD):
                a.write(np.ascontiguousarray(expected(values, comm)), cyclic(ranks), method=method)
                assert (a.last_plan.method, a.counters.method) == (method, method)
                assert a.counters.written_bytes >= expected(values, comm).nbytes
                for _ in range(3):
                    out = np.full((len(expected(OLD, comm)), 6), -1, "<i4")
                    assert a.read(cyclic(ranks), out=out, method=method) is out
                    np.testing.assert_array_equal(out, expected(values, comm))
                    assert (a.last_plan.method, a.counters.method) == (method, method)

    run_ranks(ranks, work)
    np.testing.assert_array_equal(np.load(path), OLD)
    # The first read also uses what was agreed on with the write before.
    assert runs.count("at once") == 9 * ranks
    assert len(runs) == 12 * ranks


@pytest.mark.parametrize("ranks", [1, 3])
def test_two_phase_is_agreed_on_before(path, runs, ranks):
    """The ranks communicate during the operation, so they agree first."""

    def work(comm):
        with swath.open(path, mode="r+", comm=comm) as a:
            for step in range(4):
                mine = a.read(cyclic(ranks), method="two-phase")
                np.testing.assert_array_equal(mine, expected(OLD + step, comm))
                a.write(mine + 1, cyclic(ranks), method="two-phase")

    run_ranks(ranks, work)
    np.testing.assert_array_equal(np.load(path), OLD + 4)
    assert runs.count("at once") == 0
    assert len(runs) == 2 * 4 * ranks


@pytest.mark.parametrize("first", ["packed", "strided", "reversed"])
def test_what_is_written_again_comes_from_memory_that_is_placed_as_before(path, runs, first):
    """Other strides, another dtype or another shape need a new agreement."""
    wide = np.full((5, 12), -1, "<i4")
    memory = {"packed": np.empty((5, 6), "<i4"), "strided": wide[:, ::2], "reversed": wide[::-1, ::-2]}

    def work(comm):
        d = cyclic(2)
        with swath.open(path, mode="r+", comm=comm) as a:
            for step, place in enumerate([first, first, *memory, *memory]):
                mine = copy.deepcopy(memory)[place]
                mine[...] = expected(OLD, comm) + step
                a.write(mine, d, method="direct")
                np.testing.assert_array_equal(a[...], OLD + step)
            a.write((expected(OLD, comm) + 50).astype(">i4"), d, method="direct")
            np.testing.assert_array_equal(a[...], OLD + 50)
            for wrong in (np.zeros((5, 5), "<i4"), np.zeros((5, 6), "<f4"), np.zeros((5, 6), "<i8"), None):
                with pytest.raises(swath.ArgumentError, match="values"):
                    a.write(wrong, d, method="direct")
            np.testing.assert_array_equal(a[...], OLD + 50)

    run_ranks(2, work)
    assert "at once" not in runs


def test_lists_and_views_of_other_classes_are_written_again_as_they_are(path):
    with swath.open(path, mode="r+") as a:
        for values in (OLD, NEW.tolist(), np.ma.masked_array(OLD), OLD[:]):
            a.write(np.asarray(values, "<i4") if isinstance(values, list) else values)
            np.testing.assert_array_equal(a[...], np.asarray(values))


@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_nothing_is_written_again_where_one_rank_asks_for_another_thing(path, culprit):
    d = cyclic(3)

    def work(comm):
        mine = np.ascontiguousarray(expected(NEW, comm))
        with swath.open(path, mode="r+", comm=comm) as a:
            a.write(np.ascontiguousarray(expected(OLD, comm)), d, method="direct")
            for _ in range(2):
                with pytest.raises(swath.DisagreementError, match="ask for different things"):
                    a.write(mine, d, method="list" if comm.rank == culprit else "direct")
                with pytest.raises(swath.ArgumentError, match=f"rank {culprit}: values: shape"):
                    a.write(mine[1:] if comm.rank == culprit else mine, d, method="direct")
                np.testing.assert_array_equal(a[...], OLD)
            a.write(mine, d, method="direct")
            np.testing.assert_array_equal(a[...], NEW)

    run_ranks(3, work)


@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_an_error_of_one_rank_that_writes_again_is_that_of_all(path, culprit):
    d = cyclic(3)

    def work(comm):
        mine = np.ascontiguousarray(expected(NEW, comm))
        engine = f"fault:write@{len(mine)}=ENOSPC" if comm.rank == culprit else "posix"
        with swath.open(path, mode="r+", comm=comm, engine=engine) as a:
            a.write(mine, d, method="direct")
            with pytest.raises(swath.StoreError, match="No space left") as raised:
                a.write(mine, d, method="direct")
            a.write(mine, d, method="direct")
            np.testing.assert_array_equal(a[...], NEW)
        return str(raised.value)

    told = run_ranks(3, work)
    assert len(set(told)) == 1
    assert told[0].startswith(f"rank {culprit}: write {path} at ")


def test_a_sync_tells_that_what_follows_is_written_for_the_device(path, runs):
    """The plan before the first sync differs from the plan after it."""
    with swath.open(path, mode="r+") as a:
        for _ in range(3):
            a.write(NEW)
        for _ in range(3):
            a.sync()
            a.write(OLD)
    np.testing.assert_array_equal(np.load(path), OLD)
    assert runs == ["planned", "kept", "kept"] * 2


def test_boxes_and_shares_of_others_are_not_taken_for_one_another(path, runs):
    d = cyclic(2)
    with swath.open(path) as a:
        for rank in (0, 1, 0):
            np.testing.assert_array_equal(a.read(d, rank=rank), OLD[rank::2])
        for rows in (2, 3):
            boxes = swath.Boxes([((0, 0), (rows, 6))])
            np.testing.assert_array_equal(a.read(boxes)[0], OLD[:rows])
        for window_bytes in (4096, 8192):
            a.read(tuning={"window_bytes": window_bytes})
    assert runs == ["planned", "planned", "kept", *["planned"] * 4]


@needs_cachestat
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_what_has_left_the_page_cache_is_read_by_a_new_plan(path, runs, ranks):
    """Rank 0 detects that the pages have left the cache; the others learn it in the agreement."""
    d = cyclic(ranks)

    def work(comm):
        with swath.open(path, comm=comm) as a:
            for leaves in (False, False, True, False, False):
                comm.barrier()
                if leaves and comm.rank == 0:
                    page_cache.evict(str(path))
                comm.barrier()
                np.testing.assert_array_equal(a.read(d, method="direct"), expected(OLD, comm))

    page_cache.evict(str(path))
    if page_cache.cached_fraction(str(path)) > 0:
        pytest.skip("this file system keeps its files in memory, or the kernel does not tell")
    path.read_bytes()
    run_ranks(ranks, work)
    # A read that waited for the device is not read at once either: the fourth needs an agreement first, too.
    assert runs.count("at once") == (2 * ranks if ranks > 1 else 0)
    assert len(runs) == 5 * ranks


def test_a_process_alone_reads_again_by_the_last_plan(path, runs):
    with swath.open(path) as a:
        for _ in range(3):
            np.testing.assert_array_equal(a[...], OLD)
        np.testing.assert_array_equal(a[2:], OLD[2:])
    assert runs == ["planned", "kept", "kept", "planned"]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_the_same_objects_are_not_looked_at_again_but_the_memory_is(path, runs, ranks):
    """The distribution and the selection are the same objects every time; the memory may have changed in place."""
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
    assert runs.count("at once") == (4 * ranks if ranks > 1 else 0)  # all reads but the first


@pytest.mark.parametrize(
    ("selections", "kept"),
    [
        ([np.s_[2:5], np.s_[2:5], np.s_[2:5]], 2),
        ([np.s_[2:5, ::2], np.s_[2:5, ::2], np.s_[2:6, ::2], np.s_[2:6, ::2]], 2),
        ([1, 1, 2, 2, 2], 3),
        ([..., np.s_[..., 0], np.s_[..., 0], np.s_[...]], 2),
        ([np.int64(3), np.int64(3), np.s_[np.int64(3) :], np.s_[np.int64(3) :]], 2),
    ],
)
def test_selections_are_compared_by_what_they_are(path, runs, selections, kept):
    with swath.open(path) as a:
        for selection in selections:
            np.testing.assert_array_equal(a.read(selection=selection), OLD[selection])
    assert runs.count("kept") == kept


def test_a_selection_that_has_changed_in_place_is_not_the_same(path):
    index = np.array(2)
    with swath.open(path) as a:
        for row in (2, 3, 3, 4):
            index[...] = row
            np.testing.assert_array_equal(a.read(selection=index), OLD[row])
            np.testing.assert_array_equal(a.read(selection=np.s_[index:]), OLD[row:])
            np.testing.assert_array_equal(a.read(selection=3), OLD[3])


def test_what_only_compares_equal_to_a_right_selection_is_as_wrong_as_ever(path):
    with swath.open(path) as a:
        for _ in range(2):
            np.testing.assert_array_equal(a.read(selection=1), OLD[1])
        for wrong in (True, 1.0, np.s_[1.0], np.array([1, 1])):
            with pytest.raises(swath.ArgumentError):
                a.read(selection=wrong)
        for _ in range(2):
            np.testing.assert_array_equal(a.read(selection=np.s_[1:3]), OLD[1:3])
        with pytest.raises(swath.ArgumentError):
            a.read(selection=np.s_[1.0:3])


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
    # The 2nd and the 4th are read at once by all; of the others, what rank 1 has is new.
    assert runs.count("at once") == 2 * 3
    assert len(runs) == 5 * 3


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
    assert runs.count("at once") == 2 * (2 + 3)


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
        assert a.counters.write_requests == 10
    with swath.open(tmp_path / "new.npy", mode="r+") as a:
        a.write(values + 1)
        assert a.counters.write_requests == 1
        a.sync()
        a.write(values + 2)
        assert a.counters.write_requests == 10
    np.testing.assert_array_equal(np.load(tmp_path / "new.npy"), values + 2)


@pytest.mark.parametrize("ranks", [2, 3, 5, 12])
@pytest.mark.parametrize("method", ["auto", "direct", "sieve", "list"])
def test_a_new_read_is_read_before_it_is_agreed_on(path, runs, ranks, method):
    """Each step has another selection, as in a program's time steps; all but the first use known conditions."""
    d = swath.Distribution((swath.Cyclic(1),), grid=(ranks,))

    def work(comm):
        with swath.open(path, mode="r+", comm=comm) as a:
            for row in (0, 1, 2, -1):
                out = np.full(len(OLD[row, comm.rank :: ranks]), -1, "<i4" if row % 2 else ">i4")
                a.read(d, selection=row, out=out, method=method)
                np.testing.assert_array_equal(out, OLD[row, comm.rank :: ranks])
                assert a.counters.read_bytes >= out.nbytes
                assert a.last_plan.method == a.counters.method
            a.write(np.ascontiguousarray(NEW[5, comm.rank :: ranks]), d, selection=5)
            np.testing.assert_array_equal(a.read(d, selection=np.s_[5, :]), NEW[5, comm.rank :: ranks])
            np.testing.assert_array_equal(a.read(d, selection=np.s_[5, 2:2]), [])

    run_ranks(ranks, work)
    assert len(runs) == 7 * ranks  # the others are the first read, and the write
    assert runs.count("at once") == 5 * ranks


@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_memory_that_is_not_packed_has_all_read_a_new_selection_by_a_plan_for_it(path, runs, culprit):
    def work(comm):
        with swath.open(path, comm=comm) as a:
            for row, strided in enumerate((False, True, True, False, False)):
                memory = np.full(4, -1, "<i4")
                out = memory[::2] if strided and comm.rank == culprit else memory[:2]
                a.read(swath.Distribution((swath.Block(),), grid=(3,)), selection=row, out=out, method="direct")
                np.testing.assert_array_equal(out, OLD[row, 2 * comm.rank : 2 * comm.rank + 2])
                assert (memory[1::2] == -1).all() or not (strided and comm.rank == culprit)

    run_ranks(3, work)
    # Only the last one follows a read for which all ranks had packed memory.
    assert runs.count("at once") == 3
    assert len(runs) == 5 * 3


@needs_cachestat
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_new_read_of_what_is_not_in_the_page_cache_is_agreed_on_first(path, runs, ranks):
    d = swath.Distribution((swath.Block(),), grid=(ranks,))

    def work(comm):
        with swath.open(path, comm=comm) as a:
            for row, leaves in enumerate((False, False, True, False, False)):
                comm.barrier()
                if leaves and comm.rank == 0:
                    page_cache.evict(str(path))
                comm.barrier()
                share = a.read(d, selection=row, method="direct")
                np.testing.assert_array_equal(share, np.array_split(OLD[row], ranks)[comm.rank])

    page_cache.evict(str(path))
    if page_cache.cached_fraction(str(path)) > 0:
        pytest.skip("this file system keeps its files in memory, or the kernel does not tell")
    path.read_bytes()
    run_ranks(ranks, work)
    assert runs.count("at once") == 2 * ranks
    assert len(runs) == 5 * ranks


@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_errors_of_a_read_at_once_are_those_of_all(path, culprit):
    d = swath.Distribution((swath.Block(),), grid=(3,))

    def work(comm):
        engine = "fault:read@1=EIO" if comm.rank == culprit else "posix"
        told = []
        with swath.open(path, comm=comm, engine=engine) as a:
            a.read(d, selection=0, method="direct")
            for row, out in ((1, None), (2, np.zeros(3 if comm.rank == culprit else 2, "<i4"))):
                with pytest.raises(swath.Error) as raised:
                    a.read(d, selection=row, method="direct", out=out)
                told.append(str(raised.value))
            with pytest.raises(swath.DisagreementError, match="ask for different things"):
                a.read(d, selection=3 if comm.rank == culprit else 4, method="direct")
            np.testing.assert_array_equal(a.read(d, selection=5, method="direct"), OLD[5].reshape(3, 2)[comm.rank])
        return told

    told = run_ranks(3, work)
    assert told[0] == told[1] == told[2]
    assert told[0][0].startswith(f"rank {culprit}: read {path} at ")
    assert told[0][1].startswith(f"rank {culprit}: out: shape (3,)")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_selection_that_changed_in_place_is_not_taken_for_the_one_before(path, ranks):
    def work(comm):
        row = np.array(1)
        selection = (slice(None), slice(row, 3))
        rows = swath.Distribution((swath.Block(), swath.Whole()), grid=(ranks, 1))
        mine = slice(*rows.indices(OLD.shape, comm.rank)[0][[0, -1]] + [0, 1])
        with swath.open(path, comm=comm) as a:
            for first in (1, 2, 1):
                row[...] = first
                np.testing.assert_array_equal(a.read(rows, selection=selection), OLD[mine, first:3])

    run_ranks(ranks, work)


def test_what_is_read_again_with_another_method_or_rank_is_what_was_asked(path):
    rows = cyclic(2)
    with swath.open(path) as a:
        for rank, method in [(0, "direct"), (1, "direct"), (1, "sieve"), (0, "sieve"), (0, "direct")]:
            np.testing.assert_array_equal(a.read(rows, rank=rank, method=method), OLD[rank::2])
            assert a.counters.method == method

"""`swath.Places`: elements by index arrays, compared with NumPy; gaps byte for byte; refusals; formats; MPI."""

from __future__ import annotations

import pickle
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import swath
from cases import make_case, make_file
from mpi_runs import run_well
from place_cases import check_reads_of_places, check_writes_of_places
from swath import _core
from swath.array.placed import Placed
from swath.formats.description import ChunkedLayout, Description, TiledLayout
from swath.simulated import run_ranks

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
FULL = np.arange(20 * 30, dtype="<i4").reshape(20, 30)


def check_case(seed: int, ranks: int) -> None:
    rng = random.Random(seed)
    case = make_case(rng, ranks)
    nodes = rng.randint(1, ranks)
    with tempfile.TemporaryDirectory() as folder:
        opened = make_file(case, Path(folder))

        def work(comm: Any) -> None:
            check_reads_of_places(case, opened, comm, comm.rank)
            check_writes_of_places(case, opened, comm, comm.rank, comm.rank == 0)

        run_ranks(ranks, work, seed=seed, nodes=nodes, shared_memory=rng.random() < 0.8)


@QUICK
@given(seed=st.integers(0, 2**32), ranks=st.integers(1, 5))
def test_every_method_reads_and_writes_what_index_arrays_do(seed: int, ranks: int) -> None:
    check_case(seed, ranks)


@pytest.mark.exhaustive
@pytest.mark.timeout(3000)
@LONG
@given(seed=st.integers(0, 2**63), ranks=st.integers(1, 5))
def test_every_method_reads_and_writes_what_index_arrays_do_many_times(seed: int, ranks: int) -> None:
    check_case(seed, ranks)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_ranks_of_mpi_read_and_write_what_index_arrays_do(ranks: int) -> None:
    assert "all right" in run_well(ranks, "place_ranks.py", 3000 * ranks, 15)


# ---- one process -----------------------------------------------------------------------------------------------------


@pytest.fixture
def npy(tmp_path: Path) -> Path:
    path = tmp_path / "a.npy"
    np.save(path, FULL)
    return path


def test_lists_that_combine_are_kept_as_levels_not_as_their_product(npy: Path) -> None:
    rows, columns = np.array([3, 4, 9, 17]), np.array([0, 2, 3, 29])
    with swath.open(npy) as a:
        listed = str(a.explain(swath.Places(*np.ix_(rows, columns))))
        regular = str(a.explain(swath.Places(*np.ix_(range(0, 20, 3), range(1, 30, 4)))))
    assert "views of 1 ranks, 2 levels, 7 listed places, " in listed  # columns 2 and 3 touch
    assert "views of 1 ranks, 3 levels, " in regular
    assert "listed" not in regular


def test_a_regular_view_takes_as_much_memory_as_a_small_one(tmp_path: Path) -> None:
    sizes = []
    for n in (1000, 4_000_000):
        path = tmp_path / f"{n}.raw"
        with path.open("wb") as file:
            file.truncate(8 * n)
        with swath.open(path, shape=n, dtype="<i8") as a:
            text = str(a.explain(swath.Places(range(1, n, 2))))
            sizes.append(text[text.index("views of") : text.index(" of memory")])
    assert sizes[0] == sizes[1]


def test_places_that_share_elements_are_read_once(npy: Path) -> None:
    rows = np.array([5, 1, 5, 5, 1])
    with swath.open(npy) as a:
        np.testing.assert_array_equal(a.read(swath.Places(rows), method="direct"), FULL[rows])
        assert a.counters.read_bytes == 2 * FULL[0].nbytes


def test_index_arrays_are_copied(npy: Path) -> None:
    rows = np.array([5, 1])
    places = swath.Places(rows)
    rows[:] = 7
    with swath.open(npy) as a:
        np.testing.assert_array_equal(a.read(places), FULL[[5, 1]])


def test_the_same_places_make_one_plan(npy: Path) -> None:
    places = swath.Places([5, 1], [2, 3])
    with swath.open(npy, mode="r+") as a:
        for _ in range(3):
            a.read(places)
        made = a._core.plans_made
        a.read(places)
        assert a._core.plans_made == made


def test_what_is_no_places_is_refused_with_what_to_do(npy: Path) -> None:
    two = np.array([1, 2])
    cases: list[tuple[Any, str]] = [
        (lambda _: swath.Places(), "for the whole array leave places out"),
        (lambda _: swath.Places(FULL > 3), r"swath\.Places\(\*np\.nonzero\(mask\)\)"),
        (lambda _: swath.Places([1.5]), "expected integers, not float64"),
        (lambda _: swath.Places(["a"]), "expected integers"),
        (lambda _: swath.Places([[1], [1, 2]]), "lists of different lengths"),
        (lambda _: swath.Places([1, 2], [1, 2, 3]), r"shapes \(2,\), \(3,\) do not broadcast"),
        (lambda _: swath.Places(np.array([1 << 63], np.uint64)), "beyond 64 bits"),
        (lambda _: swath.Places([1], overlap="yes"), "expected True or False"),
        (lambda _: swath.Places.union([1, 2]), r"part 0 of a union: expected swath\.Places, swath\.Boxes, or"),
        (lambda a: a.read(swath.Places([3, 25])), r"dimension 0: index 25, at place \(1,\) .* outside \[-20, 20\)"),
        (lambda a: a.read(swath.Places([3], [-31])), r"dimension 1: index -31, at place \(0,\)"),
        (lambda a: a.read(swath.Places.union(swath.Places([1]), swath.Places([20]))), "part 1: dimension 0: index 20"),
        (lambda a: a.read(swath.Places.union(swath.Boxes([((0, 0), (1, 31))]))), "does not lie in an array of shape"),
        (lambda a: a.read(swath.Places(two, two, two)), "3 index arrays for an array of 2 dimensions"),
        (lambda a: a.read(swath.Places(two), selection=np.s_[1:]), "leave out the selection"),
        (lambda a: a.read(swath.Places(two), rank=0), "leave out rank=0"),
        (lambda a: a.read(swath.Places(two), out=np.zeros((3, 30), "<i4")), r"shape \(3, 30\), but"),
        (lambda a: a.write(np.zeros((2, 30), "<f8"), swath.Places(two)), "dtype float64, but the file holds int32"),
        (
            lambda a: a.write(np.zeros(3, "<i4"), swath.Places([1, 2, 1], [0, 3, 0])),
            "places 0 and 2 along axis 0 are the same in dimension 0, 1; each element must be written once",
        ),
        (
            lambda a: a.write(
                np.zeros(4, "<i4"), swath.Places.union(swath.Places([1], [2]), swath.Boxes([((1, 2), (2, 5))]))
            ),
            "elements 0 and 1 of the union are the same",
        ),
    ]
    before = npy.read_bytes()
    with swath.open(npy, mode="r+") as a:
        for call, message in cases:
            with pytest.raises(swath.ArgumentError, match=message):
                call(a)
    assert npy.read_bytes() == before


def test_the_last_value_of_a_repeated_place_stays_where_that_is_allowed(npy: Path) -> None:
    expected = FULL.copy()
    ix, iy = np.array([1, 2, 1, 1]), np.array([0, 3, 0, 29])
    expected[ix, iy] = [7, 8, 9, 10]
    rows, columns = np.array([4, 5, 4]), np.array([2, 2, 1])
    block = np.arange(9, dtype="<i4").reshape(3, 3)
    expected[np.ix_(rows, columns)] = block
    expected[9:11] = 1
    expected[10, 4] = 2
    union = swath.Places.union(swath.Boxes([((9, 0), (11, 30))]), swath.Places([10], [4]), overlap=True)
    with swath.open(npy, mode="r+") as a:
        a.write(np.array([7, 8, 9, 10], "<i4"), swath.Places(ix, iy, overlap=True))
        a.write(block, swath.Places(*np.ix_(rows, columns), overlap=True))
        a.write(np.append(np.full(60, 1, "<i4"), np.int32(2)).astype("<i4"), union)
    np.testing.assert_array_equal(np.load(npy), expected)


def test_masked_values_are_written_as_the_fill_value(tmp_path: Path) -> None:
    netCDF4 = pytest.importorskip("netCDF4")
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("x", 9)
        file.createVariable("v", "i4", ("x",), fill_value=-7)[:] = np.arange(9)
    with swath.open(path, "v", mode="r+") as a:
        a.write(np.ma.masked_array(np.array([50, 60], ">i4"), [False, True]), swath.Places([8, 3]))
        np.testing.assert_array_equal(a[:], [0, 1, 2, -7, 4, 5, 6, 7, 50])


def test_places_can_be_pickled_shown_and_counted() -> None:
    places = swath.Places([1, 2, 1], [0, 3, 0], overlap=True)
    assert repr(places) == "Places([1, 2, 1], [0, 3, 0], overlap=True)"
    assert len(places) == 3
    again = pickle.loads(pickle.dumps(places))
    assert repr(again) == repr(places)
    assert again.shape_in((5, 5)) == (3,)
    union = swath.Places.union(places, swath.Boxes([((0, 0), (1, 2))]))
    assert repr(union) == "Places.union([1, 2, 1], [0, 3, 0], box (0, 0) to (1, 2))"
    assert (len(union), union.shape_in((5, 5))) == (2, (5,))
    assert len(swath.Places([])) == 0
    assert swath.Places([])
    with pytest.raises(TypeError, match="without an axis"):
        len(swath.Places(3))


# ---- formats ---------------------------------------------------------------------------------------------------------


INDICES = (np.array([3, 19, 3, -1, 0]), np.array([2, 29, 2, 5, 0]))


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("kind", ["coded", "compact", "zarr"])
def test_chunks_that_are_coded_are_read_in_boxes_and_not_written(tmp_path: Path, kind: str, ranks: int) -> None:
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        zarr.create_array(str(tmp_path / "a.zarr"), shape=FULL.shape, chunks=(6, 7), dtype="<i4")[...] = FULL
        opened: dict[str, Any] = {"path": tmp_path / "a.zarr"}
    else:
        h5py = pytest.importorskip("h5py")
        opened = {"path": tmp_path / "a.h5", "variable": "v"}
        with h5py.File(opened["path"], "w") as file:
            if kind == "coded":
                file.create_dataset("v", data=FULL, chunks=(6, 7), compression="gzip")
            else:
                properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                properties.set_layout(h5py.h5d.COMPACT)
                made = h5py.h5d.create(
                    file.id, b"v", h5py.h5t.STD_I32LE, h5py.h5s.create_simple(FULL.shape), properties
                )
                made.write(h5py.h5s.ALL, h5py.h5s.ALL, FULL)

    def work(comm: Any) -> None:
        mine = tuple(np.roll(index, comm.rank)[: 5 - comm.rank] for index in INDICES)
        box = swath.Boxes([((2, 3), (9, 8))])
        with swath.open(**opened, mode="r+", comm=comm) as a:
            np.testing.assert_array_equal(a.read(swath.Places(*mine)), FULL[mine])
            np.testing.assert_array_equal(a.read(swath.Places(mine[0])), FULL[mine[0]])
            combined = np.ix_(*mine)
            out = np.zeros((2 * len(mine[0]), len(mine[0])), ">i4")[::2]
            assert a.read_async(swath.Places(*combined), out=out).result() is out
            np.testing.assert_array_equal(out, FULL[combined])
            union = swath.Places.union(swath.Places(*mine), box)
            expected = np.concatenate([FULL[mine], FULL[2:9, 3:8].ravel()])
            np.testing.assert_array_equal(a.read(union), expected)
            assert a.read(swath.Places.union()).shape == (0,)
            if a._core.goes_by_chunks("read"):
                assert a.explain(swath.Places(*mine)).method == "chunks"
            with pytest.raises(swath.ArgumentError, match=r"write swath\.Boxes, or read the boxes around them"):
                a.write(np.zeros(len(mine[0]), "<i4"), swath.Places(*mine))

    run_ranks(ranks, work)


def test_tiles_are_chunks_one_behind_the_other() -> None:
    offsets = 100 + np.arange(20).reshape(4, 5) * 168
    union = swath.Places.union(swath.Places(*INDICES), swath.Boxes([((2, 3), (9, 8))]))
    for places in (swath.Places(*INDICES), swath.Places(*np.ix_(*INDICES)), union):
        serialised = []
        for layout in (ChunkedLayout((6, 7), offsets), TiledLayout(100, (6, 7))):
            described = Description("a", "raw", None, (20, 30), FULL.dtype, layout, b"")
            own = _core.Decomposition.own_view(Placed(places, described, "").nest, 0, 1, (20, 30))
            form = _core.ArrayForm("a", (20, 30), 4, None)
            serialised.append(_core.Operation(form, "read", own).serialise())
        assert serialised[0] == serialised[1]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_chunks_that_are_not_in_the_file_read_as_the_fill_value_and_are_written(tmp_path: Path, ranks: int) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("v", shape=(20, 30), chunks=(6, 7), dtype="<i4", fillvalue=5)
    expected = np.full((20, 30), 5, "<i4")
    rows = np.arange(20).reshape(-1, ranks).T if 20 % ranks == 0 else np.arange(18).reshape(-1, ranks).T
    for rank in range(ranks):
        expected[rows[rank], rank] = rows[rank]

    def work(comm: Any) -> None:
        mine = rows[comm.rank]
        places = swath.Places(mine, comm.rank)
        with swath.open(path, "v", mode="r+", comm=comm) as a:
            np.testing.assert_array_equal(a.read(swath.Places([3, -1], [2, 5])), [5, 5])
            with pytest.raises(swath.ArgumentError, match="index 20"):
                a.write(np.zeros(1, "<i4"), swath.Places([20 if comm.rank == 0 else 1]))
            assert a.read(swath.Places(*np.ix_([0, 19], [0, 29]))).tolist() == [[5, 5], [5, 5]]
            a.write(mine.astype("<i4"), places)
            np.testing.assert_array_equal(a.read(places), mine)
            np.testing.assert_array_equal(a.read(swath.Places(*INDICES)), expected[INDICES])

    run_ranks(ranks, work)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["v"][...], expected)


def test_a_new_array_that_ranks_write_twice_in_part_is_filled_elsewhere(tmp_path: Path) -> None:
    def work(comm: Any) -> None:
        with swath.create(tmp_path / "a.npy", (8,), "<i4", comm=comm, fill=9) as a:
            a.write(np.full(4, 1 + comm.rank, "<i4"), swath.Places(range(4), overlap=True))

    run_ranks(2, work)
    values = np.load(tmp_path / "a.npy")
    assert set(values[:4].tolist()) <= {1, 2}
    np.testing.assert_array_equal(values[4:], 9)


# ---- several ranks ---------------------------------------------------------------------------------------------------


def errors_of(ranks: int, work: Any) -> list[str]:
    """Return the error of each rank; all must be the same, and an Error of Swath."""

    def one(comm: Any) -> str:
        try:
            work(comm)
        except swath.Error as error:
            return f"{type(error).__name__}: {error}"
        return ""

    texts = run_ranks(ranks, one)
    assert len(set(texts)) == 1, texts
    return texts


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_what_is_wrong_on_one_rank_is_the_error_of_all(npy: Path, ranks: int) -> None:
    before = npy.read_bytes()

    def write(indices: Any, **options: Any) -> Any:
        def work(comm: Any) -> None:
            with swath.open(npy, mode="r+", comm=comm) as a:
                places = swath.Places(*indices(comm.rank), **options)
                a.write(np.zeros(places.shape_in((100, 100)), "<i4"), places)

        return work

    last = ranks - 1
    (text, *_) = errors_of(ranks, write(lambda rank: ([rank, rank + 30 * (rank == last)], [0, 1])))
    assert f"rank {last}: " in text
    assert "dimension 0: index" in text
    (text, *_) = errors_of(ranks, write(lambda rank: ([rank, rank], [2, 2 if rank == last else 3])))
    assert f"rank {last}: " in text
    assert "places 0 and 1 along axis 0 are the same" in text
    (text, *_) = errors_of(ranks, write(lambda rank: ([19, rank], [0, 1])))
    assert "ranks 0 and 1 both have byte " in text
    assert npy.read_bytes() == before


def test_ranks_may_write_the_same_places_where_all_allow_it(npy: Path) -> None:
    def work(comm: Any) -> None:
        with swath.open(npy, mode="r+", comm=comm) as a:
            for method in ("direct", "sieve", "list", "two-phase", "auto"):
                a.write(np.full(3, comm.rank, "<i4"), swath.Places([1, 5, 9], [2, 2, 2], overlap=True), method=method)
                assert set(a.read(swath.Places([1, 5, 9], [2, 2, 2])).tolist()) <= {0, 1, 2}
            with pytest.raises(swath.DisagreementError):
                a.write(np.zeros(1, "<i4"), swath.Places([1], [comm.rank], overlap=comm.rank == 1))

    run_ranks(3, work)
    expected = FULL.copy()
    found = np.load(npy)
    expected[[1, 5, 9], 2] = found[[1, 5, 9], 2]
    np.testing.assert_array_equal(found, expected)


def test_ranks_that_read_places_beside_ranks_that_read_boxes_disagree(npy: Path) -> None:
    def work(comm: Any) -> None:
        with swath.open(npy, comm=comm) as a:
            a.read(swath.Places([1]) if comm.rank == 0 else swath.Boxes([((0, 0), (1, 1))]))

    assert errors_of(2, work)[0].startswith("DisagreementError")


@pytest.mark.parametrize("method", ["direct", "sieve", "list", "two-phase"])
@pytest.mark.parametrize("direction", ["read", "write"])
def test_a_fault_of_one_rank_is_the_error_of_all(npy: Path, method: str, direction: str) -> None:
    before = np.load(npy)
    rows = [np.array([17, 3, 8]), np.array([2, 9]), np.array([], dtype=int)]

    def work(comm: Any) -> None:
        engine = f"fault:{direction}@0=EIO" if comm.rank == 0 else "posix"
        with swath.open(npy, mode="r+", comm=comm, engine=engine) as a:
            places = swath.Places(rows[comm.rank], [4])
            if direction == "read":
                a.read(places, method=method)
            else:
                a.write(np.full(len(rows[comm.rank]), -1, "<i4"), places, method=method)

    (text, *_) = errors_of(3, work)
    assert text.startswith("StoreError: rank 0: ")
    assert "Input/output error" in text
    after = np.load(npy)
    is_others = np.ones(FULL.shape, dtype=bool)
    is_others[np.concatenate(rows), 4] = False
    np.testing.assert_array_equal(after[is_others], before[is_others])


def test_what_is_allowed_once_is_not_allowed_the_next_time_nor_refused(tmp_path: Path) -> None:
    """Ranks cache the owners of places, but not what the last operation allowed."""

    def work(comm: Any) -> None:
        one, places = swath.Places([5], [4]), swath.Places([5], [4], overlap=True)
        with swath.create(tmp_path / "a.npy", (8, 8), "<i4", fill=0, comm=comm) as a:
            a.read(places)
            a.write(np.array([7], "<i4"), places)
            with pytest.raises(swath.ArgumentError, match="both have"):
                a.write(np.array([8], "<i4"), one)
            a.write(np.array([9], "<i4"), places)
            assert a.read(one).tolist() == [9]

    run_ranks(2, work)

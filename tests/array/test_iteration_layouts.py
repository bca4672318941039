"""Loops over arrays of every layout, shape, dtype and number of ranks equal NumPy, also for coded chunks."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import swath
from cases import Case, make_case, make_file, random_distribution, random_selection
from chunk_cases import make_coded_case, make_coded_file
from swath.simulated import run_ranks

QUICK = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
DEPTHS = ("auto", 0, 1, 2, 5)


def made(seed: int, ranks: int, folder: Path) -> tuple[Case, dict[str, Any], np.ndarray[Any, Any]]:
    """Return a case, the arguments to open its file, and the values in the file."""
    rng = random.Random(seed)
    if rng.random() < 0.4:
        case = make_coded_case(rng, ranks)
        path, values = make_coded_file(case, folder)
        return case, {"path": path, **({"variable": "v"} if path.suffix == ".h5" else {})}, values
    case = make_case(rng, ranks)
    return case, make_file(case, folder), case.values()


def same(found: Any, expected: Any) -> None:
    """Compare byte for byte: values are random bytes, and NaNs may differ."""
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()


def same_share(found: Any, expected: Any, distribution: swath.Distribution, rank: int) -> None:
    """Compare a rank's share; for one element without dimensions, a rank without a share gets zero."""
    if expected.ndim:
        same(found, expected[np.ix_(*distribution.indices(expected.shape, rank))])
    elif found.tobytes() != bytes(found.itemsize):
        same(found, expected)


def part_of(values: np.ndarray[Any, Any], selection: Any) -> np.ndarray[Any, Any]:
    """Return a part in the values' own byte order, also if no dimension is left."""
    return np.asarray(values[selection], values.dtype)


def check_blocks(opened: dict[str, Any], values: np.ndarray[Any, Any], comm: Any, seed: int) -> None:
    rng = random.Random(seed + comm.rank)  # each rank goes alone
    block = tuple(rng.choice([None, rng.randint(1, max(n, 1) + 2)]) for n in values.shape)
    memory = max(values.nbytes, 1) * rng.randint(2, 9)
    with swath.open(**opened, comm=comm) as a:
        loop = a.blocks(block, prefetch=rng.choice(DEPTHS), memory=memory, order=rng.choice(["C", "F", "fast"]))
        stops = rng.choice([None, None, rng.randint(0, 9)])
        for i, (selection, part) in enumerate(loop):
            same(part, part_of(values, selection))
            if rng.random() < 0.2:
                part[...] = part.flat[0]  # the program's, to do with it what it likes
            if i == stops:
                break
        loop.close()
        same(np.asarray(a[...], values.dtype), values)


def check_iterate(opened: dict[str, Any], values: np.ndarray[Any, Any], comm: Any, seed: int) -> None:
    if values.ndim == 0:
        return
    rng = random.Random(seed)
    axis = rng.randrange(values.ndim)
    steps = np.moveaxis(values, axis, 0)
    distribution = random_distribution(rng, steps.shape[1:], comm.size)
    stops = rng.choice([None, None, rng.randint(0, 9)])
    with swath.open(**opened, comm=comm) as a:
        loop = a.iterate(distribution, axis=axis, prefetch=rng.choice(DEPTHS), memory="1MiB")
        for i, part in enumerate(loop):
            same_share(part, part_of(steps, i), distribution, comm.rank)
            if i == stops:
                break
        loop.close()


def check_async(case: Case, opened: dict[str, Any], values: np.ndarray[Any, Any], comm: Any, seed: int) -> None:
    rng = random.Random(seed)
    reads = []
    with swath.open(**opened, comm=comm) as a:
        for _ in range(6):
            selection = random_selection(rng, values.shape)
            distribution = random_distribution(rng, values[selection].shape, comm.size)
            reads.append((selection, distribution, a.read_async(distribution, selection=selection, tuning=case.tuning)))
        rng.shuffle(reads)
        for selection, distribution, future in reads:
            if rng.random() < 0.2:
                continue
            same_share(future.result(), part_of(values, selection), distribution, comm.rank)


def check_writer(opened: dict[str, Any], values: np.ndarray[Any, Any], comm: Any, seed: int) -> None:
    """Write other values piece by piece, on all ranks; `values` must be in the file at the end, checked on rank 0."""
    rng = random.Random(seed)
    new = np.random.default_rng(seed).integers(0, 256, values.nbytes, dtype=np.uint8).view(values.dtype)
    new = new.reshape(values.shape)
    expected = values.copy()
    with swath.open(**opened, mode="r+", comm=comm) as a:
        with a.writer(behind=rng.choice(DEPTHS), memory=rng.choice([1, 500, 1 << 20])) as w:
            buffer = np.empty(0, values.dtype)
            for _ in range(rng.randint(0, 7)):
                selection = random_selection(rng, values.shape)
                piece = part_of(new, selection)
                distribution = random_distribution(rng, piece.shape, comm.size)
                expected[selection] = new[selection]
                index = distribution.indices(piece.shape, comm.rank)
                if buffer.size:  # what was given before may be overwritten
                    buffer[...] = buffer.flat[0]
                buffer = (piece[np.ix_(*index)] if piece.ndim else piece).copy()
                w.write(buffer, distribution, selection=selection)
        same(np.asarray(a[...], values.dtype), expected)


def check_case(seed: int, ranks: int, *, writes: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        case, opened, values = made(seed, ranks, Path(folder))

        def work(comm: Any) -> None:
            if writes:
                check_writer(opened, values, comm, seed)
                return
            check_blocks(opened, values, comm, seed)
            check_iterate(opened, values, comm, seed)
            check_async(case, opened, values, comm, seed)

        run_ranks(ranks, work, seed=seed)


@QUICK
@given(seed=st.integers(0, 2**32), ranks=st.integers(1, 4))
def test_loops_over_every_layout_equal_numpy(seed: int, ranks: int) -> None:
    check_case(seed, ranks, writes=False)


@QUICK
@given(seed=st.integers(0, 2**32), ranks=st.integers(1, 4))
def test_writers_of_every_layout_equal_numpy(seed: int, ranks: int) -> None:
    check_case(seed, ranks, writes=True)


@pytest.mark.exhaustive
@pytest.mark.timeout(400)  # half a minute on a quiet machine
@LONG
@given(seed=st.integers(0, 2**32), ranks=st.integers(1, 4), writes=st.booleans())
def test_many_loops_equal_numpy(seed: int, ranks: int, writes: bool) -> None:
    check_case(seed, ranks, writes=writes)


@pytest.mark.parametrize("prefetch", DEPTHS)
@pytest.mark.parametrize("ranks", [1, 3])
def test_decoded_arrays_are_iterated_over_as_netcdf4_reads_them(tmp_path: Path, prefetch: Any, ranks: int) -> None:
    path = tmp_path / "a.nc"
    packed = np.arange(-60, 60, dtype="i2").reshape(10, 12)
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as f:
        f.createDimension("t", None)
        f.createDimension("x", 12)
        v = f.createVariable("v", "i2", ("t", "x"), fill_value=-50)
        v.setncatts({"scale_factor": 0.5, "add_offset": 3.0})
        v.set_auto_maskandscale(False)
        v[:] = packed
    with netCDF4.Dataset(path) as f:
        expected = f["v"][:]

    def same_masked(found: Any, wanted: Any) -> None:
        assert isinstance(found, np.ma.MaskedArray)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(wanted))
        np.testing.assert_array_equal(found.filled(0), wanted.filled(0))

    def work(comm: Any) -> None:
        part = swath.Distribution((swath.Block(),), grid=(comm.size,))
        with swath.open(path, variable="v", decode=True, comm=comm) as a:
            kept = []
            for selection, values in a.blocks((3, 5), prefetch=prefetch):
                same_masked(values, expected[selection])
                kept.append((selection, values))
            for selection, values in kept:  # nobody has used their memory again
                same_masked(values, expected[selection])
            for i, values in enumerate(a.iterate(part, prefetch=prefetch)):
                same_masked(values, expected[i][part.indices((12,), comm.rank)[0]])
            future = a.read_async(swath.Distribution((swath.Whole(), swath.Block()), grid=(1, comm.size)))
            same_masked(future.result(), expected[:, part.indices((12,), comm.rank)[0]])
            assert future.result() is future.result()
            assert future.counters.read_bytes > 0
            with pytest.raises(swath.ArgumentError, match="only read"):
                a.writer()

    run_ranks(ranks, work)


def test_values_that_are_kept_stay_as_they_were(tmp_path: Path) -> None:
    values = np.arange(40 * 50.0).reshape(40, 50)
    values.tofile(tmp_path / "a.raw")
    with swath.open(tmp_path / "a.raw", shape=values.shape, dtype="<f8") as a:
        for prefetch in DEPTHS:
            rng = random.Random(str(prefetch))
            kept: list[tuple[Any, Any]] = []
            for selection, part in a.blocks((1, None), prefetch=prefetch):
                how = rng.randrange(5)
                if how == 0:
                    kept.append((part, values[selection]))
                elif how == 1:
                    kept.append((part[0, 10:20], values[selection][0, 10:20]))
                elif how == 2:
                    kept.append((np.frombuffer(memoryview(part).cast("B"), "<f8"), values[selection].reshape(-1)))
                elif how == 3:
                    part.shape = (50,)
                    kept.append((part.T, values[selection].reshape(-1)))
            del part
            for found, expected in kept:
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_fault_of_one_rank_reaches_the_loops_of_all_once(tmp_path: Path, prefetch: int) -> None:
    np.arange(30 * 40.0).tofile(tmp_path / "a.raw")

    def work(comm: Any) -> tuple[int, str, int]:
        engine = "fault:read@5=EIO" if comm.rank == 1 else "posix"
        rows = swath.Distribution((swath.Block(),), grid=(comm.size,))
        seen = 0
        with swath.open(tmp_path / "a.raw", shape=(30, 40), dtype="<f8", comm=comm, engine=engine) as a:
            loop = a.iterate(rows, prefetch=prefetch)
            with pytest.raises(swath.StoreError) as raised:  # noqa: PT012 - which step raises it is counted
                for _ in loop:
                    seen += 1
            told = str(raised.value)
            assert list(loop) == []
            after = [len(part) for part in a.iterate(rows, prefetch=prefetch)]
        return seen, told, len(after)

    for seed in range(3):
        first, second, third = run_ranks(3, work, seed=seed)
        assert first == second == third
        assert "rank 1: read" in first[1]
        assert first[0] < 30
        assert first[2] == 30

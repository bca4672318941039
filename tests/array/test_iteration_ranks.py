"""Loops of all ranks: if one rank leaves alone, the others get an error with the reason, and no rank waits for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from mpi_runs import run_ranks as started
from mpi_runs import run_well
from swath.simulated import run_ranks

SHAPE = (12, 8, 5)
VALUES = np.arange(12 * 8 * 5, dtype="<f8").reshape(SHAPE)
PREFETCH = ["auto", 0, 1, 3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    VALUES.tofile(tmp_path / "a.raw")
    return tmp_path / "a.raw"


def opened(path: Path, **how: Any) -> swath.Array:
    array: swath.Array = swath.open(path, shape=SHAPE, dtype="<f8", **how)
    return array


def rows_of(comm: Any) -> swath.Distribution:
    return swath.Distribution((swath.Block(), swath.Whole()), grid=(comm.size, 1))


def mine(comm: Any, step: int) -> Any:
    return VALUES[step][np.ix_(*rows_of(comm).indices(SHAPE[1:], comm.rank))]


@pytest.mark.parametrize("ending", ["break", "error", "interrupt", "collected"])
@pytest.mark.parametrize("ranks", [1, 2, *(pytest.param(ranks, marks=pytest.mark.slow) for ranks in (3, 4))])
def test_a_rank_that_leaves_alone_is_an_error_of_the_others(tmp_path: Path, ranks: int, ending: str) -> None:
    for prefetch in ("auto", 0, 3):
        assert run_well(ranks, "leaving_ranks.py", tmp_path / "a.raw", ending, prefetch).count("well") == ranks


@pytest.mark.parametrize("behind", ["auto", 0, 3])
@pytest.mark.parametrize("memory", [1, 300, "1MiB"])
def test_a_writer_waits_for_nobody_who_goes_on_where_mpi_serves_one_thread(
    tmp_path: Path, behind: Any, memory: Any
) -> None:
    path, shape = tmp_path / "b.raw", (12, 3, 5)  # rows of 2 and 1: one rank has space that the other lacks

    def work(comm: Any) -> str:
        with swath.create(path, shape, "<f8", comm=comm) as a, a.writer(behind=behind, memory=memory) as w:
            for i in range(12):
                part = np.full(rows_of(comm).local_shape(shape[1:], comm.rank), float(i))
                w.write(part, rows_of(comm), selection=i)
                comm.barrier()
            return w.reason

    reasons = run_ranks(2, work)
    assert all("one thread" in reason for reason in reasons)
    expected = np.broadcast_to(np.arange(12.0)[:, None, None], shape)
    np.testing.assert_array_equal(np.fromfile(path, "<f8").reshape(shape), expected)


@pytest.mark.parametrize("prefetch", PREFETCH)
@pytest.mark.parametrize("step", [0, 5, 10, 11])
def test_ranks_that_leave_alone_are_told_of_where_mpi_serves_one_thread(path: Path, prefetch: Any, step: int) -> None:
    def work(comm: Any) -> tuple[int, str]:
        seen = 0
        with opened(path, comm=comm) as a:
            try:
                for i, part in enumerate(a.iterate(rows_of(comm), prefetch=prefetch)):
                    np.testing.assert_array_equal(part, mine(comm, i))
                    seen += 1
                    if comm.rank == 1 and i == step:
                        break
            except swath.DisagreementError as error:
                return seen, str(error)
            np.testing.assert_array_equal(a[3], VALUES[3])
        return seen, ""

    for seed in range(3):
        (seen, told), left, other = run_ranks(3, work, seed=seed)
        assert left == (step + 1, "")
        assert other == (seen, told)
        if step == len(VALUES) - 1:  # there was no step more
            assert (seen, told) == (len(VALUES), "")
        elif told:
            assert told.startswith(f"rank 1: left iterate over {path} after step {step + 1} of 12")
            assert step < seen <= step + 4
        else:  # what had been begun was all that was left
            assert seen == len(VALUES)


@pytest.mark.parametrize("prefetch", PREFETCH)
def test_where_all_leave_at_the_same_step_nobody_is_told_anything(path: Path, prefetch: Any) -> None:
    def work(comm: Any) -> None:
        rows = rows_of(comm)
        with opened(path, mode="r+", comm=comm) as a:
            for turn in range(4):
                for i, part in enumerate(a.iterate(rows, prefetch=prefetch)):
                    np.testing.assert_array_equal(part, mine(comm, i))
                    if i == turn:
                        break
                with pytest.raises(KeyError), a.writer(behind=prefetch) as w:  # noqa: PT012
                    w.write(mine(comm, turn), rows, selection=turn)
                    raise KeyError
                np.testing.assert_array_equal(a.read_async(rows, selection=turn).result(), mine(comm, turn))

    for seed in range(3):
        run_ranks(3, work, seed=seed)


def test_loops_inside_and_beside_each_other_are_left_one_by_one(path: Path) -> None:
    def work(comm: Any) -> list[str]:
        rows = rows_of(comm)
        told = []
        with opened(path, comm=comm) as a:
            try:
                for i, outer in enumerate(a.iterate(rows, prefetch=2)):
                    np.testing.assert_array_equal(outer, mine(comm, i))
                    for j, inner in enumerate(a.iterate(rows, prefetch=1)):
                        np.testing.assert_array_equal(inner, mine(comm, j))
                        if (i, j) == (2, 3) and comm.rank == 0:
                            raise KeyError
            except (KeyError, swath.DisagreementError) as error:
                told.append(str(error))
            first, second = (a.iterate(rows, prefetch=depth) for depth in (0, 3))
            for i, (left, right) in enumerate(zip(first, second, strict=True)):
                np.testing.assert_array_equal(left, right)
                if i == 4:
                    break
            (first if comm.rank else second).close()  # in another order on each rank
            (second if comm.rank else first).close()
            np.testing.assert_array_equal(a.read(rows, selection=3), mine(comm, 3))
            for i, part in enumerate(a.iterate(rows)):
                np.testing.assert_array_equal(part, mine(comm, i))
        return told

    for seed in range(5):
        told = run_ranks(3, work, seed=seed)
        assert told[1] == told[2]
        assert told[1][0].startswith("rank 0: left iterate over")


def test_a_loop_over_an_array_that_was_closed_says_so(path: Path) -> None:
    def work(comm: Any) -> None:
        a = opened(path, mode="r+", comm=comm)
        loop = a.iterate(rows_of(comm), prefetch=1)
        writer = a.writer()
        next(loop)
        writer.write(mine(comm, 0), rows_of(comm), selection=0)
        a.close()
        for again in (lambda: next(loop), lambda: writer.write(mine(comm, 0), rows_of(comm), selection=0)):
            with pytest.raises(swath.ArgumentError, match="closed"):
                again()
        for call in (a.iterate, lambda: a.blocks((1, None, None)), a.writer):
            with pytest.raises(swath.ArgumentError, match="closed"):
                call()

    for ranks in (1, 3):
        run_ranks(ranks, work)


@pytest.mark.parametrize("kind", ["hdf5", "zarr"])
@pytest.mark.parametrize("seed", range(3))
def test_what_does_not_go_beside_is_left_alone_as_well(tmp_path: Path, kind: str, seed: int) -> None:
    path = tmp_path / {"hdf5": "a.h5", "zarr": "a.zarr"}[kind]
    with swath.create(path, SHAPE, VALUES.dtype, variable="u", chunks=(1, 4, 5), codecs="gzip") as a:
        a.write(VALUES)

    def work(comm: Any) -> str:
        rows = rows_of(comm)
        with swath.open(path, variable="u", mode="r+", comm=comm) as a:
            try:
                with a.writer(behind=2) as w:
                    for i in range(len(VALUES)):
                        if i == 4 and comm.rank == 1:
                            raise KeyError
                        w.write(mine(comm, i) * 2, rows, selection=i)
            except KeyError:
                return ""
            except swath.DisagreementError as error:
                return str(error)
        return "nobody left"

    told = run_ranks(2, work, seed=seed)
    assert told[1] == ""
    assert told[0].startswith(f"rank 1: left the writer of {path} after 4 writes by KeyError"), told[0]
    with swath.open(path, variable="u") as a:
        np.testing.assert_array_equal(a[:4], VALUES[:4] * 2)
        np.testing.assert_array_equal(a[4:], VALUES[4:])


@pytest.mark.parametrize("ending", ["one", "all", "killed"])
@pytest.mark.parametrize("ranks", [1, 2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_program_that_ends_in_the_middle_of_loops_leaves_nobody_waiting(
    tmp_path: Path, ranks: int, ending: str
) -> None:
    for prefetch in (0, 3):
        ended = started(ranks, "ending_ranks.py", tmp_path / "a.raw", ending, prefetch)
        assert ended.stdout.count("well") == ranks, ended.stdout + ended.stderr
        if ending != "killed":  # then it has ended by the signal
            assert (ended.returncode, ended.stderr) == (0, "")

"""Memory to memory between any two distributions, also between different numbers of ranks; and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import swath
from swath import Block, Boxes, Cyclic, Distribution, Whole
from swath.errors import ArgumentError, DisagreementError
from swath.simulated import run_ranks
from swath.space import TABLE_1, table_1

Values = npt.NDArray[Any]


def share(values: Values, d: Distribution, rank: int) -> Values:
    """Return the elements of `values` that `rank` owns."""
    return values[np.ix_(*d.indices(values.shape, rank))]


def box_parts(values: Values, boxes: Boxes) -> list[Values]:
    """Return the parts of `values` in the boxes."""
    return [values[tuple(slice(b, e) for b, e in zip(low, high, strict=True))].copy() for low, high in boxes.boxes]


def raised_by_all(ranks: int, work: Callable[[Any], object]) -> list[str]:
    """Return the type and text of the error of every rank."""

    def caught(comm: Any) -> str:
        try:
            work(comm)
        except swath.Error as error:
            return f"{type(error).__name__}: {error}"
        return "no error"

    return run_ranks(ranks, caught)


@pytest.mark.parametrize(("few", "many"), [(16, 64), (64, 16)])
def test_every_pair_of_table_1_between_16_and_64_ranks(few: int, many: int) -> None:
    values = np.arange(67 * 70, dtype=np.int64).reshape(67, 70)
    pairs = [(table_1(a, few), table_1(b, many)) for a in TABLE_1 for b in TABLE_1]

    def work(comm: Any) -> None:
        for source, target in pairs:
            got = swath.redistribute(share(values, source, comm.rank), source, target, values.shape, comm=comm)
            np.testing.assert_array_equal(got, share(values, target, comm.rank))

    run_ranks(64, work)


BLOCKS_OF = [1, 2, 3, 7, 64]


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("k", BLOCKS_OF)
@pytest.mark.parametrize("m", BLOCKS_OF)
def test_cyclic_blocks_of_any_two_sizes_in_both_dimensions(k: int, m: int, nodes: int) -> None:
    values = np.arange(301 * 203, dtype=np.int64).reshape(301, 203)
    source = Distribution((Cyclic(k), Cyclic(m)), grid=(2, 3))
    target = Distribution((Cyclic(m), Cyclic(k)), grid=(5, 1))

    def work(comm: Any) -> None:
        got = swath.redistribute(share(values, source, comm.rank), source, target, values.shape, comm=comm)
        np.testing.assert_array_equal(got, share(values, target, comm.rank))

    run_ranks(6, work, nodes=nodes)


@pytest.mark.parametrize("nodes", [1, 2, 4])
@pytest.mark.parametrize("dtype", ["i1", "f8", "S24", "S1000"])
def test_more_than_one_round_and_elements_of_any_size(dtype: str, nodes: int) -> None:
    itemsize = np.dtype(dtype).itemsize
    rows, columns = 1013, 8 * (1 << 20) // (1013 * itemsize)  # 8 MiB: some rounds for each rank
    values = np.random.default_rng(1).integers(0, 255, (rows, columns * itemsize), np.uint8).view(dtype)
    source = Distribution((Block(), Whole()), grid=(4, 1))
    target = Distribution((Whole(), Cyclic()), grid=(1, 4))

    def work(comm: Any) -> None:
        got = swath.redistribute(share(values, source, comm.rank), source, target, values.shape, comm=comm)
        assert got.tobytes() == share(values, target, comm.rank).tobytes()

    run_ranks(4, work, nodes=nodes)


def test_three_dimensions_in_memory_strided_any_way() -> None:
    values = np.arange(30 * 41 * 52, dtype=np.float32).reshape(30, 41, 52)
    source = Distribution((Block(), Cyclic(3), Whole()), grid=(2, 2, 1))
    target = Distribution((Cyclic(), Whole(), Block()), grid=(2, 1, 2))

    def work(comm: Any) -> None:
        mine = share(values, source, comm.rank)
        mine = np.asfortranarray(mine)[::-1, :, ::-1][::-1, :, ::-1] if comm.rank else mine[:, ::-1].copy()[:, ::-1]
        shape = target.local_shape(values.shape, comm.rank)
        room = np.full((shape[2], shape[0], 2 * shape[1]), -1, np.float32)
        out = room.transpose(1, 2, 0)[:, ::-2, ::-1]
        got = swath.redistribute(mine, source, target, values.shape, comm=comm, out=out)
        assert got is out
        np.testing.assert_array_equal(got, share(values, target, comm.rank))
        assert (room[:, :, ::2] == -1).all()  # between the elements nothing was written

    run_ranks(4, work)


def test_one_source_for_ranks_that_had_nothing_and_back() -> None:
    values = np.arange(64, dtype=np.int32)
    source = Distribution((Block(),), grid=(1,), ranks=(2,))
    target = Distribution((Cyclic(),), grid=(2,), ranks=(3, 0))

    def work(comm: Any) -> None:
        there = swath.redistribute(share(values, source, comm.rank), source, target, values.shape, comm=comm)
        np.testing.assert_array_equal(there, share(values, target, comm.rank))
        back = swath.redistribute(there, target, source, values.shape, comm=comm)
        np.testing.assert_array_equal(back, share(values, source, comm.rank))

    run_ranks(4, work)


def test_boxes_to_a_distribution_and_back_with_ghost_cells() -> None:
    values = np.arange(40 * 30, dtype=np.int64).reshape(40, 30)
    owned = [Boxes([((0, 0), (25, 10)), ((0, 10), (25, 30))]), Boxes([((25, 0), (40, 30))]), Boxes([])]
    ghosts = [Boxes([((0, 0), (26, 11))]), Boxes([((24, 0), (40, 30)), ((5, 5), (6, 6))]), Boxes([((0, 0), (40, 30))])]
    columns = Distribution((Whole(), Cyclic()), grid=(1, 3))

    def work(comm: Any) -> None:
        mine = owned[comm.rank]
        got = swath.redistribute(box_parts(values, mine), mine, columns, values.shape, comm=comm)
        np.testing.assert_array_equal(got, share(values, columns, comm.rank))
        back = swath.redistribute(got, columns, ghosts[comm.rank], values.shape, comm=comm)
        for part, expected in zip(back, box_parts(values, ghosts[comm.rank]), strict=True):
            np.testing.assert_array_equal(part, expected)
        # Boxes to boxes, and out of boxes that overlap: their values are equal where they do.
        again = swath.redistribute(back, ghosts[comm.rank], mine, values.shape, comm=comm)
        for part, expected in zip(again, box_parts(values, mine), strict=True):
            np.testing.assert_array_equal(part, expected)

    run_ranks(3, work)


def test_elements_that_no_box_holds_stay_as_they_are_and_are_zero_in_new_arrays() -> None:
    everywhere = Distribution((Block(),), grid=(2,))

    def work(comm: Any) -> None:
        mine = Boxes([((2,), (4,))] if comm.rank == 1 else [])
        values = [np.array([7, 8], np.int64)] if comm.rank == 1 else []
        new = swath.redistribute(values, mine, everywhere, (10,), comm=comm)
        assert new.tolist() == ([0, 0, 7, 8, 0] if comm.rank == 0 else [0] * 5)
        old = np.full(5, -1, np.int64)
        swath.redistribute(values, mine, everywhere, (10,), comm=comm, out=old)
        assert old.tolist() == ([-1, -1, 7, 8, -1] if comm.rank == 0 else [-1] * 5)

    run_ranks(2, work)


def test_nothing_at_all_and_a_single_value() -> None:
    whole = Distribution((), grid=())
    assert swath.redistribute(np.float32(3), whole, whole, ()) == 3
    rows, columns = Distribution((Block(), Whole()), (1, 1)), Distribution((Whole(), Cyclic()), (1, 1))
    assert swath.redistribute(np.empty((0, 7)), rows, columns, (0, 7)).shape == (0, 7)
    assert swath.redistribute(np.empty((3, 2), "V0"), rows, columns, (3, 2)).dtype.itemsize == 0


def test_one_rank_that_cannot_is_an_error_on_all() -> None:
    d = Distribution((Block(),), grid=(2,))

    def work(comm: Any) -> object:
        shape = (3,) if comm.rank == 1 else (5,)
        return swath.redistribute(np.zeros(shape), d, d, (10,), comm=comm)

    errors = raised_by_all(2, work)
    assert (
        errors
        == ["ArgumentError: rank 1: redistribute: values of shape (3,), but this rank's share has shape (5,)"] * 2
    )


@pytest.mark.parametrize("what", ["shape", "dtype", "target", "boxes"])
def test_ranks_that_ask_differently_all_hear_of_it(what: str) -> None:
    d, other = Distribution((Block(),), grid=(2,)), Distribution((Cyclic(),), grid=(2,))

    def work(comm: Any) -> object:
        odd = comm.rank == 1
        if what == "boxes" and odd:
            return swath.redistribute([np.zeros(5)], Boxes([((5,), (10,))]), other, (10,), comm=comm)
        shape = (9,) if what == "shape" and odd else (10,)
        values = np.zeros(d.local_shape(shape, comm.rank), "i4" if what == "dtype" and odd else "f8")
        return swath.redistribute(values, d, d if what == "target" and odd else other, shape, comm=comm)

    errors = raised_by_all(2, work)
    assert all(error.startswith("DisagreementError") for error in errors), errors


def test_boxes_of_different_dtypes_are_refused() -> None:
    d = Distribution((Block(),), grid=(2,))

    def work(comm: Any) -> object:
        mine = Boxes([((5 * comm.rank,), (5 * comm.rank + 5,))])
        return swath.redistribute([np.zeros(5, "i4" if comm.rank else "i8")], mine, d, (10,), comm=comm)

    assert all(error.startswith("DisagreementError") for error in raised_by_all(2, work))


D = Distribution((Block(),), grid=(1,))
VALUES = np.arange(4.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((VALUES, "rows", D, (4,)), "source: expected a swath.Distribution or swath.Boxes, not str"),
        ((VALUES, D, None, (4,)), "target: expected a swath.Distribution or swath.Boxes, not NoneType"),
        ((VALUES.astype(object), D, D, (4,)), "values: dtype object holds Python objects"),
        ((VALUES, Boxes([((0,), (4,))]), D, (4,)), "values: expected a list of 1 ndarrays, one a box"),
        (([VALUES], Boxes([((0,), (5,))]), D, (4,)), r"values\[0\] of shape \(4,\), but"),
        (([VALUES[:3]], Boxes([((2,), (5,))]), D, (4,)), r"box \(2,\) to \(5,\)"),
        (
            ([VALUES[:1], VALUES[:1].astype("i8")], Boxes([((0,), (1,)), ((1,), (2,))]), D, (4,)),
            r"values\[1\]: dtype int64, but the first are float64",
        ),
        ((VALUES, Distribution((Block(),), grid=(2,)), D, (4,)), "needs 2 ranks, there are 1"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        swath.redistribute(*arguments)


def test_out_must_be_memory_of_its_own_and_of_the_same_dtype() -> None:
    with pytest.raises(ArgumentError, match="out and values share memory"):
        swath.redistribute(VALUES, D, D, (4,), out=VALUES)
    for dtype in (">f8", "f4"):
        with pytest.raises(ArgumentError, match=f"out: dtype {np.dtype(dtype)}, but values are float64"):
            swath.redistribute(VALUES, D, D, (4,), out=np.zeros(4, dtype))
    with pytest.raises(ArgumentError, match=r"out: shape \(3,\)"):
        swath.redistribute(VALUES, D, D, (4,), out=np.zeros(3))


def test_ranks_that_make_different_calls_hear_of_it() -> None:
    d = Distribution((Block(),), grid=(2,))

    def work(comm: Any) -> object:
        if comm.rank == 0:
            return swath.redistribute(np.zeros(5), d, d, (10,), comm=comm)
        return comm.barrier()

    with pytest.raises(DisagreementError):
        run_ranks(2, work)

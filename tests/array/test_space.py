"""Distributions, boxes and selections: their values compared with NumPy and HPF, and their errors."""

from __future__ import annotations

import json
import math
import pickle
import random
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swath
from cases import random_distribution, random_selection
from mpi_runs import needs_mpi
from swath import Block, Boxes, Cyclic, Distribution, Whole
from swath.space import TABLE_1, balanced_grid, normalise_selection, selected_shape, table_1

MANY = settings(max_examples=300, deadline=None)


def owner_of_each_index(rule: Any, n: int, places: int) -> list[int]:
    """Return the owner of each index by HPF's definition, one index at a time."""
    if isinstance(rule, Whole):
        return [0] * n
    if isinstance(rule, Cyclic):
        return [i // rule.size % places for i in range(n)]
    block = rule.size if rule.size is not None else -(-n // places)
    return [i // block for i in range(n)]


@MANY
@given(seed=st.integers(0, 2**63), ranks=st.integers(1, 13))
def test_shares_are_hpfs_and_partition_the_array(seed: int, ranks: int) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.randint(0, 12) for _ in range(rng.randint(0, 4)))
    d = random_distribution(rng, shape, ranks)
    holders = d.ranks or tuple(range(d.size))
    owned = np.full(shape, -1)
    for rank in range(ranks + 2):
        indices = d.indices(shape, rank)
        assert all(i.dtype == np.int64 for i in indices)
        assert tuple(len(i) for i in indices) == d.local_shape(shape, rank)
        if rank not in holders:
            assert shape == () or math.prod(d.local_shape(shape, rank)) == 0
            continue
        place = np.unravel_index(holders.index(rank), d.grid) if shape else ()
        for rule, extent, places, at, index in zip(d.rules, shape, d.grid, place, indices, strict=True):
            owners = owner_of_each_index(rule, extent, places)
            np.testing.assert_array_equal(index, [i for i in range(extent) if owners[i] == at])
        if shape:
            assert (owned[np.ix_(*indices)] == -1).all(), "owned twice"
            owned[np.ix_(*indices)] = rank
    assert shape == () or (owned >= 0).all()


@MANY
@given(st.integers(0, 2**63))
def test_a_selection_has_the_shape_and_the_elements_that_numpy_gives_it(seed: int) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.randint(0, 9) for _ in range(rng.randint(0, 5)))
    full = np.arange(math.prod(shape)).reshape(shape)
    selection = random_selection(rng, shape)
    normal = normalise_selection(selection, shape)
    expected = full[selection]
    assert selected_shape(normal) == np.shape(expected)
    again = full[np.ix_(*(start + step * np.arange(count) for start, step, count, _ in normal))] if shape else full
    np.testing.assert_array_equal(again.reshape(np.shape(expected)), expected)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (None, r"newaxis \(None\) in place 0 adds a dimension .* read without it, then reshape"),
        (np.s_[:, None], r"newaxis \(None\) in place 1"),
        (np.s_[..., None], r"newaxis \(None\) in place 1"),
        (np.s_[[1, 2]], "dimension 0: expected an integer, a slice or '...', not indices; read the box .* 1:3"),
        (np.s_[:, np.array([1, 2])], "dimension 1: .* not indices; .* 1:3, then .* - 1"),
        (np.zeros((4, 6), bool), r"not a mask; .* a\[box\]\[mask\]"),
        (np.s_[:, True], r"dimension 1: a mask \(True\) is not basic slicing; read, then mask"),
        (np.bool_(True), "a mask"),
        (np.s_[1.5], "not float"),
        (np.s_[[1, -2]], r"not list; .* a\[box\]\[indices\]"),
        (np.s_[[[1], [2, 3]]], "not list"),
        ("x", "not str"),
        (np.s_[1, 2, 3], r"3 indices for an array of 2 dimensions, shape \(4, 6\)"),
        (np.s_[..., 1, ...], r"only one Ellipsis"),
        (np.s_[4], r"dimension 0: index 4 is outside \[-4, 4\)"),
        (np.s_[:, -7], r"dimension 1: index -7 is outside \[-6, 6\)"),
        (np.s_[::0], "dimension 0: .* slice step cannot be zero"),
        (np.s_[:1.5], "dimension 0: .* slice indices must be integers"),
    ],
)
def test_what_is_not_basic_slicing_is_refused(selection: Any, message: str) -> None:
    with pytest.raises(swath.SelectionError, match=f"selection: .*{message}|{message}"):
        normalise_selection(selection, (4, 6))


def test_selections_may_use_numpy_integers_and_reach_beyond_the_ends() -> None:
    assert normalise_selection(np.s_[np.int16(-1), np.uint8(1) : 99], (4, 6)) == ((3, 1, 1, True), (1, 1, 5, False))
    assert normalise_selection(np.s_[10 : 2**80, 5:2], (4, 6)) == ((0, 1, 0, False),) * 2
    assert normalise_selection((), ()) == normalise_selection(..., ()) == ()


HALVES = (Block(),)
TWO = Distribution(HALVES, (2,))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Distribution((Block, Block()), (2, 2)), r"dimension 0: expected Block\(\), Block\(k\)"),
        (lambda: Distribution(Block(), (2,)), r"rules: expected a sequence, not Block\(\)"),
        (lambda: Distribution((Block(), Whole()), (2, 2)), r"dimension 1: Whole\(\) is not divided"),
        (lambda: Distribution((Block(), Block()), (4,)), r"grid \(4\) has 1 dimensions; expected 2, one a dimension"),
        (lambda: Distribution(HALVES, (0,)), "dimension 0: grid entry 0; expected at least 1"),
        (lambda: Distribution(HALVES, (2.5,)), "grid: expected integers"),
        (lambda: Distribution(HALVES, "2"), "grid: expected integers"),
        (lambda: Distribution(HALVES, (2**70,)), "grid: expected integers of at most 64 bits"),
        (lambda: Distribution((Block(), Block()), (2**20, 2**20)), "more than 2147483647 places"),
        (lambda: Distribution((Block(0),), (2,)), r"Block\(0\): expected a block of at least 1 element"),
        (lambda: Distribution((Block(2**70),), (2,)), "expected a block of at least 1"),
        (lambda: Distribution((Cyclic(-1),), (2,)), r"Cyclic\(-1\): expected a block of at least 1"),
        (lambda: Distribution((Cyclic(1.5),), (2,)), r"Cyclic\(1.5\)"),
        (lambda: Distribution(HALVES, (2,), ranks=(1,)), "1 ranks given for a grid of 2 places"),
        (lambda: Distribution(HALVES, (2,), ranks=()), "0 ranks given"),
        (lambda: Distribution(HALVES, (2,), ranks=(1, 1)), "must be different and not negative"),
        (lambda: Distribution(HALVES, (2,), ranks=(0, -1)), "expected numbers from 0"),
        (lambda: Distribution(HALVES, (2,), ranks=(0, 2**31)), "expected numbers from 0"),
        (lambda: TWO.local_shape((3, 4), 0), r"has 1 dimensions, the .* array \(3, 4\) has 2"),
        (lambda: TWO.local_shape((-3,), 0), r"shape \(-3,\): expected lengths that are not negative"),
        (lambda: TWO.indices((2.5,), 0), "shape: expected integers"),
        (lambda: TWO.indices((3,), -1), "rank -1: expected an integer from 0"),
        (lambda: TWO.indices((3,), 2**31), "rank 2147483648: expected"),
        (lambda: TWO.indices((3,), "x"), "rank 'x': expected"),
        (lambda: Distribution((Block(3),), (3,)).local_shape((10,), 0), r"Block\(3\) over 3 processes leaves"),
        (lambda: Boxes(3), "boxes: expected a sequence, not 3"),
        (lambda: Boxes([3]), r"box 0: expected \(start, stop\) corners, not 3"),
        (lambda: Boxes([((0,), (1,)), ((0,),)]), r"box 1: expected \(start, stop\) corners"),
        (lambda: Boxes([((0,), (1, 2))]), "box 0: .* corners of one length"),
        (lambda: Boxes([((2,), (1,))]), r"box 0: \(2,\) to \(1,\): .* 0 <= start <= stop"),
        (lambda: Boxes([((-1,), (1,))]), "box 0: .* 0 <= start"),
        (lambda: Boxes([(("a",), (1,))]), "start: expected integers"),
        (lambda: Boxes([((0,), (2**64,))]), "stop: expected integers of at most 64 bits"),
        (lambda: table_1("diagonal", 4), "no distribution 'diagonal' .* one of column-block, "),
        (lambda: table_1("row-block", 0), r"ranks\(0\): expected at least 1 rank"),
        (lambda: balanced_grid(HALVES, 2.5), r"ranks\(2.5\): expected at least 1 rank"),
        (lambda: balanced_grid((Whole(),), 2), r"all Whole\(\) cannot be divided over 2 ranks"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_reason(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(swath.ArgumentError, match=message):
        make()


@pytest.mark.parametrize("direction", ["read", "write"])
def test_a_distribution_must_fit_the_array_and_the_ranks(tmp_path: Any, direction: str) -> None:
    np.save(tmp_path / "a.npy", np.zeros((4, 6)))
    values = () if direction == "read" else (np.zeros((2, 6)),)
    with swath.open(tmp_path / "a.npy", mode="r+") as a:
        for who, options, message in (
            (Distribution((Block(),), (1,)), {}, r"has 1 dimensions, the \(selected\) array \(4, 6\) has 2"),
            (Distribution((Block(), Whole()), (1, 1)), {"selection": 3}, r"the \(selected\) array \(6,\) has 1"),
            (Distribution((Block(), Whole()), (2, 1)), {}, "for 2 ranks, and this process is alone: say whose"),
            (Distribution((Block(1), Whole()), (2, 1)), {"rank": 0}, r"Block\(1\) over 2 processes leaves elements"),
            (Boxes([((0, 0), (5, 6))]), {}, r"box \(0, 0\) to \(5, 6\): dimension 0 must lie within \[0, 4\)"),
            (Boxes([((0,), (1,))]), {}, "expected corners of 2 dimensions"),
            (Boxes([]), {"selection": np.s_[:2]}, "boxes are of the whole array; leave out the selection"),
            (Boxes([]), {"rank": 1}, "leave out rank=1"),
            ("block", {}, "expected a swath.Distribution, swath.Boxes or swath.Places, not str"),
            (None, {"method": 3}, "method: expected the name of one"),
        ):
            arguments = ([],) if isinstance(who, Boxes) and values else values
            with pytest.raises(swath.ArgumentError, match=message):
                getattr(a, direction)(*arguments, who, **options)


def test_boxes_that_share_an_element_are_not_written(tmp_path: Any) -> None:
    np.save(tmp_path / "a.npy", np.zeros((4, 6)))
    boxes = Boxes([((0, 0), (2, 2)), ((3, 3), (3, 3)), ((1, 1), (3, 3))])
    with swath.open(tmp_path / "a.npy", mode="r+") as a:
        assert [part.shape for part in a.read(boxes)] == boxes.shapes == [(2, 2), (0, 0), (2, 2)]
        with pytest.raises(swath.ArgumentError, match=r"box \(0, 0\) to \(2, 2\) and .* to \(3, 3\) share elements"):
            a.write([np.ones(shape) for shape in boxes.shapes], boxes)
    assert not np.load(tmp_path / "a.npy").any()


@pytest.mark.parametrize("name", TABLE_1)
def test_table_1_divides_what_its_names_say(name: str) -> None:
    """ "Column" divides the second dimension, "row" the first: figure 3 of the paper."""
    d = table_1(name, 4)
    first, second = name.split("-")
    if first in ("column", "row"):
        divided = 1 if first == "column" else 0
        assert isinstance(d.rules[1 - divided], Whole)
        assert d.rules[divided] == (Block() if second == "block" else Cyclic())
        assert d.grid == ((1, 4) if divided else (4, 1))
    else:
        assert d.rules == tuple(Block() if rule == "block" else Cyclic() for rule in (first, second))
        assert d.grid == (2, 2)


def test_table_1_has_its_eight_distributions() -> None:
    assert len(set(TABLE_1.values())) == len(TABLE_1) == 8


def test_a_balanced_grid_is_that_of_mpi() -> None:
    needs_mpi()
    program = textwrap.dedent("""
        import json
        from mpi4py import MPI
        print(json.dumps([[n, d, MPI.Compute_dims(n, [0] * d)] for n in range(1, 65) for d in range(1, 5)]))
        """)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    grids = json.loads(run.stdout)
    assert len(grids) == 64 * 4
    for ranks, dimensions, grid in grids:
        assert balanced_grid((Cyclic(),) * dimensions, ranks) == tuple(grid)
        rules = [rule for _ in range(dimensions) for rule in (Whole(), Block())]
        assert balanced_grid(rules, ranks) == tuple(extent for g in grid for extent in (1, g))


def test_a_grid_may_leave_out_the_dimensions_that_are_whole() -> None:
    short = Distribution((Block(), Whole(), Cyclic(3)), grid=(2, 5))
    assert short == Distribution((Block(), Whole(), Cyclic(3)), grid=(2, 1, 5))
    assert (short.grid, short.size) == ((2, 1, 5), 10)
    assert Distribution((Block(),), grid=2).grid == (2,)


@MANY
@given(st.integers(0, 2**63))
def test_a_distribution_is_what_its_repr_and_its_pickle_say(seed: int) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.randint(0, 12) for _ in range(rng.randint(0, 4)))
    d = random_distribution(rng, shape, 8)
    for other in (pickle.loads(pickle.dumps(d)), eval(repr(d), vars(swath))):
        assert other == d
        assert hash(other) == hash(d)
        assert repr(other) == repr(d)
        assert [other.local_shape(shape, r) for r in range(9)] == [d.local_shape(shape, r) for r in range(9)]
    assert d != Distribution((*d.rules, Whole()), (*d.grid, 1), d.ranks)
    assert d != "a distribution"


def test_boxes_are_what_their_repr_and_their_pickle_say() -> None:
    boxes = Boxes([((0, np.int64(0)), [16, 16]), ((32, 16), (48, 40))])
    assert repr(boxes) == "Boxes([((0, 0), (16, 16)), ((32, 16), (48, 40))])"
    for other in (pickle.loads(pickle.dumps(boxes)), eval(repr(boxes), vars(swath))):
        assert other.boxes == boxes.boxes
    assert len(boxes) == 2
    assert len(Boxes([])) == 0
    assert Boxes(iter([(0, 3)])).boxes == (((0,), (3,)),)

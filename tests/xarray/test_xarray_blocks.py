"""The blocks in which data sets are computed and written: pure arithmetic; and index arrays as boxes."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import swath

pytest.importorskip("xarray")

from swath.xarray import indices
from swath.xarray.blocks import Blocked, batches, blocks_of, recodings, refuse_recoding


@st.composite
def arrays(draw: st.DrawFn) -> Blocked:
    shape = tuple(draw(st.lists(st.integers(0, 12), max_size=3)))
    chunk = draw(st.none() | st.tuples(*(st.integers(1, 14) for _ in shape)))
    source = None
    if draw(st.booleans()):
        cuts = [sorted(draw(st.sets(st.integers(1, max(n - 1, 1)), max_size=3)) - {n}) for n in shape]
        source = tuple(
            tuple(np.diff([0, *(c for c in cut if c < n), n]).tolist()) for cut, n in zip(cuts, shape, strict=True)
        )
    return Blocked(shape, draw(st.sampled_from([1, 4, 8])), source, chunk)


@given(arrays(), st.integers(1, 3000))
def test_blocks_are_the_whole_array_once_in_order(array: Blocked, budget: int) -> None:
    seen = np.zeros(array.shape, int)
    begins = []
    for block in blocks_of(array, budget):
        seen[block] += 1
        begins.append(tuple(s.start for s in block))
    assert (seen == 1).all()
    assert begins == sorted(begins)


@given(arrays(), st.integers(1, 3000))
def test_no_chunk_of_the_source_is_in_two_blocks(array: Blocked, budget: int) -> None:
    blocks = blocks_of(array, budget)
    for axis, lengths in enumerate(array.source or ()):
        cuts = {0, *np.cumsum(lengths).tolist()}
        assert all({block[axis].start, block[axis].stop} <= cuts for block in blocks)


@given(arrays(), st.integers(1, 3000))
def test_blocks_are_whole_chunks_of_the_file_and_within_the_budget_where_both_can_be(
    array: Blocked, budget: int
) -> None:
    blocks = blocks_of(array, budget)
    largest = max((math.prod(s.stop - s.start for s in block) for block in blocks), default=0) * array.itemsize
    chunk = array.chunk or (1,) * len(array.shape)
    sources = array.source or tuple((1,) * n for n in array.shape)
    least = math.prod(max(lengths, default=0) for lengths in sources) * array.itemsize
    whole_chunks = math.prod(min(c, n) for c, n in zip(chunk, array.shape, strict=True)) * array.itemsize
    if array.source is None:
        assert largest <= max(budget, whole_chunks)
        assert all(s.start % c == 0 for block in blocks for s, c in zip(block, chunk, strict=True))
    else:
        assert largest <= max(budget, least)
    everything = math.prod(array.shape) * array.itemsize
    if everything <= budget:
        assert all(s.start % c == 0 for block in blocks for s, c in zip(block, chunk, strict=True))


@given(st.lists(arrays(), max_size=4), st.integers(1, 3000))
def test_batches_hold_every_block_and_no_more_than_the_budget_or_one_block(some: list[Blocked], budget: int) -> None:
    found: list[list[Any]] = [[] for _ in some]
    for batch in batches(some, budget):
        assert batch
        assert len(batch) == 1 or sum(place.nbytes for place in batch) <= budget
        for place in batch:
            found[place.array].append(place.block)
    assert found == [blocks_of(array, budget) for array in some]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("indices") / "a.raw"
    np.arange(9 * 7 * 8, dtype="<i4").tofile(path)
    return path


def keys(n: int) -> st.SearchStrategy[Any]:
    bounds = st.tuples(st.integers(0, n), st.integers(0, n), st.integers(1, 3)).map(lambda t: slice(*t))
    ascending = st.lists(st.integers(0, n - 1), max_size=6).map(sorted).map(lambda i: np.array(i, np.int64))
    return st.integers(0, n - 1) | bounds | ascending


@given(st.tuples(keys(9), keys(7), keys(8)), st.sampled_from([1 << 14, 4, 1]))
@settings(max_examples=200, deadline=None)
def test_outer_indices_select_what_numpy_selects(stored: Path, key: tuple[Any, ...], boxes_max: int) -> None:
    values = np.arange(9 * 7 * 8, dtype="<i4").reshape(9, 7, 8)
    expected = values
    for axis, one in reversed(list(enumerate(key))):
        expected = expected[(slice(None),) * axis + (one,)]
    with pytest.MonkeyPatch.context() as patch, swath.open(stored, shape=values.shape, dtype="<i4") as array:
        patch.setattr(indices, "BOXES_MAX", boxes_max)
        np.testing.assert_array_equal(indices.read_outer(array, key), expected)


@given(st.data(), st.integers(0, 5), st.tuples(st.booleans(), st.booleans(), st.booleans()))
@settings(max_examples=100, deadline=None)
def test_points_select_what_numpy_selects(
    stored: Path, data: st.DataObject, count: int, whole: tuple[bool, ...]
) -> None:
    values = np.arange(9 * 7 * 8, dtype="<i4").reshape(9, 7, 8)
    key: list[Any] = []
    for n, is_slice in zip(values.shape, (*whole[:2], False), strict=True):
        start, stop = sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))
        points = data.draw(st.lists(st.integers(-n, n - 1), min_size=count, max_size=count))
        key.append(slice(start, stop) if is_slice else np.array(points, np.int64))
    along = [axis for axis, one in enumerate(key) if not isinstance(one, slice)]
    expected = np.moveaxis(values, along, range(len(along)))[
        (*(key[axis] for axis in along), *(one for one in key if isinstance(one, slice)))
    ]
    with swath.open(stored, shape=values.shape, dtype="<i4") as array:
        np.testing.assert_array_equal(indices.read_points(array, tuple(key)), expected)


def naive_recodings(array: Blocked, budget: int) -> int:
    """Return the most blocks that touch one chunk of the file, counted element by element."""
    touched: dict[tuple[int, ...], int] = {}
    for block in blocks_of(array, budget):
        first = [s.start + (array.first if axis == 0 else 0) for axis, s in enumerate(block)]
        last = [s.stop - 1 + (array.first if axis == 0 else 0) for axis, s in enumerate(block)]
        chunk = array.chunk or (1,) * len(array.shape)
        spans = (range(f // c, n // c + 1) for f, n, c in zip(first, last, chunk, strict=True))
        for one in itertools.product(*spans):
            touched[one] = touched.get(one, 0) + 1
    return max(touched.values(), default=1)


@given(arrays(), st.integers(0, 30), st.integers(1, 3000))
def test_blocks_that_are_appended_begin_in_chunks_of_the_file_and_are_counted(
    array: Blocked, first: int, budget: int
) -> None:
    array = array._replace(first=first if array.shape else 0)
    seen = np.zeros(array.shape, int)
    for block in blocks_of(array, budget):
        seen[block] += 1
    assert (seen == 1).all()
    if array.chunk is not None:
        assert recodings(array, budget) == naive_recodings(array, budget)
    if array.source is None and array.shape and array.chunk is not None:
        assert all((b[0].start + first) % array.chunk[0] == 0 or b[0].start == 0 for b in blocks_of(array, budget))


def test_as_many_chunks_of_the_source_are_one_block_as_the_budget_holds() -> None:
    array = Blocked((60, 10), 8, source=((1,) * 60, (10,)), chunk=(30, 10))
    assert recodings(array, 30 * 80) == 1
    assert [recodings(array, rows * 80) for rows in (29, 15, 10, 9, 3, 1)] == [2, 2, 3, 4, 10, 30]


def test_a_budget_under_which_chunks_are_coded_again_and_again_is_refused_with_one_that_is_enough() -> None:
    array = Blocked((60, 10), 8, source=((1,) * 60, (10,)), chunk=(30, 10), is_coded=True)
    with pytest.raises(
        swath.ArgumentError, match=r"v: memory=80 bytes is too little: .* 30 times.*at least 2400 bytes"
    ):
        refuse_recoding("v", array, 80)
    refuse_recoding("v", array, 2400)
    refuse_recoding("v", array._replace(is_coded=False), 80)

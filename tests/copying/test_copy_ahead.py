"""The prefetches of a copy: every byte of the source, once, and before its tile is read."""

from __future__ import annotations

import dataclasses
import os
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stated_costs import COSTS
from swath import formats
from swath.copying import ahead, one_pass
from swath.copying.ahead import ReadAhead, runs_of
from swath.copying.copy_layout import Side
from swath.copying.one_pass import Pass


def transpose_pass(shape: tuple[int, int], tile: tuple[int, int], ahead_bytes: int) -> Pass:
    """From C to F order, 8 bytes an element."""
    source, target = Side.ordered(shape, 8, (0, 1)), Side.ordered(shape, 8, (1, 0))
    costs = dataclasses.replace(COSTS, ahead_bytes=ahead_bytes)
    return Pass(source, target, tile, tile, False, costs)


def file_of(folder: Path, shape: tuple[int, int]) -> formats.Description:
    """With a header of 128 bytes."""
    path = folder / "source.npy"
    np.save(path, np.zeros(shape))
    return formats.describe(os.fspath(path))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Record (begin, length) of all prefetches, and let short runs be prefetched."""
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(ahead.os, "posix_fadvise", lambda fd, begin, length, advice: calls.append((begin, length)))
    monkeypatch.setattr(one_pass, "AHEAD_RUN_BYTES_MIN", 16)
    return calls


def bytes_of(calls: list[tuple[int, int]], nbytes: int) -> np.ndarray:
    """Return how often each byte after the header was prefetched."""
    times = np.zeros(nbytes, int)
    for begin, length in calls:
        assert begin >= 128
        assert begin - 128 + length <= nbytes
        times[begin - 128 : begin - 128 + length] += 1
    return times


def test_all_is_asked_for_once_and_before_it_is_read(tmp_path: Path, asked: list[tuple[int, int]]) -> None:
    """Irregular: 37 rows in tiles of 8, 50 columns in bands of 4, two bands at once; the last group has one band."""
    one = transpose_pass((37, 50), (8, 4), 2 * 2 * 40 * 4 * 8)
    assert (one.bands_at_once, one.band_tiles, one.tiles) == (2, 5, 65)
    reader = ReadAhead(one, file_of(tmp_path, (37, 50)))
    for index in range(one.tiles):
        reader.before(index)
        times = bytes_of(asked, one.source.nbytes)
        for begin, length in runs_of(one.source, one.box(index)):
            assert (times[begin : begin + length] == 1).all(), index
    reader.close()
    assert (times == 1).all()
    assert len(asked) == 37 * 7, "a row of a group is one run"


@given(st.integers(1, 40), st.integers(8, 60), st.integers(1, 9), st.integers(1, 9), st.integers(1, 6))
def test_workers_that_share_the_tiles_ask_for_all_once(
    rows: int, columns: int, tile_rows: int, tile_columns: int, workers: int
) -> None:
    shape = rows, columns
    one = transpose_pass(shape, (min(tile_rows, rows), min(tile_columns, columns)), 1 << 20)
    asked: list[tuple[int, int]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_pass, "AHEAD_RUN_BYTES_MIN", 16)
        patch.setattr(ahead.os, "open", lambda path, flags: 99)
        patch.setattr(ahead.os, "posix_fadvise", lambda fd, begin, length, advice: asked.append((begin, length)))
        layout = formats.StridedLayout(128, (8 * columns, 8))
        description: Any = types.SimpleNamespace(path="none", layout=layout)
        assume(one.bands_at_once > 1)
        for worker in range(workers):
            reader = ReadAhead(one, description)
            for index in range(worker, one.tiles, workers):
                reader.before(index)
    assert (bytes_of(asked, one.source.nbytes) == 1).all()


def test_nothing_is_asked_for_where_it_is_no_use() -> None:
    """Long runs, runs that are not adjacent, no space, and a cached source need no prefetch."""
    room = 1 << 40
    assert transpose_pass((4096, 65536), (4096, 512), room).bands_at_once > 1
    assert transpose_pass((4096, 65536), (4096, 512), 0).bands_at_once == 1
    assert transpose_pass((64, 1 << 24), (64, 1 << 17), room).bands_at_once == 1
    assert transpose_pass((4096, 65536), (4096, 32768), room).bands_at_once == 1, "two bands in all"
    same_order = Pass(
        Side.ordered((64, 64), 8, (0, 1)), Side.ordered((64, 64), 8, (0, 1)), (8, 64), (8, 64), False,
        dataclasses.replace(COSTS, ahead_bytes=room),
    )  # fmt: skip
    assert same_order.bands_at_once == 1
    apart = transpose_pass((4096, 65536), (4096, 512), room)
    records = dataclasses.replace(apart.source, strides=(65536 * 24, 24))
    assert dataclasses.replace(apart, source=records).bands_at_once == 1, "between its elements lie others"


def test_runs_of_a_box_are_those_that_numpy_sees() -> None:
    shape, order = (4, 5, 6), (1, 2, 0)
    side = Side.ordered(shape, 8, order)
    places = np.arange(120).reshape([shape[d] for d in order]).transpose(np.argsort(order))
    box = (slice(1, 3), slice(2, 5), slice(0, 4))
    found = [place for begin, length in runs_of(side, box) for place in range(begin // 8, (begin + length) // 8)]
    assert found == sorted(places[box].ravel().tolist())

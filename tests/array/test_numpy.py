"""An open array behaves as NumPy's users expect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import swath
from swath.array import numpy_protocol
from swath.simulated import run_ranks

VALUES = np.arange(60, dtype="<i4").reshape(5, 4, 3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", VALUES)
    return tmp_path / "a.npy"


def test_numpy_takes_an_open_array_for_an_array(path: Path) -> None:
    with swath.open(path) as a:
        np.testing.assert_array_equal(np.asarray(a), VALUES)
        assert np.asarray(a, dtype="f8").dtype == np.float64
        assert np.mean(a) == VALUES.mean()
        np.testing.assert_array_equal(np.sqrt(a), np.sqrt(VALUES))
        np.testing.assert_array_equal(np.concatenate([a, a]), np.concatenate([VALUES, VALUES]))
        np.testing.assert_array_equal(VALUES + a, 2 * VALUES)
        assert (np.shape(a), np.ndim(a), np.size(a), a.nbytes) == ((5, 4, 3), 3, 60, 240)


def test_a_conversion_is_new_memory_and_one_that_must_copy_nothing_is_refused(path: Path) -> None:
    with swath.open(path) as a:
        np.array(a)[...] = 0
        assert np.array(a)[1, 1, 1] == VALUES[1, 1, 1]
        with pytest.raises(ValueError, match="no view"):
            np.asarray(a, copy=False)
        with pytest.raises(TypeError, match="unsupported operand"):
            a + 1  # type: ignore[operator]


def test_len_and_iteration_are_of_the_first_dimension_and_end(path: Path) -> None:
    with swath.open(path) as a:
        assert len(a) == 5
        rows = list(a)
        assert len(rows) == 5
        np.testing.assert_array_equal(rows, VALUES)
        assert [int(row[0, 0]) for row in reversed(a)] == [48, 36, 24, 12, 0]


def test_an_array_without_dimensions_has_no_length_and_no_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "scalar.npy", np.float64(2.5))
    with swath.open(tmp_path / "scalar.npy") as a:
        with pytest.raises(TypeError, match=r"len\(\)"):
            len(a)
        with pytest.raises(TypeError, match="iteration"):
            iter(a)
        assert np.asarray(a).shape == ()
        assert bool(a)
        assert 2.5 in a
        assert 3.5 not in a


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1, 1), (7,), (1000, 3)])
def test_rows_are_those_that_numpy_gives_whatever_is_read_at_a_time(
    tmp_path: Path, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.arange(np.prod(shape), dtype=">f4").reshape(shape)
    np.save(tmp_path / "a.npy", values)
    with swath.open(tmp_path / "a.npy") as a:
        for block_bytes in (1, 100, 4 << 20):
            monkeypatch.setattr(numpy_protocol, "BLOCK_BYTES", block_bytes)
            rows = list(a)
            assert len(rows) == len(values)
            for row, expected in zip(rows, values, strict=True):
                assert type(row) is type(expected)
                np.testing.assert_array_equal(row, expected)


def test_whole_rows_of_chunks_are_read_at_a_time_where_they_are_not_too_large() -> None:
    rows = numpy_protocol._rows_at_a_time
    assert rows(1 << 20, None) == 4
    assert rows(1 << 20, (3, 10)) == 3
    assert rows(1 << 20, (10, 10)) == 10
    assert rows(8 << 20, (10, 10)) == 1  # 80 MiB a row of chunks
    assert rows(0, None) == 4 << 20


def test_membership_compares_elements(path: Path) -> None:
    with swath.open(path) as a:
        assert 59 in a
        assert 60 not in a
        assert "x" not in a


def test_the_truth_of_several_elements_is_refused(path: Path) -> None:
    with swath.open(path) as a, pytest.raises(ValueError, match="truth of an array of 60 elements"):
        bool(a)


@pytest.mark.parametrize("index", [5, -6, np.s_[:, 4], np.s_[0, 0, 0, 0], np.s_[[0, 1]], VALUES > 3, None])
def test_an_index_that_is_not_there_is_an_index_error_and_an_argument_error(path: Path, index: Any) -> None:
    with swath.open(path) as a:
        for error in (IndexError, swath.ArgumentError):
            with pytest.raises(error, match="selection: "):
                a[index]
            with pytest.raises(error, match="selection: "):
                a.read(selection=index)
            with pytest.raises(error, match="selection: "):
                a.explain(selection=index)


def test_ranks_get_the_index_error_of_any_of_them(path: Path) -> None:
    rows = swath.Distribution((swath.Block(),) + (swath.Whole(),) * 2, grid=(2, 1, 1))

    def work(comm: Any) -> str:
        with swath.open(path, comm=comm) as a, pytest.raises(IndexError) as raised:
            a.read(rows, selection=np.s_[:, 7] if comm.rank else ...)
        assert type(raised.value) is swath.SelectionError
        return str(raised.value)

    found = set(run_ranks(2, work))
    assert len(found) == 1
    assert "index 7 is outside [-4, 4)" in found.pop()


def test_dimensions_and_chunks_are_those_of_the_file(tmp_path: Path, path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("plain", data=VALUES)
        file.create_dataset("chunked", data=VALUES, chunks=(2, 4, 3))
        file.create_dataset("packed", data=VALUES, chunks=(2, 2, 3), compression="gzip")
    chunks = {}
    for name in ("plain", "chunked", "packed"):
        with swath.open(tmp_path / "a.h5", name) as a:
            chunks[name] = a.chunks
    assert chunks == {"plain": None, "chunked": (2, 4, 3), "packed": (2, 2, 3)}
    with swath.open(path) as a:
        assert a.chunks is None
        assert a.dimensions == ()

"""Open arrays as sources of copies and comparisons: their current elements, or an error with advice."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.simulated import run_ranks

SHAPE = (60, 50)
STORED: dict[str, dict[str, Any]] = {
    "raw": {},
    "npy": {},
    "nc3": {},
    "zarr": {"chunks": (10, 50)},
    "h5": {},
    "chunked.h5": {"chunks": (7, 50)},
    "coded.h5": {"chunks": (7, 50), "codecs": ["shuffle", "zlib"]},
    "coded.nc4": {"chunks": (7, 20), "codecs": ["zlib"]},
}


def random_values(seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).random(SHAPE)


def assert_copied(a: swath.Array, folder: Path, values: np.ndarray[Any, Any]) -> None:
    swath.copy(a, folder / "copy.npy", overwrite=True)
    np.testing.assert_array_equal(np.load(folder / "copy.npy"), values)
    np.save(folder / "other.npy", values + 1)
    assert swath.verify(a, folder / "copy.npy").equal
    assert swath.verify(folder / "other.npy", a).equal is False


@pytest.mark.parametrize("suffix", STORED)
def test_an_array_that_is_written_to_is_copied_as_it_is_now(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    named = {} if suffix in ("raw", "npy") else {"variable": "t"}
    with swath.create(path, SHAPE, "f8", **named, **STORED[suffix]) as a:
        a[...] = random_values(0)
        assert_copied(a, tmp_path, random_values(0))
    described = {"shape": SHAPE, "dtype": "f8"} if suffix == "raw" else {}
    with swath.open(path, mode="r+", **described) as a:
        assert_copied(a, tmp_path, random_values(0))
        a[...] = random_values(1)
        assert_copied(a, tmp_path, random_values(1))


def records_file(path: Path) -> None:
    with swath.create_file(path) as file:
        file.create("x", (6,), "i4", dimensions=("x",))[...] = np.arange(6)
        file.create("t", (None,), "i4", dimensions=("time",)).append(5)
        file.create("u", (None,), "i4", dimensions=("time",)).append(6)


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_an_array_that_another_handle_has_moved_is_copied_from_where_it_is(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.nc"
    records_file(path)
    with swath.open(path, "x", mode=mode) as a:
        with swath.open_file(path, mode="r+") as file:
            file.attributes["history"] = "h" * 20000  # the header outgrows its room: data move
        swath.copy(a, tmp_path / "b.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), np.arange(6))
        np.save(tmp_path / "zeros.npy", np.zeros(6, "i4"))
        assert swath.verify(a, tmp_path / "b.npy").equal
        assert not swath.verify(a, tmp_path / "zeros.npy").equal


@pytest.mark.parametrize("suffix", ["nc3", "nc4", "h5", "zarr"])
def test_an_array_that_another_handle_has_made_longer_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    records_file(path)
    with swath.open(path, "t") as a:
        with swath.open_file(path, mode="r+") as file:
            file["t"].append(7)
        for call in (lambda: swath.copy(a, tmp_path / "b.npy"), lambda: swath.verify(a, path, other_variable="t")):
            with pytest.raises(swath.StoreError, match=r"it was .* when it was opened.*open it again") as raised:
                call()
            assert raised.value.errno == errno.ESTALE
    assert not (tmp_path / "b.npy").exists()


def test_rows_that_readers_do_not_see_yet_are_copied_from_the_array_that_has_them(tmp_path: Path) -> None:
    records_file(tmp_path / "a.nc")
    with swath.open_file(tmp_path / "a.nc", mode="r+") as file:
        file["t"].append(7)  # u has none yet
        swath.copy(file["t"], tmp_path / "b.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), [5, 7])


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_copy_an_array_that_they_have_written(tmp_path: Path, ranks: int) -> None:
    def work(comm: Any) -> None:
        with swath.create(tmp_path / "a.h5", SHAPE, "f8", chunks=(7, 50), codecs=["zlib"], comm=comm) as a:
            a.write([np.array_split(random_values(2), ranks)[comm.rank]], swath.Boxes(boxes_of(comm.rank, ranks)))
            swath.copy(a, tmp_path / "b.npy", comm=comm)

    run_ranks(ranks, work)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), random_values(2))


def boxes_of(rank: int, ranks: int) -> list[Any]:
    rows = np.array_split(np.arange(SHAPE[0]), ranks)[rank]
    return [((int(rows[0]), 0), (int(rows[-1]) + 1, SHAPE[1]))]


@pytest.fixture
def opened(tmp_path: Path) -> Any:
    with swath.create(tmp_path / "a.nc4", SHAPE, "f8", variable="g/t") as a:
        a[...] = random_values(3)
    with swath.open_file(tmp_path / "a.nc4") as file:
        yield file


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "file": (lambda file: file, r"an open file is no source; give its path"),
    "group": (lambda file: file.groups["g"], r"an open file is no source; give its path"),
    "decoded": (lambda file: file["g/t"].decoded, r"give the array itself, `\.stored`"),
    "memory": (lambda file: file["g/t"][...], r"an array in memory, float64 \(60, 50\): expected a path or an open"),
}


@pytest.mark.parametrize("given", REFUSED)
def test_what_is_no_source_is_refused_with_the_way_out(tmp_path: Path, opened: Any, given: str) -> None:
    source, words = REFUSED[given][0](opened), REFUSED[given][1]
    target = tmp_path / "b.nc4"
    for call in (
        lambda: swath.copy(source, target),
        lambda: swath.copy(source, target, variable="g/t"),
        lambda: swath.explain_copy(source, target),
        lambda: swath.verify(source, tmp_path / "a.nc4"),
        lambda: swath.verify(tmp_path / "a.nc4", source, variable="g/t"),
    ):
        with pytest.raises(swath.ArgumentError, match=words):
            call()
    with pytest.raises(swath.ArgumentError, match="a copy makes a new file, and expects its path"):
        swath.copy(tmp_path / "a.nc4", source)
    with pytest.raises(swath.ArgumentError, match="a copy makes a new file, and expects its path"):
        swath.copy(tmp_path / "a.nc4", opened["g/t"], overwrite=True)
    assert not target.exists()


def test_a_variable_of_an_open_array_is_that_array(tmp_path: Path, opened: Any) -> None:
    a = opened["g/t"]
    swath.copy(a, tmp_path / "b.npy", variable="g/t")
    for call in (
        lambda: swath.copy(a, tmp_path / "c.npy", variable="u"),
        lambda: swath.verify(a, tmp_path / "b.npy", variable="u"),
    ):
        with pytest.raises(swath.ArgumentError, match="an open array is one variable already"):
            call()
    assert not (tmp_path / "c.npy").exists()


def test_an_array_that_is_closed_is_refused(tmp_path: Path, opened: Any) -> None:
    a = opened["g/t"]
    opened.close()
    with pytest.raises(swath.ArgumentError, match="closed"):
        swath.copy(a, tmp_path / "b.npy")
    with pytest.raises(swath.ArgumentError, match="closed"):
        swath.verify(a, a)

"""Handles for changes of a file that others have changed since the open: nothing is lost without an error."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.simulated import run_ranks

SUFFIXES = ("nc3", "nc4", "h5", "zarr")
CHANGED = "it was changed since it was opened"
REPLACED = "the file that is open has lost its name since"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    make(tmp_path / "a.nc3")
    return tmp_path / "a.nc3"


def make(path: Path) -> None:
    with swath.create_file(path) as file:
        file.create("x", (4,), "i4", dimensions=("x",))[...] = 0
        file.create("t", (None,), "i4", dimensions=("time",)).append(0)


def write_anew(path: Path) -> None:
    """Add a variable for which netCDF classic has no space: another file gets the name."""
    inode = path.stat().st_ino
    with swath.open_file(path, mode="r+") as file:
        file.create("u", (None,), "i4", dimensions=("time",))[...] = 7
    assert path.stat().st_ino != inode


def read(path: Path) -> dict[str, list[int]]:
    with swath.open_file(path) as file:
        return {name: file[name][...].tolist() for name in file}


@contextlib.contextmanager
def refused(words: str) -> Iterator[pytest.ExceptionInfo[swath.StoreError]]:
    with pytest.raises(swath.StoreError, match=words) as raised:
        yield raised
    assert raised.value.errno == errno.ESTALE


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("is_opened", [True, False], ids=["an open array", "an array that is opened afterwards"])
def test_records_of_another_handle_are_not_overwritten(tmp_path: Path, suffix: str, is_opened: bool) -> None:
    path = tmp_path / f"a.{suffix}"
    make(path)
    with swath.open_file(path, mode="r+") as stale:
        if is_opened:
            assert len(stale["t"]) == 1
        with swath.open_file(path, mode="r+") as other:
            other["t"].append(111)
        for _ in range(2):
            with refused(CHANGED):
                stale["t"].append(222)
        with refused(CHANGED):
            stale.create("u", (3,), "i4")
        with swath.open_file(path, mode="r+") as other:  # the refused one does not keep others out
            other["t"].append(333)
    assert read(path)["t"] == [0, 111, 333]
    with swath.open_file(path, mode="r+") as file:
        file["t"].append(444)
    assert read(path)["t"] == [0, 111, 333, 444]
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_array_that_is_open_alone_overwrites_no_records(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    make(path)
    with swath.open(path, "t", mode="r+") as stale:
        with swath.open_file(path, mode="r+") as other:
            other["t"].append(111)
        with contextlib.suppress(swath.StoreError):
            stale.append(222)
    assert read(path)["t"][:2] == [0, 111]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_who_changes_a_file_alone_goes_on_after_each_sync(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    with swath.create_file(path) as file:
        t = file.create("t", (None,), "i4", dimensions=("time",))
        u = file.create("u", (None, 2), "f4", dimensions=("time", "x"))
        for step in range(4):
            t.append(step)
            file.sync()  # u is filled
            file.attributes[f"step{step}"] = step
            u.append([step, step])
            file[f"v{step}"] if f"v{step}" in file else file.create(f"v{step}", (2,), "i2", dimensions=("x",))
            file.sync()
    with swath.open_file(path, mode="r+") as file:
        file["u"].append([9, 9])
        file.create("w", (None,), "i4", dimensions=("time",))
        file.sync()
        file["w"].append(1)
    assert list(read(path)) == ["t", "u", "v0", "v1", "v2", "v3", "w"]


WRITES: dict[str, Callable[[Any], object]] = {
    "elements": lambda a: a.__setitem__(..., 9),
    "beside the program": lambda a: a.write_async(np.ones(4, "i4")).result(),
    "sync": lambda a: a.sync(),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("is_alone", [True, False], ids=["an array", "a file"])
def test_elements_are_not_written_into_a_file_that_has_lost_its_name(path: Path, write: str, is_alone: bool) -> None:
    with contextlib.ExitStack() as opened:
        if is_alone:
            stale = opened.enter_context(swath.open(path, "x", mode="r+"))
        else:
            stale = opened.enter_context(swath.open_file(path, mode="r+"))["x"]
        stale[...] = 5
        stale.sync()
        write_anew(path)
        with refused(REPLACED):
            WRITES[write](stale)
        assert stale[...].tolist() == [5] * 4  # of the old one
    assert read(path) == {"x": [5] * 4, "t": [0], "u": [7]}


@pytest.mark.parametrize("is_alone", [True, False], ids=["an array", "a file"])
def test_what_was_written_and_not_synced_is_missed_by_close(path: Path, is_alone: bool) -> None:
    file = swath.open(path, "x", mode="r+") if is_alone else swath.open_file(path, mode="r+")
    array = file if is_alone else file["x"]
    array[...] = 5
    path.rename(path.with_name("old.nc3"))
    make(path)
    with refused(f"close {path}: {REPLACED}"):
        file.close()
    assert array._core.is_closed
    file.close()
    assert read(path)["x"] == [0] * 4
    path.unlink()


def test_who_has_written_nothing_may_close_what_is_replaced_or_removed(path: Path) -> None:
    with swath.open_file(path, mode="r+"), swath.open(path, "x", mode="r+"), swath.open_file(path):
        write_anew(path)
    with swath.open_file(path, mode="r+"), swath.open(path, "x", mode="r+"), swath.open_file(path):
        path.unlink()


def test_changes_of_a_file_that_is_replaced_meanwhile_are_not_made_to_the_other(path: Path, tmp_path: Path) -> None:
    make(tmp_path / "b.nc3")
    with swath.open(tmp_path / "b.nc3", "x", mode="r+") as x:
        x[...] = 4
    file = swath.open_file(path, mode="r+")
    file["t"].append(1)
    file.attributes["title"] = "not to be found"
    os.rename(tmp_path / "b.nc3", path)
    for change in (
        lambda: file["t"].append(2),
        lambda: file.attributes.update(title="a"),
        lambda: file.create("y", (2,), "i4"),
        file.sync,
        file.close,
    ):
        with refused(REPLACED):
            change()
    assert read(path) == {"x": [4] * 4, "t": [0]}
    assert os.listdir(tmp_path) == ["a.nc3"]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_all_ranks_are_told_of_it(tmp_path: Path, ranks: int) -> None:
    make(tmp_path / "a.nc3")
    make(tmp_path / "b.nc3")
    by_block = swath.Distribution((swath.Block(),), grid=(ranks,))

    def work(comm: Any) -> list[str]:
        told = []

        def note(call: Callable[[], object]) -> None:
            with refused(f"{CHANGED}|{REPLACED}") as raised:
                call()
            told.append(str(raised.value))

        a = swath.open_file(tmp_path / "a.nc3", mode="r+", comm=comm)
        b = swath.open_file(tmp_path / "b.nc3", mode="r+", comm=comm)
        x, t = a["x"], b["t"]
        share = np.full(by_block.local_shape((4,), comm.rank), 5, "i4")
        x.write(share, by_block)
        if comm.rank == 0:
            write_anew(tmp_path / "a.nc3")
            with swath.open_file(tmp_path / "b.nc3", mode="r+") as other:
                other["t"].append(111)
        note(lambda: x.write(share, by_block))
        note(lambda: t.append(222))
        note(a.sync)
        note(a.close)
        b.close()
        return told

    told = run_ranks(ranks, work)
    assert told == [told[0]] * ranks
    assert [REPLACED in one for one in told[0]] == [True, False, True, True]
    assert CHANGED in told[0][1]
    assert read(tmp_path / "b.nc3")["t"] == [0, 111]


def test_a_file_is_found_by_its_relative_name_from_another_folder_too(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    with swath.open("a.nc3", "x", mode="r+") as x:
        monkeypatch.chdir("/")
        x[...] = 3
        x.sync()
    assert read(path)["x"] == [3] * 4

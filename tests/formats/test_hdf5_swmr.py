"""HDF5 files that a program writes while others read them (SWMR), and files that are marked as open for writing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import swath
from swath.errors import FormatError, StoreError

h5py = pytest.importorskip("h5py")

ROWS = 400
WRITER = """
import sys
import h5py, numpy as np
path, rows = sys.argv[1], int(sys.argv[3])
filters = {"compression": 1, "shuffle": True} if sys.argv[2] == "zlib" else {}
with h5py.File(path, "w", libver="latest", userblock_size=int(sys.argv[4])) as file:
    v = file.create_dataset("v", (0, 5), "f8", maxshape=(None, 5), chunks=(7, 3), fillvalue=-1, **filters)
    file.create_dataset("fixed", data=np.arange(12).reshape(3, 4))
    file.swmr_mode = True
    print("open", flush=True)
    sys.stdin.readline()
    for row in range(rows):
        v.resize(row + 1, 0)
        v[row] = row + np.arange(5) / 8
        v.flush()
    print("written", flush=True)
    sys.stdin.readline()
"""


class Writer:
    """A program that has a file open, and writes its rows on request."""

    def __init__(self, path: Path, codec: str, userblock: int) -> None:
        command = [sys.executable, "-c", WRITER, path, codec, str(ROWS), str(userblock)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.line() == "open"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()


@contextmanager
def writer_of(path: Path, codec: str = "none", userblock: int = 0) -> Iterator[Writer]:
    writer = Writer(path, codec, userblock)
    try:
        yield writer
    finally:
        writer.process.kill()
        writer.process.communicate()


def expected(rows: int) -> np.ndarray:
    return np.arange(rows)[:, None] + np.arange(5) / 8


@pytest.mark.parametrize("codec", ["none", "zlib"])
def test_a_file_is_read_right_while_a_program_writes_it_in_swmr_mode(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "a.h5"
    seen = []
    with writer_of(path, codec) as writer:
        writer.go_on()
        while not seen or seen[-1] < ROWS:
            with swath.open(path, "v") as a:
                found = a[...]
            whole = expected(len(found))
            late = (found == -1).all(axis=1)  # an unwritten row reads as the fill value
            np.testing.assert_array_equal(found[~late], whole[~late])
            assert not late[:-1].any()
            seen.append(len(found))
        assert writer.line() == "written"
        np.testing.assert_array_equal(swath.open(path, "v")[...], expected(ROWS))
        np.testing.assert_array_equal(swath.open(path, "fixed")[...], np.arange(12).reshape(3, 4))
    assert seen == sorted(seen)


def test_a_file_that_is_written_in_swmr_mode_is_listed_copied_and_opened_by_xarray(tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray")
    path = tmp_path / "a.h5"
    with writer_of(path, "zlib", userblock=512) as writer:
        writer.go_on()
        assert writer.line() == "written"
        with swath.open_file(path) as file:
            assert set(file) == {"v", "fixed"}
        swath.copy(path, tmp_path / "b.h5")
        with xr.open_dataset(path, engine="swath") as data:
            np.testing.assert_array_equal(data["v"], expected(ROWS))
    with h5py.File(tmp_path / "b.h5") as file:
        np.testing.assert_array_equal(file["v"], expected(ROWS))


@pytest.mark.parametrize("is_alive", [True, False])
def test_a_file_that_is_written_in_swmr_mode_is_not_changed_and_h5clear_is_not_advised(
    tmp_path: Path, is_alive: bool
) -> None:
    path = tmp_path / "a.h5"
    with writer_of(path) as writer:
        writer.go_on()
        assert writer.line() == "written"
        if not is_alive:
            writer.process.kill()
            writer.process.wait()
        before = path.read_bytes()

        def write() -> None:
            with swath.open(path, "v", mode="r+") as a:
                a[0] = 1

        def add() -> None:
            with swath.open_file(path, mode="r+") as file, file.create("w", (3,), "f4") as a:
                a[...] = 1

        def append() -> None:
            with swath.open(path, "v", mode="r+") as a:
                a.append(np.zeros((1, 5)))

        for change in (write, add, append):
            with pytest.raises(StoreError, match="SWMR mode") as raised:
                change()
            assert "h5clear" not in str(raised.value)
            assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a.h5"]


MARKED = """
import os, sys
import h5py
file = h5py.File(sys.argv[1], "w", libver="latest")
file["v"] = [1, 2, 3]
file.flush()
os._exit(1)
"""


def test_a_file_that_a_program_left_open_says_so_and_what_h5clear_is_for(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    subprocess.run([sys.executable, "-c", MARKED, path], check=False)
    for mode in ("r", "r+"):
        with pytest.raises(StoreError, match=r"ended without closing it.*h5clear -s"):
            swath.open(path, "v", mode=mode)


@pytest.mark.timeout(60)
def test_a_damaged_file_that_says_that_it_is_written_in_swmr_mode_is_soon_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file["v"] = np.arange(4)
    data = bytearray(path.read_bytes())
    assert data[8] == 3  # the version of the superblock, whose flags and checksum follow
    data[11] = 5
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"a\.h5"):
        swath.open(str(path), "v")

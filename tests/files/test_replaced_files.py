"""A new file takes the name of one whose writer was killed, or is alive: an undo must not change the new file."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import swath
from swath.simulated import run_ranks

SUFFIXES = ("nc3", "nc4", "h5", "zarr")
KILLED = """
import os, signal, sys
import swath
file = swath.open_file(sys.argv[1], mode="r+")
file.create("half", (3,), "i4")[...] = 1
file.attributes["title"] = "half of a change"
os.kill(os.getpid(), signal.SIGKILL)
"""


def make(path: Path, value: int, *, overwrite: bool = False, ranks: int = 1) -> None:
    def work(comm: object) -> None:
        with swath.create_file(path, overwrite=overwrite, comm=comm) as file:
            x = file.create("x", (4000 * value,), "i4", dimensions=("x",))
            x.write(np.full(4000 * value // ranks, value, "i4"), swath.Distribution((swath.Block(),), grid=(ranks,)))

    run_ranks(ranks, work)


def kill_while_changing(path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED, path], check=False).returncode == -9
    assert journal(path).stat().st_size > 0


def journal(path: Path) -> Path:
    return path.with_name(f".{path.name}.swath-undo")


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def create_unfinished_name(path: Path) -> None:
    with swath.create(path, (8000,), "i4", variable="x", dimensions=("x",), overwrite=True, atomic=False) as x:
        x[...] = 2


def copy_over(path: Path) -> None:
    other = path.with_name(f"other.{path.suffix[1:]}")
    make(other, 2)
    swath.copy(other, path, overwrite=True)
    remove(other)


def remove_and_make(path: Path) -> None:
    remove(path)
    make(path, 2)


def remove_and_restore(path: Path) -> None:
    other = path.with_name("backup")
    make(path.with_name(f"backup.{path.suffix[1:]}"), 2)
    path.with_name(f"backup.{path.suffix[1:]}").rename(other)
    remove(path)
    shutil.copytree(other, path) if other.is_dir() else shutil.copyfile(other, path)
    remove(other)


WAYS: dict[str, Callable[[Path], None]] = {
    "create_file": lambda path: make(path, 2, overwrite=True),
    "create_file, 2 ranks": lambda path: make(path, 2, overwrite=True, ranks=2),
    "create_file, thrice": lambda path: [make(path, value, overwrite=True) for value in (5, 3, 2)] and None,
    "create, not atomic": create_unfinished_name,
    "copy": copy_over,
    "removed, and made": remove_and_make,
    "removed, and restored": remove_and_restore,
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_replaces_one_whose_writer_was_killed_is_read_as_it_is(
    tmp_path: Path, suffix: str, way: str
) -> None:
    path = tmp_path / f"a.{suffix}"
    make(path, 1)
    kill_while_changing(path)
    WAYS[way](path)
    for _ in range(2):
        with swath.open_file(path) as file:
            assert list(file) == ["x"]
            assert not file.attributes.get("title")
            np.testing.assert_array_equal(file["x"][...], np.full(8000, 2))
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_that_is_not_replaced_after_all_is_repaired(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    make(path, 1)
    kill_while_changing(path)
    with contextlib.suppress(ZeroDivisionError), swath.create_file(path, overwrite=True) as file:
        file.create("x", (3,), "i4")
        raise ZeroDivisionError
    assert journal(path).exists()
    with swath.open_file(path) as file:
        assert list(file) == ["x"]
        np.testing.assert_array_equal(file["x"][...], np.ones(4000))


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("suffix", ["nc3", "zarr"])
def test_one_that_is_being_changed_is_not_replaced(tmp_path: Path, suffix: str, ranks: int) -> None:
    path = tmp_path / f"a.{suffix}"
    make(path, 1)
    with swath.open_file(path, mode="r+") as file:
        file.attributes["title"] = "changed"
        with pytest.raises(swath.StoreError, match=f"process {os.getpid()} .*holds") as raised:
            make(path, 2, overwrite=True, ranks=ranks)  # at once, not when all has been written
        assert raised.value.errno == errno.EAGAIN
    new = swath.create_file(path, overwrite=True)
    new.create("y", (3,), "i4", dimensions=("y",))
    with swath.open_file(path, mode="r+") as file:
        file.attributes["title"] = "changed again"
        with pytest.raises(swath.StoreError, match="another program is changing it"):
            new.close()
    with swath.open_file(path) as file:
        assert list(file) == ["x"]
        assert file.attributes["title"] == "changed again"
    assert os.listdir(tmp_path) == [path.name]
    make(path, 2, overwrite=True)

"""A new array that is never closed: a ResourceWarning, and nothing is left of it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpi_runs
import swath
from swath.simulated import run_ranks

SUFFIXES = ("raw", "npy", "nc3", "h5", "zarr")


@pytest.fixture
def _without_collector() -> Any:
    """An array in a reference cycle would be freed only when the collector runs."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_without_collector")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_array_that_is_let_go_of_is_told_and_leaves_nothing(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    a = swath.create(path, (4, 3), "i4", fill=3)
    a.write(np.ones((4, 3), "i4"))
    a[1] = 2
    assert len(os.listdir(tmp_path)) == 1
    with pytest.warns(ResourceWarning, match=f"create {path}: the array was never closed.*close it") as told:
        del a
    assert len(told) == 1
    assert os.listdir(tmp_path) == []


def test_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(3))
    a = swath.create(path, 5, "f8", overwrite=True)
    with pytest.warns(ResourceWarning, match="or the old one"):
        del a
    np.testing.assert_array_equal(np.load(path), np.arange(3))
    assert os.listdir(tmp_path) == ["a.npy"]


def test_a_file_under_its_final_name_stays(tmp_path: Path) -> None:
    a = swath.create(tmp_path / "a.npy", 5, "f8", atomic=False)
    with pytest.warns(ResourceWarning, match="perhaps not all of it"):
        del a
    assert os.listdir(tmp_path) == ["a.npy"]


def test_who_closes_or_only_opens_hears_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        swath.create(path, 5, "f8").close()
        with swath.create(path, 5, "f8", overwrite=True):
            pass
        with pytest.raises(KeyError), swath.create(path, 5, "f8", overwrite=True):
            raise KeyError("mistake")
        with pytest.raises(swath.ArgumentError):
            swath.create(tmp_path / "b.npy", 5, "f8", engine="nonsense")
        swath.open(path, mode="r+")
        gc.collect()
    assert os.listdir(tmp_path) == ["a.npy"]


def test_an_array_that_another_rank_could_not_make_is_not_told(tmp_path: Path) -> None:
    def work(comm: Any) -> None:
        rule = "fault:nonsense" if comm.rank == 1 else "posix"
        with pytest.raises(swath.ArgumentError, match="rank 1"):
            swath.create(tmp_path / "a.npy", 5, "f8", comm=comm, engine=rule)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_ranks(2, work)
        gc.collect()
    assert os.listdir(tmp_path) == []


def run(program: str, *arguments: object, code: int = 0) -> str:
    """Return the output of a separate program, with all warnings shown."""
    command = [sys.executable, "-W", "always", "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_an_array_that_lives_until_the_program_ends_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        program = "import sys, swath; kept = swath.create(sys.argv[1], 5, 'f8'); kept.write(kept[...])"
        told = run(program, tmp_path / f"a.{suffix}")
        assert told.count(f"create {tmp_path}/a.{suffix}: the array was never closed") == 1
        assert os.listdir(tmp_path) == []


def test_an_exception_that_ends_the_program_leaves_nothing(tmp_path: Path) -> None:
    program = "import sys, swath; kept = swath.create(sys.argv[1], 5, 'f8'); raise KeyError('mistake')"
    assert "never closed" in run(program, tmp_path / "a.npy", code=1)
    assert os.listdir(tmp_path) == []


FORKS = """
import os, sys, swath
a = swath.create(sys.argv[1], 5, "f8")
a[...] = 7
child = os.fork()
if child == 0:
    del a  # in the child: no business of its own
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
child = os.fork()
if child == 0:
    sys.exit(0)  # alive when the child ends
assert os.waitpid(child, 0)[1] == 0
a.close()
with swath.open(sys.argv[1]) as b:
    assert (b[...] == 7).all()
print("well")
"""


def test_a_forked_child_neither_removes_nor_tells(tmp_path: Path) -> None:
    told = run(FORKS, tmp_path / "a.npy")
    assert "well" in told
    assert "never closed" not in told
    assert os.listdir(tmp_path) == ["a.npy"]


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_that_let_go_leave_nothing(tmp_path: Path, ranks: int) -> None:
    def work(comm: Any) -> None:
        a = swath.create(tmp_path / "a.npy", 5, "f8", comm=comm)
        comm.barrier()
        if comm.rank == 1:
            del a
            assert len(os.listdir(tmp_path)) == 1  # rank 0 removes it, and uses it still
            comm.barrier()
        else:
            comm.barrier()
            assert len(os.listdir(tmp_path)) == 1

    with pytest.warns(ResourceWarning) as told:
        run_ranks(ranks, work)
    assert len(told) == ranks
    assert os.listdir(tmp_path) == []


def test_mpi_ranks_that_let_go_leave_nothing(tmp_path: Path) -> None:
    mpi_runs.run_well(3, "never_closed_ranks.py", tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", ["nc3", "h5", "zarr"])
def test_a_variable_added_by_what_is_never_closed_is_taken_back_with_a_warning(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    with swath.create_file(path) as f:
        f.create("t", (3,), "f4", dimensions=("x",))[...] = 1

    def add() -> None:
        swath.create(path, (3,), "f4", variable="v", dimensions=("x",))[...] = 5
        gc.collect()

    with pytest.warns(ResourceWarning, match=r"changed and never closed"):
        add()
    assert os.listdir(tmp_path) == [path.name]
    with swath.open_file(path) as f:
        assert list(f) == ["t"]

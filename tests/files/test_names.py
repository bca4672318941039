r"""File names are bytes: one that is not UTF-8 (b"\xff") is opened, made, copied and told of like any other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpi_runs
import swath
from swath.simulated import run_ranks

VALUES = np.arange(12, dtype=">f4").reshape(3, 4)
ODD = b"\xff\xfe d\xe4ta"
SUFFIXES = ("raw", "npy", "nc3", "h5", "zarr")


@pytest.fixture
def folder(tmp_path: Path) -> bytes:
    """The folder's own name is odd, too."""
    made = os.path.join(os.fsencode(tmp_path), ODD)
    try:
        os.mkdir(made)
    except OSError:
        pytest.skip("this file system has UTF-8 names only")
    return made


def file_in(folder: bytes, suffix: str) -> bytes:
    return os.path.join(folder, ODD + b"." + suffix.encode())


def described(suffix: str) -> dict[str, Any]:
    return {"shape": VALUES.shape, "dtype": VALUES.dtype} if suffix == "raw" else {}


def as_given(path: bytes, kind: str) -> Any:
    return {"bytes": path, "str": os.fsdecode(path), "path": Path(os.fsdecode(path))}[kind]


@pytest.mark.parametrize("kind", ["bytes", "str", "path"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_name_that_is_not_utf8_is_created_opened_and_changed(folder: bytes, suffix: str, kind: str) -> None:
    path = as_given(file_in(folder, suffix), kind)
    with swath.create(path, VALUES.shape, VALUES.dtype) as a:
        a.write(VALUES)
        assert a.path == os.fsdecode(path)
    assert os.listdir(folder) == [os.path.basename(file_in(folder, suffix))]
    with swath.open(path, mode="r+", **described(suffix)) as a:
        np.testing.assert_array_equal(a[...], VALUES)
        a[1] = 7
        assert a.path == os.fsdecode(path)
        assert "\udcff" in repr(a)
        a.explain()
    with swath.open(path, **described(suffix)) as a:
        np.testing.assert_array_equal(a[1], [7] * 4)


@pytest.mark.parametrize("target", SUFFIXES)
def test_such_files_are_copied_and_verified(folder: bytes, target: str) -> None:
    source, made = file_in(folder, "npy"), os.path.join(folder, b"copy\xff." + target.encode())
    np.save(os.fsdecode(source), VALUES)
    swath.explain_copy(source, made)
    swath.copy(source, made)
    with swath.open(made, **described(target)) as copied:
        assert swath.verify(source, copied)
    if target != "raw":
        assert swath.verify(source, made)
    assert sorted(os.listdir(folder)) == sorted([os.path.basename(source), os.path.basename(made)])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_such_files_are_shared_by_ranks(folder: bytes, suffix: str) -> None:
    path = file_in(folder, suffix)
    d = swath.Distribution((swath.Block(), swath.Whole()), grid=(2, 1))

    def work(comm: Any) -> None:
        with swath.create(path, VALUES.shape, VALUES.dtype, comm=comm) as a:
            a.write(VALUES[np.ix_(*d.indices(VALUES.shape, comm.rank))], d)
        with swath.open(path, comm=comm, **described(suffix)) as a:
            np.testing.assert_array_equal(a.read(d), VALUES[np.ix_(*d.indices(VALUES.shape, comm.rank))])
        with pytest.raises(swath.DisagreementError, match="ask for different things") as raised:
            swath.open(path if comm.rank == 0 else path + b"\xff", comm=comm, **described(suffix))
        assert os.fsdecode(path) in str(raised.value)

    run_ranks(2, work)


@pytest.mark.parametrize("engine", ["posix", "uring", "auto"])
def test_errors_of_the_core_tell_such_names(folder: bytes, engine: str) -> None:
    path = file_in(folder, "raw")
    Path(os.fsdecode(path)).write_bytes(VALUES.tobytes())

    def work(comm: Any) -> str:
        with swath.open(path, shape=(3, 4), dtype=">f4", comm=comm, engine=engine) as a:
            comm.barrier()
            if comm.rank == 0:
                os.truncate(path, 20)
            comm.barrier()
            with pytest.raises(swath.StoreError) as raised:
                a.read(swath.Distribution((swath.Whole(), swath.Whole()), grid=(1, 1)), method="direct")
            assert os.fsencode(str(raised.value)).count(path) == 1
            return str(raised.value)

    assert len(set(run_ranks(2, work))) == 1


def test_a_file_that_is_not_there_is_told_by_its_name(folder: bytes) -> None:
    path = os.path.join(folder, b"no\xff.npy")
    with pytest.raises(swath.NotFoundError) as raised:
        swath.open(path)
    assert os.fsencode(str(raised.value)).count(path) == 1


@pytest.mark.parametrize("path", ["/\ud800.npy", "/a\0b.npy", 5, None, [b"x"]])
def test_what_no_file_can_be_called_is_an_argument_error(path: Any) -> None:
    for call in (swath.open, lambda p: swath.create(p, 3, "f8"), lambda p: swath.create(p, 3, "f8", format="npy")):
        with pytest.raises(swath.ArgumentError, match="path"):
            call(path)

    def work(comm: Any) -> str:
        with pytest.raises(swath.ArgumentError) as raised:
            swath.open(path, comm=comm)
        return str(raised.value)

    assert len(set(run_ranks(2, work))) == 1


def test_the_command_line_takes_and_prints_such_names(folder: bytes) -> None:
    path, made = file_in(folder, "npy"), file_in(folder, "h5")
    np.save(os.fsdecode(path), VALUES)

    def run(*arguments: bytes | str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "swath.commands.cli", *arguments]
        return subprocess.run(command, capture_output=True, check=False, env={**os.environ, "COLUMNS": "300"})

    told = run("info", path)
    assert told.returncode == 0, told.stderr
    assert ODD + b".npy" in told.stdout
    told = run("info", "--json", path)
    assert json.loads(told.stdout)["path"] == os.fsdecode(path)
    for arguments in (
        ("copy", path, made),
        ("verify", path, made),
        ("info", made),
        ("explain", path, "--dist", "block,*", "--ranks", "3"),
    ):
        told = run(*arguments)
        assert told.returncode == 0, told.stderr
    told = run("info", path + b"\xff")
    assert told.returncode == 2
    assert path + b"\xff" in told.stderr


@pytest.mark.parametrize("ranks", [1, 3])
def test_such_files_are_shared_by_mpi_ranks(folder: bytes, ranks: int) -> None:
    assert "well" in mpi_runs.run_well(ranks, "name_ranks.py", os.fsdecode(folder))

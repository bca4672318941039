"""A full disk during a change by HDF5: the file stays as it was, and can be written when there is space."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from tree import PROGRAMS

h5py = pytest.importorskip("h5py")
SHAPE = (64, 64)
OTHER = np.arange(10.0)
LAYOUTS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunks": {"chunks": (8, 8)},
    "chunks that can grow": {"chunks": (8, 8), "maxshape": (None, None)},
    "compressed": {"chunks": (8, 8), "compression": "gzip"},
}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Make a file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    mounted = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr!r}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def make_file(path: Path, layout: str, library: str) -> None:
    with h5py.File(path, "w", libver=library) as file:
        file.create_dataset("u", SHAPE, "f8", fillvalue=3, **LAYOUTS[layout])
        file["other"] = OTHER


def fill_up(folder: Path, left: int) -> None:
    """Fill the disk up to this number of free bytes."""
    told = os.statvfs(folder)
    (folder / "rest").write_bytes(bytes(told.f_bavail * told.f_bsize - left))


def check_is_as_before(path: Path, before: bytes) -> None:
    assert path.read_bytes() == before
    with h5py.File(path) as file:  # this process holds no broken handle either
        assert (file["u"][...] == 3).all()
        np.testing.assert_array_equal(file["other"][...], OTHER)
    with swath.open(path, "u") as a:
        assert (a[...] == 3).all()


@pytest.mark.parametrize("library", ["earliest", "latest"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_full_disk_leaves_an_hdf5_file_as_it_was(small_disk: Path, layout: str, library: str) -> None:
    path = small_disk / "a.h5"
    values = np.random.default_rng(1).random(SHAPE)
    for left in (0, 4096, 8192, 16384, 28672):
        path.unlink(missing_ok=True)
        make_file(path, layout, library)
        before = path.read_bytes()
        fill_up(small_disk, left)
        with swath.open(path, "u", mode="r+") as a:
            with pytest.raises(swath.StoreError, match="No space left on device") as raised:
                a.write(values)
            assert str(path) in str(raised.value)
            assert raised.value.errno == 28
            check_is_as_before(path, before)
            (small_disk / "rest").unlink()
            a.write(values)
            np.testing.assert_array_equal(a[...], values)
        with h5py.File(path) as file:
            np.testing.assert_array_equal(file["u"][...], values)
            np.testing.assert_array_equal(file["other"][...], OTHER)


def test_a_full_disk_leaves_no_new_hdf5_file(small_disk: Path) -> None:
    fill_up(small_disk, 0)
    for chunks in (None, (8, 8)):
        with pytest.raises(swath.StoreError, match="No space left on device"):
            swath.create(small_disk / "a.h5", SHAPE, "f8", chunks=chunks, attributes={"history": "x" * 5000})
        assert os.listdir(small_disk) == ["rest"]
    (small_disk / "rest").unlink()
    with swath.create(small_disk / "a.h5", SHAPE, "f8", chunks=(8, 8)) as a:
        a[...] = 4
    with h5py.File(small_disk / "a.h5") as file:
        assert (file["data"][...] == 4).all()


PROGRAM = """
import resource, signal, sys
import swath
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path, limit = sys.argv[1], int(sys.argv[2])
with swath.open(path, "u", mode="r+") as a:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        a[:1] = 4
    except swath.StoreError as error:
        print(error.errno)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert (a[...] == 3).all()
"""


@pytest.mark.parametrize("layout", ["contiguous", "chunks", "compressed"])
def test_a_limit_of_the_files_size_leaves_an_hdf5_file_as_it_was(tmp_path: Path, layout: str) -> None:
    if resource.getrlimit(resource.RLIMIT_FSIZE)[1] != resource.RLIM_INFINITY:
        pytest.skip("the size of files is limited already")
    path = tmp_path / "a.h5"
    make_file(path, layout, "earliest")
    before = path.read_bytes()
    more = 100 if layout == "compressed" else 9000
    command = [sys.executable, "-c", PROGRAM, str(path), str(len(before) + more)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "27\n"), done.stderr
    check_is_as_before(path, before)


ALLOCATING_PROGRAM = """
import ctypes, sys
import swath
from pathlib import Path
from swath import formats
path, library = Path(sys.argv[1]), ctypes.CDLL(sys.argv[2])
before = path.read_bytes()
description = formats.describe(path, "u")


def allocate(broken):
    library.fail_write(broken)
    try:
        formats.allocate(description)
    finally:
        library.fail_write(-1) if broken >= 0 else None
    return library.writes()


writes = allocate(-1)
assert path.read_bytes() != before
assert writes > 3, writes
for broken in {*range(0, writes, 9), *range(max(writes - 5, 0), writes)}:
    path.write_bytes(before)
    try:
        allocate(broken)
    except swath.StoreError as error:
        assert "Input/output error; it is as it was before" in str(error), error
    else:
        raise AssertionError(f"write {broken} of {writes} failed, and nobody said so")
    assert path.read_bytes() == before, broken
print(writes)
"""


@pytest.fixture(scope="module")
def failing_writes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    library = tmp_path_factory.mktemp("preloaded") / "failing_writes.so"
    source = PROGRAMS / "preload" / "failing_writes.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.parametrize("library", ["earliest", "latest"])
@pytest.mark.parametrize("layout", ["contiguous", "chunks"])
def test_allocating_is_taken_back_whichever_write_fails(
    tmp_path: Path, layout: str, library: str, failing_writes: Path
) -> None:
    path = tmp_path / "a.h5"
    make_file(path, layout, library)
    before = path.read_bytes()
    command = [sys.executable, "-c", ALLOCATING_PROGRAM, path, failing_writes]
    environment = {**os.environ, "LD_PRELOAD": str(failing_writes)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    check_is_as_before(path, before)


NEW_FILE_PROGRAM = """
import os, resource, signal, sys
import swath
from swath.simulated import run_ranks
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path, ranks = sys.argv[1], int(sys.argv[2])


def work(comm):
    file = swath.create_file(path, comm=comm)
    file.create("v", (300000,), "i4", fill=7)  # it is filled when the file is closed
    resource.setrlimit(resource.RLIMIT_FSIZE, (200000, resource.RLIM_INFINITY))
    try:
        file.close()
    except swath.StoreError as error:
        return error.errno, str(error)


told = run_ranks(ranks, work)
assert all(one is not None and one[0] == 27 and "File too large" in one[1] for one in told), told
descriptors = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
open_files = [os.readlink(one) for one in descriptors if os.path.lexists(one)]
assert not any("disk." in name for name in open_files), open_files
assert os.listdir(os.path.dirname(path)) == []
"""


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("suffix", ["nc3", "nc4", "h5"])
def test_what_kept_a_new_file_from_being_completed_is_told_and_nothing_stays(
    tmp_path: Path, suffix: str, ranks: int
) -> None:
    if resource.getrlimit(resource.RLIMIT_FSIZE)[1] != resource.RLIM_INFINITY:
        pytest.skip("the size of files is limited already")
    command = [sys.executable, "-c", NEW_FILE_PROGRAM, str(tmp_path / f"disk.{suffix}"), str(ranks)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr

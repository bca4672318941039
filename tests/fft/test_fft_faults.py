"""Transforms that are killed, interrupted, without space or refused: no half result has the target's name."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.fft

import swath
from mpi_runs import mpiexec, needs_mpi
from swath.simulated import run_ranks
from tree import HELPERS, PROGRAMS

PROGRAM = """
import sys
from pathlib import Path
import scipy.fft
import swath
Path(sys.argv[3]).touch()
swath.fftn(sys.argv[1], sys.argv[2], memory=1_000_000, overwrite=True)
"""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def source(folder: Path, shape: tuple[int, ...] = (60, 50)) -> np.ndarray:
    values = np.random.default_rng(5).standard_normal(shape)
    np.save(folder / "a.npy", values)
    return values


def check(path: Path, values: np.ndarray) -> None:
    np.testing.assert_allclose(np.load(path), scipy.fft.fftn(values), atol=1e-9 * values.size)


# ---- Killed, interrupted ---------------------------------------------------------------------------------------------


def start(folder: Path, ranks: int) -> subprocess.Popen[bytes]:
    """Start a transform of `a.npy` to `data/b.npy`, in its own process group."""
    files = [str(folder / name) for name in ("a.npy", "data/b.npy", "process.0")]
    command = [sys.executable, "-c", PROGRAM, *files]
    if ranks > 1:
        script = str(PROGRAMS / "mpi" / "fft_killed_ranks.py")
        command = [str(mpiexec()), "-n", str(ranks), sys.executable, script, str(folder)]
    env = {**os.environ, "HYDRA_LAUNCHER": "fork", "PYTHONPATH": os.pathsep.join([str(HELPERS), *sys.path])}
    return subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, start_new_session=True)


def wait_until_begun(process: subprocess.Popen[bytes], folder: Path, ranks: int, more_seconds: float) -> None:
    """Return some time after all ranks have begun."""
    while process.poll() is None and not all((folder / f"process.{rank}").exists() for rank in range(ranks)):
        time.sleep(0.001)
    time.sleep(more_seconds)


@contextlib.contextmanager
def prepared(folder: Path) -> Iterator[np.ndarray]:
    """Make an array, and an old file with the target's name, which must stay until it is replaced as a whole."""
    values = source(folder, (1200, 1100))
    (folder / "data").mkdir()
    (folder / "data" / "b.npy").write_text("old")
    yield values
    swath.fftn(folder / "a.npy", folder / "data" / "b.npy", memory=1_000_000, overwrite=True)
    check(folder / "data" / "b.npy", values)
    assert names(folder / "data") == {"b.npy"}


def check_old_or_complete(path: Path, values: np.ndarray) -> bool:
    """Return whether it is the old file; otherwise it must be the result."""
    if path.stat().st_size == 3:
        assert path.read_text() == "old"
        return True
    check(path, values)
    return False


def kill_often(folder: Path, sent: signal.Signals, times: int) -> None:
    dice = random.Random(sent)
    old = 0
    with prepared(folder) as values:
        target = folder / "data" / "b.npy"
        for _ in range(times):
            process = start(folder, 1)
            wait_until_begun(process, folder, 1, dice.random() ** 2 * 0.5)
            process.send_signal(sent)
            ended = process.wait(20)
            (folder / "process.0").unlink()
            if check_old_or_complete(target, values):
                old += 1
            else:
                target.write_text("old")
            if sent == signal.SIGINT or ended == 0:
                assert names(target.parent) == {"b.npy"}
    assert old >= times // 3, "it was hardly ever killed in time"


@pytest.mark.parametrize(
    "sent", [signal.SIGKILL, *(pytest.param(sent, marks=pytest.mark.slow) for sent in (signal.SIGINT, signal.SIGTERM))]
)
def test_a_transform_that_is_killed_at_any_moment_leaves_the_old_file_or_the_result(
    tmp_path: Path, sent: signal.Signals
) -> None:
    kill_often(tmp_path, sent, 5)


@pytest.mark.exhaustive
@pytest.mark.timeout(300)
def test_a_transform_that_is_killed_often_leaves_the_old_file_or_the_result(tmp_path: Path) -> None:
    kill_often(tmp_path, signal.SIGKILL, 60)


@pytest.mark.parametrize(
    ("ranks", "victim"), [(2, 1), *(pytest.param(*one, marks=pytest.mark.slow) for one in ((2, 0), (3, 2), (4, 0)))]
)
def test_a_rank_that_is_killed_at_any_moment_leaves_the_old_file_or_the_result(
    tmp_path: Path, ranks: int, victim: int
) -> None:
    needs_mpi()
    dice = random.Random(ranks)
    old = 0
    with prepared(tmp_path) as values:
        target = tmp_path / "data" / "b.npy"
        for _ in range(3):
            process = start(tmp_path, ranks)
            try:
                wait_until_begun(process, tmp_path, ranks, dice.random() * 0.6)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int((tmp_path / f"process.{victim}").read_text()), signal.SIGKILL)
                process.wait(30)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # ranks that the launcher left behind
            for rank in range(ranks):
                (tmp_path / f"process.{rank}").unlink()
            wait_until_unlocked(target.parent / ".b.npy.swath-fft.lock")
            if check_old_or_complete(target, values):
                old += 1
            else:
                target.write_text("old")
    assert old >= 1, "it was never killed in time"


def wait_until_unlocked(lock: Path) -> None:
    """A killed process keeps its lock until it is gone."""
    if lock.exists():
        with open(lock, "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)


def test_a_later_transform_removes_what_a_killed_one_of_more_passes_left(tmp_path: Path) -> None:
    values = source(tmp_path)
    for name in (".b.npy.swath-fft", ".b.npy.swath-fft.between0", ".b.npy.swath-fft.between7", ".b.npy.swath-fft.lock"):
        (tmp_path / name).write_bytes(b"left")
    (tmp_path / ".c.npy.swath-fft").write_bytes(b"of another target")
    swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", memory=20_000)
    check(tmp_path / "b.npy", values)
    assert names(tmp_path) == {"a.npy", "b.npy", ".c.npy.swath-fft"}


# ---- Somebody else ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [".b.npy.swath-fft", ".b.npy.swath-fft.between0", ".b.npy.swath-fft.lock"])
@pytest.mark.parametrize("kind", ["link", "pipe", "second name"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_what_others_planted_under_the_names_between_is_refused_and_not_followed(
    tmp_path: Path, name: str, kind: str, ranks: int
) -> None:
    source(tmp_path)
    (tmp_path / "victim").write_text("precious")
    if kind == "link":
        (tmp_path / name).symlink_to(tmp_path / "victim")
    elif kind == "pipe":
        os.mkfifo(tmp_path / name)
    else:
        os.link(tmp_path / "victim", tmp_path / name)
    before = names(tmp_path)
    with pytest.raises(swath.StoreError, match=name.replace(".", r"\.")):
        run_ranks(ranks, lambda comm: swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", memory=20_000, comm=comm))
    assert (tmp_path / "victim").read_text() == "precious"
    assert before - {name} <= names(tmp_path) <= before | {".b.npy.swath-fft.lock"}
    assert not (tmp_path / "b.npy").exists()


def test_files_between_are_for_their_owner_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from swath.fft.panels import Opened

    source(tmp_path)
    modes: dict[str, int] = {}
    original = Opened.write

    def looking(self: Opened, *arguments: Any) -> None:
        for path in tmp_path.glob(".b.npy.swath-fft.between*"):
            modes[path.name] = path.stat().st_mode & 0o777
        original(self, *arguments)

    monkeypatch.setattr(Opened, "write", looking)
    swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", memory=20_000)
    assert modes
    assert set(modes.values()) == {0o600}


def test_of_two_transforms_to_one_target_the_second_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from swath.fft.panels import Opened

    values = source(tmp_path)
    begun, go_on = threading.Event(), threading.Event()
    original = Opened.read

    def waiting(self: Opened, *arguments: Any) -> None:
        begun.set()
        assert go_on.wait(30)
        original(self, *arguments)

    monkeypatch.setattr(Opened, "read", waiting)
    told: list[BaseException | None] = []

    def first() -> None:
        try:
            swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", memory=20_000)
            told.append(None)
        except BaseException as error:  # noqa: BLE001
            told.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    assert begun.wait(30)
    try:
        for ranks in (1, 2):
            with pytest.raises(swath.ExistsError, match="another transform to it is under way"):
                run_ranks(
                    ranks,
                    lambda comm: swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", overwrite=True, comm=comm),
                )
    finally:
        go_on.set()
        thread.join()
    assert told == [None]
    check(tmp_path / "b.npy", values)
    assert names(tmp_path) == {"a.npy", "b.npy"}


def test_a_target_that_somebody_reads_is_the_old_file_to_them(tmp_path: Path) -> None:
    values = source(tmp_path)
    np.save(tmp_path / "b.npy", np.arange(12.0))
    with swath.open(tmp_path / "b.npy") as old:
        swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", memory=20_000, overwrite=True)
        np.testing.assert_array_equal(old[...], np.arange(12.0))
    check(tmp_path / "b.npy", values)


def test_a_source_that_is_open_may_be_replaced(tmp_path: Path) -> None:
    values = source(tmp_path)
    with swath.open(tmp_path / "a.npy") as a:
        swath.fftn(a, tmp_path / "a.npy", memory=20_000, overwrite=True)
        np.testing.assert_array_equal(a[...], values)
    check(tmp_path / "a.npy", values)


# ---- The disk --------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    mounted = subprocess.run([mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr!r}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_disk_without_room_is_found_before_anything_is_read(tmp_path: Path, small_disk: Path, ranks: int) -> None:
    source(tmp_path, (300, 200))  # 480 KB; the result and the file between are 960 KB each
    with pytest.raises(swath.StoreError, match="free") as refused:
        run_ranks(ranks, lambda comm: swath.fftn(tmp_path / "a.npy", small_disk / "b.npy", memory=100_000, comm=comm))
    assert refused.value.errno == errno.ENOSPC
    assert names(small_disk) == set()


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("target", ["b.npy", "b.zarr", "b.h5"])
def test_a_disk_that_becomes_full_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, small_disk: Path, ranks: int, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from swath.fft import job

    source(tmp_path, (300, 200))
    monkeypatch.setattr(job, "check_room", lambda *arguments: None)
    how: dict[str, Any] = {"chunks": (50, 50), "codecs": []} if target != "b.npy" else {}
    if target == "b.h5":
        how["target_variable"] = "x"
    memory = 1_000_000 if target == "b.zarr" else 200_000
    (small_disk / "rest").write_bytes(bytes(300_000))
    with pytest.raises(swath.StoreError, match="No space left"):
        run_ranks(
            ranks,
            lambda comm: swath.fftn(tmp_path / "a.npy", small_disk / target, memory=memory, comm=comm, **how),
        )
    assert names(small_disk) == {"rest"}


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("at", ["read", "write", "sync"])
def test_a_fault_anywhere_is_everybodys_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: int, at: str
) -> None:
    from swath.fft.panels import Opened

    values = source(tmp_path)
    original = getattr(Opened, at)
    for place in range(0, 1 if at == "sync" else 12, 3):
        calls = itertools.count()

        def failing(self: Opened, *arguments: Any, calls: Any = calls, place: int = place) -> Any:
            if next(calls) == place:
                raise swath.StoreError("the disk is gone", errno.EIO)
            return original(self, *arguments)

        monkeypatch.setattr(Opened, at, failing)
        told: list[str] = []

        def work(comm: Any, told: list[str] = told) -> None:
            try:
                swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", memory=20_000, comm=comm)
            except swath.StoreError as error:
                told.append(str(error))
                raise

        with pytest.raises(swath.StoreError, match="the disk is gone"):
            run_ranks(ranks, work)
        assert len(told) == ranks
        assert len(set(told)) == 1
        assert names(tmp_path) == {"a.npy"}
        assert not [one for one in threading.enumerate() if one.name.startswith("swath-fft")]
    monkeypatch.undo()
    swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", memory=20_000)
    check(tmp_path / "b.npy", values)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_source_that_is_shorter_than_it_says_is_an_error_of_all(tmp_path: Path, ranks: int) -> None:
    source(tmp_path)
    os.truncate(tmp_path / "a.npy", 12_000)
    with pytest.raises(swath.Error, match=r"a\.npy"):
        run_ranks(ranks, lambda comm: swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", memory=20_000, comm=comm))
    assert names(tmp_path) == {"a.npy"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read")
def test_a_source_that_may_not_be_read_is_an_error_in_words(tmp_path: Path) -> None:
    source(tmp_path)
    (tmp_path / "a.npy").chmod(0)
    (tmp_path / "b").mkdir(mode=0o777)
    # Loaded before: Python itself may lie in a folder of the superuser.
    program = "import os, scipy.fft\nfrom swath import fftn\nos.setuid(65534)\n"
    program += f"fftn({str(tmp_path / 'a.npy')!r}, 'b.npy')"
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o005)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert "a.npy" in ended.stderr.splitlines()[-1]
    assert "Permission denied" in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize("missing", ["a source", "a folder"])
def test_what_is_not_there_is_an_error_of_all(tmp_path: Path, missing: str) -> None:
    target = tmp_path / "b.npy"
    if missing == "a folder":
        source(tmp_path)
        target = tmp_path / "none" / "b.npy"
    before = names(tmp_path)
    for ranks in (1, 2):
        with pytest.raises(swath.Error, match="none" if missing == "a folder" else "a.npy"):
            run_ranks(ranks, lambda comm: swath.fftn(tmp_path / "a.npy", target, comm=comm))
    assert names(tmp_path) == before

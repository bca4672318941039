"""Whatever ends a replay, a signal, a kill of any of its processes, or a full disk: nothing is left of it."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import swath
from mpi_runs import needs_mpi
from replay_cases import SWATH, WAIT_SECONDS_MAX, Call, call, left_over, run_of, write_log
from swath import _core
from swath.calibration.modelled import profile_of_disk
from swath.replay import replaying, scratch
from swath.simulated import run_ranks

DISK = "disk:p690-scsi"
FOR_EVER = """
import sys
from swath.commands import cli
from swath.replay.modelled import ModelledFiles

carry_out = ModelledFiles.carry_out

def for_ever(files, action):
    carry_out(files, action)
    print("running", flush=True)
    while True:
        carry_out(files, action)

ModelledFiles.carry_out = for_ever
sys.exit(cli.main(sys.argv[1:]))
"""


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    until = time.monotonic() + WAIT_SECONDS_MAX
    while not is_so():
        assert time.monotonic() < until
        assert process is None or process.poll() is None
        time.sleep(0.05)


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes_below(process: int) -> dict[int, str]:
    """Return the commands of the processes that a process has started, and of those that these have started."""
    found: dict[int, str] = {}
    listed = subprocess.run(["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    above = {process}
    while below := {int(pid): args for pid, parent, args in rows if int(parent) in above}:
        found |= below
        above = set(below)
    return found


def waiting_log(folder: Path, ranks: int = 2) -> str:
    """Return a log whose ranks write, and then compute for a long time."""
    calls = [[Call("pwrite", "/d/a", 0.0, 1 << 16, rank << 16), Call("pwrite", "/d/a", 3600.0, 10, rank * 10)]
             for rank in range(ranks)]  # fmt: skip
    return write_log(folder, calls)


def started(log: str, store: Path, *options: str) -> subprocess.Popen[str]:
    """Start a replay of two ranks, and wait until they have written."""
    process = subprocess.Popen(
        [*SWATH, "replay", log, "--store", str(store), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: any(path.stat().st_blocks >= 256 for path in store.glob(f"{scratch.PREFIX}*/0-a")), process)
    return process


@pytest.fixture
def store(tmp_path: Path) -> Path:
    made = tmp_path / "store"
    made.mkdir()
    return made


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Make a file system of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    mounted = subprocess.run([mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr!r}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_replay_that_is_ended(tmp_path: Path, store: Path, sign: signal.Signals) -> None:
    process = started(waiting_log(tmp_path), store)
    below = processes_below(process.pid)
    assert sum("swath.replay.rank" in command for command in below.values()) == 2
    process.send_signal(sign)
    process.communicate(timeout=WAIT_SECONDS_MAX)
    assert process.returncode in (130, -sign)
    wait_until(lambda: left_over(store) == [])
    wait_until(lambda: not any(map(is_running, below)))


@pytest.mark.parametrize("killed", ["swath.replay.rank", "mpiexec", "hydra_pmi_proxy"])
def test_a_killed_process_ends_the_replay(tmp_path: Path, store: Path, killed: str) -> None:
    options = []
    if killed != "swath.replay.rank":
        needs_mpi()
        options = ["--with", "collective"]
    process = started(waiting_log(tmp_path), store, *options)
    below = processes_below(process.pid)
    found = [number for number, command in below.items() if killed in command]
    if not found:
        pytest.skip(f"this mpiexec has no process {killed}")
    os.kill(found[0], signal.SIGKILL)
    _, said = process.communicate(timeout=WAIT_SECONDS_MAX)
    assert process.returncode == 2
    assert "a rank did not end well (a process ended " in said
    assert "nothing is left" in said
    assert left_over(store) == []
    wait_until(lambda: not any(map(is_running, below)))


def test_a_replay_whose_cleaner_was_killed_cleans_up_itself(tmp_path: Path, store: Path) -> None:
    process = started(waiting_log(tmp_path), store)
    below = processes_below(process.pid)
    (cleaner,) = [number for number, command in below.items() if "cleaner.py" in command]
    os.kill(cleaner, signal.SIGKILL)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=WAIT_SECONDS_MAX)
    assert process.returncode == 130
    assert left_over(store) == []
    wait_until(lambda: not any(map(is_running, below)))


def test_the_folder_of_a_replay_that_was_killed_with_its_cleaner_is_removed_by_the_next_one(tmp_path: Path) -> None:
    old = tmp_path / f"{scratch.PREFIX}old"
    old.mkdir()
    (old / scratch.LOCK).touch()
    (old / "0-a").write_bytes(b"left")
    with scratch.scratch_folder(str(tmp_path)) as running:
        assert not old.exists()
        scratch.remove_left_over(str(tmp_path))
        assert os.path.exists(running.folder)
    assert left_over(tmp_path) == []


@pytest.mark.parametrize(
    ("ranks", "sign"), [(1, signal.SIGINT), (3, signal.SIGINT), (3, signal.SIGTERM), (3, signal.SIGKILL)]
)
def test_nothing_is_left_of_a_replay_on_a_modelled_disk(
    tmp_path: Path, store: Path, sign: signal.Signals, ranks: int
) -> None:
    words = ["replay", waiting_log(tmp_path, ranks), "--store", DISK]
    process = subprocess.Popen(
        [sys.executable, "-c", FOR_EVER, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(store)},
        text=True,
    )
    assert process.stdout is not None
    while "running" not in process.stdout.readline():
        assert process.poll() is None
    assert len(left_over(store)) == 1
    process.send_signal(sign)
    process.communicate(timeout=WAIT_SECONDS_MAX)
    assert process.returncode in (130, -sign)
    wait_until(lambda: os.listdir(store) == [])


@pytest.mark.parametrize("waiting", [False, True])
def test_an_interrupt_ends_simulated_ranks(waiting: bool) -> None:
    def work(comm: Any) -> None:
        for step in range(1 << 62):
            if step == 5 and comm.rank == 0:
                os.kill(os.getpid(), signal.SIGINT)
            if comm.rank == 2 and waiting:
                comm.barrier()
            _core.clock_sleep_until(float(step))

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        run_ranks(3, work)
    wait_until(lambda: threading.active_count() == before)


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_file_that_may_not_grow_is_an_error_and_nothing_is_left(tmp_path: Path, when: str) -> None:
    name = "pread" if when == "before" else "pwrite"
    log = write_log(tmp_path, [[Call(name, "/d/a", 0.0, 100, 0), Call(name, "/d/a", 0.1, 1 << 22, 100)]])

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    ended = subprocess.run(
        [*SWATH, "replay", log, "--store", str(tmp_path)], capture_output=True, text=True, preexec_fn=limit, check=False
    )
    assert ended.returncode == 2
    assert "File too large" in ended.stderr
    assert "/d/a" in ended.stderr
    assert "--store" in ended.stderr
    assert left_over(tmp_path) == []


def test_a_disk_that_becomes_full_is_an_error_and_nothing_is_left(small_disk: Path) -> None:
    appending = replace(call("open"), flags=os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    writes = [call("write", 0, 200_000) for _ in range(10)]  # each is appended, whatever its offset
    traced = replace(run_of([appending, *writes]), files=run_of().files[1:])
    with pytest.raises(swath.StoreError, match="No space left on device") as raised:
        replaying.run(traced, str(small_disk), gaps=False)
    assert "rank 0: write" in str(raised.value)
    assert "wanted 200,000 bytes" in str(raised.value)
    assert "Nothing is left of the replay; give it another folder by --store" in str(raised.value)
    assert left_over(small_disk) == []


def test_a_full_folder_for_temporary_files_ends_a_replay_on_a_modelled_disk(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile_of_disk("model:p690-scsi")  # measured before the disk is small
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    ranks = [[call("write", (2 * n + rank) * 100_000, 100_000) for n in range(20)] for rank in range(2)]
    traced = run_of(*ranks)
    traced = replace(traced, files=(replace(traced.files[0], end_bytes=4_000_000, initial_bytes=0),))
    with pytest.raises(swath.StoreError, match="No space left on device") as raised:
        replaying.run(traced, DISK, gaps=False)
    assert "Nothing is left of the replay" in str(raised.value)
    assert os.listdir(small_disk) == []

"""Copies that are killed, fail or find their source changed: no half result, nothing lost, and they can go on."""

from __future__ import annotations

import errno
import fcntl
import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from copy_program import force_two_passes
from mpi_runs import HERE, run_well
from swath.array import opening
from swath.copying import pipeline, plan, store
from swath.copying.journal import Journal, Position

JOURNAL = ".b.npy.swath-copy.journal"
OPTIONS: dict[str, Any] = {"axes": (1, 0), "dtype": ">f4", "memory": 60_000, "checkpoint_bytes": 40_000}


def source_of(folder: Path, shape: tuple[int, int] = (400, 300)) -> np.ndarray:
    values = np.random.default_rng(3).random(shape)
    np.save(folder / "a.npy", values)
    return values


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def start(folder: Path, target: str = "b.npy", **options: Any) -> subprocess.Popen[bytes]:
    """A copy of a.npy in a process of its own."""
    command = [sys.executable, str(HERE / "copy_program.py"), "run"]
    command += [str(folder / "a.npy"), str(folder / target), json.dumps(options)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
    return subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)


def wait_for_journal(journal: Path, process: subprocess.Popen[bytes]) -> None:
    """Until the copy has made its files."""
    while process.poll() is None and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.001)


def kill_at_random_moments(folder: Path, moments: int, **options: Any) -> int:
    """Kills so many copies, and goes on with each; how many of them had something to go on with."""
    values = source_of(folder, (700, 600))
    expected = values.T.astype(">f4")
    began = time.monotonic()
    process = start(folder, **options)
    wait_for_journal(folder / JOURNAL, process)
    writes_from = time.monotonic()
    assert process.wait(100) == 0
    whole = (time.monotonic() - writes_from) * 1.1
    assert time.monotonic() - began < 60
    reference = (folder / "b.npy").read_bytes()
    dice = random.Random(moments)
    went_on = 0
    for _ in range(moments):
        (folder / "b.npy").unlink()
        process = start(folder, **options)
        wait_for_journal(folder / JOURNAL, process)
        time.sleep(dice.random() * whole)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        if (folder / "b.npy").exists():  # it was complete already
            assert (folder / "b.npy").read_bytes() == reference
            (folder / "b.npy").unlink()
        copied = swath.copy(folder / "a.npy", folder / "b.npy", resume=True, **options)
        went_on += copied.resumed_bytes > 0
        assert (folder / "b.npy").read_bytes() == reference
        assert names(folder) == {"a.npy", "b.npy"}
    np.testing.assert_array_equal(np.load(folder / "b.npy"), expected)
    return went_on


def test_copies_killed_at_random_moments_leave_no_half_result_and_go_on(tmp_path: Path) -> None:
    kill_at_random_moments(tmp_path, 3, **OPTIONS)


@pytest.mark.slow
@pytest.mark.timeout(1000)
def test_fifty_copies_killed_at_random_moments_go_on(tmp_path: Path) -> None:
    assert kill_at_random_moments(tmp_path, 50, **OPTIONS) > 10


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("moments", [3, pytest.param(50, marks=[pytest.mark.slow, pytest.mark.timeout(1000)])])
def test_copies_into_a_zarr_store_that_are_killed_leave_no_half_result_and_go_on(tmp_path: Path, moments: int) -> None:
    """Chunks are files of their own: none is left half written, or under a hidden name."""
    source_of(tmp_path, (600, 400))
    options: dict[str, Any] = {"chunks": (13, 17), "memory": 200_000, "checkpoint_bytes": 40_000}
    target = tmp_path / "b.zarr"
    journal = tmp_path / ".b.zarr.swath-copy.journal"
    process = start(tmp_path, "b.zarr", **options)
    wait_for_journal(journal, process)
    writes_from = time.monotonic()
    assert process.wait(100) == 0
    whole = time.monotonic() - writes_from
    reference = contents(target)
    dice = random.Random(moments)
    went_on = 0
    for _ in range(moments):
        shutil.rmtree(target)
        process = start(tmp_path, "b.zarr", **options)
        wait_for_journal(journal, process)
        time.sleep(dice.random() * whole)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        if target.exists():  # it was complete already
            assert contents(target) == reference
            shutil.rmtree(target)
        copied = swath.copy(tmp_path / "a.npy", target, resume=True, **options)
        went_on += copied.resumed_bytes > 0
        assert contents(target) == reference
        assert names(tmp_path) == {"a.npy", "b.zarr"}
    assert moments < 10 or went_on > 10


@pytest.mark.slow
@pytest.mark.timeout(1000)
def test_copies_in_two_passes_killed_at_random_moments_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SHORT_SECONDS", "SECOND_PASS_PAYS", "_floor"):
        monkeypatch.setattr(plan, name, getattr(plan, name))
    force_two_passes()
    values = source_of(tmp_path, (700, 600))
    options = {**OPTIONS, "memory": 200_000}
    dice = random.Random(7)
    went_on = 0
    for _ in range(20):
        process = start(tmp_path, **options, passes=2)
        wait_for_journal(tmp_path / JOURNAL, process)
        time.sleep(dice.random() * 0.5)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        copied = swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=True, overwrite=True, **options)
        assert len(copied.plan.passes) == 2
        went_on += copied.resumed_bytes > 0
        np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))
        assert names(tmp_path) == {"a.npy", "b.npy"}
        (tmp_path / "b.npy").unlink()
    assert went_on > 3


def writes_of(folder: Path) -> int:
    """How many a whole copy makes."""
    how = {key: value for key, value in OPTIONS.items() if key != "checkpoint_bytes"}
    return swath.explain_copy(folder / "a.npy", folder / "b.npy", **how).plan.passes[0].write_requests


def interrupted(folder: Path, **options: Any) -> str:
    """A copy that finds the disk full after half of its writes and some checkpoints; what it said."""
    writes = writes_of(folder)
    with pytest.raises(swath.StoreError) as raised:
        swath.copy(folder / "a.npy", folder / "b.npy", engine=f"fault:write@{writes // 2}=ENOSPC", **OPTIONS, **options)
    assert raised.value.errno == errno.ENOSPC
    return str(raised.value)


def test_a_full_disk_leaves_the_old_file_and_the_copy_goes_on(tmp_path: Path) -> None:
    values = source_of(tmp_path)
    (tmp_path / "b.npy").write_text("precious")
    told = interrupted(tmp_path, overwrite=True)
    assert "No space left on device" in told
    assert "--resume" in told
    assert (tmp_path / "b.npy").read_text() == "precious"
    copied = swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", overwrite=True, resume=True, **OPTIONS)
    assert 0 < copied.resumed_bytes < copied.bytes
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))
    assert names(tmp_path) == {"a.npy", "b.npy"}


def test_what_an_interrupted_copy_has_done_is_not_thrown_away_unasked(tmp_path: Path) -> None:
    values = source_of(tmp_path)
    interrupted(tmp_path)
    with pytest.raises(swath.ExistsError, match=r"was interrupted .*--resume.*--restart"):
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", **OPTIONS)
    copied = swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=False, **OPTIONS)
    assert copied.resumed_bytes == 0
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))


def test_only_the_same_copy_of_the_same_source_goes_on(tmp_path: Path) -> None:
    source_of(tmp_path)
    interrupted(tmp_path)

    def goes_on(**options: Any) -> None:
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", **{**OPTIONS, "resume": True, **options})

    with pytest.raises(swath.ArgumentError, match=r"dtype was >f4, is float32.*--restart"):
        goes_on(dtype="<f4")
    with pytest.raises(swath.ArgumentError, match=r"more memory: .* are allowed"):
        goes_on(memory=10_000)
    os.utime(tmp_path / "a.npy")
    with pytest.raises(swath.StoreError, match=r"a\.npy has changed since .*--restart"):
        goes_on()
    assert ".b.npy.swath-copy" in names(tmp_path)
    goes_on(resume=False)
    assert names(tmp_path) == {"a.npy", "b.npy"}


@pytest.mark.parametrize(
    ("elsewhere", "told"),
    [
        ({"offset": 400 * 300 * 8}, "source offset was 0, is 960000"),
        ({"order": "F"}, r"source strides was \[2400, 8\], is \[8, 3200\]"),
    ],
)
def test_a_copy_of_one_array_of_a_raw_file_does_not_go_on_with_another(
    tmp_path: Path, elsewhere: dict[str, Any], told: str
) -> None:
    both = np.random.default_rng(5).random((2, 400, 300))
    both.tofile(tmp_path / "a.raw")
    options: dict[str, Any] = {"axes": (1, 0), "memory": 60_000, "checkpoint_bytes": 40_000}
    place: dict[str, Any] = {"shape": (400, 300), "dtype": "f8"}
    with swath.open(tmp_path / "a.raw", **place) as first:
        how = {key: value for key, value in options.items() if key != "checkpoint_bytes"}
        writes = swath.explain_copy(first, tmp_path / "b.npy", **how).plan.passes[0].write_requests
        with pytest.raises(swath.StoreError, match="No space left"):
            swath.copy(first, tmp_path / "b.npy", engine=f"fault:write@{writes // 2}=ENOSPC", **options)
        with (
            swath.open(tmp_path / "a.raw", **place, **elsewhere) as other,
            pytest.raises(swath.ArgumentError, match=f"was another one: {told}.*--restart"),
        ):
            swath.copy(other, tmp_path / "b.npy", resume=True, **options)
        assert swath.copy(first, tmp_path / "b.npy", resume=True, **options).resumed_bytes > 0
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), both[0].T)


def test_a_copy_goes_on_with_another_number_of_ranks(tmp_path: Path) -> None:
    from swath.simulated import run_ranks

    values = source_of(tmp_path)
    interrupted(tmp_path)
    more = {**OPTIONS, "memory": 3 * OPTIONS["memory"], "resume": True, "workers": 3}  # of all ranks together
    copied = run_ranks(3, lambda comm: swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", comm=comm, **more))
    assert all(0 < c.resumed_bytes < c.bytes for c in copied)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))


def test_a_torn_line_of_the_journal_does_not_count(tmp_path: Path) -> None:
    values = source_of(tmp_path)
    interrupted(tmp_path)
    with (tmp_path / ".b.npy.swath-copy.journal").open("ab") as journal:
        journal.write(b'{"part": 0, "pass": 0, "tiles": 99')
    swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=True, **OPTIONS)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))


def cut_journal(folder: Path, length: int, whole: bytes) -> None:
    """Everything as if the process had been killed when so many bytes of the journal were written."""
    for path in folder.iterdir():
        if path.name != "a.npy":
            path.unlink()
    for path in (folder.parent / "kept").iterdir():
        shutil.copy2(path, folder / path.name)
    (folder / JOURNAL).write_bytes(whole[:length])


def test_a_journal_cut_at_any_byte_loses_no_whole_line_and_takes_new_ones(tmp_path: Path) -> None:
    target = str(tmp_path / "b.npy")
    journal = Journal.opened(target)
    journal.start({"asked": {"source": "a.npy"}})
    for tiles in (9, 10, 11):
        journal.enter((0, 0, tiles))
    journal.close()
    whole = (tmp_path / JOURNAL).read_bytes()
    for length in range(len(whole) + 1):
        (tmp_path / JOURNAL).write_bytes(whole[:length])
        journal = Journal.opened(target)
        lines = whole[:length].count(b"\n")
        assert (journal.header is None) == (lines == 0)
        assert journal.done == ((0, 0, 7 + lines) if lines > 1 else (0, 0, 0))
        if lines:
            journal.enter((0, 0, 12))
        else:
            journal.start({"asked": {"source": "a.npy"}})
        journal.close()
        journal = Journal.opened(target)
        assert journal.header == json.loads(whole.splitlines()[0])
        assert journal.done == ((0, 0, 12) if lines else (0, 0, 0))
        journal.close()


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def test_a_copy_killed_at_any_byte_of_its_journal_goes_on_and_goes_on_again(tmp_path: Path, step: int) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    values = source_of(folder)
    interrupted(folder)
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in names(folder) - {"a.npy"}:
        shutil.copy2(folder / name, kept / name)
    whole = (kept / JOURNAL).read_bytes()
    header = whole.index(b"\n") + 1
    assert whole.count(b"\n") > 3
    again = f"fault:write@{writes_of(folder) // 4}=EIO"
    # Of the header, which is long, some bytes; of the lines behind it every byte.
    for length in [0, 1, header - 2, header - 1, *range(header, len(whole), step), len(whole)]:
        cut_journal(folder, length, whole)
        checkpoints = max(whole[:length].count(b"\n") - 1, 0)
        if checkpoints:  # it goes on, and is interrupted again: its new lines do not follow the torn one
            with pytest.raises(swath.StoreError, match="Input/output error"):
                swath.copy(folder / "a.npy", folder / "b.npy", engine=again, **OPTIONS, resume=True)
            lines = [json.loads(line) for line in (folder / JOURNAL).read_bytes().splitlines()]
            assert len(lines) > checkpoints + 1
        how = {**OPTIONS, "checkpoint_bytes": 1 << 30, "resume": length % 2 == 0}
        copied = swath.copy(folder / "a.npy", folder / "b.npy", **how)
        assert (copied.resumed_bytes > 0) == (checkpoints > 0 and length % 2 == 0)
        np.testing.assert_array_equal(np.load(folder / "b.npy"), values.T.astype(">f4"))
        assert names(folder) == {"a.npy", "b.npy"}


def test_half_a_line_that_a_full_disk_leaves_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal.opened(str(tmp_path / "b.npy"))
    journal.start({"asked": {}})
    before = (tmp_path / JOURNAL).read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, text: write(descriptor, text[:7]))
    with pytest.raises(swath.StoreError, match=r"cannot write the journal .*No space left"):
        journal.enter((0, 0, 1))
    assert (tmp_path / JOURNAL).read_bytes() == before
    journal.remove(str(tmp_path / "b.npy"))


@pytest.mark.parametrize("text", ["not json\n", '{"swath": 99}\n', '{"swath": 1}\n{"pass": -1, "tiles": 3}\n'])
def test_a_damaged_journal_is_said_to_be_and_no_hindrance_to_begin_anew(tmp_path: Path, text: str) -> None:
    values = source_of(tmp_path)
    (tmp_path / JOURNAL).write_text(text)
    for resume in (None, True):
        with pytest.raises(swath.FormatError, match=r"line \d is none of this Swath's.*--restart"):
            swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=resume)
    swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=False, **OPTIONS)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))
    assert names(tmp_path) == {"a.npy", "b.npy"}


def test_a_journal_never_tells_of_files_that_were_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed just when it began anew: what is there is a file of holes, and must not be taken for the one before."""
    values = source_of(tmp_path)
    interrupted(tmp_path)
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(Journal, "start", lambda *_: os._exit(7))
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=False, **OPTIONS)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert (tmp_path / ".b.npy.swath-copy").exists()
    copied = swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=True, **OPTIONS)
    assert copied.resumed_bytes == 0
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))


def test_two_copies_to_one_target_do_not_meet(tmp_path: Path) -> None:
    source_of(tmp_path)
    other = Journal.opened(str(tmp_path / "b.npy"))
    who = rf"process {os.getpid()} \(" if Path("/proc/locks").exists() else "another process"
    for resume in (None, True, False):
        with pytest.raises(swath.ExistsError, match=rf"another copy to it is under way: {who}.* holds .*journal"):
            swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=resume, **OPTIONS)
    other.close()
    swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", **OPTIONS)
    assert names(tmp_path) == {"a.npy", "b.npy"}


def test_a_child_that_was_forked_during_a_copy_does_not_go_on_holding_its_lock(tmp_path: Path) -> None:
    journal = Journal.opened(str(tmp_path / "b.npy"))
    ends, tells = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(tells)
        os.read(ends, 1)
        os._exit(0)
    journal.close()
    Journal.opened(str(tmp_path / "b.npy")).close()
    os.close(tells)
    os.close(ends)
    assert os.waitpid(child, 0)[1] == 0


def test_a_lock_of_a_journal_that_was_removed_keeps_nobody_out_and_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last copy is complete, and removes its journal, between our opening it and our locking it."""
    target = str(tmp_path / "b.npy")
    before = Journal.opened(target)
    flock = fcntl.flock
    flocks = []

    def removed_just_then(descriptor: int, how: int) -> None:
        if not flocks:
            before.remove(target)
        flocks.append(descriptor)
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", removed_just_then)
    ours = Journal.opened(target)
    assert len(flocks) == 2
    with pytest.raises(swath.ExistsError, match="under way"):
        Journal.opened(target)
    ours.remove(target)
    assert names(tmp_path) == set()


def test_a_copy_whose_journal_was_removed_puts_nothing_in_place_and_removes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source_of(tmp_path)
    others = []
    enter = Journal.enter

    def removed_by_hand(self: Journal, done: Position) -> None:
        enter(self, done)
        if not others:
            (tmp_path / JOURNAL).unlink()
            (tmp_path / ".b.npy.swath-copy").rename(tmp_path / "gone")
            others.append(Journal.opened(str(tmp_path / "b.npy")))
            (tmp_path / ".b.npy.swath-copy").write_text("theirs")

    monkeypatch.setattr(Journal, "enter", removed_by_hand)
    with pytest.raises(swath.StoreError, match="was removed while the copy was under way"):
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", **OPTIONS)
    assert names(tmp_path) == {"a.npy", "gone", ".b.npy.swath-copy", JOURNAL}
    assert (tmp_path / ".b.npy.swath-copy").read_text() == "theirs"
    others[0].close()


def test_a_target_that_appears_before_the_lock_is_taken_is_not_copied_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source_of(tmp_path)
    opened = Journal.opened

    def late(target: str, **options: Any) -> Journal:
        (tmp_path / "b.npy").write_text("complete")
        return opened(target, **options)

    monkeypatch.setattr(Journal, "opened", staticmethod(late))
    with pytest.raises(swath.ExistsError, match="overwrite=True"):
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", **OPTIONS)
    assert names(tmp_path) == {"a.npy", "b.npy"}
    assert (tmp_path / "b.npy").read_text() == "complete"


@pytest.mark.parametrize("seconds", [10, pytest.param(60, marks=[pytest.mark.slow, pytest.mark.timeout(300)])])
def test_six_processes_that_copy_to_one_target_make_whole_files_only(in_memory: Path, seconds: int) -> None:
    racing = [start_race(in_memory, number, seconds) for number in range(6)]
    counted = []
    for process in racing:
        out, _ = process.communicate(timeout=seconds + 60)
        assert process.returncode == 0
        counted.append(json.loads(out))
    print(counted)
    assert sum(c["wrong"] for c in counted) == 0
    assert [c["unexpected"] for c in counted] == [[]] * 6
    assert sum(c["complete"] for c in counted) > 6
    assert names(in_memory) == {"b.npy", *(f"{number}.npy" for number in range(6))}


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """A folder whose files cost no sync: many more copies meet there."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="swath-test-", dir=shared if shared.is_dir() else tmp_path) as folder:
        yield Path(folder)


def start_race(folder: Path, number: int, seconds: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(HERE / "copy_race_program.py"), str(folder), str(number), str(seconds)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE)


PLANTED = ("", ".scratch", ".journal")


@pytest.mark.parametrize("resume", [None, True, False])
@pytest.mark.parametrize("suffix", PLANTED)
@pytest.mark.parametrize("kind", ["link", "dangling link", "second name", "fifo"])
def test_what_others_have_put_beside_a_target_is_refused_and_not_touched(
    tmp_path: Path, kind: str, suffix: str, resume: bool | None
) -> None:
    source_of(tmp_path)
    precious = tmp_path / "precious"
    if kind != "dangling link":
        precious.write_text("precious\n")
    planted = tmp_path / f".b.npy.swath-copy{suffix}"
    if "link" in kind:
        planted.symlink_to(precious)
    elif kind == "second name":
        planted.hardlink_to(precious)
    else:
        os.mkfifo(planted)
    before = names(tmp_path)
    with pytest.raises(swath.StoreError, match=rf"{re.escape(str(planted))}: .*remove it, or choose another folder"):
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=resume, **OPTIONS)
    assert names(tmp_path) == before
    assert not precious.exists() or precious.read_text() == "precious\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give files away")
@pytest.mark.parametrize("suffix", PLANTED)
def test_a_file_of_another_user_beside_a_target_is_refused(tmp_path: Path, suffix: str) -> None:
    source_of(tmp_path)
    planted = tmp_path / f".b.npy.swath-copy{suffix}"
    planted.write_text("")
    os.chown(planted, 1234, -1)
    with pytest.raises(swath.StoreError, match=rf"{re.escape(str(planted))}: it belongs to the user with number 1234"):
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=True, **OPTIONS)
    assert names(tmp_path) == {"a.npy", planted.name}


def test_what_is_beside_a_target_is_for_its_user_only(tmp_path: Path) -> None:
    source_of(tmp_path)
    interrupted(tmp_path)
    assert (tmp_path / JOURNAL).stat().st_mode & 0o777 == 0o600


def test_a_link_planted_where_a_file_was_half_made_is_not_written_through(tmp_path: Path) -> None:
    """The journal is ours, the file that it tells of was removed, and a link has taken its name."""
    source_of(tmp_path)
    interrupted(tmp_path)
    working = tmp_path / ".b.npy.swath-copy"
    working.rename(tmp_path / "precious")
    before = (tmp_path / "precious").read_bytes()
    working.symlink_to(tmp_path / "precious")
    with pytest.raises(swath.StoreError, match="symbolic link"):
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=True, **OPTIONS)
    assert (tmp_path / "precious").read_bytes() == before


def test_a_copy_killed_between_giving_the_name_and_taking_the_hidden_one_away_goes_on(tmp_path: Path) -> None:
    values = source_of(tmp_path)
    interrupted(tmp_path)
    (tmp_path / "b.npy").hardlink_to(tmp_path / ".b.npy.swath-copy")
    swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=True, overwrite=True, **OPTIONS)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))
    assert names(tmp_path) == {"a.npy", "b.npy"}


@pytest.mark.parametrize("name", ["b.bin", "b.npy", "b.nc", "b.h5", "b.zarr"])
def test_no_format_writes_through_a_link_of_its_hidden_name(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the random name known, what is planted there would be refused, not followed."""
    known = functools.partial(opening.AtomicFile, working_path=str(tmp_path / f".{name}.swath-known"))
    monkeypatch.setattr(opening, "AtomicFile", known)
    precious = tmp_path / "precious"
    precious.mkdir() if name == "b.zarr" else precious.write_text("precious")
    (tmp_path / f".{name}.swath-known").symlink_to(precious)
    with pytest.raises(swath.ExistsError):
        swath.create(tmp_path / name, (4, 5), "<f8")
    assert list(precious.iterdir()) == [] if name == "b.zarr" else precious.read_text() == "precious"


@pytest.mark.parametrize("change", ["written", "shorter"])
def test_a_source_that_changes_under_way_is_an_error_and_nothing_is_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    source_of(tmp_path)
    (tmp_path / "b.npy").write_text("precious")
    read = pipeline.Tiles.read
    reads = []

    def reads_and_changes(self: Any, box: Any, buffer: Any) -> Any:
        reads.append(box)
        if len(reads) == 12:
            with (tmp_path / "a.npy").open("r+b") as file:
                if change == "shorter":
                    file.truncate(1000)
                else:
                    file.seek(500)
                    file.write(b"changed")
        return read(self, box, buffer)

    monkeypatch.setattr(pipeline.Tiles, "read", reads_and_changes)
    with pytest.raises(swath.StoreError, match=r"changed while it was copied|wanted \d+ bytes"):
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", overwrite=True, **OPTIONS)
    assert (tmp_path / "b.npy").read_text() == "precious"
    if change == "written":
        assert names(tmp_path) == {"a.npy", "b.npy"}
    else:  # reading failed first: what was copied before may be right, going on finds out that it is not
        with pytest.raises(swath.Error, match=r"has changed since|missing"):
            swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", overwrite=True, resume=True, **OPTIONS)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [("read@1=EIO", "Input/output error"), ("write@0=EIO", "Input/output error"), ("sync@0=EIO", "Input/output error")],
)
def test_an_error_before_the_first_checkpoint_leaves_nothing(tmp_path: Path, rule: str, reason: str) -> None:
    source_of(tmp_path)
    with pytest.raises(swath.StoreError, match=reason) as raised:
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", engine=f"fault:{rule}", **OPTIONS)
    assert str(raised.value).startswith(f"copy {tmp_path / 'a.npy'} to {tmp_path / 'b.npy'}: ")
    assert names(tmp_path) == {"a.npy"}


def test_short_and_interrupted_transfers_are_survived(tmp_path: Path) -> None:
    values = source_of(tmp_path)
    rules = "read@2=short,read@5=EINTR,write@1=short,write@7=EINTR"
    swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", engine=f"fault:{rules}", **OPTIONS)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))


def test_too_little_room_is_found_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source_of(tmp_path)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(store.shutil, "disk_usage", lambda folder: usage(10**12, 0, 1 << 20))
    with pytest.raises(swath.StoreError, match=r"needs 468\.8 KiB in .* where 1\.0 MiB are free; nothing was written"):
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", **OPTIONS)
    assert names(tmp_path) == {"a.npy"}


def test_a_target_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    source_of(tmp_path)
    with pytest.raises(swath.NotFoundError, match="there is no folder"):
        swath.copy(tmp_path / "a.npy", tmp_path / "nowhere" / "b.npy")
    with pytest.raises(swath.StoreError, match="is a directory"):
        swath.copy(tmp_path / "a.npy", tmp_path)
    with pytest.raises(swath.StoreError, match=r"copy to /proc/b\.npy: cannot write"):
        swath.copy(tmp_path / "a.npy", "/proc/b.npy")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder_is_an_error(tmp_path: Path) -> None:
    source_of(tmp_path)
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o500)
    with pytest.raises(swath.StoreError, match="Permission denied"):
        swath.copy(tmp_path / "a.npy", folder / "b.npy")


def test_a_file_system_that_cannot_reserve_room_is_no_hindrance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = source_of(tmp_path)
    shared = Path("/dev/shm")
    folder = shared / f"swath-test-{os.getpid()}" if shared.is_dir() else tmp_path / "other"
    folder.mkdir()
    monkeypatch.setattr(store.ctypes, "get_errno", lambda: errno.EOPNOTSUPP)
    monkeypatch.setattr(store.ctypes, "CDLL", _without_fallocate(store.ctypes.CDLL))
    try:
        swath.copy(tmp_path / "a.npy", folder / "b.npy", **OPTIONS)
        np.testing.assert_array_equal(np.load(folder / "b.npy"), values.T.astype(">f4"))
    finally:
        shutil.rmtree(folder)


def _without_fallocate(load: Any) -> Any:
    class Library:
        def __init__(self, *arguments: Any, **options: Any) -> None:
            self.sync_file_range = load(*arguments, **options).sync_file_range

        def fallocate(self, *_: Any) -> int:
            return -1

    return Library


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_of_mpi_make_the_same_bytes(ranks: int) -> None:
    assert "the same bytes" in run_well(ranks, "copy_ranks.py")

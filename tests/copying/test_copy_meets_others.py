"""A copy and other copies, other users, and links that other users create."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from copy_faults_cases import JOURNAL, OPTIONS, interrupted, names, source_of
from swath.array import opening
from swath.copying.journal import Journal, Position
from tree import HELPERS


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


def test_a_lock_of_a_journal_that_was_removed_keeps_nobody_out_and_is_not_taken(tmp_path: Path) -> None:
    """One copy completes and removes its journal, after others have opened it and before they lock it."""
    target = str(tmp_path / "b.npy")
    at_work: list[int] = []
    turns = []

    def take_turns(number: int) -> None:
        while len(turns) < 300:
            try:
                journal = Journal.opened(target)
            except swath.ExistsError:
                continue
            at_work.append(number)
            assert at_work == [number]
            turns.append(number)
            at_work.remove(number)
            journal.remove(target)

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(take_turns, range(3)))
    assert len(set(turns)) > 1
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


@pytest.mark.parametrize("seconds", [10, pytest.param(60, marks=[pytest.mark.exhaustive, pytest.mark.timeout(300)])])
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
    """Return a folder whose files need no sync, for many more concurrent copies."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="swath-test-", dir=shared if shared.is_dir() else tmp_path) as folder:
        yield Path(folder)


def start_race(folder: Path, number: int, seconds: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(HELPERS / "copy_race_program.py"), str(folder), str(number), str(seconds)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HELPERS), *sys.path])}
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
    """The journal is ours, its file was removed, and a link has taken the name."""
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


@pytest.mark.parametrize("name", ["b.bin", "b.npy", "b.nc3", "b.h5", "b.zarr"])
def test_no_format_writes_through_a_link_of_its_hidden_name(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another user knew the random name, a file there would be refused, not followed."""
    known = functools.partial(opening.AtomicFile, working_path=str(tmp_path / f".{name}.swath-known"))
    monkeypatch.setattr(opening, "AtomicFile", known)
    precious = tmp_path / "precious"
    precious.mkdir() if name == "b.zarr" else precious.write_text("precious")
    (tmp_path / f".{name}.swath-known").symlink_to(precious)
    with pytest.raises(swath.ExistsError):
        swath.create(tmp_path / name, (4, 5), "<f8")
    assert list(precious.iterdir()) == [] if name == "b.zarr" else precious.read_text() == "precious"

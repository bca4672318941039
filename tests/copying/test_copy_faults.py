"""Copies that are killed, fail, or find a changed source: no half result, nothing lost, and they can continue."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
import time
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from copy_faults_cases import JOURNAL, OPTIONS, interrupted, names, source_of, start
from copy_program import force_two_passes
from mpi_runs import run_well
from swath.copying import pipeline, plan, store


def wait_for_journal(journal: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until the copy has made its files."""
    while process.poll() is None and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.001)


def kill_at_random_moments(folder: Path, moments: int, **options: Any) -> int:
    """Kill this many copies, and continue each; return how many had something to continue."""
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


@pytest.mark.exhaustive
@pytest.mark.timeout(1000)
def test_fifty_copies_killed_at_random_moments_go_on(tmp_path: Path) -> None:
    assert kill_at_random_moments(tmp_path, 50, **OPTIONS) > 10


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("moments", [3, pytest.param(50, marks=[pytest.mark.exhaustive, pytest.mark.timeout(1000)])])
def test_copies_into_a_zarr_store_that_are_killed_leave_no_half_result_and_go_on(tmp_path: Path, moments: int) -> None:
    """Chunks are files of their own: none is half written, or left under a hidden name."""
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
    for name in ("SECOND_PASS_PAYS", "_gain_max"):
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

"""The modelled disk as a mounted file system and as an engine: real bytes, modelled time, and its statistics."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath import _core
from swath.errors import ArgumentError, UnsupportedError
from swath.simulated import run_ranks
from swath.store import modelled_disk
from tree import ROOT

BUILD = ROOT / "build"
MIB = 1 << 20

REFUSAL = modelled_disk.refusal(BUILD)
needs_fuse = pytest.mark.skipif(bool(REFUSAL), reason=REFUSAL)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return the root of a single disk whose time runs 20 times as fast."""
    with modelled_disk.mounted("p690-scsi", tmp_path, scale=20, build=BUILD) as root:
        yield root


def write(path: Path, size: int, seed: int = 0) -> bytes:
    data = np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8).tobytes()
    path.write_bytes(data)
    return data


def read_at_once(paths: list[Path], size: int = MIB) -> None:
    """Read all files with one thread each; the threads wait for each other before every read."""
    together = threading.Barrier(len(paths))

    def read(path: Path) -> None:
        with open(path, "rb", buffering=0) as file:
            for _ in range(os.path.getsize(path) // size):
                together.wait()
                assert len(file.read(size)) == size

    threads = [threading.Thread(target=read, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@needs_fuse
def test_numpy_and_swath_find_the_bytes_that_they_wrote(disk: Path) -> None:
    expected = np.arange(6000, dtype=np.float64).reshape(60, 100)
    np.save(disk / "by_numpy.npy", expected)
    with swath.open(disk / "by_numpy.npy") as array:
        np.testing.assert_array_equal(array.read(), expected)
        np.testing.assert_array_equal(array[3:50:7, ::3], expected[3:50:7, ::3])
    with swath.create(disk / "by_swath.npy", shape=(60, 100), dtype="f8") as array:
        array.write(expected)
    np.testing.assert_array_equal(np.load(disk / "by_swath.npy"), expected)
    backing = disk.parent / "bytes" / "by_swath.npy"
    np.testing.assert_array_equal(np.load(backing), expected)
    assert modelled_disk.statistics(disk)["written_bytes"] >= 2 * expected.nbytes


@needs_fuse
def test_every_method_writes_through_ranks_and_locks(disk: Path) -> None:
    expected = np.arange(40 * 30, dtype=np.int32).reshape(40, 30)
    distribution = swath.Distribution((swath.Block(), swath.Cyclic()), grid=(2, 2))
    for method in ("direct", "sieve", "list", "two-phase"):
        path = disk / f"{method}.raw"

        def work(comm: Any, path: Path = path, method: str = method) -> None:
            mine = expected[np.ix_(*distribution.indices(expected.shape, comm.rank))]
            with swath.create(path, shape=expected.shape, dtype="i4", comm=comm) as array:
                array.write(mine, distribution, method=method)

        run_ranks(4, work)
        np.testing.assert_array_equal(np.fromfile(path, dtype=np.int32).reshape(40, 30), expected)


@needs_fuse
def test_names_sizes_and_folders_are_those_of_a_file_system(disk: Path) -> None:
    data = write(disk / "a", 100_000)
    (disk / "folder").mkdir()
    (disk / "a").rename(disk / "folder" / "b")
    os.truncate(disk / "folder" / "b", 50_000)
    with open(disk / "folder" / "b", "ab") as file:
        file.write(b"end")
    assert (disk / "folder" / "b").read_bytes() == data[:50_000] + b"end"
    os.link(disk / "folder" / "b", disk / "c")
    os.symlink("c", disk / "d")
    assert (disk / "d").stat().st_ino == (disk / "folder" / "b").stat().st_ino
    (disk / "c").unlink()
    assert sorted(os.listdir(disk)) == ["d", "folder"]  # the control file is not listed
    (disk / "folder" / "b").unlink()
    (disk / "folder").rmdir()
    assert os.statvfs(disk).f_bavail > 0
    with pytest.raises(FileNotFoundError):
        (disk / "folder" / "b").read_bytes()


@needs_fuse
def test_two_streams_seek_and_one_does_not(disk: Path) -> None:
    paths = [disk / "a", disk / "b"]
    for path in paths:
        write(path, 8 * MIB)
    before = modelled_disk.statistics(disk)
    for path in paths:
        read_at_once([path])
    alone = modelled_disk.statistics(disk)
    read_at_once(paths)
    together = modelled_disk.statistics(disk)

    def since(key: str, start: dict[str, float], end: dict[str, float]) -> float:
        return end[key] - start[key]

    assert since("read_bytes", before, alone) == since("read_bytes", alone, together) == 16 * MIB
    assert since("seeks", before, alone) <= 4
    assert since("seeks", alone, together) >= 40  # of 64 requests of 256 KiB
    slower = since("busy_seconds", alone, together) / since("busy_seconds", before, alone)
    assert 1.3 < slower < 1.9  # 1.5 where each request seeks


@needs_fuse
def test_a_read_takes_the_models_time(tmp_path: Path) -> None:
    with modelled_disk.mounted("p690-scsi", tmp_path, scale=2, build=BUILD) as root:
        write(root / "a", 4 * MIB)
        begin = time.monotonic()
        (root / "a").read_bytes()
        assert time.monotonic() - begin > 4 * MIB / 35e6 / 2


@needs_fuse
def test_nothing_is_in_the_page_cache(disk: Path) -> None:
    write(disk / "a.raw", MIB)
    (disk / "a.raw").read_bytes()
    before = modelled_disk.statistics(disk)["read_bytes"]
    (disk / "a.raw").read_bytes()
    assert modelled_disk.statistics(disk)["read_bytes"] == before + MIB


@needs_fuse
def test_another_disk_takes_the_place_in_mid_run(disk: Path) -> None:
    data = write(disk / "a", 2 * MIB)
    modelled_disk.change(disk, "ssd")
    assert modelled_disk.statistics(disk)["preset"] == "ssd"
    assert (disk / "a").read_bytes() == data
    with pytest.raises(UnsupportedError, match="floppy"):
        modelled_disk.change(disk, "floppy")
    assert modelled_disk.statistics(disk)["preset"] == "ssd"
    assert modelled_disk.statistics(disk)["written_bytes"] == 2 * MIB


@needs_fuse
def test_the_trace_tells_where_the_head_went(tmp_path: Path) -> None:
    trace = tmp_path / "positions.csv"
    with modelled_disk.mounted("p690-scsi", tmp_path, scale=50, trace=trace, build=BUILD) as root:
        write(root / "a", MIB)
        (root / "a").read_bytes()
    lines = trace.read_text().splitlines()
    assert lines[0] == "# modelled disk p690-scsi"
    assert lines[1] == "seconds,disk,position,bytes,stream,direction,seek"
    rows = [line.split(",") for line in lines[2:]]
    assert sum(int(row[3]) for row in rows if row[5] == "write") == MIB
    assert sum(int(row[3]) for row in rows if row[5] == "read") == MIB
    assert [float(row[0]) for row in rows] == sorted(float(row[0]) for row in rows)
    assert {row[1] for row in rows} == {"0"}


def run_program(tmp_path: Path) -> tuple[subprocess.Popen[str], Path]:
    root, backing = tmp_path / "disk", tmp_path / "bytes"
    root.mkdir()
    backing.mkdir()
    program = str(modelled_disk.find_program(BUILD))
    command = [program, "--preset", "ssd", "--backing", str(backing), "--foreground", "--until-eof", str(root)]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stdout.readline().startswith("modelled disk ssd")
    assert os.path.ismount(root)
    return running, root


@needs_fuse
@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "end of input", "umount"])
def test_it_unmounts_and_ends_when_told(tmp_path: Path, how: str) -> None:
    running, root = run_program(tmp_path)
    if how == "end of input":
        assert running.stdin is not None
        running.stdin.close()
    elif how == "umount":
        unmount = ["umount", str(root)] if os.geteuid() == 0 else ["fusermount3", "-u", str(root)]
        subprocess.run(unmount, check=True)
    else:
        running.send_signal(getattr(signal, how))
    assert running.wait(10) == 0
    assert not os.path.ismount(root)
    assert os.listdir(root) == []


@needs_fuse
def test_a_killed_program_leaves_no_mount_behind(tmp_path: Path) -> None:
    running, root = run_program(tmp_path)
    running.kill()
    running.wait()
    with pytest.raises(OSError, match=r"not connected|No such device"):
        os.listdir(root)
    modelled_disk._end(running, root)
    assert os.listdir(root) == []


@needs_fuse
def test_what_cannot_be_mounted_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(UnsupportedError, match='"floppy": expected one of xeon-eide'),
        modelled_disk.mounted("floppy", tmp_path, build=BUILD),
    ):
        pass
    with (
        pytest.raises(UnsupportedError, match="--scale 0: expected a number above 0"),
        modelled_disk.mounted("ssd", tmp_path, scale=0, build=BUILD),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_without_the_program_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(modelled_disk.VARIABLE, raising=False)
    assert "make modelled-disk" in modelled_disk.refusal(tmp_path)
    monkeypatch.setenv(modelled_disk.VARIABLE, str(tmp_path / "nothing"))
    assert "which is no program" in modelled_disk.refusal(BUILD)
    with pytest.raises(UnsupportedError, match="no program"), modelled_disk.mounted("ssd"):
        pass
    program = tmp_path / "elsewhere" / modelled_disk.PROGRAM
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.delenv(modelled_disk.VARIABLE)
    assert modelled_disk.find_program(tmp_path) == str(program)


# ---- the engine ------------------------------------------------------------------------------------------------------


def test_the_engine_moves_the_bytes_and_says_what_it_is(tmp_path: Path) -> None:
    expected = np.arange(1000, dtype=np.int64).reshape(10, 100)
    columns = swath.Distribution((swath.Whole(), swath.Cyclic()), grid=(1, 2))

    def work(comm: Any) -> str:
        path = tmp_path / "a.npy"
        with swath.create(path, shape=(10, 100), dtype="i8", comm=comm, engine="model:p690-scsi@moves") as array:
            array.write(expected[:, comm.rank :: 2], columns)
        with swath.open(path, comm=comm, engine="model:p690-scsi@moves") as array:
            np.testing.assert_array_equal(array[...], expected)
            return array.engine

    assert run_ranks(2, work) == ["modelled disk p690-scsi"] * 2
    stats = _core.modelled_disk_stats("moves")
    assert stats["what"] == "modelled disk"
    assert stats["preset"] == "p690-scsi"
    assert stats["written_bytes"] >= expected.nbytes


def test_ranks_of_a_simulation_share_the_disk_and_repeat_exactly(tmp_path: Path) -> None:
    path = tmp_path / "a.raw"
    np.arange(4 * MIB // 8, dtype=np.int64).tofile(path)
    rows = swath.Distribution((swath.Block(), swath.Whole()), grid=(4, 1))

    def trace(name: str) -> list[tuple[float, int, int, int, int, bool, bool]]:
        _core.modelled_disk_set(name, "p690-scsi")
        _core.modelled_disk_record(name)

        def work(comm: Any) -> None:
            with swath.open(
                path, shape=(8, MIB // 16), dtype="i8", comm=comm, engine=f"model:p690-scsi@{name}"
            ) as array:
                array.read(rows, method="direct")

        run_ranks(4, work)
        return _core.modelled_disk_trace(name)

    first, again = trace("first"), trace("again")
    assert first == again
    assert sum(bytes_ for _, _, _, bytes_, *_ in first) == 4 * MIB
    assert _core.modelled_disk_stats("first")["seeks"] >= 8  # four ranks that take turns


def test_an_operation_on_a_model_teaches_the_stores_profile_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.raw"
    np.zeros(MIB, dtype=np.uint8).tofile(path)
    with swath.open(path, shape=(MIB,), dtype="u1", engine="model:xeon-eide@teaches") as array:
        for _ in range(3):
            array.read(method="sieve")
        assert array._core.profile.corrections == _core.default_profile().corrections


def test_the_regime_of_a_named_disk_changes_in_mid_run() -> None:
    _core.modelled_disk_set("regime", "xeon-eide")
    assert _core.modelled_disk_stats("regime")["preset"] == "xeon-eide"
    _core.modelled_disk_set("regime", "ssd")
    assert _core.modelled_disk_stats("regime")["preset"] == "ssd"
    with pytest.raises(ArgumentError, match="expected one of xeon-eide"):
        _core.modelled_disk_set("regime", "floppy")
    with pytest.raises(ArgumentError, match="expected one that a file was opened on"):
        _core.modelled_disk_stats("nobody's")
    assert "p690-raid5" in {preset["name"] for preset in _core.modelled_disk_presets()}

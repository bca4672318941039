"""Readers of a file that another process changes: they see a committed state of one moment, and are not refused."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.array.open_array import Array
from swath.errors import StoreError
from swath.formats.changes import Changes, lock_target

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")

SUFFIXES = ["nc3", "nc4", "h5", "zarr"]
OF_HDF5 = ["nc4", "h5"]


def new_file(path: Path, records: int, codecs: list[str] | None = None) -> None:
    with swath.create_file(path) as file:
        t = file.create("t", (None, 5), "f4", dimensions=("time", "x"), codecs=codecs)
        u = file.create("u", (None,), "f8", dimensions=("time",))
        for i in range(records):
            t.append(np.full(5, i, "f4"))
            u.append(float(i))


class Steps:
    """The steps of a child, with pauses in which the parent reads: each step starts at a signal of the parent."""

    def __init__(self) -> None:
        self._to_child, self._to_parent = os.pipe(), os.pipe()

    def begin(self) -> None:
        """In the child: do not wait for ever if the parent has ended."""
        os.close(self._to_child[1])
        os.close(self._to_parent[0])

    def pause(self) -> None:
        """In the child: report the end of a step, and wait for the next one."""
        with contextlib.suppress(BrokenPipeError):  # the parent looks no more
            os.write(self._to_parent[1], b".")
            os.read(self._to_child[0], 1)

    def wait(self) -> None:
        """In the parent: wait for the end of the step."""
        assert os.read(self._to_parent[0], 1) == b"."

    def go_on(self) -> None:
        """In the parent: let the child do its next step."""
        os.write(self._to_child[1], b".")

    def end(self) -> None:
        """In the parent: let the child do all its steps."""
        for number in (*self._to_child, *self._to_parent):
            os.close(number)


@contextlib.contextmanager
def child(work: Callable[[Steps], None]) -> Iterator[Steps]:
    """A process that runs `work` up to its first pause; at the end it runs on."""
    steps = Steps()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            steps.begin()
            work(steps)
            status = 0
        finally:
            os._exit(status)
    steps.wait()
    try:
        yield steps
    finally:
        steps.end()
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def appends_half_a_record(path: Path) -> Callable[[Steps], None]:
    """Append to one variable; pause; append to the other one."""

    def work(steps: Steps) -> None:
        with swath.open_file(path, mode="r+") as file:
            t, u = file["t"], file["u"]
            t.append(np.full(5, 2, "f4"))
            steps.pause()
            u.append(2.0)
            steps.pause()

    return work


def check_records(file: swath.File, records: int) -> None:
    assert file["u"].shape == (records,)
    np.testing.assert_array_equal(file["t"][...], np.arange(records)[:, None] * np.ones((1, 5)))
    np.testing.assert_array_equal(file["u"][...], np.arange(records))


@pytest.mark.parametrize("codecs", [None, ["zlib"]])
@pytest.mark.parametrize("suffix", OF_HDF5)
def test_half_a_record_of_another_process_is_not_seen(tmp_path: Path, suffix: str, codecs: list[str] | None) -> None:
    path = tmp_path / f"a.{suffix}"
    new_file(path, 2, codecs)
    with child(appends_half_a_record(path)) as steps:
        with swath.open_file(path) as file:
            assert file.dimensions["time"].length == 2
            check_records(file, 2)
        with swath.open(path, "t") as t:
            assert t.shape == (2, 5)
        steps.go_on()
        steps.wait()
        with swath.open_file(path) as file:
            check_records(file, 3)
    with swath.open_file(path) as file:
        check_records(file, 3)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_variables_of_a_handle_are_of_one_moment(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    new_file(path, 2)
    with swath.open_file(path) as file:
        assert file["t"].shape == (2, 5)
        with child(appends_half_a_record(path)) as steps:
            steps.go_on()
            steps.wait()
        assert file["u"].shape == (2,)  # looked for when the file was longer
        check_records(file, 2)
    with swath.open_file(path) as file:
        check_records(file, 3)


@pytest.mark.parametrize("codecs", [None, ["zlib"]])
@pytest.mark.parametrize("suffix", OF_HDF5)
def test_a_record_that_is_being_written_is_read_by_nobody(
    tmp_path: Path, suffix: str, codecs: list[str] | None
) -> None:
    path = tmp_path / f"a.{suffix}"
    new_file(path, 2, codecs)

    def work(steps: Steps) -> None:
        write = Array._write

        def pauses(*given: Any) -> None:
            steps.pause()
            write(*given)

        with swath.open_file(path, mode="r+") as file:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Array, "_write", pauses)
                file["t"].append(np.full(5, 2, "f4"))
            steps.pause()
            file["u"].append(2.0)

    with child(work) as steps:
        with swath.open_file(path) as file:
            check_records(file, 2)
        with pytest.raises(BlockingIOError, match="unable to lock file"):
            h5py.File(path).close()
        with pytest.raises(OSError, match=r"HDF error|Resource temporarily unavailable"):
            netCDF4.Dataset(path).close()
        steps.go_on()
        steps.wait()
        with h5py.File(path) as other:  # as long as the longest variable; the other one has the fill value there
            np.testing.assert_array_equal(other["t"][...], np.arange(3)[:, None] * np.ones((1, 5)))
    with swath.open_file(path) as file:
        check_records(file, 3)


def test_another_thread_reads_the_last_checkpoint_while_a_record_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.nc4"
    new_file(path, 2)
    write = Array._write
    read: list[int] = []

    def looks(*given: Any) -> None:
        thread = threading.Thread(target=lambda: read.append(swath.open(path, "t").shape[0]))
        thread.start()
        thread.join(30)
        write(*given)

    with swath.open_file(path, mode="r+") as file:
        t = file["t"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Array, "_write", looks)
            t.append(np.full(5, 2, "f4"))
    assert read == [2]


def in_the_middle_of_a_change(path: Path, seconds: float) -> Callable[[Steps], None]:
    """The state in which HDF5's library leaves a file during a change: no signature at the start, and a lock."""

    def work(steps: Steps) -> None:
        descriptor = os.open(path, os.O_RDWR)
        with Changes(str(path)) as changes:
            lock_target(descriptor, str(path), "change it")
            changes.mark()
            changes.keep(descriptor, 8, 92)
            os.pwrite(descriptor, b"x" * 92, 8)
            steps.pause()
            time.sleep(seconds)
            changes.undo()
            os.close(descriptor)

    return work


@pytest.mark.parametrize("suffix", OF_HDF5)
def test_a_change_that_is_being_made_is_not_seen(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    new_file(path, 2)
    with child(in_the_middle_of_a_change(path, 0)), swath.open_file(path) as file:
        check_records(file, 2)


def locks_for(path: Path, seconds: float, is_journalled: bool) -> Callable[[Steps], None]:
    """Lock before any change: the journal, if there is one, is empty."""

    def work(steps: Steps) -> None:
        descriptor = os.open(path, os.O_RDWR)
        with Changes(str(path)) if is_journalled else contextlib.nullcontext():
            lock_target(descriptor, str(path), "change it")
            steps.pause()
            time.sleep(seconds)
            os.close(descriptor)

    return work


def test_who_opens_a_file_waits_for_the_begin_of_a_change(tmp_path: Path) -> None:
    path = tmp_path / "a.nc4"
    new_file(path, 2)
    with child(locks_for(path, 0.3, is_journalled=True)) as steps:
        steps.go_on()
        with swath.open_file(path) as file:
            check_records(file, 2)


@pytest.mark.parametrize("is_journalled", [True, False])
def test_who_opens_a_file_does_not_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_journalled: bool
) -> None:
    path = tmp_path / "a.nc4"
    new_file(path, 2)
    monkeypatch.setenv("SWATH_LOCK_TIMEOUT", "0.2")
    with child(locks_for(path, 0, is_journalled)):
        began = time.monotonic()
        with pytest.raises(StoreError, match=r"another (process is changing it|program has this HDF5 file open)"):
            swath.open_file(path)
        assert time.monotonic() - began < 30
        with pytest.raises(StoreError, match="another"):
            swath.open_file(path, mode="r+")


def test_text_that_the_library_reads_waits_for_the_end_of_a_change(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("names", data=["a", "bcd"], dtype=h5py.string_dtype())
    with swath.open(path, "names") as names, child(locks_for(path, 0.3, is_journalled=True)) as steps:
        steps.go_on()
        assert names[...].tolist() == ["a", "bcd"]


@pytest.mark.parametrize("suffix", OF_HDF5)
def test_a_change_waits_for_who_reads(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    new_file(path, 2)

    def work(steps: Steps) -> None:
        with h5py.File(path):
            steps.pause()
            time.sleep(0.3)

    with swath.open_file(path, mode="r+") as file:
        t, u = file["t"], file["u"]
        with child(work) as steps:
            steps.go_on()
            t.append(np.full(5, 2, "f4"))
        u.append(2.0)
    with swath.open_file(path) as file:
        check_records(file, 3)


@pytest.mark.parametrize("suffix", OF_HDF5)
def test_a_reader_of_this_process_can_close_the_file_that_a_change_waits_for(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    new_file(path, 2)
    with swath.open_file(path, mode="r+") as file:
        t, u = file["t"], file["u"]
        opened = h5py.File(path, "r")
        closes = threading.Timer(0.2, opened.close)
        closes.start()
        t.append(np.full(5, 2, "f4"))
        closes.join()
        u.append(2.0)
    with swath.open_file(path) as file:
        check_records(file, 3)

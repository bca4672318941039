"""The private folder of a replay: made fresh, filled with scratch files, and removed whatever happens."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from swath.base import units
from swath.errors import StoreError
from swath.replay import cleaner
from swath.replay.actions import File

PREFIX = ".swath-replay-"
LOCK = "lock"
"""A file in the folder. The replay holds a lock on it: a folder without a locked file is left over."""
BLOCK_BYTES = 4 << 20
SPARE_PART = 0.05
"""This part of the needed room must be free beyond it."""


def default_folder() -> str:
    """Return the system's folder for temporary files."""
    return tempfile.gettempdir()


def check_room(folder: str, needed: int) -> None:
    """Raise StoreError if the file system of the folder has not enough room."""
    try:
        found = os.statvfs(folder)
    except OSError as error:
        raise StoreError(f"replay: store {folder}: {error.strerror}", error.errno or 0) from None
    free = found.f_bavail * found.f_frsize
    if free < needed * (1 + SPARE_PART):
        raise StoreError(
            f"replay: store {folder}: the scratch files need {units.in_bytes(needed)}, and {units.in_bytes(free)} "
            "are free: give another folder by --store, or make room",
            errno.ENOSPC,
        )


@dataclass(frozen=True)
class Scratch:
    """The folder of a replay.

    Attributes:
        folder: its path.
        tell: tells the process that cleans up after a kill that a process group has started ("+") or ended ("-").
    """

    folder: str
    tell: Callable[[str, int], None]


@contextlib.contextmanager
def scratch_folder(store: str) -> Iterator[Scratch]:
    """Yield a new folder in `store`, and remove it at the end.

    Left after a kill: nothing, because another process ends the ranks and removes the folder. If that is killed, too,
    the next replay in the same store removes the folder.
    """
    remove_left_over(store)
    try:
        folder = tempfile.mkdtemp(prefix=PREFIX, dir=store)
    except OSError as error:
        raise StoreError(
            f"replay: store {store}: {error.strerror}: give a folder by --store", error.errno or 0
        ) from None
    command = [sys.executable, "-I", "-S", cleaner.__file__, folder]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, bufsize=0) as last,
        open(os.path.join(folder, LOCK), "wb") as lock,
    ):
        pipe = last.stdin
        assert pipe is not None
        fcntl.flock(lock, fcntl.LOCK_EX)

        def tell(what: str, group: int) -> None:
            with contextlib.suppress(BrokenPipeError):  # it was killed
                pipe.write(f"{what}{group}\n".encode())

        try:
            yield Scratch(folder, tell)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            pipe.close()


def remove_left_over(store: str) -> None:
    """Remove folders of replays that were killed together with the process that removes them."""
    with contextlib.suppress(OSError):
        for name in os.listdir(store):
            if not name.startswith(PREFIX):
                continue
            folder = os.path.join(store, name)
            with contextlib.suppress(OSError), open(os.path.join(folder, LOCK), "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held: that replay runs
                shutil.rmtree(folder, ignore_errors=True)


def make_files(folder: str, files: Sequence[File], needed: set[int], *, is_sparse: bool = False) -> list[str]:
    """Make the scratch files, and return their paths by the numbers of the run's files.

    Args:
        folder: the folder of the replay.
        files: the files of the run.
        needed: the files that must exist, and have their whole length, before the run.
        is_sparse: whether the files have holes in place of bytes, because nothing depends on their offset there.

    Raises:
        StoreError: the system refuses: the disk is full.
    """
    paths = [os.path.join(folder, f"{number}-{os.path.basename(one.name)[:60]}") for number, one in enumerate(files)]
    for number, (path, one) in enumerate(zip(paths, files, strict=True)):
        length = max(one.initial_bytes, one.end_bytes) if number in needed else one.initial_bytes
        if not length and number not in needed:
            continue
        try:
            _fill(path, length, 0 if is_sparse else one.initial_bytes)
        except OSError as error:
            raise StoreError(
                f"replay: making {path} ({units.in_bytes(length)}, for {one.name}): {error.strerror}. Nothing is left "
                "of the replay; give another folder by --store",
                error.errno or 0,
            ) from None
    return paths


def _fill(path: str, length: int, written: int) -> None:
    """Write `written` bytes, then extend the file to its length."""
    block = memoryview(os.urandom(BLOCK_BYTES))
    with open(path, "xb", buffering=0) as file:
        done = 0
        while done < written:
            done += file.write(block[: written - done])
        if length > written:
            file.truncate(length)


def make_cold(path: str) -> None:
    """Write the file to the medium, and ask the kernel to drop it from its cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

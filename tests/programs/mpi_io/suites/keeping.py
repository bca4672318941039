"""The files that a program makes, also those that it deletes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import select
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

IN_CREATE, IN_MOVED_TO = 0x100, 0x80
EVENT = struct.Struct("iIII")
LOCKS_OF_AN_MPI = re.compile(r"^\.|\.shfp\.|\.sm$|\.data$|\.index$|\.locktest|\.core|^core|^vgcore")
"""Files that an MPI makes beside the program's, for shared file pointers and the like."""
BLOCK_BYTES = 1 << 16


class Keeper:
    """Links every file that appears in a folder into another folder, so that its bytes remain after its deletion.

    A link is made within a fraction of a millisecond of the file: a file that is deleted at once may be missed.
    """

    def __init__(self, watched: Path, kept: Path):
        self.watched, self.kept = watched, kept
        self.names: Counter[str] = Counter()
        self.inodes: set[int] = set()
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.inotify = self.libc.inotify_init1(os.O_NONBLOCK)
        self.libc.inotify_add_watch(self.inotify, os.fsencode(watched), IN_CREATE | IN_MOVED_TO)
        self.stop_read, self.stop_write = os.pipe()
        self.thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Keeper:
        self.kept.mkdir()
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.write(self.stop_write, b"x")
        self.thread.join()
        for descriptor in (self.inotify, self.stop_read, self.stop_write):
            os.close(descriptor)

    def _keep(self) -> None:
        while True:
            ready, _, _ = select.select([self.inotify, self.stop_read], [], [])
            if self.inotify in ready:
                self._link(os.read(self.inotify, 1 << 16))
            elif self.stop_read in ready:
                return

    def _link(self, events: bytes) -> None:
        at = 0
        while at < len(events):
            _, _, _, length = EVENT.unpack_from(events, at)
            name = events[at + EVENT.size : at + EVENT.size + length].rstrip(b"\0").decode()
            at += EVENT.size + length
            kept = self.kept / f"{name}#{self.names[name]}"
            try:
                os.link(self.watched / name, kept)
            except OSError:
                continue  # a folder, or already deleted
            if kept.stat().st_ino in self.inodes:  # the event of a deleted file has linked its successor
                kept.unlink()
                continue
            self.inodes.add(kept.stat().st_ino)
            self.names[name] += 1


def files_of(kept: Path, work: Path, inputs: set[str]) -> dict[str, str]:
    """Return the digest of each new file: "name#0" to "4096 bytes d41d8c…"; files in subfolders of `work`, too."""
    found = {path.name: path for path in sorted(kept.iterdir()) if path.is_file()}
    found |= {
        str(path.relative_to(work)): path
        for path in sorted(work.rglob("*"))
        if path.parent != work and path.is_file() and not path.is_symlink()
    }
    return {
        name: digest(path)
        for name, path in found.items()
        if not LOCKS_OF_AN_MPI.search(name.split("#")[0]) and name.split("#")[0] not in inputs
    }


def deleted_of(kept: Path, work: Path) -> list[str]:
    """Return the files that the program has deleted by now."""
    left = {path.stat().st_ino for path in work.iterdir()}
    return sorted(path.name for path in kept.iterdir() if path.stat().st_ino not in left)


def digest(path: Path) -> str:
    """Return the digest of a file's bytes; holes count as zeros, and are not read: sparse terabytes are quick."""
    state = hashlib.blake2b(digest_size=16)
    size = path.stat().st_size
    with path.open("rb", buffering=0) as file:
        for begin, end in _data_extents(file.fileno(), size):
            for place in range(begin, end, BLOCK_BYTES):
                block = os.pread(file.fileno(), BLOCK_BYTES, place)
                if block.count(0) != len(block):
                    state.update(place.to_bytes(8, "little") + block)
    return f"{size} bytes {state.hexdigest()}"


def _data_extents(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges that are not holes, from and to multiples of a block."""
    at = 0
    while at < size:
        try:
            data = os.lseek(file, at, os.SEEK_DATA)
        except OSError:  # only a hole until the end
            return
        hole = os.lseek(file, data, os.SEEK_HOLE)
        end = -(-hole // BLOCK_BYTES) * BLOCK_BYTES
        yield max(at, data // BLOCK_BYTES * BLOCK_BYTES), end
        at = end

"""The part of a file in the page cache: how large it is, and how to drop it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from collections.abc import Callable, Iterable, Iterator

PIECE_BYTES = 64 << 20
_CACHESTAT = 451
"""The number of the system call, which exists since Linux 6.5. It is the same on all machines but Alpha."""


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("bytes", ctypes.c_uint64))


class _Pages(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("cached", "dirty", "writeback", "evicted", "recently_evicted")
    )


@contextlib.contextmanager
def opened(path: str) -> Iterator[int]:
    """Yield the descriptor of a file or of a folder."""
    fd = os.open(path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


def files_of(path: str) -> list[str]:
    """Return all files below a folder. If the path is a file, return this file."""
    if not os.path.isdir(path):
        return [path]
    return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]


def cached_bytes(fd: int, size: int) -> int | None:
    """Return how many of the first `size` bytes of a file are in the page cache; None if the kernel cannot tell."""
    pages = _Pages()
    asked = _Range(0, size)
    failed = ctypes.CDLL(None).syscall(_CACHESTAT, fd, ctypes.byref(asked), ctypes.byref(pages), 0)
    return None if failed else min(size, pages.cached * os.sysconf("SC_PAGE_SIZE"))


def drop(fd: int) -> None:
    """Write the file to the medium, then drop it from the page cache."""
    os.fsync(fd)  # the kernel does not drop a page that is not on the medium yet
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def prepare(paths: Iterable[str], forget: Callable[[int], object] | None) -> int | None:
    """Drop files from the page cache by `forget`; if that is None, load them. Return how many bytes are cached."""
    counts = []
    for path in paths:
        with opened(path) as fd:
            size = os.fstat(fd).st_size
            if forget is not None:
                forget(fd)
            elif cached_bytes(fd, size) != size:
                for offset in range(0, size, PIECE_BYTES):
                    os.pread(fd, PIECE_BYTES, offset)
            counts.append(cached_bytes(fd, size))
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def device_bytes_read() -> int | None:
    """Return how many bytes devices have read for this process and its threads; None if the kernel does not tell."""
    try:
        with open("/proc/self/io", encoding="ascii") as told:
            found = re.search(r"^read_bytes: (\d+)$", told.read(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found else None


def device_bytes_written(path: str) -> int | None:
    """Return how many bytes the whole machine has written so far to the block device that holds `path`.

    Returns None if `path` is on no block device (tmpfs, network), or the kernel does not tell. The kernel counts
    sectors of 512 bytes on every device. Its count for one process would not do: it counts pages as they become dirty.
    """
    device = os.stat(path).st_dev
    try:
        with open(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat", encoding="ascii") as told:
            return int(told.read().split()[6]) * 512
    except (OSError, IndexError, ValueError):
        return None

"""System calls of a copy besides reading and writing: a file's identity, space on the disk, early write-back."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import errno
import functools
import os
import queue
import shutil
import threading
from collections.abc import Callable
from typing import Any

from swath import _core
from swath.base import stored_path
from swath.base.units import in_bytes
from swath.errors import StoreError, store_error
from swath.formats.files import files_below

FALLOCATE_REFUSED = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.ENODEV)
"""The file system cannot reserve space: the write finds out whether there is enough."""
ROOM_MARGIN_BYTES = 1 << 20
FOLDER_BYTES = 128 << 20
"""After this many bytes the files of a folder are written to the device: the whole file system is synced."""


@dataclasses.dataclass(frozen=True)
class Identity:
    """The identity that a file must still have for its elements to be those that were read before.

    The identity of a folder is that of its files: their bytes together, and the time of the last change.
    """

    size: int
    mtime_ns: int
    inode: int

    @staticmethod
    def of(path: str) -> Identity:
        """Return the identity of a file or folder as it is now. Raises StoreError."""
        stored = stored_path.of(path)
        if not stored.is_local:
            return Identity(stored.size(), 0, 0)  # a replaced object cannot be read any more
        try:
            status = os.stat(path)
            if not os.path.isdir(path):
                return Identity(status.st_size, status.st_mtime_ns, status.st_ino)
            inside = [os.stat(file) for file in files_below(path)]
        except OSError as error:
            raise store_error(f"{path}: {error.strerror}", error.errno) from None
        return Identity(sum(s.st_size for s in inside), max((s.st_mtime_ns for s in inside), default=0), status.st_ino)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return dataclasses.asdict(self)


def check_room(folder: str, needed: int, what: str) -> None:
    """Raise StoreError (ENOSPC) if fewer than `needed` bytes are free in `folder`; `what` needs them."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise store_error(f"{folder}: {error.strerror}", error.errno) from None
    if needed + ROOM_MARGIN_BYTES > free:
        raise StoreError(
            f"{what}: needs {in_bytes(needed)} in {folder}, where {in_bytes(free)} are free; nothing was written: make "
            "room, or name a target on another disk",
            errno.ENOSPC,
        )


def reserve(path: str) -> None:
    """Reserve space on the disk for the holes of a file, in one piece if possible. They still read as zeros.

    Raises StoreError if there is no space; a file system that cannot reserve changes nothing.
    """
    if not os.path.isfile(path) or os.path.getsize(path) == 0:
        return
    descriptor = os.open(path, os.O_RDWR)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        size = ctypes.c_longlong(os.fstat(descriptor).st_size)
        if libc.fallocate(descriptor, 0, ctypes.c_longlong(0), size) != 0:
            code = ctypes.get_errno()
            if code not in FALLOCATE_REFUSED:
                raise store_error(f"{path}: cannot reserve {size.value} bytes: {os.strerror(code)}", code)
    finally:
        os.close(descriptor)


def sync(path: str) -> None:
    """Sync a file, or a folder with its contents."""
    if os.path.isdir(path):
        _core.open_folder(path).sync()
        return
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_unfinished(folder: str) -> None:
    """Remove the unfinished files below a folder that a killed process left (core/store/new_file.h)."""
    for file in files_below(folder):
        name = os.path.basename(file)
        if name.startswith(".") and ".swath-" in name:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file)


Span = tuple[int, int]
"""Bytes of a file, [begin, end)."""
WHOLE = (0, 0)
"""All of a file, for the core's `begin_write_back`, `finish_write_back` and `forget_cached`."""
SpanOf = Callable[[int], Span | None]
"""A function that gives a band's bytes in a file; None if they are not contiguous."""


class WriteBack:
    """A thread that writes the page cache back to the device early, so that the sync at the end finds little left.

    Args:
        target: the file or folder, and the positions of its bands.
        source: the same of the source.
        drops: whether pages of finished bands are dropped, so that a copy larger than the memory does not push all
            other pages out of it.
        bands_behind: no worker uses a band any more that is this many bands before the last written one.
    """

    def __init__(
        self, target: tuple[str, SpanOf], source: tuple[str, SpanOf], *, drops: bool, bands_behind: int = 1
    ) -> None:
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._drops = drops
        self._bands_behind = bands_behind
        self._path, self._span_of = target
        self._source, self._source_span_of = source
        self._is_folder = os.path.isdir(self._path)
        self._bytes_begun: int | None = None
        self._sync_error: BaseException | None = None
        self._closed = False
        self._synced = threading.Event()
        self._synced.set()
        self._thread = threading.Thread(target=self._run, name="swath-write-back", daemon=True)

    def start(self) -> None:
        """Start the thread; `close` ends it, also after an interrupt."""
        self._thread.start()

    def begin(self, band: int, bytes_written: int) -> None:
        """Start the write-back of what was written so far: `bytes_written`, the last of them in that band."""
        if not self._is_folder:
            self._jobs.put(functools.partial(self._write, band))
            return
        if self._bytes_begun is None:
            self._bytes_begun = bytes_written
        if bytes_written - self._bytes_begun >= FOLDER_BYTES:  # the whole file system is synced: not too often
            self._bytes_begun = bytes_written
            self._jobs.put(_core.open_folder(self._path).sync)

    def begin_sync(self, sync: Any) -> None:
        """Call `sync` after the work that was started before; only if the last sync was waited for."""
        self._synced.clear()
        self._jobs.put(lambda: self._sync(sync))

    def wait_synced(self) -> None:
        """Return when the last started sync is done; raise its error."""
        self._synced.wait()
        error, self._sync_error = self._sync_error, None
        if error is not None:
            raise error

    def close(self) -> None:
        """End the thread after its current step: nothing waits for the rest any more."""
        self._closed = True
        self._jobs.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not self._closed:
                with contextlib.suppress(OSError, StoreError):  # the next sync reports an error of the device
                    job()
        if self._drops:
            with contextlib.suppress(OSError, StoreError):
                self._drop_rest()

    def _write(self, band: int) -> None:
        _core.begin_write_back(self._path, *(self._span_of(band) or WHOLE))
        before = band - self._bands_behind
        if not self._drops or before < 0:
            return
        target = self._span_of(before) or WHOLE
        _core.finish_write_back(self._path, *target)
        _core.forget_cached(self._path, *target)
        source = self._source_span_of(before)
        if source is not None:
            _core.forget_cached(self._source, *source)

    def _drop_rest(self) -> None:
        """Drop the remaining pages of the target, and of a source that is read in its own order.

        Pages of another source stay: to drop 6 GiB takes 0.3 s, and does not bring back the pages that they pushed out.
        """
        _core.forget_cached(self._path, *WHOLE)
        if self._source_span_of(0) is not None:
            _core.forget_cached(self._source, *WHOLE)

    def _sync(self, sync: Any) -> None:
        try:
            sync()
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it
            self._sync_error = error
        finally:
            self._synced.set()

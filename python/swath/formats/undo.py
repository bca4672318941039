"""A file whose changes can be taken back, for libraries that do not survive a write that fails.

HDF5 keeps a file open, and locked, whose last write failed; its metadata then tell of chunks that are nowhere, and
later it may crash. So it is told of no failure: what it writes from then on goes nowhere, it closes the file in peace,
and then the file is made what it was.
"""

from __future__ import annotations

import fcntl
import os
from types import TracebackType

from swath.errors import StoreError
from swath.formats.files import store_errors

LOCKING_VARIABLE = "HDF5_USE_FILE_LOCKING"


class UndoableFile:
    """An existing file, open for reading and writing, locked as HDF5 locks files: what h5py takes for a file.

    What was there before is kept in memory where it is written over, which is metadata mostly: new elements have places
    behind the end.

    Attributes:
        failure: of the first write that failed; those after it were not done.

    Raises:
        StoreError: the system refuses, or another program has it open.
    """

    def __init__(self, path: str) -> None:
        self.failure: OSError | None = None
        self._path = path
        self._at = 0
        self._before: list[tuple[int, bytes]] = []
        with store_errors(path, "open"):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._lock()
            self._size_before = self._size = os.fstat(self._descriptor).st_size
        except BaseException:
            os.close(self._descriptor)
            raise

    def __enter__(self) -> UndoableFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def undo(self) -> None:
        """Make the file what it was when it was opened."""
        with store_errors(self._path, "take back what was changed in it"):
            os.ftruncate(self._descriptor, self._size_before)  # first: it gives room back
            for offset, data in reversed(self._before):
                _write_all(self._descriptor, data, offset)
        self._before.clear()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Do as files do."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        """Do as files do."""
        return self._at

    def read(self, count: int = -1) -> bytes:
        """Read as HDF5's own driver does: zeros behind the end, and where a write was not done."""
        wanted = self._size - self._at if count < 0 else count
        data = bytearray()
        while len(data) < wanted:
            piece = os.pread(self._descriptor, wanted - len(data), self._at + len(data))
            if not piece:
                break
            data += piece
        self._at += wanted
        return bytes(data).ljust(wanted, b"\0")

    def write(self, data: bytes | memoryview) -> int:
        """Do as files do, but never fail: see `failure`."""
        view = memoryview(data).cast("B")
        if self.failure is None:
            try:
                self._keep(self._at, len(view))
                _write_all(self._descriptor, view, self._at)
            except OSError as error:
                self.failure = error
        self._at += len(view)
        self._size = max(self._size, self._at)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Do as files do, but never fail: see `failure`."""
        length = self._at if size is None else size
        if self.failure is None:
            try:
                self._keep(length, self._size_before - length)
                os.ftruncate(self._descriptor, length)
            except OSError as error:
                self.failure = error
        self._size = length
        return length

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def _keep(self, offset: int, count: int) -> None:
        """Keep what was there before the file was opened."""
        count = min(count, self._size_before - offset)
        if count > 0:
            self._before.append((offset, os.pread(self._descriptor, count, offset)))

    def _lock(self) -> None:
        """Lock as HDF5 does with locking="best-effort": a file system without locks is accepted."""
        if os.environ.get(LOCKING_VARIABLE, "").upper() in ("FALSE", "0"):
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            who = "another program has this HDF5 file open, or this one by another handle"
            raise StoreError(
                f"{self._path}: HDF5 cannot change it: {who}: {error.strerror}; close it there", error.errno
            ) from None
        except OSError:
            pass


def _write_all(descriptor: int, data: bytes | memoryview, offset: int) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, memoryview(data)[done:], offset + done)

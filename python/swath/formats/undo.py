"""A file whose changes can be undone, for libraries that do not survive a failed write.

If a write fails, HDF5 keeps the file open and locked, its metadata refer to chunks that do not exist, and it may crash
later. So the library sees neither the failure nor an interrupt: its later writes are dropped, it closes the file, and
then the file is restored.
"""

from __future__ import annotations

import io
import os
from types import TracebackType

from swath.formats.changes import Changes, Mark, lock_target
from swath.formats.files import store_errors, write_all

HELD_BYTES_MAX = 16 << 20
"""The most bytes of delayed writes over old bytes: one sync of the journal comes before all of them."""


class UndoableFile:
    """An existing file, in a `with` block open for reading and writing, locked as HDF5 locks files: a file for h5py.

    `changes` keeps the old bytes that are overwritten: mostly metadata, since new elements are after the old end.

    Attributes:
        failure: the error of the first failed write; later writes were not done.
        raised: the exception of a signal handler; later writes were not done either.

    Raises:
        StoreError: the system refuses, or another program has it open.
    """

    def __init__(self, changes: Changes) -> None:
        self.failure: OSError | None = None
        self.raised: BaseException | None = None
        self._changes = changes
        self._mark: Mark | None = None
        self._at = 0
        self._held: list[tuple[int, bytes]] = []
        self._held_bytes = 0
        self._size_before = self._size = 0
        self._stored: io.FileIO | None = None
        self._descriptor = -1

    def __enter__(self) -> UndoableFile:
        path = self._changes.path
        with store_errors(path, "open"):
            self._stored = open(path, "r+b", buffering=0)  # closed in any case
        try:
            self._descriptor = self._stored.fileno()
            lock_target(self._descriptor, path, "HDF5 cannot change it")
            self._size_before = self._size = os.fstat(self._descriptor).st_size
        except BaseException:
            self._stored.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stored is not None:
            self._stored.close()

    @property
    def is_well(self) -> bool:
        """Whether nothing has failed, so that the writes may stay."""
        return self.failure is None and self.raised is None

    def give_up(self, raised: BaseException) -> None:
        """Record the exception of a signal handler: later writes are dropped."""
        self.raised = self.raised or raised

    def undo(self) -> None:
        """Restore the content of the file at its open."""
        self._held.clear()
        if self._mark is not None:
            self._changes.undo(self._mark)

    def checkpoint(self) -> None:
        """Do the delayed writes; never fails: see `failure`."""
        held, self._held, self._held_bytes = self._held, [], 0
        if held and self.is_well:
            try:
                self._changes.keep_all(self._descriptor, [(offset, len(data)) for offset, data in held])
                for offset, data in held:
                    write_all(self._descriptor, data, offset)
            except OSError as error:
                self.failure = error

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Implement the method of files."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        """Implement the method of files."""
        return self._at

    def read(self, count: int = -1) -> bytes:
        """Read as HDF5's own driver does: zeros after the end, and where a write was dropped."""
        self.checkpoint()
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
        """Write, without errors: see `failure`. A write over old bytes may be delayed."""
        view = memoryview(data).cast("B")
        over = max(min(self._size_before - self._at, len(view)), 0)
        if self.is_well:
            try:
                self._begin()
                write_all(self._descriptor, view[over:], self._at + over)
            except OSError as error:
                self.failure = error
        if over:
            self._held.append((self._at, bytes(view[:over])))
            self._held_bytes += over
        if self._held_bytes > HELD_BYTES_MAX:
            self.checkpoint()
        self._at += len(view)
        self._size = max(self._size, self._at)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Truncate, without errors: see `failure`."""
        length = self._at if size is None else size
        self.checkpoint()
        if self.is_well:
            try:
                self._begin()
                self._changes.keep(self._descriptor, length, max(self._size_before - length, 0))
                os.ftruncate(self._descriptor, length)
            except OSError as error:
                self.failure = error
        self._size = length
        return length

    def flush(self) -> None:
        """Do nothing: delayed writes are done before a read of their range, and at the end."""

    def _begin(self) -> None:
        if self._mark is None:
            self._mark = self._changes.mark()

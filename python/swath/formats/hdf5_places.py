"""Places in an HDF5 file for chunks that Swath encodes: room that the library allocates, and writes nothing to.

HDF5 allocates room for an encoded chunk when it is written, by a direct chunk write: it hands the caller's buffer to
what writes to the file. Here that buffer is blank, and the file, which is ours (h5py's driver for Python's file
objects), knows it by its address: it notes where the chunk goes, and passes over it. So the library keeps its books,
and what the chunk holds is written by Swath's engines when the library has closed the file.

A chunk that is stored again in another size gets other room; one of the same size keeps its own, and one that is
smaller may begin where it began. What is there is kept by `Changes` before it is overwritten, so that a write that
fails, or is killed, can be taken back whole.
"""

from __future__ import annotations

import errno
import mmap
from collections.abc import Sequence

import numpy as np

from swath.errors import Error, StoreError
from swath.formats import hdf5
from swath.formats.changes import Changes
from swath.formats.description import Description
from swath.formats.undo import UndoableFile

NewChunk = tuple[tuple[int, ...], int, int]
"""Its place in the grid, how many bytes it takes, and a bit for each codec that was left out."""


class ChunkPlaces:
    """Who gives the chunks of one dataset their places: what the core calls on rank 0, while it writes.

    Args:
        description: of the dataset.
        is_new: whether the file has no name yet.
        changes: of the file, where the caller keeps them: to commit is then the caller's.
    """

    def __init__(self, description: Description, *, is_new: bool, changes: Changes | None = None) -> None:
        self._path = description.path
        self._variable = description.variable
        self._is_new = is_new
        self._callers = changes
        self._changes: Changes | None = None
        self._mark = 0

    def place(self, chunks: Sequence[NewChunk]) -> list[int]:
        """Give each chunk room, and return where in the file; it must be written there before anybody reads it.

        Raises StoreError where the system refuses; the file is then what it was before this call.
        """
        if self._changes is None:
            self._changes = self._begun()
        longest = max((nbytes for _, nbytes, _ in chunks), default=0)
        with mmap.mmap(-1, max(longest, 1)) as blank:
            file = _PlacingFile(self._changes, blank)
            with hdf5.changed(self._changes, opening=lambda _: file) as opened, memoryview(blank) as view:
                dataset = opened[self._variable]
                for place, (at, nbytes, skipped) in enumerate(chunks):
                    first = tuple(i * n for i, n in zip(at, dataset.chunks, strict=True))
                    with view[:nbytes] as data:
                        dataset.id.write_direct_chunk(first, data, skipped)
                    if [count for _, count in file.reserved[place:]] != [nbytes]:
                        raise Error(f"{self._path}: HDF5 has not written chunk {at} of {self._variable} in one piece")
        return [offset for offset, _ in file.reserved]

    def keep(self) -> None:
        """Let all that was placed stay: it is written."""
        if self._callers is None and self._changes is not None:
            try:
                self._changes.commit()
            finally:
                self._end()
        self._changes = None

    def undo(self) -> None:
        """Make the file what it was when the first chunk was placed."""
        if self._changes is not None:
            try:
                self._changes.undo(self._mark)
            finally:
                self._end()

    def _begun(self) -> Changes:
        if self._callers is not None:
            self._mark = self._callers.mark()
            return self._callers
        if self._is_new:
            return Changes(self._path, is_durable=False)
        try:
            return Changes(self._path)
        except StoreError as error:
            if error.errno == errno.EAGAIN:
                raise  # somebody else changes it
            return Changes(self._path, is_durable=False)  # no journal can be kept: a kill leaves it half changed

    def _end(self) -> None:
        if self._changes is not None and self._callers is None:
            self._changes.close()
        self._changes = None


class _PlacingFile(UndoableFile):
    """A file that passes over a blank buffer.

    Attributes:
        reserved: where it would have been written, and how much of it, each time.
    """

    def __init__(self, changes: Changes, blank: mmap.mmap) -> None:
        super().__init__(changes)
        self.reserved: list[tuple[int, int]] = []
        self._blank = _address(blank)

    def write(self, data: bytes | memoryview) -> int:
        """Do as files do, but for the blank buffer."""
        if _address(data) != self._blank:
            return super().write(data)
        count = memoryview(data).nbytes
        self.reserved.append((self.reserve(count), count))
        return count


def _address(data: bytes | memoryview | mmap.mmap) -> int:
    return np.frombuffer(data, np.uint8).ctypes.data

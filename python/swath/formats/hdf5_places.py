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

import mmap
from collections.abc import Sequence
from typing import Protocol

from swath.errors import Error
from swath.formats import hdf5
from swath.formats.changes import Changes, Mark
from swath.formats.undo import PlacingFile

NewChunk = tuple[tuple[int, ...], int, int]
"""Its place in the grid, how many bytes it takes, and a bit for each codec that was left out."""


class ChangedFile(Protocol):
    """Whoever has a file open, and takes its changes back."""

    def changes(self) -> Changes:
        """Return the changes that are not committed yet."""

    def settle(self) -> None:
        """Let what was written of elements stay, also after a kill."""


class ChunkPlaces:
    """Who gives the chunks of one dataset their places: what the core calls on rank 0, while it writes.

    Args:
        file: that the dataset is in.
        variable: the dataset's name.
    """

    def __init__(self, file: ChangedFile, variable: str) -> None:
        self._file = file
        self._variable = variable
        self._mark: Mark | None = None  # before the first chunk of this write

    def place(self, chunks: Sequence[NewChunk]) -> list[int]:
        """Give each chunk room, and return where in the file; it must be written there before anybody reads it.

        Raises StoreError where the system refuses; the file is then what it was before this call.
        """
        changes = self._file.changes()
        if self._mark is None:
            self._mark = changes.mark()
        longest = max((nbytes for _, nbytes, _ in chunks), default=0)
        with mmap.mmap(-1, max(longest, 1)) as blank:
            file = PlacingFile(changes, blank)
            with hdf5.changed(changes, opening=lambda _: file) as opened, memoryview(blank) as view:
                dataset = hdf5.dataset_of(opened, self._variable)
                for place, (at, nbytes, skipped) in enumerate(chunks):
                    first = tuple(i * n for i, n in zip(at, dataset.chunks, strict=True))
                    with view[:nbytes] as data:
                        dataset.id.write_direct_chunk(first, data, skipped)
                    if [count for _, count in file.reserved[place:]] != [nbytes]:
                        raise Error(f"{changes.path}: HDF5 has not written chunk {at} of {self._variable} in one piece")
        return [offset for offset, _ in file.reserved]

    def keep(self) -> None:
        """Let all that was placed stay: it is written."""
        if self._mark is not None:
            self._file.settle()
            self._mark = None  # else it is taken back

    def undo(self) -> None:
        """Make the file what it was when the first chunk was placed."""
        if self._mark is not None:
            mark, self._mark = self._mark, None
            self._file.changes().undo(mark)

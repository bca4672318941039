"""Places in an HDF5 file for chunks that Swath encodes: room that the library allocates, and writes nothing to.

HDF5 allocates room for an encoded chunk when it is written, by a direct chunk write; the core passes over what it would
write (core/formats/hdf5/chunk_room.h). So the library writes its own metadata, and what the chunk holds is written by
Swath's engines.

A chunk that is stored again in another size gets other room; one of the same size keeps its own, and one that is
smaller may begin where it began. What is there is kept by `Changes` before it is overwritten, so that a write that
fails, or is killed, can be taken back whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from swath import _core
from swath.formats.changes import Changes, Mark

NewChunk = tuple[tuple[int, ...], int, int, bool]
"""Its place in the grid, how many bytes it takes, a bit for each codec that was left out, and whether other codecs were
left out of the chunk as it is stored now, which takes as many bytes."""


class ChangedFile(Protocol):
    """Whoever has a file open, and takes its changes back."""

    def changes(self) -> Changes:
        """Return the changes that are not committed yet."""

    def checkpoint(self) -> None:
        """Let what was written of elements stay, also after a kill."""


class ChunkAllocator:
    """Who gives the chunks of one dataset their places: what the core calls on rank 0, while it writes.

    Args:
        file: that the dataset is in.
        variable: the dataset's name.
        shape: of the array, which the dataset gets where it is shorter.
    """

    def __init__(self, file: ChangedFile, variable: str, shape: tuple[int, ...]) -> None:
        self._file = file
        self._variable = variable
        self._shape = shape
        self._mark: Mark | None = None  # before the first chunk of this write

    def place(self, chunks: Sequence[NewChunk]) -> list[int]:
        """Give each chunk room, and return where in the file; it must be written there before anybody reads it.

        Raises StoreError where the system refuses; the file is then what it was before this call.
        """
        changes = self._file.changes()
        if self._mark is None:
            self._mark = changes.mark()
        return _core.changed_format_file("hdf5", changes).place_chunks(self._variable, self._shape, chunks)

    def keep(self) -> None:
        """Let all that was placed stay: it is written."""
        if self._mark is not None:
            self._file.checkpoint()
            _core.changed_format_file("hdf5", self._file.changes()).written(self._variable, are_chunks=True)
            self._mark = None  # else it is taken back

    def undo(self) -> None:
        """Make the file what it was when the first chunk was placed."""
        if self._mark is not None:
            mark, self._mark = self._mark, None
            self._file.changes().undo(mark)

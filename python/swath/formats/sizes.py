"""The stored bytes of files, stores and their arrays."""

from __future__ import annotations

import math
import os

from swath.base import stored_path
from swath.formats.description import (
    ChunkedLayout,
    ChunkTable,
    CodedLayout,
    Description,
    LibraryLayout,
)
from swath.formats.files import files_below, store_errors


def of_path(path: str) -> int:
    """Return the bytes of a file, or of all files of a folder."""
    stored = stored_path.of(path)
    with store_errors(path, "look at"):
        if not stored.is_local or not os.path.isdir(path):
            return stored.size()
        return sum(os.lstat(file).st_size for file in files_below(path))


def stored_bytes(description: Description) -> int | None:
    """Return the bytes of the elements; for chunks, of those that are stored; None if only a library knows."""
    layout, itemsize = description.layout, description.dtype.itemsize
    if isinstance(layout, LibraryLayout):
        return None
    if isinstance(layout, ChunkedLayout):
        return int((layout.offsets >= 0).sum()) * math.prod(layout.chunk_shape) * itemsize
    if not isinstance(layout, CodedLayout):
        return math.prod(description.shape) * itemsize
    if isinstance(layout.places, ChunkTable):
        return int(layout.places.nbytes[layout.places.offsets >= 0].sum())
    return of_path(layout.path)

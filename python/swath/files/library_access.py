"""Reading and writing through the format's own library, where Swath's engines cannot reach the bytes.

This is correct, but slower. It serves compressed chunks, and compact, external and virtual datasets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import formats
from swath.formats import CodedLayout, Description, LibraryLayout

SLAB_BYTES = 16 << 20
"""Bytes that one call of the library moves; a call cannot be interrupted."""
SLAB_BYTES_MAX = 64 << 20
"""The limit if a row of chunks is larger than `SLAB_BYTES`: smaller calls would decode each chunk several times."""
Part = npt.NDArray[Any]
Indices = list[npt.NDArray[np.int64]]


def move(description: Description, direction: str, indices: Callable[[], list[Indices]], parts: list[Part]) -> None:
    """Read or write the parts of this rank alone; the caller makes other ranks and threads wait if they must.

    Args:
        description: the description of the array.
        direction: "read" or "write".
        indices: returns the indices of each part: an ascending or descending list for each dimension of the array.
        parts: the memory of each part.
    """
    access = _read if direction == "read" else _write
    for of_part, part in zip(indices(), parts, strict=True):
        access(description, of_part, part)


def _read(description: Description, indices: Indices, part: Part) -> None:
    full = part.reshape([len(i) for i in indices]) if part.ndim != len(indices) else part
    if full.size == 0:
        return
    for rows, box, picked in _slabs(description, indices):
        values = np.asarray(formats.library_read(description, box), dtype=description.dtype)
        (full if rows is None else full[rows])[...] = values[picked]
    if full is not part and not np.shares_memory(full, part):
        part[...] = full.reshape(part.shape)


def _write(description: Description, indices: Indices, part: Part) -> None:
    full = part.reshape([len(i) for i in indices])
    if full.size == 0:
        return
    for rows, box, picked in _slabs(description, indices):
        values = np.array(formats.library_read(description, box), dtype=description.dtype)
        values[picked] = full[rows] if rows is not None else full
        formats.library_write(description, box, values)


def _slabs(description: Description, indices: Indices) -> Any:
    """Yield (rows of the part, box of the array as slices, indices to pick from the box); boxes have a bounded size.

    The bounding box of the indices is cut along dimension 0, between chunks if possible.
    """
    if not indices:
        yield None, (), ()
        return
    inner = [slice(int(i.min()), int(i.max()) + 1) for i in indices[1:]]
    row_bytes = description.dtype.itemsize
    for s in inner:
        row_bytes *= s.stop - s.start
    chunk_rows = _chunk_rows(description)
    rows_max = max(SLAB_BYTES // max(row_bytes, 1), min(chunk_rows, SLAB_BYTES_MAX // max(row_bytes, 1)), 1)
    begin = 0
    while begin < len(indices[0]):
        end = begin + 1
        low = high = int(indices[0][begin])
        stop = max((low + rows_max) // chunk_rows * chunk_rows, low + 1) if rows_max >= chunk_rows else low + rows_max
        while end < len(indices[0]):
            index = int(indices[0][end])
            if index >= stop or max(high, index) - min(low, index) >= rows_max:
                break
            low, high, end = min(low, index), max(high, index), end + 1
        box = (slice(low, high + 1), *inner)
        picked = np.ix_(indices[0][begin:end] - low, *(i - s.start for i, s in zip(indices[1:], inner, strict=False)))
        yield slice(begin, end), box, picked
        begin = end


def _chunk_rows(description: Description) -> int:
    layout = description.layout
    shape = layout.chunk_shape if isinstance(layout, (CodedLayout, LibraryLayout)) else None
    return max(shape[0], 1) if shape else 1

"""Shared by tests of HDF5 and netCDF-4 files with many variables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from swath.formats import hdf5
from swath.formats.changes import FileChanges
from swath.formats.description import ChunkedLayout, Description, NewArray, StridedLayout

KINDS = ["netcdf4", "hdf5"]


def started(path: Any, kind: str) -> str:
    """Make a new file without variables, and return its path."""
    hdf5.start(str(path), "netcdf4" if kind == "netcdf4" else None)
    return str(path)


def new(name: str, shape: tuple[int | None, ...], dtype: Any = "f4", dimensions: Any = None, **given: Any) -> NewArray:
    """Return the argument of `add`; a length of None grows."""
    stored = np.dtype(dtype)
    fill = given.pop("fill", None)
    return NewArray(
        shape=tuple(n or 0 for n in shape),
        dtype=stored,
        order=tuple(range(len(shape))),
        fill=None if fill is None else np.array(fill, stored),
        variable=name,
        dimensions=dimensions,
        attributes=given.pop("attributes", {}),
        flavour=None,
        unlimited=tuple(n is None for n in shape) if None in shape else (),
        **given,
    )


@contextlib.contextmanager
def changing(path: str) -> Iterator[FileChanges]:
    """Commit the changes at the end."""
    with FileChanges("hdf5", path) as changes:
        yield changes
        changes.commit()


def add(path: str, *asked: NewArray) -> list[Description]:
    """Add several, in one transaction."""
    with changing(path) as changes:
        return [hdf5.add(changes, one) for one in asked]


def store(description: Description, values: Any, first_row: int = 0) -> None:
    """Write values at the described bytes: rows from `first_row` on; a whole scalar. By NumPy alone."""
    layout, shape, dtype = description.layout, description.shape, description.dtype
    values = np.asarray(values, dtype)
    raw = np.memmap(description.path, np.uint8, "r+")
    if isinstance(layout, StridedLayout):
        placed = np.ndarray(shape, dtype, raw, layout.offset, layout.strides)
        placed[first_row : first_row + len(values)] = values if shape else placed[...]
        return
    assert isinstance(layout, ChunkedLayout)
    full = np.zeros(shape, dtype)
    full[first_row : first_row + len(values)] = values
    rows = range(first_row, first_row + len(values))
    for place in np.ndindex(layout.offsets.shape):
        begin = [p * c for p, c in zip(place, layout.chunk_shape, strict=True)]
        box = [slice(b, min(b + c, n)) for b, c, n in zip(begin, layout.chunk_shape, shape, strict=True)]
        box[0] = slice(max(box[0].start, rows.start), min(box[0].stop, rows.stop))
        if box[0].start >= box[0].stop:
            continue
        assert layout.offsets[place] >= 0, place
        chunk = np.ndarray(layout.chunk_shape, dtype, raw, int(layout.offsets[place]))
        chunk[tuple(slice(s.start - b, s.stop - b) for s, b in zip(box, begin, strict=True))] = full[tuple(box)]


def append(changes: FileChanges, name: str, row: int, values: Any) -> None:
    """Write the next row of a variable, as an open file does."""
    description = hdf5.extend(changes, name, row + 1)
    assert description.shape[0] == row + 1
    store(description, np.asarray(values)[None], row)


def read_by_h5py(path: Any, name: str) -> Any:
    """Return all values of a dataset."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "r") as file:
        return file[name][()]

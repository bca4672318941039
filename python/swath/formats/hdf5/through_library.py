"""Reads and writes through the HDF5 library what Swath cannot: one process at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError, UnsupportedError
from swath.formats import hdf5_filters
from swath.formats.description import Description, LibraryLayout, text
from swath.formats.forward_index import forward_only
from swath.formats.hdf5.access import changed_at_once, dataset_of, opened
from swath.formats.hdf5.extent import grow

_VIRTUAL = "virtual dataset: its elements are those of other datasets"
_EXTERNAL = "external storage: its elements lie in other files"
"""Why the library is needed; it opens other files, by paths relative to this one."""


def library_read(description: Description, index: tuple[slice | int, ...]) -> npt.NDArray[Any]:
    """Return the selected elements through h5py, in the stored dtype. Integers drop their dimension."""
    forward, flips, shape = forward_only(index, description)
    with opened(description.path) as file:
        dataset = dataset_of(file, description.variable or "")
        with filters_there(description.name, dataset):
            values = _read(dataset, forward, shape, description)
    if description.dtype.hasobject:
        values = _texts(values)
    forwards = values.astype(description.dtype, copy=False)
    return np.ascontiguousarray(forwards[flips]).reshape(values.shape)


def library_write(description: Description, index: tuple[slice | int, ...], values: npt.ArrayLike) -> None:
    """Replace the selected elements by `values`, which may be broadcast, through h5py. One process at a time."""
    if description.dtype.hasobject:
        raise UnsupportedError(
            f"{description.name}: Swath reads text of variable length, and does not write it; write it with h5py or "
            "netCDF4, or create a variable of fixed-length text ('S16')"
        )
    forward, flips, shape = forward_only(index, description)
    try:
        whole_values = np.broadcast_to(np.asarray(values), shape)[flips]
    except ValueError:
        raise ArgumentError(
            f"{description.name}: values of shape {np.shape(values)} do not fit the selection's {shape}"
        ) from None
    layout = description.layout
    elsewhere = isinstance(layout, LibraryLayout) and layout.reason in (_VIRTUAL, _EXTERNAL)
    with opened(description.path, "r+") if elsewhere else changed_at_once(description.path) as file:
        dataset = dataset_of(file, description.variable or "")
        with filters_there(description.name, dataset):
            grow(dataset, description.shape)
            dataset[forward] = as_stored(whole_values, dataset.dtype)


@contextmanager
def filters_there(name: str, dataset: Any) -> Iterator[None]:
    """Load the filters of a dataset (h5py's) into HDF5; if a filter is missing, UnsupportedError, which names it."""
    missing = hdf5_filters.missing_filters(dataset.id.get_create_plist())
    try:
        yield
        if missing and dataset.file.mode != "r":
            dataset.id.flush()  # filters fail here, not when the file is closed
    except (OSError, RuntimeError, ValueError):
        if not missing:
            raise
        raise UnsupportedError(
            f"{name}: HDF5 needs filter {', '.join(missing)} for its chunks, and has it not: pip install hdf5plugin, "
            "which has most of those that are registered, or name the folder of the filter in HDF5_PLUGIN_PATH"
        ) from None


def as_stored(values: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return values in h5py's dtype with its metadata, which `astype` loses: the encoding of text."""
    found = np.empty(values.shape, dtype)
    found[...] = values
    return found


def _read(
    dataset: Any, index: tuple[slice | int, ...], shape: tuple[int, ...], description: Description
) -> npt.NDArray[Any]:
    """Return the selected elements; those after the end of a growing dataset are the fill value."""
    ends = [one.stop if isinstance(one, slice) else one + 1 for one in index]
    if all(end <= stored for end, stored in zip(ends, dataset.shape, strict=True)):
        return np.asarray(dataset[index])
    fill = "" if description.dtype.hasobject else np.frombuffer(description.fill, description.dtype)[0]
    values = np.full(shape, fill, description.dtype)
    inside = tuple(
        slice(one.start, min(one.stop, stored), one.step) if isinstance(one, slice) else one
        for one, stored in zip(index, dataset.shape, strict=True)
    )
    counts = [
        len(range(*one.indices(n))) for one, n in zip(inside, dataset.shape, strict=True) if isinstance(one, slice)
    ]
    is_stored = all(isinstance(one, slice) or one < n for one, n in zip(inside, dataset.shape, strict=True))
    if is_stored and all(counts):
        values[tuple(slice(0, count) for count in counts)] = dataset[inside]
    return values


def write_texts(path: str, variable: str, pieces: Iterable[tuple[Any, npt.NDArray[Any]]]) -> None:
    """Write boxes of text of variable length, arrays of `str`, into a file that no other process has open."""
    with opened(path, "r+") as file:
        dataset = dataset_of(file, variable)
        for box, texts in pieces:
            dataset[box] = texts if texts.ndim else texts[()]


def _texts(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the same array with str for bytes."""
    decoded = np.empty(values.shape, object)
    flat = decoded.reshape(-1)
    for i, one in enumerate(values.ravel()):
        flat[i] = text(one) if isinstance(one, bytes) else one
    return decoded

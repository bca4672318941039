"""Reading and writing through the HDF5 library, where the bytes are out of reach: one process at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError, UnsupportedError
from swath.formats.description import Description, LibraryLayout, text
from swath.formats.forward_index import forward_only
from swath.formats.hdf5.access import changed_at_once, dataset_of, opened
from swath.formats.hdf5.layout import EXTERNAL, VIRTUAL


def library_read(description: Description, index: tuple[slice | int, ...]) -> npt.NDArray[Any]:
    """Return the selected elements through h5py, in the stored dtype. Integers drop their dimension."""
    forward, flips, _ = forward_only(index, description)
    with opened(description.path) as file:
        values = np.asarray(dataset_of(file, description.variable or "")[forward])
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
    elsewhere = isinstance(layout, LibraryLayout) and layout.reason in (VIRTUAL, EXTERNAL)
    with opened(description.path, "r+") if elsewhere else changed_at_once(description.path) as file:
        dataset = dataset_of(file, description.variable or "")
        dataset[forward] = np.array(whole_values, dtype=dataset.dtype)


def _texts(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the same array with str for bytes."""
    decoded = np.empty(values.shape, object)
    flat = decoded.reshape(-1)
    for i, one in enumerate(values.ravel()):
        flat[i] = text(one) if isinstance(one, bytes) else one
    return decoded

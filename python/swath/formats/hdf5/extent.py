"""Extends HDF5 datasets that are shorter in the file than their dimensions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from swath.formats.hdf5 import attributes
from swath.formats.hdf5.access import library
from swath.formats.netcdf_fills import NETCDF_FILLS


def grow(dataset: Any, shape: tuple[int, ...]) -> None:
    """Extend a dataset (h5py's) to at least `shape` along the dimensions that grow.

    New elements have the fill value: HDF5 writes it, or this function, if HDF5 must never fill.
    """
    before = dataset.shape
    along = zip(before, shape, dataset.maxshape, strict=True)
    after = tuple(stored if longest is not None else max(stored, n) for stored, n, longest in along)
    if after == before:
        return
    dataset.id.set_extent(after)
    if _is_never_filled(dataset.id.get_create_plist()) and not dataset.dtype.hasobject:
        fill = np.frombuffer(_fill_of(dataset, dataset.dtype), dataset.dtype)[0]
        for box in _new_boxes(before, after, dataset.chunks):
            dataset[box] = np.full([one.stop - one.start for one in box], fill)


def _new_boxes(before: tuple[int, ...], after: tuple[int, ...], chunks: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Yield boxes that cover the new part of a longer array: each is in one chunk."""
    for axis, begin in enumerate(before):
        low = [begin if i == axis else 0 for i in range(len(before))]
        high = (*before[:axis], *after[axis:])
        yield from itertools.product(*map(_pieces, low, high, chunks))


def _pieces(low: int, high: int, chunk: int) -> list[slice]:
    """Return a range, cut between chunks."""
    return [slice(max(low, at), min(high, at + chunk)) for at in range(low // chunk * chunk, high, chunk)]


def _is_never_filled(plist: Any) -> bool:
    """Return whether HDF5 leaves elements undefined until they are written, from a creation property list.

    Otherwise chunks have the fill value where nothing was written, also after the end of the dataset.
    """
    h5py = library()
    is_undefined = plist.fill_value_defined() == h5py.h5d.FILL_VALUE_UNDEFINED
    return bool(is_undefined or plist.get_fill_time() == h5py.h5d.FILL_TIME_NEVER)


def _fill_of(dataset: Any, dtype: np.dtype[Any]) -> bytes:
    """Return the value that is read if nothing is stored: the fill value, or zeros if HDF5 must never fill.

    A netCDF-4 variable that is never filled reads as its `_FillValue`, or as netCDF's default.
    """
    if dtype.hasobject:
        return bytes(dtype.itemsize)
    if not _is_never_filled(dataset.id.get_create_plist()):
        return np.array(dataset.fillvalue, dtype).tobytes()
    if "_Netcdf4Coordinates" in (names := attributes.names(dataset.id)) or "_Netcdf4Dimid" in names:
        own = attributes.raw(dataset.id, "_FillValue")
        if own is not None and own.size == 1:
            return np.array(own.ravel()[0], dtype).tobytes()
        return np.array(NETCDF_FILLS.get(dtype.str[1:], 0), dtype).tobytes()
    return bytes(dtype.itemsize)

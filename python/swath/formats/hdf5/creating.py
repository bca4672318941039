"""New HDF5 and netCDF-4 files, new datasets in them, and attributes.

The elements of a new dataset are holes in the file: nobody writes them here. Its dimensions are dimension scales.
"""

from __future__ import annotations

import dataclasses
import os

import numpy as np

import swath
from swath.errors import ArgumentError
from swath.formats.changes import Changes
from swath.formats.contents import Attributes
from swath.formats.description import ChunkedLayout, Description, NewArray, StridedLayout
from swath.formats.files import clear, extend, fresh, store_errors, whole
from swath.formats.hdf5 import attributes
from swath.formats.hdf5.access import changed, dataset_of, is_name, library, opened
from swath.formats.hdf5.describing import described
from swath.formats.hdf5.new_dataset import NewDataset
from swath.formats.hdf5.scales import is_dimension_only, is_netcdf4

FLAVOURS = ("netcdf4",)


def start(path: str, flavour: str | None) -> None:
    """Make a file that holds nothing yet, of netCDF-4 where `flavour` is "netcdf4". ExistsError where there is one."""
    with fresh(path):
        write_signature(Changes(path, is_durable=False), flavour)


def create(path: str, new: NewArray) -> Description:
    """Make a file with one dataset: `start`, then `add`."""
    with fresh(path):
        changes = Changes(path, is_durable=False)
        write_signature(changes, new.flavour)
        return add(changes, new)


def add(changes: Changes, new: NewArray) -> Description:
    """Make a dataset in an existing file, with the groups and dimensions that it needs; as it was where that fails.

    Of fixed shape and without codecs it is allocated, all its bytes holes; else no chunk is stored yet. `new.fill`
    becomes the dataset's fill value, and its attribute `_FillValue`.

    Raises ExistsError where there is one of that name, ArgumentError for a name or dtype that the format has not, for
    codecs that it has no filters for, and for dimensions that are in the file with other lengths.
    """
    new.needs_c_order("HDF5")
    size_before = os.path.getsize(changes.path)
    with changed(changes) as file:
        fill = NewDataset(changes.path, file, new).make()
    with opened(changes.path) as file:
        made = described(changes.path, dataset_of(file, new.name))
    _clear(changes, made, size_before)
    extend(changes.path, made.end)
    return whole(made if fill is None else dataclasses.replace(made, fill=fill.tobytes()))


def set_attributes(changes: Changes, holder: str, new: Attributes) -> None:
    """Add attributes to the file (""), a group or a variable, or replace them; None removes one.

    Raises ArgumentError where there is no such holder, and for what the format cannot store.
    """
    with changed(changes) as file:
        found = file["/"] if not holder.strip("/") else dataset_of(file, holder)
        if found is None and is_name(holder):
            found = file.get(holder)
        if found is None or (isinstance(found, library().Dataset) and is_dimension_only(found.id)):
            raise ArgumentError(f"{changes.path}: there is no group and no variable {holder!r}")
        attributes.replace(found, new, as_netcdf=is_netcdf4(file))


def write_signature(changes: Changes, flavour: str | None) -> None:
    """Make an empty file one of HDF5, or of netCDF-4, that holds nothing yet."""
    if flavour not in (None, *FLAVOURS):
        raise ArgumentError(f"HDF5 has no flavour {flavour!r}; expected one of {', '.join(FLAVOURS)}, or none")
    with changed(changes, "w") as file:
        if flavour == "netcdf4":
            h5py = library()
            says = f"version=2,swath={swath.__version__},hdf5={h5py.version.hdf5_version},h5py={h5py.__version__}"
            file.attrs.create("_NCProperties", np.bytes_(says.encode()))


def _clear(changes: Changes, made: Description, size_before: int) -> None:
    """Make zeros of what a new dataset has of the file as it was: room that HDF5 had given up, which is no hole."""
    layout = made.layout
    places: list[tuple[int, int]] = []
    if isinstance(layout, StridedLayout):
        places = [(layout.offset, made.end)]
    elif isinstance(layout, ChunkedLayout):
        nbytes = int(np.prod(layout.chunk_shape)) * made.dtype.itemsize
        places = [(int(at), int(at) + nbytes) for at in layout.offsets.ravel() if 0 <= at < size_before]
    used = [(begin, min(end, size_before)) for begin, end in places if begin < min(end, size_before)]
    if not used:
        return
    with store_errors(changes.path, "clear room in it"), open(changes.path, "r+b", buffering=0) as file:
        changes.keep_all(file.fileno(), [(begin, end - begin) for begin, end in used])
        for begin, end in used:
            clear(file.fileno(), begin, end)

"""Creates and changes HDF5 and netCDF-4 files by the core (core/formats/hdf5/), which uses HDF5's own library.

A file is open from its first change on, until its `FileChanges` are closed or undone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator

from swath.errors import ArgumentError
from swath.formats import hdf5_filters
from swath.formats.changes import FileChanges
from swath.formats.description import ChunkedLayout, Description, NewArray
from swath.formats.through_core import FormatOfCore

FLAVOURS: tuple[str, ...] = ("netcdf4",)


class Hdf5OfCore(FormatOfCore):
    """HDF5's files for `swath.formats`."""

    has_codecs = True

    def start(self, path: str, flavour: str | None) -> None:
        """Make an empty file, for netCDF-4 if `flavour` says so. ExistsError if there is one."""
        if flavour not in (None, *FLAVOURS):
            raise ArgumentError(f"HDF5 has no flavour {flavour!r}; expected one of {', '.join(FLAVOURS)}, or none")
        super().start(path, flavour)

    def create(self, path: str, new: NewArray) -> Description:
        """Make a file with one dataset: `start`, then `add`."""
        self.start(path, new.flavour)
        try:
            with FileChanges(self.name, path, is_new=True) as changes:
                made = self.add(changes, new)
                changes.commit()
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
        return made

    def allocate(self, description: Description, changes: FileChanges | None = None) -> Description:
        """Allocate and fill all parts of a dataset that are not in the file; return the new positions.

        Without `changes` of the file, whose owner commits them, this commits at the end.

        Call it on one rank before bytes are written, while no other process has the file open. HDF5 writes the fill
        value to the space that it allocates (a contiguous dataset as a whole), in one sequential pass. If this fails,
        for example because the disk is full, the file is as it was before.
        """
        layout = description.layout
        if not isinstance(layout, ChunkedLayout) or not (description.stored_shape or (layout.offsets < 0).any()):
            return description
        with _own(description.path) if changes is None else contextlib.nullcontext(changes) as used:
            return self.described(used.allocate(description.variable or ""))

    def _array_for_core(self, new: NewArray) -> NewArray:
        """Return the array with the core's codecs for the user's names."""
        return dataclasses.replace(new, codecs=hdf5_filters.asked_codecs(new.codecs, new.dtype.itemsize))


@contextlib.contextmanager
def _own(path: str) -> Iterator[FileChanges]:
    with FileChanges("hdf5", path) as changes:
        yield changes
        changes.commit()


_core_format = Hdf5OfCore("hdf5")

add = _core_format.add
allocate = _core_format.allocate
create = _core_format.create
create_file = _core_format.create_file
extend = _core_format.extend
refusals = _core_format.refusals
set_attributes = _core_format.set_attributes
set_length = _core_format.set_length
start = _core_format.start
to_add = _core_format.to_add

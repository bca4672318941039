"""HDF5 datasets, which netCDF-4 variables are too. The core says what files hold, and changes it; h5py reads texts.

No handle of h5py is open when a function here returns, because HDF5 overwrites at close what others wrote behind a
cached chunk; the core keeps none. Files are opened with `locking="best-effort"`: a file that another process has open
for writing is refused (its metadata may not be on disk yet), a file system without locks is accepted; the environment
variable HDF5_USE_FILE_LOCKING overrules it. A handle that this process itself has open for writing is not noticed:
flush and close it before.

    access            opens files by h5py, finds datasets; changes that can be taken back
    attributes        typed values, as h5py and as netCDF-4 store them
    scales            dimension scales, which are netCDF-4's dimensions: found by their attributes
    reading           what a whole file holds, and where its datasets are: by the core, which uses HDF5's own library
    changing          new files, datasets, attributes, rows and places of chunks: by the core, too
    extent            datasets that become as long as their dimensions
    links             links, and named types
    objects           what one file takes from another as it is
    references        references that lead nowhere in a copy
    boxes             an array's elements, some at a time
    through_library   elements that the library must read and write
"""

from swath.formats.hdf5.access import changed, dataset_of, matches, refuse_written
from swath.formats.hdf5.changing import (
    FLAVOURS,
    add,
    allocate,
    create,
    create_file,
    extend,
    refusals,
    set_attributes,
    set_length,
    start,
    to_add,
)
from swath.formats.hdf5.extent import grow
from swath.formats.hdf5.reading import contents, describe, describe_many
from swath.formats.hdf5.through_library import library_read, library_write, write_texts

__all__ = [
    "FLAVOURS",
    "add",
    "allocate",
    "changed",
    "contents",
    "create",
    "create_file",
    "dataset_of",
    "describe",
    "describe_many",
    "extend",
    "grow",
    "library_read",
    "library_write",
    "matches",
    "refusals",
    "refuse_written",
    "set_attributes",
    "set_length",
    "start",
    "to_add",
    "write_texts",
]

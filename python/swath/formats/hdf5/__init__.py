"""HDF5 datasets, also netCDF-4 variables. The core reads and changes the metadata of files; h5py reads texts.

When these functions return, no handle of h5py is open, because at close HDF5 overwrites bytes that others wrote after a
cached chunk; the core keeps none open. Files are opened with `locking="best-effort"`: a file that another process has
open for writing is refused, since its metadata may be incomplete; a file system without locks is accepted; the
environment variable HDF5_USE_FILE_LOCKING overrules this. Swath does not notice a handle for writing in this same
process: flush and close it first.

    access            opens files by h5py, finds datasets; changes that can be undone
    attributes        typed values, as h5py and as netCDF-4 store them
    scales            dimension scales, which are netCDF-4's dimensions: found by their attributes
    reading           contents of whole files, and positions of datasets: by the core, which uses HDF5's own library
    changing          new files, datasets, attributes, rows and chunk allocations: by the core, too
    extent            datasets that become as long as their dimensions
    links             links, and named types
    objects           objects that one file copies unchanged from another
    references        references whose targets are missing in a copy
    boxes             an array in parts of limited size
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

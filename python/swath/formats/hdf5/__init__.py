"""HDF5 datasets, which netCDF-4 variables are too: where their bytes are, by h5py's chunk and offset queries.

No HDF5 handle is open when a function here returns, because HDF5 overwrites at close what others wrote behind a cached
chunk. Files are opened with `locking="best-effort"`: a file that another process has open for writing is refused
(its metadata may not be on disk yet), a file system without locks is accepted; the environment variable
HDF5_USE_FILE_LOCKING overrules it. A handle that this process itself has open for writing is not noticed: flush
and close it before.

    access            opens files, finds datasets; changes that can be taken back
    attributes        typed values, as h5py and as netCDF-4 store them
    scales            dimension scales, which are netCDF-4's dimensions: found by their attributes, made and attached
    layout            where the elements of a dataset are
    describing        one dataset
    survey            what a whole file holds
    creating          new files and datasets
    growing           room for new rows, and for chunks that have no place yet
    whole             new files with everything in them
    through_library   elements that the library must read and write
"""

from swath.formats.hdf5.access import changed, dataset_of, matches
from swath.formats.hdf5.creating import FLAVOURS, add, create, set_attributes, start
from swath.formats.hdf5.describing import describe, describe_many
from swath.formats.hdf5.growing import allocate, extend, set_length
from swath.formats.hdf5.survey import contents
from swath.formats.hdf5.through_library import library_read, library_write
from swath.formats.hdf5.whole import create_file, refusals

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
    "library_read",
    "library_write",
    "matches",
    "refusals",
    "set_attributes",
    "set_length",
    "start",
]

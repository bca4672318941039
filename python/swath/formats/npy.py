"""NumPy's .npy files: one array in C or Fortran order after a short header (versions 1.0, 2.0 and 3.0).

`numpy.lib.format` reads and writes the header.
"""

from __future__ import annotations

import io
import math
import os
import struct
from typing import Any, BinaryIO

import numpy as np
import numpy.lib.format as npy

from swath.errors import ArgumentError, FormatError
from swath.formats.contents import Contents, of_one_array
from swath.formats.description import (
    Description,
    NewArray,
    StridedLayout,
    checked_order,
    fields_in_order,
    refuse_chunks,
    refuse_names,
    refuse_objects,
    stored_strides,
    strides_of,
    without_metadata,
)
from swath.formats.files import fresh, opened, whole

MAGIC = b"\x93NUMPY"


def matches(file: BinaryIO, size: int) -> bool:
    """Return whether the file begins like a .npy file."""
    del size
    return file.read(len(MAGIC)) == MAGIC


def describe(path: str, variable: str | None = None) -> Description:
    """Return the one array of a .npy file.

    Raises ArgumentError for a variable (there are no names), FormatError for a header that is damaged or states more
    data than there are, UnsupportedError for Python objects.
    """
    if variable is not None:
        raise ArgumentError(f"{path}: a .npy file holds one array without a name; leave out variable={variable!r}")
    with opened(path) as (file, size):
        shape, fortran, dtype = _header(file, path, size)
        offset = file.tell()
    refuse_objects(dtype, path)
    if any(n < 0 for n in shape):
        raise FormatError(f"{path}: the header gives the impossible shape {shape}")
    strides = stored_strides(path, shape, dtype.itemsize, checked_order("F" if fortran else "C", len(shape)))
    nbytes = math.prod(shape) * dtype.itemsize
    layout = StridedLayout(offset, strides)
    return whole(
        Description(
            path, "npy", None, shape, dtype, layout, bytes(dtype.itemsize), {}, offset + nbytes if nbytes else 0
        )
    )


def contents(path: str) -> Contents:
    """Return the one array, which has no name."""
    array = describe(path)
    return of_one_array("npy", array.shape, array.dtype)


def create(path: str, new: NewArray) -> Description:
    """Create a .npy file of the full size: NumPy's header, then holes. Raises as `check`."""
    order = check(new)
    with fresh(path):
        header, size = _new_header(new, fortran=order == "F")
        with open(path, "wb") as file:
            file.write(header)
            file.truncate(size)
        return describe(path)


def check(new: NewArray) -> str:
    """Return "C" or "F", the order of the elements. Raises ArgumentError for what the format cannot store."""
    refuse_names(new, ".npy")
    refuse_chunks(new, ".npy")
    if new.dtype.names is not None:
        fields_in_order(new.dtype, ".npy")
    strides = strides_of(new.shape, new.dtype.itemsize, new.order)
    for order in "CF":
        if strides == strides_of(new.shape, new.dtype.itemsize, checked_order(order, len(new.shape))):
            return order
    raise ArgumentError(f".npy stores order C or F, not dimensions {new.order}; create a raw file instead")


def _new_header(new: NewArray, *, fortran: bool) -> tuple[bytes, int]:
    """Return the header of a new file, and the size of the whole.

    open_memmap chooses the oldest version that can store the header, which NumPy's public writers do not. It gets
    memory instead of a file, because some file systems do not support mmap (FUSE without the page cache).
    """
    memory = os.memfd_create("npy")
    try:
        dtype = without_metadata(new.dtype)
        mapped = npy.open_memmap(f"/proc/self/fd/{memory}", "w+", dtype, new.shape, fortran_order=fortran)
        return os.pread(memory, mapped.offset, 0), os.fstat(memory).st_size
    finally:
        os.close(memory)


def _header(file: BinaryIO, path: str, size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = npy.read_magic(file)
        if version == (1, 0):
            return npy.read_array_header_1_0(file)
        if version in ((2, 0), (3, 0)):
            return npy.read_array_header_2_0(_as_ascii(file, size, "latin-1" if version == (2, 0) else "utf-8"))
    except Exception as error:  # noqa: BLE001  NumPy's parser lets many kinds escape from a damaged header
        raise FormatError(f"{path}: not a readable .npy header ({error})") from None
    raise FormatError(f"{path}: .npy version {version[0]}.{version[1]} is unknown; expected 1.0, 2.0 or 3.0")


def _as_ascii(file: BinaryIO, size: int, encoding: str) -> BinaryIO:
    r"""Return the header of version 2.0 (Latin-1) or 3.0 (UTF-8, no public reader in NumPy) as version 2.0 in ASCII.

    A header is a Python literal, in which escapes mean the same: [('é', '<f4')] becomes [('\xe9', '<f4')].
    """
    (length,) = struct.unpack("<I", file.read(4))
    if length > size - file.tell():
        raise ValueError(f"it claims {length} bytes, {size - file.tell()} are left")
    escaped = file.read(length).decode(encoding).encode("ascii", "backslashreplace")
    return io.BytesIO(struct.pack("<I", len(escaped)) + escaped)

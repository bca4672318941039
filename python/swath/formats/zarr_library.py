"""Reads by zarr-python what Swath cannot read in Zarr stores: text of variable length, rare codecs.

Code that is stored in the file never runs: pickled objects are refused.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import Error, FormatError, UnsupportedError, store_error
from swath.formats.contents import Variable
from swath.formats.description import Description, LibraryLayout, without_metadata
from swath.formats.forward_index import forward_only

_OBJECT = np.dtype(object)
_MISSING = "it can be read through zarr-python, which is not installed: pip install zarr"
_PICKLED = "its elements are pickled objects"
"""The core's reason for arrays that nobody may read: the library would run the code in them."""


def glance(path: str, variable: Variable) -> Variable:
    """Return an array of the store at `path` in its readable form; for text, without importing the library."""
    why = variable.unsupported
    if not why:
        return variable
    if _is_text(why):
        if importlib.util.find_spec("zarr") is None:
            return replace(variable, chunks=None, unsupported=f"{why}; {_MISSING}")
        return replace(variable, unsupported="")
    unreadable = replace(variable, dtype=None, chunks=None, is_coordinate=True)
    if _PICKLED in why:
        return unreadable
    try:
        dtype, chunks = _stored(folder_of(path, variable.name), why)
    except UnsupportedError as error:
        return replace(unreadable, unsupported=str(error))
    is_own = variable.dimensions == (variable.short_name,) or dtype.kind not in "biufc"
    is_coordinate = is_own if variable.dtype is None else variable.is_coordinate
    return replace(variable, dtype=dtype, chunks=chunks, is_coordinate=is_coordinate, unsupported="")


def described(found: Description) -> Description:
    """Return the library's description of an array that Swath cannot read.

    Raises UnsupportedError if the library cannot read it either, or is not installed.
    """
    layout = found.layout
    assert isinstance(layout, LibraryLayout)
    dtype, chunks = _stored(folder_of(found.path, found.variable or ""), layout.reason)
    fill = bytes(dtype.itemsize) if dtype.hasobject or not found.fill else found.fill
    return replace(found, dtype=dtype, layout=replace(layout, chunk_shape=chunks), fill=fill)


def folder_of(path: str, name: str) -> str:
    """Return the folder of an array's files."""
    return os.path.join(path, name) if name else path


def _stored(folder: str, reason: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return the library's dtype of an array, and the shape of a chunk."""
    file = os.path.join(folder, "zarr.json")
    file = file if os.path.exists(file) else os.path.join(folder, ".zarray")
    try:
        array = _opened(folder)
    except Error as error:
        raise UnsupportedError(f"{file}: {reason}; {error}") from None
    dtype = np.dtype(array.dtype)
    if dtype.kind == "T" or (_is_text(reason) and dtype.hasobject):
        dtype = _OBJECT
    elif dtype.hasobject or dtype.itemsize == 0 or dtype.subdtype is not None:
        raise UnsupportedError(f"{file}: {reason}; elements of dtype {dtype} are no numbers and no text")
    return without_metadata(dtype), tuple(array.chunks)


def _is_text(reason: str) -> bool:
    return reason.endswith(" of variable length")


def library_read(description: Description, index: tuple[slice | int, ...]) -> npt.NDArray[Any]:
    """Return the selected elements through zarr-python, in the stored dtype. Integers drop their dimension."""
    forward, flips, _ = forward_only(index, description)
    array = _opened(folder_of(description.path, description.variable or ""))
    with _translated(description.name):
        values = np.asarray(array[forward])
    values = values.astype(description.dtype, copy=False)  # zarr-python uses a text type of NumPy
    return np.ascontiguousarray(values[flips]).reshape(values.shape)


def library_write(description: Description, index: tuple[slice | int, ...], values: npt.ArrayLike) -> None:
    """Raise UnsupportedError: Swath writes nothing through zarr-python."""
    del index, values
    reason = description.layout.reason if isinstance(description.layout, LibraryLayout) else ""
    raise UnsupportedError(
        f"{description.name}: Swath reads this array through zarr-python ({reason}), and does not write it; write it "
        "with zarr, or into a new array of a dtype and codecs that Swath has"
    )


def _opened(folder: str) -> Any:
    try:
        import zarr
    except ImportError:
        raise UnsupportedError(_MISSING) from None
    with _translated(folder):
        return zarr.open_array(zarr.storage.LocalStore(folder, read_only=True), mode="r")


@contextmanager
def _translated(name: str) -> Iterator[None]:
    """Convert errors of damaged or unsupported arrays: zarr-python, or a codec, raises many types."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about codecs and dtypes that are not in the specification yet
            yield
    except Error:
        raise
    except MemoryError as error:  # also for damaged text, which states its own number of elements
        raise store_error(f"{name}: no memory for what zarr-python reads: {error}", errno.ENOMEM) from None
    except OSError as error:
        raise store_error(f"{name}: zarr-python cannot read it: {error.strerror or error}", error.errno) from None
    except Exception as error:  # noqa: BLE001
        raise FormatError(f"{name}: zarr-python cannot read it: {error or type(error).__name__}") from None

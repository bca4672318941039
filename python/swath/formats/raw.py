"""Raw files have elements only, from `offset` on. The caller gives shape, dtype and order."""

from __future__ import annotations

import math
import operator
from typing import Any

from swath.errors import ArgumentError
from swath.formats.contents import Contents, of_one_array
from swath.formats.description import (
    OFFSET_LIMIT,
    Description,
    NewArray,
    Order,
    StridedLayout,
    checked_dtype,
    checked_order,
    checked_shape,
    refuse_chunks,
    refuse_names,
    strides_of,
)
from swath.formats.files import extend, fresh, whole


def describe(path: str, shape: Any, dtype: Any, order: Order | None = None, offset: int | None = None) -> Description:
    """Return the array of `shape` and `dtype` that begins at byte `offset` (0) of a file without a header.

    Raises ArgumentError for an impossible shape, dtype, order or offset, FormatError for a file that is too short.
    """
    shape, dtype = checked_shape(shape), checked_dtype(dtype)
    try:
        start = operator.index(0 if offset is None else offset)
    except TypeError:
        raise ArgumentError(f"offset must be an integer number of bytes, not {offset!r}") from None
    strides = strides_of(shape, dtype.itemsize, checked_order(order, len(shape)))
    nbytes = math.prod(shape) * dtype.itemsize
    if not 0 <= start <= OFFSET_LIMIT - 1 - nbytes:
        raise ArgumentError(f"offset {start} must be at least 0 and leave {nbytes} bytes below 2**63")
    layout = StridedLayout(start, strides)
    end = start + nbytes if nbytes else 0
    return whole(Description(path, "raw", None, shape, dtype, layout, bytes(dtype.itemsize), {}, end))


def contents(path: str, shape: Any, dtype: Any, order: Order | None = None, offset: int | None = None) -> Contents:
    """Return the one array that the caller describes. Raises as `describe` does."""
    array = describe(path, shape, dtype, order, offset)
    return of_one_array("raw", array.shape, array.dtype)


def create(path: str, new: NewArray) -> Description:
    """Create a raw file of the full size, as one hole. Raises as `check`."""
    check(new)
    with fresh(path):
        extend(path, new.nbytes)
        return describe(path, new.shape, new.dtype, new.order)


def check(new: NewArray) -> None:
    """Raise ArgumentError for what a raw file cannot store."""
    refuse_names(new, "raw")
    refuse_chunks(new, "raw")
    strides_of(new.shape, new.dtype.itemsize, new.order)

"""Checks the caller's memory for reads, writes and redistribution."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError, OutOfMemoryError
from swath.formats.description import differs_in_byte_order_only
from swath.space import Shape

Part = npt.NDArray[Any]


def new_part(shape: Shape, dtype: np.dtype[Any], what: Callable[[], str], *, zeroed: bool = False) -> Part:
    """Return new C-ordered memory. Raise OutOfMemoryError, which names its purpose `what`, if there is not enough."""
    try:
        return (np.zeros if zeroed else np.empty)(shape, dtype)
    except (MemoryError, ValueError):  # ValueError: the number of bytes does not fit into 64 bits
        nbytes = math.prod(shape) * dtype.itemsize
        raise OutOfMemoryError(
            f"{what()}: out of memory: an array of shape {shape} and dtype {dtype} takes {nbytes:,} bytes. Take less "
            "at a time: a selection, or a distribution over more ranks; swath.copy works in bounded memory",
            errno.ENOMEM,
        ) from None


def checked_out(
    out: Any, shapes: list[Shape], dtype: np.dtype[Any], *, boxes: bool, name: str = "out", swaps: bool = True
) -> list[Part]:
    """Return `out` as a list of writable ndarrays of these shapes. Raises ArgumentError, which calls it `name`.

    With `swaps`, `dtype` is the file's, and the byte order may differ. Without, `dtype` is that of the values.
    """
    parts = _as_list(name, out, shapes, boxes)
    for i, (part, shape) in enumerate(zip(parts, shapes, strict=False)):
        where = _where(name, i, boxes)
        if not isinstance(part, np.ndarray):
            raise ArgumentError(f"{where}: expected an ndarray, not {type(part).__name__}")
        if not swaps and part.dtype != dtype:
            raise ArgumentError(f"{where}: dtype {part.dtype}, but values are {dtype}")
        _check_shape(f"{where}:", part, shape)
        _check_dtype(where, part, dtype)
        flags = part.flags
        if not flags.writeable:
            raise ArgumentError(f"{where}: the array is read-only")
        if not flags.c_contiguous and part.size > 0 and _has_shared_places(part):
            raise ArgumentError(f"{where}: several elements share one place in memory (a broadcast view)")
    return parts


def checked_values(
    values: Any, shapes: list[Shape], dtype: np.dtype[Any] | None, *, boxes: bool, name: str = "values"
) -> list[Part]:
    """Return `values` as a list of ndarrays of these shapes. Raises ArgumentError, which calls them `name`.

    `dtype` is the file's. The result has its byte order; values in the other order are copied. Values that are not an
    ndarray get the dtype if it keeps the kind of number. If `dtype` is None, no file is written: then the values stay
    as they are, and must be plain numbers of one dtype.
    """
    parts: list[Part] = []
    for i, (value, shape) in enumerate(zip(_as_list(name, values, shapes, boxes), shapes, strict=False)):
        where = _where(name, i, boxes)
        part = value if isinstance(value, np.ndarray) else _converted(value, dtype)
        _check_shape(f"{where} of" if dtype is None else f"{where}:", part, shape)
        if dtype is None:
            _check_plain(where, part, parts[0].dtype if parts else part.dtype)
        else:
            _check_dtype(where, part, dtype)
        parts.append(part if dtype is None or part.dtype == dtype else part.astype(dtype))
    return parts


def _converted(value: Any, dtype: np.dtype[Any] | None) -> Part:
    """Return numbers and lists of Python, which have no dtype, with the file's dtype if they are of its kind."""
    part = np.asarray(value)
    is_of_python = isinstance(value, (bool, int, float, complex, list, tuple))
    if is_of_python and dtype is not None and np.can_cast(part.dtype, dtype, "same_kind"):
        return part.astype(dtype)
    return part


def _as_list(what: str, given: Any, shapes: list[Shape], boxes: bool) -> list[Any]:
    if not boxes:
        return [given]
    parts = list(given) if isinstance(given, (list, tuple)) else None
    if parts is None or len(parts) != len(shapes):
        count = "not a list" if parts is None else f"{len(parts)} of them"
        raise ArgumentError(f"{what}: expected a list of {len(shapes)} ndarrays, one a box; got {count}")
    return parts


def _where(what: str, number: int, boxes: bool) -> str:
    return f"{what}[{number}]" if boxes else what


def _has_shared_places(part: Part) -> bool:
    return any(stride == 0 and n > 1 for stride, n in zip(part.strides, part.shape, strict=False))


def _check_shape(where: str, part: Part, shape: Shape) -> None:
    if part.shape != shape:
        raise ArgumentError(f"{where} shape {part.shape}, but this rank's share has shape {shape}")


def _check_plain(where: str, part: Part, of_the_first: np.dtype[Any]) -> None:
    if np.ma.is_masked(part):
        raise ArgumentError(f"{where}: some elements are masked: move part.data and part.mask, each for itself")
    if part.dtype.hasobject:
        raise ArgumentError(f"{where}: dtype {part.dtype} holds Python objects; expected plain numbers")
    if part.dtype != of_the_first:
        raise ArgumentError(f"{where}: dtype {part.dtype}, but the first are {of_the_first}")


def _check_dtype(where: str, part: Part, dtype: np.dtype[Any]) -> None:
    if part.dtype != dtype and not differs_in_byte_order_only(part.dtype, dtype):
        wanted = repr(str(dtype)) if dtype.names is None else str(dtype)
        raise ArgumentError(
            f"{where}: dtype {part.dtype}, but the file holds {dtype}; convert with astype({wanted}) (Swath stores "
            "values as they are)"
        )

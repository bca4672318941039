"""The caller's memory: what it must be like."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError
from swath.formats.description import differs_in_byte_order_only
from swath.space import Shape

Part = npt.NDArray[Any]


def span_bytes(part: Part) -> int:
    """From the first byte of its memory to the last."""
    if part.size == 0:
        return 0
    return int(sum(abs(step) * (n - 1) for step, n in zip(part.strides, part.shape, strict=True)) + part.itemsize)


def checked_out(out: Any, shapes: list[Shape], dtype: np.dtype[Any], *, boxes: bool) -> list[Part]:
    """`out` as a list of writable ndarrays of these shapes, or ArgumentError."""
    parts = _as_list("out", out, shapes, boxes)
    for i, (part, shape) in enumerate(zip(parts, shapes, strict=False)):
        if not isinstance(part, np.ndarray):
            raise ArgumentError(f"{_where('out', i, boxes)}: expected an ndarray, not {type(part).__name__}")
        _check_shape("out", i, boxes, part, shape)
        _check_dtype("out", i, boxes, part, dtype)
        flags = part.flags
        if not flags.writeable:
            raise ArgumentError(f"{_where('out', i, boxes)}: the array is read-only")
        if not flags.c_contiguous and part.size > 0 and _has_shared_places(part):
            raise ArgumentError(
                f"{_where('out', i, boxes)}: several elements share one place in memory (a broadcast view)"
            )
    return parts


def checked_values(values: Any, shapes: list[Shape], dtype: np.dtype[Any], *, boxes: bool) -> list[Part]:
    """`values` as a list of ndarrays of these shapes, in the stored byte order (swapped copies where they are not)."""
    parts = []
    for i, (value, shape) in enumerate(zip(_as_list("values", values, shapes, boxes), shapes, strict=False)):
        part = value if isinstance(value, np.ndarray) else np.asarray(value)
        _check_shape("values", i, boxes, part, shape)
        _check_dtype("values", i, boxes, part, dtype)
        parts.append(part if part.dtype == dtype else part.astype(dtype))
    return parts


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


def _check_shape(what: str, number: int, boxes: bool, part: Part, shape: Shape) -> None:
    if part.shape != shape:
        raise ArgumentError(
            f"{_where(what, number, boxes)}: shape {part.shape}, but this rank's share has shape {shape}"
        )


def _check_dtype(what: str, number: int, boxes: bool, part: Part, dtype: np.dtype[Any]) -> None:
    if part.dtype != dtype and not differs_in_byte_order_only(part.dtype, dtype):
        wanted = repr(str(dtype)) if dtype.names is None else str(dtype)
        raise ArgumentError(
            f"{_where(what, number, boxes)}: dtype {part.dtype}, but the file holds {dtype}; convert with "
            f"astype({wanted}) (Swath stores values as they are)"
        )

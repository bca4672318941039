"""The caller's memory: what it must be like, and how the core is told of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError
from swath.space import Shape

Part = npt.NDArray[Any]


def memory_tuples(parts: list[Part]) -> list[tuple[int, list[int]]]:
    """(address, byte strides) of each part, as the core takes them."""
    return [(part.__array_interface__["data"][0], list(part.strides)) for part in parts]


def checked_out(out: Any, shapes: list[Shape], dtype: np.dtype[Any], *, boxes: bool) -> list[Part]:
    """`out` as a list of writable ndarrays of these shapes, or ArgumentError."""
    parts = _as_list("out", out, shapes, boxes)
    for i, (part, shape) in enumerate(zip(parts, shapes, strict=False)):
        where = f"out[{i}]" if boxes else "out"
        if not isinstance(part, np.ndarray):
            raise ArgumentError(f"{where}: expected an ndarray, not {type(part).__name__}")
        _check_shape(where, part, shape)
        _check_dtype(where, part, dtype)
        if not part.flags.writeable:
            raise ArgumentError(f"{where}: the array is read-only")
        if part.size > 0 and any(stride == 0 and n > 1 for stride, n in zip(part.strides, part.shape, strict=False)):
            raise ArgumentError(f"{where}: several elements share one place in memory (a broadcast view)")
    return parts


def checked_values(values: Any, shapes: list[Shape], dtype: np.dtype[Any], *, boxes: bool) -> list[Part]:
    """`values` as a list of ndarrays of these shapes, in the stored byte order (swapped copies where they are not)."""
    parts = []
    for i, (value, shape) in enumerate(zip(_as_list("values", values, shapes, boxes), shapes, strict=False)):
        where = f"values[{i}]" if boxes else "values"
        part = value if isinstance(value, np.ndarray) else np.asarray(value)
        _check_shape(where, part, shape)
        _check_dtype(where, part, dtype)
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


def _check_shape(where: str, part: Part, shape: Shape) -> None:
    if part.shape != shape:
        raise ArgumentError(f"{where}: shape {part.shape}, but this rank's share has shape {shape}")


def _check_dtype(where: str, part: Part, dtype: np.dtype[Any]) -> None:
    if part.dtype not in (dtype, dtype.newbyteorder()):
        raise ArgumentError(
            f"{where}: dtype {part.dtype}, but the file holds {dtype}; convert with astype({str(dtype)!r}) (Swath "
            "stores values as they are)"
        )

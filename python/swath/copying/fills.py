"""The fill value of a target: a value of its type, and whether it marks missing data. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np

from swath.formats import Description, is_folder
from swath.formats.description import is_beyond

FILL = "_FillValue"
_NUMBERS = "biufc"


def fill_for(kind: str, source: Description, dtype: np.dtype[Any]) -> tuple[Any, bool]:
    """Return the fill value of a target of that dtype, and whether it marks missing data; None for none.

    A fill value that is no attribute, and is only read for elements that were not written, is kept if the format has
    such.
    """
    marked = element_of(source.attributes.get(FILL), dtype)
    if marked is not None:
        return marked, True
    has_unmarked = source.format in ("hdf5", "zarr") and kind in ("hdf5", "zarr", "zarr:v3")
    if not has_unmarked or not any(source.fill) or source.dtype.hasobject:
        return None, True
    return element_of(np.frombuffer(source.fill, source.dtype)[0], dtype), False


def stated_fill(kind: str, source: Description, dtype: np.dtype[Any]) -> Any:
    """Return the attribute _FillValue if it is no value of that dtype, so that it marks nothing as missing; else None.

    It is stored as it is, as an attribute: cast to the dtype, it would mark valid elements as missing. Zarr has none.
    """
    marked = source.attributes.get(FILL)
    is_held = marked is None or is_folder(kind) or element_of(marked, dtype) is not None
    return None if is_held else marked


def lost_fill(kind: str, source: Description, dtype: np.dtype[Any]) -> tuple[str, ...]:
    """Return a description of the attribute _FillValue if the format cannot store it; () otherwise."""
    marked = source.attributes.get(FILL)
    if marked is not None and dtype.hasobject and kind.partition(":")[0] == "netcdf-classic":
        return (f"attribute {FILL} {marked!r}: characters have one of a single character only",)
    if marked is None or not is_folder(kind) or dtype.hasobject:
        return ()
    if element_of(marked, dtype) is None:
        return (f"attribute {FILL} {marked!r}, which is no value of dtype {dtype}: no element is missing by it",)
    if kind != "zarr:v2" and dtype.kind not in _NUMBERS:
        return (f"attribute {FILL} {marked!r}: Zarr 3 has none of elements of dtype {dtype} that others read",)
    return ()


def element_of(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a value as an element of a dtype; None if the dtype has no such value. Floats may be rounded.

    >>> element_of(np.float64(-999), np.dtype("i2")), element_of(70000, np.dtype("i2")), element_of(-1, np.dtype("u1"))
    (np.int16(-999), None, None)
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = value.encode() if dtype.kind == "S" else value
    given = np.asarray(value)
    if given.size != 1 or (given.dtype.kind in _NUMBERS) != (dtype.kind in _NUMBERS):
        return None
    given = given.reshape(())
    try:
        with np.errstate(all="ignore"):
            found = given.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return None
    if dtype.kind in "fc":
        is_same = not is_beyond(found, given) and (dtype.kind == "c" or given.dtype.kind != "c")
    else:
        is_same = given.dtype == dtype or found.item() == given.item()  # compared as Python's numbers: -1 is not 65535
    return found[()] if is_same else None

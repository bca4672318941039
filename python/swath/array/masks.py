"""Masked arrays are stored with their fill value under the mask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.array.decoding import stored_fill
from swath.errors import ArgumentError

CAN_BE_MASKED = (np.ma.MaskedArray, list, tuple)
"""Types that may hold masked elements: an array, or one for each box. Other values are written as they are."""


def filled(values: Any, dtype: np.dtype[Any], attributes: Mapping[str, Any], where: str) -> Any:
    """Return `values` (an array, or one for each box) with the variable's fill value in place of masked elements.

    Raises ArgumentError, which begins with `where`, if elements are masked and the attributes have no fill value.
    """
    if isinstance(values, (list, tuple)):
        if not any(isinstance(part, np.ma.MaskedArray) for part in values):
            return values
        return [filled(part, dtype, attributes, f"{where}[{number}]") for number, part in enumerate(values)]
    if not isinstance(values, np.ma.MaskedArray):
        return values
    data = np.ma.getdata(values)
    count = masked_count(values)
    if count == 0:
        return data
    fill = stored_fill(dtype, attributes)
    if fill is None or data.dtype.names is not None:
        raise ArgumentError(
            f"{where}: {count:,} elements are masked, and the variable has no _FillValue or missing_value of dtype "
            f"{dtype} to store in their place: give it one (attributes=, when it is created), or write "
            "values.filled(number)"
        )
    if data.dtype != dtype.newbyteorder(data.dtype.byteorder):
        return data  # it is refused later, because of its dtype
    stored = np.array(data, order="K")
    stored[np.ma.getmaskarray(values)] = fill
    return stored


def cast(values: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return `values` as an array of `dtype`, with the same mask. Raises as NumPy does."""
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values, dtype=dtype)
    return np.ma.MaskedArray(np.ma.getdata(values).astype(dtype), mask=np.ma.getmask(values))


def masked_count(values: np.ma.MaskedArray[Any, Any]) -> int:
    """Return how many elements are masked; for structures, how many of their fields."""
    mask = np.ma.getmaskarray(values)
    return int(np.count_nonzero(np.ascontiguousarray(mask).view(bool)))

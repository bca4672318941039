"""Attributes of elements that get another dtype: those with the type of the elements are converted or refused. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np

from swath.errors import ArgumentError
from swath.formats.contents import Attributes

MISSING = ("_FillValue", "missing_value")
BOUNDS = ("valid_min", "valid_max", "valid_range", "actual_range", "flag_values", "flag_masks")
UNSIGNED = "_Unsigned"
_NUMBERS = "iuf"


def attributes_as(attributes: Attributes, source: np.dtype[Any], wanted: np.dtype[Any], name: str) -> Attributes:
    """Return the attributes of elements of dtype `source` that become `wanted`; values of their type are converted.

    A missing value is rounded like the elements, so that it is still equal to them.

    Raises ArgumentError if missing elements would get the value of others, or if bits would mean another number.
    """
    if source.kind not in _NUMBERS or wanted.kind not in _NUMBERS:
        return attributes
    if str(attributes.get(UNSIGNED, "")).lower() == "true" and source.kind == "i":
        raise ArgumentError(
            f"{name}: its {source} elements are unsigned by the attribute {UNSIGNED}; as {wanted} they would mean "
            "other numbers; copy them as they are, without dtype"
        )
    return {
        one: _as(one, value, wanted, name) if one in (*MISSING, *BOUNDS) else value for one, value in attributes.items()
    }


def _as(attribute: str, value: Any, wanted: np.dtype[Any], name: str) -> Any:
    numbers = np.asarray(value)
    if numbers.dtype.kind not in _NUMBERS:
        return value
    with np.errstate(all="ignore"):
        found = numbers.astype(wanted.newbyteorder("="))
        is_kept = _is_rounded(numbers, found) if wanted.kind == "f" else np.array_equal(numbers, found)
    if is_kept:
        return found[()]
    if attribute in MISSING:
        raise ArgumentError(
            f"{name}: {attribute} {value} is no {wanted}: missing elements would become {found}, which others may be; "
            "choose a dtype that has it"
        )
    return value


def _is_rounded(numbers: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> bool:
    """Return whether floats are equal except for rounding."""
    return bool((np.isfinite(numbers.astype("f8")) == np.isfinite(found)).all())

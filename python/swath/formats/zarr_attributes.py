"""Attributes of a Zarr store, which are JSON, to and from the types that all formats share; among them the fill value.

JSON has no int16: a number is a Python int or float, a list of numbers a one-dimensional ndarray of int64 or float64.
What a list or an object holds else stays as it is.

`_FillValue`, which says where data are missing, is in version 2 the `fill_value` of the metadata. In version 3, where
that has always a value, it is an attribute as xarray writes it: numbers of floating point as the base64 of a double.
"""

from __future__ import annotations

import base64
import contextlib
import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from swath.errors import ArgumentError
from swath.formats.contents import Attributes
from swath.formats.description import is_beyond
from swath.formats.zarr_elements import fill_of
from swath.formats.zarr_nodes import DIMENSIONS_OF_V2, UNLIMITED, Node, attributes_of

FILL = "_FillValue"
_FILL_KINDS = "biufc"
"""Of elements for which xarray can read the attribute of version 3; it cannot open an array of others that has one."""

_NO_JSON = "MmV"
"""Times, of which NumPy would make numbers without their unit, and structures, which would lose their names."""


def typed_attributes(node: Node, dtype: np.dtype[Any] | None = None) -> Attributes:
    """Return the attributes of a group, or of an array whose elements have this dtype."""
    found = {name: _typed(value) for name, value in attributes_of(node).items()}
    if not node.is_array:
        return found
    if node.version == 3 and FILL in found and dtype is not None:
        found[FILL] = _decoded_fill(found[FILL], dtype)
    stored = node.metadata.of("fill_value")
    if node.version == 2 and stored.value is not None:
        found[FILL] = stored.value
        if dtype is not None and not dtype.hasobject:
            found[FILL] = np.frombuffer(fill_of(stored, dtype), dtype)[0]
    return found


def _typed(stored: Any) -> Any:
    if not isinstance(stored, list) or not stored:
        return stored
    if all(isinstance(item, int | float) and not isinstance(item, bool) for item in stored):
        values = np.array(stored)
        return values if values.dtype.kind in "iuf" else stored  # numbers beyond 64 bits
    return stored


def _decoded_fill(stored: Any, dtype: np.dtype[Any]) -> Any:
    """Return the attribute of version 3 as an element; as it is where it is none."""
    try:
        with np.errstate(all="ignore"):
            return dtype.type(_element_of(stored, dtype.kind))
    except (TypeError, ValueError, OverflowError, struct.error):
        return stored


def _element_of(stored: Any, kind: str) -> Any:
    if kind == "c":
        real, imaginary = stored
        return complex(_double_of(real), _double_of(imaginary))
    if kind == "f":
        return _double_of(stored)
    if kind == "S":
        return base64.b64decode(stored, validate=True)
    return stored


def _double_of(stored: Any) -> float:
    if isinstance(stored, int | float):
        return float(stored)
    return float(struct.unpack("<d", base64.b64decode(stored, validate=True))[0])


def fill_attribute(fill: Any, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return the attribute of version 3 for a fill value; none for elements for which xarray could not read it.

    >>> fill_attribute(1.5, np.dtype("f4"))
    {'_FillValue': 'AAAAAAAA+D8='}
    """
    if dtype.kind not in _FILL_KINDS:
        return {}
    if dtype.kind == "f":
        return {FILL: _double_to_json(fill)}
    if dtype.kind == "c":
        return {FILL: [_double_to_json(fill.real), _double_to_json(fill.imag)]}
    return {FILL: bool(fill) if dtype.kind == "b" else int(fill)}


def _double_to_json(value: Any) -> str:
    return base64.b64encode(struct.pack("<d", float(value))).decode()


def attributes_to_json(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes as JSON holds them; ArgumentError for names that are Swath's, and what JSON cannot hold."""
    for name in (DIMENSIONS_OF_V2, UNLIMITED):
        if name in attributes:
            raise ArgumentError(f"attribute {name!r} is where a Zarr store keeps its dimensions: give dimensions=")
    found = {}
    for name, value in attributes.items():
        with _named(name):
            found[name] = _to_json(value)
            json.dumps({name: found[name]})
    return found


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"Zarr keeps attributes as JSON, which cannot hold these: {name!r}: {error}") from None


def _to_json(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind in _NO_JSON:
            raise TypeError(f"{value!r} of dtype {value.dtype}; expected numbers, text, or lists and dicts of these")
        return _to_json(value.tolist()) if value.dtype.hasobject else value.tolist()
    if isinstance(value, list | tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, Mapping):
        unnamed = [key for key in value if not isinstance(key, str)]
        if unnamed:
            raise TypeError(f"a member that is called {unnamed[0]!r}; expected a string")
        return {key: _to_json(item) for key, item in value.items()}
    return value


def element(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return the value as an element of `dtype`; ArgumentError where it is none."""
    try:
        with np.errstate(all="ignore"):
            found = np.array(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{FILL} {value!r} is not a value of dtype {dtype} ({error})") from None
    if found.size != 1:
        raise ArgumentError(f"{FILL} must be one value, not an array of shape {found.shape}")
    if is_beyond(found, value):
        raise ArgumentError(
            f"{FILL} {value!r} is not a value of dtype {dtype}, which would make {found.item()!r} of it"
        )
    return found.reshape(())[()]

"""Attributes of files, groups and datasets as typed values; how h5py and netCDF-4 store them."""

from __future__ import annotations

from typing import Any

import numpy as np

from swath.formats.contents import Attributes
from swath.formats.description import text
from swath.formats.hdf5.access import encodings, library, stored_dtype

OWN_NAMES = frozenset(
    {
        *("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"),
        *("_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict"),
    }
)
"""Attributes that HDF5's dimension scales and netCDF-4 use for their own data."""

OF_SCALES = frozenset({"CLASS", "NAME"})
"""Those that images and tables use, too, on datasets that are no dimension scales."""


# ---- Reading ---------------------------------------------------------------------------------------------------------


def names(holder: Any) -> list[str]:
    """Return the names of all attributes of an object (h5py's identifier), in the order of their creation."""
    h5py = library()
    found: list[bytes] = []
    h5py.h5a.iterate(holder, found.append, index_type=h5py.h5.INDEX_CRT_ORDER)
    return [text(name) for name in found]


def read(holder: Any, of_names: list[str] | None = None) -> Attributes:
    """Return the attributes of types that `Attributes` hold, without a format's own."""
    return read_all(holder, of_names)[0]


def read_all(holder: Any, of_names: list[str] | None = None) -> tuple[Attributes, dict[str, str]]:
    """Return the same, and descriptions of the others: references, structures, and what h5py cannot read."""
    found: Attributes = {}
    others: dict[str, str] = {}
    for name in own_names(holder, of_names):
        stored = raw(holder, name)
        value = _typed(stored)
        if value is None:
            others[name] = _in_words(stored)
        else:
            found[name] = value
    return found, others


def own_names(holder: Any, of_names: list[str] | None = None) -> list[str]:
    """Return the names of the user's attributes."""
    known = names(holder) if of_names is None else of_names
    is_scale = "CLASS" in known and raw_text(holder, "CLASS") == "DIMENSION_SCALE"
    hidden = OWN_NAMES if is_scale else OWN_NAMES - OF_SCALES
    return [name for name in known if name not in hidden]


def _in_words(stored: Any) -> str:
    """Return a description of an attribute whose type `Attributes` do not hold."""
    if stored is None:
        return "of a type that NumPy has not"
    h5py = library()
    dtype = stored.dtype
    if h5py.check_ref_dtype(dtype) is not None:
        return "references"
    if dtype.names is not None:
        return f"a structure of {', '.join(dtype.names)}"
    return "sequences of different lengths" if dtype.hasobject else "opaque bytes"


def raw(holder: Any, name: str) -> Any:
    """Return h5py's value of one attribute, an ndarray or h5py.Empty; None if there is none or h5py fails."""
    h5py = library()
    try:
        attribute = h5py.h5a.open(holder, _key(holder, name))
        stored = attribute.get_type()
        dtype = stored_dtype(stored)
        try:
            count = attribute.get_storage_size() // stored.get_size()
        except RuntimeError:  # it has no elements
            count = 0
        if count == 0 and attribute.get_space().get_simple_extent_type() == h5py.h5s.NULL:
            return h5py.Empty(dtype)
        shape = (1,) if count == 1 else attribute.shape
        if dtype.subdtype is not None:
            dtype, inner = dtype.subdtype
            shape = attribute.shape + inner
        values = np.zeros(shape, dtype)
        if values.size:
            attribute.read(values, mtype=None if dtype.hasobject else stored)
        return values
    except Exception:  # noqa: BLE001  h5py has many
        return None


def _key(holder: Any, name: str) -> bytes:
    """Return the bytes of an attribute's name in the object (an identifier)."""
    choices = encodings(name)
    there = [key for key in choices if library().h5a.exists(holder, key)] if len(choices) > 1 else []
    return (there or choices)[0]


def raw_text(holder: Any, name: str) -> str:
    """Return the text of an attribute; "" if it is no text."""
    value = _typed(raw(holder, name))
    return value if isinstance(value, str) else ""


def _typed(value: Any) -> Any:
    """Return a value of a type that `Attributes` hold; None if there is none."""
    h5py = library()
    if value is None:
        return None
    dtype = value.dtype
    is_text = dtype.kind == "S" or h5py.check_string_dtype(dtype) is not None
    if isinstance(value, h5py.Empty):
        return "" if is_text else np.empty(0, dtype.str) if dtype.kind in "biufc" else None
    if is_text:
        several = [text(one) if isinstance(one, bytes) else str(one) for one in value.ravel()]
        if value.ndim > 1:  # a list of lists
            return np.array(several, object).reshape(value.shape).tolist()
        return several[0] if len(several) == 1 else several
    if dtype.kind not in "biufc":
        return None
    plain = value if dtype.metadata is None else value.view(dtype.str)
    return plain.ravel()[0] if plain.size == 1 else plain

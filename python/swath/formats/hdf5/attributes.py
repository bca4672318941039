"""Attributes of files, groups and datasets as typed values; how h5py and how netCDF-4 stores them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from swath.errors import ArgumentError
from swath.formats.contents import Attributes
from swath.formats.description import is_beyond, text
from swath.formats.hdf5.access import library, stored_dtype

OWN_NAMES = frozenset(
    {
        *("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"),
        *("_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict"),
    }
)
"""Attributes by which HDF5's dimension scales and netCDF-4 keep their own books."""

NETCDF_TYPES = frozenset({"i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"})
"""The numbers that netCDF-4 has, in either byte order."""


# ---- Reading ---------------------------------------------------------------------------------------------------------


def names(holder: Any) -> list[str]:
    """Return the names of all attributes of an object (h5py's identifier), in the order in which they were made."""
    h5py = library()
    found: list[bytes] = []
    h5py.h5a.iterate(holder, found.append, index_type=h5py.h5.INDEX_CRT_ORDER)
    return [name.decode("utf-8", "surrogateescape") for name in found]


def read(holder: Any, of_names: list[str] | None = None) -> Attributes:
    """Return the attributes, without a format's own, references, structures, and what h5py cannot read."""
    found: Attributes = {}
    for name in names(holder) if of_names is None else of_names:
        if name not in OWN_NAMES:
            value = _typed(raw(holder, name))
            if value is not None:
                found[name] = value
    return found


def raw(holder: Any, name: str) -> Any:
    """Return what h5py reads of one attribute, an ndarray or h5py.Empty; None where there is none or it cannot."""
    h5py = library()
    try:
        attribute = h5py.h5a.open(holder, name.encode("utf-8", "surrogateescape"))
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


def raw_text(holder: Any, name: str) -> str:
    """Return one attribute that is a text; "" where it is none."""
    value = _typed(raw(holder, name))
    return value if isinstance(value, str) else ""


def raw_texts(holder: Any, name: str) -> list[str]:
    """Return one attribute that is several texts; [] where it is none."""
    value = _typed(raw(holder, name))
    return value if isinstance(value, list) else [value] if isinstance(value, str) else []


def _typed(value: Any) -> Any:
    """Return what `Attributes` hold; None where they cannot."""
    h5py = library()
    if value is None:
        return None
    dtype = value.dtype
    is_text = dtype.kind == "S" or h5py.check_string_dtype(dtype) is not None
    if isinstance(value, h5py.Empty):
        return "" if is_text else np.empty(0, dtype.str) if dtype.kind in "biufc" else None
    if is_text:
        several = [text(one) if isinstance(one, bytes) else str(one) for one in value.ravel()]
        return several[0] if len(several) == 1 else several
    if dtype.kind not in "biufc":
        return None
    plain = value if dtype.metadata is None else value.view(dtype.str)
    return plain.ravel()[0] if plain.size == 1 else plain


# ---- Writing ---------------------------------------------------------------------------------------------------------


def check(name: str, value: Any, *, as_netcdf: bool) -> None:
    """Raise ArgumentError for an attribute that the format cannot store."""
    if name in OWN_NAMES:
        raise ArgumentError("dimension scales, or netCDF-4, keep their books by it; choose another name")
    if value is None:
        raise ArgumentError("HDF5 has no null; expected text or numbers")
    _storable("it", value, as_netcdf=as_netcdf)


def replace(holder: Any, attributes: Mapping[str, Any], *, as_netcdf: bool) -> None:
    """Add attributes to an object (h5py's group or dataset), or replace them; None removes.

    Raises ArgumentError for what the format cannot store.
    """
    for name, value in attributes.items():
        where = f"attribute {name!r} of {holder.name.strip('/') or 'the file'}"
        if name in OWN_NAMES:
            raise ArgumentError(f"{where}: dimension scales, or netCDF-4, keep their books by it; choose another name")
        stored = None if value is None else _storable(where, value, as_netcdf=as_netcdf)
        if name == "_FillValue" and stored is not None and hasattr(holder, "dtype"):
            stored = fill_value(where, stored, holder.dtype)
        try:
            key = name.encode()
            if library().h5a.exists(holder.id, key):
                library().h5a.delete(holder.id, key)
            if isinstance(stored, str) and as_netcdf:
                _write_text(holder.id, key, stored)
            elif stored is not None:
                holder.attrs.create(name, np.atleast_1d(stored) if as_netcdf else stored)
        except (TypeError, ValueError, RuntimeError, OSError) as error:
            raise ArgumentError(f"{where}: HDF5 cannot store {value!r} ({error})") from None


def fill_value(where: str, value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a fill value in the type of the variable: netCDF-4 opens no other. ArgumentError where it cannot be."""
    one = np.ravel(value)[:1]
    try:
        if dtype.kind == "S":
            return text(one[0]) if isinstance(one[0], bytes) else str(one[0])
        with np.errstate(all="ignore"):
            converted = one.astype(dtype)
    except (TypeError, ValueError, IndexError) as error:
        raise ArgumentError(f"{where}: {value!r} is no value of dtype {dtype} ({error})") from None
    is_kept = converted[0] == one[0] if dtype.kind in "iu" else not is_beyond(converted[0], one[0])
    if np.size(value) != 1 or not is_kept:
        raise ArgumentError(f"{where}: {value!r} is no value of dtype {dtype}")
    return converted[0]


def _storable(where: str, value: Any, *, as_netcdf: bool) -> Any:
    """Return a str, an ndarray or scalar of numbers, or an ndarray of texts for h5py."""
    if isinstance(value, bytes):
        value = text(value)
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and len({isinstance(one, str | bytes) for one in value}) > 1:
        raise ArgumentError(f"{where}: expected text, numbers, or a list of one of them, not {value!r}")
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "SU":
        value = [text(one) if isinstance(one, bytes) else str(one) for one in np.ravel(value)]
    array = _array(where, value)
    if array.dtype.kind in "OU" and array.size and all(isinstance(one, str) for one in array.ravel()):
        return array.astype(library().string_dtype())
    if array.dtype.hasobject or array.dtype.kind in "UMm":
        raise ArgumentError(f"{where}: expected text, numbers, or a list of one of them, not {value!r}")
    if as_netcdf and (array.dtype.str[1:] not in NETCDF_TYPES or array.ndim > 1):
        raise ArgumentError(
            f"{where}: netCDF-4 has no attributes of dtype {array.dtype} and {array.ndim} dimensions; expected text, "
            "integers or floats of 8 to 64 bits (no float16, bool or complex), or a list of one of them"
        )
    return array


def _array(where: str, value: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{where}: {value!r} is no array ({error})") from None


def _write_text(holder: Any, key: bytes, value: str) -> None:
    """As netCDF-4 stores characters: of fixed length; the empty text is one zero byte."""
    h5py = library()
    encoded = value.encode() or b"\0"
    stored = h5py.h5t.C_S1.copy()
    stored.set_size(len(encoded))
    stored.set_cset(h5py.h5t.CSET_ASCII if value.isascii() else h5py.h5t.CSET_UTF8)
    attribute = h5py.h5a.create(holder, key, stored, h5py.h5s.create(h5py.h5s.SCALAR))
    attribute.write(np.array(encoded, f"S{len(encoded)}"), mtype=stored)

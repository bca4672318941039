"""Element types and fill values as Zarr's metadata write them, to and from NumPy.

Sources: Zarr version 3, core specification 3.0 ("Data types", "Fill value") and its registered extensions; Zarr
version 2, "Data type encoding" and "Fill value encoding". Byte order is part of the dtype, as everywhere in Swath.
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any

import numpy as np
from numpy.lib.format import descr_to_dtype

from swath.errors import ArgumentError, FormatError, UnsupportedError
from swath.formats.description import checked_dtype, fields_in_order

_NUMBERS = {
    "bool": "?",
    **{f"{kind}{bits}": f"{kind[0]}{bits // 8}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits // 8}" for bits in (16, 32, 64)},
    **{f"complex{bits}": f"c{bits // 8}" for bits in (64, 128)},
}
_NAMES = {np.dtype(code).str[1:]: name for name, code in _NUMBERS.items()}
_TIMES = {"numpy.datetime64": "M8", "numpy.timedelta64": "m8"}
_TEXTS = {"null_terminated_bytes": ("S", 1), "raw_bytes": ("V", 1), "fixed_length_utf32": ("U", 4)}
"""Names of types of a given number of bytes: NumPy's code, and bytes of its unit."""


def dtype_of_v3(data_type: Any, where: str) -> np.dtype[Any]:
    """The dtype, little-endian: what the codec `bytes` says of the order is not known here.

    Raises UnsupportedError for elements that are not a fixed number of bytes, or of a type that NumPy has not.
    """
    name: Any = data_type
    settings: dict[str, Any] = {}
    if isinstance(data_type, dict):
        name, settings = data_type.get("name"), data_type.get("configuration") or {}
    try:
        if name in _NUMBERS:
            return np.dtype(_NUMBERS[name]).newbyteorder("<")
        if isinstance(name, str) and name[:1] == "r" and name[1:].isdigit() and int(name[1:]) % 8 == 0:
            return checked_dtype(f"V{int(name[1:]) // 8}")
        if name in _TIMES:
            return np.dtype(f"<{_TIMES[name]}[{int(settings['scale_factor'])}{settings['unit']}]")
        if name in _TEXTS:
            code, unit = _TEXTS[name]
            return checked_dtype(f"<{code}{int(settings['length_bytes']) // unit}")
        if name in ("structured", "struct"):
            return checked_dtype([(field, dtype_of_v3(kind, where)) for field, kind in _fields(settings)])
    except (KeyError, TypeError, ValueError, ArgumentError) as error:
        raise FormatError(f"{where}: data_type {data_type!r} cannot be: {error}") from None
    raise UnsupportedError(
        f"{where}: elements of data_type {data_type!r} are not numbers, or a fixed number of bytes that NumPy knows; "
        "read it with zarr"
    )


def _fields(settings: Any) -> list[tuple[str, Any]]:
    """Fields of a structure: [name, type], or {"name": …, "data_type": …}."""
    return [(f["name"], f["data_type"]) if isinstance(f, dict) else (f[0], f[1]) for f in settings["fields"]]


def dtype_to_v3(dtype: np.dtype[Any]) -> Any:
    """`data_type` for a dtype of either byte order; ArgumentError where there is none."""
    if dtype.str[1:] in _NAMES:
        return _NAMES[dtype.str[1:]]
    if dtype.kind in "Mm":
        unit, scale = np.datetime_data(dtype)
        if unit != "generic":
            name = next(name for name, code in _TIMES.items() if code[0] == dtype.kind)
            return {"name": name, "configuration": {"unit": unit, "scale_factor": scale}}
    if dtype.kind in "SU" or (dtype.kind == "V" and dtype.names is None):
        name = next(name for name, (code, _) in _TEXTS.items() if code == dtype.kind)
        return {"name": name, "configuration": {"length_bytes": dtype.itemsize}}
    raise ArgumentError(
        f"Zarr version 3 has no data type for dtype {dtype}; it has bool, integers, float16 to float64, complex "
        "numbers, times with a unit, and fixed-length strings"
    )


def dtype_of_v2(stored: Any, where: str) -> np.dtype[Any]:
    """The dtype with its byte order; UnsupportedError for objects."""
    try:
        dtype: np.dtype[Any] = descr_to_dtype(_structure(stored)) if isinstance(stored, list) else np.dtype(str(stored))
    except (IndexError, KeyError, TypeError, ValueError, SyntaxError) as error:
        raise FormatError(f"{where}: dtype {stored!r} cannot be: {error}") from None
    if dtype.hasobject or dtype.itemsize == 0:
        raise UnsupportedError(
            f"{where}: elements of dtype {stored!r} are not a fixed number of bytes; read it with zarr"
        )
    return dtype


def _structure(fields: list[Any]) -> list[Any]:
    """Fields of a structure, which JSON has as lists, as NumPy takes them; void fields without a name are padding."""
    return [
        (field[0], _structure(field[1]) if isinstance(field[1], list) else field[1], *map(tuple, field[2:]))
        for field in fields
    ]


def dtype_to_v2(dtype: np.dtype[Any]) -> Any:
    """`dtype` of the metadata; ArgumentError for a structure that it cannot tell."""
    if dtype.names is None:
        return dtype.str
    fields = fields_in_order(dtype, "Zarr version 2")
    if _has_titles(fields):
        raise ArgumentError(f"Zarr version 2 stores no titles of fields; leave them out of dtype {dtype}")
    return fields


def _has_titles(fields: Any) -> bool:
    return isinstance(fields, list) and any(isinstance(name, tuple) or _has_titles(of) for name, of, *_ in fields)


def fill_of(stored: Any, dtype: np.dtype[Any], where: str) -> bytes:
    r"""One element of `dtype` from `fill_value`; null is all zero bytes. FormatError where it is none.

    >>> fill_of("0x7fc00000", np.dtype("<f4"), "")
    b'\x00\x00\xc0\x7f'
    """
    if stored is None:
        return bytes(dtype.itemsize)
    try:
        return _fill_of(stored, dtype)
    except (KeyError, TypeError, ValueError, OverflowError, binascii.Error) as error:
        raise FormatError(f"{where}: fill_value {stored!r} is not a value of dtype {dtype} ({error})") from None


def _fill_of(stored: Any, dtype: np.dtype[Any]) -> bytes:
    if dtype.names is not None and isinstance(stored, dict):
        element = np.zeros((), dtype)
        for name in dtype.names:
            element[name] = np.frombuffer(_fill_of(stored[name], dtype[name]), dtype[name])[0]
        return element.tobytes()
    if dtype.kind in "SV":
        if isinstance(stored, list):  # raw bytes, as numbers
            raw = bytes(stored)
        elif stored in (0, ""):
            raw = b""
        else:
            raw = base64.b64decode(stored, validate=True)
        if len(raw) > dtype.itemsize:
            raise ValueError(f"{len(raw)} bytes")
        return raw.ljust(dtype.itemsize, b"\0")
    if dtype.kind == "c":
        real, imaginary = stored if isinstance(stored, list) else (stored, 0)
        part = np.dtype(dtype.str.replace("c", "f")[:2] + str(dtype.itemsize // 2))
        return _fill_of(real, part) + _fill_of(imaginary, part)
    if dtype.kind == "f" and isinstance(stored, str) and stored[:2] == "0x":
        bits = bytes.fromhex(stored[2:])
        if len(bits) != dtype.itemsize:
            raise ValueError(f"{len(bits)} bytes")
        return bits if dtype.str[0] == ">" else bits[::-1]
    if dtype.kind == "U" and stored == 0:
        stored = ""
    if isinstance(stored, bool) != (dtype.kind == "b") and not (dtype.kind == "b" and stored in (0, 1)):
        raise ValueError("a bool for a number" if dtype.kind != "b" else "no bool")
    value = float(stored) if dtype.kind == "f" else stored  # also "NaN", "Infinity" and "-Infinity"
    return np.array(value, dtype=dtype).tobytes()


def fill_to_json(fill: bytes, dtype: np.dtype[Any]) -> Any:
    """`fill_value` of either version for one element."""
    value = np.frombuffer(fill, dtype)[0]
    if dtype.kind == "b":
        return bool(value)
    if dtype.kind in "iu":
        return int(value)
    if dtype.kind in "Mm":
        return int(value.astype("i8"))
    if dtype.kind == "f":
        return _float_to_json(float(value))
    if dtype.kind == "c":
        return [_float_to_json(float(value.real)), _float_to_json(float(value.imag))]
    if dtype.kind == "U":
        return str(value)
    return base64.b64encode(fill).decode()


def _float_to_json(value: float) -> Any:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")

"""Element types and fill values as Zarr's metadata write them, to and from NumPy.

Sources: Zarr version 3, core specification 3.0 ("Data types", "Fill value") and its registered extensions; Zarr
version 2, "Data type encoding" and "Fill value encoding". Byte order is part of the dtype, as everywhere in Swath.
"""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np
from numpy.lib.format import descr_to_dtype

from swath.errors import ArgumentError, UnsupportedError
from swath.formats.description import checked_dtype, fields_in_order
from swath.formats.json_fields import Field

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
_BYTES_MAX = 2**31 - 1
"""Of an element, for NumPy."""


def dtype_of_v3(data_type: Field) -> np.dtype[Any]:
    """Return the dtype, little-endian: what the codec `bytes` says of the order is not known here.

    Raises UnsupportedError for elements that are not a fixed number of bytes, or of a type that NumPy has not.
    """
    name, settings = data_type.named()
    if name in _NUMBERS:
        return np.dtype(_NUMBERS[name]).newbyteorder("<")
    if name in _TIMES:
        scale = settings.of("scale_factor").integer(1, 2**31 - 1)
        return _dtype(f"<{_TIMES[name]}[{scale}{settings.of('unit').text()}]", data_type)
    if name in _TEXTS:
        code, unit = _TEXTS[name]
        return _dtype(f"<{code}{settings.of('length_bytes').integer(1, _BYTES_MAX) // unit}", data_type)
    if name in ("structured", "struct"):
        return _dtype([(_name_of(f), dtype_of_v3(_type_of(f))) for f in settings.of("fields").items()], data_type)
    bits = name[1:]
    if name[:1] == "r" and bits.isdecimal() and bits.isascii() and len(bits) < 12 and int(bits) % 8 == 0:
        return _dtype(f"V{int(bits) // 8}", data_type)
    raise UnsupportedError(
        f"{data_type.file}: elements of data_type {name!r} are not numbers, or a fixed number of bytes that NumPy "
        "knows; read it with zarr"
    )


def _dtype(spelled: Any, stored: Field) -> np.dtype[Any]:
    """Return the dtype that NumPy makes of what `stored` says; FormatError where it makes none."""
    try:
        return checked_dtype(spelled)
    except ArgumentError as error:
        raise stored.wrong(f"a dtype ({error})") from None


def _name_of(field: Field) -> str:
    """Return the name of a field of a structure: {"name": …, "data_type": …}, or [name, type]."""
    return (field.of("name") if isinstance(field.value, dict) else _pair(field)[0]).text()


def _type_of(field: Field) -> Field:
    return field.of("data_type") if isinstance(field.value, dict) else _pair(field)[1]


def _pair(field: Field) -> list[Field]:
    found = list(field.items())
    if len(found) != 2:
        raise field.wrong("a name and a type")
    return found


def dtype_to_v3(dtype: np.dtype[Any]) -> Any:
    """Return `data_type` for a dtype of either byte order; ArgumentError where there is none."""
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


def dtype_of_v2(stored: Field) -> np.dtype[Any]:
    """Return the dtype with its byte order; UnsupportedError for objects."""
    spelled = _structure(stored) if isinstance(stored.value, list) else stored.text()
    try:
        dtype: np.dtype[Any] = descr_to_dtype(spelled) if isinstance(spelled, list) else np.dtype(spelled)
    except Exception as error:  # noqa: BLE001  NumPy lets many kinds escape from its parser
        raise stored.wrong(f"a dtype ({error})") from None
    if dtype.hasobject or dtype.itemsize == 0 or dtype.subdtype is not None:
        raise UnsupportedError(
            f"{stored.file}: elements of dtype {spelled!r} are not a fixed number of bytes; read it with zarr"
        )
    return dtype


def _structure(fields: Field) -> list[Any]:
    """Fields of a structure, which JSON has as lists, as NumPy takes them: name, type, and the shape of a subarray.

    Fields of bytes without a name are padding.
    """
    found: list[Any] = []
    for field in fields.items():
        parts = list(field.items())
        if len(parts) not in (2, 3):
            raise field.wrong("a name, a type and at most a shape")
        kind = _structure(parts[1]) if isinstance(parts[1].value, list) else parts[1].text()
        found.append((parts[0].text(), kind, *(shape.lengths(least=0) for shape in parts[2:])))
    return found


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


def fill_of(stored: Field, dtype: np.dtype[Any]) -> bytes:
    r"""Return one element of `dtype` from `fill_value`; null is all zero bytes. FormatError where it is none.

    >>> fill_of(Field("0x7fc00000", ""), np.dtype("<f4"))
    b'\x00\x00\xc0\x7f'
    """
    if stored.value is None:
        return bytes(dtype.itemsize)
    try:
        return _fill_of(stored.value, dtype)
    except (ValueError, OverflowError) as error:  # as NumPy and base64 say it
        raise stored.wrong(f"a value of dtype {dtype} ({error})") from None


def _fill_of(stored: Any, dtype: np.dtype[Any]) -> bytes:
    if dtype.names is not None and isinstance(stored, dict):
        element = np.zeros((), dtype)
        for name in dtype.names:
            if name not in stored:
                raise ValueError(f"no field {name!r}")
            element[name] = np.frombuffer(_fill_of(stored[name], dtype[name]), dtype[name])[0]
        return element.tobytes()
    return _raw_fill(stored, dtype) if dtype.names is not None or dtype.kind in "SV" else _fill(stored, dtype)


def _raw_fill(stored: Any, dtype: np.dtype[Any]) -> bytes:
    if isinstance(stored, list) and all(isinstance(n, int) for n in stored):  # raw bytes, as numbers
        raw = bytes(stored)
    elif stored in (0, ""):
        raw = b""
    elif isinstance(stored, str):
        raw = base64.b64decode(stored, validate=True)
    else:
        raise ValueError("neither bytes nor their base64")
    if len(raw) > dtype.itemsize:
        raise ValueError(f"{len(raw)} bytes")
    return raw.ljust(dtype.itemsize, b"\0")


def _fill(stored: Any, dtype: np.dtype[Any]) -> bytes:
    """Return the fill value of numbers, times and text."""
    if dtype.kind == "c":
        parts = stored if isinstance(stored, list) else [stored, 0]
        part = np.dtype(dtype.str.replace("c", "f")[:2] + str(dtype.itemsize // 2))
        if len(parts) != 2:
            raise ValueError(f"{len(parts)} parts of a complex number")
        return b"".join(_fill(number, part) for number in parts)
    if dtype.kind == "f" and isinstance(stored, str) and stored[:2] == "0x":
        bits = bytes.fromhex(stored[2:])
        if len(bits) != dtype.itemsize:
            raise ValueError(f"{len(bits)} bytes")
        return bits if dtype.str[0] == ">" else bits[::-1]
    with np.errstate(all="ignore"):  # a number that is too large for a float is infinite
        return np.array(_value(stored, dtype.kind), dtype=dtype).tobytes()


def _value(stored: Any, kind: str) -> Any:
    """Return what NumPy makes an element of that kind of; ValueError for what is no such thing."""
    is_number = isinstance(stored, int | float) and not isinstance(stored, bool)
    if kind == "b" and (isinstance(stored, bool) or (is_number and stored in (0, 1))):
        return bool(stored)
    if kind == "f" and (is_number or isinstance(stored, str)):
        return float(stored)  # also of "NaN", "Infinity" and "-Infinity"
    if kind in "iu" and is_number and stored == math.floor(stored):
        return int(stored)
    if kind in "mM" and (isinstance(stored, str) or (isinstance(stored, int) and is_number)):
        return stored  # also "NaT"
    if kind == "U" and (isinstance(stored, str) or (is_number and stored == 0)):
        return stored or ""
    raise ValueError(f"a {type(stored).__name__}")


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

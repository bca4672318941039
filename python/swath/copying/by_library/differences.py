"""The differences between the results of two libraries: attributes, dimensions, links, types. Pure."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from swath.copying.by_library.held import Held, Stored, Value, text_of

_MADE_FOR_NETCDF = re.compile(r"(.*/)?(string|dim)\d+")
"""The names of dimensions that netCDF needs and the other file lacks: of characters, or of dimensions without names."""
BOTH = 2


def of_files(a: Held, b: Held) -> list[str]:
    """Return descriptions of the differences of two files, without the values."""
    found = [f"only in the {_which(name in a.variables)}: {name}" for name in _unshared(a.variables, b.variables)]
    found += [f"only in the {_which(name in a.groups)}: group {name}" for name in _unshared(a.groups, b.groups)]
    for name in a.groups:
        if name in b.groups:
            where = f"group {name}: " if name else ""
            found += _of_attributes(where, (a.groups[name], a.types), (b.groups[name], b.types))
    for name, one in a.variables.items():
        if name in b.variables:
            found += _of_variables(name, (one, a), (b.variables[name], b))
    return found + _of_dimensions(a, b) + a.contradictions + b.contradictions


def of_objects(a: Held | None, b: Held | None) -> list[str]:
    """Return descriptions of differences in links and named types, which only HDF5 has. None for another format."""
    found = []
    for what in ("links", "named_types"):
        one: dict[str, str] = {} if a is None else getattr(a, what)
        other: dict[str, str] = {} if b is None else getattr(b, what)
        if what == "links" and (a is None or b is None):  # in other formats a linked variable is a variable of its own
            one, other = _without_variables(one), _without_variables(other)
        kind = "" if what == "links" else "type "
        if what == "named_types" and a is not None and b is not None and a.format != b.format:
            # netCDF-4 has no types without names: it adds named types that the other file lacks.
            if a.format == "netcdf4":
                one = {name: words for name, words in one.items() if name in other}
            else:
                other = {name: words for name, words in other.items() if name in one}
        for name in dict.fromkeys([*one, *other]):
            if name not in one or name not in other:
                words = one.get(name) or other[name]
                found.append(f"only in the {_which(name in one)}: {kind}{name}, {words}")
            elif one[name] != other[name]:
                found.append(f"{kind}{name}: {one[name]} and {other[name]}")
    return found


def same_elements(a: Stored, b: Stored) -> bool:
    """Return whether the elements of two variables have the same type, except for the byte order."""
    texts = [_is_text(one) for one in (a, b)]
    if all(texts):
        return True
    return a.kind == b.kind and not any(texts) and (a.kind != "" or _same_dtype(a.dtype, b.dtype))


def _is_text(one: Stored) -> bool:
    return one.kind == "text" or (one.kind == "" and one.dtype.kind in "SUT")


def _same_dtype(a: np.dtype[Any], b: np.dtype[Any]) -> bool:
    if a.names is None or b.names is None:
        return bool(a.newbyteorder("=") == b.newbyteorder("="))
    return a.names == b.names and all(_same_dtype(a[name].base, b[name].base) for name in a.names)


def _without_variables(links: dict[str, str]) -> dict[str, str]:
    return {name: words for name, words in links.items() if " link to the dataset " not in words}


def _unshared(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    return [name for name in dict.fromkeys([*a, *b]) if name not in a or name not in b]


def _which(is_first: bool) -> str:
    return "first" if is_first else "second"


def _of_variables(name: str, one: tuple[Stored, Held], other: tuple[Stored, Held]) -> list[str]:
    (a, in_a), (b, in_b) = one, other
    found = _of_attributes(f"{name}: ", (a.attributes, in_a.types), (b.attributes, in_b.types))
    if not same_elements(a, b):
        found.append(f"{name}: elements of {a.kind or a.dtype} and of {b.kind or b.dtype}")
    if not _same_missing(a.missing, b.missing):
        found.append(f"{name}: attribute _FillValue: {_shown(a.missing)} and {_shown(b.missing)}")
    if in_a.format == in_b.format == "hdf5" and not _same_unwritten(a, b):
        found.append(f"{name}: elements that are not written: {_shown(a.unwritten)} and {_shown(b.unwritten)}")
    if in_a.format == in_b.format == "hdf5" and a.maxshape != b.maxshape:
        found.append(f"{name}: it may grow to {a.maxshape} and to {b.maxshape} elements")
    if a.names != b.names:
        found.append(f"{name}: names of its numbers: {_shown(a.names)} and {_shown(b.names)}")
    pairs = zip(a.dimensions, b.dimensions, strict=False)
    if any(x != y and x and y for x, y in pairs):
        found.append(f"{name}: dimensions {a.dimensions} and {b.dimensions}")
    return found


def _of_attributes(
    where: str, one: tuple[dict[str, Value], frozenset[str] | None], other: tuple[dict[str, Value], Any]
) -> list[str]:
    (a, types_a), (b, types_b) = one, other
    found = []
    for name in dict.fromkeys([*a, *b]):
        if name not in a or name not in b:
            value = a[name] if name in a else b[name]
            found.append(f"{where}attribute {name}: only in the {_which(name in a)} ({_shown(value)})")
        elif not _same_value(a[name], b[name]):
            found.append(f"{where}attribute {name}: {_shown(a[name])} and {_shown(b[name])}")
        elif not _same_type(a[name], b[name], types_a, types_b):
            kinds = [np.asarray(value).dtype for value in (a[name], b[name])]
            found.append(f"{where}attribute {name}: of type {kinds[0]} and {kinds[1]}")
    return found


def _same_value(a: Value, b: Value) -> bool:
    if isinstance(a, tuple) or isinstance(b, tuple):
        one, other = (x[1] if isinstance(x, tuple) else x for x in (a, b))
        if isinstance(one, np.ndarray | np.generic) or isinstance(other, np.ndarray | np.generic):
            return bool(np.array_equal(np.asarray(one), np.asarray(other)))
        kinds = {x[0] for x in (a, b) if isinstance(x, tuple) and "JSON" not in x[0]}
        return repr(one) == repr(other) and len(kinds) < BOTH
    if isinstance(a, str | list) or isinstance(b, str | list):
        return bool(_texts(a) == _texts(b))
    one, other = np.atleast_1d(a), np.atleast_1d(b)
    return one.dtype.kind in "biufc" and bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fc"))


def _texts(value: Value) -> Any:
    if isinstance(value, np.ndarray) and value.size == 0:
        return []
    return [value] if isinstance(value, str) else value if isinstance(value, list) else None


def _same_type(a: Value, b: Value, types_a: frozenset[str] | None, types_b: frozenset[str] | None) -> bool:
    """Return whether numbers have the same type, if both formats have it."""
    if not all(isinstance(value, np.ndarray | np.generic) for value in (a, b)):
        return True
    one, other = (np.asarray(value).dtype.newbyteorder("=").str[1:] for value in (a, b))
    can_be = (types_b is None or one in types_b) and (types_a is None or other in types_a)
    return bool(one == other or not can_be)


def _same_missing(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    one, other = (np.ravel(np.asarray(value)) for value in (a, b))
    if one.dtype.kind in "SUO" or other.dtype.kind in "SUO":
        return [text_of(x) for x in one] == [text_of(x) for x in other]
    if one.dtype.names or other.dtype.names or "V" in (one.dtype.kind, other.dtype.kind):
        return one.tolist() == other.tolist()
    narrow = min((one.dtype, other.dtype), key=lambda dtype: dtype.itemsize)
    if one.dtype.kind == other.dtype.kind == "f":  # JSON stores one of them as a double
        with np.errstate(all="ignore"):
            one, other = one.astype(narrow), other.astype(narrow)
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc" and other.dtype.kind in "fc")


def _same_unwritten(a: Stored, b: Stored) -> bool:
    """Return whether elements that were not written are the same. One file may have `_FillValue` for them."""
    one = a.missing if a.unwritten is None and b.unwritten is not None else a.unwritten
    other = b.missing if b.unwritten is None and a.unwritten is not None else b.unwritten
    return _same_missing(one, other)


def _of_dimensions(a: Held, b: Held) -> list[str]:
    """Return which dimensions differ. In Zarr only variables have dimensions, and none is unlimited."""
    found = []
    if "zarr" in (a.format, b.format) or "npy" in (a.format, b.format):
        names = {name.rpartition("/")[2] for name in b.dimensions}
        if b.format == "zarr" and a.format != "zarr":
            for name, (length, _) in a.dimensions.items():
                if name.rpartition("/")[2] not in names:
                    found.append(f"only in the first: dimension {name} of length {length}")
        return found
    for name in dict.fromkeys([*a.dimensions, *b.dimensions]):
        if name in a.dimensions and name in b.dimensions:
            if a.dimensions[name] != b.dimensions[name]:
                found.append(f"dimension {name}: {_length(a.dimensions[name])} and {_length(b.dimensions[name])}")
        elif a.format == b.format or not (_MADE_FOR_NETCDF.fullmatch(name) or _is_label(name, a, b)):
            found.append(f"only in the {_which(name in a.dimensions)}: dimension {name}")
    return found


def _is_label(name: str, a: Held, b: Held) -> bool:
    """Return whether a dimension exists only because variables of an HDF5 file have it as a label."""
    short = name.rpartition("/")[2]
    return any(
        short in one.dimensions for held in (a, b) if name not in held.dimensions for one in held.variables.values()
    )


def _length(dimension: tuple[int, bool]) -> str:
    return f"{dimension[0]}{', unlimited' if dimension[1] else ''}"


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    words = f"{value[0]}, {value[1]!r}" if isinstance(value, tuple) and len(value) == 2 else repr(value)
    return words if len(words) <= 120 else f"{words[:120]} ..."

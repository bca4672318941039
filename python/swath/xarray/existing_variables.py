"""New values for existing variables, with the encoding of the file: after a failure, old and new values are mixed.

The attributes of the encoding stay as they are in the file; data sets without an encoding get it from the file.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from xarray.core import indexing

from swath.array.decoded import Decoded
from swath.array.open_array import Array
from swath.errors import ArgumentError
from swath.xarray.conversion import Shared
from swath.xarray.encoding import EncodedVariable
from swath.xarray.lazy import LazyArray

_PACKING = ("scale_factor", "add_offset", "_Unsigned")
_MISSING = ("_FillValue", "missing_value")
_TIME = ("units", "calendar")


# ---- How values are encoded ------------------------------------------------------------------------------------------


def encoded_as_there(variable: xr.Variable, array: Array, given: Mapping[str, Any]) -> xr.Variable:
    """Return a variable with the encoding of its values in the file, except for what is `given`.

    Its data raise ArgumentError, when they are computed, for numbers that cannot be packed in this way.
    """
    own = _own_encoding(variable, array)
    kept = {name: value for name, value in variable.encoding.items() if name not in own}
    if any(name in own and name in variable.encoding for name in _PACKING):
        kept.pop("dtype", None)  # the dtype of packed numbers, which may be packed differently
    words = {name: value for name, value in own.items() if value is not None}
    found = variable.copy(deep=False)
    found.encoding = {**kept, **words, **given}
    is_packed = "dtype" in own and array.dtype.kind in "iu" and variable.dtype.kind in "iuf"
    if is_packed and np.dtype(found.encoding["dtype"]).newbyteorder("=") == own["dtype"]:
        check = functools.partial(_packable, where=_named(array), dtype=own["dtype"], words=found.encoding)
        found = found.copy(data=_checked(found.data, check, np.result_type(variable.dtype, "f4")))
    return found


def _own_encoding(variable: xr.Variable, array: Array) -> dict[str, Any]:
    """Return the file's encoding of such values; None for what it does not define."""
    kind, attributes = variable.dtype.kind, array.attributes
    is_time = kind in "mM" or (kind == "O" and " since " in str(attributes.get("units")))
    names: list[str] = []
    if kind in "iufmM" or is_time:
        names += _PACKING
    if (kind in "fc" and array.dtype.kind in "iufc") or is_time:  # integers have no missing values
        names += _MISSING
    if is_time:
        names += _TIME
    own = {name: attributes.get(name) for name in names if name not in variable.attrs}
    if is_time or any(own.get(name) is not None for name in _PACKING):
        # Floating-point numbers are packed as such, and converted when they are written.
        own["dtype"] = array.dtype.newbyteorder("=") if is_time or array.dtype.kind in "iu" else None
    return own


def _packable(values: npt.NDArray[Any], where: str, dtype: np.dtype[Any], words: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return the numbers, not rounded; ArgumentError unless each can be packed as an integer."""
    numbers = values.astype(np.result_type(values.dtype, "f4"), copy=False)
    scale, offset = float(words.get("scale_factor", 1)), float(words.get("add_offset", 0))
    fill = next((words[name] for name in _MISSING if name in words), None)
    of = np.iinfo(f"u{dtype.itemsize}" if str(words.get("_Unsigned")).lower() == "true" else dtype)
    packed = np.around((numbers.astype("f8") - offset) / scale)
    is_missing = np.isnan(packed) if fill is not None else np.False_
    fits = (packed >= of.min) & (packed <= of.max)
    if fill is not None:
        fits &= ~np.isin(packed, np.asarray(fill).astype(of.dtype))
    if not (fits | is_missing).all():
        lost = numbers[~(fits | is_missing)].ravel()[0]
        raise ArgumentError(
            f"{where} is packed as {dtype} with scale_factor {scale} and add_offset {offset}, which {lost} has no "
            'value of: choose mode="w", and another packing'
        )
    return numbers


def refuse_other_encoding(array: Array, variable: EncodedVariable) -> None:
    """Raise ArgumentError if the encoding differs from the file's: some old values might stay."""
    fill, there = variable.fill, array.attributes.get("_FillValue")
    if fill is not None and fill == fill and not _is_same(fill, there):  # NaN is read as missing anyway
        has = "no _FillValue" if there is None else f"_FillValue {there}"
        raise ArgumentError(
            f"{_named(array)} has {has}, and missing values are encoded as {fill}: give the file's "
            'own in encoding=, or choose mode="w"'
        )
    for name in (*_PACKING, "missing_value", *_TIME):
        new, there = variable.attributes.get(name), array.attributes.get(name)
        is_given = name in _PACKING or new is not None  # the rest stays as it is in the file
        is_harmless = there is None and (name == "missing_value" or (name == "units" and " since " not in str(new)))
        if is_given and not is_harmless and not _is_same(new, there) and not _are_same_times(new, there):
            raise ArgumentError(
                f"{_named(array)} has {_shown(name, there)}, and these values have {_shown(name, new)}: give "
                'them the file\'s own, or choose mode="w"'
            )


def _is_same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other))


def _are_same_times(one: Any, other: Any) -> bool:
    """Return whether both are units of time since the same date: xarray omits "00:00:00" when it encodes again."""
    if not (isinstance(one, str) and isinstance(other, str)):
        return False
    (unit, since, date), (other_unit, _, other_date) = one.partition(" since "), other.partition(" since ")
    try:
        return bool(since) and unit == other_unit and _date(date) == _date(other_date)
    except ValueError:  # NumPy cannot parse the date
        return False


def _date(text: str) -> np.datetime64:
    return np.datetime64(text.strip().replace(" ", "T"), "us")


def _shown(name: str, value: Any) -> str:
    return f"no {name}" if value is None else f"{name} {value}"


def _named(array: Array) -> str:
    return f"{array.path}: {array.variable}"


# ---- Which values they are -------------------------------------------------------------------------------------------


def without_fill(array: Array, variable: EncodedVariable) -> EncodedVariable:
    """Return a variable whose data raise ArgumentError if they contain the file's value for missing data.

    If the data set uses the same value for missing data, its data are unchanged.
    """
    there = array.attributes.get("_FillValue")
    if there is None or variable.fill is not None or array.dtype.kind not in "iufc" or np.isnan(there).any():
        return variable
    check = functools.partial(_not_missing, where=_named(array), fill=there)
    return dataclasses.replace(variable, data=_checked(variable.data, check, variable.data.dtype))


def _not_missing(values: npt.NDArray[Any], where: str, fill: Any) -> npt.NDArray[Any]:
    if np.isin(values, fill).any():
        raise ArgumentError(
            f"{where} has _FillValue {fill}, and some of these values are that: they would be read as missing; say "
            'that they are in encoding=, or choose mode="w"'
        )
    return values


def _checked(data: Any, check: Callable[[Any], Any], dtype: np.dtype[Any]) -> Any:
    """Return an array of that dtype whose elements `check` returns or refuses; for dask, when they are computed."""
    return check(data) if isinstance(data, (np.ndarray, np.generic)) else data.map_blocks(check, dtype=dtype)


# ---- Where they come from --------------------------------------------------------------------------------------------


def refuse_own_values(path: str, overwritten: Iterable[str], variables: Mapping[str, EncodedVariable]) -> None:
    """Raise ArgumentError if data are read from variables of the file that are overwritten at the same time.

    Args:
        path: the file.
        overwritten: names of its variables that are overwritten.
        variables: all written variables, by name.
    """
    names = set(overwritten)
    for name, variable in variables.items() if names else ():
        for source, of in _read_by(variable.data):
            if of in names and os.path.exists(source) and os.path.samefile(source, path):
                raise ArgumentError(
                    f"{path}: what is to be written to {name} is read from {of} of the same file when it is computed, "
                    f"and {of} is overwritten meanwhile: load() the data set before, or write it to another file"
                )


def _read_by(data: Any) -> Iterator[tuple[str, str]]:
    """Yield the files and variables that a dask array reads with Swath's engine."""
    waiting: list[Any] = list(data.__dask_graph__().values()) if hasattr(data, "__dask_graph__") else []
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, LazyArray):
            yield node.path, node.name
        elif isinstance(node, Shared):
            waiting.append(node.array)
        elif isinstance(node, (Array, Decoded)):
            stored = node.stored if isinstance(node, Decoded) else node
            yield stored.path, stored.variable or ""
        elif isinstance(node, (list, tuple, set, frozenset)):
            waiting += node
        elif isinstance(node, Mapping):
            waiting += node.values()
        elif isinstance(node, (indexing.ExplicitlyIndexed, indexing.NDArrayMixin)):
            waiting.append(getattr(node, "array", None))
        elif isinstance(node, functools.partial):
            waiting += [node.args, node.keywords]
        elif type(node).__module__ == "dask._task_spec":  # a task, or data that tasks share
            waiting += [getattr(node, name, None) for name in ("func", "args", "kwargs", "value")]

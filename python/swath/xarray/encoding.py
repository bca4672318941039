"""A data set as variables that a format can store: xarray's own encoding by the CF conventions, and the storage.

Text of variable length is stored as characters of fixed length: in netCDF and HDF5 along one more dimension, as xarray
does in netCDF classic, in Zarr as fixed-length strings. Data stay lazy, except for text and objects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from xarray import conventions
from xarray.backends.common import NONE_VAR_NAME, WritableCFDataStore
from xarray.backends.zarr import encode_zarr_variable
from xarray.coding.strings import CharacterArrayCoder, EncodedStringCoder, check_vlen_dtype

from swath.errors import ArgumentError
from swath.xarray.storage import storage_of

Encoding = Mapping[Hashable, Mapping[str, Any]]
AsThere = Callable[[Hashable, xr.Variable, Mapping[str, Any]], xr.Variable]
"""A function: returns a variable, by its name, with the encoding of the file, except for what is given."""

_FEW_TYPES = {"int64": "i4", "uint64": "i4", "uint32": "i4", "uint16": "i2", "uint8": "i1", "bool": "i1"}
"""For CDF-1 and CDF-2: the types that xarray uses in netCDF 3, if all values fit."""

_UNITS_OF_TIME = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds")


@dataclass(frozen=True)
class Target:
    """The target: its format, and whether it has only the types of CDF-1 and CDF-2."""

    format: str
    has_few_types: bool = False


@dataclass(frozen=True)
class EncodedVariable:
    """A variable as it will be stored.

    Attributes:
        name: in its group.
        data: a NumPy or dask array.
        dimensions: their names.
        attributes: without the fill value.
        fill: the value of missing data, or None.
        storage: `chunks`, `shards` and `codecs` of `File.create`.
    """

    name: str
    data: Any
    dimensions: tuple[str, ...]
    attributes: dict[str, Any]
    fill: Any = None
    storage: dict[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of `File.create`."""
        return {
            "fill": self.fill,
            "dimensions": self.dimensions,
            "attributes": self.attributes,
            **self.storage,
        }


@dataclass(frozen=True)
class EncodedGroup:
    """A data set as it will be stored.

    Attributes:
        name: path of the group, "" for the file itself.
        variables: of the group.
        attributes: of the group.
        unlimited: names of the dimensions that grow.
    """

    name: str
    variables: tuple[EncodedVariable, ...]
    attributes: dict[str, Any]
    unlimited: frozenset[str] = frozenset()

    def path_of(self, variable: EncodedVariable) -> str:
        """Return the name of a variable with its group."""
        return f"{self.name}/{variable.name}" if self.name else variable.name

    def grows(self, variable: EncodedVariable) -> bool:
        """Return whether a variable grows along its first dimension."""
        return self.growing(variable)[:1] == (True,)

    def growing(self, variable: EncodedVariable) -> tuple[bool, ...]:
        """Return which dimensions of a variable may grow; () if none may."""
        found = tuple(name in self.unlimited for name in variable.dimensions)
        return found if any(found) else ()


def encoded(
    data_set: xr.Dataset, target: Target, encoding: Encoding, unlimited: Collection[Hashable], as_there: AsThere
) -> tuple[list[EncodedVariable], dict[str, Any]]:
    """Return the variables of a data set, and its attributes, as they will be stored.

    Raises ArgumentError for names, attributes, types and encodings that the format cannot store.
    """
    given = dict(encoding)
    variables, attributes = conventions.encode_dataset_coordinates(data_set)
    unknown = [name for name in given if name not in variables]
    if unknown:
        raise ArgumentError(
            f"encoding: there is no variable {unknown[0]!r}; there are {', '.join(map(str, variables))}"
        )
    for name, words in given.items():
        if not isinstance(words, Mapping):
            raise ArgumentError(f"encoding of {name!r} must be castable to a dictionary, not {words!r}")
        if words.get("dtype") is str:
            raise ArgumentError(
                f"encoding of {name!r}: encoding dtype=str for vlen strings: Swath writes text of fixed length: leave "
                "it out"
            )
        variables[name].encoding = dict(words)
    variables = {name: as_there(name, variable, given.get(name, {})) for name, variable in variables.items()}
    if target.format == "zarr":
        stored = {name: _for_zarr(variable, name) for name, variable in variables.items()}
    else:
        variables = {name: _without_variable_length(variable) for name, variable in variables.items()}
        stored, attributes = _Characters().encode(variables, attributes)
    found = []
    for name, variable in stored.items():
        storage = storage_of(variable, target.format, unlimited, is_strict=name in given)
        found.append(_as_stored(name, variable, storage, target))
    return found, _checked_attributes(attributes, "the data set")


def _for_zarr(variable: xr.Variable, name: Hashable) -> xr.Variable:
    variable = encode_zarr_variable(_without_variable_length(variable), name=name)
    if check_vlen_dtype(variable.dtype) is str or variable.dtype.kind == "T":
        return variable.copy(data=np.asarray(np.asarray(variable.data, object), "U"))
    return variable


class _Characters(WritableCFDataStore):  # type: ignore[misc]
    """xarray's encoding by the CF conventions, with text as characters."""

    def encode_variable(self, variable: xr.Variable, name: Hashable = None) -> xr.Variable:
        """Return text as bytes of fixed length, and these as characters along one more dimension."""
        for coder in (EncodedStringCoder(allows_unicode=False), CharacterArrayCoder()):
            variable = coder.encode(variable, name=name)
        return variable


def _without_variable_length(variable: xr.Variable) -> xr.Variable:
    """Return the variable without the encoding for text of variable length, which files with such text set."""
    if variable.encoding.get("dtype") is str:
        variable = variable.copy(deep=False)
        del variable.encoding["dtype"]
    return variable


def _checked_name(name: Hashable) -> str:
    """Return the name; xarray uses None for no name. Raises ArgumentError for an invalid name."""
    if name is None:
        return str(NONE_VAR_NAME)
    if not isinstance(name, str) or not name or "/" in name:
        raise ArgumentError(
            f"{name!r}: Forward slashes '/' are not allowed in variable and dimension names, which are text: they "
            "separate groups"
        )
    return name


def _as_stored(name: Hashable, variable: xr.Variable, storage: dict[str, Any], target: Target) -> EncodedVariable:
    data, attributes = variable.data, _checked_attributes(variable.attrs, f"variable {name!r}")
    fill = attributes.pop("_FillValue", None)
    if target.has_few_types and data.dtype.kind == "i" and _is_of_time(attributes.get("units")):
        data = _without_missing_times(data, np.nan if fill is None else fill)
    if target.has_few_types and data.dtype.name in _FEW_TYPES:
        data = _narrowed(data, np.dtype(_FEW_TYPES[data.dtype.name]), name)
    if data.dtype.metadata:  # of an enumeration
        data = data.astype(data.dtype.str)
    return EncodedVariable(
        _checked_name(name), data, tuple(map(_checked_name, variable.dims)), attributes, fill, storage
    )


def _is_of_time(units: Any) -> bool:
    return isinstance(units, str) and (" since " in units or units in _UNITS_OF_TIME)


def _without_missing_times(data: Any, fill: Any) -> Any:
    """Return times with the fill value for missing ones, which are the lowest value in int64."""
    missing = data == np.iinfo(np.int64).min
    return np.where(missing, fill, data) if missing.any() else data


def _narrowed(data: Any, dtype: np.dtype[Any], name: Hashable) -> Any:
    """Return the same values in a narrower type; ArgumentError, when they are computed, if they do not fit."""

    def narrow(values: Any) -> Any:
        narrowed = values.astype(dtype)
        if not (narrowed == values).all():
            raise ArgumentError(
                f"variable {name!r}: could not safely cast array from {values.dtype} to {dtype}, which is what CDF-1 "
                'and CDF-2 can store; choose format="netcdf-classic:cdf5", or a dtype in its encoding'
            )
        return narrowed

    return narrow(data) if isinstance(data, np.ndarray) else data.map_blocks(narrow, dtype=dtype)


def _checked_attributes(attributes: Mapping[Any, Any], where: str) -> dict[str, Any]:
    for name in attributes:
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"attributes of {where}: expected names that are text, not {name!r}")
    # Bytes are text in files; invalid bytes become what xarray's own engines make of them.
    return {
        name: value.decode("utf-8", "replace") if isinstance(value, bytes) and name != "_FillValue" else value
        for name, value in attributes.items()
    }

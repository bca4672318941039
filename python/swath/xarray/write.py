"""Writing data sets: every variable is created, then computed and written block by block within a budget of memory."""

from __future__ import annotations

import errno
import functools
import os
import warnings
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from swath import formats
from swath.array.file import File
from swath.array.open_array import Array
from swath.array.opening import create_whole_file, open_file
from swath.errors import ArgumentError, ExistsError
from swath.formats import ChunkedLayout, CodedLayout, LibraryLayout, TiledLayout
from swath.formats.description import Shards, is_beyond
from swath.xarray.blocks import Blocked, batches
from swath.xarray.encoding import EncodedGroup, EncodedVariable, Encoding, Target, encoded
from swath.xarray.layout import new_file
from swath.xarray.there import encoded_as_there, refuse_other_encoding, refuse_own_values, without_fill

MODES = ("w-", "w", "a")


@dataclass(frozen=True)
class WriteOptions:
    """How data sets are written: the arguments of `to_file`, in which they are explained; encodings by group."""

    format: str | None = None
    mode: str = "w-"
    encoding: Mapping[str, Encoding] = field(default_factory=dict)
    unlimited_dims: Iterable[Hashable] | None = None
    memory_bytes: int = 256 << 20


def write(data_sets: Mapping[str, xr.Dataset], path: str, options: WriteOptions) -> None:
    """Write the data sets of groups, "" for the file itself, into one file; a group comes before those in it."""
    if options.mode not in MODES:
        raise ArgumentError(
            f'mode {options.mode!r}; expected "w-" for a new file, "w" to replace one, or "a" to add to one'
        )
    exists = os.path.exists(path)
    if exists and options.mode == "w-":
        raise ExistsError(
            f'{path}: it exists; choose another name, mode="w" to replace it, or mode="a" to add to it', errno.EEXIST
        )
    if exists and options.mode == "a":
        with open_file(path, mode="r+") as file:
            groups = _encoded(data_sets, Target(file.format, file.version in ("CDF-1", "CDF-2")), options, file)
            _refuse_own_values(file, groups)
            write_blocks(_added(file, groups), options.memory_bytes)
        return
    kind = formats.format_for(path, options.format)
    target = Target(kind.partition(":")[0], kind in ("netcdf-classic:cdf1", "netcdf-classic:cdf2"))
    groups = _encoded(data_sets, target, options)
    with create_whole_file(path, new_file(groups, path, kind), format=kind, overwrite=options.mode == "w") as file:
        variables = {group.path_of(variable): variable for group in groups for variable in group.variables}
        write_blocks(list(zip(file.many(list(variables)), variables.values(), strict=True)), options.memory_bytes)


def _encoded(
    data_sets: Mapping[str, xr.Dataset], target: Target, options: WriteOptions, file: File | None = None
) -> list[EncodedGroup]:
    """Return data sets as they will be stored; `file` is the one that they are added to."""
    found = []
    for name, data_set in data_sets.items():
        unlimited = unlimited_dimensions(data_set, options.unlimited_dims)
        if target.format == "netcdf-classic" and not unlimited:
            unlimited = _empty_dimension(data_set)
        as_there = functools.partial(_as_there, file, name)
        variables, attributes = encoded(data_set, target, options.encoding.get(name, {}), unlimited, as_there)
        found.append(EncodedGroup(name, tuple(variables), attributes, frozenset(map(str, unlimited))))
    return found


def _as_there(
    file: File | None, group: str, name: Hashable, variable: xr.Variable, given: Mapping[str, Any]
) -> xr.Variable:
    path = f"{group}/{name}" if group else str(name)
    return variable if file is None or path not in file else encoded_as_there(variable, file[path], given)


def _refuse_own_values(file: File, groups: list[EncodedGroup]) -> None:
    variables = {group.path_of(variable): variable for group in groups for variable in group.variables}
    refuse_own_values(file.path, [name for name in variables if name in file], variables)


def _empty_dimension(data_set: xr.Dataset) -> set[Hashable]:
    """Return the dimension without elements: netCDF classic has it as one that grows; none where that cannot be."""
    later = {name for variable in data_set.variables.values() for name in variable.dims[1:]}
    return set([name for name, length in data_set.sizes.items() if length == 0 and name not in later][:1])


def _added(file: File, groups: list[EncodedGroup]) -> list[tuple[Array, EncodedVariable]]:
    """Return the arrays of a file that exists, which variables are written to."""
    arrays = [_made(file, group, variable) for group in groups for variable in group.variables]
    for group in groups:
        if group.name and group.name not in file.groups:
            raise ArgumentError(f"{file.path}: group {group.name!r} has no variables: it is made in a new file only")
        if group.attributes:
            (file.groups[group.name].attributes if group.name else file.attributes).update(group.attributes)
    return arrays


def unlimited_dimensions(data_set: xr.Dataset, wanted: Iterable[Hashable] | None) -> set[Hashable]:
    """Return the dimensions that are to grow: those that are wanted, or that grew in the file of the data set.

    Raises ArgumentError for a wanted one that is not there, or that is not the first of all variables that have it;
    warns of one of the file's.
    """
    chosen = data_set.encoding.get("unlimited_dims", ()) if wanted is None else wanted
    source = "dataset.encoding" if wanted is None else "unlimited_dims-kwarg"
    unlimited: set[Hashable] = set()
    for name in {chosen} if isinstance(chosen, str) else set(chosen):
        later = [str(v) for v, variable in data_set.variables.items() if name in variable.dims[1:]]
        if name in data_set.dims and not later:
            unlimited.add(name)
            continue
        why = f"not the first one of {', '.join(later)}" if later else "not part of current dataset dimensions"
        problem = f"Unlimited dimension(s) {{{name!r}}} declared in {source!r}, but {why}: it cannot grow"
        if wanted is not None:
            raise ArgumentError(problem)
        warnings.warn(problem, UserWarning, stacklevel=2)
    return unlimited


def _made(file: File, group: EncodedGroup, variable: EncodedVariable) -> tuple[Array, EncodedVariable]:
    """Return the array that the variable is written to, a new one or the one that the file has, and what is written."""
    name, data = group.path_of(variable), variable.data
    if name in file:
        array = file[name]
        if array.shape != data.shape or not np.can_cast(data.dtype, array.dtype, "same_kind"):
            raise ArgumentError(
                f"{file.path}: {name} is there as {array.dtype} {array.shape}; {data.dtype} {data.shape} does not fit "
                'into it: choose another name, or mode="w"'
            )
        refuse_other_encoding(array, variable)
        array.attributes.update(variable.attributes)
        return array, without_fill(array, variable)
    shape = (None, *data.shape[1:]) if group.grows(variable) else data.shape
    array = file.create(name, shape, data.dtype, **variable.options)
    if group.grows(variable):
        _grow(array, data.shape[0])
    return array, variable


def _grow(array: Array, rows: int) -> None:
    """Let a new array have so many rows, all of which are written then."""
    array._file.extend(array, rows, f"give {array.variable} of {array.path} {rows} rows")
    array._file.wrote(array.variable or "", rows)


def write_blocks(arrays: list[tuple[Array, EncodedVariable]], budget: int) -> None:
    """Compute and write the data, of all arrays side by side, with no more than `budget` bytes of results at a time."""
    blocked = [
        Blocked(array.shape, array.dtype.itemsize, getattr(variable.data, "chunks", None), _whole_chunk(array))
        for array, variable in arrays
    ]
    for batch in batches(blocked, budget):
        parts = [arrays[place.array][1].data[place.block] for place in batch]
        for place, values in zip(batch, _computed(parts), strict=True):
            array = arrays[place.array][0]
            array.write(_as_stored(values, array), selection=place.block)


def _as_stored(values: Any, array: Array) -> npt.NDArray[Any]:
    """Return values in the dtype of the array. Raise ArgumentError for numbers and text that it cannot hold."""
    given = np.asarray(values)
    with np.errstate(over="ignore"):
        stored = given.astype(array.dtype, copy=False)
    if np.can_cast(given.dtype, array.dtype):
        return stored
    if (array.dtype.kind in "iuSU" and not (stored == given).all()) or is_beyond(stored, given):
        raise ArgumentError(f"{array.path}: {array.variable} is {array.dtype}, and not all of these {given.dtype} are")
    return stored


def _computed(parts: list[Any]) -> list[Any]:
    """Return the values of NumPy and dask arrays; those of dask are computed together."""
    if all(isinstance(part, (np.ndarray, np.generic)) for part in parts):
        return parts
    import dask

    return list(dask.compute(*parts))


def _whole_chunk(array: Array) -> tuple[int, ...] | None:
    """Return the shape of what is stored as a whole: a shard, or a chunk."""
    layout = array._description.layout
    if isinstance(layout, CodedLayout) and isinstance(layout.places, Shards):
        return layout.places.shape
    if isinstance(layout, (CodedLayout, ChunkedLayout, TiledLayout, LibraryLayout)):
        return layout.chunk_shape
    return None

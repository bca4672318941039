"""Writes data sets: every variable is created, then computed and written block by block within a budget of memory."""

from __future__ import annotations

import errno
import functools
import os
import warnings
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from swath import formats
from swath.array.file import File
from swath.array.opening import create_whole_file, open_file
from swath.errors import ArgumentError, ExistsError
from swath.xarray import append
from swath.xarray.encoding import EncodedGroup, EncodedVariable, Encoding, Target, encoded
from swath.xarray.existing_variables import encoded_as_there, refuse_other_encoding, refuse_own_values, without_fill
from swath.xarray.layout import new_file
from swath.xarray.written import Written, write_blocks

MODES = ("w-", "w", "a")


@dataclass(frozen=True)
class WriteOptions:
    """The options of `to_file`, which explains them; encodings by group."""

    format: str | None = None
    mode: str | None = None
    encoding: Mapping[str, Encoding] = field(default_factory=dict)
    unlimited_dims: Iterable[Hashable] | None = None
    memory_bytes: int = 256 << 20
    append_dim: str | None = None


def write(data_sets: Mapping[str, xr.Dataset], path: str, options: WriteOptions) -> None:
    """Write the data sets of groups, "" for the file itself, into one file; each group precedes those in it."""
    mode = _mode(options)
    exists = os.path.exists(path)
    if exists and mode == "w-":
        raise ExistsError(
            f'{path}: it exists; choose another name, mode="w" to replace it, or mode="a" to add to it', errno.EEXIST
        )
    if exists and mode == "a":
        with open_file(path, mode="r+") as file:
            groups = _encoded(data_sets, Target(file.format, file.version in ("CDF-1", "CDF-2")), options, file)
            _refuse_own_values(file, groups)
            if options.append_dim is None:
                write_blocks(_added(file, groups), options.memory_bytes)
            else:
                _append(file, groups, options)
        return
    kind = formats.format_for(path, options.format)
    target = Target(kind.partition(":")[0], kind in ("netcdf-classic:cdf1", "netcdf-classic:cdf2"))
    groups = _encoded(data_sets, target, options)
    with create_whole_file(path, new_file(groups, path, kind), format=kind, overwrite=mode == "w") as file:
        variables = {group.path_of(variable): variable for group in groups for variable in group.variables}
        arrays = zip(file.many(list(variables)), variables.values(), strict=True)
        write_blocks([Written(array, variable.data) for array, variable in arrays], options.memory_bytes)


def _append(file: File, groups: list[EncodedGroup], options: WriteOptions) -> None:
    """Append the variables along the dimension; all others are written as additions to a file."""
    assert options.append_dim is not None
    rows = append.rows_of(file, groups, options.append_dim)
    others = _added(file, append.others(file, groups, options.append_dim))
    append.append(file, rows, options.memory_bytes)
    write_blocks(others, options.memory_bytes)


def _mode(options: WriteOptions) -> str:
    """Return the mode. Raises ArgumentError for an invalid mode, or one that does not fit `append_dim`."""
    if options.append_dim is not None and options.mode not in (None, "a"):
        raise ArgumentError(f'append_dim= goes with mode="a", which may be left out, not with mode={options.mode!r}')
    mode = options.mode or ("w-" if options.append_dim is None else "a")
    if mode not in MODES:
        raise ArgumentError(f'mode {mode!r}; expected "w-" for a new file, "w" to replace one, or "a" to add to one')
    return mode


def _encoded(
    data_sets: Mapping[str, xr.Dataset], target: Target, options: WriteOptions, file: File | None = None
) -> list[EncodedGroup]:
    """Return data sets as they will be stored; `file` is the file that they are added to."""
    if options.append_dim is not None and not any(options.append_dim in one.dims for one in data_sets.values()):
        there = sorted({str(name) for data_set in data_sets.values() for name in data_set.dims})
        raise ArgumentError(
            f"append_dim={options.append_dim!r}: the data set has no such dimension; it has "
            f"{', '.join(there) or 'none'}"
        )
    found = []
    for name, data_set in data_sets.items():
        is_of_any_axis = file is None and target.format in ("netcdf4", "hdf5")
        unlimited = unlimited_dimensions(data_set, options.unlimited_dims, is_of_any_axis=is_of_any_axis)
        if file is None and options.append_dim in data_set.dims:
            unlimited |= unlimited_dimensions(data_set, [options.append_dim])
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
    """Return the dimension without elements: netCDF classic stores it as unlimited; none if this is not possible."""
    later = {name for variable in data_set.variables.values() for name in variable.dims[1:]}
    return set([name for name, length in data_set.sizes.items() if length == 0 and name not in later][:1])


def _added(file: File, groups: list[EncodedGroup]) -> list[Written]:
    """Return the arrays of an existing file for the variables."""
    arrays = [_made(file, group, variable) for group in groups for variable in group.variables]
    for group in groups:
        if group.name and group.name not in file.groups:
            raise ArgumentError(f"{file.path}: group {group.name!r} has no variables: it is made in a new file only")
        if group.attributes:
            (file.groups[group.name].attributes if group.name else file.attributes).update(group.attributes)
    return arrays


def unlimited_dimensions(
    data_set: xr.Dataset, wanted: Iterable[Hashable] | None, *, is_of_any_axis: bool = False
) -> set[Hashable]:
    """Return the dimensions that may grow: the given ones, or those that grow in the file of the data set.

    Raises ArgumentError for a given one that does not exist, or, unless `is_of_any_axis`, that is not the first of all
    its variables; warns if this concerns one of the file.
    """
    chosen = data_set.encoding.get("unlimited_dims", ()) if wanted is None else wanted
    source = "dataset.encoding" if wanted is None else "unlimited_dims-kwarg"
    unlimited: set[Hashable] = set()
    for name in {chosen} if isinstance(chosen, str) else set(chosen):
        later = [str(v) for v, variable in data_set.variables.items() if name in variable.dims[1:]]
        if name in data_set.dims and (is_of_any_axis or not later):
            unlimited.add(name)
            continue
        why = (
            f"not the first one of {', '.join(later)}: it cannot grow; it could in a new netCDF-4 or HDF5 file"
            if later
            else "not part of current dataset dimensions: it cannot grow"
        )
        problem = f"Unlimited dimension(s) {{{name!r}}} declared in {source!r}, but {why}"
        if wanted is not None:
            raise ArgumentError(problem)
        warnings.warn(problem, UserWarning, stacklevel=2)
    return unlimited


def _made(file: File, group: EncodedGroup, variable: EncodedVariable) -> Written:
    """Return the array for the variable, a new one or an existing one, and its data."""
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
        return Written(array, without_fill(array, variable).data)
    shape = (None, *data.shape[1:]) if group.grows(variable) else data.shape
    array = file.create(name, shape, data.dtype, **variable.options)
    if group.grows(variable) and array.shape[0] < data.shape[0]:
        file._file.give_rows(array._stored, data.shape[0])
    if array.shape != data.shape:
        raise ArgumentError(
            f"{file.path}: {name} has the shape {data.shape}, and its dimensions in the file have {array.shape}: give "
            "it as many rows, or other names of dimensions"
        )
    return Written(array, data)

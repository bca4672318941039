"""Appends data sets to the variables of a file that grow: `ds.swath.to_file(path, append_dim="time")`.

All checks come before the first write. The dimension becomes longer after the rows were written, for all variables
along it. If an error comes before, the file is as it was, except for values of variables that are not along the
dimension.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from swath.array.file import File
from swath.array.open_array import Array
from swath.errors import ArgumentError
from swath.formats.contents import Contents
from swath.xarray.encoding import EncodedGroup, EncodedVariable
from swath.xarray.existing_variables import refuse_other_encoding, without_fill
from swath.xarray.written import Written, values_for, write_blocks


class Appended(NamedTuple):
    """A variable with rows to append to an array."""

    array: Array
    variable: EncodedVariable
    first: int
    """The row of the array for its own first row."""

    @property
    def records(self) -> int:
        """Return how many rows are appended."""
        return int(self.variable.data.shape[0])


def rows_of(file: File, groups: Sequence[EncodedGroup], dimension: str) -> list[Appended]:
    """Return the variables along the dimension, and their positions; nothing is written yet.

    Raises ArgumentError if the data sets do not continue the file: its dimensions, its types, its encodings, and all of
    its variables along the dimension.
    """
    file.sync()  # all variables get the rows of their dimension
    appended = [one for group in groups for one in _appended(file, group, dimension)]
    if not appended:
        raise ArgumentError(f"append_dim={dimension!r}: no variable of the data set lies along it")
    _refuse_left_out(file, groups, dimension, {one.array.variable or "" for one in appended})
    return appended


def others(file: File, groups: Sequence[EncodedGroup], dimension: str) -> list[EncodedGroup]:
    """Return the groups with the variables that are not along the dimension, and must still be written.

    Raises ArgumentError for a coordinate of another dimension that differs from the file's.
    """
    rest = [
        dataclasses.replace(group, variables=tuple(v for v in group.variables if dimension not in v.dimensions))
        for group in groups
    ]
    return [dataclasses.replace(group, variables=tuple(_others(file, group))) for group in rest]


def append(file: File, appended: Sequence[Appended], budget: int) -> None:
    """Append what `rows_of` returned, within `budget` bytes. Where that fails, the file has the rows that it had."""

    def write(_first: list[int]) -> None:
        write_blocks([Written(one.array, one.variable.data, one.first) for one in appended], budget)

    file._file.append([(one.array._stored, one.records) for one in appended], write, is_long=True)


# ---- What is appended ------------------------------------------------------------------------------------------------


def _appended(file: File, group: EncodedGroup, dimension: str) -> Iterator[Appended]:
    along = [variable for variable in group.variables if dimension in variable.dimensions]
    if along and file.contents.dimension(group.name, dimension) is None:
        there = ", ".join(_dimensions_seen(file.contents, group.name)) or "none"
        raise ArgumentError(f"append_dim={dimension!r}: {file.path} has no such dimension; its dimensions: {there}")
    for variable in along:
        name = group.path_of(variable)
        if variable.dimensions.index(dimension) > 0:
            raise ArgumentError(
                f"append_dim={dimension!r}: it is not the first dimension of {name}, whose dimensions are "
                f"{', '.join(variable.dimensions)}: Swath appends along the first one; transpose the data set, and "
                "store it so"
            )
        if name not in file:
            raise ArgumentError(
                f"append_dim={dimension!r}: {file.path} has no variable {name}, whose first rows nobody would have "
                'written: write it as a whole with mode="a" before, or leave it out'
            )
        array = file[name]
        first = file._file.rows_to_append_to(array._stored)
        yield Appended(array, _fitting(array, variable), first)


def _fitting(array: Array, variable: EncodedVariable) -> EncodedVariable:
    """Return a variable whose rows fit the array; otherwise raise ArgumentError."""
    text = _padded(array, variable)
    name = f"{array.path}: {array.variable}"
    if array.dimensions != text.dimensions:
        raise ArgumentError(
            f"{name} has the dimensions {_listed(array.dimensions)}, and what is appended has "
            f"{_listed(text.dimensions)}: rename or transpose them"
        )
    for dimension, there, new in list(zip(array.dimensions, array.shape, text.data.shape, strict=True))[1:]:
        if there != new:
            raise ArgumentError(
                f"{name} has {there} elements along {dimension}, and what is appended has {new}: only "
                f"{array.dimensions[0]} grows"
            )
    if not np.can_cast(text.data.dtype, array.dtype, "same_kind"):
        raise ArgumentError(f"{name} is {array.dtype}, and what is appended is {text.data.dtype}: convert it before")
    refuse_other_encoding(array, text)
    return without_fill(array, text)


def _padded(array: Array, variable: EncodedVariable) -> EncodedVariable:
    """Return characters of shorter texts with zero bytes up to the length in the file."""
    data = variable.data
    is_of_characters = data.dtype == array.dtype == np.dtype("S1") and data.ndim == array.ndim > 1
    if not is_of_characters or variable.dimensions[:-1] != array.dimensions[:-1]:
        return variable
    if data.shape[-1] > array.shape[-1]:
        raise ArgumentError(
            f"{array.path}: {array.variable} holds texts of at most {array.shape[-1]} bytes, and what is appended has "
            f"one of {data.shape[-1]}"
        )
    padded = np.zeros((*data.shape[:-1], array.shape[-1]), data.dtype)
    padded[..., : data.shape[-1]] = data
    return dataclasses.replace(variable, data=padded, dimensions=array.dimensions)


# ---- What is there besides -------------------------------------------------------------------------------------------


def _refuse_left_out(file: File, groups: Sequence[EncodedGroup], dimension: str, given: set[str]) -> None:
    """Raise ArgumentError for a variable of the file along the dimension that no data set has."""
    contents = file.contents
    grown = {contents.path_of(g.name, dimension) for g in groups if any(dimension in v.dimensions for v in g.variables)}
    left_out = [
        v.name
        for v in contents.variables.values()
        if v.name not in given and v.dimensions[:1] == (dimension,) and contents.path_of(v.group, dimension) in grown
    ]
    if left_out:
        raise ArgumentError(
            f"append_dim={dimension!r}: {file.path} has {_listed(left_out)} along it, too, which the data set lacks: "
            "it would have no values in the new rows; give all variables along the dimension"
        )


def _others(file: File, group: EncodedGroup) -> Iterator[EncodedVariable]:
    """Yield the variables that must still be written; coordinates must be equal to those of the file."""
    for variable in group.variables:
        name = group.path_of(variable)
        if name in file and variable.dimensions == (variable.name,):
            array = file[name]
            if array.shape == variable.data.shape and array.dtype.kind == variable.data.dtype.kind:
                values = values_for(array, np.asarray(variable.data))
                if np.array_equal(values, array[...], equal_nan=values.dtype.kind == "f"):
                    continue
            raise ArgumentError(
                f"{file.path}: the coordinate {name} has other values than the data set that is appended: what is "
                "there would lie elsewhere; select or interpolate to the file's own"
            )
        yield variable


def _dimensions_seen(contents: Contents, group: str) -> list[str]:
    found: dict[str, Any] = {}
    while True:
        found |= contents.groups[group].dimensions if group in contents.groups else {}
        if not group:
            return list(found)
        group = group.rpartition("/")[0]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"

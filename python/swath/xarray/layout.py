"""The contents of a new file, from encoded data sets: groups, dimensions, variables. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from swath import formats
from swath.formats.contents import Dimension, Group
from swath.formats.description import NewArray
from swath.formats.new_file import NewFile
from swath.xarray.encoding import EncodedGroup, EncodedVariable


def new_file(groups: Iterable[EncodedGroup], path: str, kind: str) -> NewFile:
    """Return the contents of a new file of the format `kind`. Raises ArgumentError for impossible arrays.

    If a group above has a dimension of the same name and length, it is used; else the group gets its own.
    """
    by_name: dict[str, Group] = {"": Group("")}
    variables: list[NewArray] = []
    for group in groups:
        parts = group.name.split("/") if group.name else []
        for count in range(len(parts)):
            above = "/".join(parts[: count + 1])
            by_name.setdefault(above, Group(above))
        by_name[group.name] = Group(group.name, group.attributes, by_name[group.name].dimensions)
        for variable in group.variables:
            _define(by_name, group, variable)
            variables.append(_new_array(group, variable, path, kind))
    return NewFile(kind.partition(":")[2] or None, tuple(by_name.values()), tuple(variables))


def _define(groups: dict[str, Group], group: EncodedGroup, variable: EncodedVariable) -> None:
    """Define the dimensions of a variable that do not exist yet."""
    for name, length in zip(variable.dimensions, variable.data.shape, strict=True):
        wanted = Dimension(name, length, name in group.unlimited)
        if _seen(groups, group.name, name) != wanted:
            groups[group.name].dimensions[name] = wanted


def _seen(groups: dict[str, Group], group: str, name: str) -> Dimension | None:
    while True:
        found = groups[group].dimensions.get(name)
        if found is not None or not group:
            return found
        group = group.rpartition("/")[0]


def _new_array(group: EncodedGroup, variable: EncodedVariable, path: str, kind: str) -> NewArray:
    data = variable.data
    name = group.path_of(variable)
    options = formats.CreationOptions(variable=name, **variable.options)
    new = formats.new_array(path, kind, data.shape, data.dtype, options)
    return dataclasses.replace(new, unlimited=group.growing(variable))

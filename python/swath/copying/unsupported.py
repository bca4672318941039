"""What a target cannot contain: listed, and left out if the caller wants it. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from swath import formats
from swath.errors import ArgumentError
from swath.formats import Contents, NewArray, NewFile
from swath.formats.contents import Attributes, Group, Variable

OF_HDF5 = ("hdf5", "netcdf4")


def without_excluded(path: str, contents: Contents, exclude: Sequence[str]) -> tuple[Contents, tuple[str, ...]]:
    """Return the contents without the excluded paths, and these: variables, groups with their contents, links.

    Raises ArgumentError for a name that the file does not have.
    """
    if isinstance(exclude, str | bytes) or not all(isinstance(name, str) for name in exclude):
        raise ArgumentError(f'exclude={exclude!r}: expected a list of names, such as ["expver"]')
    names = [name.strip("/") for name in exclude]
    known = [*contents.variables, *contents.groups, *contents.others]
    unknown = [name for name in names if name not in known or not name]
    if unknown:
        listed = ", ".join(name for name in known[:20] if name)
        raise ArgumentError(f"{path}: exclude={unknown[0]!r}: the file has nothing of that name; it has {listed}")

    def is_excluded(one: str) -> bool:
        return any(one == name or one.startswith(f"{name}/") for name in names)

    gone = tuple(name for name in known if name and is_excluded(name))
    variables = {name: one for name, one in contents.variables.items() if name not in gone}
    for name, one in variables.items():
        if one.same_as in gone:  # a link to an excluded variable becomes a variable of its own
            variables[name] = dataclasses.replace(one, same_as="")
    kept = dataclasses.replace(
        contents,
        groups={name: group for name, group in contents.groups.items() if name not in gone},
        variables=variables,
        others={name: words for name, words in contents.others.items() if name not in gone},
    )
    return kept, gone


def lost(contents: Contents, kind: str) -> tuple[list[str], list[str]]:
    """Return descriptions of what the target has no place for: what only the user may drop, and what is only reported.

    This concerns HDF5 files, and targets that do not take their objects unchanged.
    """
    refused = []
    holders: list[Group | Variable] = [*contents.groups.values(), *contents.variables.values()]
    for holder in holders:
        where = f"{holder.name}: " if holder.name else ""
        refused += [f"{where}attribute {name}: {words}" for name, words in holder.other_attributes.items()]
    named = []
    kept = {one.enumeration.name for one in contents.variables.values() if one.enumeration is not None}
    for name, words in contents.others.items():
        if words != "a named type":
            refused.append(f"{name}: {words}")
        elif kind not in OF_HDF5 or name.rpartition("/")[2] not in kept:
            named.append(f"{name}: {words}")
    if kind not in OF_HDF5:
        for name, variable in contents.variables.items():
            if variable.enumeration is not None:
                members = ", ".join(f"{number} is {one}" for one, number in variable.enumeration.members.items())
                named.append(f"{name}: what its numbers are called ({members})")
    return refused, named


def without_refused(kind: str, new: NewFile) -> tuple[NewFile, tuple[str, ...]]:
    """Return a new file without what its format cannot store, and descriptions of that."""
    left_out: list[str] = []
    groups = []
    for group in new.groups:
        held = _held_group(kind, new, group, left_out)
        if held is not None:
            groups.append(held)
    bare = tuple(dataclasses.replace(group, attributes={}) for group in groups)
    variables = []
    for one in new.variables:
        attributes = _held_attributes(kind, new, one, left_out)
        wanted = dataclasses.replace(one, attributes=attributes)
        why = [] if _has_group(one, groups) else [f"{one.name}: its group cannot be held"]
        why = why or formats.refusals(kind, dataclasses.replace(new, groups=bare, variables=(wanted,)))
        if why:
            left_out += why
        else:
            variables.append(wanted)
    return dataclasses.replace(new, groups=tuple(groups), variables=tuple(variables)), tuple(left_out)


def _has_group(one: NewArray, groups: list[Group]) -> bool:
    group = one.name.strip("/").rpartition("/")[0]
    return any(group == known.name for known in groups)


def _held_group(kind: str, new: NewFile, group: Group, left_out: list[str]) -> Group | None:
    """Return the part of a group that the format can store: attributes and dimensions one by one; None for nothing."""
    root = () if not group.name else (Group(""),)

    def why(one: Group) -> list[str]:
        return formats.refusals(kind, dataclasses.replace(new, groups=(*root, one), variables=()))

    refused = why(Group(group.name))
    if refused:
        left_out += refused
        return None
    attributes: Attributes = {}
    for name, value in group.attributes.items():
        refused = why(Group(group.name, {name: value}))
        left_out += refused
        if not refused:
            attributes[name] = value
    dimensions: dict[str, Any] = {}
    for name, dimension in group.dimensions.items():
        refused = why(Group(group.name, {}, {**dimensions, name: dimension}))
        left_out += refused
        if not refused:
            dimensions[name] = dimension
    return dataclasses.replace(group, attributes=attributes, dimensions=dimensions)


def _held_attributes(kind: str, new: NewFile, one: NewArray, left_out: list[str]) -> Attributes:
    found: Attributes = {}
    scalar = dataclasses.replace(one, **_SCALAR, variable="x")
    for name, value in one.attributes.items():
        alone = dataclasses.replace(scalar, attributes={name: value})
        refused = formats.refusals(kind, dataclasses.replace(new, groups=(Group(""),), variables=(alone,)))
        left_out += [f"{one.name}: {words.removeprefix('x: ')}" for words in refused]
        if not refused:
            found[name] = value
    return found


_SCALAR: dict[str, Any] = {
    "shape": (),
    "order": (),
    "dimensions": (),
    "chunks": None,
    "shards": None,
    "codecs": None,
    "unlimited": (),
    "maxshape": (),
    "fill": None,
    "stated_fill": None,
    "enumeration": None,
    "dtype": np.dtype("i4"),
}

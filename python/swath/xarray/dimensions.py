"""Names for unnamed dimensions, as the netCDF library invents them: "phony_dim_0", "phony_dim_1"."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from swath.errors import warn_caller
from swath.formats.contents import Contents, Variable

Names = dict[str, tuple[str, ...]]
"""The names of each variable's dimensions, by the variable's path."""


def names_of_dimensions(contents: Contents, path: str) -> Names:
    """Return the dimensions of all variables. In one group, unnamed dimensions of the same length share a name.

    Two dimensions of one variable never share a name. Groups precede those above them, as in the netCDF library. If a
    name has another length, it is not used, and there is a warning (UserWarning).
    """
    numbers = itertools.count(sum(len(group.dimensions) for group in contents.groups.values()))
    own: dict[str, list[Variable]] = {group: [] for group in contents.groups}
    for variable in contents.variables.values():
        own[contents.group_of(variable)].append(variable)
    names: Names = {}
    for group in _inner_first(contents):
        known = {d.name: d.length for d in contents.groups[group].dimensions.values() if not d.is_unlimited}
        lengths: dict[str, int] = {}
        for variable in own[group]:
            given, problems = _fitting(contents, variable, lengths)
            for problem in problems:
                warn_caller(f"{path}: {problem}: the name is not used")
            names[variable.name] = _completed(variable, given, known, numbers)
    return names


def _fitting(contents: Contents, variable: Variable, lengths: dict[str, int]) -> tuple[list[str], list[str]]:
    """Return the names of a variable's dimensions, "" for one of another length, and descriptions of these.

    Scales of HDF5 may be attached to dimensions of other lengths, and labels may be any text.
    """
    problems = []
    names = list(variable.dimensions or ("",) * len(variable.shape))
    for axis, length in enumerate(variable.shape):
        dimension = contents.dimension(contents.group_of(variable), names[axis])
        expected = lengths.setdefault(names[axis], length if dimension is None else dimension.length)
        if names[axis] and length != expected:
            problems.append(
                f"{variable.name} has {length} elements along its dimension {names[axis]!r}, whose length is {expected}"
            )
            names[axis] = ""
    return names, problems


def _completed(variable: Variable, names: list[str], known: dict[str, int], numbers: Iterator[int]) -> tuple[str, ...]:
    """Return the names of a variable's dimensions; invented names are added to those of its group."""
    for axis, length in enumerate(variable.shape):
        if not names[axis]:
            fitting = (name for name, known_length in known.items() if known_length == length and name not in names)
            names[axis] = next(fitting, "") or f"phony_dim_{next(numbers)}"
            known[names[axis]] = length
    return tuple(names)


def _inner_first(contents: Contents) -> list[str]:
    """Return all groups, each after the groups in it."""
    inside: dict[str, list[str]] = {group: [] for group in contents.groups}
    for group in contents.groups:
        if group:
            inside[group.rpartition("/")[0]].append(group)
    outer_first: list[str] = []
    waiting = [""]
    while waiting:
        group = waiting.pop()
        outer_first.append(group)
        waiting += inside[group]
    return outer_first[::-1]

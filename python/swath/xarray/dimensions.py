"""Names for dimensions that a file does not name, as the netCDF library invents them: "phony_dim_0", "phony_dim_1"."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from swath.formats.contents import Contents, Variable

Names = dict[str, tuple[str, ...]]
"""The names of each variable's dimensions, by the variable's path."""


def names_of_dimensions(contents: Contents) -> Names:
    """Return the dimensions of all variables. Those without a name share one where they are as long, in one group.

    Two of one variable never share one. Groups come before those that they are in, as in the netCDF library.
    """
    numbers = itertools.count(sum(len(group.dimensions) for group in contents.groups.values()))
    own: dict[str, list[Variable]] = {group: [] for group in contents.groups}
    for variable in contents.variables.values():
        own[variable.group].append(variable)
    names: Names = {}
    for group in _inner_first(list(contents.groups)):
        known = {d.name: d.length for d in contents.groups[group].dimensions.values() if not d.is_unlimited}
        for variable in own[group]:
            names[variable.name] = _completed(variable, known, numbers)
    return names


def _completed(variable: Variable, known: dict[str, int], numbers: Iterator[int]) -> tuple[str, ...]:
    """Return the names of a variable's dimensions; invented ones are added to those that its group knows."""
    names = list(variable.dimensions or ("",) * len(variable.shape))
    for axis, length in enumerate(variable.shape):
        if not names[axis]:
            fitting = (name for name, known_length in known.items() if known_length == length and name not in names)
            names[axis] = next(fitting, "") or f"phony_dim_{next(numbers)}"
            known[names[axis]] = length
    return tuple(names)


def _inner_first(groups: list[str], above: str = "") -> Iterator[str]:
    for group in groups:
        if group and group.rpartition("/")[0] == above:
            yield from _inner_first(groups, group)
    yield above

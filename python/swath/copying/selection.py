"""The variables of a file that are copied, and what is copied with them. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from swath.errors import ArgumentError
from swath.formats import Contents
from swath.formats.choose import choose, describes_others
from swath.formats.contents import Variable


def names_of(variable: Any) -> tuple[str, ...] | None:
    """Return the names in an argument `variable`; None if it is None. Raises ArgumentError."""
    if variable is None:
        return None
    names = (variable,) if isinstance(variable, str) else variable
    if isinstance(names, bytes) or not isinstance(names, Sequence) or not names:
        raise ArgumentError(f"variable {variable!r}: expected a name, or a list of names")
    if not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"variable {variable!r}: expected names, which are strings")
    return tuple(dict.fromkeys(name.strip("/") for name in names))


def selected(path: str, contents: Contents, names: Sequence[str], *, coordinates: bool) -> Contents:
    """Return the contents of a file with some of its variables only: their groups, and their dimensions.

    Args:
        path: of the file, for messages.
        contents: of the file.
        names: of the variables.
        coordinates: whether to include variables that describe them: the coordinate variables of their dimensions, and
            those that the CF conventions name in their attributes (coordinates, bounds, grid mappings, …).

    Raises ArgumentError, with the list of names, if there is no such variable.
    """
    chosen = [choose(path, contents.variables.values(), name) for name in names]
    if coordinates:
        chosen = _with_coordinates(contents, chosen)
    variables = {name: variable for name, variable in contents.variables.items() if name in chosen}
    kept = {""} | {above for variable in variables.values() for above in _above(variable.group)}
    used = {
        contents.path_of(variable.group, dimension)
        for variable in variables.values()
        for dimension in variable.dimensions
        if dimension
    }
    groups = {}
    for name, group in contents.groups.items():
        if name in kept:
            dimensions = {d: one for d, one in group.dimensions.items() if f"{name}/{d}".lstrip("/") in used}
            groups[name] = dataclasses.replace(group, dimensions=dimensions)
    return dataclasses.replace(contents, groups=groups, variables=variables)


def _with_coordinates(contents: Contents, names: Iterable[str]) -> list[str]:
    """Return the names, with those of all variables that describe them, and so on."""
    found = list(names)
    for name in found:  # the list grows in the loop
        variable = contents.variables[name]
        words = [*variable.dimensions, *sorted(describes_others([variable.attributes]))]
        found += [other for word in words for other in _seen(contents, variable, word) if other not in found]
    return list(dict.fromkeys(found))


def _seen(contents: Contents, variable: Variable, word: str) -> list[str]:
    """Return the variable that a word means in another variable's group; empty if there is none."""
    if word.startswith("/"):
        return [word.strip("/")] if word.strip("/") in contents.variables else []
    for group in reversed(["", *_above(variable.group)]):
        path = f"{group}/{word}".lstrip("/")
        if path in contents.variables:
            return [path]
    return []


def _above(group: str) -> list[str]:
    """Return a group's path and those of the groups above it, the outermost first; empty for the file itself."""
    parts = group.split("/") if group else []
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]

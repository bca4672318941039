"""The dimensions of a copy of a file: those of the source, and new names if the format requires names. Pure."""

from __future__ import annotations

from swath.copying.request import Part
from swath.copying.text_parts import TextPart
from swath.formats import Contents
from swath.formats.contents import Dimension, Group, Variable

CHARACTERS_ONLY = ("netcdf-classic", "netcdf4")
"""Formats whose texts of fixed length are characters, and whose dimensions have names."""


class TargetDimensions:
    """The dimensions of the target: those of the source, and new names if the format requires names and there are none.

    Args:
        contents: of the source.
        kind: the format of the target.

    Attributes:
        lost_labels: descriptions of the labels of HDF5's dimensions that no dimension of the target has.
    """

    def __init__(self, contents: Contents, kind: str) -> None:
        self._contents = contents
        self._kind = kind.partition(":")[0]
        self._groups = {name: dict(contents.groups[name].dimensions) for name in sorted(contents.groups)}
        self.lost_labels: list[str] = []

    def of(self, variable: Variable, unlimited: tuple[bool, ...]) -> tuple[str, ...] | None:
        """Return the names of a variable's dimensions in the target; None for none."""
        names = variable.dimensions
        if self._kind == self._contents.format == "hdf5":  # HDF5 has dimensions without names, and labels of some
            along = zip(names, variable.shape, strict=False)
            names = tuple(name if name and self._is_dimension(variable, name, length) else "" for name, length in along)
            return names if any(names) else None if variable.shape else ()
        if not any(names) and (self._kind not in CHARACTERS_ONLY or not variable.shape):
            return () if not variable.shape else None
        found: list[str] = []
        for place, length in enumerate(variable.shape):
            grows = any(unlimited[place : place + 1])
            name = self._of_label(variable, names[place], Dimension(names[place], length, grows)) if names else ""
            found.append(name or self._invented(length, tuple(found), is_unlimited=grows))
        return tuple(found)

    def _of_label(self, variable: Variable, name: str, wanted: Dimension) -> str:
        """Return the name of a dimension; "" if it is only a label of HDF5, and another dimension has the name."""
        group = variable.group
        if not name or self._is_dimension(variable, name, wanted.length):
            return name
        seen = self._contents.dimension(group, name) or self._seen(group, name)
        if seen is None:
            self._groups.setdefault(group, {})[name] = wanted
        if seen in (None, wanted):
            return name
        self.lost_labels.append(
            f"{variable.name}: label {name} of a dimension: another of that name has another length"
        )
        return ""

    def _is_dimension(self, variable: Variable, name: str, length: int) -> bool:
        """Return whether a name means a dimension of the source: not a label that has another length."""
        found = self._contents.dimension(variable.group, name)
        if found is None or self._contents.format != "hdf5":
            return found is not None
        return found.is_unlimited or found.length == length

    def unlimited(self, variable: Variable, names: tuple[str, ...] | None, own: tuple[bool, ...]) -> tuple[bool, ...]:
        """Return for each dimension whether it may grow; () for none. `own`: for those without names."""
        if names is None:
            return own
        grows = []
        for place, name in enumerate(names):
            dimension = self._seen(variable.group, name) if name else None
            grows.append(any(own[place : place + 1]) if not name else dimension is not None and dimension.is_unlimited)
        return tuple(grows) if any(grows) else ()

    def is_seen_alike(self, group: str, variable: str, names: tuple[str, ...] | None) -> bool:
        """Return whether the names of a variable's dimensions mean the same dimensions in another group."""
        own = variable.rpartition("/")[0]
        return all(self._seen(group, name) is self._seen(own, name) for name in names or ())

    def characters(self, length: int) -> str:
        """Return the dimension for the characters of a text."""
        name = f"string{length}"
        self._groups[""].setdefault(name, Dimension(name, length))
        return name

    def groups(self, *, with_attributes: bool = True) -> tuple[Group, ...]:
        """Return the groups of the target."""
        held = self._contents.groups
        return tuple(
            Group(name, held[name].attributes if with_attributes else {}, dimensions)
            for name, dimensions in self._groups.items()
        )

    def refusals(self, parts: list[Part]) -> list[str]:
        """Describe the variables that are not as long as their dimensions, if the target does not allow this."""
        if self._kind not in CHARACTERS_ONLY:
            return []
        found = []
        for part in parts:
            group = (part.new.variable or "").rpartition("/")[0]
            for name, length in zip(part.new.dimensions or (), part.new.shape, strict=True):
                dimension = self._seen(group, name)
                if dimension is not None and dimension.is_unlimited and dimension.length != length:
                    found.append(f"{part.new.name}: has {length} of the {dimension.length} rows of dimension {name}")
        return found

    def left_out(self, parts: list[Part | TextPart]) -> tuple[str, ...]:
        """Return descriptions of dimensions that no variable has, if in the target only variables have dimensions."""
        if self._kind != "zarr":
            return ()
        used = {name for part in parts for name in part.new.dimensions or ()}
        return tuple(
            f"dimension {group}/{name}".replace(" /", " ") + f" of length {dimension.length}, which no variable has"
            for group, dimensions in self._groups.items()
            for name, dimension in dimensions.items()
            if name not in used
        )

    def _seen(self, group: str, name: str) -> Dimension | None:
        while True:
            found = self._groups.get(group, {}).get(name)
            if found is not None or not group:
                return found
            group = group.rpartition("/")[0]

    def _invented(self, length: int, taken: tuple[str, ...], *, is_unlimited: bool) -> str:
        number = 0
        while True:
            name = f"dim{number}"
            wanted = Dimension(name, length, is_unlimited)
            is_free = name not in taken and name not in self._contents.variables
            if is_free and self._groups[""].setdefault(name, wanted) == wanted:
                return name
            number += 1

"""A format of the core for swath.formats: the functions of `protocols`, by the core's name of the format.

netcdf_classic = FormatOfCore("netcdf-classic")
netcdf_classic.describe("run.nc", "t")
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from swath import _core
from swath.formats.changes import FileChanges
from swath.formats.contents import Attributes, Contents, Group
from swath.formats.description import Description, NewArray, Seen
from swath.formats.new_file import NewFile


class FormatOfCore:
    """A format whose files the core describes, makes and changes.

    Args:
        name: the core's name of it.

    Attributes:
        has_codecs: whether arrays of it may have codecs.
    """

    has_codecs = False

    def __init__(self, name: str) -> None:
        self.name = name

    def describe(self, path: str, variable: str | None = None) -> Description:
        """Return the positions of a variable's bytes; None means the only one."""
        return self.described(self._opened(path).describe(variable))

    def describe_many(
        self, path: str, variables: Sequence[str], seen: Mapping[str, Seen] | None = None
    ) -> list[Description]:
        """Return several variables; the metadata are read once."""
        del seen
        return [self.described(one) for one in self._opened(path).describe_many(list(variables))]

    def contents(self, path: str) -> Contents:
        """Return the contents of the file without the elements."""
        return self._contents(path, self._opened(path).contents())

    def contents_to_change(self, path: str) -> Contents:
        """Return the same for a caller who will change the file: from the metadata of each array."""
        return self._contents(path, self._opened(path).contents(to_change=True))

    def start(self, path: str, flavour: str | None) -> None:
        """Make a file without variables. Raises ExistsError if the name exists."""
        self.create_file(path, NewFile(flavour, (Group(""),), ()))

    def create(self, path: str, new: NewArray) -> Description:
        """Make a file for one array, without writing its elements. Raises ArgumentError for what cannot be stored."""
        self.create_file(path, NewFile(new.flavour, (Group(""),), (new,)))
        return self.describe(path)  # the only array

    def create_file(self, path: str, new: NewFile) -> None:
        """Make a file with all its variables at once, without writing their elements."""
        _core.create_format_file(self.name, path, self._for_core(new))

    def refusals(self, new: NewFile) -> list[str]:
        """Return descriptions of what the format cannot store of a new file."""
        return _core.format_refusals(self.name, self._for_core(new))

    def add(self, changes: FileChanges, new: NewArray) -> Description:
        """Add a variable, with its dimensions. Other variables may have moved: describe them again."""
        return self.described(changes.add(self.to_add(changes, new)))

    def to_add(self, changes: FileChanges, new: NewArray) -> NewArray:
        """Return a new array in the form that the core takes. Raises ArgumentError."""
        del changes
        return self._array_for_core(new)

    def set_attributes(self, changes: FileChanges, holder: str, attributes: Attributes) -> None:
        """Add or replace attributes of the file ("") or a variable; None removes one."""
        changes.set_attributes(holder, attributes)

    def extend(self, changes: FileChanges, variable: str, rows: int, *, written_from: int | None = None) -> Description:
        """Return the positions of this many rows of a variable."""
        return self.described(changes.extend(variable, rows, written_from))

    def set_length(self, changes: FileChanges, dimension: str, rows: int) -> None:
        """Give the dimension this many rows, for every variable along it and every reader."""
        changes.set_length(dimension, rows)

    def _opened(self, path: str) -> _core.FormatFile:
        return _core.open_format_file(self.name, path)

    def _contents(self, path: str, found: Contents) -> Contents:
        """Convert the core's contents of a file to Python's types."""
        del path
        return found

    def described(self, found: Description) -> Description:
        """Convert the core's description of an array to Python's types."""
        return found

    def _for_core(self, new: NewFile) -> NewFile:
        return dataclasses.replace(new, variables=tuple(map(self._array_for_core, new.variables)))

    def _array_for_core(self, new: NewArray) -> NewArray:
        """Return the array without the user's codecs, if the format refuses any."""
        return new if self.has_codecs or new.codecs is None else dataclasses.replace(new, codecs=())

"""The interface of a format's module for swath.formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Protocol

import numpy.typing as npt

from swath.formats.changes import FileChanges
from swath.formats.contents import Attributes, Contents
from swath.formats.description import Description, NewArray, Seen
from swath.formats.new_file import NewFile


class Format(Protocol):
    """A format whose files describe themselves; raw files do not, and are handled separately."""

    def describe(self, path: str, variable: str | None = None) -> Description:
        """Return the positions of the bytes of `variable`; None means the only one."""

    def create(self, path: str, new: NewArray) -> Description:
        """Make a file for `new` in its final size, without writing its elements."""

    def contents(self, path: str) -> Contents:
        """Return the contents of the file without the elements."""


class FormatOfFiles(Format, Protocol):
    """A format of files with many variables. One rank makes changes, while no other uses the file's metadata."""

    def start(self, path: str, flavour: str | None) -> None:
        """Make a new file without variables."""

    def to_add(self, changes: FileChanges, new: NewArray) -> NewArray:
        """Return an array that a file gets in the words of the core."""

    def add(self, changes: FileChanges, new: NewArray) -> Description:
        """Add a variable, with its dimensions and groups, without writing its elements."""

    def set_attributes(self, changes: FileChanges, holder: str, attributes: Attributes) -> None:
        """Add or replace attributes of the file (""), a group or a variable; None removes one."""

    def extend(self, changes: FileChanges, variable: str, rows: int, *, written_from: int | None = None) -> Description:
        """Allocate this many rows of one variable, and return their positions; readers need not see them yet.

        The caller writes the rows from `written_from` on next, or removes them: until then they are undefined.
        """

    def set_length(self, changes: FileChanges, dimension: str, rows: int) -> None:
        """Give the dimension this many rows, for every variable along it and every reader."""

    def describe_many(
        self, path: str, variables: Sequence[str], seen: Mapping[str, Seen] | None = None
    ) -> list[Description]:
        """Return several variables: the results of `describe`, at the cost of about one.

        Those that were `seen` before, by name, have their old lengths, or are longer.
        """

    def create_file(self, path: str, new: NewFile) -> None:
        """Make a new file with all its variables at once, without writing their elements."""

    def refusals(self, new: NewFile) -> list[str]:
        """Return descriptions of what the format cannot store of a new file."""


class FileFormat(Format, Protocol):
    """A format of single files."""

    def matches(self, file: BinaryIO, size: int) -> bool:
        """Return whether a file of `size` bytes, read from its first byte on, has the format's magic number."""


class Library(Protocol):
    """A format's own library, for what Swath's engines cannot read or write."""

    def library_read(self, description: Description, index: tuple[slice | int, ...]) -> npt.NDArray[Any]:
        """Return the selected elements."""

    def library_write(self, description: Description, index: tuple[slice | int, ...], values: npt.ArrayLike) -> None:
        """Replace the selected elements."""

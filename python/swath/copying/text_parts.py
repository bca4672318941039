"""The copy of one array of text of variable length. Pure."""

from __future__ import annotations

import dataclasses

from swath.formats import Description, LibraryLayout, NewArray


def is_text(source: Description) -> bool:
    """Return whether elements are text of variable length, not bytes or other objects."""
    layout = source.layout
    return source.dtype.hasobject and isinstance(layout, LibraryLayout) and layout.reason.startswith("text ")


@dataclasses.dataclass(frozen=True)
class TextPart:
    """One array of text in a copy.

    Attributes:
        source: the array.
        new: the target's array: text of variable length, or characters along one more dimension.
        format: of the target.
    """

    source: Description
    new: NewArray
    format: str

    @property
    def words(self) -> str:
        """Return what the copy does, for people."""
        how = "as characters" if not self.new.dtype.hasobject else "through the format's library"
        return f"{self.new.name}, text of variable length, {self.source.shape}: {how}, before the others"

"""Swath, one process; several chunks are boxes of one request."""

from __future__ import annotations

from collections.abc import Sequence

import answers

import swath

from .reading import Contender, Selection, Values, reading


class SwathContender(Contender):
    """With its defaults."""

    def open(self) -> None:
        """Anew."""
        self._array = swath.open(self.path)

    def read(self, selections: Sequence[Selection]) -> list[Values]:
        """Read them all in one call."""
        if len(selections) == 1:
            return [self._array.read(selection=selections[0])]
        slices = [[part for part in selection if isinstance(part, slice)] for selection in selections]
        boxes = swath.Boxes(([p.start for p in parts], [p.stop for p in parts]) for parts in slices)
        found: list[Values] = self._array.read(boxes)
        return found

    def close(self) -> None:
        """Close the array and its files."""
        self._array.close()


if __name__ == "__main__":
    answers.answer(reads=reading(SwathContender))

"""Whether a file that is open still has its name, and holds what it held then: others may have changed it meanwhile."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from swath import formats
from swath.errors import StoreError
from swath.files.records import Records
from swath.formats import Contents
from swath.formats.files import refusal
from swath.space import Shape

T = TypeVar("T")
GONE = (0, 0)


class OpenName:
    """The name by which a file is open, and which file had it then. What is open keeps its inode for itself."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._opened = self._now()

    def is_replaced(self) -> bool:
        """Return whether another file has the name now, or none."""
        return self._now() != self._opened

    def refuse_replaced(self, doing: str) -> None:
        """Raise StoreError where another file has the name now, or none."""
        if self.is_replaced():
            raise StoreError(
                f"{doing} {self.path}: the file that is open has lost its name since, to another one that replaced it "
                "or as it was removed, and what is written into it is lost: open it again",
                errno.ESTALE,
            )

    def _now(self) -> tuple[int, int]:
        # Asked before every write: no context manager, which takes longer than the system call.
        try:
            status = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return GONE
        except OSError as error:
            raise refusal(self.path, "see which file has its name", error) from None
        return status.st_dev, status.st_ino


def opened(path: str, open_it: Callable[[], T]) -> tuple[OpenName, T]:
    """Open a file by its name, and return which one that is."""
    while True:
        name = OpenName(path)
        found = open_it()
        if not name.is_replaced():
            return name, found


class OwnRows(NamedTuple):
    """What a handle knows of rows that it has written, and that not all readers need see yet.

    Attributes:
        format: of the file.
        contents: of it; None where it was opened for one array.
        records: of it; None where nothing has grown.
        extended: by variable: the rows that it was given room for.
    """

    format: str
    contents: Contents | None
    records: Records | None
    extended: Mapping[str, int]

    def lengths(self, name: str, axis: int) -> set[int]:
        """Return how long readers may find a variable by what this handle has written.

        Variables of netCDF-4 are as long as the longest one along their dimension.
        """
        records, extended = self.records, self.extended
        rows = {} if records is None else records.rows
        found = {rows.get(name, -1), extended.get(name, -1)} if axis == 0 else set()
        dimension = self._dimension_of(name, axis) if formats.has_netcdf4_lengths(self.format) else ""
        if records is not None and dimension:
            along = [other for other, known in records.dimension_of.items() if known == dimension]
            found |= {max((counts.get(other, -1) for other in along), default=-1) for counts in (rows, extended)}
        return found

    def _dimension_of(self, name: str, axis: int) -> str:
        """Return the path of a dimension of a variable; "" where it has no name, or is not known."""
        if self.contents is None:
            return self.records.dimension_of.get(name, "") if self.records is not None and axis == 0 else ""
        variable = self.contents.variables[name]
        names = variable.dimensions[axis : axis + 1]
        return self.contents.path_of(variable.group, names[0]) if names and names[0] else ""


def refuse_changed(path: str, known: Mapping[str, Shape], now: Mapping[str, Shape], own: OwnRows) -> None:
    """Raise StoreError where a file holds other variables than its handle knows of, or longer or shorter ones.

    Args:
        path: of the file, for the message.
        known: the shapes of its variables, as the handle knows them.
        now: as the file has them.
        own: what the handle has written itself.
    """
    changed = sorted(known.keys() ^ now.keys())
    for name in known.keys() & now.keys():
        was, is_now = known[name], now[name]
        differs = [axis for axis, (a, b) in enumerate(zip(was, is_now, strict=False)) if a != b]
        if len(was) != len(is_now) or any(is_now[axis] not in own.lengths(name, axis) for axis in differs):
            changed.append(f"{name} {was}, now {is_now}")
    if changed:
        raise StoreError(
            f"{path}: it was changed since it was opened ({', '.join(changed[:5])}): open it again to change it",
            errno.ESTALE,
        )

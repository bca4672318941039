"""Whether a file that is open still has its name, and holds what it held then: others may have changed it meanwhile."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from swath import formats
from swath.errors import StoreError
from swath.formats.files import store_errors

if TYPE_CHECKING:
    from swath.array.opened_file import OpenedFile

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
        with store_errors(self.path, "see which file has its name"):
            try:
                status = os.stat(self.path)
            except (FileNotFoundError, NotADirectoryError):
                return GONE
        return status.st_dev, status.st_ino


def opened(path: str, open_it: Callable[[], T]) -> tuple[OpenName, T]:
    """Open a file by its name, and return which one that is."""
    while True:
        name = OpenName(path)
        found = open_it()
        if not name.is_replaced():
            return name, found


def refuse_changed(file: OpenedFile) -> None:
    """Raise StoreError where a file holds other variables than its handle knows of, or longer or shorter ones.

    On rank 0, when it has come to be the one that changes the file: others may have done so before.
    """
    if file.contents is not None:
        known = {name: one.shape for name, one in file.contents.variables.items()}
        found = formats.contents(file.path, to_change=True)
        now = {name: one.shape for name, one in found.variables.items()}
    else:
        known = {name: array.shape for name, array in dict(file._arrays).items()}
        now = {name: file.describe(name).shape for name in known}
    changed = sorted(known.keys() ^ now.keys())
    rows = {} if file._records is None else file._records.rows
    for name in known.keys() & now.keys():
        own = rows.get(name), file._extended.get(name)  # what this handle has written, and readers need not see yet
        was, is_now = known[name], now[name]
        if is_now != was and not (is_now[1:] == was[1:] and is_now[:1] and is_now[0] in own):
            changed.append(f"{name} {was}, now {is_now}")
    if changed:
        raise StoreError(
            f"{file.final_path}: it was changed since it was opened ({', '.join(changed[:5])}): open it again to "
            "change it",
            errno.ESTALE,
        )

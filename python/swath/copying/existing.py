"""An existing file that gets more variables: its facts, and its copy."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import os
import shutil

from swath.copying.store import Identity
from swath.errors import StoreError
from swath.formats import Contents

FICLONE = 0x40049409
"""Linux's request by which a file shares the blocks of another one; Btrfs and XFS have it."""
PIECE_BYTES = 16 << 20
"""The bytes that are copied at a time without this request."""


@dataclasses.dataclass(frozen=True)
class Base:
    """The existing file.

    Attributes:
        path: its path.
        contents: its contents.
        identity: its identity, which must be the same when the copy is complete.
    """

    path: str
    contents: Contents
    identity: Identity

    def check_unchanged(self) -> None:
        """Raise StoreError if the file has changed since it was copied."""
        if Identity.of(self.path) != self.identity:
            raise StoreError(
                f"{self.path} has changed while variables were added to a copy of it: it is left as it is, and nothing "
                "was added; copy again when it is at rest",
                errno.ESTALE,
            )

    def copy_to(self, path: str) -> None:
        """Copy the file or the store. Blocks are shared if the file system can do so."""
        if os.path.isdir(self.path):
            shutil.copytree(self.path, path, copy_function=_copy_file)
        else:
            _copy_file(self.path, path)


def _copy_file(source: str, target: str) -> None:
    with open(source, "rb") as old, open(target, "xb") as new:
        try:
            fcntl.ioctl(new.fileno(), FICLONE, old.fileno())
        except OSError:
            shutil.copyfileobj(old, new, PIECE_BYTES)
    shutil.copymode(source, target)

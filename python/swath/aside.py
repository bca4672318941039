"""Writing a file aside, so that its name holds either the old file or the complete new one."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from swath.errors import ArgumentError, ExistsError, NotFoundError, StoreError, store_error


@dataclass(frozen=True)
class Aside:
    """Where a new file is written, and the name that it gets when it is complete.

    Attributes:
        final_path: its name.
        working_path: the file of that name where it is not atomic; else a hidden name in the same folder.
        overwrite: whether the name may be taken from an existing file.
    """

    final_path: str
    working_path: str
    overwrite: bool

    @staticmethod
    def prepare(path: Any, *, overwrite: bool, atomic: bool) -> Aside:
        """Check the name, and choose where to write.

        Raises ExistsError where the file exists and may not be replaced, StoreError where it cannot be.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise ArgumentError(f"create: path must be a string or a path, not {path!r}")
        final = os.path.abspath(os.fspath(path))
        if os.path.isdir(final):
            raise StoreError(f"create {path}: it is a directory", 21)
        target = os.path.realpath(final)  # a symbolic link goes on being one
        folder, name = os.path.split(target)
        if not os.path.isdir(folder):
            raise NotFoundError(f"create {path}: there is no folder {folder}", 2)
        if os.path.lexists(final) and not overwrite:
            raise ExistsError(f"create {path}: the file exists; give overwrite=True to replace it", 17)
        if not atomic:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(target)
            return Aside(final, target, overwrite)
        return Aside(final, os.path.join(folder, f".{name}.swath-{secrets.token_hex(6)}"), overwrite)

    @contextlib.contextmanager
    def removed_on_error(self) -> Iterator[None]:
        """Remove what was written aside if the block raises."""
        try:
            yield
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove what was written aside; nothing where it is gone."""
        with contextlib.suppress(OSError):
            os.unlink(self.working_path)

    def complete(self) -> None:
        """Give the (synced) file its name, and sync the folder so that the name lasts.

        Raises ExistsError where the name was taken meanwhile and may not be replaced.
        """
        target = os.path.realpath(self.final_path)
        if self.working_path == target:
            return
        try:
            if self.overwrite:
                os.replace(self.working_path, target)
            else:
                os.link(self.working_path, target)  # fails where the name exists: a rename would replace it
                os.unlink(self.working_path)
            folder = os.open(os.path.dirname(target), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise store_error(
                f"create {self.final_path}: cannot give it its name: {error.strerror}", error.errno
            ) from None

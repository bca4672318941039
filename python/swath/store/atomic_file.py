"""A file, or a folder, that gets its name when it is complete: the Python interface of core/store/atomic_file.h."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from typing import Any

from swath import _core
from swath.formats import changes
from swath.formats.files import checked_path


class AtomicFile:
    """A new file: where it is written, and the name that it gets when it is complete. It can be sent to other ranks.

    Args:
        path: the final name.
        overwrite: whether the file may replace an existing one.
        atomic: False writes the file under its final name at once.
        is_folder: whether the new file is a folder (a Zarr store).
        working_path: where to write, in the same folder; by default a random hidden name.

    Attributes:
        final_path: the final name.
        working_path: a hidden name in the same folder; the final name if the file is not atomic.

    Raises:
        ExistsError: the file exists and may not be replaced, or a Zarr store would replace something else.
        StoreError: the file cannot be created, or another process is changing the file that it would replace.
    """

    def __init__(
        self, path: Any, *, overwrite: bool, atomic: bool = True, is_folder: bool = False, working_path: str = ""
    ) -> None:
        path = checked_path(path)
        with changes.replacing(path, is_now=not atomic) if overwrite else contextlib.nullcontext():
            self._core = _core.AtomicFile(path, overwrite, atomic, is_folder, working_path)

    @property
    def final_path(self) -> str:
        """The final name."""
        return self._core.final_path

    @property
    def working_path(self) -> str:
        """The path that is written to."""
        return self._core.working_path

    @property
    def core(self) -> _core.AtomicFile:
        """The object of the core."""
        return self._core

    def check_name(self) -> None:
        """Raise ExistsError if the name exists and may not be replaced."""
        self._core.check_name()

    @contextlib.contextmanager
    def removed_on_error(self) -> Iterator[None]:
        """Remove the new file if the block raises."""
        try:
            yield
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove the new file, and restore the replaced file unless it was dropped. A forked child does nothing."""
        self._core.remove()

    def drop_replaced(self) -> None:
        """Remove the replaced file. From now on a file that is not atomic stays, even after an error."""
        self._core.drop_replaced()

    def complete(self) -> None:
        """Give the (synced) file its name, and sync the folder so that the name lasts.

        It also removes what a killed process left beside the replaced file to restore that file.

        Raises ExistsError if the name was taken meanwhile and may not be replaced, or a Zarr store would replace
        something else. Raises StoreError if another process is changing the file of that name.
        """
        with changes.replacing(self.final_path) if self._core.is_aside else contextlib.nullcontext():
            self._core.complete()

    def never_closed(self, process: int, *, is_first: bool) -> None:
        """Warn that the array was dropped, or the program ended, without a close; remove the incomplete file.

        Args:
            process: the process that created the file; a forked child does nothing.
            is_first: whether this rank removes the file for all ranks.
        """
        if os.getpid() != process:
            return
        left = "what was written stays under its name, perhaps not all of it"
        if self._core.is_aside:
            left = "there is no file of that name, or the old one"
            if is_first:
                self.remove()
        warnings.warn(
            f"create {self.final_path}: the array was never closed, and so the file was not completed: {left}; "
            "close it, or use it in a `with` block",
            ResourceWarning,
            stacklevel=2,
        )

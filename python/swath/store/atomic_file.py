"""A file, or a folder, that gets its name when it is complete: the face of core/store/atomic_file.h."""

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
    """Where a new file is written, and the name that it gets when it is complete. Other ranks may be sent it.

    Args:
        path: its name.
        overwrite: whether the name may be taken from an existing file.
        atomic: False writes it under its name at once.
        is_folder: whether what is written is a folder (a Zarr store).
        working_path: where to write, in the same folder; by default a hidden name that nobody can guess.

    Attributes:
        final_path: its name.
        working_path: the file of that name where it is not atomic; else a hidden name in the same folder.

    Raises:
        ExistsError: the file exists and may not be replaced, or a store would replace what is none.
        StoreError: it cannot be made, or another process changes the file that it is to replace.
    """

    def __init__(
        self, path: Any, *, overwrite: bool, atomic: bool = True, is_folder: bool = False, working_path: str = ""
    ) -> None:
        path = checked_path(path)
        with changes.replacing(path, is_now=not atomic) if overwrite else contextlib.nullcontext():
            self._core = _core.AtomicFile(path, overwrite, atomic, is_folder, working_path)

    @property
    def final_path(self) -> str:
        """Its name."""
        return self._core.final_path

    @property
    def working_path(self) -> str:
        """Where it is written."""
        return self._core.working_path

    @property
    def core(self) -> _core.AtomicFile:
        """The core's."""
        return self._core

    def check_name(self) -> None:
        """Raise ExistsError where the name exists, and may not be replaced."""
        self._core.check_name()

    @contextlib.contextmanager
    def removed_on_error(self) -> Iterator[None]:
        """Remove what was written if the block raises."""
        try:
            yield
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove what was written, and put back what it had replaced before `drop_replaced`; not in a forked child."""
        self._core.remove()

    def drop_replaced(self) -> None:
        """Let a file that is not atomic be there to stay, whatever comes: the old one is removed."""
        self._core.drop_replaced()

    def complete(self) -> None:
        """Give the (synced) file its name, and sync the folder so that the name lasts.

        What a killed process has left beside the file that it replaces, to be taken back in that one, goes.

        Raises ExistsError where the name was taken meanwhile and may not be replaced, of a store by anything else, and
        StoreError where another process changes the file that has it.
        """
        with changes.replacing(self.final_path) if self._core.is_aside else contextlib.nullcontext():
            self._core.complete()

    def never_closed(self, process: int, *, is_first: bool) -> None:
        """The array is gone, or the program over, and nobody has closed it: say so, and remove what is not complete.

        Args:
            process: that made it. A child of its has no business with it.
            is_first: whether this rank removes it, for all.
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

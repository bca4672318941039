"""Changes of a file that can be taken back until they are committed, also after their process was killed.

The core keeps them (core/journal/changes.h): while `run.nc` is changed, the journal `.run.nc.swath-undo` in the same
folder holds what was there before. docs/formats/undo-journal.md says what is in it.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator

from swath._core import Changes, FileChanges, LockWait, Mark, Replacing, changes_of, journal_path, lock_target, repair

__all__ = [
    "Changes",
    "FileChanges",
    "LockWait",
    "Mark",
    "changes_of",
    "journal_path",
    "lock_target",
    "never_closed",
    "repair",
    "replacing",
]


@contextlib.contextmanager
def replacing(path: str, *, is_now: bool = True) -> Iterator[None]:
    """Let a new file take the name inside the block; a journal that a killed process has left of the old one goes.

    Args:
        path: the name.
        is_now: False where it takes the name later: nothing goes, but what keeps it from doing so is raised.

    Raises:
        StoreError: another process changes the old file, or another user's was killed while it did.
    """
    held = Replacing(path)
    try:
        yield
        if is_now:
            held.taken()
    finally:
        held.close()


def never_closed(changes: FileChanges, name: str, process: int) -> None:
    """The file is let go of, or the program over, and nobody has closed it: take back what is not to stay, say so.

    Of a file that was not changed there is nothing to say.

    Args:
        changes: of the file.
        name: of the file, in words.
        process: that has it open. A child of its has no business with it.
    """
    if os.getpid() != process or not changes.has_begun:
        return
    changes.close()
    warnings.warn(
        f"{name}: it was changed and never closed: what was added since the last sync is taken back; close it, or "
        "use it in a `with` block",
        ResourceWarning,
        stacklevel=2,
    )

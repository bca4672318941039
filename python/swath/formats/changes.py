"""Changes of a file that can be undone until they are committed, also after their process was killed.

The core does this (core/journal/changes.h): while `run.nc` is changed, the journal `.run.nc.swath-undo` in the same
folder has the old bytes. docs/formats/undo-journal.md describes its content.
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
    """Let a new file take the name inside the block; the journal of a killed process for the old file is removed.

    Args:
        path: the name.
        is_now: False if it takes the name later: nothing is removed, but errors are raised.

    Raises:
        StoreError: another process changes the old file, or another user's process was killed during a change.
    """
    held = Replacing(path)
    try:
        yield
        if is_now:
            held.taken()
    finally:
        held.close()


def never_closed(changes: FileChanges, name: str, process: int) -> None:
    """Undo changes of a file that was not closed before it was freed, or before the program's end, and warn.

    There is no warning for a file that was not changed.

    Args:
        changes: of the file.
        name: a description of the file.
        process: the process that opened it. A forked child does nothing.
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

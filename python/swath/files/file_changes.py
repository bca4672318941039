"""Changes of what an open file holds: one after the other, and taken back until they are committed."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from swath import _core
from swath.errors import ArgumentError
from swath.formats.changes import Changes, changes_of, never_closed
from swath.formats.signals import uninterrupted


class FileChanges:
    """The changes of one open file, in the process that opened it.

    Attributes:
        current: those that are not committed yet; None where there are none. Rank 0 alone has some.
    """

    def __init__(self, name: str) -> None:
        self.current: Changes | None = None
        self._name = name
        self._made_in = _core.fork_generation()
        self._changing = threading.RLock()  # of one change after the other
        self._beginning = threading.Lock()  # a write that allocates begins them, too, and is no change
        self._warning: weakref.finalize[..., Any] | None = None

    @property
    def is_forked(self) -> bool:
        """Return whether this process is a child of the one that opened the file, and has no part in its changes."""
        return self._made_in != _core.fork_generation()

    @contextlib.contextmanager
    def one(self, doing: str) -> Iterator[None]:
        """Let changes by other threads wait until this one is over.

        Once ranks have agreed on it a change is made in `uninterrupted()`: what handlers of signals raise, such as
        KeyboardInterrupt, comes after its last byte.

        Raises ArgumentError in a process that was forked from the one that opened the file: the parent knows nothing of
        what a child changes, and writes over it.
        """
        if self.is_forked:
            raise ArgumentError(
                f"{doing} {self._name}: the process that has the file open was forked, and this is its child: "
                "open the file again here"
            )
        with self._changing:
            yield

    def begun(self, path: str, check: Callable[[Changes], None] | None) -> Changes:
        """Return the current changes, begun where there are none.

        Args:
            path: where the file is.
            check: raises where it may not be changed, once nobody else can change it; None: a new file, of which
                nobody knows, and which is removed where it is not completed.
        """
        if self.current is None:
            with uninterrupted(), self._beginning:
                if self.current is None:  # another thread may have been first
                    self._begin(path, check)
        assert self.current is not None
        return self.current

    def _begin(self, path: str, check: Callable[[Changes], None] | None) -> None:
        changes = changes_of(path, is_durable=check is not None)
        if check is not None:
            try:
                check(changes)
            except BaseException:
                changes.close()
                raise
        self.current = changes
        if check is not None:  # what `finalize` holds is not let go of by an interrupt
            self.warn_unclosed(never_closed, changes, self._name, os.getpid())

    def checkpoint(self) -> None:
        """Let what was changed stay after a kill, too."""
        if self.current is not None:
            self.current.checkpoint()

    def commit(self) -> None:
        """Let all changes stay."""
        if self.current is not None:
            self.current.commit()

    def end(self) -> None:
        """Let all changes stay, and keep nothing any more: whoever wants to may change the file now."""
        with uninterrupted():
            if self.current is not None:
                changes, self.current = self.current, None
                self.expect_no_warning()
                with changes:
                    changes.commit()

    def restart(self) -> None:
        """Take back nothing of a new file, which has its name: changes are journalled from now on."""
        if self.current is not None:
            self.current.close()
            self.current = None
        self.expect_no_warning()

    def undo(self) -> None:
        """Make the file what it was when changes were committed last."""
        if self.current is not None:
            self.current.undo()

    def abandon(self) -> None:
        """Take back nothing: the file is removed, or another one has its name."""
        if self.current is not None:
            self.current.abandon()

    def close(self) -> None:
        """Take back what was changed since the last checkpoint or commit, and let go of the file."""
        self.expect_no_warning()
        if self.current is not None and not self.is_forked:
            self.current.close()

    def warn_unclosed(self, warn: Callable[..., None], *arguments: Any, **named: Any) -> None:
        """Call `warn` where the file is let go of from now on, and nobody has closed it."""
        self._warning = weakref.finalize(self, warn, *arguments, **named)

    def expect_no_warning(self) -> None:
        """Call nothing of that any more: the file is closed, or has nothing to take back."""
        if self._warning is not None:
            self._warning.detach()

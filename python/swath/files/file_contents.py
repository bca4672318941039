"""What an open file holds, and what changes that; all its arrays share who moves its bytes, its prices, its name."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from swath import _core, formats
from swath.base import stored_path
from swath.errors import ArgumentError
from swath.files.core_file import learning_of, open_core_file, throttle_of
from swath.files.open_options import OpenOptions
from swath.files.stored_array import StoredArray
from swath.formats import Contents, Description, NewArray
from swath.formats.changes import FileChanges, never_closed
from swath.formats.contents import typed
from swath.formats.description import Seen
from swath.formats.signals import uninterrupted
from swath.ranks import compared
from swath.ranks.ranks import Ranks
from swath.space import Shape


class Relocated(NamedTuple):
    """What rank 0 tells the others after a change of what the file holds."""

    changed: Description | None
    """The variable that was changed."""
    others: dict[str, Description]
    """The open arrays, by variable, where the change has moved some."""
    is_other_file: bool
    """Whether the name is another file's now: the old one was replaced by one with more in it."""


class FileContents:
    """A file that these ranks have open, without its end (`OpenedFile`). Its stored arrays hold it.

    Attributes:
        path: where it is: under its name, or under another one as long as it is not complete.
        folder: that a relative path starts from; "" where it is absolute.
        format: as a Description says it.
        mode: "r" or "r+".
        ranks: that opened it together.
        options: how.
        core: what moves its bytes.
        throttle: its target's streams, or None.
        learning: its profile, and what operations teach.
        contents: what it holds; None where it was opened for one array.
        is_closed: whether it was closed.
    """

    def __init__(
        self,
        path: str,
        format: str,  # noqa: A002
        ranks: Ranks,
        options: OpenOptions,
        contents: Contents | None = None,
    ) -> None:
        self.path = path
        self.folder = "" if os.path.isabs(path) or not stored_path.of(path).is_local else os.getcwd()
        self.format = format
        self.mode = options.mode
        self.ranks = ranks
        self.options = options
        self.contents = contents
        self.is_closed = False
        self._records: _core.Records | None = None  # once something grows
        self._has_written = False  # elements, since the last sync
        self._arrays: weakref.WeakValueDictionary[str, StoredArray] = weakref.WeakValueDictionary()
        self._atomic_file = options.atomic_file
        handle = weakref.ref(self)
        self._changes = formats.changes_of(
            format, path, is_new=self.is_new, name=self.final_path, known=lambda: _known(handle)
        )
        self._changing = threading.RLock()  # of one change after the other
        self._warning: weakref.finalize[..., Any] | None = None
        if self.mode == "r+" and not self.is_new:
            self._warn_where_changes_are_lost()
        self.throttle = throttle_of(self.path, options, ranks)
        self.core = self._open_core()
        self.learning = learning_of(self.core, options)

    @property
    def final_path(self) -> str:
        """The name that the file has, or will have when it is complete."""
        return self.options.atomic_file.final_path if self.options.atomic_file else self.path

    @property
    def is_new(self) -> bool:
        """Whether it was created, and has not got its name yet."""
        return self._atomic_file is not None

    @property
    def number(self) -> int:
        """Return the number of the file among those that rank 0 has opened."""
        return self.options.found.number

    @property
    def asked_engine(self) -> str | None:
        """Return the engine that was asked for; None for the one that the environment names."""
        return self.options.engine

    @functools.cached_property
    def identity(self) -> str:
        """Which file it is, in words that ranks compare."""
        return f"{self.final_path} ({self.format}, opened as number {self.number})"

    def _open_core(self) -> _core.File:
        can_be_replaced = stored_path.of(self.path).can_be_replaced
        minds_name = self.options.minds_name and self.mode == "r+" and can_be_replaced
        if not minds_name or self.ranks.rank != 0:
            return self._open_path()
        while True:
            self._changes.note_name(os.path.join(self.folder, self.path))
            core = self._open_path()
            if not self._changes.is_replaced():
                return core

    def _open_path(self) -> _core.File:
        return open_core_file(self.path, self.format, self.options, self.throttle)

    def describe(self, variable: str) -> Description:
        """Return where a variable is now. On rank 0."""
        seen = self._seen().get(variable.strip("/")) if isinstance(variable, str) and variable else None
        if seen is not None:
            return formats.describe_seen(self.path, self.format, variable, seen, as_seen=self.mode == "r")
        return formats.describe(self.path, variable or None, format=None if self.format == "raw" else self.format)

    def describe_many(self, variables: Sequence[str]) -> list[Description]:
        """Return where several variables are now. On rank 0."""
        return formats.describe_many(self.path, self.format, variables, self._seen())

    def _seen(self) -> Mapping[str, Seen]:
        """Return what is known of the variables: each is as long as this file's dimensions are, or longer."""
        if self.contents is not None:
            return self.contents.variables
        return {name: array.description for name, array in self._arrays.items() if name}

    def options_to_reopen(self) -> dict[str, Any]:
        """Return the arguments of `swath.open` that open the file in the same way."""
        asked = self.options
        return {
            "mode": asked.mode,
            "engine": asked.engine,
            "streams": asked.streams,
            "lock_timeout": asked.lock_timeout,
        }

    def path_to_reopen(self, doing: str) -> str:
        """Return the absolute path at which others find what it holds. Raise ArgumentError where it is new."""
        if self.is_new:
            raise ArgumentError(
                f"{doing} {self.final_path}: the file is new, and no other process can open it before it is closed"
            )
        return os.path.join(self.folder, self.path)

    def _open_arrays(self) -> list[StoredArray]:
        """Return its open arrays; those that are opened or dropped meanwhile change nothing of it."""
        return [array for held in self._arrays.valuerefs() if (array := held()) is not None]

    def expect_close(self) -> None:
        """Warn (ResourceWarning) whoever lets go of a created file, from now on, without closing it."""
        if self._atomic_file is not None:
            self._warn(self._atomic_file.never_closed, os.getpid(), is_first=self.ranks.rank == 0)

    def _warn_where_changes_are_lost(self) -> None:
        self._warn(never_closed, self._changes, self.final_path, os.getpid())

    def _warn(self, warn: Callable[..., None], *arguments: Any, **named: Any) -> None:
        """Call `warn` where the file is let go of from now on, and nobody has closed it."""
        self._expect_no_warning()
        self._warning = weakref.finalize(self, warn, *arguments, **named)

    def _expect_no_warning(self) -> None:
        if self._warning is not None:
            self._warning.detach()

    # ---- changes of what the file holds; collective ------------------------------------------------------------------

    def add(self, words: str, new: Callable[[], NewArray]) -> Description:
        """Add a variable, and return where it is; arrays that it moves know where they are then. Collective.

        Args:
            words: what ranks compare of it.
            new: makes it from arguments that it checks, on rank 0.
        """
        with self.one_change("add to"):
            listed = self._listed()
            self._agree_before(words)
            with uninterrupted():
                added = self._change(words, lambda changes: formats.add(self.format, changes, listed.fitted(new())))
                assert added is not None
                if self.contents is not None:
                    self.contents = self.contents.with_variable(added)
                if added.unlimited[:1] == (True,):
                    self.records().begin(listed.with_variable(added), added.variable or "")
                return added

    def set_attributes(self, holder: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Add or replace attributes of the file (""), a group or a variable, and return them as they are then.

        None removes one. Collective.
        """
        words = self._words_of_attributes(holder, attributes)

        def change(changes: FileChanges) -> None:
            formats.set_attributes(self.format, changes, holder, typed(attributes))

        with self.one_change("set attributes of"):
            self._agree_before(words)
            with uninterrupted():
                self._change(words, change)
                if self.contents is not None:
                    self.contents = self.contents.with_attributes(holder, typed(attributes))
        return typed(attributes)

    def agree_to_change(self, holder: str, given: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the attributes that every rank's `given` returns; what it raises is raised on all. Collective."""
        attributes: dict[str, Any] = {}
        error: Exception | None = None
        try:
            attributes = given()
        except Exception as raised:  # noqa: BLE001 - whatever it is, the other ranks must hear of it
            error = raised
        self.ranks.agree("" if error else self._words_of_attributes(holder, attributes), error)
        return attributes

    def _words_of_attributes(self, holder: str, attributes: Mapping[str, Any]) -> str:
        return compared.call_signature("set attributes of", f"{self.identity}:{holder}", {"attributes": attributes})

    @contextlib.contextmanager
    def one_change(self, doing: str) -> Iterator[None]:
        """Let changes by other threads wait until this one is over.

        Once ranks have agreed on it a change is made in `uninterrupted()`: what handlers of signals raise, such as
        KeyboardInterrupt, comes after its last byte.

        Raises ArgumentError in a process that was forked from the one that opened the file: the parent knows nothing of
        what a child changes, and writes over it.
        """
        if self._changes.is_forked:
            raise ArgumentError(
                f"{doing} {self.final_path}: the process that has the file open was forked, and this is its child: "
                "open the file again here"
            )
        with self._changing:
            yield

    def _agree_before(self, words: str) -> None:
        """Let ranks agree before rank 0 changes anything, and when no rank is at elements that the change moves."""
        self.finish_started()
        self.ranks.agree(words)

    def _change(self, words: str, change: Callable[[FileChanges], Description | None]) -> Description | None:
        """Change what the file holds, on rank 0; every rank's arrays are then where it says."""

        def work() -> Relocated:
            self.refuse_reading("change")
            stored_path.of(self.path).refuse_change()
            changed = change(self._changes)
            has_moved, is_other_file = self._changes.moved()
            return Relocated(changed, self._described_again() if has_moved or is_other_file else {}, is_other_file)

        after = self.ranks.on_first(words, work)
        self._changes.note_changed()
        self._relocate(after.others, is_other_file=after.is_other_file)
        return after.changed

    def refuse_replaced(self, doing: str) -> None:
        """Raise StoreError where another file has its name since it was opened. Tells on rank 0 only."""
        self._changes.refuse_replaced(doing)

    def expect_write(self, array: StoredArray) -> None:
        """Take note that elements of an array are about to be written. Raises as `refuse_replaced`."""
        self.refuse_replaced("write")
        self._has_written = True
        if self._records is not None and array.shape:
            self._records.has_rows(array.variable or "", array.shape[0])

    def commit(self) -> None:
        """Let all changes stay, and keep nothing any more: whoever wants to may change the file now. Local."""
        self._changes.end()

    def allocate(self, array: Description) -> Description:
        """Give room in the file to parts of an array that have none yet, and return where they are. Collective.

        A write of it does so, and has its array alone; no other array of the file writes meanwhile, and those that are
        read stay where they are.
        """
        return self.ranks.on_first(
            f"allocate {array.variable} of {self.identity}", lambda: formats.allocate(array, self._changes)
        )

    def finish_started(self) -> None:
        """Wait for what its arrays do in the background. Collective."""
        for array in self._open_arrays():
            array.core.finish_started(self.ranks.size == 1)

    def refuse_closed(self, doing: str) -> None:
        """Raise ArgumentError where the file is closed."""
        if self.is_closed:
            raise ArgumentError(f"{doing} {self.final_path}: the file is closed; open it again")

    def refuse_reading(self, doing: str) -> None:
        """Raise ArgumentError where the file is closed, or open for reading only."""
        self.refuse_closed(doing)
        if self.mode != "r+":
            raise ArgumentError(f'{doing} {self.final_path}: opened for reading; open it with mode="r+"')

    def _described_again(self) -> dict[str, Description]:
        """Return where the open arrays are now; each has the rows that only this handle knows of, too. On rank 0."""
        found = {}
        for described in self.describe_many(list(self._arrays)):
            variable = described.variable or ""
            found[variable] = described
            rows = self.known_rows(variable)
            if rows is not None and rows > described.shape[0]:
                found[variable] = formats.extend(self.format, self._changes, variable, rows)
        return found

    def _relocate(self, descriptions: Mapping[str, Description], *, is_other_file: bool) -> None:
        if is_other_file:
            self.core = self.ranks.run_collectively(f"open {self.identity} again", self._open_core)
        for variable, array in list(self._arrays.items()):
            if is_other_file or variable in descriptions:
                array.relocate(descriptions.get(variable, array.description))

    # ---- records; collective -----------------------------------------------------------------------------------------

    def records(self) -> _core.Records:
        """Return how far each variable is that grows."""
        if self._records is None:
            self._records = _core.Records(self._listed())
        return self._records

    def _listed(self) -> Contents:
        if self.contents is not None:
            return self.contents
        return self.ranks.on_first(f"list {self.identity}", lambda: formats.contents(self.path, to_change=True))

    def known_rows(self, variable: str) -> int | None:
        """Return how many rows a variable has for this handle; None where it does not grow, or has not yet."""
        records = self._records
        return records.rows(variable) if records is not None and records.follows(variable) else None


def _known(handle: weakref.ref[FileContents]) -> tuple[Contents | dict[str, Shape], _core.Records | None]:
    """Return what an open file knows of what it holds: all of that, or the shapes of the arrays that it has opened."""
    file = handle()
    assert file is not None
    return file.contents or {name: array.shape for name, array in dict(file._arrays).items()}, file._records

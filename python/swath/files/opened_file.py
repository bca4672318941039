"""One open file of all ranks: a thin handle of the core's (core/files/collective_file.h), which all its arrays share.

What the core knows not is kept here: what the file holds in Python's words, its profile and streams, its loops.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from swath import _core, formats
from swath.base import stored_path
from swath.errors import ArgumentError
from swath.files import library_access
from swath.files.core_file import file_options, learning_of, throttle_of
from swath.files.fingerprint import Fingerprint, fingerprint
from swath.files.open_options import OpenOptions
from swath.files.stored_array import Indices, StoredArray
from swath.formats import Contents, Description, NewArray
from swath.formats.changes import never_closed
from swath.formats.contents import typed
from swath.formats.description import Seen
from swath.formats.signals import Uninterrupted, uninterrupted
from swath.ranks import compared
from swath.ranks.ranks import Ranks

WriteRows = Callable[[list[int]], None]
"""Writes rows of arrays, and is given the first row of each."""


class OpenedFile:
    """A file that these ranks have open, with all that it may do. It knows its arrays, which hold it.

    Attributes:
        shared: the core's.
        folder: that a relative path starts from; "" where it is absolute.
        format: as a Description says it.
        mode: "r" or "r+".
        ranks: that opened it together.
        options: how.
        throttle: its target's streams, or None.
        learning: its profile, and what operations teach.
    """

    def __init__(
        self,
        path: str,
        format: str,  # noqa: A002
        ranks: Ranks,
        options: OpenOptions,
        contents: Contents | None = None,
    ) -> None:
        self.folder = "" if os.path.isabs(path) or not stored_path.of(path).is_local else os.getcwd()
        self.format = format
        self.mode = options.mode
        self.ranks = ranks
        self.options = options
        self.final_path = options.atomic_file.final_path if options.atomic_file else path
        self._contents = contents
        self._arrays: weakref.WeakValueDictionary[str, StoredArray] = weakref.WeakValueDictionary()
        self._changing = threading.RLock()  # of one change after the other
        self._warning: weakref.finalize[..., Any] | None = None
        self.throttle = throttle_of(path, options, ranks)
        self.shared = self._open(path)
        self._changes = self.shared.changes
        if self.mode == "r+" and not self.is_new:
            self._warn_where_changes_are_lost()
        self.learning = learning_of(self.core, options)
        self.shared.learn(self.learning)

    def _open(self, path: str) -> _core.CollectiveFile:
        may_write, atomic_file = self.mode == "r+", self.options.atomic_file
        given = {
            "path": path,
            "final_path": self.final_path,
            "number": self.number,
            "may_write": may_write,
            "how": file_options(path, self.options, self.throttle),
            "new_file": None if atomic_file is None else atomic_file.core,
            "minds_name": self.options.minds_name and stored_path.of(path).can_be_replaced,
            "contents": self._contents if may_write else None,
        }
        return _core.CollectiveFile(self.ranks.comm, formats.name_in_core(self.format), given)

    @property
    def path(self) -> str:
        """Where it is: under its name, or under another one as long as it is not complete."""
        return self.shared.path

    @property
    def core(self) -> _core.File:
        """What moves its bytes."""
        return self.shared.file

    @property
    def is_new(self) -> bool:
        """Whether it was created, and has not got its name yet."""
        return self.shared.is_new

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self.shared.is_closed

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

    @property
    def contents(self) -> Contents | None:
        """What it holds; None where it was opened for one array."""
        if self._contents is not None:
            for dimension, length in self.shared.take_new_lengths().items():
                self._contents = self._contents.with_length(dimension, length)
        return self._contents

    # ---- its arrays --------------------------------------------------------------------------------------------------

    def stored_array(self, description: Description, *, is_new: bool = False, closes_file: bool = False) -> StoredArray:
        """Return an array of this file, open. `closes_file`: the file is open for it alone, and closed with it."""
        array = StoredArray(self, description, is_new=is_new, closes_file=closes_file)
        self._arrays[array.variable or ""] = array
        return array

    def _open_arrays(self) -> list[StoredArray]:
        """Return its open arrays; those that are opened or dropped meanwhile change nothing of it."""
        return [array for held in self._arrays.valuerefs() if (array := held()) is not None]

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
        if (contents := self.contents) is not None:
            return contents.variables
        return {name: array.description for name, array in self._arrays.items() if name}

    def as_described(self, found: Description) -> Description:
        """Return what the core has said of an array as Python has it."""
        return formats.as_described(found)

    def fingerprint(self, array: Description) -> Fingerprint:
        """Return which array it is, and in which state the file is."""
        return fingerprint(array, self.folder)

    def move_by_library(self, array: Description, direction: str, indices: Indices, parts: list[Any]) -> None:
        """Read or write parts of an array by the format's own library."""
        library_access.move(array, direction, indices, parts)

    def expect_write(self, array: StoredArray) -> None:
        """Take note that elements of an array are about to be written.

        Raises StoreError where another file has the name since the file was opened. Tells on rank 0 only.
        """
        self._changes.refuse_replaced("write")
        self.shared.note_written(array.core)

    def known_rows(self, variable: str) -> int | None:
        """Return how many rows a variable has for this handle; None where it does not grow, or has not yet."""
        return self.shared.known_rows(variable)

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

    # ---- who never closes it -----------------------------------------------------------------------------------------

    def expect_close(self) -> None:
        """Warn (ResourceWarning) whoever lets go of a created file, from now on, without closing it."""
        if self.options.atomic_file is not None:
            self._warn(self.options.atomic_file.never_closed, os.getpid(), is_first=self.ranks.rank == 0)

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

        def make() -> NewArray:
            stored_path.of(self.path).refuse_change()
            return formats.to_add(self.format, self._changes, new())

        with self.one_change("add to"):
            self._refuse_one_array()
            self.finish_started()
            with uninterrupted():
                added = formats.as_described(self.ranks.throwing_alike(lambda: self.shared.add(words, make)))
                if (contents := self.contents) is not None:
                    self._contents = contents.with_variable(added)
                return added

    def set_attributes(self, holder: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Add or replace attributes of the file (""), a group or a variable, and return them as they are then.

        None removes one. Collective.
        """
        words = self._words_of_attributes(holder, attributes)

        def make() -> dict[str, Any]:
            stored_path.of(self.path).refuse_change()
            return typed(attributes)

        with self.one_change("set attributes of"):
            self._refuse_one_array()
            self.finish_started()
            with uninterrupted():
                self.ranks.throwing_alike(lambda: self.shared.set_attributes(words, holder, make))
                if (contents := self.contents) is not None:
                    self._contents = contents.with_attributes(holder, typed(attributes))
        return typed(attributes)

    def _refuse_one_array(self) -> None:
        """Raise ArgumentError where it may be changed, and its format holds one array alone."""
        if self.mode == "r+":
            formats.check_many(self.format)

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
        """Let changes by other threads wait until this one is over. A signal may end the wait.

        Once ranks have agreed on it a change is made in `uninterrupted()`: what handlers of signals raise, such as
        KeyboardInterrupt, comes after its last byte.

        Raises ArgumentError in a process that was forked from the one that opened the file: the parent knows nothing of
        what a child changes, and writes over it.
        """
        if self._changes.is_forked:
            self.shared.refuse_closed(doing)
        with self._changing:
            yield

    def commit(self) -> None:
        """Let all changes stay, and keep nothing any more: whoever wants to may change the file now. Local."""
        self._changes.end()

    def finish_started(self) -> None:
        """Wait for what its arrays do in the background. Collective."""
        self.shared.finish_started()

    def refuse_closed(self, doing: str) -> None:
        """Raise ArgumentError where the file is closed."""
        if self.is_closed:
            self.shared.refuse_closed(doing)

    # ---- records; collective -----------------------------------------------------------------------------------------

    def rows_to_append_to(self, array: StoredArray) -> int:
        """Return how many rows the array has. Raise ArgumentError where it does not grow."""
        return self.ranks.throwing_alike(lambda: self.shared.rows_to_append_to(array.core))

    def append(self, rows: Sequence[tuple[StoredArray, int]], write: WriteRows, *, is_long: bool = False) -> None:
        """Have `write` write the next rows of arrays, so many of each; it is given the first row of each.

        Where it fails, the arrays have the rows that they had. `is_long`: what handlers of signals raise ends it.
        """
        self._append(rows, write, is_long=is_long)

    def give_rows(self, array: StoredArray, rows: int) -> None:
        """Let an array that grows have so many rows, which read as the fill value."""
        missing = rows - self.rows_to_append_to(array)
        if missing > 0:
            self._append([(array, missing)], lambda _first: None, writes_all=False)

    def _append(
        self,
        rows: Sequence[tuple[StoredArray, int]],
        write: WriteRows,
        *,
        writes_all: bool = True,
        is_long: bool = False,
    ) -> None:
        failed: list[BaseException] = []

        def attempt(first: list[int]) -> bool | None:
            try:
                with block.interruptible() if is_long else contextlib.nullcontext():
                    write(first)
            except BaseException as error:  # noqa: BLE001 - it is raised below
                failed.append(error)
                return self.ranks.size == 1 or self.ranks.all_raise(error)
            return None

        wanted = [(array.core, records) for array, records in rows]
        with self.one_change("append to"), uninterrupted() as block:
            self.ranks.throwing_alike(lambda: self.shared.append(wanted, attempt, writes_all=writes_all))
        if failed:
            raise failed[0]

    # ---- sync and close; collective ----------------------------------------------------------------------------------

    def sync(self) -> None:
        """Bring what was written to the medium, and let changes stay; a new file that grows gets its name.

        Once the ranks have met it is not interrupted: a file that has its name and does not know it is lost.
        """
        self.refuse_closed("sync")
        with (
            self.ranks.in_turn(f"sync {self.final_path}"),
            self.one_change("sync"),
            uninterrupted() as block,
        ):
            with block.interruptible():
                self.finish_started()
            was_new = self.is_new
            self.ranks.throwing_alike(self.shared.sync)
            if was_new and not self.is_new:
                self._warn_where_changes_are_lost()

    def close(self, error: BaseException | None = None) -> None:
        """Complete a created file, keep what was learned, and let go of the file and its arrays.

        Once the ranks have met it is not interrupted: what was let go of in part would keep others from the file.

        Raises StoreError where it cannot be completed: the old file, if there was one, is then still there. And where a
        file in a pool was replaced while it was open, with what was written into it.
        """
        if self.is_closed:
            return
        if self._changes.is_forked:
            self.shared.stop(is_alone=True)
            self._release()
            return
        with (
            self.ranks.in_turn(f"close {self.final_path}"),
            self.one_change("close"),
            uninterrupted() as block,
        ):
            with self._waiting_for_ranks(block):
                for array in self._open_arrays():
                    array.leave_loops("the array is closed")
                if error is None:
                    try:
                        self.ranks.throwing_alike(self.shared.complete_records)
                        self.shared.refuse_lost_writes()  # which the other ranks hear of below
                    except Exception as failed:  # noqa: BLE001 - whatever it is, the file is closed
                        error = failed
            if self.shared.stop(is_alone=self.ranks.size == 1):
                self._close_together(error, block)

    def _waiting_for_ranks(self, block: Uninterrupted) -> contextlib.AbstractContextManager[None]:
        """Return a part of a block that may be interrupted where there are other ranks, which may never come."""
        return block.interruptible() if self.ranks.size > 1 else contextlib.nullcontext()

    def _close_together(self, error: BaseException | None, block: Uninterrupted) -> None:
        ranks = self.ranks
        try:
            if error is not None and ranks.all_raise(error):
                raise error  # every rank is leaving with it: nobody waits
            with self._waiting_for_ranks(block):
                # An error goes before what the other ranks are at: without words.
                ranks.agree(f"close {self.identity}" if error is None else "", error)
                self._end_shared_loops()
            ranks.throwing_alike(self.shared.complete)
        except BaseException:
            self.shared.take_back()
            raise
        finally:
            stored = self.options.found.profile
            if ranks.rank == 0 and stored is not None and self.learning.has_learned:
                stored.save_corrections(self.learning.profile.corrections)
            if ranks.rank == 0 and self.throttle is not None:
                self.throttle.keep()
            self._release()

    def _end_shared_loops(self) -> None:
        """Meet what ranks that have left a loop have still to say to the others."""
        for array in self._open_arrays() if self.contents is None else []:
            if array.has_shared_loops:
                array.core.start_comparing(0, "close", (), is_waited_for=True).wait()

    def _release(self) -> None:
        self._expect_no_warning()
        self.shared.release()

"""One open file of all ranks: a thin handle of the core (core/files/collective_file.h) that all its arrays share.

It keeps what the core does not know: the contents as Python objects, the profile, the streams, and the loops.
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
"""A function that writes rows of arrays. Its argument is the first row of each array."""


class OpenedFile:
    """A file that these ranks have open. It has weak references to its arrays; each array keeps the file alive.

    Attributes:
        shared: the handle of the core.
        folder: the folder that a relative path starts from; "" if the path is absolute.
        format: the name of the format, as in a `Description`.
        mode: "r" or "r+".
        ranks: the ranks that opened it together.
        options: the options with which it was opened.
        throttle: the limit of its target's streams, or None.
        learning: its profile, and what the profile has learned from operations.
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
        self._changing = threading.RLock()  # held during each change
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
        """The path of the file now: its name, or the working name of a new file that is not complete."""
        return self.shared.path

    @property
    def core(self) -> _core.File:
        """The file of the core, which moves its bytes."""
        return self.shared.file

    @property
    def is_new(self) -> bool:
        """Whether it was created here, and does not have its final name yet."""
        return self.shared.is_new

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self.shared.is_closed

    @property
    def number(self) -> int:
        """Return the number of the file in the order in which rank 0 opened files."""
        return self.options.found.number

    @property
    def asked_engine(self) -> str | None:
        """Return the requested engine; None for the engine that the environment names."""
        return self.options.engine

    @functools.cached_property
    def identity(self) -> str:
        """The identity of the file, as text that ranks compare."""
        return f"{self.final_path} ({self.format}, opened as number {self.number})"

    @property
    def contents(self) -> Contents | None:
        """The contents of the file; None if it was opened for one array."""
        if self._contents is not None:
            for dimension, length in self.shared.take_new_lengths().items():
                self._contents = self._contents.with_length(dimension, length)
        return self._contents

    # ---- its arrays --------------------------------------------------------------------------------------------------

    def stored_array(self, description: Description, *, is_new: bool = False, closes_file: bool = False) -> StoredArray:
        """Return an open array of this file. With `closes_file`, closing the array closes the file."""
        array = StoredArray(self, description, is_new=is_new, closes_file=closes_file)
        self._arrays[array.variable or ""] = array
        return array

    def _open_arrays(self) -> list[StoredArray]:
        """Return the open arrays as a list, which does not change while other threads open or drop arrays."""
        return [array for held in self._arrays.valuerefs() if (array := held()) is not None]

    def describe(self, variable: str) -> Description:
        """Return the description of a variable as it is now. Rank 0 calls it."""
        seen = self._seen().get(variable.strip("/")) if isinstance(variable, str) and variable else None
        if seen is not None:
            return formats.describe_seen(self.path, self.format, variable, seen, as_seen=self.mode == "r")
        return formats.describe(self.path, variable or None, format=None if self.format == "raw" else self.format)

    def describe_many(self, variables: Sequence[str]) -> list[Description]:
        """Return the descriptions of several variables as they are now. Rank 0 calls it."""
        return formats.describe_many(self.path, self.format, variables, self._seen())

    def _seen(self) -> Mapping[str, Seen]:
        """Return the known facts of each variable. It is at least as long as the dimensions of this file."""
        if (contents := self.contents) is not None:
            return contents.variables
        return {name: array.description for name, array in self._arrays.items() if name}

    def as_described(self, found: Description) -> Description:
        """Return a description of the core as one of Python."""
        return formats.as_described(found)

    def fingerprint(self, array: Description) -> Fingerprint:
        """Return the fingerprint of the array and of the file's state."""
        return fingerprint(array, self.folder)

    def move_by_library(self, array: Description, direction: str, indices: Indices, parts: list[Any]) -> None:
        """Read or write parts of an array with the format's own library."""
        library_access.move(array, direction, indices, parts)

    def expect_write(self, array: StoredArray) -> None:
        """Take note that elements of an array are about to be written.

        Raises StoreError if another file has taken the name since this one was opened; only rank 0 checks.
        """
        self._changes.refuse_replaced("write")
        self.shared.note_written(array.core)

    def known_rows(self, variable: str) -> int | None:
        """Return how many rows this handle knows of a variable; None if it cannot grow, or has not grown yet."""
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
        """Return the absolute path by which other processes can open the file. Raise ArgumentError if it is new."""
        if self.is_new:
            raise ArgumentError(
                f"{doing} {self.final_path}: the file is new, and no other process can open it before it is closed"
            )
        return os.path.join(self.folder, self.path)

    # ---- warnings if it is never closed ------------------------------------------------------------------------------

    def expect_close(self) -> None:
        """From now on, warn (ResourceWarning) if a created file is dropped without a close."""
        if self.options.atomic_file is not None:
            self._warn(self.options.atomic_file.never_closed, os.getpid(), is_first=self.ranks.rank == 0)

    def _warn_where_changes_are_lost(self) -> None:
        self._warn(never_closed, self._changes, self.final_path, os.getpid())

    def _warn(self, warn: Callable[..., None], *arguments: Any, **named: Any) -> None:
        """From now on, call `warn` if the file is dropped without a close."""
        self._expect_no_warning()
        self._warning = weakref.finalize(self, warn, *arguments, **named)

    def _expect_no_warning(self) -> None:
        if self._warning is not None:
            self._warning.detach()

    # ---- changes of the contents; collective -------------------------------------------------------------------------

    def add(self, words: str, new: Callable[[], NewArray]) -> Description:
        """Add a variable, and return its description. Arrays that have to move get their new descriptions. Collective.

        Args:
            words: the text that ranks compare.
            new: checks the arguments and returns the new array. Rank 0 calls it.
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
        """Add or replace attributes of the file (""), a group or a variable, and return their new values.

        The value None removes an attribute. Collective.
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
        """Raise ArgumentError if the file may be changed, but its format can hold only one array."""
        if self.mode == "r+":
            formats.check_many(self.format)

    def agree_to_change(self, holder: str, given: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the attributes that `given` returns on every rank; its error is raised on all ranks. Collective."""
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
        """Make changes by other threads wait until this one is over. A signal can interrupt the wait.

        After the ranks have agreed, the change runs in `uninterrupted()`: an exception of a signal handler, such as
        KeyboardInterrupt, is raised after the last byte.

        Raises ArgumentError in a process that was forked from the one that opened the file: the parent does not know
        the changes of its child, and would overwrite them.
        """
        if self._changes.is_forked:
            self.shared.refuse_closed(doing)
        with self._changing:
            yield

    def commit(self) -> None:
        """Make all changes permanent, and release the journal and lock: other programs may change the file. Local."""
        self._changes.end()

    def finish_started(self) -> None:
        """Wait for the asynchronous operations of its arrays. Collective."""
        self.shared.finish_started()

    def refuse_closed(self, doing: str) -> None:
        """Raise ArgumentError if the file is closed."""
        if self.is_closed:
            self.shared.refuse_closed(doing)

    # ---- records; collective -----------------------------------------------------------------------------------------

    def rows_to_append_to(self, array: StoredArray) -> int:
        """Return how many rows the array has. Raise ArgumentError if it cannot grow."""
        return self.ranks.throwing_alike(lambda: self.shared.rows_to_append_to(array.core))

    def append(self, rows: Sequence[tuple[StoredArray, int]], write: WriteRows, *, is_long: bool = False) -> None:
        """Append rows to arrays: so many to each. `write` writes them; its argument is the first row of each array.

        If it fails, the arrays keep their old number of rows. With `is_long`, an exception of a signal handler ends it.
        """
        self._append(rows, write, is_long=is_long)

    def give_rows(self, array: StoredArray, rows: int) -> None:
        """Extend an array to so many rows; new rows read as the fill value."""
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
        """Flush written data to the medium, and make changes permanent; a new file that can grow gets its final name.

        It is not interrupted after the ranks have met: a file whose renaming was not recorded here would be lost.
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
        """Complete a created file, save what the profile has learned, and release the file and its arrays.

        It is not interrupted after the ranks have met: a file that is released in part would lock out other programs.

        Raises StoreError if it cannot be completed (an old file of that name is then still there), or if a file in a
        pool was replaced while it was open: what was written into it is lost.
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
                        self.shared.refuse_lost_writes()  # the error reaches the other ranks below
                    except Exception as failed:  # noqa: BLE001 - whatever it is, the file is closed
                        error = failed
            if self.shared.stop(is_alone=self.ranks.size == 1):
                self._close_together(error, block)

    def _waiting_for_ranks(self, block: Uninterrupted) -> contextlib.AbstractContextManager[None]:
        """Return an interruptible part of a block if there are other ranks: one of them may never arrive."""
        return block.interruptible() if self.ranks.size > 1 else contextlib.nullcontext()

    def _close_together(self, error: BaseException | None, block: Uninterrupted) -> None:
        ranks = self.ranks
        try:
            if error is not None and ranks.all_raise(error):
                raise error  # every rank raises it: no rank waits
            with self._waiting_for_ranks(block):
                # An empty text: an error takes precedence over a disagreement about the call.
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
        """Complete the messages of ranks that have left a shared loop."""
        for array in self._open_arrays() if self.contents is None else []:
            if array.has_shared_loops:
                array.core.start_comparing(0, "close", (), is_waited_for=True).wait()

    def _release(self) -> None:
        self._expect_no_warning()
        self.shared.release()

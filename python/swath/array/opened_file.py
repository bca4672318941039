"""One open file of all ranks, and what all its arrays share: who moves its bytes, its prices, its name, its changes."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from swath import _core, formats
from swath.array import appending, staleness
from swath.array.open_options import OpenOptions
from swath.array.records import Records
from swath.errors import ArgumentError
from swath.formats import Contents, Description, NewArray, files, pools
from swath.formats.changes import Changes, changes_of
from swath.formats.contents import typed
from swath.ranks import compared
from swath.ranks.ranks import Ranks
from swath.store.lock_timeout import lock_seconds
from swath.throttle import throttle

if TYPE_CHECKING:
    from swath.array.open_array import Array


class Placed(NamedTuple):
    """What rank 0 tells the others after a change of what the file holds."""

    changed: Description | None
    """The variable that was changed."""
    others: dict[str, Description]
    """The open arrays that the change may have moved, by variable."""
    is_other_file: bool
    """Whether the name is another file's now: the old one was replaced by one with more in it."""


class OpenedFile:
    """A file that these ranks have open. Its arrays hold it; it does not hold them.

    Attributes:
        path: where it is: under its name, or beside it as long as it is not complete.
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
        make_array: Callable[[Description, OpenedFile], Array],
        contents: Contents | None = None,
    ) -> None:
        self.path = path
        self.folder = "" if os.path.isabs(path) or pools.is_in_pool(path) else os.getcwd()
        self.format = format
        self.mode = options.mode
        self.ranks = ranks
        self.options = options
        self.contents = contents
        self.is_closed = False
        self._make_array = make_array
        self._records: Records | None = None  # once something grows
        self._has_changed = False  # what it holds, since the last sync
        self._has_written = False  # elements, since then
        self._extended: dict[str, int] = {}  # on rank 0: the rows that this handle gave variables room for
        self._name: staleness.OpenName | None = None  # on rank 0, of a file that may be changed
        self._arrays: weakref.WeakValueDictionary[str, Array] = weakref.WeakValueDictionary()
        self._made_in = _core.fork_generation()
        self._changes: Changes | None = None  # on rank 0
        self._atomic_file = options.atomic_file
        self._never_closed: weakref.finalize[..., Any] | None = None
        self.throttle = self._throttle_of_target()
        self.core = self._open_core()
        self.learning = self._learning_of_profile()

    @property
    def final_path(self) -> str:
        """The name that the file has, or will have when it is complete."""
        return self.options.atomic_file.final_path if self.options.atomic_file else self.path

    @property
    def is_new(self) -> bool:
        """Whether it was created, and has not got its name yet."""
        return self._atomic_file is not None

    @property
    def identity(self) -> str:
        """Which file it is, in words that ranks compare."""
        return f"{self.final_path} ({self.format}, opened as number {self.options.found.number})"

    def _throttle_of_target(self) -> throttle.Throttle | None:
        engine = compared.effective_engine(self.options.engine)
        is_on_first_node = self.ranks.comm.node_of(self.ranks.rank) == 0
        coordinator = None if is_on_first_node else self.options.found.coordinator
        return throttle.throttle_for(self.path, engine, self.options.streams, coordinator)

    def _open_core(self) -> _core.File:
        minds_name = self.options.minds_name and self.mode == "r+" and not pools.is_in_pool(self.path)
        if not minds_name or self.ranks.rank != 0:
            return self._open_path()
        self._name, core = staleness.opened(os.path.join(self.folder, self.path), self._open_path)
        return core

    def _open_path(self) -> _core.File:
        engine = compared.effective_engine(self.options.engine)
        lock_timeout = lock_seconds(self.options.lock_timeout)
        servers = throttle.of_servers(self.path, self.options.streams)
        if servers is not None:
            scope, limits = servers
            given = _core.FileOptions(engine, throttle=limits, lock_timeout=lock_timeout, server_scope=scope)
        elif self.throttle is None:
            given = _core.FileOptions(engine, lock_timeout=lock_timeout)
        else:
            given = _core.FileOptions(engine, self.throttle.tokens, self.throttle.limits, lock_timeout)
        if formats.is_folder(self.format):
            return _core.open_folder(self.path, given)
        return _core.open_file(self.path, self.mode, given)

    def _learning_of_profile(self) -> _core.Learning:
        stored = self.options.found.profile
        # The time of a modelled disk tells nothing of the store under it.
        frozen = self.core.engine.startswith("modelled disk") or (stored is not None and stored.frozen)
        learns = self.options.learns and not frozen and os.environ.get("SWATH_LEARNING") != "0"
        return _core.Learning(_core.default_profile() if stored is None else stored.core, not learns)

    def describe(self, variable: str) -> Description:
        """Return where a variable is now. On rank 0."""
        return formats.describe(self.path, variable or None, format=None if self.format == "raw" else self.format)

    def describe_many(self, variables: Sequence[str]) -> list[Description]:
        """Return where several variables are now. On rank 0."""
        return formats.describe_many(self.path, self.format, variables)

    def path_to_reopen(self, doing: str) -> str:
        """Return the absolute path at which others find what it holds. Raise ArgumentError where it is new."""
        if self.is_new:
            raise ArgumentError(
                f"{doing} {self.final_path}: the file is new, and no other process can open it before it is closed"
            )
        return os.path.join(self.folder, self.path)

    def has(self, array: Array) -> None:
        """Take note of an open array of this file."""
        self._arrays[array.variable or ""] = array

    def expect_close(self) -> None:
        """Warn (ResourceWarning) whoever lets go of a created file, from now on, without closing it."""
        if self._atomic_file is not None:
            self._never_closed = weakref.finalize(
                self, self._atomic_file.never_closed, os.getpid(), is_first=self.ranks.rank == 0
            )

    # ---- changes of what the file holds; collective ------------------------------------------------------------------

    def add(self, words: str, new: Callable[[], NewArray]) -> Description:
        """Add a variable, and return where it is; arrays that it moves are told. Collective.

        Args:
            words: what ranks compare of it.
            new: makes it from arguments that it checks, on rank 0.
        """
        added = self._change(words, lambda changes: formats.add(self.format, changes, new()))
        assert added is not None
        if self.contents is not None:
            self.contents = self.contents.with_variable(added)
        if added.unlimited[:1] == (True,):
            self._follow(added.variable or "")
        return added

    def set_attributes(self, holder: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Add or replace attributes of the file (""), a group or a variable, and return them as they are then.

        None removes one. Collective.
        """
        words = self._words_of_attributes(holder, attributes)

        def change(changes: Changes) -> None:
            formats.set_attributes(self.format, changes, holder, typed(attributes))

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
        return compared.words("set attributes of", f"{self.identity}:{holder}", {"attributes": attributes})

    def _change(self, words: str, change: Callable[[Changes], Description | None]) -> Description | None:
        """Change what the file holds, on rank 0; every rank's arrays are then where it says."""

        def work() -> Placed:
            self.refuse_reading("change")
            self.refuse_replaced("change")
            pools.refuse_change(self.path)
            inode = os.stat(self.path).st_ino
            changed = change(self.changes())
            others = self._described_again() if formats.moves_others(self.format) else {}
            is_other_file = os.stat(self.path).st_ino != inode
            return Placed(changed, others, is_other_file)

        self.finish_started()
        placed = self.ranks.on_first(words, work)
        self._has_changed = True
        self._take(placed.others, is_other_file=placed.is_other_file)
        return placed.changed

    def changes(self) -> Changes:
        """Return what takes changes back. On rank 0."""
        if self._changes is None:
            changes = changes_of(self.path, is_durable=not self.is_new)
            if not self.is_new:
                try:
                    self.refuse_replaced("change")
                    staleness.refuse_changed(self)
                except BaseException:
                    changes.close()
                    raise
            self._changes = changes
            if not self.is_new:
                self._never_closed = weakref.finalize(self, changes.never_closed, self.final_path, os.getpid())
        return self._changes

    def refuse_replaced(self, doing: str) -> None:
        """Raise StoreError where another file has its name since it was opened. Tells on rank 0 only."""
        if self._name is not None and not self.is_new:
            self._name.refuse_replaced(doing)

    def expect_write(self) -> None:
        """Take note that elements are about to be written. Raises as `refuse_replaced`."""
        self.refuse_replaced("write")
        self._has_written = True

    def settle(self) -> None:
        """Let what was written of elements stay after a kill too, unless a variable was added meanwhile. On rank 0."""
        if self._changes is not None and not self._has_changed:
            self._changes.settle()

    def commit(self) -> None:
        """Let all changes stay, and keep nothing any more: whoever wants to may change the file now. Local."""
        if self._changes is not None:
            changes, self._changes = self._changes, None
            self._expect_no_close()
            with changes:
                changes.commit()

    def allocate(self, array: Description) -> Description:
        """Give parts of an array that have no place in the file yet a place, and return where they are. Collective.

        A write of it does so, and has its array alone; no other array of the file writes meanwhile, and those that are
        read stay where they are.
        """

        def work() -> Description:
            allocated = formats.allocate(array, self.changes())
            self.settle()
            return allocated

        return self.ranks.on_first(f"allocate {array.variable} of {self.identity}", work)

    def finish_started(self) -> None:
        """Wait for what arrays of it do beside the program. Collective."""
        for array in list(self._arrays.values()):
            array._core.finish_started(self.ranks.size == 1)

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
        """Return where the open arrays are now; each has as many rows as its own count says. On rank 0."""
        rows = {} if self._records is None else self._records.rows
        found = {}
        for described in self.describe_many(list(self._arrays)):
            variable = described.variable or ""
            found[variable] = described
            if variable in rows and rows[variable] != described.shape[0]:
                found[variable] = formats.extend(self.format, self.changes(), variable, rows[variable])
        return found

    def _take(self, places: Mapping[str, Description], *, is_other_file: bool) -> None:
        if is_other_file:
            self.core = self.ranks.run_collectively(f"open {self.identity} again", self._open_core)
        for variable, array in list(self._arrays.items()):
            if is_other_file or variable in places:
                array._become(places.get(variable, array._description))

    # ---- records; collective -----------------------------------------------------------------------------------------

    def records(self) -> Records:
        """Return how far each variable is that grows."""
        if self._records is None:
            self._records = Records.of(self._listed())
        return self._records

    def _listed(self) -> Contents:
        if self.contents is not None:
            return self.contents
        return self.ranks.on_first(f"list {self.identity}", lambda: formats.contents(self.path, to_change=True))

    def _follow(self, variable: str) -> None:
        """Count the rows of a new variable too, which has none yet."""
        self.records().follow(self._listed(), variable)
        self.records().rows[variable] = 0

    def rows_to_append_to(self, array: Array, words: str) -> int:
        """Return how many rows the array has. Raise ArgumentError where it does not grow."""
        description, variable = array._description, array.variable or ""

        def check() -> None:
            self.refuse_reading("append to")
            if description.unlimited[:1] != (True,) and not (formats.is_folder(self.format) and description.shape):
                raise ArgumentError(
                    f"append to {description.name}: its shape {array.shape} is fixed; create it with None as its "
                    "first length, or write into it"
                )

        self.ranks.run_collectively(words, check)
        if variable not in self.records().rows:
            self.records().follow(self._listed(), variable)
        return self.records().rows[variable]

    def extend(self, array: Array, rows: int, words: str, *, is_written: bool = False) -> None:
        """Give one array room for so many rows, or take room away again; it is never shorter than its dimension.

        With `is_written` all new rows are written next, or taken away.
        """
        variable = array.variable or ""
        records = self.records()
        length = records.length[records.dimension_of[variable]]
        is_written = is_written and rows >= length
        rows = max(rows, length)

        def work() -> Description:
            self.refuse_reading("append to")
            self.refuse_replaced("append to")
            changes = self.changes()
            self._extended[variable] = rows
            described = formats.extend(self.format, changes, variable, rows, is_written=is_written)
            if described.end > 0:
                files.extend(self.path, described.end)  # gaps between what is written can be read
            return described

        self.finish_started()
        array._become(self.ranks.on_first(words, work))
        self._has_changed = True

    def wrote(self, variable: str, rows: int) -> None:
        """Take note that all ranks have written so many rows; a dimension grows when all along it have."""
        records = self.records()
        length = records.wrote(variable, rows)
        if length is not None:
            self._set_length(records.dimension_of[variable], length)

    def _set_length(self, dimension: str, length: int) -> None:
        def work() -> None:
            changes = self.changes()
            formats.set_length(self.format, changes, dimension, length)
            changes.settle()

        self.ranks.on_first(f"{dimension} of {self.identity} has {length} rows", work)
        self.records().length[dimension] = length
        if self.contents is not None:
            self.contents = self.contents.with_length(dimension, length)

    def _complete_records(self) -> None:
        """Let every dimension have all rows that any variable has; those of the others are filled."""
        if self._records is None:
            return
        for dimension, length in self._records.unfinished():
            for variable in self._records.behind(dimension, length):
                self._fill_rows(variable, length)
            self._set_length(dimension, length)

    def _fill_rows(self, variable: str, rows: int) -> None:
        array = self._arrays.get(variable)
        if array is None:
            found = self.ranks.on_first(f"open {variable} of {self.identity}", lambda: self.describe(variable))
            array = self._make_array(found, self)
        first = self.records().rows[variable]
        self.extend(array, rows, f"fill rows {first} to {rows} of {variable} of {self.identity}")
        appending.fill_rows(array, first, rows)
        self.records().rows[variable] = rows

    # ---- sync and close; collective ----------------------------------------------------------------------------------

    def sync(self) -> None:
        """Bring what was written to the medium, and let changes stay; a new file that grows gets its name."""
        self.refuse_closed("sync")
        with self.ranks.in_turn(f"sync {self.final_path}"):
            self.finish_started()
            self._complete_records()
            gets_name = self.is_new and self._records is not None and bool(self._records.rows)
            if gets_name or not self.is_new:
                self._fill_unwritten()  # a variable that is added stays from now on
            if gets_name:
                self._finish()
            self._sync_file()
            if gets_name:
                self._give_name()
            for array in list(self._arrays.values()):
                array._core.expect_sync()

    def _sync_file(self) -> None:
        """Every write ended with an agreement: nothing that any rank wrote is on its way still.

        Changes stay when every node has brought to the medium what they tell of.
        """

        def sync() -> None:
            self.refuse_replaced("sync")
            if self.ranks.is_first_of_node:
                self.core.sync()

        self.ranks.run_collectively(f"sync {self.identity}", sync)
        keep = self._changes.commit if self._changes is not None else lambda: None
        self.ranks.run_collectively(f"keep changes of {self.identity}", keep)
        self._has_changed = self._has_written = False

    def _finish(self) -> None:
        self.ranks.on_first(f"finish {self.identity}", lambda: formats.finish(self.format, self.path))

    def _fill_unwritten(self) -> None:
        for array in list(self._arrays.values()):
            array._core.fill_unwritten()

    def _give_name(self) -> None:
        atomic_file = self._atomic_file
        assert atomic_file is not None

        def work() -> dict[str, Description]:
            atomic_file.complete()
            self._has_name()
            return self._described_again()

        places = self.ranks.on_first(f"complete {self.identity}", work)
        self._has_name()
        self._take(places, is_other_file=True)

    def _has_name(self) -> None:
        self.path = self.final_path
        self._atomic_file = None
        if self._changes is not None:
            self._changes.close()  # from now on they are journalled
            self._changes = None
        self._expect_no_close()

    def close(self, error: BaseException | None = None) -> None:
        """Complete a created file, keep what was learned, and let go of the file and its arrays.

        Raises StoreError where it cannot be completed: the old file, if there was one, is then still there. And where a
        file in a pool was replaced while it was open, with what was written into it.
        """
        if self.is_closed:
            return
        if self._made_in != _core.fork_generation():
            self._shut(is_alone=True)
            self._let_go()
            return
        with self.ranks.in_turn(f"close {self.final_path}"):
            for array in list(self._arrays.values()):
                array._leave_loops("the array is closed")
            if error is None:
                try:
                    self._complete_records()
                    if self._has_written:
                        self.refuse_replaced("close")  # which rank 0 tells the others below
                except Exception as failed:  # noqa: BLE001 - whatever it is, the file is closed
                    error = failed
            if self._shut(is_alone=self.ranks.size == 1):
                self._close_together(error)

    def _shut(self, *, is_alone: bool) -> bool:
        """Wait until nobody uses an array of it. False: it was closed meanwhile."""
        for array in list(self._arrays.values()):
            array._core.shut(is_alone)
        was_closed, self.is_closed = self.is_closed, True
        return not was_closed

    def _close_together(self, error: BaseException | None) -> None:
        ranks = self.ranks
        try:
            if error is not None and ranks.all_raise(error):
                raise error  # every rank is leaving with it: nobody waits
            # An error goes before what the other ranks are at: without words.
            ranks.agree(f"close {self.identity}" if error is None else "", error)
            self._hear_of_loops()
            self._complete()
        except BaseException:
            self._take_back()
            raise
        finally:
            stored = self.options.found.profile
            if ranks.rank == 0 and stored is not None and self.learning.has_learned:
                stored.save_corrections(self.learning.profile.corrections)
            if ranks.rank == 0 and self.throttle is not None:
                self.throttle.keep()
            self._let_go()

    def _hear_of_loops(self) -> None:
        """Meet what ranks that have left a loop have still to say to the others."""
        for array in list(self._arrays.values()) if self.contents is None else []:
            if array._has_shared_loops:
                array._core.start_comparing(0, "close", (), is_waited_for=True).wait()

    def _complete(self) -> None:
        if self.is_new or self._has_changed:
            self._fill_unwritten()
            if self.is_new:
                self._finish()
            self._sync_file()
        elif self.core.may_lose_writes:
            self.ranks.run_collectively(f"check {self.identity}", self.core.check_written)
        if self._atomic_file is not None:
            self.ranks.on_first(f"complete {self.identity}", self._atomic_file.complete)

    def _take_back(self) -> None:
        """Remove the file that is not complete, or what was added to one that exists."""
        if self.ranks.rank != 0:
            return
        if self._atomic_file is not None:
            if self._changes is not None:
                self._changes.abandon()  # there is no file any more in which something could be taken back
            self._atomic_file.remove()
        elif self._changes is not None and self._name is not None and self._name.is_replaced():
            self._changes.abandon()
        elif self._changes is not None:
            self._changes.undo()

    def _expect_no_close(self) -> None:
        if self._never_closed is not None:
            self._never_closed.detach()

    def _let_go(self) -> None:
        self._expect_no_close()
        try:
            if self._changes is not None and self._made_in == _core.fork_generation():
                self._changes.close()
        finally:
            for array in list(self._arrays.values()):
                array._core.let_go_of_file()
            self.core = None  # type: ignore[assignment]

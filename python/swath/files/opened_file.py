"""One open file of all ranks: how it grows, is brought to the medium, and completed."""

from __future__ import annotations

import contextlib
from typing import Any

from swath import _core, formats
from swath.errors import ArgumentError, UnsupportedError
from swath.files import library_access
from swath.files.file_contents import FileContents
from swath.files.fingerprint import Fingerprint, fingerprint
from swath.files.stored_array import Indices, StoredArray
from swath.formats import Description, LibraryLayout
from swath.formats.signals import Uninterrupted, uninterrupted


class OpenedFile(FileContents):
    """A file that these ranks have open, with all that it may do. It knows its arrays, and does not hold them."""

    def stored_array(self, description: Description, *, is_new: bool = False, closes_file: bool = False) -> StoredArray:
        """Return an array of this file, open. `closes_file`: the file is open for it alone, and closed with it."""
        array = StoredArray(self, description, is_new=is_new, closes_file=closes_file)
        self._arrays[array.variable or ""] = array
        return array

    def fingerprint(self, array: Description) -> Fingerprint:
        """Return which array it is, and in which state the file is."""
        return fingerprint(array, self.folder)

    def chunk_room(self, array: Description) -> _core.ChunkRoom | None:
        """Return who gives the chunks that are written room in the file; None where the chunks need none."""
        return formats.chunk_room(array, self._changes)

    def move_by_library(self, array: Description, direction: str, indices: Indices, parts: list[Any]) -> None:
        """Read or write parts of an array by the format's own library."""
        library_access.move(array, direction, indices, parts)

    # ---- records; collective -----------------------------------------------------------------------------------------

    def rows_to_append_to(self, array: StoredArray, words: str) -> int:
        """Return how many rows the array has. Raise ArgumentError where it does not grow."""
        description, variable = array.description, array.variable or ""

        def check() -> None:
            self.refuse_reading("append to")
            if description.unlimited[:1] != (True,) and not (formats.is_folder(self.format) and description.shape):
                raise ArgumentError(
                    f"append to {description.name}: its shape {array.shape} is fixed; create it with None as its "
                    "first length, or write into it"
                )

        self.ranks.run_collectively(words, check)
        if not self.records().follows(variable):
            self.records().follow(self._listed(), variable)
        return self.records().rows(variable)

    def extend(self, array: StoredArray, rows: int, words: str, *, written_from: int | None = None) -> None:
        """Give one array room for so many rows, or take room away again; it is never shorter than its dimension.

        Rows from `written_from` on are written next, or taken away.
        """
        variable = array.variable or ""
        records = self.records()
        rows = max(rows, records.length(records.dimension_of(variable)))

        def work() -> Description:
            self.refuse_reading("append to")
            return formats.extend(self.format, self._changes, variable, rows, written_from=written_from)

        self.finish_started()
        array.relocate(self.ranks.on_first(words, work))
        self._changes.note_changed()

    def rows_written(self, variable: str, rows: int) -> None:
        """Take note that all ranks have written so many rows; a dimension grows when all along it have."""
        records = self.records()
        length = records.wrote(variable, rows)
        if length is not None:
            self._set_length(records.dimension_of(variable), length)
        self._changes.written(variable)

    def undo_extend(self, array: StoredArray, rows: int, words: str) -> None:
        """Take away the room that an array was given for rows that could not be written: it had so many."""
        self.extend(array, rows, words)
        self.records().set_rows(array.variable or "", rows)

    def _set_length(self, dimension: str, length: int) -> None:
        contents = None if self.contents is None else self.contents.with_length(dimension, length)
        longer = [] if contents is None else contents.along_later(dimension, list(self._arrays))

        def work() -> dict[str, Description]:
            formats.set_length(self.format, self._changes, dimension, length)
            self._changes.checkpoint()
            if contents is None or not longer:
                return {}
            found = formats.describe_many(self.path, self.format, longer, contents.variables)
            return {one.variable or "": one for one in found}

        found = self.ranks.on_first(f"{dimension} of {self.identity} has {length} rows", work)
        self.records().set_length(dimension, length)
        self.contents = contents
        self._relocate(found, is_other_file=False)

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
        if array is None and not formats.has_netcdf4_lengths(self.format):  # HDF5 fills what gets longer
            found = self.ranks.on_first(
                f"open {variable} of {self.identity}", lambda: self._described_to_fill(variable)
            )
            array = None if found is None else self.stored_array(found)
        if array is not None:
            first = self.records().rows(variable)
            self.extend(array, rows, f"fill rows {first} to {rows} of {variable} of {self.identity}")
            array.fill_rows(first, rows)
        self.records().set_rows(variable, rows)

    def _described_to_fill(self, variable: str) -> Description | None:
        """Return where a variable is; None where Swath never writes it, so that nothing is left behind its end."""
        try:
            found = self.describe(variable)
        except UnsupportedError:
            return None
        return None if isinstance(found.layout, LibraryLayout) else found

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
                self._complete_records()
            if self._records is not None:
                self._records.synced()
            gets_name = self.is_new and self._records is not None and not self._records.is_empty()
            if gets_name or not self.is_new:
                self._fill_unwritten()  # a variable that is added stays from now on
            if gets_name:
                self._finish()
            self._sync_file()
            if gets_name:
                self._give_name()
            for array in self._open_arrays():
                array.core.expect_sync()

    def _sync_file(self) -> None:
        """Every write ended with an agreement: nothing that any rank wrote is on its way still.

        Changes, which rank 0 has, stay when every node has brought to the medium what they tell of. Where there are
        none the ranks meet once.
        """

        def sync() -> bool:
            self.refuse_replaced("sync")
            if self.ranks.is_first_of_node:
                self.core.sync()
            return self._changes.has_begun

        if self.ranks.any_rank(f"sync {self.identity}", sync):
            self.ranks.run_collectively(f"keep changes of {self.identity}", self._changes.commit)
        self._changes.note_synced()
        self._has_written = False

    def _finish(self) -> None:
        self.ranks.on_first(f"finish {self.identity}", lambda: formats.finish(self.format, self.path))

    def _fill_unwritten(self) -> None:
        for array in self._open_arrays():
            array.core.fill_unwritten()

    def _give_name(self) -> None:
        atomic_file = self._atomic_file
        assert atomic_file is not None

        def work() -> dict[str, Description]:
            atomic_file.complete()
            self._has_name()
            return self._described_again()

        found = self.ranks.on_first(f"complete {self.identity}", work)
        self._has_name()
        self._relocate(found, is_other_file=True)

    def _has_name(self) -> None:
        self.path = self.final_path
        self._atomic_file = None
        self._changes.has_name(self.path)
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
            self._stop_arrays(is_alone=True)
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
                        self._complete_records()
                        if self._has_written:
                            self.refuse_replaced("close")  # which the other ranks hear of below
                    except Exception as failed:  # noqa: BLE001 - whatever it is, the file is closed
                        error = failed
            if self._stop_arrays(is_alone=self.ranks.size == 1):
                self._close_together(error, block)

    def _waiting_for_ranks(self, block: Uninterrupted) -> contextlib.AbstractContextManager[None]:
        """Return a part of a block that may be interrupted where there are other ranks, which may never come."""
        return block.interruptible() if self.ranks.size > 1 else contextlib.nullcontext()

    def _stop_arrays(self, *, is_alone: bool) -> bool:
        """Wait until nobody uses an array of it. False: it was closed meanwhile."""
        for array in self._open_arrays():
            array.core.stop(is_alone)
        was_closed, self.is_closed = self.is_closed, True
        return not was_closed

    def _close_together(self, error: BaseException | None, block: Uninterrupted) -> None:
        ranks = self.ranks
        try:
            if error is not None and ranks.all_raise(error):
                raise error  # every rank is leaving with it: nobody waits
            with self._waiting_for_ranks(block):
                # An error goes before what the other ranks are at: without words.
                ranks.agree(f"close {self.identity}" if error is None else "", error)
                self._end_shared_loops()
            self._complete()
        except BaseException:
            self._undo()
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

    def _complete(self) -> None:
        if self.is_new or self._changes.has_changed:
            self._fill_unwritten()
            if self.is_new:
                self._finish()
            self._sync_file()
        elif self.core.may_lose_writes:
            self.ranks.run_collectively(f"check {self.identity}", self.core.check_written)
        if self._atomic_file is not None:
            self.ranks.on_first(f"complete {self.identity}", self._atomic_file.complete)

    def _undo(self) -> None:
        """Remove the file that is not complete, or what was added to one that exists."""
        if self.ranks.rank != 0:
            return
        self._changes.take_back()
        if self._atomic_file is not None:
            self._atomic_file.remove()

    def _release(self) -> None:
        self._expect_no_warning()
        try:
            self._changes.close()
        finally:
            for array in self._open_arrays():
                array.core.release_file()
            self.core = None  # type: ignore[assignment]

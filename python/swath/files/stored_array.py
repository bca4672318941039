"""One array of an open file, as it is stored: where its elements are, and what moves them.

    stored = file.stored_array(description)     # OpenedFile.stored_array
    stored.core.execute(operation, parts)       # elements, by the core
    stored.append(None, write)                  # a record, by its file

An `Array` stands on one, and knows no file. Files keep those that are open, and do not know who stands on them.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from swath import _core
from swath.errors import Error, to_core
from swath.files import layouts
from swath.files.attributes import FileWithAttributes, StoredAttributes
from swath.formats.description import Description
from swath.formats.identity import identity
from swath.formats.signals import uninterrupted
from swath.ranks.ranks import Ranks
from swath.space import Block, Distribution, Shape, Whole, normalise_selection
from swath.throttle.throttle import TargetStatus, Throttle

Location = tuple[_core.ArrayForm, _core.CodedArray | None]
"""Where elements are, in the words of the core: a form, and chunks where they are coded."""
Indices = Callable[[], list[list[npt.NDArray[np.int64]]]]
"""Returns the indices of each part of a rank, a list a dimension of the array."""


class FileOfArrays(FileWithAttributes, Protocol):
    """What a stored array needs of its file; `OpenedFile` says more of each."""

    mode: str
    ranks: Ranks
    core: _core.File
    throttle: Throttle | None
    learning: _core.Learning

    @property
    def number(self) -> int:
        """Return the number of the file among those that rank 0 has opened."""

    @property
    def asked_engine(self) -> str | None:
        """Return the engine that was asked for; None for the one that the environment names."""

    def options_to_reopen(self) -> dict[str, Any]:
        """Return the arguments of `swath.open` that open the file in the same way."""

    def path_to_reopen(self, doing: str) -> str:
        """Return the absolute path at which others find what the file holds."""

    def fingerprint(self, array: Description) -> tuple[Any, ...]:
        """Return which array it is, and in which state the file is."""

    def chunk_room(self, array: Description) -> _core.ChunkRoom | None:
        """Return who gives the chunks that are written room in the file; None where the chunks need none."""

    def move_by_library(self, array: Description, direction: str, indices: Indices, parts: list[Any]) -> None:
        """Read or write parts of an array by the format's own library."""

    def expect_write(self, array: StoredArray) -> None:
        """Take note that elements of an array are about to be written."""

    def commit(self) -> None:
        """Let all changes stay."""

    def allocate(self, array: Description) -> Description:
        """Give room in the file to parts of an array that have none yet. Collective."""

    def one_change(self, doing: str) -> AbstractContextManager[None]:
        """Let changes by other threads wait until this one is over."""

    def known_rows(self, variable: str) -> int | None:
        """Return how many rows a variable has for this handle; None where it does not grow, or has not yet."""

    def rows_to_append_to(self, array: StoredArray, words: str) -> int:
        """Return how many rows an array has. Collective."""

    def extend(self, array: StoredArray, rows: int, words: str, *, written_from: int | None = None) -> None:
        """Give an array room for so many rows. Collective."""

    def undo_extend(self, array: StoredArray, rows: int, words: str) -> None:
        """Take away the room of rows that could not be written: the array had so many. Collective."""

    def rows_written(self, variable: str, rows: int) -> None:
        """Take note that all ranks have written so many rows. Collective."""

    def sync(self) -> None:
        """Bring what was written to the medium. Collective."""

    def close(self, error: BaseException | None = None) -> None:
        """Complete the file, and close it with its arrays. Collective."""


class SharedLoop(Protocol):
    """A loop over an array that all its ranks go through together."""

    def _refuse(self, why: str) -> None:
        """Go on no longer."""


class StoredArray:
    """One array of an open file. `OpenedFile.stored_array` makes it.

    Attributes:
        file: that it is in, and that it holds open.
        closes_file: whether the file is open for this array alone, and closed with it.
        ranks: that have it open together.
        mode: "r" or "r+".
        path: of the file when it is complete.
        variable: its name in the file, or None.
        description: where its elements are now.
        form: the same for operations; another object whenever they are elsewhere.
        identity: which array it is, in words that ranks compare.
        core: what moves its elements.
        attributes: as stored in the file.
        engine: what moves the bytes of the file.
        engine_reason: why it is another engine than the one asked for, else empty.
        has_shared_loops: whether ranks have gone through a loop over it together.
    """

    def __init__(
        self, file: FileOfArrays, description: Description, *, is_new: bool = False, closes_file: bool = False
    ) -> None:
        self.file = file
        self.closes_file = closes_file
        self.ranks = file.ranks
        self.mode = file.mode
        self.path: str = file.final_path
        self.variable = description.variable
        self.attributes = StoredAttributes(file, description.variable or "", description.attributes)
        self.engine: str = file.core.engine
        self.engine_reason: str = file.core.engine_reason
        self.has_shared_loops = False
        self.description = description
        # What ranks compare: made once, from what rank 0 found, so that it is the same on all of them.
        self.identity = self._identity_now()
        self.form = layouts.array_form(description, self.identity)
        self.core = self._make_core(is_new=is_new)

    def _make_core(self, *, is_new: bool) -> _core.Array:
        description = self.description
        grows = description.unlimited[:1] == (True,)  # its file fills what nobody writes
        given: dict[str, Any] = {"name": self.path, "learning": self.file.learning, "is_new": is_new and not grows}
        if (chunks := layouts.coded_chunks(description)) is not None:
            given["chunks"] = chunks
        if (room := self.file.chunk_room(description)) is not None:
            given["allocator"] = room
        return _core.Array(self.ranks.comm, self.file.core, self.form, description.fill, given)

    def _identity_now(self) -> str:
        if self.ranks.size == 1:
            return self.path
        return identity(self.description, self.path, self.file.number)

    @property
    def shape(self) -> Shape:
        """Return the lengths in elements."""
        return self.description.shape

    @property
    def core_file(self) -> _core.File:
        """Return the core's file that it is in, which moves its bytes."""
        return self.file.core

    @property
    def streams(self) -> TargetStatus | None:
        """Return the status of the file's target; None where its streams are not limited."""
        return None if self.file.throttle is None else self.file.throttle.status

    def fingerprint(self) -> tuple[Any, ...]:
        """Return which array it is, and in which state its file is."""
        return self.file.fingerprint(self.description)

    # ---- where its elements are --------------------------------------------------------------------------------------

    def relocate(self, description: Description) -> None:
        """Be stored so from now on: grown, or moved by a change of the file. Every rank does so."""
        self._describe(description)
        self.core.relocate(self.form, layouts.coded_chunks(description), self.file.core, self.ranks.size == 1)

    def _describe(self, description: Description) -> None:
        self.description = description
        self.form = layouts.array_form(description, self._identity_now())

    def relocation(self) -> Callable[[], Location] | None:
        """Return what the core calls before it writes, where a write gives elements room in the file; else None.

        Before the write chunks get storage that the format has not allocated yet.
        """
        return self.allocate if layouts.has_absent_chunks(self.description) else None

    def allocate(self) -> Location:
        """Give all elements room in the file. Collective, in a write, which has the array alone."""
        self._describe(self.file.allocate(self.description))
        return self.form, layouts.coded_chunks(self.description)

    def by_library(self, direction: str, indices: Indices, parts: list[Any]) -> Callable[[], None]:
        """Return what reads or writes parts by the format's own library, where neither plans nor chunks can."""
        return functools.partial(self.file.move_by_library, self.description, direction, indices, parts)

    # ---- writes ------------------------------------------------------------------------------------------------------

    def write(
        self,
        operation: _core.Operation,
        parts: Any,
        library: Callable[[], None] | None = None,
        watched: Any = None,
    ) -> _core.Execution:
        """Write this rank's parts, and return what was done. Collective as the operation is.

        Args:
            operation: what is written.
            parts: in memory.
            library: see `by_library`.
            watched: counts what is done, for a progress bar.
        """
        if not self.core.has_plans and not self.core.goes_by_chunks("write"):
            self.file.commit()  # each rank keeps its own changes while the library writes
        return self.core.execute(operation, parts, watched, library, self.relocation())

    def expect_write(self) -> None:
        """Take note that elements are about to be written. Raise StoreError where another file has the name now."""
        self.file.expect_write(self)

    def refuse(self, operation: _core.Operation | None, error: Exception) -> NoReturn:
        """Raise the error on all ranks, in place of an operation that this rank cannot take part in. Collective."""
        if self.ranks.size == 1:
            raise error
        try:
            self.core.refuse(operation, *to_core(error))
        except Error as agreed:
            self.ranks.have_agreed(error)
            self.ranks.have_agreed(agreed)
            raise agreed from error
        raise AssertionError("the core refuses by raising")

    def fill_rows(self, first: int, last: int) -> None:
        """Write the fill value to these rows, this rank's part of each. Collective."""
        description, ranks = self.description, self.ranks
        if description.format == "hdf5" or 0 in description.shape:
            return  # what is not stored reads as the fill value, and nothing is left of what a killed run stored there
        rest = description.shape[1:]
        by_rows = Distribution((Block(), *(Whole() for _ in rest)), grid=(ranks.size, *(1 for _ in rest)))
        rows = (last - first, *rest)
        # It takes no memory: every element is the same one.
        fill = np.frombuffer(description.fill, description.dtype)
        part = np.broadcast_to(fill, by_rows.local_shape(rows, ranks.rank))
        selection = normalise_selection(slice(first, last), description.shape)
        shares = _core.Decomposition.distributed(by_rows._core, selection, ranks.size)
        operation = _core.Operation(self.form, "write", shares, "auto", ())

        def indices() -> list[list[npt.NDArray[np.int64]]]:
            of_rows, *others = by_rows.indices(rows, ranks.rank)
            return [[first + of_rows, *others]]

        try:
            self.expect_write()
        except Exception as error:  # noqa: BLE001 - whatever it is, the other ranks must hear of it
            self.refuse(operation, error)
        try:
            self.write(operation, [part], self.by_library("write", indices, [part]))
        except Error as error:
            ranks.have_agreed(error)
            raise

    # ---- records; collective -----------------------------------------------------------------------------------------

    def append(self, records: int | None, write: Callable[[Any], None]) -> None:
        """Write the next record, or so many together, behind the last one.

        Args:
            records: how many; None: one, which has a dimension less than the array.
            write: writes the rows, whose selection it is given. Where it fails, the array has the rows that it had.
        """
        words = f"append {'a record' if records is None else f'{records} records'} to {self.identity}"
        with self.file.one_change("append to"):
            first = self.file.rows_to_append_to(self, words)
            last = first + (1 if records is None else records)
            with uninterrupted():
                self._append_rows((first, last), words, lambda: write(first if records is None else slice(first, last)))

    def _append_rows(self, rows: tuple[int, int], words: str, write: Callable[[], None]) -> None:
        first, last = rows
        has_room = False
        try:
            self.file.extend(self, last, f"{words}: from row {first}", written_from=first)
            has_room = True
            write()
        except BaseException as error:
            is_known = self.ranks.size == 1 or self.ranks.all_raise(error)
            if is_known and (has_room or not isinstance(error, Error)):  # an error of ours left no room
                self.file.undo_extend(self, first, f"{words}: taken back")
            raise
        self.file.rows_written(self.variable or "", last)

    # ---- loops, sync and closing ------------------------------------------------------------------------------------

    @functools.cached_property
    def shared_loops(self) -> weakref.WeakSet[SharedLoop]:
        """Return the loops over it that all ranks go through together."""
        return weakref.WeakSet()

    def leave_loops(self, why: str) -> None:
        """Go on no longer with any loop of all ranks: the array is to be closed."""
        for loop in list(self.shared_loops):
            loop._refuse(why)

    def sync(self) -> None:
        """Bring what was written to the medium; of all arrays of the file. Collective."""
        self.file.sync()

    def close(self, error: BaseException | None = None) -> None:
        """Close it, and its file where that is open for it alone; then it is collective."""
        if self.closes_file:
            self.file.close(error)
        else:
            self.leave_loops("the array is closed")
            self.core.stop(self.ranks.size == 1)  # its file may have to fill it still, and lets go of it

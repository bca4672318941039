"""One array of an open file, as it is stored: where its elements are, and what moves them.

    stored = file.stored_array(description)     # OpenedFile.stored_array
    stored.core.execute(operation, parts)       # elements, by the core
    stored.append(None, write)                  # a record, by its file

An `Array` stands on one, and knows no file. Files keep those that are open, and do not know who stands on them.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from swath import _core
from swath.errors import Error, to_core
from swath.files import layouts
from swath.files.attributes import FileWithAttributes, StoredAttributes
from swath.formats.description import Description
from swath.formats.identity import identity
from swath.ranks.ranks import Ranks
from swath.space import Shape
from swath.throttle.throttle import TargetStatus, Throttle

Indices = Callable[[], list[list[npt.NDArray[np.int64]]]]
"""Returns the indices of each part of a rank, a list a dimension of the array."""


class FileOfArrays(FileWithAttributes, Protocol):
    """What a stored array needs of its file; `OpenedFile` says more of each."""

    mode: str
    ranks: Ranks
    shared: _core.CollectiveFile
    throttle: Throttle | None
    learning: _core.Learning

    @property
    def core(self) -> _core.File:
        """Return what moves the bytes of the file."""

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

    def as_described(self, found: Description) -> Description:
        """Return what the core has said of an array as Python has it."""

    def fingerprint(self, array: Description) -> tuple[Any, ...]:
        """Return which array it is, and in which state the file is."""

    def move_by_library(self, array: Description, direction: str, indices: Indices, parts: list[Any]) -> None:
        """Read or write parts of an array by the format's own library."""

    def expect_write(self, array: StoredArray) -> None:
        """Take note that elements of an array are about to be written."""

    def commit(self) -> None:
        """Let all changes stay."""

    def known_rows(self, variable: str) -> int | None:
        """Return how many rows a variable has for this handle; None where it does not grow, or has not yet."""

    def append(self, rows: Sequence[tuple[StoredArray, int]], write: Callable[[list[int]], None]) -> None:
        """Have `write` write the next rows of arrays, so many of each; it is given the first of each. Collective."""

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
        self._described = 0, description  # how often its file has said where it is, and what it said last
        # What ranks compare: made once, from what rank 0 found, so that it is the same on all of them.
        self.identity = self._first_identity(description)
        self.core = self._make_core(description, is_new=is_new)

    def _make_core(self, description: Description, *, is_new: bool) -> _core.StoredArray:
        form = layouts.array_form(description, self.identity)
        given = {
            "path": self.variable or "",
            "can_grow": description.unlimited[:1] == (True,),
            "may_get_chunk_places": layouts.may_get_chunk_places(description),
            "is_new": is_new,
        }
        return self.file.shared.make_array(form, layouts.coded_chunks(description), description.fill, given)

    def _first_identity(self, description: Description) -> str:
        return self.path if self.ranks.size == 1 else identity(description, self.path, self.file.number)

    @property
    def description(self) -> Description:
        """Return where its elements are now."""
        times = self.core.times_described
        if times != self._described[0]:
            self._described = times, self.file.as_described(self.core.description())
        return self._described[1]

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

    @property
    def has_absent_chunks(self) -> bool:
        """Return whether a write gives elements room in the file that have none: chunks that are not allocated yet."""
        return layouts.has_absent_chunks(self.description)

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
        return self.core.write(operation, parts, watched, library, self.file.shared if self.has_absent_chunks else None)

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

    def append(self, records: int | None, write: Callable[[Any], None]) -> None:
        """Write the next record, or so many together, behind the last one. Collective.

        Args:
            records: how many; None: one, which has a dimension less than the array.
            write: writes the rows, whose selection it is given. Where it fails, the array has the rows that it had.
        """

        def write_rows(first: list[int]) -> None:
            write(first[0] if records is None else slice(first[0], first[0] + records))

        self.file.append([(self, 1 if records is None else records)], write_rows)

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

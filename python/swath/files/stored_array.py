"""One array of an open file, as it is stored: its layout, and the object of the core that moves its elements.

    stored = file.stored_array(description)     # OpenedFile.stored_array
    stored.core.execute(operation, parts)       # elements, by the core
    stored.append(None, write)                  # a record, by its file

An `Array` uses a `StoredArray`, and does not know the file. A file knows its stored arrays, and no `Array`.
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
"""A function that returns the indices of each part of a rank: a list for each dimension of the array."""


class FileOfArrays(FileWithAttributes, Protocol):
    """The methods of a file that a stored array needs; they are documented in `OpenedFile`."""

    mode: str
    ranks: Ranks
    shared: _core.CollectiveFile
    throttle: Throttle | None
    learning: _core.Learning

    @property
    def core(self) -> _core.File:
        """Return the file of the core, which moves the bytes."""

    @property
    def number(self) -> int:
        """Return the number of the file in the order in which rank 0 opened files."""

    @property
    def asked_engine(self) -> str | None:
        """Return the requested engine; None for the engine that the environment names."""

    def options_to_reopen(self) -> dict[str, Any]:
        """Return the arguments of `swath.open` that open the file in the same way."""

    def path_to_reopen(self, doing: str) -> str:
        """Return the absolute path by which other processes can open the file."""

    def as_described(self, found: Description) -> Description:
        """Return a description of the core as one of Python."""

    def fingerprint(self, array: Description) -> tuple[Any, ...]:
        """Return the fingerprint of the array and of the file's state."""

    def move_by_library(self, array: Description, direction: str, indices: Indices, parts: list[Any]) -> None:
        """Read or write parts of an array with the format's own library."""

    def expect_write(self, array: StoredArray) -> None:
        """Take note that elements of an array are about to be written."""

    def commit(self) -> None:
        """Make all changes permanent."""

    def known_rows(self, variable: str) -> int | None:
        """Return how many rows this handle knows of a variable; None if it cannot grow, or has not grown yet."""

    def append(self, rows: Sequence[tuple[StoredArray, int]], write: Callable[[list[int]], None]) -> None:
        """Append rows to arrays: so many to each. `write` gets the first row of each array. Collective."""

    def sync(self) -> None:
        """Flush written data to the medium. Collective."""

    def close(self, error: BaseException | None = None) -> None:
        """Complete the file, and close it with its arrays. Collective."""


class SharedLoop(Protocol):
    """A loop over an array in which all its ranks take part."""

    def _refuse(self, why: str) -> None:
        """Refuse every further step."""


class StoredArray:
    """One array of an open file. `OpenedFile.stored_array` makes it.

    Attributes:
        file: the file of the array; the array keeps it open.
        closes_file: whether closing the array closes the file.
        ranks: the ranks that have it open together.
        mode: "r" or "r+".
        path: the final name of the file.
        variable: its name in the file, or None.
        identity: names the array, as text that ranks compare.
        core: the object of the core that moves its elements.
        attributes: the attributes, as stored in the file.
        engine: the engine that moves the bytes of the file.
        engine_reason: why the engine differs from the requested one; "" if it does not.
        has_shared_loops: whether there was a loop in which all ranks took part.
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
        self._described = 0, description  # how often the file has described the array, and the last description
        # Ranks compare this text. It is made once, from the description of rank 0: so it is the same on all ranks.
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
        """Return the description of the array as it is now."""
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
        """Return the file of the core that the array is in."""
        return self.file.core

    @property
    def streams(self) -> TargetStatus | None:
        """Return the status of the file's target; None if its streams are not limited."""
        return None if self.file.throttle is None else self.file.throttle.status

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the fingerprint of the array and of its file's state."""
        return self.file.fingerprint(self.description)

    def trace_adaptive(self, means: str) -> None:
        """Note in the trace of the process that Swath adapts the use of the array: by one of `swath.base.adaptive`."""
        _core.trace_adaptive_file(self.identity, means)

    @property
    def has_absent_chunks(self) -> bool:
        """Return whether a write may have to allocate chunks in the file."""
        return layouts.has_absent_chunks(self.description)

    def by_library(self, direction: str, indices: Indices, parts: list[Any]) -> Callable[[], None]:
        """Return a function that moves parts with the format's own library, for arrays that engines cannot reach."""
        return functools.partial(self.file.move_by_library, self.description, direction, indices, parts)

    # ---- writes ------------------------------------------------------------------------------------------------------

    def write(
        self,
        operation: _core.Operation,
        parts: Any,
        library: Callable[[], None] | None = None,
        watched: Any = None,
    ) -> _core.Execution:
        """Write the parts of this rank, and return what was done. Collective if the operation is.

        Args:
            operation: the operation to carry out.
            parts: the memory of each part.
            library: see `by_library`.
            watched: counts the moved bytes, for a progress bar.
        """
        if not self.core.has_plans and not self.core.goes_by_chunks("write"):
            self.file.commit()  # each rank keeps its own changes while the library writes
        return self.core.write(operation, parts, watched, library, self.file.shared if self.has_absent_chunks else None)

    def expect_write(self) -> None:
        """Take note that elements are about to be written. Raise StoreError if another file has taken the name."""
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
        """Append one record, or several at once. Collective.

        Args:
            records: the number of records; None: one, without the first dimension of the array.
            write: writes the rows; its argument is their selection. If it fails, the array keeps its old length.
        """

        def write_rows(first: list[int]) -> None:
            write(first[0] if records is None else slice(first[0], first[0] + records))

        self.file.append([(self, 1 if records is None else records)], write_rows)

    # ---- loops, sync and closing ------------------------------------------------------------------------------------

    @functools.cached_property
    def shared_loops(self) -> weakref.WeakSet[SharedLoop]:
        """Return the loops over the array in which all ranks take part."""
        return weakref.WeakSet()

    def leave_loops(self, why: str) -> None:
        """Refuse further steps of all shared loops, because the array is about to be closed."""
        for loop in list(self.shared_loops):
            loop._refuse(why)

    def sync(self) -> None:
        """Flush written data of all arrays of the file to the medium. Collective."""
        self.file.sync()

    def close(self, error: BaseException | None = None) -> None:
        """Close the array. It also closes the file, collectively, if the file is open for this array alone."""
        if self.closes_file:
            self.file.close(error)
        else:
            self.leave_loops("the array is closed")
            self.core.stop(self.ranks.size == 1)  # the file releases it later: it may still have to fill the array

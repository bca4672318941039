"""An open array: read, write, explain, close. `swath.open` and `swath.create` (opening.py) make it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from swath import _core
from swath.array import explaining, layout_warning, masks, progress
from swath.array.counters import OperationCounts, Totals
from swath.array.described import DescribedArray
from swath.array.iterating import Iterating
from swath.array.last_operation import LastOperation
from swath.array.memory import Part, checked_out, checked_values, new_part
from swath.array.numpy_protocol import NumpyProtocol
from swath.array.places import Places
from swath.array.placing import PlacedParts, Placing
from swath.array.plan import Plan
from swath.array.recording import Recorder
from swath.array.request import Request, checked_tuning, local_indices
from swath.errors import ArgumentError, Error
from swath.files.stored_array import StoredArray
from swath.space import (
    Boxes,
    Distribution,
    Selection,
    is_fixed_selection,
    normalise_selection,
    selected_shape,
    selection_text,
)
from swath.throttle import throttle

OPERATIONS_KEPT = 64
"""The number of operations that an array caches: programs request the same ones at every time step."""

Share = tuple[Distribution | None, Selection, int | None]
"""(distribution, selection, rank): None as the distribution is one rank alone; a rank selects its share."""


class _Latest(NamedTuple):
    """The latest operation of a distribution, and its request.

    If a program passes the same objects at every step, their contents are not compared again. A comparison with cold
    caches, after a sync or a computation, would take several times longer.
    """

    request: Request
    operation: _core.Operation

    def is_asked_again(self, request: Request) -> bool:
        """Return whether these are the same arguments: identical, immutable objects."""
        was = self.request
        return (
            request.distribution is was.distribution
            and request.selection is was.selection
            and request.method == was.method
            and request.rank == was.rank
            and request.tuning is was.tuning is None
        )


class _AsStored:
    """The caches of an array for its operations. They are valid until its storage changes.

    Attributes:
        form: the form of the array for which they are valid.
        operations: makes an operation, or returns a cached one.
        latest: the latest operation of a distribution, by direction.
    """

    def __init__(self, stored: StoredArray) -> None:
        self.form = stored.core.form  # read before the description, which changes first
        # The function is pure. It has no reference to the array: that would be a cycle.
        self.operations = functools.lru_cache(OPERATIONS_KEPT)(functools.partial(_operation, stored.ranks.size))
        self.latest: dict[str, _Latest] = {}
        self._stored = stored
        self._placing: Placing | None = None  # until places are used

    @property
    def placing(self) -> Placing:
        """Return the object that makes operations of places."""
        if self._placing is None:
            self._placing = Placing(self._stored.description, self.form, self._stored.ranks)
        return self._placing


class Array(DescribedArray, LastOperation, NumpyProtocol, Iterating):
    """An array in a file. `swath.open` and `swath.create` make it. Close it, or use it in a `with` block.

    With a communicator, `read`, `write`, `close`, and `explain` of boxes and places are collective: every rank calls
    them, with the same arguments, on the same array, in the same order; else all ranks raise a DisagreementError.
    `a[...]` and `explain` of a distribution are local.

    Any number of threads may read at once, by `a[...]` and, without a communicator, by `read`. A write waits for the
    operations that were called before it, and those that are called after it wait for it. Only one thread at a time may
    make collective calls: a second one is refused. See docs/threads-forks-signals.md, also for forked processes.

    Attributes:
        path: the file.
        variable: its name in the file, or None.
        dtype: as stored, byte order included.
        attributes: as stored in the file.
        engine_reason: why the engine differs from the requested one; "" if it does not.
    """

    def __init__(self, stored: StoredArray) -> None:
        self._stored = stored
        self._core = stored.core
        self._ranks = stored.ranks
        self._done: _core.Execution | None = None  # the last operation
        self._counts: OperationCounts | Totals | None = None  # if not those of `_done`: asynchronous operations, loops
        self._shared: Request | None = None  # the last request that ranks shared
        self._watches_layout = layout_warning.is_wanted()
        self._recorder: Recorder | None = None
        self.mode = stored.mode
        self.path: str = stored.path
        self.variable = stored.variable
        self.dtype: np.dtype[Any] = stored.description.dtype
        self.attributes = stored.attributes
        self.engine: str = stored.engine
        self.engine_reason: str = stored.engine_reason
        self._kept: _AsStored | None = None  # until the first operation

    @property
    def _form(self) -> _core.ArrayForm:
        return self._core.form

    @property
    def _as_stored(self) -> _AsStored:
        """Return the caches for operations on the array as it is stored now."""
        kept = self._kept
        if kept is None or kept.form is not self._core.form:
            kept = self._kept = _AsStored(self._stored)
        return kept

    @property
    def _placing(self) -> Placing:
        return self._as_stored.placing

    @property
    def streams(self) -> throttle.TargetStatus | None:
        """Return the status of the file's target: limits, waits and decisions; None without throttling."""
        return self._stored.streams

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the lengths in elements."""
        return self._core.shape

    def read(
        self,
        distribution: Distribution | Boxes | Places | None = None,
        *,
        selection: Any = ...,
        method: str = "auto",
        out: Any = None,
        rank: int | None = None,
        tuning: Mapping[str, int] | None = None,
    ) -> Any:
        """Read this rank's share. Collective over the communicator that the array was opened with.

        It reads everything that any rank wrote before by this array's `write`. After other changes of the file, call a
        barrier first: a short read does not wait for the other ranks before it begins (decision record 0018).

        Args:
            distribution: a `Distribution` of the (selected) array, or this rank's `Boxes` or `Places` of the whole
                array. Without a communicator it is optional; by default the whole selection is read.
            selection: NumPy basic slicing, as in `np.s_[10:90, ::2]`; integers drop their dimension.
            method: "auto", "direct", "sieve", "list", "datatype" or "two-phase". "two-phase/datatype", "two-phase/list"
                and "two-phase/sieve" also say how windows are moved; see docs/methods.md.
            out: the memory to read into: an ndarray of the share's shape and the array's dtype (in either byte order),
                with any strides; for boxes a list of them. By default new C-ordered arrays.
            rank: without a communicator, the rank whose share is read.
            tuning: sizes in bytes by name, e.g. {"window_bytes": 1 << 22}; see docs/methods.md.

        Returns:
            An ndarray of `distribution.local_shape(selected shape, rank)`; for boxes a list of ndarrays, one a box;
            for places one of the shape that NumPy gives `full[indices]`. Places in coded chunks need additional
            memory: in each chunk with places, for the bounding box of these.

        Raises:
            ArgumentError: before anything is read.
            OutOfMemoryError: before anything is read; the message has the selection and its bytes.
            DisagreementError: the contents of `out` are undefined then.
            StoreError: names rank, path, offset, bytes wanted and read.
        """
        request = Request("read", distribution, selection, method, rank, tuning)
        parts = self._read(request, out)
        return parts if isinstance(distribution, Boxes) else parts[0]

    def write(
        self,
        values: Any,
        distribution: Distribution | Boxes | Places | None = None,
        *,
        selection: Any = ...,
        method: str = "auto",
        rank: int | None = None,
        tuning: Mapping[str, int] | None = None,
    ) -> None:
        """Write this rank's share; every other element and byte of the file stays as it was. Collective as `read` is.

        Args:
            values: an ndarray of the share's shape and the array's dtype, in either byte order, with any strides (such
                as a view without ghost cells); for boxes a list of them. Masked elements are written as the variable's
                `_FillValue`, else its `missing_value`.
            distribution: see `read`. Boxes must not overlap; places may overlap only with `overlap=True`. Places in
                coded chunks cannot be written.
            selection: see `read`.
            method: see `read`.
            rank: see `read`.
            tuning: see `read`.

        Raises:
            ArgumentError, DisagreementError: before anything is written.
            StoreError: names rank, path, offset, bytes wanted and written. Requested elements may be old or new then;
                all other bytes are unchanged.
        """
        self._write(Request("write", distribution, selection, method, rank, tuning), values)

    def explain(
        self,
        distribution: Distribution | Boxes | Places | None = None,
        *,
        selection: Any = ...,
        method: str = "auto",
        write: bool = False,
        rank: int | None = None,
        tuning: Mapping[str, int] | None = None,
        cached: float | None = None,
        analyze: bool = False,
    ) -> Plan:
        """Return the plan of `read` (or `write`) with the same arguments. Local for a distribution, else collective.

        Args:
            distribution: see `read`. Without a communicator it may be for any number of ranks.
            selection: see `read`.
            method: see `read`.
            write: explain a write.
            rank: see `read`.
            tuning: see `read`.
            cached: the fraction of the request that is assumed to be in the page cache, 0 to 1. By default the kernel
                is asked (with a communicator, the value is the one that ranks agreed on last).
            analyze: also carry the operation out, and show measured beside predicted costs. Collective as `read` is.
                A read discards its values; a write writes the values that are in the file.

        Raises:
            ArgumentError: as `read` does.
            StoreError: with `analyze`, as `read` and `write` do.
        """
        request = Request("write" if write else "read", distribution, selection, method, rank, tuning)
        if analyze:
            with self._ranks.in_turn(f"explain {self.path}"):
                return explaining.analyzed(self, request)
        if not isinstance(distribution, (Boxes, Places)):
            return explaining.explained(self, request, cached)
        with self._ranks.in_turn(f"explain {self.path}"):
            return explaining.explained_shares(self, request, cached)

    def __getitem__(self, selection: Any) -> Any:
        """Read the selected elements, as NumPy's basic slicing returns them: a scalar if every dimension is dropped.

        This is local: this rank alone reads.
        """
        part = self._read(Request("read", None, selection), None, alone=True)[0]
        return part[()] if part.ndim == 0 else part

    def __setitem__(self, selection: Any, values: Any) -> None:
        """Write the selected elements; `values` may broadcast, as in NumPy. This is local: this rank alone writes.

        Masked elements are written as `write` does it.
        """
        if self._ranks.size > 1:
            raise ArgumentError(f"{self.path}: a[...] = values is for one process; with a communicator use write()")
        chosen = normalise_selection(selection, self.shape)
        shape = selected_shape(chosen)
        try:
            part = self._unmasked(masks.cast(values, self.dtype))
            if part.shape != shape or not part.flags.c_contiguous:
                full = new_part(shape, self.dtype, lambda: f"write {self.path}{selection_text(chosen)}")
                full[...] = np.broadcast_to(part, shape)
                part = full
        except Error:
            raise
        except (ValueError, TypeError) as error:
            raise ArgumentError(
                f"{self.path}: cannot write these values to a selection of shape {shape}: {error}"
            ) from None
        self.write(part, selection=selection)

    def append(
        self,
        values: Any,
        distribution: Distribution | None = None,
        *,
        records: int | None = None,
        method: str = "auto",
        tuning: Mapping[str, int] | None = None,
    ) -> None:
        """Write the next record of all ranks: the array grows along its first dimension. Collective.

        The record follows the records that the dimension had when the file was opened or last synced, and those that
        were appended to this array since. Elements of them that were never written read as the fill value.

        Readers see a record when every variable that grows along the dimension has it (each variable counts its own
        records), or after `sync` or `close`, which fill the missing records of other variables.

        Args:
            values: this rank's share of the record, which has the array's shape without the first dimension. Without a
                communicator, values may have all dimensions: then they are several records.
            distribution: the distribution of one record, or with `records` of so many records together. It is optional
                without a communicator, and if a record is one element.
            records: how many records are written at once.
            method: see `read`.
            tuning: see `read`.

        Raises:
            ArgumentError: the array cannot grow (it was not created with None as its first length).
            DisagreementError: ranks append to different arrays, or different numbers of records.
            StoreError: as `write` does. The array keeps its old records.
        """
        with self._ranks.in_turn(f"append to {self.path}"):
            if distribution is None and records is None and np.ndim(values) == self.ndim:
                records = len(values)
            if distribution is None and records is None and self.ndim == 1:
                distribution = Distribution((), grid=())  # one element: rank 0 writes it

            def write(rows: Any) -> None:
                self._write(Request("write", distribution, rows, method, None, tuning), values)

            self._stored.append(records, write)

    def sync(self) -> None:
        """Flush written data of all arrays of the file to the medium. Collective.

        One rank of each node syncs the file, after all ranks have finished writing. Later writes are expected to be
        synced, too: the kernel starts to write them to the device at once.
        """
        self._stored.sync()

    def close(self) -> None:
        """Close the array; a created file becomes complete under its name. Collective.

        If the file has several arrays (`swath.open_file`), this closes the array only, which is local.

        Waits for operations of other threads on the array. In a process that was forked from the one that opened it, it
        only releases the file: the parent completes it.

        Raises StoreError if the file cannot be completed. Then the old file, if there was one, is still there.
        """
        self._close(None)

    def __enter__(self) -> Array:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._close(error)
        except Error:
            if error is None:
                raise

    def _record_into(self, recorder: Recorder | None) -> None:
        """Start or stop recording operations. Raise ArgumentError if they are recorded already."""
        if recorder is not None and self._recorder is not None:
            raise ArgumentError(f"recorded: {self.path} is recorded already: one block at a time")
        self._recorder = recorder

    def _close(self, error: BaseException | None) -> None:
        self._stored.close(error)

    def refuse_closed(self, doing: str) -> None:
        """Raise ArgumentError if the array is closed."""
        if self._core.is_closed:
            raise ArgumentError(f"{doing} {self.path}: the array is closed; open the file again")

    # ---- one operation -----------------------------------------------------------------------------------------------

    def _operation(self, request: Request, *, alone: bool = False) -> _core.Operation:
        """Return the requested operation. Raise ArgumentError if the request is invalid."""
        direction, distribution, selection, method, rank, tuning = request
        kept = self._as_stored
        latest = kept.latest.get(direction)
        if latest is not None and latest.is_asked_again(request):
            return latest.operation
        sizes = () if tuning is None else checked_tuning(tuning)
        chosen = normalise_selection(selection, self.shape)
        ranks = self._ranks
        if rank is not None and ranks.size > 1:
            raise ArgumentError(
                f"{direction} {self.path}: rank={rank} is for arrays opened without a communicator; each rank has its "
                "own"
            )
        if not isinstance(method, str):
            raise ArgumentError(
                f'{direction} {self.path}: method: expected the name of one, such as "auto", not {method!r}'
            )
        if distribution is None and ranks.size > 1 and not alone:
            raise ArgumentError(
                f"{direction} {self.path}: with a communicator of {ranks.size} ranks say who gets what: a "
                "swath.Distribution, swath.Boxes or swath.Places (or a[...] for this rank alone)"
            )
        if isinstance(distribution, Places):
            return kept.placing.operation(request, sizes)
        if isinstance(distribution, Boxes):
            return self._operation_of_boxes(request, distribution, sizes)
        if distribution is not None and not isinstance(distribution, Distribution):
            raise ArgumentError(
                f"{direction} {self.path}: expected a swath.Distribution, swath.Boxes or swath.Places, not "
                f"{type(distribution).__name__}"
            )
        if distribution is None and rank is not None:
            raise ArgumentError(
                f"{direction} {self.path}: rank={rank} is whose share of a distribution; give the "
                "swath.Distribution too"
            )
        if distribution is not None and rank is None and ranks.size == 1 and distribution.size > 1:
            raise ArgumentError(
                f"{direction} {self.path}: {distribution!r} is for {distribution.size} ranks, and this process is "
                "alone: say whose share with rank=, or open the array with comm="
            )
        operation = kept.operations(kept.form, direction, (distribution, chosen, rank), method, sizes)
        if distribution is not None and is_fixed_selection(selection):
            kept.latest[direction] = _Latest(request, operation)
        return operation

    def _operation_of_boxes(self, request: Request, boxes: Boxes, sizes: Any) -> _core.Operation:
        where = f"{request.direction} {self.path}"
        if request.selection is not ...:
            raise ArgumentError(f"{where}: boxes are of the whole array; leave out the selection")
        if request.rank is not None:
            raise ArgumentError(f"{where}: boxes are this rank's own; leave out rank={request.rank}")
        own = _core.Decomposition.own_boxes(boxes.boxes, self._ranks.rank, self._ranks.size, self.shape)
        return _core.Operation(self._form, request.direction, own, request.method, sizes)

    def _execute(
        self, request: Request, parts_of: Callable[[_core.Operation], list[Part]], *, alone: bool = False
    ) -> list[Part]:
        """Carry out the request, and return the memory of this rank's parts. Collective, unless `alone`."""
        if alone or self._ranks.size == 1:
            return self._execute_in_turn(request, parts_of, alone=alone)
        comm = self._ranks.comm
        comm.begin_turn(request.direction, self.path)
        try:
            return self._execute_in_turn(request, parts_of)
        finally:
            comm.end_turn()

    def _execute_in_turn(
        self, request: Request, parts_of: Callable[[_core.Operation], list[Part]], *, alone: bool = False
    ) -> list[Part]:
        operation, parts = self._prepared(request, parts_of, alone=alone)
        if isinstance(request.distribution, Places) and request.direction == "write" and self._stored.has_absent_chunks:
            with self._agreed_errors():
                placing = self._placing
                self._stored.write(placing.nothing(request), placing.without_memory())
            operation, parts = self._prepared(request, parts_of)  # the chunks are allocated now
        library = None if self._core.has_plans else self._library_access(request, parts)
        try:
            if progress.shown:
                with progress.watching(f"{request.direction} {self.path}", self._ranks.rank) as watched:
                    self._done = self._move(operation, parts, library, watched)
            else:
                self._done = self._move(operation, parts, library, None)
        except Error as error:
            if not alone:
                self._ranks.have_agreed(error)
            raise
        self._note(request, self._done)
        return parts

    def _move(
        self, operation: _core.Operation, parts: list[Part], library: Callable[[], None] | None, watched: Any
    ) -> _core.Execution:
        if operation.direction == "write":
            return self._stored.write(operation, parts, library, watched)
        return self._core.execute(operation, parts, watched, library)

    def _library_access(self, request: Request, parts: list[Part]) -> Callable[[], None]:
        """Return a function that moves the parts with the format's own library."""
        asked = self._placing.in_boxes(request) if isinstance(request.distribution, Places) else request
        indices = functools.partial(local_indices, self.shape, asked, self._ranks.rank)
        return self._stored.by_library(request.direction, indices, parts)

    def _prepared(
        self, request: Request, parts_of: Callable[[_core.Operation], list[Part]], *, alone: bool = False
    ) -> tuple[_core.Operation, list[Part]]:
        """Return the operation and its memory. An error of any rank with either is raised on all ranks."""
        operation: _core.Operation | None = None
        try:
            operation = self._operation(request, alone=alone)
            return operation, parts_of(operation)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other ranks must hear of it
            self._refuse(operation, error, alone=alone)

    def _note(self, request: Request, done: _core.Execution, counts: OperationCounts | None = None) -> None:
        """Take note of the last operation."""
        self._done, self._counts = done, counts
        if isinstance(request.distribution, (Distribution, Boxes)):
            self._shared = request
        if self._recorder is not None:
            self._recorder.add(request)
        # Short operations are not checked. No layout is advised for places.
        is_watched = self._watches_layout and not isinstance(request.distribution, Places)
        if is_watched and done.counters.total_seconds >= layout_warning.SECONDS_MIN:
            self._watches_layout = not layout_warning.warn_of(self, done)

    def _refuse(self, operation: _core.Operation | None, error: Exception, *, alone: bool = False) -> NoReturn:
        """Raise the error on all ranks. Collective, unless `alone`."""
        if alone or self._ranks.size == 1:
            raise error
        self._stored.refuse(operation, error)

    @contextlib.contextmanager
    def _agreed_errors(self) -> Iterator[None]:
        """Mark errors of the core as agreed: all ranks raise them."""
        try:
            yield
        except Error as error:
            self._ranks.have_agreed(error)
            raise

    def _read(self, request: Request, out: Any, *, alone: bool = False) -> list[Part]:
        """Return this rank's parts, read into `out` or new memory. Collective, unless `alone`."""
        parts = self._execute(request, functools.partial(self._memory_to_read, request, out), alone=alone)
        return self._in_order_of(parts)

    def _in_order_of(self, parts: list[Part]) -> list[Part]:
        """Return the parts read. If `out` has the other byte order, swap its bytes."""
        parts = [parts.finish()] if isinstance(parts, PlacedParts) else parts
        for part in parts:
            if part.dtype != self.dtype:
                part.byteswap(inplace=True)
        return parts

    def _memory_to_read(self, request: Request, out: Any, operation: _core.Operation) -> list[Part]:
        if isinstance(request.distribution, Places):
            return self._placing.to_read(request, out)
        shapes = [tuple(shape) for shape in operation.local_shapes(self._ranks.rank)]
        if out is None:
            # Without dimensions, a rank without a share gets an element, too: it is zero.
            return [new_part(s, self.dtype, lambda: self._in_words(request), zeroed=not s) for s in shapes]
        return checked_out(out, shapes, self.dtype, boxes=isinstance(request.distribution, Boxes))

    def _in_words(self, request: Request) -> str:
        chosen = normalise_selection(request.selection, self.shape)
        return f"{request.direction} {self._stored.description.name}{selection_text(chosen)}"

    def _write(self, request: Request, values: Any) -> None:
        """Write this rank's parts. Collective."""
        self._execute(request, functools.partial(self._memory_to_write, request, values))

    def _memory_to_write(self, request: Request, values: Any, operation: _core.Operation) -> list[Part]:
        if self.mode != "r+":
            raise ArgumentError(f'write {self.path}: opened for reading; open it with mode="r+"')
        self._stored.expect_write()
        values = self._unmasked(values)
        if isinstance(request.distribution, Places):
            return self._placing.to_write(request, values)
        shapes = [tuple(shape) for shape in operation.local_shapes(self._ranks.rank)]
        return checked_values(values, shapes, self.dtype, boxes=isinstance(request.distribution, Boxes))

    def _unmasked(self, values: Any) -> Any:
        """Return values with the fill value in place of masked ones. Raise ArgumentError if there is no fill value."""
        if not isinstance(values, masks.CAN_BE_MASKED):
            return values
        return masks.filled(values, self.dtype, self.attributes, f"write {self._stored.description.name}: values")


def _operation(
    ranks: int, form: _core.ArrayForm, direction: str, share: Share, method: str, sizes: tuple[tuple[str, int], ...]
) -> _core.Operation:
    """Make an operation of a distribution, or of one rank alone, from checked arguments."""
    return _core.Operation(form, direction, _decomposition(ranks, *share), method, sizes)


def _decomposition(
    ranks: int, distribution: Distribution | None, selection: Selection, rank: int | None
) -> _core.Decomposition:
    if distribution is None:
        return _core.Decomposition.alone(selection)
    if rank is None:
        return _core.Decomposition.distributed(distribution._core, selection, ranks)
    distribution.local_shape(selected_shape(selection), rank)  # raises if there is no such rank
    return _core.Decomposition.share_of(distribution._core, selection, rank)

"""An open array: read, write, explain, close. `swath.open` and `swath.create` (opening.py) make it."""

from __future__ import annotations

import functools
import math
import os
import weakref
from collections.abc import Callable, Mapping
from types import NoneType, TracebackType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from swath import _core, coded_access, filling, formats, library_access, profile, throttle, waits
from swath import asked as asked_words
from swath.aside import Aside
from swath.asked import effective_engine
from swath.counters import Counters
from swath.errors import ArgumentError, Error
from swath.formats import ChunkedLayout, CodedLayout, Description, LibraryLayout, StridedLayout
from swath.learning import Learning
from swath.local_memory import Part, checked_out, checked_values, new_part
from swath.operation import Conditions, Operation, checked_tuning
from swath.plan import ChunkPlan, LibraryPlan, Measured, Plan
from swath.planned_access import PLANS_KEPT, PlannedAccess
from swath.prepared import Asked, Done, OwnNote, Prepared
from swath.ranks import Ranks
from swath.space import Boxes, Distribution, Shape, normalise_selection, selected_shape, selection_text
from swath.stream_settings import Streams

T = TypeVar("T")
BESIDE, SHARED, ALONE = _core.Use.BESIDE, _core.Use.SHARED, _core.Use.ALONE
FILLED_LAYOUTS = (StridedLayout, ChunkedLayout)
"""Of which a new file has all bytes from the beginning, and they are zero."""


class FoundOfStore(NamedTuple):
    """What rank 0 has found out about the store, for all ranks: its profile, and who serves its targets' tokens."""

    profile: profile.StoredProfile | None = None
    coordinator: throttle.Coordinator | None = None
    number: int = 0
    """Of the array, among those that rank 0 has opened."""


class Array:
    """An array in a file. Made by `swath.open` and `swath.create`; close it, or use it in a `with` block.

    With a communicator `read`, `write`, `close`, and `explain` of boxes are collective: every rank calls them, with the
    same arguments, on the same array, in the same order; else there is a DisagreementError on all. `a[...]` and
    `explain` of a distribution are local.

    Any number of threads may read at once, by `a[...]` and, without a communicator, by `read`. A write waits for the
    operations that were called before it, and those that are called after it wait for it. Collective calls are of one
    thread at a time: a second one is refused. See docs/threads-forks-signals.md, for forked processes too.

    Attributes:
        path: the file.
        variable: its name in the file, or None.
        shape: in elements.
        dtype: as stored, byte order included.
        attributes: as stored in the file.
        engine_reason: why the engine is another than the one asked for, else empty.
    """

    def __init__(
        self,
        description: Description,
        ranks: Ranks,
        mode: str,
        engine: str | None,
        found: FoundOfStore = FoundOfStore(),  # noqa: B008 - it never changes
        aside: Aside | None = None,
        streams: Streams = "default",
        lock_timeout: float | None = None,
    ) -> None:
        self.mode = mode
        self._ranks = ranks
        self._alone = ranks if ranks.size == 1 else Ranks(_core.solo_comm())
        self._done: Done | None = None  # the last operation
        self._unplanned = "library"  # what carried out an operation without a plan
        self._aside = aside
        self._gate = _core.Gate()
        self._made_in = _core.fork_generation()
        self._never_closed: weakref.finalize[..., Any] | None = None
        # A new file is all zero bytes; another fill value is written when it turns out to be needed.
        # Coded chunks that are not stored are no zero bytes: they read as the fill value.
        self._unfilled = aside is not None and isinstance(description.layout, FILLED_LAYOUTS) and any(description.fill)
        self.path: str = aside.final_path if aside else description.path
        self.variable = description.variable
        self.shape: Shape = description.shape
        self.dtype: np.dtype[Any] = description.dtype
        self.attributes = description.attributes
        # What ranks compare: made once, from what rank 0 found, so that it is the same on all of them.
        self._compared = "" if ranks.size == 1 else asked_words.identity(description, self.path, found.number)
        self._engine: Any
        mover = effective_engine(engine)
        on_first_node = ranks.comm.node_of(ranks.rank) == 0
        self._throttle = throttle.throttle_for(
            description.path, mover, streams, None if on_first_node else found.coordinator
        )
        turns = {} if self._throttle is None else self._throttle.engine_arguments
        waiting = {**turns, "lock_timeout": waits.lock_seconds(lock_timeout)}
        self._engine, self.engine_reason = coded_access.open_engine(description, mode, mover, waiting)
        # The time of a modelled disk tells nothing of the store under it.
        self._learning = Learning(found.profile, frozen=self.engine.startswith("modelled disk"))
        self._planned: PlannedAccess | None = None
        self._set_description(description)
        # Pure: what was asked before has the same answer. It does not hold the array, which would hold itself.
        self._checked = functools.lru_cache(PLANS_KEPT)(
            functools.partial(Operation, self.path, self.shape, ranks.rank, ranks.size, identity=self._compared)
        )

    @property
    def counters(self) -> Counters:
        """What the last operation did on this rank; of several threads' operations, the one that ended last."""
        if self._done is None:
            return Counters()
        plan, counted = self._done
        return Counters.of(self._unplanned if plan is None else plan.method, counted)

    @property
    def streams(self) -> throttle.TargetStatus | None:
        """The target that the file lies on: its limits, who waits, and what was decided; None without throttling."""
        return None if self._throttle is None else self._throttle.status

    @property
    def last_plan(self) -> Plan | None:
        """What the last read or write was carried out by, as planned for the memory and the page cache it met.

        None before the first operation, and after one of coded chunks, or by the format's own library.
        """
        plan = None if self._done is None else self._done.plan
        return None if plan is None else Plan(plan, self._title())

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def fill_value(self) -> Any:
        """What an element reads as that was never stored."""
        return np.frombuffer(self._description.fill, dtype=self.dtype)[0] if self._description.fill else None

    @property
    def format(self) -> str:
        """One of "raw", "npy", "netcdf-classic", "hdf5" and "zarr"."""
        return self._description.format

    @property
    def layout(self) -> str:
        """Where the bytes are, in words: "C order at offset 128"."""
        layout = self._description.layout
        if self._planned is not None:
            return str(self._planned.layout)
        return f"through the library: {layout.reason}" if isinstance(layout, LibraryLayout) else str(layout)

    @property
    def engine(self) -> str:
        """What moves the bytes: "posix", "uring", ..."""
        return str(self._engine.name)

    def read(
        self,
        distribution: Distribution | Boxes | None = None,
        *,
        selection: Any = ...,
        method: str = "auto",
        out: Any = None,
        rank: int | None = None,
        tuning: Mapping[str, int] | None = None,
    ) -> Any:
        """Read this rank's share. Collective over the communicator that the array was opened with.

        What any rank wrote by this array's `write` before is read. Who changed the file otherwise must let the ranks
        meet first: a short read does not wait for them before it begins (decision record 0018).

        Args:
            distribution: a `Distribution` of the (selected) array, or this rank's `Boxes` of the whole array; without
                a communicator it may be left out: the whole selection.
            selection: NumPy basic slicing, as in `np.s_[10:90, ::2]`; integers drop their dimension.
            method: "auto", "direct", "sieve", "list" or "two-phase".
            out: where to put it: an ndarray of the share's shape and the array's dtype (in either byte order), strided
                as it likes; for boxes a list of them. Without it, new C-ordered arrays.
            rank: without a communicator, whose share.
            tuning: sizes in bytes by name, e.g. {"window_bytes": 1 << 22}; see docs/methods.md.

        Returns:
            An ndarray of `distribution.local_shape(selected shape, rank)`; for boxes a list of ndarrays, one a box.

        Raises:
            ArgumentError: before anything is read.
            OutOfMemoryError: before anything is read, with the selection and the bytes that it takes.
            DisagreementError: what `out` then holds is not defined.
            StoreError: naming rank, path, offset, bytes wanted and got.
        """
        parts = self._read(self._ranks, Asked("read", distribution, selection, method, rank, tuning), out).parts
        return parts if isinstance(distribution, Boxes) else parts[0]

    def write(
        self,
        values: Any,
        distribution: Distribution | Boxes | None = None,
        *,
        selection: Any = ...,
        method: str = "auto",
        rank: int | None = None,
        tuning: Mapping[str, int] | None = None,
    ) -> None:
        """Write this rank's share; every other element and byte of the file stays as it was. Collective as `read` is.

        Args:
            values: an ndarray of the share's shape and the array's dtype, in either byte order, strided as it likes
                (views without ghost cells); for boxes a list of them.
            distribution: see `read`. Boxes must not overlap.
            selection: see `read`.
            method: see `read`.
            rank: see `read`.
            tuning: see `read`.

        Raises:
            ArgumentError, DisagreementError: before anything is written.
            StoreError: naming rank, path, offset, bytes wanted and written. Elements of the request may then be old or
                new; all other bytes are as they were.
        """
        self._write(Asked("write", distribution, selection, method, rank, tuning), values)

    def explain(
        self,
        distribution: Distribution | Boxes | None = None,
        *,
        selection: Any = ...,
        method: str = "auto",
        write: bool = False,
        rank: int | None = None,
        tuning: Mapping[str, int] | None = None,
        cached: float | None = None,
        analyze: bool = False,
    ) -> Plan:
        """What `read` (or `write`) of the same arguments would do. Local for a distribution, collective for boxes.

        Args:
            distribution: see `read`. Without a communicator it may be for any number of ranks.
            selection: see `read`.
            method: see `read`.
            write: explain a write.
            rank: see `read`.
            tuning: see `read`.
            cached: the part of it that is taken to be in the page cache, 0 to 1; by default the kernel is asked (with a
                communicator: what the ranks agreed on last).
            analyze: carry it out too, and set what was measured beside what was predicted. Collective as `read` is.
                What is read is thrown away; a write writes the values that are there.

        Raises:
            ArgumentError: as `read` does.
            StoreError: with `analyze`, as `read` and `write` do.
        """
        asked = Asked("write" if write else "read", distribution, selection, method, rank, tuning)
        if analyze:
            with self._ranks.in_turn(f"explain {self.path}"):
                return self._analyze(asked)
        if isinstance(distribution, Boxes):
            return self._in_turn(
                self._ranks, "explain", BESIDE, lambda: self._explain_boxes(asked, distribution, cached)
            )
        return self._in_turn(self._alone, "explain", BESIDE, lambda: self._explain_distribution(asked, cached))

    def _explain_boxes(self, asked: Asked, boxes_of_rank: Boxes, cached: float | None) -> Plan:
        operation, boxes = self._gather_boxes(asked, boxes_of_rank, explain=True, cached=cached)
        self._ranks.run_collectively(f"{operation.asked}: boxes", lambda: operation.set_boxes(boxes))
        return self._explained(operation, cached)

    def _explain_distribution(self, asked: Asked, cached: float | None) -> Plan:
        distribution, rank = asked.distribution, asked.rank
        ranks = self._ranks.size
        if ranks == 1 and rank is None and isinstance(distribution, Distribution):
            # Planning needs no ranks: explain what so many would do.
            ranks = max(distribution.ranks) + 1 if distribution.ranks else distribution.size
        return self._explained(self._operation(asked, ranks), cached)

    def __getitem__(self, selection: Any) -> Any:
        """The selected elements, as NumPy's basic slicing returns them (a scalar where every dimension is dropped).

        Local: this rank alone reads.
        """
        part = self._read(self._alone, Asked("read", None, selection), None).parts[0]
        return part[()] if part.ndim == 0 else part

    def __setitem__(self, selection: Any, values: Any) -> None:
        """Write the selected elements; `values` may broadcast, as in NumPy. Local: this rank alone writes."""
        if self._ranks.size > 1:
            raise ArgumentError(f"{self.path}: a[...] = values is for one process; with a communicator use write()")
        chosen = normalise_selection(selection, self.shape)
        shape = selected_shape(chosen)
        try:
            part = np.asarray(values, dtype=self.dtype)
            if part.shape != shape or not part.flags.c_contiguous:
                full = new_part(shape, self.dtype, lambda: f"write {self.path}{selection_text(chosen)}")
                full[...] = np.broadcast_to(part, shape)
                part = full
        except (ValueError, TypeError) as error:
            raise ArgumentError(
                f"{self.path}: cannot write these values to a selection of shape {shape}: {error}"
            ) from None
        self.write(part, selection=selection)

    def sync(self) -> None:
        """Collective. When it returns, what was written is on the medium.

        One rank of each node syncs the file, after all ranks have finished writing. What is written from then on is
        taken to be synced too, and on its way to the device as soon as it is written.
        """
        self._in_turn(self._ranks, "sync", BESIDE, self._sync)

    def _sync(self) -> None:
        """Collective."""

        def work() -> None:
            if self._ranks.is_first_of_node:
                self._engine.sync()

        # Every write ended with an agreement: nothing that any rank wrote is on its way still.
        self._ranks.run_collectively(f"sync {self._compared}", work)
        if self._planned is not None:
            self._planned.expect_sync()

    def expect_close(self) -> None:
        """Of a created array: from now on, who lets go of it without closing it is told (ResourceWarning)."""
        if self._aside is not None:
            self._never_closed = weakref.finalize(
                self, self._aside.never_closed, os.getpid(), is_first=self._ranks.rank == 0
            )

    def close(self) -> None:
        """Collective. A created file becomes complete under its name; nothing can be read or written afterwards.

        Waits for what other threads do with the array. In a process that was forked from the one that opened it, it
        lets go of the file and does nothing else: what the parent creates is the parent's to complete.

        Raises StoreError where it cannot be completed: the old file, if there was one, is then still there.
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

    def __repr__(self) -> str:
        state = "closed, " if self._gate.is_closed else ""
        return f"<swath.Array {self._title()}: {state}{self.layout}>"

    def _close(self, error: BaseException | None) -> None:
        if self._gate.is_closed:
            return
        if self._made_in != _core.fork_generation():
            self._gate.close(True)
            self._let_go()
            return
        with self._ranks.in_turn(f"close {self.path}"):
            if self._gate.close(self._ranks.size == 1):
                self._close_together(error)

    def _close_together(self, error: BaseException | None) -> None:
        """Collective. Nobody uses the array any more."""
        try:
            if error is not None and self._ranks.all_raise(error):
                raise error  # every rank is leaving with it: nobody waits
            # An error goes before what the other ranks are at: without words.
            self._ranks.agree(f"close {self._compared}" if error is None else "", error)
            if self._aside is not None:
                if self._unfilled:
                    self._fill()
                self._sync()
                self._ranks.on_first(f"close {self._compared}: complete", self._aside.complete)
        except BaseException:
            if self._aside is not None and self._ranks.rank == 0:
                self._aside.remove()
            raise
        finally:
            self._let_go()
            if self._ranks.rank == 0:
                self._learning.keep()
                if self._throttle is not None:
                    self._throttle.keep()

    def _let_go(self) -> None:
        """Of the file."""
        if self._never_closed is not None:
            self._never_closed.detach()
        if self._planned is not None:
            self._planned.close()
        self._engine = None

    def refuse_closed(self, doing: str) -> None:
        """Raise ArgumentError where the array is closed."""
        if self._gate.is_closed:
            raise self._closed_error(doing)

    def _closed_error(self, doing: str) -> ArgumentError:
        return ArgumentError(f"{doing} {self.path}: the array is closed; open the file again")

    def _in_turn(self, ranks: Ranks, doing: str, use: _core.Use, work: Callable[..., T], *arguments: Any) -> T:
        """Collective over `ranks`. `work(*arguments)`, while no other thread does what cannot go along with it.

        Raises ArgumentError where the array is closed, on all ranks, and where another thread's turn it is.
        """
        if ranks.turn is not None:
            ranks.turn.begin(doing, self.path)
        try:
            if not self._gate.enter(use, ranks.size == 1):
                ranks.agree("", self._closed_error(doing))
            try:
                return work(*arguments)
            finally:
                self._gate.leave(use)
        finally:
            if ranks.turn is not None:
                ranks.turn.end()

    @property
    def _identity(self) -> str:
        """Which array it is, for ranks that compare it as an argument of a call (`swath.copy`)."""
        return asked_words.identity(self._description, self.path)

    def _title(self) -> str:
        name = self.path if self.variable is None else f"{self.path}:{self.variable}"
        return f"{self.dtype} {self.shape} in {name}"

    def _set_description(self, description: Description) -> None:
        self._description = description
        layout = description.layout
        self._coded = coded_access.CodedAccess(layout, description) if isinstance(layout, CodedLayout) else None
        if isinstance(layout, (CodedLayout, LibraryLayout)):
            self._planned = None
        elif self._planned is None:
            self._planned = PlannedAccess(
                description, self._ranks, self._engine, self._learning, is_new=self._aside is not None
            )
        else:
            self._planned.describe(description)

    def _operation(self, asked: Asked, ranks: int) -> Operation:
        """The operation, checked; of a distribution the same one again where the same is asked again."""
        direction, distribution, selection, method, rank, tuning = asked
        sizes = checked_tuning(tuning)
        chosen = normalise_selection(selection, self.shape)
        if isinstance(distribution, Boxes) and selection is not ...:
            raise ArgumentError(f"{direction} {self.path}: boxes are of the whole array; leave out the selection")
        if rank is not None and self._ranks.size > 1:
            raise ArgumentError(
                f"{direction} {self.path}: rank={rank} is for arrays opened without a communicator; each rank has its "
                "own"
            )
        can_be_compared = isinstance(distribution, (Distribution, NoneType)) and isinstance(method, str)
        if can_be_compared and rank is None and ranks == self._ranks.size:
            return self._checked(direction, distribution, chosen, method, sizes)
        own = self._ranks.rank
        return Operation(
            self.path, self.shape, own, ranks, direction, distribution, chosen, method, sizes, rank, self._compared
        )

    def _gather_boxes(self, asked: Asked, boxes: Boxes, **more: Any) -> tuple[Operation, list[Any]]:
        """Collective. The operation, which knows of no boxes yet, and the boxes of all ranks; `more` is compared."""
        arguments = {**asked._asdict(), **more}
        words = asked_words.words(asked.direction, self._compared, arguments, own=("direction", "rank"))
        operation = self._ranks.run_collectively(words, lambda: self._operation(asked, self._ranks.size))
        return operation, self._ranks.gather_objects(boxes.boxes)

    def _prepare(self, ranks: Ranks, asked: Asked, memory: Callable[[Operation], list[Part]]) -> Prepared:
        """Collective. The same operation on every rank, with each rank's memory, or the same error on every rank.

        One agreement tells all: what is asked, whether each rank can do it, and what planning must know of the memory
        of all of them and of the page cache. Boxes are gathered before.
        """
        operation: Operation | None = None
        boxes: list[Any] = []
        parts: list[Part] = []
        note = OwnNote()
        error: Exception | None = None
        is_alone = ranks is not self._ranks
        if isinstance(asked.distribution, Boxes):
            operation, boxes = self._gather_boxes(asked, asked.distribution)
        try:
            if operation is None:
                operation = self._operation(asked, ranks.size)
            else:
                operation.set_boxes(boxes)
            parts = memory(operation)
            if self._planned is not None:
                note = self._planned.note(operation, parts, is_alone=is_alone)
        except Exception as raised:  # noqa: BLE001 - whatever it is, the other ranks must hear of it
            error = raised
        if self._planned is not None:
            return self._planned.agree(ranks, asked, operation, parts, note, error)
        ranks.agree(operation.asked if operation is not None and ranks.size > 1 else "", error, note)
        return Prepared(asked, operation, parts, Conditions(), note)

    def _read(self, ranks: Ranks, asked: Asked, out: Any) -> Prepared:
        """Collective. This rank's parts, in `out` or in new memory."""
        return self._in_turn(ranks, "read", SHARED, self._read_now, ranks, asked, out)

    def _read_now(self, ranks: Ranks, asked: Asked, out: Any) -> Prepared:
        prepared = None if self._planned is None else self._planned.carry_out_again(ranks, asked, out)
        if prepared is None:
            prepared = self._prepare(ranks, asked, functools.partial(self._memory_to_read, out))
        if prepared.done is None:
            self._carry_out(ranks, prepared)
        else:
            self._done = prepared.done
        for part in prepared.parts:
            if part.dtype != self.dtype:
                part.byteswap(inplace=True)  # `out` is in the other byte order
        return prepared

    def _memory_to_read(self, out: Any, operation: Operation) -> list[Part]:
        shapes = operation.local_shapes
        if out is None:
            # A rank without a share of an array of no dimensions still gets its shape: zero, not what was there.
            return [new_part(s, self.dtype, lambda: self._in_words(operation), zeroed=not s) for s in shapes]
        return checked_out(out, shapes, self.dtype, boxes=isinstance(operation.distribution, Boxes))

    def _in_words(self, operation: Operation) -> str:
        return f"{operation.direction} {self._description.name}{selection_text(operation.selection)}"

    def _write(self, asked: Asked, values: Any) -> Prepared:
        """Collective."""
        return self._in_turn(self._ranks, "write", ALONE, self._write_now, asked, values)

    def _write_now(self, asked: Asked, values: Any) -> Prepared:
        prepared = None if self._planned is None else self._planned.carry_out_again(self._ranks, asked, values)
        if prepared is None:
            prepared = self._prepare(self._ranks, asked, functools.partial(self._memory_to_write, values))
        if prepared.done is None:
            self._allocate_in_file()
            if self._unfilled and not self._covers_all(prepared):
                self._fill()
            self._carry_out(self._ranks, prepared)
            self._unfilled = False
        else:
            self._done = prepared.done
        return prepared

    def _memory_to_write(self, values: Any, operation: Operation) -> list[Part]:
        if self.mode != "r+":
            raise ArgumentError(f'write {self.path}: opened for reading; open it with mode="r+"')
        boxes = isinstance(operation.distribution, Boxes)
        return checked_values(values, operation.local_shapes, self.dtype, boxes=boxes)

    def _analyze(self, asked: Asked) -> Plan:
        """Collective. Carries the operation out, and sets what was measured beside its plan."""
        self._ranks.agree(f"explain, with analyze, {asked.direction} {self._compared}")
        if asked.direction == "read":
            prepared = self._read(self._ranks, asked, None)
        else:
            there = self.read(asked.distribution, selection=asked.selection, rank=asked.rank)
            prepared = self._write(asked, there)
        plan = self._plan(prepared.operation, prepared.conditions)
        plan.measured = Measured.of(self._ranks.gather_objects(self.counters.to_dict()))
        return plan

    def _explained(self, operation: Operation, cached: float | None) -> Plan:
        conditions = Conditions() if self._planned is None else self._planned.conditions_now(operation, cached)
        return self._plan(operation, conditions)

    def _plan(self, operation: Operation, conditions: Conditions) -> Plan:
        if self._planned is not None:
            return Plan(self._planned.plan(self._ranks, operation, conditions), self._title())
        layout = self._description.layout
        kind = LibraryPlan if self._by_chunks(operation) is None else ChunkPlan
        reason = layout.reason if isinstance(layout, LibraryLayout) else str(layout)
        if kind is LibraryPlan and self._coded is not None:
            reason = f"compressed chunks are written by the library: {reason}"
        return kind(self._title(), operation.direction, operation.decomposition.ranks, reason)

    def _covers_all(self, prepared: Prepared) -> bool:
        """Whether the operation writes every element of the array."""
        if self._planned is None:
            return False
        return self._planned.plan(self._ranks, prepared.operation, prepared.conditions).bytes == self.nbytes

    def _carry_out(self, ranks: Ranks, prepared: Prepared) -> None:
        if self._planned is not None:
            label = f"{prepared.operation.direction} {self.path}"
            self._done = self._planned.carry_out(ranks, prepared, label)
        else:
            self._done = Done(None, self._carry_out_unplanned(ranks, prepared.operation, prepared.parts))

    def _by_chunks(self, operation: Operation) -> coded_access.CodedAccess | None:
        """What moves coded chunks, where the operation goes by it: HDF5's are written by the library."""
        coded = self._coded
        return coded if coded is not None and (operation.direction == "read" or coded.can_write) else None

    def _carry_out_unplanned(self, ranks: Ranks, operation: Operation, parts: list[Part]) -> _core.Counters:
        """Collective. By chunks where they are coded, else, and to write them in HDF5, by the format's own library."""
        coded = self._by_chunks(operation)
        if coded is not None:
            self._unplanned = "chunks"
            return coded.carry_out(operation, parts, ranks, self._ranks.most_on_a_node)
        self._unplanned = "library"
        library_access.execute(operation, parts, self._description, ranks)
        if self._coded is not None:  # chunks of another size are written elsewhere
            there = self._description
            self._set_description(ranks.on_first(f"describe {self._compared}", lambda: formats.describe_again(there)))
        return _core.Counters()

    def _allocate_in_file(self) -> None:
        """Collective. Before writing: storage that the format has not allocated yet, by the format's own library."""
        layout = self._description.layout
        if not isinstance(layout, ChunkedLayout) or (layout.offsets >= 0).all():
            return
        self._set_description(
            self._ranks.on_first(f"allocate {self._compared}", lambda: formats.allocate(self._description))
        )

    def _fill(self) -> None:
        """Collective. Writes the fill value everywhere."""
        work = functools.partial(filling.fill_part, self._engine, self._description, self._ranks.rank, self._ranks.size)
        self._ranks.run_collectively(f"fill {self._compared}", work)
        self._unfilled = False

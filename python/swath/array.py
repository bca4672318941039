"""Arrays in files: open, create, read, write, explain."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import _core, formats, library_access, profile, progress
from swath.aside import Aside
from swath.errors import ArgumentError, Error, StoreError
from swath.formats import ChunkedLayout, Description, LibraryLayout, StridedLayout
from swath.learning import Learning
from swath.local_memory import checked_out, checked_values, memory_tuples
from swath.operation import Conditions, Operation
from swath.plan import Measured, Plan
from swath.ranks import Ranks, ranks_of
from swath.space import Boxes, Distribution, Shape, normalise_selection, selected_shape

Array1 = npt.NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Counters:
    """What one operation really did on this rank, counted where it happened. Sizes in bytes, times in seconds."""

    method: str = ""
    read_requests: int = 0
    write_requests: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    exchanged_bytes: int = 0
    locks: int = 0
    buffer_bytes: int = 0
    transfer_seconds: float = 0.0
    exchange_seconds: float = 0.0
    total_seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return dataclasses.asdict(self)


def open(  # noqa: A001 - the name that scripts use
    path: Any,
    variable: str | None = None,
    *,
    mode: str = "r",
    comm: Any = None,
    shape: int | Sequence[int] | None = None,
    dtype: npt.DTypeLike | None = None,
    order: formats.description.Order | None = None,
    offset: int | None = None,
    format: str | None = None,  # noqa: A002
    engine: str | None = None,
) -> Array:
    """Open an array in an existing file. Collective over `comm`.

    Args:
        path: the file: .npy, netCDF classic, netCDF-4, HDF5, or any file where shape and dtype are given.
        variable: its name in the file; may be left out where only one can be meant.
        mode: "r" to read, "r+" to read and write in place.
        comm: an mpi4py communicator; without one, all work is of this process alone.
        shape: of a raw file, in elements.
        dtype: of a raw file, byte order included.
        order: of a raw file: "C", "F", or the dimensions from slowest to fastest.
        offset: of a raw file: bytes before the first element.
        format: "raw", "npy", "netcdf-classic" or "hdf5", where it should not be recognised from the file.
        engine: what moves the bytes: "auto", "posix", "uring", "null"; by default $SWATH_ENGINE, else "auto".

    Raises:
        NotFoundError, StoreError: the system refuses the file.
        FormatError: the file is truncated, or its header cannot be true.
        ArgumentError: a missing variable (the message lists those there are), or arguments that do not go together.
        UnsupportedError: elements that are not plain bytes.
    """
    ranks = ranks_of(comm)
    asked = f"open {path} variable={variable} mode={mode} shape={shape} dtype={dtype} order={order} offset={offset}"

    def describe() -> Description:
        if mode not in ("r", "r+"):
            raise ArgumentError(f'open {path}: mode {mode!r}; expected "r" or "r+" (swath.create makes new files)')
        return formats.describe(path, variable, shape=shape, dtype=dtype, order=order, offset=offset, format=format)

    description, stored = ranks.on_first(asked, lambda: (describe(), profile.for_path(path)))
    return ranks.together(f"open {path}: engines", lambda: Array(description, ranks, mode, engine, stored))


def create(
    path: Any,
    shape: int | Sequence[int],
    dtype: npt.DTypeLike,
    *,
    order: formats.description.Order = "C",
    fill: Any = None,
    variable: str | None = None,
    dimensions: Sequence[str] | None = None,
    attributes: Mapping[str, Any] | None = None,
    format: str | None = None,  # noqa: A002
    overwrite: bool = False,
    atomic: bool = True,
    comm: Any = None,
    engine: str | None = None,
) -> Array:
    """Create a file with one array. Collective over `comm`; so is closing it, which makes the file complete.

    An atomic file is written aside, synced and renamed when it is closed: after a crash at any point there is either
    the old file or the complete new one. An exception inside the `with` block removes what was written aside.

    Args:
        path: the file. Its suffix says the format (.npy, .nc, .h5, .hdf5, else raw) where `format` does not.
        shape: in elements.
        dtype: as stored; netCDF classic files are big-endian whatever is asked for.
        order: "C", "F" (raw, .npy), or the dimensions from slowest to fastest (raw).
        fill: what elements read as that were never written; by default the format's own fill value, else 0.
        variable: the variable's name in netCDF and HDF5 files.
        dimensions: its dimensions' names in netCDF files.
        attributes: its attributes in netCDF and HDF5 files.
        format: "raw", "npy", "netcdf-classic", "netcdf-classic:cdf1" (or cdf2, cdf5), or "hdf5".
        overwrite: whether an existing file may be replaced.
        atomic: False writes under the final name at once.
        comm: an mpi4py communicator; without one, all work is of this process alone.
        engine: see `open`.

    Raises:
        ExistsError: the file exists and `overwrite` is not given.
        ArgumentError: a shape, dtype or order that the format cannot store.
        StoreError: the system refuses.
    """
    ranks = ranks_of(comm)
    asked = f"create {path} shape={shape} dtype={dtype} order={order} format={format} overwrite={overwrite}"
    aside, stored = ranks.on_first(
        asked, lambda: (Aside.prepare(path, overwrite=overwrite, atomic=atomic), profile.for_path(path))
    )

    def make() -> Description:
        with aside.removed_on_error():
            return formats.create(
                aside.working_path,
                shape,
                dtype,
                format=formats.format_for(path, format),
                order=order,
                fill=fill,
                variable=variable,
                dimensions=dimensions,
                attributes=attributes,
            )

    description = ranks.on_first(f"create {path}: header", make)
    try:
        return ranks.together(f"create {path}: engines", lambda: Array(description, ranks, "r+", engine, stored, aside))
    except BaseException:
        if ranks.rank == 0:
            aside.remove()
        raise


class Array:
    """An array in a file. Made by `swath.open` and `swath.create`; close it, or use it in a `with` block.

    With a communicator `read`, `write`, `close`, and `explain` of boxes are collective: every rank calls them, with the
    same arguments, in the same order. `a[...]` and `explain` of a distribution are local.

    Attributes:
        path: the file.
        variable: its name in the file, or None.
        shape: in elements.
        dtype: as stored, byte order included.
        attributes: as stored in the file.
    """

    def __init__(
        self,
        description: Description,
        ranks: Ranks,
        mode: str,
        engine: str | None,
        stored: profile.StoredProfile | None = None,
        aside: Aside | None = None,
    ) -> None:
        self.mode = mode
        self.counters = Counters()
        self._ranks = ranks
        self._aside = aside
        self._closed = False
        # A new file is all zero bytes; another fill value is written when it turns out to be needed.
        self._unfilled = aside is not None and any(description.fill)
        self._set_description(description)
        self.path: str = aside.final_path if aside else description.path
        self.variable = description.variable
        self.shape: Shape = description.shape
        self.dtype: np.dtype[Any] = description.dtype
        self.attributes = description.attributes
        self._engine: Any
        self._engine, self.engine_reason = _core.open_engine(
            description.path, mode, engine or os.environ.get("SWATH_ENGINE") or "auto"
        )
        self._learning = Learning(stored)
        self._cached = 1.0  # as all ranks know it from the operation before

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
        """One of "raw", "npy", "netcdf-classic" and "hdf5"."""
        return self._description.format

    @property
    def layout(self) -> str:
        """Where the bytes are, in words: "C order at offset 128"."""
        layout = self._description.layout
        return f"through the library: {layout.reason}" if isinstance(layout, LibraryLayout) else str(self._layout)

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
            ArgumentError, DisagreementError: before anything is read.
            StoreError: naming rank, path, offset, bytes wanted and got.
        """
        operation = self._operation("read", distribution, selection, method, rank, tuning)
        parts = self._read_into_memory(operation, out)
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
        operation = self._operation("write", distribution, selection, method, rank, tuning)
        self._write_from_memory(operation, values)

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
        direction = "write" if write else "read"
        if analyze:
            return self._analyze(direction, distribution, selection, method, rank, tuning)
        if isinstance(distribution, Boxes):
            operation = self._operation(direction, distribution, selection, method, rank, tuning)
        else:
            ranks = self._ranks.size
            if ranks == 1 and rank is None and isinstance(distribution, Distribution):
                # Planning needs no ranks: explain what so many would do.
                ranks = max(distribution.ranks) + 1 if distribution.ranks else distribution.size
            operation = Operation(self, direction, distribution, selection, method, rank, tuning, ranks)
        if cached is None:
            # Ranks that ask the kernel at different moments may be told different things, and then plan differently.
            cached = operation.cached_part() if self._ranks.size == 1 else self._cached
        operation.set_conditions(Conditions(cached))
        return operation.plan()

    def __getitem__(self, selection: Any) -> Any:
        """The selected elements, as NumPy's basic slicing returns them (a scalar where every dimension is dropped).

        Local: this rank alone reads.
        """
        alone = Operation(self, "read", None, selection, "auto", None, None, 1)
        part = np.empty(alone.local_shapes()[0], dtype=self.dtype)
        self._carry_out(alone, [part], Ranks(_core.solo_comm()))
        return part[()] if part.ndim == 0 else part

    def __setitem__(self, selection: Any, values: Any) -> None:
        """Write the selected elements; `values` may broadcast, as in NumPy. Local: this rank alone writes."""
        if self._ranks.size > 1:
            raise ArgumentError(f"{self.path}: a[...] = values is for one process; with a communicator use write()")
        shape = selected_shape(normalise_selection(selection, self.shape))
        try:
            part = np.broadcast_to(np.asarray(values, dtype=self.dtype), shape)
        except (ValueError, TypeError) as error:
            raise ArgumentError(
                f"{self.path}: cannot write these values to a selection of shape {shape}: {error}"
            ) from None
        self.write(np.ascontiguousarray(part).reshape(shape), selection=selection)

    def sync(self) -> None:
        """Collective. When it returns, what was written is on the medium.

        One rank of each node syncs the file, after all ranks have finished writing.
        """
        self._ranks.together(f"sync {self.path}", lambda: self._refuse_closed("sync"))
        first_of_node = all(
            self._ranks.comm.node_of(r) != self._ranks.comm.node_of(self._ranks.rank) for r in range(self._ranks.rank)
        )
        self._ranks.together(f"sync {self.path}: done", self._engine.sync if first_of_node else lambda: None)

    def close(self) -> None:
        """Collective. A created file becomes complete under its name; nothing can be read or written afterwards.

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
        state = "closed, " if self._closed else ""
        return f"<swath.Array {self._title()}: {state}{self.layout}>"

    def _close(self, error: BaseException | None) -> None:
        if self._closed:
            return
        try:
            if error is not None and self._ranks.all_raise(error):
                raise error  # every rank is leaving with it: nobody waits
            self._ranks.agree(f"close {self.path}", error)
            if self._aside is not None:
                if self._unfilled:
                    self._fill()
                self.sync()
                self._ranks.on_first(f"close {self.path}: complete", self._aside.complete)
        except BaseException:
            if self._aside is not None and self._ranks.rank == 0:
                self._aside.remove()
            raise
        finally:
            self._closed = True
            self._engine = None
            if self._ranks.rank == 0:
                self._learning.keep()

    def _refuse_closed(self, doing: str) -> None:
        if self._closed:
            raise ArgumentError(f"{doing} {self.path}: the array is closed; open the file again")

    def _title(self) -> str:
        name = self.path if self.variable is None else f"{self.path}:{self.variable}"
        return f"{self.dtype} {self.shape} in {name}"

    def _set_description(self, description: Description) -> None:
        self._description = description
        layout = description.layout
        itemsize = description.dtype.itemsize
        self._layout: Any = None
        if isinstance(layout, StridedLayout):
            self._layout = _core.Layout.strided(description.shape, itemsize, layout.offset, layout.strides)
        elif isinstance(layout, ChunkedLayout):
            offsets = np.ascontiguousarray(layout.offsets, dtype=np.int64).ravel().tolist()
            self._layout = _core.Layout.chunked(description.shape, itemsize, layout.chunk_shape, offsets)

    def _operation(
        self,
        direction: str,
        distribution: Distribution | Boxes | None,
        selection: Any,
        method: str,
        rank: int | None,
        tuning: Mapping[str, int] | None,
    ) -> Operation:
        """Collective. The same operation on every rank, or the same error."""
        shared = "boxes" if isinstance(distribution, Boxes) else repr(distribution)
        asked = f"{direction} {self.path} distribution={shared} selection={selection} method={method} tuning={tuning}"

        def work() -> Operation:
            self._refuse_closed(direction)
            return Operation(self, direction, distribution, selection, method, rank, tuning, self._ranks.size)

        operation = self._ranks.together(asked, work)
        operation.asked = asked
        if isinstance(distribution, Boxes):
            boxes = self._ranks.gather_objects(distribution.boxes)
            self._ranks.together(f"{asked}: boxes", lambda: operation.set_boxes(boxes))
        return operation

    def _read_into_memory(self, operation: Operation, out: Any) -> list[Array1]:
        """Collective. This rank's parts, in `out` or in new memory."""

        def allocate() -> list[Array1]:
            shapes = operation.local_shapes()
            if out is None:
                # A rank without a share of an array of no dimensions still gets its shape: zero, not what was there.
                return [np.empty(s, self.dtype) if s else np.zeros(s, self.dtype) for s in shapes]
            return checked_out(out, shapes, self.dtype, boxes=isinstance(operation.distribution, Boxes))

        parts = self._agree_on_memory(operation, allocate)
        self._carry_out(operation, parts)
        for part in parts:
            if part.dtype != self.dtype:
                part.byteswap(inplace=True)  # `out` is in the other byte order
        return parts

    def _write_from_memory(self, operation: Operation, values: Any) -> None:
        """Collective."""

        def check() -> list[Array1]:
            if self.mode != "r+":
                raise ArgumentError(f'write {self.path}: opened for reading; open it with mode="r+"')
            boxes = isinstance(operation.distribution, Boxes)
            return checked_values(values, operation.local_shapes(), self.dtype, boxes=boxes)

        parts = self._agree_on_memory(operation, check)
        self._allocate_in_file()
        operation.layout_changed()
        if self._unfilled and not operation.covers_all():
            self._fill()
        self._carry_out(operation, parts)
        self._unfilled = False

    def _analyze(
        self,
        direction: str,
        distribution: Distribution | Boxes | None,
        selection: Any,
        method: str,
        rank: int | None,
        tuning: Mapping[str, int] | None,
    ) -> Plan:
        """Collective. Carries the operation out, and sets what was measured beside its plan."""
        operation = self._operation(direction, distribution, selection, method, rank, tuning)
        if direction == "read":
            self._read_into_memory(operation, None)
        else:
            there = self.read(distribution, selection=selection, rank=rank)
            self._write_from_memory(operation, there)
        plan = operation.plan()
        plan.measured = Measured.of(self._ranks.gather_objects(self.counters.to_dict()))
        return plan

    def _agree_on_memory(self, operation: Operation, memory: Callable[[], list[Array1]]) -> list[Array1]:
        """Collective. Each rank's memory, and what planning must know of all of it and of the page cache."""

        def note(parts: list[Array1]) -> tuple[int, int, int]:
            cached = operation.cached_part() if self._ranks.rank == 0 else 0.0
            return operation.memory_block_bytes(parts), round(cached * 1000), self._learning.own_nanoseconds()

        parts, notes = self._ranks.together_with_notes(f"{operation.asked}: memory", memory, note)
        self._learning.told([nanoseconds for _, _, nanoseconds in notes])
        blocks = [block for block, _, _ in notes if block > 0]
        self._cached = notes[0][1] / 1000
        operation.set_conditions(Conditions(self._cached, min(blocks, default=0)))
        return parts

    def _carry_out(self, operation: Operation, parts: list[Array1], ranks: Ranks | None = None) -> None:
        ranks = ranks or self._ranks
        self._refuse_closed(operation.direction)
        if isinstance(self._description.layout, LibraryLayout):
            library_access.carry_out(operation, parts, self._description, ranks)
            self.counters = Counters(method="library")
            return
        plan = operation.core_plan()
        watched = _core.Progress()
        with progress.watching(watched, f"{operation.direction} {self.path}", ranks.rank):
            try:
                counted = _core.run(
                    plan, ranks.comm, self._engine, memory_tuples(parts), self._description.fill, watched
                )
            except Error as error:
                ranks.have_agreed(error)
                raise
        self.counters = Counters(method=plan.method, **counted)
        if ranks is self._ranks:
            self._learning.measured(
                plan, write=operation.direction == "write", cached=operation.cached, seconds=counted["total_seconds"]
            )

    def _allocate_in_file(self) -> None:
        """Collective. Before writing: storage that the format has not allocated yet, by the format's own library."""
        layout = self._description.layout
        if not isinstance(layout, ChunkedLayout) or (layout.offsets >= 0).all():
            return
        self._set_description(
            self._ranks.on_first(f"allocate {self.path}", lambda: formats.allocate(self._description))
        )

    def _fill(self) -> None:
        """Collective. Writes the fill value everywhere; each rank an equal part of the file."""
        layout = self._description.layout
        if not isinstance(layout, StridedLayout):
            raise StoreError(f"{self.path}: cannot write a fill value to a layout of this kind")
        itemsize, rank, size = self.dtype.itemsize, self._ranks.rank, self._ranks.size
        begin = layout.offset + self.size * rank // size * itemsize
        end = layout.offset + self.size * (rank + 1) // size * itemsize
        fill = self._description.fill
        self._ranks.together(f"fill {self.path}", lambda: _core.fill_range(self._engine, begin, end, fill))
        self._unfilled = False

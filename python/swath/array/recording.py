"""Records the operations of a program on open arrays, with their numbers and starts, in little memory.

Operations are those of the core (core/plan/operation.h), and are saved as in a trace. Operations that differ only in
their starts are grouped, with some of the starts.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from swath import _core
from swath.array.places import Places
from swath.array.request import Request
from swath.errors import ArgumentError, Error, FormatError, NotFoundError, StoreError
from swath.ranks.ranks import Ranks
from swath.space import Boxes, Distribution, Shape, normalise_selection

if TYPE_CHECKING:
    from swath.array.open_array import Array

VERSION = 2
"""The version of the file's format, docs/formats/recorded.md."""
KIND = "swath operations"
PLACES_KEPT = 64

Form = tuple[tuple[int, int, bool], ...]
"""(step, count, dropped) for each dimension."""
Start = tuple[int, ...]
OfRank = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""(start, stop) of each box of one rank."""


@dataclass
class Operations:
    """A group of operations that differ only in their starts.

    Attributes:
        direction: "read" or "write".
        form: for each dimension: step, count, and whether it is dropped.
        distribution: the distribution of the selection; None for one process alone.
        rank: the rank whose share one process alone has moved; None for all shares together.
        boxes: the boxes of every rank, as (start, stop), in place of selection and distribution; the only start is ().
        method: the requested method.
        times: the number of operations at all starts together.
        places: some of the starts with their numbers of operations; all starts if they are few.
    """

    direction: str
    form: Form = ()
    distribution: Distribution | None = None
    rank: int | None = None
    boxes: tuple[OfRank, ...] = ()
    method: str = "auto"
    times: int = 0
    places: dict[Start, int] = field(default_factory=dict)
    _every: int = field(default=1, compare=False)
    _seen: int = field(default=0, compare=False)

    def add(self, start: Start, times: int = 1) -> None:
        """Count an operation with this start."""
        self.times += times
        if start in self.places:
            self.places[start] += times
            return
        self._seen += 1
        if self._seen % self._every:
            return
        if len(self.places) >= PLACES_KEPT:  # keep every second start, and every second one of those to come
            self._every *= 2
            self.places = dict(list(self.places.items())[1::2])
        self.places[start] = times

    def take(self, other: Operations) -> None:
        """Add the counts of another rank."""
        for start, times in other.places.items():
            self.add(start, times)
        self.times += other.times - sum(other.places.values())

    @property
    def ranks(self) -> int:
        """Return the number of ranks of the distribution or boxes; 1 for one process alone."""
        if self.distribution is None:
            return max(len(self.boxes), 1)
        return max(self.distribution.ranks) + 1 if self.distribution.ranks else self.distribution.size

    def decomposition(self, start: Start, shape: Shape) -> _core.Decomposition:
        """Return the decomposition of an array of `shape` for the operation with this start."""
        if self.boxes:
            return _core.Decomposition.boxes(self.boxes, shape)
        selection = [(at, *form) for at, form in zip(start, self.form, strict=True)]
        if self.distribution is None:
            return _core.Decomposition.alone(selection)
        if self.rank is None:
            return _core.Decomposition.distributed(self.distribution._core, selection, self.ranks)
        return _core.Decomposition.share_of(self.distribution._core, selection, self.rank)

    def saved(self, form: _core.ArrayForm, shape: Shape) -> Iterator[dict[str, Any]]:
        """Yield the operations as plain data. Operations with starts that were not kept are counted at kept ones."""
        more, rest = divmod(self.times - sum(self.places.values()), len(self.places))
        for number, (start, times) in enumerate(self.places.items()):
            operation = _core.Operation(form, self.direction, self.decomposition(start, shape), self.method)
            plain = {"times": times + more + (number < rest), "access": _text(operation.access)}
            yield {**plain, "shares": [_text(share) for share in operation.shares]} if self.boxes else plain


def _grouped(saved: Sequence[Mapping[str, Any]], form: _core.ArrayForm) -> tuple[Operations, ...]:
    """Return operations from the data of `saved`. Raise an error for anything else."""
    found: dict[Any, Operations] = {}
    for plain in saved:
        access, *shares = (base64.b64decode(one, validate=True) for one in (plain["access"], *plain.get("shares", ())))
        operation = _core.Operation.parse_parts(form.serialise(), access, shares)
        times, divided = int(plain["times"]), operation.decomposition
        if times < 1 or (shares and divided.boxes_of_rank is None):
            raise ValueError(f"an operation that swath.recorded does not keep, {times} times: {operation.words}")
        boxes = tuple(tuple((tuple(low), tuple(high)) for low, high in one) for one in divided.boxes_of_rank or ())
        selection = [] if boxes else divided.selection
        distribution = None if divided.distribution is None else Distribution._of_core(divided.distribution)
        form_of_all = tuple((step, count, dropped) for _, step, count, dropped in selection)
        key = (operation.direction, form_of_all, distribution, divided.only_rank, boxes, operation.method)
        found.setdefault(key, Operations(*key)).add(tuple(start for start, *_ in selection), times)
    return tuple(found.values())


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


@dataclass(frozen=True)
class RecordedArray:
    """The recorded operations on one array.

    Attributes:
        name: the variable's, else the file's without its suffix.
        path: the path of the file.
        shape, dtype: the shape and dtype of the array.
        layout: its layout, in words.
        operations: the operations that were carried out.
    """

    name: str
    path: str
    shape: tuple[int, ...]
    dtype: str
    layout: str
    operations: tuple[Operations, ...]

    def saved(self) -> dict[str, Any]:
        """Return the record as plain data."""
        words = {"name": self.name, "path": self.path, "shape": list(self.shape), "dtype": self.dtype}
        form = _form_of(self.name, self.shape, self.dtype)
        operations = [one for group in self.operations for one in group.saved(form, self.shape)]
        return {**words, "layout": self.layout, "operations": operations}

    @classmethod
    def loaded(cls, plain: Mapping[str, Any]) -> RecordedArray:
        """Return the record from the data of `saved`. Raise an error for anything else."""
        name, path, dtype, layout = (str(plain[key]) for key in ("name", "path", "dtype", "layout"))
        shape = tuple(map(int, plain["shape"]))
        operations = _grouped(plain["operations"], _form_of(name, shape, dtype))
        return cls(name, path, shape, dtype, layout, operations)


def _form_of(name: str, shape: Shape, dtype: str) -> _core.ArrayForm:
    return _core.ArrayForm(name, shape, np.dtype(dtype).itemsize, None)


class Recorded:
    """The operations on open arrays that `swath.recorded` has recorded, for `swath.advise_layout`.

    Attributes:
        arrays: the record of each array; empty before the block of `swath.recorded` has ended.
    """

    def __init__(self, arrays: Sequence[RecordedArray] = ()) -> None:
        self.arrays = tuple(arrays)

    def save(self, path: Any) -> None:
        """Write the record to a JSON file, which gets its name when it is complete. Local."""
        plain = {"kind": KIND, "version": VERSION, "arrays": [array.saved() for array in self.arrays]}
        name = os.fsdecode(path)
        new_name = f"{name}.{os.getpid()}.new"
        with open(new_name, "w", encoding="utf-8") as file:
            json.dump(plain, file, indent=1)
        os.replace(new_name, name)

    @classmethod
    def load(cls, path: Any) -> Recorded:
        """Return the record that `save` has written. Raise NotFoundError or FormatError."""
        name = os.fsdecode(path)
        try:
            with open(name, encoding="utf-8") as file:
                plain = json.load(file)
            if plain["kind"] != KIND or plain["version"] != VERSION:
                raise ValueError(f"kind {plain['kind']!r}, version {plain['version']!r}")
            return cls([RecordedArray.loaded(one) for one in plain["arrays"]])
        except FileNotFoundError:
            raise NotFoundError(f"{name}: no such file of recorded operations", errno.ENOENT) from None
        except (ValueError, KeyError, TypeError, AttributeError, ArgumentError, FormatError) as error:
            raise FormatError(
                f"{name}: expected operations that swath.recorded has written (kind {KIND!r}, version {VERSION}): "
                f"{error}"
            ) from None

    def __repr__(self) -> str:
        each = (f"{one.name}: {sum(of.times for of in one.operations)} operations" for one in self.arrays)
        return f"<swath.Recorded: {', '.join(each) or 'nothing yet'}>"


class Recorder:
    """Counts the operations of one open array, from any threads."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self._lock = threading.Lock()
        self._kept: dict[tuple[Any, ...], Operations] = {}
        self._boxes: list[tuple[str, str, OfRank]] = []  # direction, method; the order is the same on all ranks
        self._times_of_boxes = 0

    def add(self, request: Request) -> None:
        """Count an operation that was carried out."""
        direction, distribution, method = request.direction, request.distribution, request.method
        if isinstance(distribution, Places):
            return  # the advice does not predict times for them
        if isinstance(distribution, Boxes):
            with self._lock:
                self._times_of_boxes += 1
                if len(self._boxes) < PLACES_KEPT:
                    self._boxes.append((direction, method, distribution.boxes))
            return
        chosen = normalise_selection(request.selection, self.array.shape)
        form = tuple((step, count, dropped) for _, step, count, dropped in chosen)
        key = (direction, form, distribution, request.rank, method)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = Operations(direction, form, distribution, request.rank, method=method)
            self._kept[key].add(tuple(start for start, _, _, _ in chosen))

    def of_all_ranks(self) -> RecordedArray:
        """Return the operations of all ranks: collective ones once, and the local ones of each rank. Collective."""
        array = self.array
        ranks = array._ranks
        told = (self._kept, self._boxes, self._times_of_boxes)
        everyone = ranks.gather_objects(told) if ranks.size > 1 else [told]
        merged = dict(everyone[0][0])
        for kept, _, _ in everyone[1:]:
            for key, operations in kept.items():
                if ranks.size > 1 and operations.distribution is not None:
                    continue  # a collective operation of all ranks
                into = merged.setdefault(
                    key, Operations(operations.direction, operations.form, method=operations.method)
                )
                into.take(operations)
        return RecordedArray(
            array.variable or os.path.splitext(os.path.basename(array.path))[0],
            array.path,
            array.shape,
            array.dtype.str,
            array.layout,
            (*merged.values(), *_of_boxes([boxes for _, boxes, _ in everyone], everyone[0][2])),
        )


def _of_boxes(of_ranks: list[list[tuple[str, str, OfRank]]], times: int) -> list[Operations]:
    """Return operations of boxes, each with the boxes of all ranks; equal operations are merged."""
    found: dict[tuple[Any, ...], Operations] = {}
    each = times / max(len(of_ranks[0]), 1)
    for together in zip(*of_ranks, strict=True):
        direction, method, _ = together[0]
        boxes = tuple(boxes for _, _, boxes in together)
        key = (direction, method, boxes)
        found.setdefault(key, Operations(direction, boxes=boxes, method=method)).add(())
    for operations in found.values():
        operations.times = max(round(operations.times * each), 1)
    return list(found.values())


@contextlib.contextmanager
def recorded(*arrays: Array, path: Any = None) -> Iterator[Recorded]:
    """Record the operations of a block on open arrays, for the advice of `swath.advise_layout`. Collective.

    Only operations that were carried out are counted: their direction, selection, distribution, method, number, and
    some of their starts; no data, and no times. Local operations of a rank (`a[...]`) are counted on all ranks. Arrays
    that are not recorded have no cost.

    Args:
        arrays: open arrays; with communicators, the same on all ranks in the same order.
        path: a file of JSON that rank 0 writes at the end of the block; see `Recorded.load`.

    Yields:
        A `Recorded`, which is complete when the block has ended.

    Raises:
        ArgumentError: no arrays, or one that is recorded already.
        StoreError: the file cannot be written; on all ranks.

    Example: `with swath.recorded(a) as done: run(a)`, then `print(swath.advise_layout(done))`.
    """
    for array in arrays:
        if not callable(getattr(array, "_record_into", None)):
            raise ArgumentError(f"recorded: expected open arrays, not {array!r}")
    if not arrays or len({id(array) for array in arrays}) < len(arrays):
        raise ArgumentError("recorded: name the open arrays, each once")
    recorders = [Recorder(array) for array in arrays]
    result = Recorded()
    begun: list[Recorder] = []
    try:
        for recorder in recorders:
            recorder.array._record_into(recorder)
            begun.append(recorder)
        yield result
    except BaseException as error:
        _leave(begun)
        for ranks in _all_ranks(arrays):
            if ranks.size > 1 and not ranks.all_raise(error) and isinstance(error, Exception):
                with contextlib.suppress(Error), ranks.in_turn("swath.recorded"):  # the error of the block is raised
                    ranks.agree("", error)  # the other ranks get the error at the end of the block
        raise
    _leave(begun)
    with contextlib.ExitStack() as turns:
        for ranks in _all_ranks(arrays):
            turns.enter_context(ranks.in_turn("swath.recorded"))
            ranks.agree(f"end of swath.recorded, {len(arrays)} arrays")
        result.arrays = tuple(recorder.of_all_ranks() for recorder in recorders)
        if path is not None:
            name = os.fsdecode(path)
            _all_ranks(arrays)[0].on_first(f"write {name}", lambda: _save(result, name))


def _save(result: Recorded, name: str) -> None:
    try:
        result.save(name)
    except OSError as error:
        raise StoreError(f"write {name}: {error.strerror}", error.errno or 0) from None


def _leave(recorders: list[Recorder]) -> None:
    for recorder in recorders:
        recorder.array._record_into(None)


def _all_ranks(arrays: Sequence[Array]) -> list[Ranks]:
    """Return the ranks of the arrays, once for each communicator."""
    return list({id(array._ranks.comm): array._ranks for array in arrays}.values())

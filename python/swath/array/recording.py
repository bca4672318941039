"""What a program really did with open arrays: operations, how often, and where; kept small.

An operation is what it is in the core (core/plan/operation.h), and is saved as a trace has it. Those that differ in
where they start alone are kept together, with some of their places.
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
"""Of the file's format, docs/formats/recorded.md."""
KIND = "swath operations"
PLACES_KEPT = 64

Form = tuple[tuple[int, int, bool], ...]
"""(step, count, dropped) of every dimension."""
Start = tuple[int, ...]
OfRank = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""(start, stop) of each box of one rank."""


@dataclass
class Operations:
    """Operations that differ in where they start alone.

    Attributes:
        direction: "read" or "write".
        form: step, count, and whether it is dropped, of every dimension.
        distribution: of the selection; None: one process alone.
        rank: whose share one process alone has moved; None: all shares, together.
        boxes: of every rank, (start, stop) each, in place of selection and distribution; their only place is ().
        method: that was asked for.
        times: how often, at all places together.
        places: some of the places, with how often each; all of them where they are few.
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
        """Count an operation that starts there."""
        self.times += times
        if start in self.places:
            self.places[start] += times
            return
        self._seen += 1
        if self._seen % self._every:
            return
        if len(self.places) >= PLACES_KEPT:  # every second of them, and from now on of those to come
            self._every *= 2
            self.places = dict(list(self.places.items())[1::2])
        self.places[start] = times

    def take(self, other: Operations) -> None:
        """Count what another rank has counted, too."""
        for start, times in other.places.items():
            self.add(start, times)
        self.times += other.times - sum(other.places.values())

    @property
    def ranks(self) -> int:
        """How many ranks a distribution or boxes are of; 1 for one process alone."""
        if self.distribution is None:
            return max(len(self.boxes), 1)
        return max(self.distribution.ranks) + 1 if self.distribution.ranks else self.distribution.size

    def decomposition(self, start: Start, shape: Shape) -> _core.Decomposition:
        """Return who gets which elements of an array of `shape`, of the operation at a place."""
        if self.boxes:
            return _core.Decomposition.boxes(self.boxes, shape)
        selection = [(at, *form) for at, form in zip(start, self.form, strict=True)]
        if self.distribution is None:
            return _core.Decomposition.alone(selection)
        if self.rank is None:
            return _core.Decomposition.distributed(self.distribution._core, selection, self.ranks)
        return _core.Decomposition.share_of(self.distribution._core, selection, self.rank)

    def saved(self, form: _core.ArrayForm, shape: Shape) -> Iterator[dict[str, Any]]:
        """Yield the operations as plain data. Those at places that were not kept count at those that were."""
        more, rest = divmod(self.times - sum(self.places.values()), len(self.places))
        for number, (start, times) in enumerate(self.places.items()):
            operation = _core.Operation(form, self.direction, self.decomposition(start, shape), self.method)
            plain = {"times": times + more + (number < rest), "access": _text(operation.access)}
            yield {**plain, "shares": [_text(share) for share in operation.shares]} if self.boxes else plain


def _grouped(saved: Sequence[Mapping[str, Any]], form: _core.ArrayForm) -> tuple[Operations, ...]:
    """Return operations that `saved` has made. Raise an error for anything else."""
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
    """What was done with one array.

    Attributes:
        name: the variable's, else the file's without its suffix.
        path: of the file.
        shape, dtype: of the array.
        layout: that it had, in words.
        operations: that were carried out.
    """

    name: str
    path: str
    shape: tuple[int, ...]
    dtype: str
    layout: str
    operations: tuple[Operations, ...]

    def saved(self) -> dict[str, Any]:
        """Return it as plain data."""
        words = {"name": self.name, "path": self.path, "shape": list(self.shape), "dtype": self.dtype}
        form = _form_of(self.name, self.shape, self.dtype)
        operations = [one for group in self.operations for one in group.saved(form, self.shape)]
        return {**words, "layout": self.layout, "operations": operations}

    @classmethod
    def loaded(cls, plain: Mapping[str, Any]) -> RecordedArray:
        """Return what `saved` has made. Raise an error for anything else."""
        name, path, dtype, layout = (str(plain[key]) for key in ("name", "path", "dtype", "layout"))
        shape = tuple(map(int, plain["shape"]))
        operations = _grouped(plain["operations"], _form_of(name, shape, dtype))
        return cls(name, path, shape, dtype, layout, operations)


def _form_of(name: str, shape: Shape, dtype: str) -> _core.ArrayForm:
    return _core.ArrayForm(name, shape, np.dtype(dtype).itemsize, None)


class Recorded:
    """What was done with open arrays, from `swath.recorded`; given to `swath.advise_layout`.

    Attributes:
        arrays: what was recorded of each; empty before the block of `swath.recorded` has ended.
    """

    def __init__(self, arrays: Sequence[RecordedArray] = ()) -> None:
        self.arrays = tuple(arrays)

    def save(self, path: Any) -> None:
        """Write it to a file of JSON, under its name once it is complete. Local."""
        plain = {"kind": KIND, "version": VERSION, "arrays": [array.saved() for array in self.arrays]}
        name = os.fsdecode(path)
        new_name = f"{name}.{os.getpid()}.new"
        with open(new_name, "w", encoding="utf-8") as file:
            json.dump(plain, file, indent=1)
        os.replace(new_name, name)

    @classmethod
    def load(cls, path: Any) -> Recorded:
        """Return what `save` has written. Raise NotFoundError or FormatError."""
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
    """Counts what one open array carries out, for any threads."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self._lock = threading.Lock()
        self._kept: dict[tuple[Any, ...], Operations] = {}
        self._boxes: list[tuple[str, str, OfRank]] = []  # direction, method; in the order that all ranks have
        self._times_of_boxes = 0

    def add(self, request: Request) -> None:
        """Count an operation that was carried out."""
        direction, distribution, method = request.direction, request.distribution, request.method
        if isinstance(distribution, Places):
            return  # no layout is priced for them
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
        """Return what all ranks did: together what they did together, and what each did alone. Collective."""
        array = self.array
        ranks = array._ranks
        told = (self._kept, self._boxes, self._times_of_boxes)
        everyone = ranks.gather_objects(told) if ranks.size > 1 else [told]
        merged = dict(everyone[0][0])
        for kept, _, _ in everyone[1:]:
            for key, operations in kept.items():
                if ranks.size > 1 and operations.distribution is not None:
                    continue  # all of them did it together
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
    """Return operations of boxes, each with those of all ranks; equal ones once."""
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
    """Record what a block does with open arrays, to ask `swath.advise_layout` which layouts would suit. Collective.

    Only operations that were carried out are counted: their direction, selection, distribution and method, how often,
    and some of the places where they were; no data, and no times. What each rank does alone (`a[...]`) is counted on
    all ranks. An array that is not recorded pays nothing.

    Args:
        arrays: that are open; with communicators, the same on all ranks in the same order.
        path: a file of JSON that rank 0 writes at the end of the block; see `Recorded.load`.

    Yields:
        A `Recorded`, which knows all once the block has ended.

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
                with contextlib.suppress(Error), ranks.in_turn("swath.recorded"):  # what was raised goes on
                    ranks.agree("", error)  # the others hear of it where they leave the block
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
    """Return the ranks of the arrays, each communicator once."""
    return list({id(array._ranks.comm): array._ranks for array in arrays}.values())

"""Redistribution in memory: from one distribution to another, without a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from swath import _core
from swath.array import progress
from swath.array.memory import Part, checked_out, checked_values, new_part
from swath.errors import ArgumentError, Error
from swath.ranks import compared
from swath.ranks.ranks import Ranks, in_turn, ranks_of
from swath.space import Boxes, Distribution, Shape, _integers


@overload
def redistribute(
    values: Any,
    source: Distribution | Boxes,
    target: Distribution,
    shape: Sequence[int],
    *,
    comm: Any = None,
    out: Part | None = None,
) -> Part: ...


@overload
def redistribute(
    values: Any,
    source: Distribution | Boxes,
    target: Boxes,
    shape: Sequence[int],
    *,
    comm: Any = None,
    out: list[Part] | None = None,
) -> list[Part]: ...


@in_turn
def redistribute(
    values: Any,
    source: Distribution | Boxes,
    target: Distribution | Boxes,
    shape: Sequence[int],
    *,
    comm: Any = None,
    out: Any = None,
) -> Any:
    """Move a distributed array from one distribution to another, also between different subsets of ranks. Collective.

    Every rank packs elements for the others, and unpacks those that it gets, a part at a time. The memory does not
    depend on the array's size: two buffers of 1 MiB a rank, and as much for messages from other nodes.

    Source: two-phase-1993, section 4.1, "redistributed at run-time"; table 12 for different numbers of ranks.

    Args:
        values: this rank's share: an ndarray of `source.local_shape(shape, rank)`, with any strides; for boxes a list
            of them, one for each box. Elements in several boxes (ghost cells) should be equal in all of them: the value
            of one box is used.
        source: the present distribution; for `Boxes`, each rank passes its own.
        target: the new distribution, likewise.
        shape: the shape of the whole array.
        comm: an mpi4py communicator with the ranks of both distributions.
        out: an ndarray of `target.local_shape(shape, rank)`, with any strides; for boxes a list of them. By default it
            is new and C-ordered. Elements that are in no box of `source` are not changed; in new arrays they are 0.

    Returns:
        This rank's new share, of the dtype of `values` (which must be the same on every rank); for boxes a list.

    Raises:
        ArgumentError, DisagreementError: on all ranks, before anything is moved.
    """
    words = compared.call_signature("redistribute", compared.InWords(""), locals(), own=("values", "out", "comm"))
    ranks = ranks_of(comm)
    request = _Request(values, source, target, shape, out)
    shares: list[_BoxesOfRank] = []
    if isinstance(source, Boxes) or isinstance(target, Boxes):
        own = ranks.run_collectively(words, lambda: request.boxes_of(ranks.rank))
        shares = ranks.gather_objects(own)
    exchange: _Exchange | None = None
    error: Exception | None = None
    try:
        exchange = _prepare(ranks, request, shares)
    except Exception as raised:  # noqa: BLE001 - whatever it is, the other ranks must hear of it
        error = raised
    ranks.agree("" if exchange is None else f"{words}\ndtype={compared.dtype_words(exchange.dtype)}", error)
    assert exchange is not None
    mine, new = exchange.mine, exchange.new
    if exchange.dtype.itemsize > 0:
        with progress.watching("redistribute", ranks.rank) as watched:
            try:
                _core.redistribute(exchange.dtype.itemsize, *exchange.decompositions, ranks.comm, mine, new, watched)
            except Error as failed:
                ranks.have_agreed(failed)
                raise
    return new if isinstance(target, Boxes) else new[0]


@dataclass(frozen=True)
class _BoxesOfRank:
    """The boxes of a rank, which other ranks do not know. Its dtype is None if it has no values."""

    source: tuple[tuple[Shape, Shape], ...]
    target: tuple[tuple[Shape, Shape], ...]
    dtype: np.dtype[Any] | None


@dataclass(frozen=True)
class _Request:
    """The unchecked arguments of `redistribute`."""

    values: Any
    source: Distribution | Boxes
    target: Distribution | Boxes
    shape: Sequence[int]
    out: Any

    @property
    def extents(self) -> list[int]:
        """Return the shape of the array. Raise ArgumentError if it is invalid."""
        return _integers("shape", self.shape)

    def checked_values(self, rank: int) -> list[Part]:
        """Return this rank's parts of the array before the move. Raises ArgumentError."""
        shapes = _local_shapes(self.source, self.extents, rank)
        boxes = isinstance(self.source, Boxes)
        return checked_values(self.values, shapes, None, boxes=boxes, name="redistribute: values")

    def new_parts(self, rank: int, dtype: np.dtype[Any], mine: list[Part]) -> list[Part]:
        """Return the memory for this rank's new parts: `out`, or new memory. Raises ArgumentError, OutOfMemoryError."""
        shapes = _local_shapes(self.target, self.extents, rank)
        if self.out is None:
            zeroed = isinstance(self.source, Boxes)
            return [new_part(local, dtype, lambda: "redistribute", zeroed=zeroed) for local in shapes]
        boxes = isinstance(self.target, Boxes)
        parts = checked_out(self.out, shapes, dtype, boxes=boxes, name="redistribute: out", swaps=False)
        if any(np.may_share_memory(part, other) for part in parts for other in mine):
            raise ArgumentError("redistribute: out and values share memory")
        return parts

    def boxes_of(self, rank: int) -> _BoxesOfRank:
        """Return the boxes of this rank for the other ranks. Raises ArgumentError."""
        parts = self.checked_values(rank)
        source, target = (d.boxes if isinstance(d, Boxes) else () for d in (self.source, self.target))
        return _BoxesOfRank(source, target, parts[0].dtype if parts else None)


@dataclass(frozen=True)
class _Exchange:
    """The exchange that the core carries out: this rank's old and new parts, and the two decompositions."""

    dtype: np.dtype[Any]
    decompositions: tuple[_core.Decomposition, _core.Decomposition]
    mine: list[Part]
    new: list[Part]


def _prepare(ranks: Ranks, request: _Request, shares: list[_BoxesOfRank]) -> _Exchange:
    """Return the checked exchange of this rank. `shares` has the boxes of all ranks, if there are boxes."""
    for name, d in (("source", request.source), ("target", request.target)):
        if not isinstance(d, (Distribution, Boxes)):
            raise ArgumentError(
                f"redistribute: {name}: expected a swath.Distribution or swath.Boxes, not {type(d).__name__}"
            )
    before = _decomposition(request.source, [s.source for s in shares], request.extents, ranks.size)
    after = _decomposition(request.target, [s.target for s in shares], request.extents, ranks.size)
    mine = request.checked_values(ranks.rank)
    known = [part.dtype for part in mine] + [s.dtype for s in shares if s.dtype is not None]
    dtype = known[0] if known else np.dtype(np.float64)  # no rank has elements
    return _Exchange(dtype, (before, after), mine, request.new_parts(ranks.rank, dtype, mine))


def _decomposition(
    d: Distribution | Boxes, boxes: list[tuple[tuple[Shape, Shape], ...]], extents: list[int], ranks: int
) -> _core.Decomposition:
    if isinstance(d, Boxes):
        return _core.Decomposition.boxes(boxes, extents)
    return _core.Decomposition.distributed(d._core, [(0, 1, n, False) for n in extents], ranks)


def _local_shapes(d: Distribution | Boxes, extents: list[int], rank: int) -> list[Shape]:
    return d.shapes if isinstance(d, Boxes) else [d.local_shape(extents, rank)]

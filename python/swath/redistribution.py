"""Memory to memory: from one distribution to another, without a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from swath import _core, asked, progress
from swath.errors import ArgumentError, Error
from swath.local_memory import checked_out, new_part
from swath.ranks import Ranks, in_turn, ranks_of
from swath.space import Boxes, Distribution, Shape, _integers

Part = npt.NDArray[Any]


@overload
@in_turn
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

    Every rank packs what the others get, and unpacks what they packed for it, a part of all at a time: it takes two
    stages of 1 MiB a rank, and as much for messages from other nodes, whatever the array's size.

    Source: two-phase-1993, section 4.1, "redistributed at run-time"; table 12 for different numbers of ranks.

    Args:
        values: this rank's share: an ndarray of `source.local_shape(shape, rank)`, strided as it likes; for boxes a
            list of them, one a box. Elements that several boxes hold (ghost cells) should be equal in all of them: one
            is taken.
        source: whose elements are whose now; of `Boxes`, each rank gives its own.
        target: whose they shall be.
        shape: of the whole array.
        comm: an mpi4py communicator that holds the ranks of both.
        out: an ndarray of `target.local_shape(shape, rank)`, strided as it likes; for boxes a list of them. Without it
            new C-ordered ones. Elements that no box of `source` holds stay as they are, in new arrays 0.

    Returns:
        This rank's new share, of the dtype of `values` (which must be the same on every rank); for boxes a list.

    Raises:
        ArgumentError, DisagreementError: on all ranks, before anything is moved.
    """
    words = asked.words("redistribute", asked.Told(""), locals(), own=("values", "out", "comm"))
    ranks = ranks_of(comm)
    told: list[_Told] = []
    if isinstance(source, Boxes) or isinstance(target, Boxes):
        own = ranks.together(words, lambda: _Told.of(values, source, target, shape, ranks.rank))
        told = ranks.gather_objects(own)
    prepared: _Prepared | None = None
    error: Exception | None = None
    try:
        prepared = _prepare(ranks, told, values, source, target, shape, out)
    except Exception as raised:  # noqa: BLE001 - whatever it is, the other ranks must hear of it
        error = raised
    ranks.agree("" if prepared is None else f"{words}\ndtype={asked.dtype_words(prepared.dtype)}", error)
    assert prepared is not None
    itemsize, decompositions, mine, new = prepared.dtype.itemsize, prepared.decompositions, prepared.mine, prepared.new
    if itemsize > 0:
        with progress.watching("redistribute", ranks.rank) as watched:
            try:
                _core.redistribute(itemsize, *decompositions, ranks.comm, mine, new, watched)
            except Error as failed:
                ranks.have_agreed(failed)
                raise
    return new if isinstance(target, Boxes) else new[0]


@dataclass(frozen=True)
class _Told:
    """What the others cannot know of a rank that has boxes."""

    source: tuple[tuple[Shape, Shape], ...]
    target: tuple[tuple[Shape, Shape], ...]
    dtype: np.dtype[Any] | None
    """None of a rank without values."""

    @staticmethod
    def of(
        values: Any, source: Distribution | Boxes, target: Distribution | Boxes, shape: Sequence[int], rank: int
    ) -> _Told:
        parts = _checked_values(values, source, _integers("shape", shape), rank)
        corners = [d.boxes if isinstance(d, Boxes) else () for d in (source, target)]
        return _Told(corners[0], corners[1], parts[0].dtype if parts else None)


@dataclass(frozen=True)
class _Prepared:
    dtype: np.dtype[Any]
    decompositions: tuple[_core.Decomposition, _core.Decomposition]
    mine: list[Part]
    new: list[Part]


def _prepare(
    ranks: Ranks,
    told: list[_Told],
    values: Any,
    source: Distribution | Boxes,
    target: Distribution | Boxes,
    shape: Sequence[int],
    out: Any,
) -> _Prepared:
    """What this rank needs, checked. `told`: by all ranks, where there are boxes."""
    for name, d in (("source", source), ("target", target)):
        if not isinstance(d, (Distribution, Boxes)):
            raise ArgumentError(
                f"redistribute: {name}: expected a swath.Distribution or swath.Boxes, not {type(d).__name__}"
            )
    extents = _integers("shape", shape)
    before = _decomposition(source, [t.source for t in told], extents, ranks.size)
    after = _decomposition(target, [t.target for t in told], extents, ranks.size)
    mine = _checked_values(values, source, extents, ranks.rank)
    known = [part.dtype for part in mine] + [t.dtype for t in told if t.dtype is not None]
    dtype = known[0] if known else np.dtype(np.float64)  # nobody has anything
    shapes = _local_shapes(target, extents, ranks.rank)
    if out is None:
        new = [new_part(local, dtype, lambda: "redistribute", zeroed=isinstance(source, Boxes)) for local in shapes]
    else:
        new = _checked_out(out, shapes, dtype, mine, boxes=isinstance(target, Boxes))
    return _Prepared(dtype, (before, after), mine, new)


def _decomposition(
    d: Distribution | Boxes, boxes: list[tuple[tuple[Shape, Shape], ...]], extents: list[int], ranks: int
) -> _core.Decomposition:
    if isinstance(d, Boxes):
        return _core.Decomposition.boxes(boxes, extents)
    return _core.Decomposition.distributed(d._core, [(0, 1, n, False) for n in extents], ranks)


def _local_shapes(d: Distribution | Boxes, extents: list[int], rank: int) -> list[Shape]:
    return d.shapes if isinstance(d, Boxes) else [d.local_shape(extents, rank)]


def _checked_values(values: Any, source: Distribution | Boxes, extents: list[int], rank: int) -> list[Part]:
    """This rank's parts, of one dtype."""
    shapes = _local_shapes(source, extents, rank)
    boxes = isinstance(source, Boxes)
    given = values if boxes else [values]
    if not isinstance(given, (list, tuple)) or len(given) != len(shapes):
        raise ArgumentError(f"redistribute: values: expected a list of {len(shapes)} ndarrays, one a box")
    parts = [part if isinstance(part, np.ndarray) else np.asarray(part) for part in given]
    for number, (part, expected) in enumerate(zip(parts, shapes, strict=True)):
        where = f"redistribute: values[{number}]" if boxes else "redistribute: values"
        if part.shape != expected:
            raise ArgumentError(f"{where} of shape {part.shape}, but this rank's share has shape {expected}")
        if part.dtype.hasobject:
            raise ArgumentError(f"{where}: dtype {part.dtype} holds Python objects; expected plain numbers")
        if part.dtype != parts[0].dtype:
            raise ArgumentError(f"{where}: dtype {part.dtype}, but the first are {parts[0].dtype}")
    return parts


def _checked_out(out: Any, shapes: list[Shape], dtype: np.dtype[Any], mine: list[Part], *, boxes: bool) -> list[Part]:
    for given in out if boxes and isinstance(out, (list, tuple)) else [out]:
        if isinstance(given, np.ndarray) and given.dtype != dtype:
            raise ArgumentError(f"redistribute: out: dtype {given.dtype}, but values are {dtype}")
    parts = checked_out(out, shapes, dtype, boxes=boxes)
    if any(np.may_share_memory(part, other) for part in parts for other in mine):
        raise ArgumentError("redistribute: out and values share memory")
    return parts

"""Memory to memory: from one distribution to another, without a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import _core, progress
from swath.errors import ArgumentError, Error
from swath.local_memory import checked_out, memory_tuples
from swath.ranks import ranks_of
from swath.space import Distribution, _integers


def redistribute(
    values: Any,
    source: Distribution,
    target: Distribution,
    shape: Sequence[int],
    *,
    comm: Any = None,
    out: npt.NDArray[Any] | None = None,
) -> npt.NDArray[Any]:
    """Move a distributed array from one distribution to another, also between different subsets of ranks. Collective.

    Source: two-phase-1993, section 4.1, "redistributed at run-time"; table 12 for different numbers of ranks.

    Args:
        values: this rank's share: an ndarray of `source.local_shape(shape, rank)`, strided as it likes.
        source: whose elements are whose now.
        target: whose they shall be.
        shape: of the whole array.
        comm: an mpi4py communicator that holds the ranks of both.
        out: an ndarray of `target.local_shape(shape, rank)`, strided as it likes; without it a new C-ordered one.

    Returns:
        This rank's new share, of the dtype of `values` (which must be the same on every rank).

    Raises:
        ArgumentError, DisagreementError: on all ranks, before anything is moved.
    """
    ranks = ranks_of(comm)

    def work() -> tuple[Any, ...]:
        for name, d in (("source", source), ("target", target)):
            if not isinstance(d, Distribution):
                raise ArgumentError(f"redistribute: {name}: expected a swath.Distribution, not {type(d).__name__}")
        extents = _integers("shape", shape)
        everything = [(0, 1, n, False) for n in extents]
        before = _core.Sharing.distributed(source._core, everything, ranks.size)
        after = _core.Sharing.distributed(target._core, everything, ranks.size)
        mine = values if isinstance(values, np.ndarray) else np.asarray(values)
        expected = source.local_shape(extents, ranks.rank)
        if mine.shape != expected:
            raise ArgumentError(
                f"redistribute: values of shape {mine.shape}, but this rank's share has shape {expected}"
            )
        if mine.dtype.hasobject:
            raise ArgumentError(f"redistribute: dtype {mine.dtype} holds Python objects; expected plain numbers")
        new_shape = target.local_shape(extents, ranks.rank)
        if out is None:
            result = np.empty(new_shape, dtype=mine.dtype)
        else:
            result = checked_out(out, [new_shape], mine.dtype, boxes=False)[0]
            if result.dtype != mine.dtype:
                raise ArgumentError(f"redistribute: out: dtype {result.dtype}, but values are {mine.dtype}")
            if np.may_share_memory(result, mine):
                raise ArgumentError("redistribute: out and values share memory")
        return extents, before, after, mine, result

    asked = f"redistribute {source!r} to {target!r} shape={tuple(shape)}"
    extents, before, after, mine, result = ranks.together(asked, work)
    ranks.agree(f"redistribute: dtype {mine.dtype}")
    if mine.dtype.itemsize == 0:
        return result  # type: ignore[no-any-return]
    watched = _core.Progress()
    with progress.watching(watched, "redistribute", ranks.rank):
        try:
            _core.redistribute(
                extents,
                mine.dtype.itemsize,
                before,
                after,
                ranks.comm,
                memory_tuples([mine]),
                memory_tuples([result]),
                watched,
            )
        except Error as error:
            ranks.have_agreed(error)
            raise
    return result  # type: ignore[no-any-return]

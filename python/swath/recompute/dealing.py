"""Distributes batches over ranks, and computes the offset of each batch in the file. Pure."""

from __future__ import annotations

import dataclasses
import heapq
import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError

ALIGNMENT = 64
"""A batch begins at a multiple of this many bytes: a cache line, and more than any element needs."""
FILE_BYTES_MAX = 1 << 62


@dataclasses.dataclass(frozen=True)
class Batches:
    """All batches of all ranks.

    Attributes:
        shapes: of each, in elements.
        dtype: of all.
        nbytes: of each.
        offsets: of each in the file, with holes for batches that are not kept; one more for the end.
    """

    shapes: list[tuple[int, ...]]
    dtype: np.dtype[Any]
    nbytes: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]

    @staticmethod
    def of(sizes: Any, dtype: Any) -> Batches:
        """Return the batches of these sizes. Raises ArgumentError for invalid sizes, and for objects."""
        try:
            kind = np.dtype(dtype)
        except TypeError as error:
            raise ArgumentError(f"dtype {dtype!r}: {error}; expected a dtype of plain numbers, as float64") from None
        if kind.hasobject or kind.itemsize == 0:
            raise ArgumentError(f"dtype {kind}: expected elements of plain bytes, as float64")
        shapes = [_shape(batch, size) for batch, size in enumerate(_listed(sizes))]
        lengths = [math.prod(shape) * kind.itemsize for shape in shapes]
        if sum(lengths) + ALIGNMENT * len(lengths) > FILE_BYTES_MAX:
            raise ArgumentError(f"sizes: all batches together take {sum(lengths):,} bytes; no file is as long")
        nbytes = np.array(lengths, np.int64)
        places = -(-nbytes // ALIGNMENT) * ALIGNMENT
        return Batches(shapes, kind, nbytes, np.concatenate((np.zeros(1, np.int64), np.cumsum(places))))

    @property
    def file_bytes(self) -> int:
        """The size of a file with all batches."""
        return int(self.offsets[-1])


def deal(nbytes: npt.NDArray[np.int64], ranks: int) -> list[npt.NDArray[np.int64]]:
    """Return the batches of each rank, ascending: the largest first, each to the rank with the fewest bytes.

    No rank has more than 4/3 of the least possible (Graham, Bounds on multiprocessing timing anomalies, 1969).
    """
    dealt: list[list[int]] = [[] for _ in range(ranks)]
    loads = [(0, 0, rank) for rank in range(ranks)]
    for batch in np.argsort(-nbytes, kind="stable"):
        load, count, rank = heapq.heappop(loads)
        dealt[rank].append(int(batch))
        heapq.heappush(loads, (load + int(nbytes[batch]), count + 1, rank))
    return [np.array(sorted(mine), np.int64) for mine in dealt]


def _listed(sizes: Any) -> list[Any]:
    if isinstance(sizes, (str, bytes)) or not isinstance(sizes, Iterable):
        raise ArgumentError(f"sizes: expected a list of numbers of elements, or of shapes, not {sizes!r}")
    return list(sizes)


def _shape(batch: int, size: Any) -> tuple[int, ...]:
    try:
        shape = tuple(map(operator.index, size)) if isinstance(size, Iterable) else (operator.index(size),)
    except TypeError:
        shape = (-1,)
    if any(length < 0 for length in shape):
        raise ArgumentError(f"sizes[{batch}] is {size!r}: expected a number of elements, or a shape")
    return shape

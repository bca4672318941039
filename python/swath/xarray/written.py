"""Computes and writes the data of variables, block by block within a budget of memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from swath.array import progress
from swath.array.open_array import Array
from swath.errors import ArgumentError
from swath.formats import ChunkedLayout, CodedLayout, LibraryLayout, TiledLayout
from swath.formats.description import Shards, is_beyond
from swath.xarray.blocks import Block, Blocked, batches, refuse_recoding


class Written(NamedTuple):
    """Data for an array.

    Attributes:
        array: of the file.
        data: a NumPy or dask array.
        first: the row of the array for the first row of the data.
    """

    array: Array
    data: Any
    first: int = 0

    def blocked(self) -> Blocked:
        """Return it as an array that can be cut into blocks."""
        layout = self.array._description.layout
        is_coded = isinstance(layout, CodedLayout) and (bool(layout.codecs) or isinstance(layout.places, Shards))
        return Blocked(
            self.data.shape,
            self.array.dtype.itemsize,
            getattr(self.data, "chunks", None),
            whole_chunk(self.array),
            self.first,
            is_coded=is_coded or isinstance(layout, LibraryLayout),
        )

    def place_of(self, block: Block) -> Block:
        """Return the position of a block of the data in the array."""
        if not block:
            return block
        return (slice(block[0].start + self.first, block[0].stop + self.first), *block[1:])


class _Progress:
    """The state for a progress bar."""

    def __init__(self, bytes_total: int) -> None:
        self.bytes_done = 0
        self.bytes_total = bytes_total


def write_blocks(written: Sequence[Written], budget: int) -> None:
    """Compute and write the data of all arrays together, with at most `budget` bytes of results at a time.

    Raises ArgumentError for a budget so small that chunks of a file would be coded too often.
    """
    blocked = [one.blocked() for one in written]
    for one, cut in zip(written, blocked, strict=True):
        refuse_recoding(f"{one.array.path}: {one.array.variable}", cut, budget)
    if not written:
        return
    done = _Progress(sum(math.prod(cut.shape) * cut.itemsize for cut in blocked))
    with progress.watching(f"write {written[0].array.path}", 0, done):
        for batch in batches(blocked, budget):
            parts = [written[place.array].data[place.block] for place in batch]
            for place, values in zip(batch, _computed(parts), strict=True):
                one = written[place.array]
                one.array.write(values_for(one.array, values), selection=one.place_of(place.block))
                done.bytes_done += place.nbytes


def values_for(array: Array, values: Any) -> npt.NDArray[Any]:
    """Return values in the dtype of the array. Raise ArgumentError for numbers and text that it cannot hold."""
    given = np.asarray(values)
    with np.errstate(over="ignore"):
        stored = given.astype(array.dtype, copy=False)
    if np.can_cast(given.dtype, array.dtype):
        return stored
    if (array.dtype.kind in "iuSU" and not (stored == given).all()) or is_beyond(stored, given):
        raise ArgumentError(f"{array.path}: {array.variable} is {array.dtype}, and not all of these {given.dtype} are")
    return stored


def _computed(parts: list[Any]) -> list[Any]:
    """Return the values of NumPy and dask arrays; those of dask are computed together."""
    if all(isinstance(part, (np.ndarray, np.generic)) for part in parts):
        return parts
    import dask

    return list(dask.compute(*parts))


def whole_chunk(array: Array) -> tuple[int, ...] | None:
    """Return the shape of the unit of storage: a shard, or a chunk."""
    layout = array._description.layout
    if isinstance(layout, CodedLayout) and isinstance(layout.places, Shards):
        return layout.places.shape
    if isinstance(layout, (CodedLayout, ChunkedLayout, TiledLayout, LibraryLayout)):
        return layout.chunk_shape
    return None

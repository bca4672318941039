"""Chunks, shards and codecs of a copy: the caller's, or those of the source if the format has them. Pure."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from swath import formats
from swath.copying.by_name import NamedLayout
from swath.copying.request import chunks_of
from swath.copying.target_dimensions import TargetDimensions
from swath.copying.texts import TYPICAL_BYTES
from swath.errors import ArgumentError, UnsupportedError
from swath.formats import CodedLayout, Description, Layout, LibraryLayout, NewArray
from swath.formats.contents import Variable
from swath.formats.default_chunks import default_chunks
from swath.formats.description import ChunkTable, Shards

GROWING_CHUNK_BYTES_MAX = 4 << 20
CODED_BYTES_MIN = 1 << 16
"""An array without chunks gets chunks for codecs only if it is at least this large: a smaller one gains nothing."""
HDF5_OWN = {"zlib", "gzip", "shuffle", "fletcher32"}
"""Codecs that every reader of HDF5 has, and Zarr, too."""
NETCDF4_BRINGS = {"zstd", "blosc"}
"""Codecs that readers of netCDF-4 also have."""


@dataclasses.dataclass(frozen=True)
class Into:
    """The target of all variables: its format and dimensions, and the caller's options."""

    path: str
    kind: str
    dimensions: TargetDimensions
    layout: NamedLayout
    codecs: Any


def order_of(source: Description, kind: str, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the order of elements in a chunk: a format whose chunks are files allows any order.

    It is the source's order, if its dimensions are not transposed.
    """
    ordered = tuple(range(len(source.shape)))
    if not formats.is_folder(kind) or not isinstance(source.layout, CodedLayout) or axes != ordered:
        return ordered
    order = source.layout.order
    return order if kind != "zarr:v2" or order == ordered[::-1] else ordered


@dataclasses.dataclass(frozen=True)
class Before:
    """Chunks and shards of a source, in the dimensions of the target; None for none."""

    chunks: tuple[int, ...] | None
    shards: tuple[int, ...] | None

    @staticmethod
    def of(source: Description, variable: Variable, axes: tuple[int, ...], kind: str) -> Before:
        """Return those of a variable, if the format has them."""
        stated = None if variable.chunks is None else tuple(variable.chunks[a] for a in axes)
        return Before(chunks_of(source, axes) or stated, shards_of(source, axes, kind))


def shards_of(source: Description, axes: Sequence[int], kind: str) -> tuple[int, ...] | None:
    """Return the shards of a source in the dimensions of the target; None if it, or the format, has none."""
    layout = source.layout
    if not isinstance(layout, CodedLayout) or not isinstance(layout.places, Shards) or not formats.has_shards(kind):
        return None
    return tuple(layout.places.shape[a] for a in axes)


def chunked(new: NewArray, source: Description, before: Before, into: Into) -> NewArray:
    """Return the array with chunks, shards and codecs: the caller's, or those of the source that the format has."""
    kind = into.kind
    if not formats.has_chunks(kind):
        return new
    names = new.dimensions or ()
    chunks = before.chunks
    if chunks is not None or not variable_of_its_dimension(new):
        chunks = into.layout.chunks(names, new.shape, chunks)
    if not formats.is_folder(kind):
        return _chunked_hdf5(new, chunks, source.layout, into)
    codecs = codecs_for(kind, source.layout, source.dtype.itemsize) if into.codecs is None else into.codecs
    formats.check_codecs(kind, codecs, new.dtype.itemsize)
    growing = tuple(0 if i < len(new.unlimited) and new.unlimited[i] else n for i, n in enumerate(new.shape))
    chunks, _ = formats.new_chunks(kind, growing, new.dtype, chunks)
    shards = into.layout.shards(names, new.shape, before.shards, chunks)
    chunk, shard = formats.new_chunks(kind, growing, new.dtype, chunks, shards)
    return dataclasses.replace(new, chunks=chunk, shards=shard, codecs=codecs)


def variable_of_its_dimension(new: NewArray) -> bool:
    """Return whether a variable is the coordinate variable of its only dimension."""
    return new.dimensions == ((new.variable or "").rpartition("/")[2],)


def _chunked_hdf5(new: NewArray, chunks: tuple[int, ...] | None, layout: Layout, into: Into) -> NewArray:
    """Return an array of HDF5 or netCDF-4; it has chunks if the source has chunks, if it grows, or if it has codecs."""
    kind, asked = into.kind, into.codecs
    grows = new.unlimited or (False,) * len(new.shape)
    if not new.shape:
        return new
    if chunks is not None:
        lengths = zip(chunks, new.maxshape or new.shape, grows, strict=True)
        chunks = tuple(c if may_grow or n is None else min(c, max(n, 1)) for c, n, may_grow in lengths)
    elif any(grows):
        first = tuple(0 if may_grow else n for n, may_grow in zip(new.shape, grows, strict=True))
        chunks = default_chunks(first, new.dtype.itemsize, GROWING_CHUNK_BYTES_MAX)
    elif asked and new.nbytes >= CODED_BYTES_MIN:
        chunks, _ = formats.new_chunks("hdf5", new.shape, new.dtype, None, None, asked)
    if chunks is None:
        return dataclasses.replace(new, maxshape=())  # only an array with chunks can grow
    codecs = filters_for(kind, layout, new.dtype.itemsize) if asked is None else asked
    return dataclasses.replace(new, chunks=chunks, codecs=codecs or None)


def filters_for(kind: str, layout: Layout, itemsize: int) -> Any:
    """Return codecs for HDF5: the source's; deflate, which every reader has, replaces codecs that readers may lack."""
    if not isinstance(layout, (CodedLayout, LibraryLayout)) or layout.codecs == ():
        return None
    names = {codec.name for codec in layout.codecs or ()}
    known = HDF5_OWN
    if not isinstance(layout, CodedLayout) or isinstance(layout.places, ChunkTable):
        # A reader of the source has its filters.
        known = HDF5_OWN | NETCDF4_BRINGS if kind == "netcdf4" else names
    found = codecs_for(kind, layout, itemsize) if names <= known else None
    return found or (["shuffle", "zlib"] if itemsize > 1 else ["zlib"])


def codecs_for(kind: str, layout: Layout, itemsize: int) -> Any:
    """Return the source's codecs for `swath.create`, if the format has all of them; None for the default."""
    if not isinstance(layout, (CodedLayout, LibraryLayout)) or layout.codecs is None:
        return None
    if isinstance(layout, LibraryLayout) and not layout.codecs:
        return None
    codecs = formats.asked_codecs(layout.codecs, kind, math.prod(layout.chunk_shape or ()) * itemsize)
    try:
        formats.check_codecs(kind, codecs, itemsize)
    except (ArgumentError, UnsupportedError):
        return None
    return codecs


def chunks_of_text(
    new: NewArray, unlimited: tuple[bool, ...], chunks: tuple[int, ...] | None, kind: str
) -> tuple[int, ...] | None:
    """Return the chunks of text of variable length: `chunks`, those of the source, if there are any."""
    if not new.shape or kind.partition(":")[0] == "netcdf-classic":
        return None
    if chunks is not None and 0 not in chunks:
        return chunks
    if formats.is_folder(kind) or any(unlimited):
        grows = unlimited or (False,) * len(new.shape)
        first = tuple(0 if may_grow else n for n, may_grow in zip(new.shape, grows, strict=True))
        return default_chunks(first, TYPICAL_BYTES, GROWING_CHUNK_BYTES_MAX)
    return None

"""Converts the layout of an array, as a format describes it, into the types of the core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from swath import _core
from swath.errors import FormatError
from swath.formats.description import (
    ChunkedLayout,
    ChunkFiles,
    ChunkTable,
    Codec,
    CodedLayout,
    Description,
    LibraryLayout,
    StridedLayout,
    TiledLayout,
)


def array_form(description: Description, identity: str) -> _core.ArrayForm:
    """Return the form of the array, which operations need; `identity` names the array, equally on all ranks.

    Raises FormatError if its layout is invalid.
    """
    return _core.ArrayForm(identity, description.shape, description.dtype.itemsize, plain_layout(description))


def coded_chunks(description: Description) -> _core.CodedArray | None:
    """Return the coded chunks of the array; None if it has none. Raise FormatError if they are invalid."""
    return _coded_array(description.layout, description) if isinstance(description.layout, CodedLayout) else None


def has_absent_chunks(description: Description) -> bool:
    """Return whether some chunks (of an array without codecs) are not allocated in the file yet."""
    layout = description.layout
    return isinstance(layout, ChunkedLayout) and bool(description.stored_shape or (layout.offsets < 0).any())


def may_get_chunk_places(description: Description) -> bool:
    """Return whether a write of coded chunks may allocate places in the file of the array."""
    layout = description.layout
    in_one_file = isinstance(layout, CodedLayout) and isinstance(layout.places, ChunkTable)
    # The chunks may be coded once the array is extended to its shape.
    return in_one_file or (description.format == "hdf5" and bool(description.stored_shape))


def text(description: Description, chunks: _core.CodedArray | None = None) -> str:
    """Return the layout as text for people: "C order at offset 128". `chunks` are the coded chunks as they are now."""
    layout = plain_layout(description)
    if layout is not None:
        return str(layout)
    stored = description.layout
    if isinstance(stored, CodedLayout) and chunks is not None:
        return stored.text(chunks.stored_chunks)
    return f"through the library: {stored.reason}" if isinstance(stored, LibraryLayout) else str(stored)


def plain_layout(description: Description) -> _core.Layout | None:
    """Return the layout; None if no plan can move the bytes: coded chunks, and arrays that only a library can read."""
    try:
        return _checked_layout(description)
    except FormatError as error:
        raise FormatError(f"{description.name}: {error}") from None


def _checked_layout(description: Description) -> _core.Layout | None:
    layout, shape, itemsize = description.layout, description.shape, description.dtype.itemsize
    if isinstance(layout, StridedLayout):
        return _core.Layout.strided(shape, itemsize, layout.offset, layout.strides)
    if isinstance(layout, TiledLayout):
        return _core.Layout.tiled(shape, itemsize, layout.chunk_shape, layout.offset)
    if isinstance(layout, ChunkedLayout):
        offsets = np.ascontiguousarray(layout.offsets, dtype=np.int64).ravel().tolist()
        return _core.Layout.chunked(shape, itemsize, layout.chunk_shape, offsets)
    return None


def codec_tuples(codecs: Sequence[Codec]) -> list[tuple[str, dict[str, int | str]]]:
    """Return codecs as the core takes them."""
    return [(codec.name, dict(codec.settings)) for codec in codecs]


def _coded_array(layout: CodedLayout, description: Description) -> _core.CodedArray:
    common = (
        layout.path,
        description.shape,
        description.dtype.itemsize,
        layout.chunk_shape,
        layout.order,
        codec_tuples(layout.codecs),
        description.fill,
    )
    places = layout.places
    if isinstance(places, ChunkTable):
        flat = [np.ascontiguousarray(a).ravel().tolist() for a in (places.offsets, places.nbytes, places.skipped)]
        return _core.CodedArray.table(*common, *flat)
    if isinstance(places, ChunkFiles):
        return _core.CodedArray.files(*common, places.first, places.separator, places.scalar)
    files = places.files
    return _core.CodedArray.shards(
        *common,
        files.first,
        files.separator,
        files.scalar,
        places.shape,
        codec_tuples(places.index_codecs),
        places.index_at_end,
    )

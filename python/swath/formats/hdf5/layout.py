"""The elements of an HDF5 dataset: their dtype, where each is, and what is read where nothing is stored."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from swath.errors import FormatError, UnsupportedError
from swath.formats import hdf5_filters
from swath.formats.description import (
    OFFSET_LIMIT,
    ChunkedLayout,
    ChunkTable,
    CodedLayout,
    Layout,
    LibraryLayout,
    StridedLayout,
    refuse_objects,
    stored_strides,
    without_metadata,
)
from swath.formats.hdf5.access import library, names_in, stored_dtype

VIRTUAL = "virtual dataset: its elements are those of other datasets"
EXTERNAL = "external storage: its elements lie in other files"
"""Why the library must be asked, where it opens other files, by their places beside this one."""
TEXT = "text of variable length, which HDF5 keeps apart from its place"
CHUNKS_MAX = 1 << 25
"""Of a dataset, to keep a table of them, which takes 4 GiB then: a shape alone must not take memory without bound."""


def unlimited_of(maxshape: tuple[int | None, ...]) -> tuple[bool, ...]:
    """Return for each dimension whether it may grow; () for none of them."""
    found = tuple(length is None for length in maxshape)
    return found if any(found) else ()


def dtype_of(name: str, dataset: Any) -> np.dtype[Any]:
    """Return the NumPy dtype of the stored elements, without h5py's metadata; UnsupportedError where there is none.

    Text of variable length is of dtype object. `name`: of the dataset, an identifier, in messages.
    """
    if dataset.shape is None:
        raise UnsupportedError(f"{name}: the dataset has no elements at all (a null dataspace)")
    try:
        dtype: np.dtype[Any] = stored_dtype(dataset.get_type())
    except (TypeError, ValueError) as error:
        raise UnsupportedError(f"{name}: its elements have a type that NumPy has not ({error})") from None
    if library().check_string_dtype(dtype) is not None and dtype.hasobject:
        return np.dtype(object)
    refuse_objects(dtype, name)
    return without_metadata(dtype)


def end_of(dataset: Any, layout: Layout, dtype: np.dtype[Any]) -> int:
    """Return how long the file must be."""
    if isinstance(layout, StridedLayout):
        return int(layout.offset + dataset.nbytes)
    if isinstance(layout, ChunkedLayout) and layout.offsets.size and layout.offsets.max() >= 0:
        return int(layout.offsets.max()) + math.prod(layout.chunk_shape) * dtype.itemsize
    if isinstance(layout, CodedLayout) and isinstance(layout.places, ChunkTable) and layout.places.offsets.size:
        return max(int((layout.places.offsets + layout.places.nbytes).max()), 0)
    return 0


def layout_of(path: str, dataset: Any, dtype: np.dtype[Any]) -> Layout:
    """Return which byte holds which element; `path`: of the file, which h5py does not know of a file object."""
    plist = dataset.id.get_create_plist()
    reason = library_reason(dataset, plist)
    if reason is not None:
        return LibraryLayout(reason, dataset.chunks)
    codecs = hdf5_filters.codecs_of(plist)
    if codecs:  # also of one without elements, whose rows are coded when it grows
        return CodedLayout(path, dataset.chunks, tuple(range(dataset.ndim)), codecs, chunk_table(dataset))
    if 0 in dataset.shape:
        return StridedLayout(0, _strides(path, dataset, dtype))
    if dataset.chunks is not None:
        return ChunkedLayout(dataset.chunks, chunk_table(dataset).offsets)
    offset = dataset.id.get_offset()
    if offset is None:  # not allocated yet: one chunk that is nowhere
        return ChunkedLayout(dataset.shape, np.full((1,) * dataset.ndim, -1, np.int64))
    return StridedLayout(int(offset), _strides(path, dataset, dtype))


def _strides(path: str, dataset: Any, dtype: np.dtype[Any]) -> tuple[int, ...]:
    return stored_strides(names_in(path, dataset), dataset.shape, dtype.itemsize, range(dataset.ndim))


def grid(dataset: Any) -> list[int]:
    """Return how many chunks there are along each dimension."""
    return [-(-n // c) for n, c in zip(dataset.shape, dataset.chunks, strict=True)]


def library_reason(dataset: Any, plist: Any) -> str | None:
    """Return why the bytes of the dataset cannot be moved by offset; None where they can."""
    h5py = library()
    kind = plist.get_layout()
    if kind == h5py.h5d.VIRTUAL:
        return VIRTUAL
    if kind == h5py.h5d.COMPACT:
        return "compact dataset: its elements lie inside the metadata"
    if plist.get_external_count():
        return EXTERNAL
    if dataset.dtype.hasobject:
        return TEXT
    if dataset.chunks is not None and math.prod(grid(dataset)) > CHUNKS_MAX:
        return f"it has {math.prod(grid(dataset)):,} chunks: too many for a table of them"
    if plist.get_nfilters() and not hdf5_filters.codecs_of(plist):
        codes = [plist.get_filter(i) for i in range(plist.get_nfilters())]
        names = ["gzip" if code == h5py.h5z.FILTER_DEFLATE else name.decode() for code, _, _, name in codes]
        verb = "compressed" if any(code != h5py.h5z.FILTER_FLETCHER32 for code, *_ in codes) else "filtered"
        return f"chunks are {verb} ({', '.join(names)})"
    try:
        same = h5py.h5t.py_create(dataset.dtype, logical=True) == dataset.id.get_type()
    except TypeError:
        same = False
    if not same:
        return "elements are stored in a way that NumPy has no dtype for; HDF5 converts them"
    if dataset.chunks is not None and dataset.file.userblock_size and h5py.version.hdf5_version_tuple < (1, 14, 5):
        # https://github.com/HDFGroup/hdf5/issues/3003
        return "this version of HDF5 misreports where chunks are in a file with a user block"
    if dataset.chunks is not None and _turns_chunks_round(dataset):
        return "HDF5 misreports where chunks are that grow along another dimension than the first"
    return None


def _turns_chunks_round(dataset: Any) -> bool:
    """Return whether HDF5 may tell of a chunk's place in the order of its own index: the dimension that grows first.

    Its extensible arrays, which only new headers have, are the index where one dimension grows. As of HDF5 2.0.
    """
    grows = [n is None for n in dataset.maxshape]
    has_new_header = library().h5o.get_info(dataset.id).hdr.version > 1
    return sum(grows) == 1 and not grows[0] and has_new_header


def chunk_table(dataset: Any) -> ChunkTable:
    """Return where each chunk of the grid is, in the grid's shape."""
    edges, chunks = grid(dataset), dataset.chunks
    table = ChunkTable(np.full(edges, -1, np.int64), np.zeros(edges, np.int64), np.zeros(edges, np.uint32))
    found: list[Any] = []
    dataset.id.chunk_iter(found.append)
    if not found:
        return table
    elements = np.array([chunk.chunk_offset for chunk in found], np.uint64)
    offsets = np.array([chunk.byte_offset for chunk in found], np.uint64)
    sizes = np.array([chunk.size for chunk in found], np.uint64)
    places = elements // np.array(chunks, np.uint64)
    wrong = (places >= np.array(edges, np.uint64)).any(axis=1) | (offsets >= OFFSET_LIMIT) | (sizes >= OFFSET_LIMIT)
    if wrong.any():
        chunk = found[int(wrong.argmax())]
        called = names_in(dataset.file.filename, dataset)
        raise FormatError(
            f"{called}: the file places a chunk of element {chunk.chunk_offset} at byte {chunk.byte_offset}, "
            f"but the array has shape {dataset.shape} and chunks of {chunks}"
        )
    at = tuple(places.astype(np.int64).T)
    table.offsets[at] = offsets
    table.nbytes[at] = sizes
    table.skipped[at] = np.array([chunk.filter_mask for chunk in found], np.uint32)
    return table


def fill_of(dataset: Any, dtype: np.dtype[Any]) -> bytes:
    """Return what HDF5 reads where nothing is stored: the fill value, or zeros where it is told never to fill."""
    h5py = library()
    if dtype.hasobject:
        return bytes(dtype.itemsize)
    plist = dataset.id.get_create_plist()
    defined = plist.fill_value_defined() != h5py.h5d.FILL_VALUE_UNDEFINED
    if plist.get_fill_time() == h5py.h5d.FILL_TIME_NEVER or not defined:
        return bytes(dtype.itemsize)
    return np.array(dataset.fillvalue, dtype).tobytes()

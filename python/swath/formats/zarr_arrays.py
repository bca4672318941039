"""Arrays of a Zarr store, versions 3 and 2: from their metadata where and how their chunks are, and back.

Every field is understood by this module, not by zarr-python: Swath must find chunks on its own, reading needs no
package then, and takes no import of half a second. What Swath has not (text of variable length, rare codecs) is left to
the library: see `zarr_library`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from swath.errors import ArgumentError, FormatError, UnsupportedError
from swath.formats import zarr_codecs, zarr_library
from swath.formats.default_chunks import default_chunks, half
from swath.formats.description import ChunkFiles, CodedLayout, Description, LibraryLayout, NewArray, Shards
from swath.formats.json_fields import Field
from swath.formats.zarr_attributes import FILL, attributes_to_json, element, fill_attribute, typed_attributes
from swath.formats.zarr_elements import dtype_of_v2, dtype_of_v3, dtype_to_v2, dtype_to_v3, fill_of, fill_to_json
from swath.formats.zarr_nodes import DIMENSIONS_OF_V2, Node

CHUNK_BYTES = 4 << 20
"""Of a chunk where `create` is not told: decoded in a core's cache, and long enough for a device."""

_SEPARATORS = (".", "/")
_SHARED_CHUNK_BYTES_MIN = 1 << 10
"""Of a chunk of a shard where `create` is not told: less, and the index of the shard is no small part of it."""


def describe(node: Node, variable: str | None, unlimited: frozenset[str] = frozenset()) -> Description:
    """Return where the elements of an array are; `unlimited`: names of dimensions that may grow.

    Raises FormatError for metadata that cannot be true, UnsupportedError for what neither Swath nor zarr-python reads.
    """
    shape, dimensions = node.shape(), node.dimensions()
    layout: CodedLayout | LibraryLayout
    try:
        dtype, layout = stored(node)
    except UnsupportedError as error:
        dtype, layout = zarr_library.stored(node, error)
    growing = tuple(name in unlimited for name in dimensions)
    return Description(
        node.path,
        "zarr",
        variable,
        shape,
        dtype,
        layout,
        bytes(dtype.itemsize) if dtype.hasobject else fill_of(node.metadata.of("fill_value"), dtype),
        typed_attributes(node, dtype),
        dimensions=dimensions,
        unlimited=growing if any(growing) else (),
    )


def stored(node: Node) -> tuple[np.dtype[Any], CodedLayout]:
    """Return the dtype and the chunks of an array.

    Raises FormatError for metadata that cannot be true, UnsupportedError where Swath has not what it takes.
    """
    shape = node.shape()
    dtype, layout = (_v3 if node.version == 3 else _v2)(node.metadata, node.folder, shape)
    if len(layout.chunk_shape) != len(shape):
        raise FormatError(f"{node.folder}: chunks of {layout.chunk_shape} for an array of shape {shape}")
    fill_of(node.metadata.of("fill_value"), dtype)  # which raises where it is none
    return dtype, layout


def _v2(array: Field, folder: str, shape: tuple[int, ...]) -> tuple[np.dtype[Any], CodedLayout]:
    dtype = dtype_of_v2(array.of("dtype"))
    order = array.of("order").text(("C", "F"), default="C")
    codecs = zarr_codecs.codecs_of_v2(array.of("filters"), array.of("compressor"), dtype.itemsize)
    separator = array.of("dimension_separator").text(_SEPARATORS, default=".")
    dimensions = tuple(range(len(shape)))
    return dtype, CodedLayout(
        folder,
        array.of("chunks").lengths(least=1),
        dimensions if order == "C" else dimensions[::-1],
        codecs,
        ChunkFiles("", separator, "0"),
    )


def _v3(array: Field, folder: str, shape: tuple[int, ...]) -> tuple[np.dtype[Any], CodedLayout]:
    _refuse_extensions(array)
    dtype = dtype_of_v3(array.of("data_type"))
    grid, settings = array.of("chunk_grid").named()
    if grid != "regular":
        raise UnsupportedError(f"{array.file}: chunk_grid {grid!r}; Swath reads regular ones")
    chunks = settings.of("chunk_shape").lengths(least=1)
    files = _chunk_files(array.of("chunk_key_encoding"))
    chain = zarr_codecs.chain_of_v3(array.of("codecs"), len(shape), dtype.itemsize)
    places: ChunkFiles | Shards = files
    if chain.sharding is not None:
        shard_shape, chunks = chunks, chain.sharding.of("chunk_shape").lengths(least=1)
        if len(chunks) != len(shard_shape) or any(s % c for s, c in zip(shard_shape, chunks, strict=True)):
            raise FormatError(f"{array.file}: shards of {shard_shape} are not whole chunks of {chunks}")
        places = _shards(files, shard_shape, chain.sharding)
        chain = zarr_codecs.chain_of_v3(chain.sharding.of("codecs"), len(shape), dtype.itemsize)
        if chain.sharding is not None:
            raise UnsupportedError(f"{array.file}: shards within shards; Swath reads one level")
    stored = dtype.newbyteorder("<" if chain.endian == "<" else ">")  # of every field of a structure
    return stored, CodedLayout(folder, chunks, chain.order, chain.codecs, places)


def _refuse_extensions(array: Field) -> None:
    """Version 3: what a reader does not know it must not ignore, unless that is allowed."""
    known = {
        *("zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value"),
        *("codecs", "attributes", "dimension_names", "storage_transformers", "consolidated_metadata"),
    }
    unknown = [
        key
        for key, value in array.members().items()
        if key not in known and not (isinstance(value, dict) and value.get("must_understand") is False)
    ]
    if any(array.of("storage_transformers").items()):
        unknown.append("storage_transformers")
    if unknown:
        raise UnsupportedError(f"{array.file}: the metadata have what Swath does not know: {', '.join(unknown)}")


def _chunk_files(encoding: Field) -> ChunkFiles:
    name, settings = encoding.named()
    separator = settings.of("separator")
    if name == "default":
        between = separator.text(_SEPARATORS, default="/")
        return ChunkFiles(f"c{between}", between, "c")
    if name == "v2":
        return ChunkFiles("", separator.text(_SEPARATORS, default="."), "0")
    raise UnsupportedError(f"{encoding.file}: chunk_key_encoding {name!r}; Swath reads default and v2")


def _shards(files: ChunkFiles, shape: tuple[int, ...], settings: Field) -> Shards:
    location = settings.of("index_location").text(("start", "end"), default="end")
    codecs = settings.of("index_codecs")
    index = zarr_codecs.chain_of_v3(codecs, len(shape) + 1, 8)
    if index.endian != "<" or index.order != tuple(range(len(shape) + 1)) or index.sharding is not None:
        raise UnsupportedError(f"{codecs.file}: {codecs.key} {codecs.value!r}; Swath reads little-endian ones")
    if any(codec.name not in ("crc32c", "fletcher32") for codec in index.codecs):
        raise UnsupportedError(f"{codecs.file}: a compressed index of shards has no known length")
    return Shards(files, shape, index.codecs, location == "end")


def new_metadata(new: NewArray, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the metadata of a new array, and its attributes apart. ArgumentError for what the version cannot store."""
    own = dict(new.attributes)
    marked = None if new.fill is None or not new.marks_fill else new.fill[()]
    missing = element(own.pop(FILL), new.dtype) if FILL in own else marked
    attributes = attributes_to_json(own)
    if version == 2:
        names = {} if new.dimensions is None else {DIMENSIONS_OF_V2: list(new.dimensions)}
        return _new_v2(new, missing), {**attributes, **names}
    filled = missing if new.fill is None else new.fill[()]
    said = {} if missing is None else fill_attribute(missing, new.dtype)
    return _new_v3(new, _fill_to_json(filled, new.dtype)), {**attributes, **said}


def _fill_to_json(fill: Any, dtype: np.dtype[Any]) -> Any:
    return fill_to_json(bytes(dtype.itemsize) if fill is None else np.array(fill, dtype).tobytes(), dtype)


def _new_v3(new: NewArray, fill: Any) -> dict[str, Any]:
    chunks, shards = chunks_and_shards(_first_shape(new), new.dtype, new.chunks, new.shards)
    inner: list[dict[str, Any]] = []
    if new.order != tuple(range(len(new.shape))):
        inner.append({"name": "transpose", "configuration": {"order": list(new.order)}})
    endian = {} if new.dtype.str[0] == "|" else {"endian": "big" if new.dtype.str[0] == ">" else "little"}
    inner.append({"name": "bytes", "configuration": endian} if endian else {"name": "bytes"})
    inner += [zarr_codecs.codec_to_v3(c) for c in zarr_codecs.asked_codecs(new.codecs, new.dtype.itemsize)]
    codecs = inner
    if shards is not None:
        index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
        settings = {"chunk_shape": list(chunks), "codecs": inner, "index_codecs": index, "index_location": "end"}
        codecs = [{"name": "sharding_indexed", "configuration": settings}]
    metadata = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(new.shape),
        "data_type": dtype_to_v3(new.dtype),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shards or chunks)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": codecs,
    }
    if new.dimensions is not None:
        metadata["dimension_names"] = list(new.dimensions)
    return metadata


def _new_v2(new: NewArray, missing: Any) -> dict[str, Any]:
    """Return `.zarray`; its `fill_value` is null where no value means that data are missing.

    xarray takes any other for _FillValue: zeros would be missing.
    """
    chunks, shards = chunks_and_shards(_first_shape(new), new.dtype, new.chunks, new.shards)
    if shards is not None:
        raise ArgumentError("Zarr version 2 has no shards; leave out shards=, or create version 3")
    c_order = tuple(range(len(new.shape)))
    if new.order not in (c_order, c_order[::-1]):
        raise ArgumentError(f"Zarr version 2 stores chunks in C or F order, not {new.order}; create version 3")
    fill = None if missing is None else _fill_to_json(missing, new.dtype)
    if new.fill is not None and fill != fill_to_json(new.fill.tobytes(), new.dtype):
        raise ArgumentError(
            f"Zarr version 2 has one fill value: fill= is {new.fill[()]}, {FILL} among the attributes is {missing}"
        )
    codecs = [zarr_codecs.codec_to_v2(c) for c in zarr_codecs.asked_codecs(new.codecs, new.dtype.itemsize)]
    return {
        "zarr_format": 2,
        "shape": list(new.shape),
        "chunks": list(chunks),
        "dtype": dtype_to_v2(new.dtype),
        "fill_value": fill,
        "order": "C" if new.order == c_order else "F",
        "filters": codecs[:-1] or None,
        "compressor": codecs[-1] if codecs else None,
        "dimension_separator": ".",
    }


def _first_shape(new: NewArray) -> tuple[int, ...]:
    """Return the shape with 0 for what will grow."""
    grows = new.unlimited or (False,) * len(new.shape)
    return tuple(0 if may_grow else n for n, may_grow in zip(new.shape, grows, strict=True))


def chunks_and_shards(
    shape: tuple[int, ...], dtype: np.dtype[Any], chunks: tuple[int, ...] | None, shards: tuple[int, ...] | None
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """The shape of a chunk, by default of about CHUNK_BYTES, and of a shard; ArgumentError where they do not fit."""
    for words, given in (("chunks", chunks), ("shards", shards)):
        if given is not None and (len(given) != len(shape) or any(n < 1 for n in given)):
            raise ArgumentError(f"{words} {tuple(given)}: expected one positive length for each of {shape}")
    if chunks is None:
        chunks = _default_chunks(shape if shards is None else shards, dtype.itemsize, whole_parts=shards is not None)
    if shards is not None and any(s % c for s, c in zip(shards, chunks, strict=True)):
        raise ArgumentError(f"shards {shards} are not whole chunks of {chunks}")
    return chunks, shards


def _default_chunks(shape: tuple[int, ...], itemsize: int, *, whole_parts: bool) -> tuple[int, ...]:
    """Return chunks of about CHUNK_BYTES, the longest dimensions halved; `whole_parts`: divisors of a shard's shape.

    Of small records, along a dimension that has none yet, several are one chunk.
    """
    chunks = default_chunks(shape, itemsize, CHUNK_BYTES, _largest_part if whole_parts else half)
    nbytes = math.prod(chunks) * itemsize
    if whole_parts and nbytes < min(_SHARED_CHUNK_BYTES_MIN, math.prod(shape) * itemsize):
        raise ArgumentError(
            f"shards {shape}: no chunks of a good size divide them, the best have {nbytes} bytes; give chunks=, or "
            "shards whose lengths have small divisors"
        )
    return chunks


def _largest_part(length: int) -> int:
    """Return the largest divisor that is no more than half of it, if it is above a 65536th, else 1."""
    return next((length // n for n in range(2, min(math.isqrt(length), 1 << 16) + 1) if length % n == 0), 1)

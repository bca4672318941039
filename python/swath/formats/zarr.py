"""Zarr stores in a local folder, versions 3 and 2: where the chunks of an array are, and how they are coded.

The metadata are read by this small module, not by zarr-python: they are a few fields of JSON, every one of which Swath
must understand anyhow to find chunks on its own; and so reading needs no package, and takes no import of a second.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from swath.errors import ArgumentError, FormatError, UnsupportedError
from swath.formats import zarr_codecs
from swath.formats.choose import choose, describes_others
from swath.formats.description import (
    ChunkFiles,
    CodedLayout,
    Description,
    NewArray,
    Shards,
    Summary,
)
from swath.formats.files import store_errors
from swath.formats.json_fields import Field, json_file
from swath.formats.zarr_elements import dtype_of_v2, dtype_of_v3, dtype_to_v2, dtype_to_v3, fill_of, fill_to_json

FLAVOURS = ("v3", "v2")
CHUNK_BYTES = 4 << 20
"""Of a chunk where `create` is not told: decoded in a core's cache, and long enough for a device."""

_DIMENSIONS_OF_V2 = "_ARRAY_DIMENSIONS"
"""The attribute in which xarray keeps the names of dimensions."""
_SEPARATORS = (".", "/")
_SHARED_CHUNK_BYTES_MIN = 1 << 10
"""Of a chunk of a shard where `create` is not told: less, and the index of the shard is no small part of it."""


def is_store(path: str) -> bool:
    """Return whether a folder holds a Zarr array or group."""
    return any(os.path.exists(os.path.join(path, name)) for name in ("zarr.json", ".zarray", ".zgroup"))


def describe(path: str, variable: str | None = None) -> Description:
    """One array of the store, "group/name" in a group; None stands for the only one that holds numbers of its own.

    Raises ArgumentError, listing what there is, where `variable` names no array or None is not enough;
    UnsupportedError for elements or codecs that Swath has not; FormatError for metadata that cannot be true.
    """
    folder = path
    if variable is not None and _is_name(variable):
        folder = os.path.join(path, variable.strip("/"))
    if variable is not None or not _is_array(path):
        if variable is None or not _is_name(variable) or not _is_array(folder):
            variable = choose(path, variables(path), variable)
            folder = os.path.join(path, variable)
        variable = variable.strip("/")
    return _describe(path, variable, folder, _metadata(folder))


def variables(path: str) -> list[Summary]:
    """Every array of the store and its groups, also those that Swath cannot read."""
    found = [(name, folder, _metadata(folder)) for name, folder in _arrays(path)]
    named = describes_others(_attributes(metadata) for _, _, metadata in found)
    return [_summary(path, name, folder, metadata, named) for name, folder, metadata in found]


def create(path: str, new: NewArray) -> Description:
    """Create a store with one array, none of whose chunks is stored: all elements are the fill value.

    The array is the store itself, or `new.variable` in its groups.
    """
    if new.variable is not None and not _is_name(new.variable):
        raise ArgumentError(f"Zarr allows no name {new.variable!r}; expected a name, or group/name")
    folders = [path]  # the groups, and the array's
    for name in [] if new.variable is None else new.variable.strip("/").split("/"):
        folders.append(os.path.join(folders[-1], name))
    array, attributes = (_new_v2 if new.flavour == "v2" else _new_v3)(new)
    with store_errors(path, "create"):
        os.mkdir(path)
    try:
        with store_errors(path, "create"):
            *groups, folder = folders
            os.makedirs(folder, exist_ok=True)
            for group in groups:
                _write_group(group, new.flavour)
            if new.flavour == "v2":
                _write_json(os.path.join(folder, ".zarray"), array)
                _write_json(os.path.join(folder, ".zattrs"), attributes)
            else:
                _write_json(os.path.join(folder, "zarr.json"), {**array, "attributes": attributes})
        return describe(path, new.variable)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def _write_group(folder: str, flavour: str | None) -> None:
    if flavour == "v2":
        _write_json(os.path.join(folder, ".zgroup"), {"zarr_format": 2})
    else:
        _write_json(os.path.join(folder, "zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {}})


def _write_json(path: str, value: Any) -> None:
    try:
        text = json.dumps(value, indent=2)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"Zarr keeps attributes as JSON, which cannot hold these: {error}") from None
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def _is_name(name: str) -> bool:
    """Return whether a store can have an array of that name, which may be a path through groups."""
    parts = name.strip("/").split("/")
    return all(part and part not in (".", "..") and not part.startswith("__") and "\0" not in part for part in parts)


def _is_array(folder: str) -> bool:
    if os.path.exists(os.path.join(folder, ".zarray")):
        return True
    path = os.path.join(folder, "zarr.json")
    return os.path.exists(path) and json_file(path).of("node_type").text(("array", "group")) == "array"


def _arrays(path: str) -> Iterator[tuple[str, str]]:
    """(name, folder) of every array at or below a node, by name. Folders of chunks are not looked into.

    A group that is a link to one that was found before, such as one that it lies in, is not looked into again.
    """
    found: set[tuple[int, int]] = set()
    waiting = [("", path)]
    while waiting:
        name, folder = waiting.pop()
        if _is_array(folder):
            yield name, folder
            continue
        if not is_store(folder):
            continue
        with store_errors(folder, "list"), os.scandir(folder) as entries:
            status = os.stat(folder)
            below = sorted((entry.name for entry in entries if entry.is_dir()), reverse=True)
        if (status.st_dev, status.st_ino) not in found:
            found.add((status.st_dev, status.st_ino))
            waiting += [(f"{name}/{entry}".lstrip("/"), os.path.join(folder, entry)) for entry in below]


@dataclass(frozen=True)
class _Metadata:
    """What an array's files say of it: of version 2 the attributes have a file of their own."""

    array: Field
    attributes: Field
    version: int


def _metadata(folder: str) -> _Metadata:
    path = os.path.join(folder, "zarr.json")
    version = 3
    if os.path.exists(path):
        array = json_file(path)
        attributes = array.of("attributes")
    else:
        version = 2
        array = json_file(os.path.join(folder, ".zarray"))
        beside = os.path.join(folder, ".zattrs")
        attributes = json_file(beside) if os.path.exists(beside) else Field({}, beside)
    array.of("zarr_format").integer(version, version)
    return _Metadata(array, attributes, version)


def _attributes(metadata: _Metadata) -> dict[str, Any]:
    return {k: v for k, v in metadata.attributes.members().items() if k != _DIMENSIONS_OF_V2}


def _dimensions(metadata: _Metadata, ndim: int) -> tuple[str, ...]:
    names = metadata.array.of("dimension_names")
    if metadata.version == 3 and names.value is not None:
        found = tuple(name.text(default="") for name in names.items())
        if len(found) != ndim:
            raise names.wrong(f"{ndim} names")
        return found
    others = metadata.attributes.members().get(_DIMENSIONS_OF_V2)  # the user's, who may mean something else by it
    return tuple(others) if isinstance(others, list) and all(isinstance(n, str) for n in others) else ()


def _describe(path: str, variable: str | None, folder: str, metadata: _Metadata) -> Description:
    where = path if variable is None else f"{path}:{variable}"
    shape = metadata.array.of("shape").lengths(least=0)
    _dimensions(metadata, len(shape))
    dtype, layout = (_v3 if metadata.version == 3 else _v2)(metadata.array, folder, shape)
    if len(layout.chunk_shape) != len(shape):
        raise FormatError(f"{where}: chunks of {layout.chunk_shape} for an array of shape {shape}")
    fill = fill_of(metadata.array.of("fill_value"), dtype)
    return Description(path, "zarr", variable, shape, dtype, layout, fill, _attributes(metadata))


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


def _summary(path: str, name: str, folder: str, metadata: _Metadata, named: set[str]) -> Summary:
    attributes = _attributes(metadata)
    shape = metadata.array.of("shape").lengths(least=0)
    dimensions = _dimensions(metadata, len(shape))
    short = name.rpartition("/")[2]
    coordinate = short in named or dimensions == (short,)
    try:
        found = _describe(path, name or None, folder, metadata)
    except UnsupportedError as error:
        return Summary(name or None, shape, "?", dimensions, f"unsupported: {error}", attributes, True)
    coordinate = coordinate or found.dtype.kind not in "biufc"
    return Summary(name or None, found.shape, str(found.dtype), dimensions, str(found.layout), attributes, coordinate)


def _new_v3(new: NewArray) -> tuple[dict[str, Any], dict[str, Any]]:
    chunks, shards = chunks_and_shards(new.shape, new.dtype, new.chunks, new.shards)
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
        "fill_value": _new_fill(new),
        "codecs": codecs,
    }
    if new.dimensions is not None:
        metadata["dimension_names"] = list(new.dimensions)
    return metadata, dict(new.attributes)


def _new_v2(new: NewArray) -> tuple[dict[str, Any], dict[str, Any]]:
    chunks, shards = chunks_and_shards(new.shape, new.dtype, new.chunks, new.shards)
    if shards is not None:
        raise ArgumentError("Zarr version 2 has no shards; leave out shards=, or create version 3")
    c_order = tuple(range(len(new.shape)))
    if new.order not in (c_order, c_order[::-1]):
        raise ArgumentError(f"Zarr version 2 stores chunks in C or F order, not {new.order}; create version 3")
    codecs = [zarr_codecs.codec_to_v2(c) for c in zarr_codecs.asked_codecs(new.codecs, new.dtype.itemsize)]
    metadata = {
        "zarr_format": 2,
        "shape": list(new.shape),
        "chunks": list(chunks),
        "dtype": dtype_to_v2(new.dtype),
        "fill_value": _new_fill(new),
        "order": "C" if new.order == c_order else "F",
        "filters": codecs[:-1] or None,
        "compressor": codecs[-1] if codecs else None,
        "dimension_separator": ".",
    }
    names = {} if new.dimensions is None else {_DIMENSIONS_OF_V2: list(new.dimensions)}
    return metadata, {**new.attributes, **names}


def _new_fill(new: NewArray) -> Any:
    return fill_to_json(bytes(new.dtype.itemsize) if new.fill is None else new.fill.tobytes(), new.dtype)


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
    """Return chunks of about CHUNK_BYTES, the longest dimensions halved; `whole_parts`: divisors of a shard's shape."""
    lengths = [max(n, 1) for n in shape]
    while math.prod(lengths) * itemsize > CHUNK_BYTES and max(lengths) > 1:
        longest = lengths.index(max(lengths))
        lengths[longest] = _largest_part(lengths[longest]) if whole_parts else -(-lengths[longest] // 2)
    nbytes = math.prod(lengths) * itemsize
    if whole_parts and nbytes < min(_SHARED_CHUNK_BYTES_MIN, math.prod(shape) * itemsize):
        raise ArgumentError(
            f"shards {shape}: no chunks of a good size divide them, the best have {nbytes} bytes; give chunks=, or "
            "shards whose lengths have small divisors"
        )
    return tuple(lengths)


def _largest_part(length: int) -> int:
    """Return the largest divisor that is no more than half of it, if it is above a 65536th, else 1."""
    return next((length // n for n in range(2, min(math.isqrt(length), 1 << 16) + 1) if length % n == 0), 1)

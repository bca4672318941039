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
from swath.formats.zarr_elements import dtype_of_v2, dtype_of_v3, dtype_to_v2, dtype_to_v3, fill_of, fill_to_json

FLAVOURS = ("v3", "v2")
CHUNK_BYTES = 4 << 20
"""Of a chunk where `create` is not told: decoded in a core's cache, and long enough for a device."""

_DIMENSIONS_OF_V2 = "_ARRAY_DIMENSIONS"
"""The attribute in which xarray keeps the names of dimensions."""


def is_store(path: str) -> bool:
    """Whether a folder holds a Zarr array or group."""
    return any(os.path.isfile(os.path.join(path, name)) for name in ("zarr.json", ".zarray", ".zgroup"))


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
    found = [(name, folder, _metadata(folder)) for name, folder in _arrays(path, "")]
    named = describes_others(_attributes(metadata) for _, _, metadata in found)
    return [_summary(path, name, folder, metadata, named) for name, folder, metadata in found]


def create(path: str, new: NewArray) -> Description:
    """A store with one array, none of whose chunks is stored: all elements are the fill value.

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
    """Whether a store can have an array of that name, which may be a path through groups."""
    parts = name.strip("/").split("/")
    return all(part and part not in (".", "..") and not part.startswith("__") and "\0" not in part for part in parts)


def _is_array(folder: str) -> bool:
    if os.path.isfile(os.path.join(folder, ".zarray")):
        return True
    return (
        os.path.isfile(os.path.join(folder, "zarr.json"))
        and _json(os.path.join(folder, "zarr.json")).get("node_type") == "array"
    )


def _arrays(folder: str, name: str) -> Iterator[tuple[str, str]]:
    """(name, folder) of every array at or below a node. Folders of chunks are not looked into."""
    if _is_array(folder):
        yield name, folder
        return
    if not is_store(folder):
        return
    with store_errors(folder, "list"), os.scandir(folder) as entries:
        below = sorted(entry.name for entry in entries if entry.is_dir())
    for entry in below:
        yield from _arrays(os.path.join(folder, entry), f"{name}/{entry}".lstrip("/"))


def _json(path: str) -> dict[str, Any]:
    with store_errors(path, "read"), open(path, "rb") as file:
        text = file.read()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise FormatError(f"{path}: expected an object of JSON, not {type(value).__name__}")
    return value


def _metadata(folder: str) -> dict[str, Any]:
    """What the array's file says, with version 2's attributes where version 3 has them."""
    path = os.path.join(folder, "zarr.json")
    if os.path.isfile(path):
        metadata = _json(path)
        if metadata.get("zarr_format") != 3:
            raise FormatError(f"{path}: zarr_format {metadata.get('zarr_format')!r}; expected 3")
        return metadata
    metadata = _json(os.path.join(folder, ".zarray"))
    if metadata.get("zarr_format") != 2:
        raise FormatError(f"{folder}/.zarray: zarr_format {metadata.get('zarr_format')!r}; expected 2")
    attributes = os.path.join(folder, ".zattrs")
    return {**metadata, "attributes": _json(attributes) if os.path.isfile(attributes) else {}}


def _attributes(metadata: dict[str, Any]) -> dict[str, Any]:
    found = metadata.get("attributes") or {}
    return {k: v for k, v in found.items() if k != _DIMENSIONS_OF_V2} if isinstance(found, dict) else {}


def _dimensions(metadata: dict[str, Any]) -> tuple[str, ...]:
    names = metadata.get("dimension_names") or (metadata.get("attributes") or {}).get(_DIMENSIONS_OF_V2)
    return tuple(str(n) if n is not None else "" for n in names) if isinstance(names, list) else ()


def _describe(path: str, variable: str | None, folder: str, metadata: dict[str, Any]) -> Description:
    where = path if variable is None else f"{path}:{variable}"
    shape = _extents(metadata, "shape", where, least=0)
    dtype, layout = (_v3 if metadata["zarr_format"] == 3 else _v2)(metadata, folder, shape, where)
    if len(layout.chunk_shape) != len(shape):
        raise FormatError(f"{where}: chunks of {layout.chunk_shape} for an array of shape {shape}")
    fill = fill_of(metadata.get("fill_value"), dtype, where)
    return Description(path, "zarr", variable, shape, dtype, layout, fill, _attributes(metadata))


def _extents(holder: Any, key: str, where: str, *, least: int) -> tuple[int, ...]:
    found = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(found, list) or any(type(n) is not int or not least <= n < 2**63 for n in found):
        raise FormatError(f"{where}: {key}: expected a list of integers from {least} on, not {found!r}")
    return tuple(found)


def _v2(metadata: dict[str, Any], folder: str, shape: tuple[int, ...], where: str) -> tuple[np.dtype[Any], CodedLayout]:
    dtype = dtype_of_v2(metadata.get("dtype"), where)
    order = metadata.get("order", "C")
    if order not in ("C", "F"):
        raise FormatError(f"{where}: order {order!r}; expected C or F")
    codecs = zarr_codecs.codecs_of_v2(metadata.get("filters"), metadata.get("compressor"), dtype.itemsize, where)
    separator = _separator(metadata.get("dimension_separator", "."), where)
    dimensions = tuple(range(len(shape)))
    return dtype, CodedLayout(
        folder,
        _extents(metadata, "chunks", where, least=1),
        dimensions if order == "C" else dimensions[::-1],
        codecs,
        ChunkFiles("", separator, "0"),
    )


def _v3(metadata: dict[str, Any], folder: str, shape: tuple[int, ...], where: str) -> tuple[np.dtype[Any], CodedLayout]:
    _refuse_extensions(metadata, where)
    dtype = dtype_of_v3(metadata.get("data_type"), where)
    grid = metadata.get("chunk_grid")
    if not isinstance(grid, dict) or grid.get("name") != "regular":
        raise UnsupportedError(f"{where}: chunk_grid {grid!r}; Swath reads regular ones")
    chunks = _extents(grid.get("configuration"), "chunk_shape", where, least=1)
    files = _chunk_files(metadata.get("chunk_key_encoding"), where)
    chain = zarr_codecs.chain_of_v3(metadata.get("codecs"), len(shape), dtype.itemsize, where)
    places: ChunkFiles | Shards = files
    if chain.sharding is not None:
        shard_shape, chunks = chunks, _extents(chain.sharding, "chunk_shape", where, least=1)
        if len(chunks) != len(shard_shape) or any(s % c for s, c in zip(shard_shape, chunks, strict=True)):
            raise FormatError(f"{where}: shards of {shard_shape} are not whole chunks of {chunks}")
        places = _shards(files, shard_shape, chain.sharding, where)
        chain = zarr_codecs.chain_of_v3(chain.sharding.get("codecs"), len(shape), dtype.itemsize, where)
        if chain.sharding is not None:
            raise UnsupportedError(f"{where}: shards within shards; Swath reads one level")
    stored = dtype.newbyteorder("<" if chain.endian == "<" else ">")  # of every field of a structure
    return stored, CodedLayout(folder, chunks, chain.order, chain.codecs, places)


def _refuse_extensions(metadata: dict[str, Any], where: str) -> None:
    """Version 3: what a reader does not know it must not ignore, unless that is allowed."""
    known = {
        *("zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value"),
        *("codecs", "attributes", "dimension_names", "storage_transformers", "consolidated_metadata"),
    }
    unknown = [
        key
        for key, value in metadata.items()
        if key not in known and not (isinstance(value, dict) and value.get("must_understand") is False)
    ]
    if metadata.get("storage_transformers"):
        unknown.append("storage_transformers")
    if unknown:
        raise UnsupportedError(f"{where}: the metadata have what Swath does not know: {', '.join(unknown)}")


def _separator(separator: Any, where: str) -> str:
    if separator not in (".", "/"):
        raise FormatError(f'{where}: separator {separator!r} of chunk names; expected "." or "/"')
    return str(separator)


def _chunk_files(encoding: Any, where: str) -> ChunkFiles:
    name = encoding.get("name") if isinstance(encoding, dict) else encoding
    settings = (encoding.get("configuration") or {}) if isinstance(encoding, dict) else {}
    if name == "default":
        separator = _separator(settings.get("separator", "/"), where)
        return ChunkFiles(f"c{separator}", separator, "c")
    if name == "v2":
        return ChunkFiles("", _separator(settings.get("separator", "."), where), "0")
    raise UnsupportedError(f"{where}: chunk_key_encoding {encoding!r}; Swath reads default and v2")


def _shards(files: ChunkFiles, shape: tuple[int, ...], settings: dict[str, Any], where: str) -> Shards:
    location = settings.get("index_location", "end")
    if location not in ("start", "end"):
        raise FormatError(f"{where}: index_location {location!r}; expected start or end")
    index = zarr_codecs.chain_of_v3(settings.get("index_codecs"), len(shape) + 1, 8, where)
    if index.endian != "<" or index.order != tuple(range(len(shape) + 1)) or index.sharding is not None:
        raise UnsupportedError(
            f"{where}: index_codecs {settings.get('index_codecs')!r}; Swath reads little-endian ones"
        )
    if any(codec.name not in ("crc32c", "fletcher32") for codec in index.codecs):
        raise UnsupportedError(f"{where}: a compressed index of shards has no known length")
    return Shards(files, shape, index.codecs, location == "end")


def _summary(path: str, name: str, folder: str, metadata: dict[str, Any], named: set[str]) -> Summary:
    attributes = _attributes(metadata)
    dimensions = _dimensions(metadata)
    short = name.rpartition("/")[2]
    coordinate = short in named or dimensions == (short,)
    try:
        found = _describe(path, name or None, folder, metadata)
    except UnsupportedError as error:
        shape = tuple(n for n in metadata.get("shape", ()) if isinstance(n, int))
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
        lengths = [max(n, 1) for n in (shape if shards is None else shards)]
        while math.prod(lengths) * dtype.itemsize > CHUNK_BYTES and max(lengths) > 1:
            longest = lengths.index(max(lengths))
            lengths[longest] = _half(lengths[longest], even=shards is not None)
        chunks = tuple(lengths)
    if shards is not None and any(s % c for s, c in zip(shards, chunks, strict=True)):
        raise ArgumentError(f"shards {shards} are not whole chunks of {chunks}")
    return chunks, shards


def _half(length: int, *, even: bool) -> int:
    """About half of it; `even`: a divisor, the largest that is no more than half."""
    if not even:
        return -(-length // 2)
    return next(length // n for n in range(2, length + 1) if length % n == 0)

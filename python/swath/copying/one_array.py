"""The options of the copy of one array.

Names of dimensions become numbers. If the caller gives no chunks or codecs, those of the source are used, if the
target's format has them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from swath import formats
from swath.copying.by_name import NamedLayout, is_by_name, is_none
from swath.copying.chunking import codecs_for, filters_for, shards_of
from swath.copying.request import TargetOptions, checked_axes, chunks_of
from swath.errors import ArgumentError
from swath.formats import Description
from swath.formats.description import checked_dtype

SIZES = ("elementsize", "typesize")
"""Settings of codecs that are the bytes of an element."""


def options_for(source: Description, target: Any, options: TargetOptions) -> TargetOptions:
    """Return the options for one array, with numbers of dimensions, and the chunks and codecs that it keeps.

    Raises ArgumentError for names that are no dimensions of the array.
    """
    asked = _by_numbers(source, options)
    kind = formats.format_for(target, options.format)
    if not formats.has_chunks(kind):
        return dataclasses.replace(asked, chunks=None) if is_none(asked.chunks) else asked
    axes = checked_axes(asked.axes, len(source.shape))
    chunks, shards = asked.chunks, asked.shards
    if is_none(chunks):
        chunks = None
    elif chunks is None and shards is None:
        chunks, shards = chunks_of(source, axes), shards_of(source, axes, kind)
    codecs = asked.codecs
    if codecs is None:
        dtype = source.dtype if asked.dtype is None else checked_dtype(asked.dtype)
        codecs = _codecs_of(source, kind, dtype.itemsize, is_chunked=chunks is not None)
    return dataclasses.replace(asked, chunks=chunks, shards=shards, codecs=codecs)


def _by_numbers(source: Description, options: TargetOptions) -> TargetOptions:
    given = {name: getattr(options, name) for name in ("axes", "order", "chunks", "shards")}
    named = {name: value for name, value in given.items() if is_by_name(value)}
    if not named:
        return options
    layout = NamedLayout.of(**named)
    layout.check(source.name, [source.dimensions])
    axes = layout.axes(source.dimensions) if "axes" in named else checked_axes(options.axes, len(source.shape))
    dimensions = [source.dimensions[a] for a in axes]
    shape = [source.shape[a] for a in axes]
    found: dict[str, Any] = {} if "axes" not in named else {"axes": axes}
    if "order" in named:
        found["order"] = layout.order(dimensions)
    if "chunks" in named:
        found["chunks"] = layout.chunks(dimensions, shape, chunks_of(source, axes))
    if "shards" in named:
        chunks = found.get("chunks", options.chunks) or chunks_of(source, axes)
        if chunks is None:
            raise ArgumentError(
                f"{source.name}: shards= names lengths of shards of an array without chunks: give chunks=, too"
            )
        found["chunks"], found["shards"] = chunks, layout.shards(dimensions, shape, None, chunks)
    return dataclasses.replace(options, **found)


def _codecs_of(source: Description, kind: str, itemsize: int, *, is_chunked: bool) -> Any:
    """Return the source's codecs for elements of `itemsize` bytes, if the format has them; None for none."""
    if formats.is_folder(kind):
        found = codecs_for(kind, source.layout, source.dtype.itemsize)
    else:
        found = filters_for(kind, source.layout, source.dtype.itemsize) if is_chunked else None
    if found is None or itemsize == source.dtype.itemsize:
        return found
    return [_of_any_size(codec) for codec in found]


def _of_any_size(codec: Any) -> Any:
    if not isinstance(codec, Mapping) or "configuration" not in codec:
        return codec
    return {**codec, "configuration": {k: v for k, v in codec["configuration"].items() if k not in SIZES}}

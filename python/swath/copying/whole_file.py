"""What the copy of a whole file is asked to make: the target's file, with everything in it, and what it cannot hold."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from swath import formats
from swath.array.open_array import Array
from swath.copying.request import FILL, CopyRequest, Part, TargetOptions, check_copied, chunks_of, fill_for
from swath.copying.sources import refuse_no_source
from swath.errors import ArgumentError, UnsupportedError
from swath.formats import (
    ChunkedLayout,
    CodedLayout,
    Contents,
    Description,
    Layout,
    NewArray,
    NewFile,
)
from swath.formats.contents import Attributes, Dimension, Group, Variable
from swath.formats.default_chunks import default_chunks
from swath.formats.description import ChunkTable, Codec, Shards, checked_fill
from swath.formats.files import checked_path
from swath.formats.new_file import tried

OF_ONE_ARRAY = ("axes", "order", "chunks", "shards", "dtype", "target_variable")
"""What is asked of one array only."""
LIKE_ELEMENTS = ("missing_value", "valid_min", "valid_max", "valid_range", "actual_range", "flag_values", "flag_masks")
"""Attributes that have the type of the elements, by the conventions; JSON, where Zarr keeps them, has no such types."""
GROWING_CHUNK_BYTES_MAX = 4 << 20
DESCRIBED_AT_ONCE = 16
"""Variables whose tables of chunks are in memory together."""
CODED_BYTES_MIN = 1 << 16
"""Of an array without chunks that gets some where codecs are asked for: a smaller one gains nothing."""
HDF5_OWN = {"zlib", "gzip", "shuffle", "fletcher32"}
"""Codecs that every reader of HDF5 has, and Zarr, too."""
CHARACTERS_ONLY = ("netcdf-classic", "netcdf4")


def contents_to_copy(source: Any, target: Any, variable: str | None, options: TargetOptions) -> Contents | None:
    """Return what the source holds where all of it is to be copied; None where one array is meant."""
    if variable is not None or any(getattr(options, name) is not None for name in OF_ONE_ARRAY):
        return None
    if isinstance(source, Array):
        return None
    refuse_no_source(source, "copy")
    contents = formats.contents_of_many(source)
    if contents is None or "" in contents.variables:
        return None
    return contents if formats.holds_many(format_of_target(contents, target, options)) else None


def format_of_target(contents: Contents, target: Any, options: TargetOptions) -> str:
    """Return the format of a whole file: that of the source, its version too, where the suffix allows it."""
    asked = formats.format_for(target, options.format)
    if options.format is not None:
        return asked
    if asked == "netcdf-classic" and contents.format == "netcdf4":
        return "netcdf4"
    if asked == contents.format == "netcdf-classic":
        return f"{asked}:{contents.version.lower().replace('-', '')}"
    if asked == contents.format == "zarr" and contents.version.endswith("2"):
        return "zarr:v2"
    return asked


def make_whole_request(source: Any, target: Any, contents: Contents, options: TargetOptions) -> CopyRequest:
    """Check what the copy of a file was asked for. Raises ArgumentError that lists all that the target cannot hold."""
    path, target_path = checked_path(source), checked_path(target)
    kind = format_of_target(contents, target, options)
    names = _Dimensions(contents, kind)
    refusals: list[str] = []
    parts = []
    for variable, described in _described(path, contents):
        into = target_path, kind, names, options.codecs
        attempt = functools.partial(_part, described, variable, into)
        part, why = tried(variable.name, attempt)
        refusals += [refusal.replace(f"{path}:{variable.name}: ", "") for refusal in why]
        if part is not None:
            parts.append(part)
    flavour = kind.partition(":")[2] or None
    new = NewFile(flavour, names.groups(), tuple(part.new for part in parts))
    refusals += names.refusals(parts) + formats.refusals(kind, new)
    if refusals:
        raise ArgumentError(
            f"copy {path} to {target_path}: a {kind} file cannot hold all of it, and nothing was written:"
            + "".join(f"\n  {refusal}" for refusal in refusals)
            + "\nchoose another format (format=, --format), or copy variables one by one (variable=, FILE:VARIABLE)"
        )
    return CopyRequest(path, contents.format, target_path, kind, tuple(parts), new, names.left_out(parts))


class _Dimensions:
    """The dimensions of the target: those of the source, and new names where a format wants some and there are none.

    Args:
        contents: of the source.
        kind: the format of the target.
    """

    def __init__(self, contents: Contents, kind: str) -> None:
        self._contents = contents
        self._kind = kind.partition(":")[0]
        self._groups = {name: dict(contents.groups[name].dimensions) for name in sorted(contents.groups)}

    def of(self, variable: Variable, unlimited: tuple[bool, ...]) -> tuple[str, ...] | None:
        """Return the names of a variable's dimensions in the target; None for none."""
        names = variable.dimensions
        if not any(names) and (self._kind not in CHARACTERS_ONLY or not variable.shape):
            return () if not variable.shape else None
        found: list[str] = []
        for place, length in enumerate(variable.shape):
            name = names[place] if names else ""
            found.append(name or self._invented(length, tuple(found), is_unlimited=any(unlimited[place : place + 1])))
        return tuple(found)

    def unlimited(self, variable: Variable, names: tuple[str, ...] | None) -> tuple[bool, ...]:
        """Return for each dimension whether it may grow; () for none."""
        found = [self._seen(variable.group, name) for name in names or ()]
        grows = tuple(dimension is not None and dimension.is_unlimited for dimension in found)
        return grows if any(grows) else ()

    def characters(self, length: int) -> str:
        """Return the dimension of the characters of a text."""
        name = f"string{length}"
        self._groups[""].setdefault(name, Dimension(name, length))
        return name

    def groups(self) -> tuple[Group, ...]:
        """Return the groups of the target."""
        return tuple(
            Group(name, self._contents.groups[name].attributes, dimensions) for name, dimensions in self._groups.items()
        )

    def refusals(self, parts: list[Part]) -> list[str]:
        """Return, in words, which variables are not as long as their dimensions, where the target wants that."""
        if self._kind not in CHARACTERS_ONLY:
            return []
        found = []
        for part in parts:
            group = (part.new.variable or "").rpartition("/")[0]
            for name, length in zip(part.new.dimensions or (), part.new.shape, strict=True):
                dimension = self._seen(group, name)
                if dimension is not None and dimension.is_unlimited and dimension.length != length:
                    found.append(f"{part.new.name}: has {length} of the {dimension.length} rows of dimension {name}")
        return found

    def left_out(self, parts: list[Part]) -> tuple[str, ...]:
        """Return, in words, which dimensions no variable has, where only variables have dimensions."""
        if self._kind != "zarr":
            return ()
        used = {name for part in parts for name in part.new.dimensions or ()}
        return tuple(
            f"dimension {group}/{name}".replace(" /", " ") + f" of length {dimension.length}, which no variable has"
            for group, dimensions in self._groups.items()
            for name, dimension in dimensions.items()
            if name not in used
        )

    def _seen(self, group: str, name: str) -> Dimension | None:
        while True:
            found = self._groups.get(group, {}).get(name)
            if found is not None or not group:
                return found
            group = group.rpartition("/")[0]

    def _invented(self, length: int, taken: tuple[str, ...], *, is_unlimited: bool) -> str:
        number = 0
        while True:
            name = f"dim{number}"
            wanted = Dimension(name, length, is_unlimited)
            is_free = name not in taken and name not in self._contents.variables
            if is_free and self._groups[""].setdefault(name, wanted) == wanted:
                return name
            number += 1


def _described(path: str, contents: Contents) -> Iterator[tuple[Variable, Description | None]]:
    """Yield each variable, and where it is, without the table of its chunks; None where it cannot be read."""
    readable = [name for name, variable in contents.variables.items() if not variable.unsupported]
    for begin in range(0, len(readable), DESCRIBED_AT_ONCE):
        found = formats.describe_many(path, contents.format, readable[begin : begin + DESCRIBED_AT_ONCE])
        for one in found:
            yield contents.variables[one.variable or ""], _without_table(one)
    yield from ((variable, None) for variable in contents.variables.values() if variable.unsupported)


def _part(source: Description | None, variable: Variable, into: tuple[str, str, _Dimensions, Any]) -> Part:
    """Return how one variable is copied. Raises ArgumentError, UnsupportedError where it cannot be."""
    target_path, kind, dimensions, codecs = into
    if source is None:
        raise UnsupportedError(f"it cannot be read: {variable.unsupported}")
    check_copied(source)
    named = dimensions.of(variable, source.unlimited)
    unlimited = dimensions.unlimited(variable, named) if named is not None else source.unlimited
    fill, marks_fill = fill_for(kind, source, source.dtype)
    new = NewArray(
        shape=source.shape,
        dtype=source.dtype,
        order=_order(source, kind),
        fill=checked_fill(fill, source.dtype),
        variable=variable.name,
        dimensions=named,
        attributes=_attributes(variable, kind, source),
        flavour=None,
        unlimited=unlimited,
        marks_fill=marks_fill,
    )
    new = _chunked(new, source, variable, (kind, codecs))
    is_text = source.dtype.kind == "S" and source.dtype.itemsize > 1 and kind.partition(":")[0] in CHARACTERS_ONLY
    if is_text:
        new = _as_characters(new, dimensions)
    return Part(source, target_path, tuple(range(len(source.shape))), kind, new, is_text, converts=False)


def _without_table(source: Description) -> Description:
    """Return where the elements are without the table of their chunks, which is read again when they are copied."""
    layout = source.layout
    nothing = np.empty(0, np.int64)
    if isinstance(layout, ChunkedLayout):
        return dataclasses.replace(source, layout=ChunkedLayout(layout.chunk_shape, nothing))
    if isinstance(layout, CodedLayout) and isinstance(layout.places, ChunkTable):
        table = ChunkTable(nothing, nothing, np.empty(0, np.uint32))
        return dataclasses.replace(source, layout=dataclasses.replace(layout, places=table))
    return source


def _attributes(variable: Variable, kind: str, source: Description) -> Attributes:
    """Return the attributes but the fill value, those of Zarr in the types that the conventions ask for."""
    found = {name: value for name, value in variable.attributes.items() if name != FILL}
    if source.format != "zarr" or formats.is_folder(kind) or source.dtype.kind not in "iuf":
        return found
    return {name: _like(value, source.dtype) if name in LIKE_ELEMENTS else value for name, value in found.items()}


def _like(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return numbers in a type that can hold them; as they are where it cannot."""
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "iuf":
        return value
    with np.errstate(all="ignore"):
        found = numbers.astype(dtype.newbyteorder("="))
    return found[()] if np.array_equal(found, numbers, equal_nan=True) else value


def _order(source: Description, kind: str) -> tuple[int, ...]:
    """Return in which order chunks have their elements: a format of chunks that are files can have any."""
    ordered = tuple(range(len(source.shape)))
    if not formats.is_folder(kind) or not isinstance(source.layout, CodedLayout):
        return ordered
    order = source.layout.order
    return order if kind != "zarr:v2" or order == ordered[::-1] else ordered


def _chunked(new: NewArray, source: Description, variable: Variable, into: tuple[str, Any]) -> NewArray:
    """Return it with chunks, shards and codecs: those of the source where the format has such."""
    kind, asked = into
    layout = source.layout
    chunks = chunks_of(source, range(len(source.shape))) or variable.chunks
    if formats.is_folder(kind):
        shards = None
        if kind != "zarr:v2" and isinstance(layout, CodedLayout) and isinstance(layout.places, Shards):
            shards = layout.places.shape
        codecs = _codecs_for(kind, layout, source.dtype.itemsize) if asked is None else asked
        formats.check_codecs(kind, codecs, new.dtype.itemsize)
        growing = tuple(0 if i < len(new.unlimited) and new.unlimited[i] else n for i, n in enumerate(new.shape))
        chunk, shard = formats.new_chunks(kind, growing, new.dtype, chunks, shards)
        return dataclasses.replace(new, chunks=chunk, shards=shard, codecs=codecs)
    if kind.partition(":")[0] == "netcdf-classic":
        return new
    return _chunked_hdf5(new, chunks, layout, asked)


def _chunked_hdf5(new: NewArray, chunks: tuple[int, ...] | None, layout: Layout, asked: Any) -> NewArray:
    """Return an array of HDF5 or netCDF-4 with chunks where the source has some, or it grows, or is to be coded."""
    grows = new.unlimited or (False,) * len(new.shape)
    if not new.shape:
        return new
    if chunks is not None:
        lengths = zip(chunks, new.shape, grows, strict=True)
        chunks = tuple(c if may_grow else min(c, max(n, 1)) for c, n, may_grow in lengths)
    elif any(grows):
        first = tuple(0 if may_grow else n for n, may_grow in zip(new.shape, grows, strict=True))
        chunks = default_chunks(first, new.dtype.itemsize, GROWING_CHUNK_BYTES_MAX)
    elif asked and new.nbytes >= CODED_BYTES_MIN:
        chunks, _ = formats.new_chunks("hdf5", new.shape, new.dtype, None, None, asked)
    if chunks is None:
        return new
    codecs = _filters_for(layout, new.dtype.itemsize) if asked is None else asked
    return dataclasses.replace(new, chunks=chunks, codecs=codecs or None)


def _filters_for(layout: Layout, itemsize: int) -> Any:
    """Return codecs for HDF5: the source's, or deflate, which every reader has, in place of what only Zarr's have."""
    if not isinstance(layout, CodedLayout) or not layout.codecs:
        return None
    is_filtered = isinstance(layout.places, ChunkTable) or {codec.name for codec in layout.codecs} <= HDF5_OWN
    found = _codecs_for("hdf5", layout, itemsize) if is_filtered else None
    return found or (["shuffle", "zlib"] if itemsize > 1 else ["zlib"])


def _codecs_for(kind: str, layout: Layout, itemsize: int) -> Any:
    """Return the source's codecs as `swath.create` takes them, where the format has all of them; None for its own."""
    if not isinstance(layout, CodedLayout):
        return None
    codecs = [_asked(codec) for codec in layout.codecs]
    try:
        formats.check_codecs(kind, codecs, itemsize)
    except (ArgumentError, UnsupportedError):
        return None
    return codecs


def _asked(codec: Codec) -> Mapping[str, Any]:
    return formats.asked_codec(codec)


def _as_characters(new: NewArray, dimensions: _Dimensions) -> NewArray:
    """Return an array of texts as one of characters, along one more dimension."""
    length = new.dtype.itemsize
    if new.fill is not None and new.marks_fill and any(new.fill.tobytes()):
        raise ArgumentError(f"{FILL} {new.fill[()]!r}: characters have one of a single character only")
    return dataclasses.replace(
        new,
        shape=(*new.shape, length),
        dtype=np.dtype("S1"),
        order=(*new.order, len(new.order)),
        fill=None,
        dimensions=(*(new.dimensions or ()), dimensions.characters(length)),
        chunks=None if new.chunks is None else (*new.chunks, length),
        codecs=None,
        unlimited=(*new.unlimited, False) if new.unlimited else (),
    )

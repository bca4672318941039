"""File formats: each describes the positions of an array's bytes in a file. Swath's engines move the bytes.

    description = describe("sst.nc", "surface_temperature")   # pure facts; no file stays open
    description.layout              # StridedLayout, ChunkedLayout, CodedLayout or LibraryLayout

Values are the stored ones: byte order kept, nothing scaled, nothing masked. registry.py has the list of formats.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.base import stored_path
from swath.errors import ArgumentError, UnsupportedError
from swath.formats import (
    hdf5,
    hdf5_filters,
    npy,
    raw,
    zarr,
    zarr_texts,
)
from swath.formats.changes import FileChanges, repair
from swath.formats.contents import Contents, Group, typed
from swath.formats.default_chunks import default_chunks
from swath.formats.description import (
    DIMENSIONS_MAX,
    ChunkedLayout,
    Codec,
    CodedLayout,
    CreationOptions,
    Description,
    Layout,
    LibraryLayout,
    NewArray,
    Order,
    Seen,
    StridedLayout,
    TiledLayout,
    checked_chunks,
    checked_dimensions,
    checked_dtype,
    checked_fill,
    checked_order,
    checked_shape,
    differs_in_byte_order_only,
)
from swath.formats.files import checked_path
from swath.formats.hdf5 import objects as hdf5_objects
from swath.formats.hdf5.objects import Objects
from swath.formats.new_file import NewFile, refused
from swath.formats.new_in_store import made as made_in_store
from swath.formats.registry import (
    FORMATS,
    MANY,
    Path,
    detected,
    format_for,
    has_chunks,
    has_filters,
    has_netcdf4_lengths,
    has_shards,
    holds_many,
    is_folder,
    kind_of,
    known_format,
    library_of,
    of_files,
    recognised,
    warn_of_raw,
)

__all__ = [
    "ChunkedLayout",
    "CodedLayout",
    "Contents",
    "CreationOptions",
    "Description",
    "Layout",
    "LibraryLayout",
    "NewArray",
    "NewFile",
    "StridedLayout",
    "TiledLayout",
    "allocate",
    "as_described",
    "check_changeable",
    "check_codecs",
    "check_many",
    "checked_path",
    "contents",
    "contents_of_many",
    "create_array",
    "create_file",
    "describe",
    "describe_many",
    "describe_seen",
    "differs_in_byte_order_only",
    "finish",
    "format_for",
    "format_of",
    "has_chunks",
    "has_netcdf4_lengths",
    "has_shards",
    "holds_many",
    "is_folder",
    "library_read",
    "library_write",
    "name_in_core",
    "new_array",
    "new_chunks",
    "recognised",
    "refusals",
    "refusals_of_array",
    "start",
    "take_objects",
    "to_add",
    "warn_of_raw",
    "write_texts",
]


def describe(
    path: Path,
    variable: str | None = None,
    *,
    shape: int | Sequence[int] | None = None,
    dtype: npt.DTypeLike | None = None,
    order: Order | None = None,
    offset: int | None = None,
    format: str | None = None,  # noqa: A002
) -> Description:
    """Return the positions of one array's bytes in an existing file.

    The format is recognised by the file's first bytes (a Zarr store by the metadata in its folder), never by its name,
    unless `format` gives it. `shape` and `dtype` (with `order`, "C", and `offset`, 0) make any file a raw file.

    Raises ArgumentError for arguments that do not fit together or a `variable` that does not exist (with a list of
    names), FormatError for an unknown format, a false header or a file that is too short, UnsupportedError for elements
    that are not plain bytes, and StoreError, or NotFoundError, if the system refuses.
    """
    name = checked_path(path)
    _check_text(variable=variable, format=format)
    known = known_format(format)
    repair(name)
    described_by_caller = [
        key
        for key, given in (("shape", shape), ("dtype", dtype), ("order", order), ("offset", offset))
        if given is not None
    ]
    if known == "raw" or (known is None and shape is not None and dtype is not None):
        if variable is not None:
            raise ArgumentError(f"{name}: a raw file holds one array without a name; leave out variable={variable!r}")
        if shape is None or dtype is None:
            raise ArgumentError(f"{name}: a raw file does not say what it holds: give both shape= and dtype=")
        return raw.describe(name, shape, dtype, order, offset)
    if described_by_caller:
        raise ArgumentError(
            f"{name}: {', '.join(described_by_caller)} describe a raw file, for which both shape and dtype are needed; "
            "other formats say it themselves"
        )
    kind = known or detected(name)
    stored_path.of(name).refuse_format(kind)
    described = FORMATS[kind].describe(name, variable)
    if len(described.shape) > DIMENSIONS_MAX:
        raise UnsupportedError(
            f"{described.name}: an array of {len(described.shape)} dimensions; NumPy has arrays of at most "
            f"{DIMENSIONS_MAX}"
        )
    return described


def create_array(path: Path, format: str, new: NewArray) -> Description:  # noqa: A002
    """Make a new file for one array, in its final size, without writing its elements.

    The data are a hole in the file, which reads as zeros: elements that the caller never writes have the value
    `description.fill` only if it is all zero bytes, or if the caller writes it. If `new.fill` is None, the fill value
    is zero, and for netCDF its default. The stored dtype may have another byte order than `new`: netCDF classic is
    big-endian. A Zarr store has no chunks yet.

    Raises ExistsError if there is a file already, ArgumentError for what the format cannot store, other StoreErrors if
    the system refuses. After an error, no file is left.
    """
    name, module = checked_path(path), kind_of(format)
    stored = stored_path.of(name)
    stored.refuse_format(module)
    if not stored.is_local:
        made = made_in_store(stored, lambda local: create_array(local, format, new))
        return dataclasses.replace(made, path=name)
    made = raw.create(name, new) if module == "raw" else FORMATS[module].create(name, new)
    try:
        return _as_asked(made, new)
    except BaseException:
        stored.remove()
        raise


def new_array(
    path: Path,
    format: str,  # noqa: A002
    shape: Any,
    dtype: npt.DTypeLike,
    options: CreationOptions,
) -> NewArray:
    """Return the array for a new file, with checked options. Raises ArgumentError.

    `format` is "raw", "npy", "hdf5", "netcdf4", "netcdf-classic" or, for one of its versions, "netcdf-classic:cdf1" (or
    cdf2, cdf5), or "zarr" ("zarr:v2" for its version 2). Names and attributes are for netCDF, HDF5 and Zarr only; the
    shapes of chunks, and codecs, are for netCDF-4, HDF5 and Zarr, those of shards for Zarr only.
    """
    checked_path(path)
    _check_text(variable=options.variable, format=format)
    known_format(format)
    lengths, unlimited = _growing_shape(shape, format)
    if any(unlimited) and not holds_many(format):
        raise ArgumentError(f"a {format} file does not grow: give the first length, or create .nc, .h5 or .zarr")
    stored = checked_dtype(dtype)
    return NewArray(
        shape=lengths,
        dtype=stored,
        order=checked_order(options.order, len(lengths)),
        fill=checked_fill(options.fill, stored),
        variable=options.variable,
        dimensions=checked_dimensions(options.dimensions, lengths),
        attributes={} if options.attributes is None else typed(options.attributes),
        flavour=format.partition(":")[2] or None,
        chunks=_chunks_of(format, options.chunks, lengths, unlimited),
        shards=None if options.shards is None else checked_shape(options.shards),
        codecs=options.codecs,
        unlimited=unlimited,
    )


def _growing_shape(shape: Any, format: str) -> tuple[tuple[int, ...], tuple[bool, ...]]:  # noqa: A002
    """Return the lengths, 0 for None, and for each whether it grows."""
    lengths = (shape,) if shape is None else shape
    if isinstance(lengths, Sequence) and any(n is None for n in lengths):
        if any(n is None for n in lengths[1:]) and not has_filters(format):
            raise ArgumentError(
                f"shape {tuple(lengths)}: only the first length may be None in {format} files: an array grows by "
                "records; any may be in netCDF-4 and HDF5"
            )
        return checked_shape([0 if n is None else n for n in lengths]), tuple(n is None for n in lengths)
    return checked_shape(shape), ()


def _as_asked(made: Description, new: NewArray) -> Description:
    """Return the new array with its fill value; ArgumentError if the format stores another dtype."""
    if made.dtype != new.dtype and not differs_in_byte_order_only(made.dtype, new.dtype):
        raise ArgumentError(
            f"{made.format} cannot store dtype {new.dtype} as it is, only {made.dtype}: ask for that, or choose "
            "another format"
        )
    if new.fill is None:
        return made
    return dataclasses.replace(made, fill=new.fill.astype(made.dtype).tobytes())


# ---- files with many variables ---------------------------------------------------------------------------------------


def contents(path: Path, *, to_change: bool = False) -> Contents:
    """Return the contents of an existing file without the elements. Raises as `describe` does.

    A caller who will change the file needs the metadata of each array: a Zarr store's consolidated ones may be older.
    """
    name = checked_path(path)
    repair(name)
    kind = detected(name)
    stored_path.of(name).refuse_format(kind)
    if to_change:
        check_changeable(name, kind)
    return zarr.contents_to_change(name) if to_change and kind == "zarr" else FORMATS[kind].contents(name)


def check_changeable(path: str, format: str) -> None:  # noqa: A002
    """Raise StoreError if another program writes the file in HDF5's SWMR mode, in which others read it."""
    if has_filters(format):
        hdf5.refuse_written(path)


def contents_of_many(path: Path, *, to_change: bool = False) -> Contents | None:
    """Return the same if the file's format has many variables; None if it does not, or is not known."""
    kind = recognised(path)
    return contents(path, to_change=to_change) if kind in MANY else None


def format_of(path: Path) -> str:
    """Return the format of an existing file; "netcdf4" and "hdf5" differ. Raises as `describe` does."""
    return contents(path).format


def start(path: Path, format: str) -> None:  # noqa: A002
    """Make a new file without variables, of a format such as "netcdf-classic:cdf2".

    Raises ArgumentError for a format of one array, ExistsError if there is a file already.
    """
    stored_path.of(checked_path(path)).refuse_change()
    of_files(format).start(checked_path(path), format.partition(":")[2] or None)


def describe_many(
    path: Path,
    format: str,  # noqa: A002
    variables: Sequence[str],
    seen: Mapping[str, Seen] | None = None,
) -> list[Description]:
    """Return the positions of several variables, at the cost of about one. Raises as `describe` does.

    Variables that were `seen` before, by name, have their old lengths, or are longer: for others, the whole file may
    have to be read.
    """
    return of_files(format).describe_many(checked_path(path), variables, seen)


def create_file(path: Path, format: str, new: NewFile) -> None:  # noqa: A002
    """Make a new file with all its contents but the elements. Raises as `start` does."""
    name = checked_path(path)
    stored = stored_path.of(name)
    stored.refuse_format(kind_of(format))
    if not stored.is_local:
        made_in_store(stored, lambda local: create_file(local, format, new))
        return
    of_files(format).create_file(name, new)


def take_objects(path: Path, objects: Objects) -> None:
    """Let an HDF5 file copy unchanged from another one what Swath does not know. Raises as `start` does."""
    hdf5_objects.take(checked_path(path), objects)


def write_texts(path: Path, format: str, variable: str, pieces: Iterable[tuple[Any, npt.NDArray[Any]]]) -> None:  # noqa: A002
    """Write boxes of text of variable length, arrays of `str`. In a Zarr store each is a whole chunk."""
    name = checked_path(path)
    zarr_texts.write(name, variable, pieces) if is_folder(format) else hdf5.write_texts(name, variable, pieces)


def refusals(format: str, new: NewFile) -> list[str]:  # noqa: A002
    """Return descriptions of what a format cannot store of a new file; creates nothing."""
    return of_files(format).refusals(new)


def refusals_of_array(format: str, new: NewArray) -> list[str]:  # noqa: A002
    """Return descriptions of what a new file of one array cannot store of it; creates nothing."""
    kind = kind_of(format)
    if kind in MANY:
        group = new.name.rpartition("/")[0].strip("/")
        groups = [Group("")] + [
            Group("/".join(group.split("/")[: n + 1])) for n in range(len(group.split("/"))) if group
        ]
        found = refusals(format, NewFile(new.flavour, tuple(groups), (new,)))
        return [why.removeprefix(f"{new.name}: ") for why in found]
    return refused([("", lambda: (npy if kind == "npy" else raw).check(new))])


def name_in_core(format: str) -> str:  # noqa: A002
    """Return the name by which the core knows the format of an existing file: netCDF-4 is HDF5 there."""
    return "hdf5" if has_filters(format) else kind_of(format)


def check_many(format: str) -> None:  # noqa: A002
    """Raise ArgumentError for a format of one array, which has neither others nor attributes."""
    of_files(format)


def to_add(format: str, changes: FileChanges, new: NewArray) -> NewArray:  # noqa: A002
    """Return an array that an existing file gets in the words of the core. Raises ArgumentError."""
    return of_files(format).to_add(changes, new)


def as_described(found: Description) -> Description:
    """Return an array of an open file that the core has described as Python has it."""
    return zarr.described(found) if found.format == "zarr" else found


def finish(format: str, path: str) -> None:  # noqa: A002
    """Write what other readers expect in a complete new file: a store's consolidated metadata."""
    if is_folder(format):
        zarr.finish(path)


def _chunks_of(
    format: str,  # noqa: A002
    chunks: Any,
    shape: tuple[int, ...],
    unlimited: tuple[bool, ...] = (),
) -> tuple[int, ...] | None:
    """Return checked chunks: Zarr's may be longer than the array; HDF5's may not, except along a growing dimension."""
    if is_folder(format):
        return None if chunks is None else checked_shape(chunks)
    return checked_chunks(chunks, shape, unlimited)


def new_chunks(
    format: str,  # noqa: A002
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    chunks: Any,
    shards: Any = None,
    codecs: Any = None,
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Return the shapes of the chunks and shards that `create` would make; None for none. Raises ArgumentError."""
    chunk = _chunks_of(format, chunks, shape)
    shard = None if shards is None else checked_shape(shards)
    if chunk is None and codecs and shape and has_filters(format):
        chunk = default_chunks(shape, dtype.itemsize, hdf5_filters.CHUNK_BYTES)
    return zarr.chunks_and_shards(shape, dtype, chunk, shard) if is_folder(format) else (chunk, shard)


def check_codecs(format: str, codecs: Any, itemsize: int) -> tuple[Codec, ...]:  # noqa: A002
    """Return the codecs that `create` would use, in the order of encoding.

    Raises what `create` raises for them: ArgumentError, UnsupportedError.
    """
    if is_folder(format):
        return zarr.asked_codecs(codecs, itemsize)
    if has_filters(format):
        return hdf5_filters.asked_codecs(codecs, itemsize)
    if codecs is not None:
        raise ArgumentError(f"codecs=: Swath creates none in {format} files; create .h5 or a .zarr store")
    return ()


def asked_codecs(codecs: Sequence[Codec], format: str, chunk_bytes: int) -> list[Mapping[str, Any]]:  # noqa: A002
    """Return codecs of existing chunks as arguments of `create` for a format: in Zarr 3, registered ones."""
    if is_folder(format) and format != "zarr:v2":
        codecs = zarr.registered(codecs, chunk_bytes)
    return [_asked_codec(codec) for codec in codecs]


def _asked_codec(codec: Codec) -> Mapping[str, Any]:
    if codec.name == "hdf5-lz4":  # each format has its own block format
        return {"name": "lz4", "configuration": {"blocksize": dict(codec.settings)["block_bytes"]}}
    return zarr.codec_to_v3(codec)


def allocate(description: Description, changes: FileChanges | None = None) -> Description:
    """Allocate the parts of the array that have no space in the file; return the new positions.

    Only HDF5 has such parts. Call it on one rank, before writes, while no other process has the file open. `changes`:
    the file's changes, if the caller commits them.
    """
    return hdf5.allocate(description, changes) if description.format == "hdf5" else description


def describe_seen(
    path: Path,
    format: str,  # noqa: A002
    variable: str | None,
    seen: Seen,
    *,
    as_seen: bool = False,
) -> Description:
    """Return the positions of a variable that was seen before: see `describe_many`.

    With `as_seen` it has its old lengths, even if others have added rows since.
    """
    if variable is not None and has_filters(format):
        return hdf5.describe_many(checked_path(path), [variable], {variable.strip("/"): seen}, as_seen=as_seen)[0]
    found = describe(path, variable, format=kind_of(format))
    is_longer = found.shape[:1] > seen.shape[:1] and found.shape[1:] == seen.shape[1:]
    return dataclasses.replace(found, shape=seen.shape) if as_seen and is_longer else found


def describe_again(description: Description, path: str | None = None) -> Description:
    """Return the current description of the same array, perhaps in a file of another name."""
    if description.format == "raw":
        return dataclasses.replace(description, path=path or description.path)
    return describe_seen(path or description.path, description.format, description.variable, description)


def library_read(description: Description, index: tuple[slice | int, ...]) -> npt.NDArray[Any]:
    """Return the selected elements through the format's own library: for a LibraryLayout, correct but slower.

    `index` has one slice or integer for each dimension. The result has the stored dtype, in C order.
    """
    return library_of(description).library_read(description, index)


def library_write(description: Description, index: tuple[slice | int, ...], values: npt.ArrayLike) -> None:
    """Replace the selected elements through the format's own library. One process at a time."""
    library_of(description).library_write(description, index, np.asarray(values))


def _check_text(**arguments: Any) -> None:
    for key, value in arguments.items():
        if value is not None and not isinstance(value, str):
            raise ArgumentError(f"{key} must be a string, not {value!r}")

"""File formats: each says where in a file the bytes of an array are. The bytes are moved by Swath's engines.

    description = describe("sst.nc", "surface_temperature")   # pure facts; no file stays open
    description.layout              # StridedLayout, ChunkedLayout, CodedLayout or LibraryLayout

Values are the stored ones: byte order kept, nothing scaled, nothing masked. A format is a module with `describe`,
`variables` and `create` (the protocol `Format`), and `matches` where it is one file (`FileFormat`); to add one, write
it and enter it in `FORMATS`, or in `_FILE_FORMATS`.
"""

from __future__ import annotations

import dataclasses
import errno
import os
import pathlib
import shutil
from collections.abc import Collection, Mapping, Sequence
from typing import Any, BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError, FormatError, StoreError, UnsupportedError
from swath.formats import hdf5, hdf5_filters, netcdf4, netcdf_classic, npy, raw, zarr, zarr_codecs
from swath.formats.changes import Changes
from swath.formats.description import (
    DIMENSIONS_MAX,
    ChunkedLayout,
    ChunkTable,
    CodedLayout,
    Description,
    Layout,
    LibraryLayout,
    NewArray,
    Order,
    StridedLayout,
    Summary,
    TiledLayout,
    checked_chunks,
    checked_dtype,
    checked_fill,
    checked_order,
    checked_shape,
    differs_in_byte_order_only,
)
from swath.formats.files import checked_path, opened
from swath.formats.hdf5_places import ChunkPlaces

__all__ = [
    "ChunkedLayout",
    "CodedLayout",
    "Description",
    "Layout",
    "LibraryLayout",
    "StridedLayout",
    "Summary",
    "TiledLayout",
    "allocate",
    "check_codecs",
    "chunk_places",
    "create",
    "describe",
    "differs_in_byte_order_only",
    "format_for",
    "library_read",
    "library_write",
    "new_chunks",
    "variables",
]

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
"""As Python's own `open` takes them. A name that is not UTF-8 is bytes, or a str as os.fsdecode makes it."""


class Format(Protocol):
    """A format that describes itself; raw files do not, and stand apart."""

    def describe(self, path: str, variable: str | None = None) -> Description:
        """Return where the bytes of `variable` are; None where only one can be meant."""

    def variables(self, path: str) -> list[Summary]:
        """Return what the file holds."""

    def create(self, path: str, new: NewArray) -> Description:
        """Make a file for `new` in its final size without writing its elements."""


class FileFormat(Format, Protocol):
    """A format of single files."""

    def matches(self, file: BinaryIO, size: int) -> bool:
        """Return whether a file of `size` bytes, read from its first byte on, has the format's magic number."""


_FILE_FORMATS: dict[str, FileFormat] = {"npy": npy, "netcdf-classic": netcdf_classic, "hdf5": hdf5}
FORMATS: dict[str, Format] = {**_FILE_FORMATS, "netcdf4": netcdf4, "zarr": zarr}
"""The formats that are recognised: files by their magic numbers, folders by what is in them."""

_FLAVOURS: dict[str, Collection[str]] = {"netcdf-classic": netcdf_classic.FLAVOURS, "zarr": zarr.FLAVOURS}
_SUFFIXES = {".npy": "npy", ".nc": "netcdf-classic", ".nc4": "netcdf4", ".h5": "hdf5", ".hdf5": "hdf5", ".zarr": "zarr"}
_NOT_RAW = {".npz": "npy"}
_KNOWN = (
    "Swath knows .npy, netCDF classic (CDF-1, -2, -5), HDF5, netCDF-4 and Zarr (a folder); for a raw file give shape= "
    "and dtype="
)


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
    """Return where the bytes of one array are in an existing file.

    The format is recognised by the file's first bytes (a Zarr store by the metadata in its folder), never by its name,
    unless `format` says it. `shape` and `dtype` (with `order`, "C", and `offset`, 0) make any file a raw file.

    Raises ArgumentError for arguments that do not go together or a `variable` that is not there (listing what is),
    FormatError for an unknown format, a header that cannot be true or a file that is too short, UnsupportedError for
    elements that are not plain bytes, and StoreError, or NotFoundError, where the system refuses.
    """
    name = checked_path(path)
    _check_text(variable=variable, format=format)
    known = _known_format(format)
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
    described = FORMATS[known or _detected(name)].describe(name, variable)
    if len(described.shape) > DIMENSIONS_MAX:
        raise UnsupportedError(
            f"{described.name}: an array of {len(described.shape)} dimensions; NumPy has arrays of at most "
            f"{DIMENSIONS_MAX}"
        )
    return described


def variables(path: Path) -> list[Summary]:
    """Return what an existing file holds, also what Swath cannot read. Raises as `describe` does."""
    name = checked_path(path)
    return FORMATS[_detected(name)].variables(name)


def format_for(path: Path, format: str | None = None) -> str:  # noqa: A002
    """Return the format that `create` makes: `format` where it is given, else by the suffix of `path`, else "raw"."""
    if format is not None:
        _known_format(format)
        return format
    name = checked_path(path)
    suffix = pathlib.Path(name).suffix.lower()
    if suffix in _NOT_RAW:
        raise ArgumentError(f"{name}: Swath creates no {suffix} files; choose format= {_NOT_RAW[suffix]}, or raw")
    return _SUFFIXES.get(suffix, "raw")


def is_folder(format: str) -> bool:  # noqa: A002
    """Return whether what `create` makes in that format is a folder of files."""
    return format.partition(":")[0] == "zarr"


def _has_filters(format: str) -> bool:  # noqa: A002
    """Return whether what `create` makes in that format has HDF5's filters."""
    return format.partition(":")[0] in ("hdf5", "netcdf4")


def create(
    path: Path,
    shape: int | Sequence[int],
    dtype: npt.DTypeLike,
    *,
    format: str | None = None,  # noqa: A002
    order: Order = "C",
    fill: Any = None,
    variable: str | None = None,
    dimensions: Sequence[str] | None = None,
    attributes: Mapping[str, Any] | None = None,
    chunks: int | Sequence[int] | None = None,
    shards: int | Sequence[int] | None = None,
    codecs: Any = None,
) -> Description:
    """Make a new file for one array, in its final size, without writing its elements.

    The data are a hole in the file, which reads as zeros: elements that the caller never writes do not have the value
    `description.fill` unless that is all zero bytes, or the caller writes it. With `fill` None, that is zero, and for
    netCDF classic its default fill value. `format` is "raw", "npy", "hdf5", "netcdf-classic" or, for one of its
    versions, "netcdf-classic:cdf1" (or cdf2, cdf5), or "zarr" ("zarr:v2" for its version 2); None takes it from the
    suffix. The stored dtype may differ from `dtype` in byte order: netCDF classic is big-endian. Names and attributes
    are for netCDF, HDF5 and Zarr only; the shapes of chunks, and codecs (see `swath.create`), are for HDF5 and Zarr,
    those of shards for Zarr only.
    Of a Zarr store no chunk is stored yet.

    Raises ExistsError where there is a file already, ArgumentError for what the format cannot store, other StoreErrors
    where the system refuses. No file is left behind then.
    """
    name = checked_path(path)
    _check_text(variable=variable, format=format)
    kind, _, flavour = format_for(name, format).partition(":")
    lengths, stored = checked_shape(shape), checked_dtype(dtype)
    names = None if dimensions is None else tuple(dimensions)
    if names is not None and (len(names) != len(lengths) or len(dict(zip(names, lengths, strict=True))) != len(names)):
        raise ArgumentError(f"dimensions {names} must be different names, one for each length of {lengths}")
    new = NewArray(
        shape=lengths,
        dtype=stored,
        order=checked_order(order, len(lengths)),
        fill=checked_fill(fill, stored),
        variable=variable,
        dimensions=names,
        attributes=dict(attributes or {}),
        flavour=flavour or None,
        chunks=_chunks_of(kind, chunks, lengths),
        shards=None if shards is None else checked_shape(shards),
        codecs=codecs,
    )
    made = raw.create(name, new) if kind == "raw" else FORMATS[kind].create(name, new)
    if made.dtype != stored and not differs_in_byte_order_only(made.dtype, stored):
        _remove(name)
        raise ArgumentError(
            f"{kind} cannot store dtype {stored} as it is, only {made.dtype}: ask for that, or choose another format"
        )
    if new.fill is None:
        return made
    return dataclasses.replace(made, fill=new.fill.astype(made.dtype).tobytes())


def _remove(path: str) -> None:
    """Remove what `create` has made."""
    shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def _chunks_of(format: str, chunks: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:  # noqa: A002
    """Zarr's may be longer than the array; those of HDF5 are no longer."""
    if is_folder(format):
        return None if chunks is None else checked_shape(chunks)
    return checked_chunks(chunks, shape)


def new_chunks(
    format: str,  # noqa: A002
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    chunks: Any,
    shards: Any = None,
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Return the shapes of the chunks and shards that `create` would make; None for none. Raises ArgumentError."""
    chunk = _chunks_of(format, chunks, shape)
    shard = None if shards is None else checked_shape(shards)
    return zarr.chunks_and_shards(shape, dtype, chunk, shard) if is_folder(format) else (chunk, shard)


def check_codecs(format: str, codecs: Any, itemsize: int) -> None:  # noqa: A002
    """Raises what `create` raises for these codecs: ArgumentError, UnsupportedError."""
    if is_folder(format):
        zarr_codecs.asked_codecs(codecs, itemsize)
    elif _has_filters(format):
        hdf5_filters.asked_codecs(codecs, itemsize)
    elif codecs is not None:
        raise ArgumentError(f"codecs=: Swath creates none in {format} files; create .h5 or a .zarr store")


def allocate(description: Description) -> Description:
    """Give parts of the array that have no place in the file yet a place; returns where everything is now.

    Only HDF5 has such parts. Call it on one rank, before writing, while nobody else has the file open.
    """
    return hdf5.allocate(description) if description.format == "hdf5" else description


def chunk_places(description: Description, *, is_new: bool, changes: Changes | None = None) -> ChunkPlaces | None:
    """Return who gives coded chunks their places in the array's file; None where chunks are files, or not coded.

    Args:
        description: of the array.
        is_new: whether the file has no name yet.
        changes: of the file, where the caller has its journal, and commits; else each write commits.
    """
    layout = description.layout
    in_one_file = isinstance(layout, CodedLayout) and isinstance(layout.places, ChunkTable)
    return ChunkPlaces(description, is_new=is_new, changes=changes) if in_one_file else None


def library_read(description: Description, index: tuple[slice | int, ...]) -> npt.NDArray[Any]:
    """Return the selected elements through the format's own library: the way for a LibraryLayout, correct but slower.

    `index` has one slice or integer for each dimension. The result has the stored dtype, in C order.
    """
    _needs_library(description)
    return hdf5.library_read(description, index)


def library_write(description: Description, index: tuple[slice | int, ...], values: npt.ArrayLike) -> None:
    """Replace the selected elements through the format's own library. One process at a time."""
    _needs_library(description)
    hdf5.library_write(description, index, np.asarray(values))


def _needs_library(description: Description) -> None:
    if description.format != "hdf5":
        raise ArgumentError(f"{description.name}: {description.format} files have no library path; use their layout")


def _check_text(**arguments: Any) -> None:
    for key, value in arguments.items():
        if value is not None and not isinstance(value, str):
            raise ArgumentError(f"{key} must be a string, not {value!r}")


def _known_format(name: str | None) -> str | None:
    """Return the format without its version; ArgumentError for one that is not known."""
    if name is None:
        return None
    kind, colon, flavour = name.partition(":")
    flavours = _FLAVOURS.get(kind, ())
    if (kind != "raw" and kind not in FORMATS) or (colon and flavour not in flavours):
        versions = [f"{kind}:{f}" for kind, flavours in _FLAVOURS.items() for f in flavours]
        raise ArgumentError(f"format {name!r} is unknown; expected one of {', '.join(['raw', *FORMATS, *versions])}")
    return kind


def _detected(path: str) -> str:
    if os.path.isdir(path):
        if zarr.is_store(path):
            return "zarr"
        what = "it is a directory, and no Zarr store: it has no zarr.json, .zarray or .zgroup"
        raise StoreError(f"{path}: {what}", errno.EISDIR)
    with opened(path) as (file, size):
        for name, module in _FILE_FORMATS.items():
            file.seek(0)
            if module.matches(file, size):
                return name
        file.seek(0)
        start = file.read(8)
    raise FormatError(f"{path}: no known format begins with {start!r} (the file has {size} bytes). {_KNOWN}")

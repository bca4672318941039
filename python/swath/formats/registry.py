"""The list of formats: their names, their modules, and how an existing file is recognised.

A format is a module with `describe`, `contents` and `create` (the protocol `Format`), and with `matches` if it is one
file (`FileFormat`); to add one, write it and add it to `FORMATS`, or to `_FILE_FORMATS`.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import pathlib
from collections.abc import Collection

from swath.base import stored_path
from swath.errors import ArgumentError, FormatError, StoreError, warn_caller
from swath.formats import hdf5, netcdf4, netcdf_classic, npy, zarr, zarr_library
from swath.formats.description import Description
from swath.formats.files import checked_path, opened
from swath.formats.protocols import FileFormat, Format, FormatOfFiles, Library

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
"""The types that Python's own `open` takes. A name that is not UTF-8 is bytes, or a str from os.fsdecode."""


LIBRARIES: dict[str, Library] = {"hdf5": hdf5, "netcdf4": hdf5, "zarr": zarr_library}
_FILE_FORMATS: dict[str, FileFormat] = {"npy": npy, "netcdf-classic": netcdf_classic, "hdf5": hdf5}
FORMATS: dict[str, Format] = {**_FILE_FORMATS, "netcdf4": netcdf4, "zarr": zarr}
"""The formats that are recognised: files by their magic numbers, folders by their content."""

MANY: dict[str, FormatOfFiles] = {"netcdf-classic": netcdf_classic, "hdf5": hdf5, "netcdf4": netcdf4, "zarr": zarr}
"""Those of files with many variables."""

_FLAVOURS: dict[str, Collection[str]] = {"netcdf-classic": netcdf_classic.FLAVOURS, "zarr": zarr.FLAVOURS}
_SUFFIXES = {
    ".npy": "npy",
    ".nc": "netcdf4",
    ".nc3": "netcdf-classic",
    ".nc4": "netcdf4",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".zarr": "zarr",
}
_RAW = ("", ".raw", ".bin", ".dat")
"""The suffixes of raw files."""
_warned_of: set[str] = set()
_NOT_RAW = {".npz": "npy"}
_KNOWN = (
    "Swath knows .npy, netCDF classic (CDF-1, -2, -5), HDF5, netCDF-4 and Zarr (a folder); for a raw file give shape= "
    "and dtype="
)


def format_for(path: Path, format: str | None = None) -> str:  # noqa: A002
    """Return the format that `create` makes: `format` if it is given, else that of the suffix of `path`, else "raw".

    ".nc" is netCDF-4, as xarray's `to_netcdf` makes it; without h5py, and in a Ceph pool, which cannot hold netCDF-4,
    it is netCDF classic, as ".nc3" always is.
    """
    if format is not None:
        known_format(format)
        return format
    name = checked_path(path)
    suffix = pathlib.Path(stored_path.of(name).name).suffix.lower()
    if suffix in _NOT_RAW:
        raise ArgumentError(f"{name}: Swath creates no {suffix} files; choose format= {_NOT_RAW[suffix]}, or raw")
    if suffix == ".nc" and (not stored_path.of(name).holds("netcdf4") or importlib.util.find_spec("h5py") is None):
        return "netcdf-classic"
    return _SUFFIXES.get(suffix, "raw")


def warn_of_raw(path: Path, format: str | None) -> None:  # noqa: A002
    """Warn, once for each suffix, that `create` makes a raw file because it does not know the suffix of `path`."""
    name = checked_path(path)
    suffix = pathlib.Path(stored_path.of(name).name).suffix.lower()
    if format is not None or suffix in _SUFFIXES or suffix in _RAW or suffix in _warned_of:
        return
    _warned_of.add(suffix)
    warn_caller(
        f"create {name}: Swath knows no format by the suffix {suffix}, and makes a raw file: the elements alone, "
        f'without shape or dtype. Say so by format="raw", or choose one of {", ".join(FORMATS)}'
    )


def is_folder(format: str) -> bool:  # noqa: A002
    """Return whether `create` makes a folder of files in that format."""
    return format.partition(":")[0] == "zarr"


def has_netcdf4_lengths(format: str) -> bool:  # noqa: A002
    """Return whether arrays of such a file are as long as their dimensions, even if less is stored."""
    return has_filters(format)


def has_chunks(format: str) -> bool:  # noqa: A002
    """Return whether files of a format have chunks and codecs."""
    return is_folder(format) or has_filters(format)


def has_shards(format: str) -> bool:  # noqa: A002
    """Return whether files of a format have shards."""
    return is_folder(format) and format != "zarr:v2"


def has_filters(format: str) -> bool:  # noqa: A002
    """Return whether files of a format have HDF5's filters."""
    return format.partition(":")[0] in ("hdf5", "netcdf4")


def recognised(path: Path) -> str | None:
    """Return the format of a file's first bytes, or of a folder's content: "hdf5" for netCDF-4; None for none."""
    try:
        return detected(checked_path(path))
    except (FormatError, StoreError):
        return None


def holds_many(format: str) -> bool:  # noqa: A002
    """Return whether files of a format hold many variables."""
    return kind_of(format) in MANY


def of_files(format: str) -> FormatOfFiles:  # noqa: A002
    """Return the module of a format of files with many variables; ArgumentError for another one."""
    kind = known_format(format)
    if kind not in MANY:
        raise ArgumentError(
            f"a {kind} file holds one array without a name, and no attributes; expected one of {', '.join(MANY)}"
        )
    return MANY[kind]


def kind_of(format: str) -> str:  # noqa: A002
    """Return a format without its version: "zarr" for "zarr:v2"."""
    return format.partition(":")[0]


def library_of(description: Description) -> Library:
    """Return the library that reads and writes an array; ArgumentError if there is none."""
    if description.format not in LIBRARIES:
        raise ArgumentError(f"{description.name}: {description.format} files have no library path; use their layout")
    return LIBRARIES[description.format]


def known_format(name: str | None) -> str | None:
    """Return the format without its version; ArgumentError if it is not known."""
    if name is None:
        return None
    kind, colon, flavour = name.partition(":")
    flavours = _FLAVOURS.get(kind, ())
    if (kind != "raw" and kind not in FORMATS) or (colon and flavour not in flavours):
        versions = [f"{kind}:{f}" for kind, flavours in _FLAVOURS.items() for f in flavours]
        raise ArgumentError(f"format {name!r} is unknown; expected one of {', '.join(['raw', *FORMATS, *versions])}")
    return kind


def detected(path: str) -> str:
    """Return the format of a file's first bytes, or of a folder's content.

    Raises FormatError for a file of an unknown format, StoreError for a folder that is no Zarr store, and if the system
    refuses.
    """
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

"""The storage of a variable, to and from xarray's `encoding`, in the keys of its netcdf4 and zarr engines."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
import xarray as xr

from swath.errors import ArgumentError
from swath.formats.contents import Contents, Variable
from swath.formats.zarr import codec_to_v2, codec_to_v3

_OF_ANY = {"dtype", "_FillValue", "source", "original_shape", "preferred_chunks", "coordinates", "grid_mapping"}
_OF_HDF5 = {
    "chunksizes",
    "contiguous",
    "zlib",
    "complevel",
    "shuffle",
    "fletcher32",
    "compression",
    "compression_opts",
    "szip",
    "zstd",
    "bzip2",
    "blosc",
    "blosc_shuffle",
    "endian",
}
_OF_ZARR = {"chunks", "shards", "compressors", "compressor", "filters", "serializer", "fill_value"}
_WORDS = {"netcdf-classic": set[str](), "netcdf4": _OF_HDF5, "hdf5": _OF_HDF5, "zarr": _OF_ZARR}


_SHUFFLES_OF_BLOSC = ("noshuffle", "shuffle", "bitshuffle")
"""Indexed by numcodecs' numbers."""


# ---- What is read ----------------------------------------------------------------------------------------------------


def encoding_of(variable: Variable, contents: Contents, dimensions: tuple[str, ...]) -> dict[str, Any]:
    """Return the storage of a variable; codecs of Zarr as in its metadata."""
    assert variable.dtype is not None
    is_of_text = variable.dtype.hasobject
    # All numbers of netCDF classic are big-endian: this is no choice to preserve.
    dtype = variable.dtype.newbyteorder("=") if contents.format == "netcdf-classic" else variable.dtype
    if variable.enumeration is not None:
        named = {"enum": variable.enumeration.members, "enum_name": variable.enumeration.name}
        dtype = np.dtype(dtype.str, metadata=named)
    encoding: dict[str, Any] = {"dtype": str if is_of_text else dtype}
    if contents.format == "zarr":
        if is_of_text:
            del encoding["dtype"]
        encoding |= {"chunks": variable.chunks, "shards": variable.shards, **_zarr_codecs(variable, contents.version)}
    elif contents.format in ("netcdf4", "hdf5"):
        encoding |= _hdf5_flags(variable)
        encoding |= {"contiguous": variable.chunks is None, "chunksizes": variable.chunks}
    if variable.chunks is not None:
        encoding["preferred_chunks"] = dict(zip(dimensions, variable.chunks, strict=True))
    return encoding


def _zarr_codecs(variable: Variable, version: str) -> dict[str, Any]:
    if variable.codecs is None:
        return {}
    if version.endswith("2"):
        found = tuple(codec_to_v2(codec) for codec in variable.codecs)
        return {"filters": found[:-1], "compressors": found[-1:]}
    return {"filters": (), "compressors": tuple(codec_to_v3(codec) for codec in variable.codecs)}


def _hdf5_flags(variable: Variable) -> dict[str, Any]:
    if variable.codecs is None:
        return {}
    names = {codec.name: dict(codec.settings) for codec in variable.codecs}
    flags: dict[str, Any] = {flag: flag in names for flag in ("zlib", "zstd", "blosc", "shuffle", "fletcher32")}
    if "blosc" in names:
        compressor = str(names["blosc"]["compressor"])
        name = "blosc_lz" if compressor == "blosclz" else f"blosc_{compressor}"
        flags["blosc"] = {"compressor": name, "shuffle": names["blosc"]["shuffle"]}
    levels = [settings["level"] for settings in names.values() if "level" in settings]
    return {**flags, "szip": False, "bzip2": False, "complevel": levels[0] if levels else 0}


# ---- What is asked for -----------------------------------------------------------------------------------------------


def storage_of(
    variable: xr.Variable,
    format: str,  # noqa: A002
    unlimited: Collection[Hashable],
    *,
    is_strict: bool,
) -> dict[str, Any]:
    """Return `chunks`, `shards` and `codecs` from a variable's encoding.

    Keys of other formats are ignored, unless `is_strict`: then they raise ArgumentError.
    """
    words = variable.encoding
    if is_strict:
        unknown = sorted(set(words) - _OF_ANY - _WORDS[format])
        if unknown:
            raise ArgumentError(
                f"unexpected encoding parameters {', '.join(unknown)} for {format}; expected some of "
                f"{', '.join(sorted((_OF_ANY - {'source', 'original_shape'}) | _WORDS[format]))}"
            )
    if format == "netcdf-classic" or not variable.shape:
        return {}
    if format == "zarr":
        return _of_zarr(variable)
    return _of_hdf5(variable, unlimited, is_strict=is_strict)


def _of_hdf5(variable: xr.Variable, unlimited: Collection[Hashable], *, is_strict: bool) -> dict[str, Any]:
    words = variable.encoding
    codecs: list[Any] = []
    compressor = _hdf5_compressor(words)
    if words.get("shuffle", compressor is not None and compressor["name"] in ("zlib", "gzip")):
        codecs.append("shuffle")
    if compressor is not None:
        codecs.append(compressor)
    if words.get("fletcher32"):
        codecs.append("fletcher32")
    chunks = words.get("chunksizes")
    if chunks is not None and not is_strict:
        sizes = zip(variable.dims, variable.shape, chunks, strict=False)
        is_too_big = any(c > n and d not in unlimited for d, n, c in sizes)
        has_changed = words.get("original_shape", variable.shape) != variable.shape
        chunks = None if is_too_big or has_changed else chunks
    found: dict[str, Any] = {} if chunks is None else {"chunks": tuple(chunks)}
    if codecs:
        found["codecs"] = codecs
    return found


def _hdf5_compressor(words: dict[str, Any]) -> dict[str, Any] | None:
    """Return the compressor in Swath's terms; blosc's own one may be in the name, as in netCDF: "blosc_lz4"."""
    name = words.get("compression") or next((n for n in ("zlib", "zstd", "blosc") if words.get(n)), None)
    if name is None:
        return None
    settings: dict[str, Any] = {}
    level = words.get("complevel", words.get("compression_opts"))
    if isinstance(level, int) and (level or name not in ("zstd", "blosc")):
        settings["level"] = level
    blosc = words.get("blosc")
    if isinstance(blosc, dict):
        name, words = blosc["compressor"], {"blosc_shuffle": blosc["shuffle"]}
    if str(name).startswith("blosc"):
        own = str(name).removeprefix("blosc_")
        settings = {"clevel": settings.get("level", 4), "shuffle": _SHUFFLES_OF_BLOSC[words.get("blosc_shuffle", 1)]}
        settings |= {"cname": "blosclz" if own == "lz" else own} if own != "blosc" else {}
        name = "blosc"
    return {"name": str(name), "configuration": settings}


def _of_zarr(variable: xr.Variable) -> dict[str, Any]:
    words = variable.encoding
    found: dict[str, Any] = {}
    chunks = words.get("chunks")
    if chunks is None and variable.chunks is not None:
        chunks = tuple(max(along[0], 1) for along in variable.chunks)
    for name, lengths in (("chunks", chunks), ("shards", words.get("shards"))):
        if isinstance(lengths, int):
            found[name] = (lengths,) * variable.ndim
        elif lengths is not None and len(lengths) == variable.ndim:
            found[name] = tuple(lengths)
    codecs = [*_listed(words.get("filters")), *_listed(words.get("compressors", words.get("compressor")))]
    if codecs or "compressors" in words:
        found["codecs"] = [_as_words(codec) for codec in codecs]
    return found


def _listed(value: Any) -> list[Any]:
    if value is None or value == "auto":
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _as_words(codec: Any) -> Any:
    """Return a codec of the zarr package, of numcodecs, or of their metadata, as a name and its settings."""
    if hasattr(codec, "to_dict"):
        return codec.to_dict()
    words = codec.get_config() if hasattr(codec, "get_config") else codec
    if isinstance(words, str) or "id" not in words:
        return words
    settings = {name: value for name, value in words.items() if name != "id"}
    if words["id"] == "blosc":
        shuffle = settings.pop("shuffle", -1)
        settings |= {} if shuffle == -1 else {"shuffle": _SHUFFLES_OF_BLOSC[shuffle]}
    return {"name": words["id"], "configuration": settings}

"""Chunks and codecs of `File.create` from a variable's encoding, in the words of xarray's netcdf4 and zarr engines."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

import xarray as xr

from swath.errors import ArgumentError

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
    "endian",
}
_OF_ZARR = {"chunks", "shards", "compressors", "compressor", "filters", "serializer", "fill_value"}
_WORDS = {"netcdf-classic": set[str](), "netcdf4": _OF_HDF5, "hdf5": _OF_HDF5, "zarr": _OF_ZARR}


def storage_of(
    variable: xr.Variable,
    format: str,  # noqa: A002
    unlimited: Collection[Hashable],
    *,
    is_strict: bool,
) -> dict[str, Any]:
    """Return `chunks`, `shards` and `codecs` for a variable, as far as its encoding says them.

    What other formats say of it is left out, unless `is_strict`: then it is an ArgumentError.
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
    if words.get("shuffle", compressor is not None and compressor["name"] != "blosc"):
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
    name = words.get("compression") or next((n for n in ("zlib", "zstd", "blosc") if words.get(n)), None)
    if name is None:
        return None
    level = words.get("complevel", words.get("compression_opts"))
    has_level = isinstance(level, int) and str(name) in ("zlib", "gzip", "zstd")
    return {"name": str(name), "configuration": {"level": level}} if has_level else {"name": str(name)}


def _of_zarr(variable: xr.Variable) -> dict[str, Any]:
    words = variable.encoding
    found: dict[str, Any] = {}
    chunks = words.get("chunks")
    if chunks is None and variable.chunks is not None:
        chunks = tuple(along[0] for along in variable.chunks)
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
    """Return a codec of the zarr package (`to_dict`) or of numcodecs (`get_config`) as a name and its settings."""
    if isinstance(codec, (str, dict)):
        return codec
    if hasattr(codec, "to_dict"):
        return codec.to_dict()
    settings = dict(codec.get_config())
    return {"name": settings.pop("id"), "configuration": settings}

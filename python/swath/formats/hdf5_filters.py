"""Converts HDF5's filters to and from the core's codecs: the user's options, and the filters of datasets.

Sources: HDF5's filter pipeline, and the parameters of the registered filters (32001 Blosc, 32004 LZ4, 32015 Zstandard).
These three are not HDF5's own: other readers need hdf5plugin, Swath has them itself.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import Any

from swath.errors import ArgumentError, UnsupportedError
from swath.formats.codecs import Dialect, asked
from swath.formats.description import Codec

DEFLATE, SHUFFLE, FLETCHER32, BLOSC, LZ4, ZSTD = 1, 2, 3, 32001, 32004, 32015
NAMES = {
    "zlib": "zlib",
    "gzip": "zlib",
    "deflate": "zlib",
    "shuffle": "shuffle",
    "fletcher32": "fletcher32",
    "zstd": "zstd",
    "blosc": "blosc",
    "lz4": "hdf5-lz4",
}
"""The user's names, and the core's codecs."""
CHUNK_BYTES = 1 << 20
"""The default size of a chunk: HDF5's readers cache this many decoded bytes."""

_COMPRESSORS = ("zlib", "zstd", "blosc", "hdf5-lz4")
_PLUGINS = {"zstd": ZSTD, "blosc": BLOSC, "hdf5-lz4": LZ4}


# ---- What a new dataset is to have -----------------------------------------------------------------------------------


def asked_codecs(codecs: Any, itemsize: int) -> tuple[Codec, ...]:
    """Return the codecs for HDF5, also netCDF-4, from the argument of `create`; none for None.

    Raises ArgumentError for a codec that HDF5 lacks, or an order that makes no sense, UnsupportedError for one that
    this build, or this machine's HDF5, lacks.
    """
    defaults = {"zlib": {"level": 4}, "zstd": {"level": 3}, "shuffle": {"elementsize": itemsize}}
    found = asked([] if codecs is None else codecs, itemsize, Dialect(NAMES, defaults))
    names = [codec.name for codec in found]
    if len(set(names)) < len(names):
        raise ArgumentError(f"codecs: HDF5 has each filter once at most, not {', '.join(names)}")
    compressors = [place for place, name in enumerate(names) if name in _COMPRESSORS]
    if "shuffle" in names and compressors and names.index("shuffle") > compressors[0]:
        raise ArgumentError(
            f"codecs: shuffle helps the compressor that follows it; put it before {names[compressors[0]]}"
        )
    for name in names:
        _need_filter(name)
    return found


@functools.cache
def _need_filter(name: str) -> None:
    """Load the filter into h5py's HDF5, which needs it to create a dataset; UnsupportedError if there is none.

    hdf5plugin's filter replaces any other: those of netCDF4 call another HDF5 library.
    """
    if name not in _PLUGINS:
        return
    with contextlib.suppress(ImportError):
        import hdf5plugin

        hdf5plugin.register(_called(name), force=True)
    if not _h5z().filter_avail(_PLUGINS[name]):
        raise UnsupportedError(
            f"codecs: {_called(name)} is no filter of HDF5's own: who creates it, or reads it otherwise than by Swath, "
            "needs hdf5plugin: pip install hdf5plugin"
        )


def _called(name: str) -> str:
    return next(called for called, core in NAMES.items() if core == name)


# ---- What a dataset has ----------------------------------------------------------------------------------------------


def missing_filters(plist: Any) -> list[str]:
    """Return descriptions of the filters that h5py's HDF5 lacks, even with hdf5plugin, if that is installed."""
    several = [plist.get_filter(place) for place in range(plist.get_nfilters())]
    return [f"{code} ({name.decode(errors='replace')})" for code, _, _, name in several if not _is_there(code)]


def register_plugins() -> bool:
    """Register the filters of hdf5plugin; False if it is not installed, or if they are registered already."""
    if "hdf5plugin" in sys.modules:
        return False
    with contextlib.suppress(ImportError, OSError):
        import hdf5plugin  # noqa: F401  the import registers its filters
    return sys.modules.get("hdf5plugin") is not None


def _is_there(code: int) -> bool:
    h5z = _h5z()
    if not h5z.filter_avail(code):
        with contextlib.suppress(ImportError, OSError):
            import hdf5plugin  # noqa: F401  the import registers its filters
    return bool(h5z.filter_avail(code))


def _h5z() -> Any:
    import h5py

    return h5py.h5z

"""HDF5's filters, to and from the core's codecs: what users ask for, and what datasets say was done to their chunks.

Sources: HDF5's filter pipeline, and of the registered filters how each takes its numbers (32001 Blosc, 32004 LZ4,
32015 Zstandard). Those three are not HDF5's own: other readers have them by hdf5plugin, Swath by itself.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

from swath import _core
from swath.errors import ArgumentError, UnsupportedError
from swath.formats.codecs import BLOSC_COMPRESSORS, Dialect, asked
from swath.formats.default_chunks import default_chunks
from swath.formats.description import Codec, NewArray

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
"""What users may ask for, and the core's codec."""
CHUNK_BYTES = 1 << 20
"""Of a chunk where `create` is not told: HDF5's readers keep so much decoded."""

_COMPRESSORS = ("zlib", "zstd", "blosc", "hdf5-lz4")
_PLUGINS = {"zstd": ZSTD, "blosc": BLOSC, "hdf5-lz4": LZ4}
_LZ4_BLOCK_BYTES_MIN = 64
"""Of smaller blocks what is stored is longer than the core takes a chunk to be."""
_LEVEL_MAX = 9


# ---- What a new dataset is to have -----------------------------------------------------------------------------------


def asked_codecs(codecs: Any, itemsize: int) -> tuple[Codec, ...]:
    """What `create` is given as codecs of HDF5, netCDF-4 too; none for None.

    Raises ArgumentError for one that HDF5 has not, or an order that makes no sense, UnsupportedError for one that this
    build, or this machine's HDF5, has not.
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


def new_chunks(new: NewArray, codecs: Sequence[Codec]) -> tuple[int, ...] | None:
    """Return the shape of a new dataset's chunks, which by default has them where it has codecs; None for contiguous.

    Raises ArgumentError where there can be no chunks, or no codecs.
    """
    if new.shards is not None:
        raise ArgumentError("shards=: HDF5 has none; leave it out, or create a .zarr store")
    if not codecs or new.chunks is not None:
        return new.chunks
    if not new.shape:
        raise ArgumentError("codecs=: HDF5 stores a scalar as it is; leave them out")
    return default_chunks(new.shape, new.dtype.itemsize, CHUNK_BYTES)


def set_filters(plist: Any, codecs: Sequence[Codec]) -> None:
    """Put codecs into the properties (h5py's) that a dataset is created with."""
    h5z = _h5z()
    for codec in codecs:
        settings = dict(codec.settings)
        if codec.name == "zlib":
            plist.set_deflate(settings["level"])
        elif codec.name == "shuffle":
            plist.set_shuffle()
        elif codec.name == "fletcher32":
            plist.set_fletcher32()
        elif codec.name == "zstd":
            plist.set_filter(ZSTD, h5z.FLAG_OPTIONAL, (int(settings["level"]) & 0xFFFFFFFF,))
        elif codec.name == "hdf5-lz4":
            plist.set_filter(LZ4, h5z.FLAG_OPTIONAL, (int(settings["block_bytes"]),))
        else:
            compressor = BLOSC_COMPRESSORS.index(str(settings["compressor"]))
            numbers = (0, 0, 0, 0, int(settings["level"]), int(settings["shuffle"]), compressor)
            plist.set_filter(BLOSC, h5z.FLAG_OPTIONAL, numbers)  # the filter itself sets the first four


def check_kept(plist: Any, codecs: Sequence[Codec]) -> None:
    """Raise ArgumentError where the properties of a created dataset say something else than was asked for."""
    for wanted, kept in zip(codecs, codecs_of(plist), strict=True):
        for setting, value in wanted.settings:
            if dict(kept.settings).get(setting, value) != value or (setting not in dict(kept.settings) and value):
                raise ArgumentError(
                    f"codecs: HDF5's {wanted.name} keeps no {setting}={value}; leave it out, or create a .zarr store"
                )


@functools.cache
def _need_filter(name: str) -> None:
    """Have the filter in h5py's HDF5, which needs it to create a dataset; UnsupportedError where there is none.

    hdf5plugin's takes the place of any other: those that netCDF4 brings along call another HDF5 library.
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


def codecs_of(plist: Any) -> tuple[Codec, ...]:
    """Return the filters in the order of writing, where Swath has all of them; else none, and the library must."""
    found = []
    for place in range(plist.get_nfilters()):
        code, _, numbers, _ = plist.get_filter(place)
        codec = _READERS[code](tuple(map(int, numbers))) if code in _READERS else None
        if codec is None or not _is_built_in(codec.name):
            return ()
        found.append(codec)
    return tuple(found)


def _is_built_in(name: str) -> bool:
    try:
        _core.check_codec(name)
    except UnsupportedError:
        return False
    return True


Numbers = tuple[int, ...]


def _deflate(numbers: Numbers) -> Codec | None:
    level = numbers[0] if numbers else 6
    return Codec("zlib", (("level", level),)) if level <= _LEVEL_MAX else None


def _shuffle(numbers: Numbers) -> Codec | None:
    return Codec("shuffle", (("element_bytes", numbers[0]),)) if numbers else None


def _fletcher32(_: Numbers) -> Codec:
    return Codec("fletcher32")


def _zstd(numbers: Numbers) -> Codec:
    level = numbers[0] if numbers else 3
    return Codec("zstd", (("level", level - (1 << 32) if level >= 1 << 31 else level),))


def _lz4(numbers: Numbers) -> Codec | None:
    block_bytes = numbers[0] if numbers else 0
    if 0 < block_bytes < _LZ4_BLOCK_BYTES_MIN:
        return None
    return Codec("hdf5-lz4", (("block_bytes", block_bytes),))


def _blosc(numbers: Numbers) -> Codec | None:
    """Of numbers that are not there the filter has these defaults."""
    _, _, element_bytes, _, level, shuffle, code = (*numbers[:7], *(0, 0, 1, 0, 5, 1, 0)[len(numbers) :])
    if code >= len(BLOSC_COMPRESSORS) or shuffle not in (0, 1, 2) or level > _LEVEL_MAX:
        return None
    compressor = BLOSC_COMPRESSORS[code]
    settings: dict[str, int | str] = {
        "compressor": compressor,
        "level": level,
        "shuffle": shuffle,
        "element_bytes": max(element_bytes, 1),
    }
    return Codec("blosc", tuple(settings.items()))


_READERS: dict[int, Callable[[Numbers], Codec | None]] = {
    DEFLATE: _deflate,
    SHUFFLE: _shuffle,
    FLETCHER32: _fletcher32,
    BLOSC: _blosc,
    LZ4: _lz4,
    ZSTD: _zstd,
}


def _h5z() -> Any:
    import h5py

    return h5py.h5z

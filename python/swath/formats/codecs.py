"""Codecs as users and metadata in JSON name them, turned into the core's (core/chunks/codec.h); all formats share this.

asked(["shuffle", {"name": "zlib", "configuration": {"level": 4}}], 8, Dialect())
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from swath import _core
from swath.errors import ArgumentError, FormatError, UnsupportedError
from swath.formats.description import Codec
from swath.formats.json_fields import Field

BLOSC_SHUFFLES = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}
BLOSC_COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
"""By the numbers that Blosc gives them."""
_LEVELS = {"zstd": (-131072, 22), "gzip": (0, 9), "zlib": (0, 9), "blosc": (0, 9)}
_DEFAULT_LEVELS = {"zstd": 0, "gzip": 5, "zlib": 1, "blosc": 5, "lz4": 1}


@dataclass(frozen=True)
class Dialect:
    """What the users of a format call codecs.

    Attributes:
        names: the core's codecs by what they are called; None for their own names.
        defaults: what a configuration has where it is not said, by the core's name of the codec.
    """

    names: Mapping[str, str] | None = None
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def codec(self, name: str) -> str:
        """Return the core's name of a codec; ArgumentError where the format has none that is called so."""
        if self.names is None:
            return name
        if name not in self.names:
            raise ArgumentError(f"codecs: {name!r} is not one of {', '.join(self.names)}")
        return self.names[name]


def asked(codecs: Any, itemsize: int, dialect: Dialect) -> tuple[Codec, ...]:
    """What `create` is given as codecs: one or several, each a name or {"name": …, "configuration": …} as in Zarr 3.

    Raises ArgumentError for one that cannot be, UnsupportedError for one that this build has not.
    """
    several = [codecs] if isinstance(codecs, (str, Mapping)) else codecs
    if not isinstance(several, Sequence):
        raise ArgumentError(f'codecs: expected names such as "zlib", or a list of codecs, not {codecs!r}')
    try:
        return tuple(_asked_one(codec, itemsize, dialect) for codec in several)
    except FormatError as error:
        raise ArgumentError(str(error)) from None


def _asked_one(codec: Any, itemsize: int, dialect: Dialect) -> Codec:
    called, settings = Field(dict(codec) if isinstance(codec, Mapping) else codec, "codecs").named()
    name = dialect.codec(called.removeprefix("numcodecs."))
    known = Field({**dialect.defaults.get(name, {}), **settings.members()}, settings.file, settings.key)
    return codec_of(name, known, itemsize)


def codec_of(name: str, settings: Field, itemsize: int) -> Codec:
    """Return the core's codec, configured as numcodecs and Zarr's version 3 do.

    Raises FormatError for a configuration that cannot be, UnsupportedError for a codec that this build has not.
    """
    try:
        _core.check_codec(name)
    except UnsupportedError as error:
        raise UnsupportedError(f"{settings.file}: {error}") from None
    if name == "crc32c" and settings.of("location").text(("start", "end"), default="end") == "start":
        raise UnsupportedError(f"{settings.file}: crc32c at the start of a chunk")
    return Codec(name, tuple(_settings_of(name, settings, itemsize).items()))


def _settings_of(name: str, settings: Field, itemsize: int) -> dict[str, int | str]:
    if name == "blosc":
        return {
            "compressor": settings.of("cname").text(BLOSC_COMPRESSORS, default="lz4"),
            "level": _level(name, settings.of("clevel")),
            "shuffle": _shuffle(settings.of("shuffle"), itemsize),
            "element_bytes": _size(settings.of("typesize"), itemsize),
            "block_bytes": _size(settings.of("blocksize"), 0),
        }
    if name == "shuffle":
        return {"element_bytes": _size(settings.of("elementsize"), 4)}
    if name == "zstd":
        return {"level": _level(name, settings.of("level")), "checksum": int(settings.of("checksum").flag())}
    if name == "lz4":
        return {"level": _size(settings.of("acceleration"), 1)}
    if name == "hdf5-lz4":
        return {"block_bytes": _size(settings.of("blocksize"), 0)}
    if name in ("gzip", "zlib"):
        return {"level": _level(name, settings.of("level"))}
    return {}


def _shuffle(shuffle: Field, itemsize: int) -> int:
    if isinstance(shuffle.value, str):
        return BLOSC_SHUFFLES[shuffle.text(tuple(BLOSC_SHUFFLES))]
    found = shuffle.integer(-1, 2, default=1)
    return found if found >= 0 else (2 if itemsize == 1 else 1)  # numcodecs: bits of single bytes, else bytes


def _size(size: Field, default: int) -> int:
    """Return the size of an element or a block; 0 stands for the default."""
    return size.integer(0, 2**31 - 1, default=0) or default


def _level(name: str, level: Field) -> int:
    low, high = _LEVELS[name]
    if level.value == -1 and name in ("gzip", "zlib"):
        return 6  # what zlib takes it for
    return level.integer(low, high, default=_DEFAULT_LEVELS[name])

"""Codecs as Zarr's metadata write them, to and from the core's (core/chunks/codec.h).

Sources: Zarr version 3 and its registered codecs; for version 2 numcodecs' configurations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from swath import _core
from swath.errors import ArgumentError, FormatError, UnsupportedError
from swath.formats.description import Codec
from swath.formats.json_fields import Field

_BLOSC_SHUFFLES = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}
_BLOSC_COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
_LEVELS = {"zstd": (-131072, 22), "gzip": (0, 9), "zlib": (0, 9), "blosc": (0, 9)}
_DEFAULT_LEVELS = {"zstd": 0, "gzip": 5, "zlib": 1, "blosc": 5, "lz4": 1}


@dataclass(frozen=True)
class Chain:
    """What a version 3 array's `codecs` say: how a chunk's elements follow each other, and what is done to its bytes.

    Attributes:
        order: dimensions of a chunk from slowest to fastest.
        endian: "<" or ">".
        codecs: bytes to bytes.
        sharding: the configuration of `sharding_indexed`; `order`, `endian` and `codecs` are then unused.
    """

    order: tuple[int, ...]
    endian: str
    codecs: tuple[Codec, ...]
    sharding: Field | None = None


def chain_of_v3(codecs: Field, ndim: int, itemsize: int) -> Chain:
    """Return the codecs of an array of `ndim` dimensions; UnsupportedError for one that Swath has not."""
    several = list(codecs.items())
    order = tuple(range(ndim))
    endian = ""
    found: list[Codec] = []
    for codec in several:
        name, settings = codec.named()
        if name == "transpose" and not endian:
            order = tuple(order[d] for d in _permutation(settings.of("order"), ndim))
        elif name == "bytes" and not endian:
            endian = "<" if settings.of("endian").text(("little", "big"), default="little") == "little" else ">"
        elif name == "sharding_indexed" and not endian:
            if len(several) > 1:
                raise UnsupportedError(f"{codecs.file}: {codecs.key}: Swath reads shards that no other codec changes")
            return Chain(order, "<", (), settings)
        elif endian:
            found.append(_codec_of(name.removeprefix("numcodecs."), settings, itemsize))
        else:
            raise UnsupportedError(f"{codec.file}: codec {name!r} is not one of transpose, bytes and sharding_indexed")
    if not endian:
        raise codecs.wrong('codecs of which one makes bytes, such as {"name": "bytes"}')
    return Chain(order, endian, tuple(found))


def _permutation(order: Field, ndim: int) -> tuple[int, ...]:
    if order.value in ("C", "F"):
        return tuple(range(ndim)) if order.value == "C" else tuple(reversed(range(ndim)))
    found = order.lengths(least=0)
    if sorted(found) != list(range(ndim)):
        raise order.wrong(f"each of the {ndim} dimensions that transpose is to reorder once")
    return found


def codecs_of_v2(filters: Field, compressor: Field, itemsize: int) -> tuple[Codec, ...]:
    """Filters and compressor of version 2, in the order of encoding."""
    several = [*filters.items(), *([compressor] if compressor.value is not None else [])]
    return tuple(_codec_of(codec.of("id").text(), codec, itemsize) for codec in several)


def _codec_of(name: str, settings: Field, itemsize: int) -> Codec:
    """Return the core's codec; FormatError for a configuration that cannot be."""
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
            "compressor": settings.of("cname").text(_BLOSC_COMPRESSORS, default="lz4"),
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
    if name in ("gzip", "zlib"):
        return {"level": _level(name, settings.of("level"))}
    return {}


def _shuffle(shuffle: Field, itemsize: int) -> int:
    if isinstance(shuffle.value, str):
        return _BLOSC_SHUFFLES[shuffle.text(tuple(_BLOSC_SHUFFLES))]
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


def asked_codecs(codecs: Any, itemsize: int) -> tuple[Codec, ...]:
    """What `create` is given as codecs: one or several, each a name or {"name": …, "configuration": …} as in version 3.

    Raises ArgumentError for one that cannot be, UnsupportedError for one that this build has not.
    """
    if codecs is None:
        codecs = "zstd"
    several = [codecs] if isinstance(codecs, (str, Mapping)) else codecs
    if not isinstance(several, Sequence):
        raise ArgumentError(f'codecs: expected names such as "zstd", or a list of codecs, not {codecs!r}')
    try:
        return tuple(_asked_codec(codec, itemsize) for codec in several)
    except FormatError as error:
        raise ArgumentError(str(error)) from None


def _asked_codec(codec: Any, itemsize: int) -> Codec:
    name, settings = Field(dict(codec) if isinstance(codec, Mapping) else codec, "codecs").named()
    name = name.removeprefix("numcodecs.")
    if name == "shuffle":
        settings = Field({"elementsize": itemsize, **settings.members()}, settings.file, settings.key)
    return _codec_of(name, settings, itemsize)


def codec_to_v3(codec: Codec) -> dict[str, Any]:
    """Return the codec as metadata of version 3; those that are not registered have numcodecs' names."""
    settings = dict(codec.settings)
    if codec.name == "blosc":
        shuffles = {number: word for word, number in _BLOSC_SHUFFLES.items()}
        return {
            "name": "blosc",
            "configuration": {
                "cname": settings["compressor"],
                "clevel": settings["level"],
                "shuffle": shuffles[int(settings["shuffle"])],
                "typesize": settings["element_bytes"],
                "blocksize": settings["block_bytes"],
            },
        }
    if codec.name == "zstd":
        return {"name": "zstd", "configuration": {"level": settings["level"], "checksum": bool(settings["checksum"])}}
    if codec.name == "gzip":
        return {"name": "gzip", "configuration": {"level": settings["level"]}}
    if codec.name == "crc32c":
        return {"name": "crc32c"}
    return {
        "name": f"numcodecs.{codec.name}",
        "configuration": {k: v for k, v in codec_to_v2(codec).items() if k != "id"},
    }


def codec_to_v2(codec: Codec) -> dict[str, Any]:
    """Return the codec as numcodecs configures it."""
    settings = dict(codec.settings)
    if codec.name == "blosc":
        return {
            "id": "blosc",
            "cname": settings["compressor"],
            "clevel": settings["level"],
            "shuffle": settings["shuffle"],
            "blocksize": settings["block_bytes"],
        }
    own = {
        "zstd": {"level": settings.get("level"), "checksum": bool(settings.get("checksum"))},
        "gzip": {"level": settings.get("level")},
        "zlib": {"level": settings.get("level")},
        "lz4": {"acceleration": settings.get("level")},
        "shuffle": {"elementsize": settings.get("element_bytes")},
    }
    return {"id": codec.name, **own.get(codec.name, {})}

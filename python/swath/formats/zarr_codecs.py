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
    sharding: dict[str, Any] | None = None


def chain_of_v3(codecs: Any, ndim: int, itemsize: int, where: str) -> Chain:
    """The codecs of an array of `ndim` dimensions; UnsupportedError for one that Swath has not."""
    if not isinstance(codecs, list) or not codecs:
        raise FormatError(f"{where}: codecs: expected a list of codecs, not {codecs!r}")
    order = tuple(range(ndim))
    endian = ""
    found: list[Codec] = []
    for position, codec in enumerate(codecs):
        name, settings = _named(codec, where)
        if name == "transpose" and not endian:
            order = tuple(order[d] for d in _permutation(settings.get("order"), ndim, where))
        elif name == "bytes" and not endian:
            endian = _endian(settings, where)
        elif name == "sharding_indexed" and not endian:
            if position > 0 or len(codecs) > 1:
                raise UnsupportedError(f"{where}: Swath reads shards that no other codec changes, not {codecs!r}")
            return Chain(order, "<", (), settings)
        elif endian:
            found.append(_codec_of(name.removeprefix("numcodecs."), settings, itemsize, where))
        else:
            raise UnsupportedError(f"{where}: codec {name!r} is not one of transpose, bytes and sharding_indexed")
    if not endian:
        raise FormatError(f'{where}: codecs have none that makes bytes, such as {{"name": "bytes"}}')
    return Chain(order, endian, tuple(found))


def _named(codec: Any, where: str) -> tuple[str, dict[str, Any]]:
    """Name and configuration; a name alone is short for one without."""
    if isinstance(codec, str):
        return codec, {}
    if not isinstance(codec, dict) or not isinstance(codec.get("name"), str):
        raise FormatError(f"{where}: codec {codec!r} has no name")
    settings = codec.get("configuration") or {}
    if not isinstance(settings, dict):
        raise FormatError(f"{where}: codec {codec['name']!r}: configuration {settings!r} is no object")
    return codec["name"], settings


def _permutation(order: Any, ndim: int, where: str) -> tuple[int, ...]:
    if order == "C":
        return tuple(range(ndim))
    if order == "F":
        return tuple(reversed(range(ndim)))
    if not isinstance(order, list) or sorted(map(str, order)) != sorted(map(str, range(ndim))):
        raise FormatError(f"{where}: transpose: order {order!r} is no permutation of {ndim} dimensions")
    return tuple(order)


def _endian(settings: Mapping[str, Any], where: str) -> str:
    endian = settings.get("endian") or "little"
    if endian not in ("little", "big"):
        raise FormatError(f"{where}: bytes: endian {endian!r}; expected little or big")
    return "<" if endian == "little" else ">"


def codecs_of_v2(filters: Any, compressor: Any, itemsize: int, where: str) -> tuple[Codec, ...]:
    """Filters and compressor of version 2, in the order of encoding."""
    found = []
    for codec in [*(filters or []), *([compressor] if compressor else [])]:
        if not isinstance(codec, dict) or not isinstance(codec.get("id"), str):
            raise FormatError(f"{where}: codec {codec!r} has no id")
        found.append(_codec_of(codec["id"], codec, itemsize, where))
    return tuple(found)


def _codec_of(name: str, settings: Mapping[str, Any], itemsize: int, where: str) -> Codec:
    """The core's codec; FormatError for a configuration that cannot be."""
    if name == "crc32c" and settings.get("location") == "start":
        raise UnsupportedError(f"{where}: crc32c at the start of a chunk")
    try:
        _core.check_codec(name)
        return Codec(name, tuple(_settings_of(name, settings, itemsize).items()))
    except UnsupportedError as error:
        raise UnsupportedError(f"{where}: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{where}: codec {name}: the configuration {dict(settings)} cannot be: {error!r}") from None


def _settings_of(name: str, settings: Mapping[str, Any], itemsize: int) -> dict[str, int | str]:
    if name == "blosc":
        compressor = str(settings.get("cname", "lz4"))
        if compressor not in _BLOSC_COMPRESSORS:
            raise ValueError(compressor)
        shuffle = settings.get("shuffle", 1)
        if shuffle == -1:  # numcodecs: bits of single bytes, else bytes
            shuffle = 2 if itemsize == 1 else 1
        return {
            "compressor": compressor,
            "level": _level(name, settings.get("clevel")),
            "shuffle": _BLOSC_SHUFFLES[shuffle] if isinstance(shuffle, str) else int(shuffle),
            "element_bytes": int(settings.get("typesize") or itemsize),
            "block_bytes": int(settings.get("blocksize") or 0),
        }
    if name == "shuffle":
        return {"element_bytes": int(settings.get("elementsize") or 4)}
    if name == "zstd":
        return {"level": _level(name, settings.get("level")), "checksum": int(bool(settings.get("checksum")))}
    if name == "lz4":
        return {"level": int(settings.get("acceleration") or 1)}
    if name in ("gzip", "zlib"):
        return {"level": _level(name, settings.get("level"))}
    return {}


def _level(name: str, level: Any) -> int:
    chosen = _DEFAULT_LEVELS[name] if level is None else int(level)
    low, high = _LEVELS[name]
    if chosen == -1 and name in ("gzip", "zlib"):
        return 6  # what zlib takes it for
    if not low <= chosen <= high:
        raise ValueError(f"level {chosen} is not {low} to {high}")
    return chosen


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
    name, settings = _named(dict(codec) if isinstance(codec, Mapping) else codec, "codecs")
    name = name.removeprefix("numcodecs.")
    if name == "shuffle":
        settings = {"elementsize": itemsize, **settings}
    return _codec_of(name, settings, itemsize, "codecs")


def codec_to_v3(codec: Codec) -> dict[str, Any]:
    """The codec as metadata of version 3; those that are not registered have numcodecs' names."""
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
    """The codec as numcodecs configures it."""
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

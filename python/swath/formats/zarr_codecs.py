"""Codecs as Zarr's metadata write them, to and from the core's (core/chunks/codec.h).

Sources: Zarr version 3 and its registered codecs; for version 2 numcodecs' configurations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from swath.errors import UnsupportedError
from swath.formats.codecs import BLOSC_SHUFFLES, Dialect, asked, codec_of
from swath.formats.description import Codec
from swath.formats.json_fields import Field


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
            found.append(codec_of(name.removeprefix("numcodecs."), settings, itemsize))
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
    return tuple(codec_of(codec.of("id").text(), codec, itemsize) for codec in several)


def asked_codecs(codecs: Any, itemsize: int) -> tuple[Codec, ...]:
    """What `create` is given as codecs; see swath.formats.codecs."""
    dialect = Dialect(defaults={"shuffle": {"elementsize": itemsize}})
    return asked("zstd" if codecs is None else codecs, itemsize, dialect)


def codec_to_v3(codec: Codec) -> dict[str, Any]:
    """Return the codec as metadata of version 3; those that are not registered have numcodecs' names."""
    settings = dict(codec.settings)
    if codec.name == "blosc":
        shuffles = {number: word for word, number in BLOSC_SHUFFLES.items()}
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

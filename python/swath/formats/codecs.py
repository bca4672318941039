"""Converts names of codecs, from users and JSON metadata, to the core's (core/chunks/codec.h), for all formats.

asked(["shuffle", {"name": "zlib", "configuration": {"level": 4}}], 8, Dialect())
"""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from swath import _core
from swath.errors import ArgumentError, FormatError, UnsupportedError
from swath.formats.description import Codec


@dataclass(frozen=True)
class Dialect:
    """A format's names of codecs.

    Attributes:
        names: the core's codecs by the format's names; None for the core's own names.
        defaults: default settings, by the core's name of the codec.
    """

    names: Mapping[str, str] | None = None
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def codec(self, name: str) -> str:
        """Return the core's name of a codec; ArgumentError if the format has no codec of that name."""
        if self.names is None:
            return name
        if name not in self.names:
            raise ArgumentError(f"codecs: {name!r} is not one of {', '.join(self.names)}")
        return self.names[name]


def asked(codecs: Any, itemsize: int, dialect: Dialect) -> tuple[Codec, ...]:
    """Return the codecs for the argument of `create`: one or several, each a name or {"name": …, "configuration": …}.

    Raises ArgumentError for an impossible codec, UnsupportedError for one that this build lacks.
    """
    several = [codecs] if isinstance(codecs, (str, Mapping)) else codecs
    if not isinstance(several, Sequence):
        raise ArgumentError(f'codecs: expected names such as "zlib", or a list of codecs, not {codecs!r}')
    try:
        return tuple(_asked_one(codec, itemsize, dialect) for codec in several)
    except FormatError as error:
        raise ArgumentError(str(error)) from None


def _asked_one(codec: Any, itemsize: int, dialect: Dialect) -> Codec:
    called, settings = _named(codec)
    name = dialect.codec(called.removeprefix("numcodecs."))
    return codec_of(name, {**dialect.defaults.get(name, {}), **settings}, itemsize)


def _named(codec: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the configuration of an argument; a name alone has no configuration."""
    called, settings = (codec.get("name"), codec.get("configuration")) if isinstance(codec, Mapping) else (codec, None)
    if not isinstance(called, str):
        raise ArgumentError(f"codecs: expected a name, or a name and its configuration, not {codec!r}")
    if not isinstance(settings, Mapping | None):
        raise ArgumentError(f"codecs: configuration: expected an object, not {settings!r}")
    return called, settings or {}


def is_built(name: str) -> bool:
    """Return whether this build has the core's codec of that name."""
    try:
        _core.check_codec(name)
    except UnsupportedError:
        return False
    return True


def codec_of(name: str, settings: Mapping[str, Any], itemsize: int) -> Codec:
    """Return the core's codec for a configuration of numcodecs and Zarr's version 3.

    Raises FormatError for an impossible configuration, UnsupportedError for a codec that this build lacks.
    """
    try:
        text = json.dumps(dict(settings), default=operator.index)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"codecs: configuration of {name}: {error}") from None
    return _core.codec_of(name, text, itemsize)

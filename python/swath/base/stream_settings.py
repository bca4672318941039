"""Settings of the throttling of streams.

The argument `streams=` overrides the environment ($SWATH_STREAMS, $SWATH_STREAMS_SCOPE, $SWATH_STREAMS_TARGET,
$SWATH_STREAMS_BURST), which overrides the file $XDG_CONFIG_HOME/swath/swath.ini:

    [streams]
    streams = auto          ; auto, none, a number, or read=4,write=auto
    scope = job             ; or user: all processes of this user on this node
    target = scratch        ; a name for the target, instead of the detected device
    burst = 4MiB
"""

from __future__ import annotations

import configparser
import dataclasses
import functools
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from swath.base import own_files
from swath.errors import ArgumentError

Streams = int | str | Mapping[str, "int | str | None"] | None
"""Values of `streams=`: "auto", None (no limit), a number, or one of these for "read" and for "write"."""

AUTO = 0
"""In a `Limit`: the target's controller decides."""
Limit = int | None
BURST_BYTES = 4 << 20


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of the throttling.

    Attributes:
        reads, writes: streams that a target serves at a time; AUTO (0): found during the run; None: not throttled.
        scope: "job", or "user" to share tokens with this user's other programs on this node.
        target: the target's name, if it is given.
        burst_bytes: the least bytes that a stream moves in one turn.
        direct_writes: writes that a pool's server serves at a time; no kernel buffers them, so a number for reads
            applies to them, too; None: not throttled.
    """

    reads: Limit = AUTO
    writes: Limit = None
    scope: str = "job"
    target: str | None = None
    burst_bytes: int = BURST_BYTES
    direct_writes: int | None = dataclasses.field(default=None, compare=False)

    @property
    def off(self) -> bool:
        """Whether nothing is throttled."""
        return self.reads is None and self.writes is None


def settings_for(streams: Streams = "default") -> Settings:
    """Return the settings; `streams` overrides others. Raises ArgumentError, which names the wrong setting."""
    settings = _common_settings(*(os.environ.get(variable, "") for variable in VARIABLES.values()), _configured())
    if isinstance(streams, str) and streams == "default":
        return settings
    return _with_limits(settings, "streams", streams)


VARIABLES = {
    "streams": "SWATH_STREAMS",
    "scope": "SWATH_STREAMS_SCOPE",
    "target": "SWATH_STREAMS_TARGET",
    "burst": "SWATH_STREAMS_BURST",
}


@functools.lru_cache(maxsize=16)
def _common_settings(
    streams: str, scope: str, target: str, burst: str, configured: tuple[tuple[str, str], ...]
) -> Settings:
    chosen = dict(configured)
    source = dict.fromkeys(chosen, "swath.ini")
    for key, value in zip(VARIABLES, (streams, scope, target, burst), strict=True):
        if value:
            chosen[key], source[key] = value, VARIABLES[key]
    settings = Settings()
    if "streams" in chosen:
        settings = _with_limits(settings, source["streams"], chosen["streams"])
    if "scope" in chosen:
        if chosen["scope"] not in ("job", "user"):
            raise ArgumentError(f'{source["scope"]}: scope {chosen["scope"]!r}; expected "job" or "user"')
        settings = dataclasses.replace(settings, scope=chosen["scope"])
    if "burst" in chosen:
        settings = dataclasses.replace(settings, burst_bytes=_bytes(source["burst"], chosen["burst"]))
    return dataclasses.replace(settings, target=chosen.get("target"))


def _configured() -> tuple[tuple[str, str], ...]:
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(folder):
        folder = os.path.join(os.path.expanduser("~"), ".config")
    file = os.path.join(folder, "swath", "swath.ini")
    try:
        changed = os.stat(file).st_mtime_ns
    except OSError:
        return ()
    return _configuration(file, changed)


@functools.lru_cache(maxsize=4)
def _configuration(file: str, changed: int) -> tuple[tuple[str, str], ...]:
    parser = configparser.ConfigParser(inline_comment_prefixes=(";", "#"), interpolation=None)
    try:
        parser.read_string(own_files.read_text(file), source=file)
    except (FileNotFoundError, PermissionError):
        return ()
    except OSError as error:
        raise ArgumentError(f"{file}: {error.strerror}") from None
    except (configparser.Error, UnicodeDecodeError) as error:
        raise ArgumentError(f"{file}: {' '.join(str(error).split())}") from None
    section = parser["streams"] if parser.has_section("streams") else {}
    unknown = sorted(set(section) - set(VARIABLES))
    if unknown:
        raise ArgumentError(f"{file}: [streams] {unknown[0]} is not known; expected {', '.join(VARIABLES)}")
    return tuple(sorted(section.items()))


def _with_limits(settings: Settings, source: str, streams: Any) -> Settings:
    reads, writes, direct_writes = _limits(source, streams)
    return dataclasses.replace(settings, reads=reads, writes=writes, direct_writes=direct_writes)


def _limits(source: str, streams: Any) -> tuple[Limit, Limit, int | None]:
    """Return the limits of reads, writes, direct writes. A single value applies to all but buffered writes."""
    if isinstance(streams, str) and "=" in streams:
        streams = dict(part.partition("=")[::2] for part in streams.split(","))
    if not isinstance(streams, Mapping):
        both = _limit(source, streams)
        return both, None, both or None
    unknown = [key for key in streams if str(key).strip() not in ("read", "write")]
    if unknown:
        raise ArgumentError(f'{source}: {unknown[0]!r} is not known; expected "read" or "write"')
    given = {str(key).strip(): value for key, value in streams.items()}
    defaults = Settings()
    reads = _limit(source, given["read"]) if "read" in given else defaults.reads
    writes = _limit(source, given["write"]) if "write" in given else defaults.writes
    return reads, writes, writes or None


def _limit(source: str, value: Any) -> Limit:
    if isinstance(value, str):
        word = value.strip().lower()
        if word == "auto":
            return AUTO
        if word in ("none", "off", "all"):
            return None
        if word.isdigit():
            value = int(word)
    if value is None:
        return None
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 31:
        raise ArgumentError(
            f'{source}: {value!r}; expected "auto", "none" (or None), a number of streams from 1 on, or read=…,write=…'
        )
    return value


def _bytes(source: str, text: str) -> int:
    units = {"": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
    found = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in units or int(found[1]) == 0:
        raise ArgumentError(f"{source}: burst {text!r}; expected bytes, as in 4MiB")
    return int(found[1]) * units[found[2]]

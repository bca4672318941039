"""The learned numbers of a store's streams, saved for the next run: one small JSON file per store and host.

It is next to the store's profile ($XDG_CACHE_HOME/swath/streams), and is only a start: if the throughput differs, the
controller searches again. $SWATH_PROFILE=none and $SWATH_LEARNING=0 disable it.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from swath import _core
from swath.base import own_files
from swath.store import profile

if TYPE_CHECKING:
    from swath.throttle.throttle import TargetStatus

FORMAT_VERSION = 1
LIMIT_MAX = 64
"""The most streams that a controller allows as a limit."""
PLACES = frozenset(f"{direction}/{size}" for direction in ("read", "write") for size in ("large", "medium", "small"))


class Held(NamedTuple):
    """The result of a controller: streams at a time (0: all), bytes per second with them, and the number of streams."""

    limit: int
    rate: float
    unlimited_streams: float


Targets = dict[str, dict[str, Held]]
"""{target: {"read/large": ...}}"""


def recall(path: str, target: str, tokens: _core.Tokens) -> None:
    """Let the target's controllers start with the results of an earlier run. Errors of the file are ignored."""
    if _off():
        return
    with contextlib.suppress(OSError, ValueError):
        for place, held in _read(_file_of(path)).get(target, {}).items():
            direction, _, requests = place.partition("/")
            tokens.remember(direction == "write", requests, *held)


def keep(path: str, status: TargetStatus) -> None:
    """Add the results of a target's controllers, if they are decided and new. Never raises: this is only a cache."""
    held = {
        f"{direction}/{pattern.requests}": Held(pattern.limit, pattern.rate, pattern.unlimited_streams)
        for direction, lane in (("read", status.reads), ("write", status.writes))
        for pattern in lane.patterns
        if pattern.holding and pattern.rate > 0
    }
    if _off() or not held:
        return
    with contextlib.suppress(OSError, ValueError):
        file = _file_of(path)
        try:
            targets = _read(file)
        except (OSError, ValueError):
            targets = {}
        before = targets.get(status.target, {})
        if _limits(before) == _limits(held):
            return
        targets[status.target] = {**before, **held}
        own_files.replace(file, _as_json(targets))


def _off() -> bool:
    return os.environ.get(profile.VARIABLE) == "none" or os.environ.get("SWATH_LEARNING") == "0"


def _file_of(path: str) -> str:
    kept = profile.file_of(profile.store_of(path))
    return os.path.join(os.path.dirname(os.path.dirname(kept)), "streams", os.path.basename(kept))


def _limits(places: dict[str, Held]) -> dict[str, int]:
    return {place: held.limit for place, held in places.items()}


def _read(file: str) -> Targets:
    """Return the valid parts of a file. Raises OSError; ValueError if nothing is valid."""
    plain = own_files.read_json(file)
    if not isinstance(plain, dict) or plain.get("version") != FORMAT_VERSION:
        raise ValueError(f"{file}: not of version {FORMAT_VERSION}")
    targets = plain.get("targets")
    return {target: _held(places) for target, places in targets.items()} if isinstance(targets, dict) else {}


def _held(places: Any) -> dict[str, Held]:
    known = {}
    for place, plain in places.items() if isinstance(places, dict) else ():
        with contextlib.suppress(KeyError, TypeError, ValueError):
            held = Held(int(plain["limit"]), float(plain["rate"]), float(plain["unlimited_streams"]))
            if place in PLACES and 0 <= held.limit <= LIMIT_MAX and held.rate > 0 and held.unlimited_streams >= 0:
                known[place] = held
    return known


def _as_json(targets: Targets) -> str:
    plain = {target: {place: held._asdict() for place, held in places.items()} for target, places in targets.items()}
    return json.dumps({"version": FORMAT_VERSION, "targets": plain}, indent=2, allow_nan=False) + "\n"

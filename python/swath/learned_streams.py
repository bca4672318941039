"""What was learned of a store's streams, kept for the next run: one small JSON file a store and host.

It lies beside the store's profile ($XDG_CACHE_HOME/swath/streams) and is a beginning only: where throughput is another
than it was, the controller looks again. $SWATH_PROFILE=none and $SWATH_LEARNING=0 keep it out.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from swath import _core, profile

if TYPE_CHECKING:
    from swath.throttle import TargetStatus

FORMAT_VERSION = 1


def recall(path: str, target: str, tokens: _core.Tokens) -> None:
    """Let the target's controllers begin with what an earlier run held. Whatever is wrong with the file is no error."""
    if _off():
        return
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        for place, known in _read(_file_of(path))["targets"].get(target, {}).items():
            direction, _, requests = place.partition("/")
            tokens.remember(
                direction == "write", requests, int(known["limit"]), float(known["rate"]), float(known["crowd"])
            )


def keep(path: str, status: TargetStatus) -> None:
    """Add what a target's controllers hold, where it is settled and new. Never raises: it is a memory, no result."""
    held = {
        f"{direction}/{pattern.requests}": {"limit": pattern.limit, "rate": pattern.rate, "crowd": pattern.crowd}
        for direction, lane in (("read", status.reads), ("write", status.writes))
        for pattern in lane.patterns
        if pattern.holding and pattern.rate > 0
    }
    if _off() or not held:
        return
    with contextlib.suppress(OSError):
        file = _file_of(path)
        try:
            plain = _read(file)
        except (OSError, ValueError, KeyError):
            plain = {"version": FORMAT_VERSION, "targets": {}}
        before = plain["targets"].get(status.target, {})
        if {place: known["limit"] for place, known in before.items()} == {p: k["limit"] for p, k in held.items()}:
            return
        plain["targets"][status.target] = {**before, **held}
        profile.replace_file(file, json.dumps(plain, indent=2) + "\n")


def _off() -> bool:
    return os.environ.get(profile.VARIABLE) == "none" or os.environ.get("SWATH_LEARNING") == "0"


def _file_of(path: str) -> str:
    kept = profile.file_of(profile.store_of(path))
    return os.path.join(os.path.dirname(os.path.dirname(kept)), "streams", os.path.basename(kept))


def _read(file: str) -> dict[str, Any]:
    with open(file, encoding="utf-8") as kept:
        plain = json.load(kept)
    if plain["version"] != FORMAT_VERSION or not isinstance(plain["targets"], dict):
        raise ValueError(file)
    return dict(plain)

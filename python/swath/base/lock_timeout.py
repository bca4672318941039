"""The timeout for locks of other processes."""

from __future__ import annotations

import math
import os
from typing import Any

from swath.errors import ArgumentError

ENVIRONMENT = "SWATH_LOCK_TIMEOUT"


def lock_seconds(lock_timeout: Any) -> float | None:
    """Return the seconds to wait for a lock, by default those of $SWATH_LOCK_TIMEOUT; None: no limit.

    Raises ArgumentError if this is no positive number.
    """
    where, given = "lock_timeout", lock_timeout
    if lock_timeout is None:
        where, given = f"${ENVIRONMENT}", os.environ.get(ENVIRONMENT)
        if not given:
            return None
    try:
        if isinstance(given, bool):
            raise ValueError
        seconds = float(given)
    except (TypeError, ValueError):
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise ArgumentError(f"{where}: expected a number of seconds, more than 0, not {given!r}")
    return seconds

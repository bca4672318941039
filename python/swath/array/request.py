"""What a caller asks an array for, as it was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from swath.array.places import Places
from swath.errors import ArgumentError
from swath.space import Boxes, Distribution


class Request(NamedTuple):
    """What a caller asks for, as it was given: the arguments of `Array.read` and `Array.write`."""

    direction: str
    distribution: Distribution | Boxes | Places | None
    selection: Any
    method: str = "auto"
    rank: int | None = None
    tuning: Any = None


def checked_tuning(tuning: Any) -> tuple[tuple[str, int], ...]:
    """Return `tuning` sorted by name. Raise ArgumentError where it is none."""
    if tuning is None:
        return ()
    if not isinstance(tuning, Mapping):
        raise ArgumentError(f'tuning: expected sizes by name, such as {{"window_bytes": 1 << 22}}, not {tuning!r}')
    for name, value in tuning.items():
        if not isinstance(value, (int, np.integer)) or value >= 1 << 62:
            raise ArgumentError(f"tuning: {name}: expected an integer below 2**62, not {value!r}")
    return tuple(sorted((str(name), int(value)) for name, value in tuning.items()))

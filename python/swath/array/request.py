"""The arguments of a read or write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from swath.array.places import Places
from swath.errors import ArgumentError
from swath.space import Boxes, Distribution, Shape, normalise_selection, selected_shape


class Request(NamedTuple):
    """The unchecked arguments of `Array.read` and `Array.write`."""

    direction: str
    distribution: Distribution | Boxes | Places | None
    selection: Any
    method: str = "auto"
    rank: int | None = None
    tuning: Any = None


def checked_tuning(tuning: Any) -> tuple[tuple[str, int], ...]:
    """Return `tuning` sorted by name. Raise ArgumentError if it is invalid."""
    if tuning is None:
        return ()
    if not isinstance(tuning, Mapping):
        raise ArgumentError(f'tuning: expected sizes by name, such as {{"window_bytes": 1 << 22}}, not {tuning!r}')
    for name, value in tuning.items():
        if not isinstance(value, (int, np.integer)) or value >= 1 << 62:
            raise ArgumentError(f"tuning: {name}: expected an integer below 2**62, not {value!r}")
    return tuple(sorted((str(name), int(value)) for name, value in tuning.items()))


def local_indices(shape: Shape, request: Request, rank: int) -> list[list[npt.NDArray[np.int64]]]:
    """Return the indices of each part of a rank: an ascending or descending list for each dimension of the array.

    Args:
        shape: the shape of the array.
        request: the request; places have been converted to boxes.
        rank: the rank in the communicator.
    """
    distribution = request.distribution
    if isinstance(distribution, Boxes):
        return [[np.arange(b, e) for b, e in zip(low, high, strict=True)] for low, high in distribution.boxes]
    assert not isinstance(distribution, Places)
    selection = normalise_selection(request.selection, shape)
    selected = selected_shape(selection)
    if distribution is None:
        kept = iter([np.arange(n) for n in selected])
        holds = True
    else:
        asked = rank if request.rank is None else request.rank
        kept = iter(distribution.indices(selected, asked))
        holds = bool(distribution._core.holds(asked))
    indices = []
    for start, step, _, dropped in selection:
        indices.append(np.array([start] if holds else [], dtype=np.int64) if dropped else start + step * next(kept))
    return [indices]

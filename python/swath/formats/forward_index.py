"""Indices for libraries that support positive steps only."""

from __future__ import annotations

import operator
from typing import Any

from swath.errors import ArgumentError
from swath.formats.description import Description


def forward_only(
    index: tuple[slice | int, ...], description: Description
) -> tuple[tuple[slice | int, ...], tuple[Any, ...], tuple[int, ...]]:
    """Return `index` with positive steps, the slices that reverse the result, and the selection's shape.

    Length 10 and [8:2:-3], which is 8, 5: it reads 5, 8 by [5:9:3], and [::-1] reverses them.
    """
    if len(index) != len(description.shape):
        raise ArgumentError(f"{description.name}: {len(index)} indices for {len(description.shape)} dimensions")
    forward: list[slice | int] = []
    flips: list[Any] = [...]  # the ellipsis keeps an array of 0 dimensions an array
    shape: list[int] = []
    for i, (item, length) in enumerate(zip(index, description.shape, strict=True)):
        if not isinstance(item, slice):
            at = operator.index(item)
            if not -length <= at < length:
                raise ArgumentError(f"{description.name}: index {at} of dimension {i} is outside its length {length}")
            forward.append(at % length)
            continue
        places = range(*item.indices(length))
        flips.append(slice(None, None, -1 if places.step < 0 else None))
        places = places[::-1] if places.step < 0 else places
        forward.append(slice(places[0], places[-1] + 1, places.step) if len(places) else slice(0, 0))
        shape.append(len(places))
    return tuple(forward), tuple(flips), tuple(shape)

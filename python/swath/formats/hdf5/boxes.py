"""Selects an array part by part, each of limited size."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

ELEMENTS_AT_ONCE = 1 << 16


def boxes(shape: tuple[int, ...]) -> Iterator[tuple[slice | int, ...]]:
    """Yield selections that cover an array of that shape: a row each, long rows in parts of at most 65,536."""
    if not shape:
        yield ()
        return
    for row in itertools.product(*map(range, shape[:-1])):
        for begin in range(0, shape[-1], ELEMENTS_AT_ONCE):
            yield (*row, slice(begin, min(begin + ELEMENTS_AT_ONCE, shape[-1])))

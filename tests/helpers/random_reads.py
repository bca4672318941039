"""Random reads of an array, for processes that import the functions that they run."""

from __future__ import annotations

import numpy as np

import swath

VALUES = np.arange(6000, dtype="<i4").reshape(50, 40, 3)


def random_boxes(seed: int, count: int) -> list[tuple[slice, ...]]:
    random = np.random.default_rng(seed)
    boxes = []
    for _ in range(count):
        corners = [np.sort(random.integers(0, n + 1, 2)) for n in VALUES.shape]
        boxes.append(tuple(slice(int(low), int(high)) for low, high in corners))
    return boxes


def wrong_reads(a: swath.Array, seed: int) -> int:
    return sum(not np.array_equal(a[box], VALUES[box]) for box in random_boxes(seed, 50))

"""Runs of elements of an array as boxes, which operations have."""

from __future__ import annotations

import numpy as np

from swath.simulation.operations import Box
from swath.trace.intervals import Runs


def boxes_of(runs: Runs, shape: tuple[int, ...]) -> tuple[Box, ...]:
    """Return runs as boxes: they are cut where a row ends, and then joined along each dimension in turn.

    Args:
        runs: elements, counted in C order.
        shape: the shape of the array.
    """
    low, high = _rows(runs, shape[-1])
    leading = np.stack(np.unravel_index(low // shape[-1], shape[:-1] or (1,)), axis=1)[:, : len(shape) - 1]
    begins = np.concatenate([leading, (low % shape[-1])[:, None]], axis=1)
    ends = np.concatenate([leading + 1, (low % shape[-1] + high - low)[:, None]], axis=1)
    for dimension in reversed(range(len(shape) - 1)):
        begins, ends = _joined(dimension, begins, ends)
    order = np.lexsort(begins.T[::-1])
    corners = zip(begins[order].tolist(), ends[order].tolist(), strict=True)
    return tuple((tuple(begin), tuple(end)) for begin, end in corners)


def _rows(runs: Runs, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return runs that are cut where rows of `length` elements end: their begins, and their ends."""
    first, last = runs.starts // length, (runs.ends - 1) // length
    parts = last - first + 1
    of_run = np.repeat(np.arange(len(runs)), parts)
    row = first[of_run] + np.arange(len(of_run)) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.maximum(runs.starts[of_run], row * length), np.minimum(runs.ends[of_run], (row + 1) * length)


def _joined(dimension: int, begins: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return boxes of which neighbours along a dimension are one, if they are equal in the other dimensions."""
    others = [one for one in range(begins.shape[1]) if one != dimension]
    key = np.concatenate([begins[:, others], ends[:, others]], axis=1)
    order = np.lexsort((begins[:, dimension], *key.T))
    begins, ends, key = begins[order], ends[order], key[order]
    is_first = np.ones(len(begins), bool)
    is_first[1:] = (key[1:] != key[:-1]).any(axis=1) | (begins[1:, dimension] != ends[:-1, dimension])
    is_last = np.append(is_first[1:], True)[: len(begins)]
    return begins[is_first], np.where(np.arange(begins.shape[1]) == dimension, ends[is_last], ends[is_first])

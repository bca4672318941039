"""Index arrays as boxes: outer and pointwise indexing of an open array, each in one operation.

    read_outer(a, (slice(None), np.array([3, 4, 900]), 7))      # two boxes: columns 3 to 4, and 900
    read_points(a, (slice(None), np.array([3, 4]), np.array([7, 9])))      # two boxes: columns (3, 7) and (4, 9)

In one operation, a coded chunk is decoded once for any number of boxes, and the planner sees all boxes.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from swath.array.open_array import Array
from swath.space import Boxes

BOXES_MAX = 1 << 14
"""The most boxes of one operation. With more, near boxes are merged, and the gaps are read, too."""

Indices = npt.NDArray[np.int64]


class Runs(NamedTuple):
    """The runs of consecutive indices along one dimension: run i is [starts[i], stops[i])."""

    starts: Indices
    stops: Indices

    @classmethod
    def of(cls, wanted: Indices | slice, gap: int) -> Runs:
        """Return the runs of ascending indices, or of a slice of step 1; runs at most `gap` apart are merged."""
        if isinstance(wanted, slice):
            return cls(np.array([wanted.start]), np.array([wanted.stop]))
        ends = np.flatnonzero(np.diff(wanted) > 1 + gap)
        return cls(wanted[np.append(0, ends + 1)], wanted[np.append(ends, -1)] + 1)

    @property
    def places(self) -> Indices:
        """Return the begin of each run when they are packed in memory, and the end of the last one."""
        return np.append(0, np.cumsum(self.stops - self.starts))

    def place_of(self, wanted: Indices) -> Indices:
        """Return the positions of these indices in that memory."""
        run = np.searchsorted(self.stops, wanted, side="right")
        return np.asarray(self.places[run] + wanted - self.starts[run])


def read_outer(array: Array, key: tuple[Any, ...]) -> npt.NDArray[Any]:
    """Return the elements for one index per dimension: an integer, a slice of positive step, or ascending indices."""
    regular = tuple(_as_slice(k) for k in key)
    if not any(isinstance(k, np.ndarray) for k in regular):
        return np.asarray(array[regular])
    wanted = [_ascending(k, n) for k, n in zip(regular, array.shape, strict=True)]
    kept = tuple(slice(None) if isinstance(k, (slice, np.ndarray)) else 0 for k in regular)
    return _read_runs(array, wanted)[kept]


def _as_slice(k: Any) -> Any:
    """Return ascending indices as a slice, if they are regular."""
    if not isinstance(k, np.ndarray) or k.size == 0:
        return k
    step = int(k[1] - k[0]) if k.size > 1 else 1
    if step < 1 or (np.diff(k) != step).any():
        return k
    return slice(int(k[0]), int(k[-1]) + 1, step)


def _ascending(k: Any, extent: int) -> Indices | slice:
    """Return a slice of step 1 with its bounds; convert all else to indices."""
    if isinstance(k, slice):
        start, stop, step = k.indices(extent)
        return slice(start, max(start, stop)) if step == 1 else np.arange(start, stop, step)
    return np.atleast_1d(k).astype(np.int64, copy=False)


def _read_runs(array: Array, wanted: list[Indices | slice]) -> npt.NDArray[Any]:
    if any((w.stop == w.start) if isinstance(w, slice) else (w.size == 0) for w in wanted):
        return np.empty([w.stop - w.start if isinstance(w, slice) else w.size for w in wanted], array.dtype)
    gap, runs = 0, [Runs.of(w, 0) for w in wanted]
    while math.prod(r.starts.size for r in runs) > BOXES_MAX:
        gap = 2 * gap + 1
        runs = [Runs.of(w, gap) for w in wanted]
    values = np.empty([int(r.places[-1]) for r in runs], array.dtype)
    corners = zip(_corners([r.starts for r in runs]), _corners([r.stops for r in runs]), strict=True)
    memory = zip(_corners([r.places[:-1] for r in runs]), _corners([r.places[1:] for r in runs]), strict=True)
    parts = [values[tuple(map(slice, first, last))] for first, last in memory]
    array.read(Boxes(corners), out=parts)
    for axis, (w, r) in enumerate(zip(wanted, runs, strict=True)):
        places = None if isinstance(w, slice) else r.place_of(w)
        if places is not None and not np.array_equal(places, np.arange(values.shape[axis])):
            values = values.take(places, axis)  # some are repeated, or gaps were read
    return values


def _corners(along: list[Indices]) -> itertools.product[tuple[int, ...]]:
    return itertools.product(*(indices.tolist() for indices in along))


def read_points(array: Array, key: tuple[Any, ...]) -> npt.NDArray[Any]:
    """Return the elements for indices that broadcast against each other, and for whole slices of step 1.

    The dimensions of the indices come first, then those of the slices, as in xarray's vectorised indexing.
    """
    along = [d for d, k in enumerate(key) if not isinstance(k, slice)]
    points = np.broadcast_arrays(*(np.where(key[d] < 0, key[d] + array.shape[d], key[d]) for d in along))
    distinct, inverse = np.unique(np.stack([p.ravel() for p in points]), axis=1, return_inverse=True)
    slices = [k.indices(n) for k, n in zip(key, array.shape, strict=True) if isinstance(k, slice)]
    values = np.empty([distinct.shape[1], *(max(stop - start, 0) for start, stop, _ in slices)], array.dtype)
    if values.size:
        array.read(Boxes(_boxes_of_points(key, array.shape, along, distinct)), out=_parts(values, key))
    return values[inverse.ravel()].reshape(points[0].shape + values.shape[1:])


def _boxes_of_points(key: tuple[Any, ...], shape: tuple[int, ...], along: list[int], points: Indices) -> Any:
    low = [0 if d in along else k.indices(n)[0] for d, (k, n) in enumerate(zip(key, shape, strict=True))]
    high = [1 if d in along else k.indices(n)[1] for d, (k, n) in enumerate(zip(key, shape, strict=True))]
    for point in points.T.tolist():
        for d, index in zip(along, point, strict=True):
            low[d], high[d] = index, index + 1
        yield tuple(low), tuple(high)


def _parts(values: npt.NDArray[Any], key: tuple[Any, ...]) -> list[npt.NDArray[Any]]:
    """Return the memory of each point in the shape of its box."""
    box = tuple(slice(None) if isinstance(k, slice) else None for k in key)
    return [values[(i, *box)] for i in range(values.shape[0])]

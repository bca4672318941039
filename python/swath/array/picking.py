"""Reads places of coded arrays: reads boxes around the places, and picks their elements from these."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from swath.array.levels import Level, Storage, groups_of
from swath.array.memory import Part
from swath.array.places import Indices, Places, Resolved
from swath.formats.description import Description
from swath.space import Boxes, Shape


class _Pick(NamedTuple):
    """The elements to pick from a box.

    Attributes:
        start: the first corner of the box.
        stop: its opposite corner.
        of_box: the NumPy index of the elements in the box.
        of_result: their index in the piece.
    """

    start: Shape
    stop: Shape
    of_box: tuple[Any, ...]
    of_result: tuple[Any, ...]


class Picked:
    """Places as boxes: in each chunk with places, the bounding box of these.

    Attributes:
        shape: the shape of the result.
        boxes: the boxes to read.
    """

    def __init__(self, places: Places, description: Description, where: str) -> None:
        storage = Storage(description)
        pieces = list(places._resolved(description.shape, where))
        self._is_flat = places._is_flat
        sizes = [math.prod(piece.shape) for piece in pieces]
        self.shape: Shape = (sum(sizes),) if self._is_flat else pieces[0].shape
        self._pieces = []
        for begin, size, piece in zip(itertools.accumulate([0, *sizes]), sizes, pieces, strict=False):
            picks = _picks(piece, storage) if size else []
            self._pieces.append((slice(begin, begin + size), piece.shape, picks))
        self.boxes = Boxes((pick.start, pick.stop) for _, _, picks in self._pieces for pick in picks)

    def pick(self, parts: list[Part], result: Part) -> None:
        """Fill the result from the boxes that were read."""
        left = iter(parts)
        for elements, shape, picks in self._pieces:
            of_piece = result[elements].reshape(shape) if self._is_flat else result
            for pick in picks:
                of_piece[pick.of_result] = next(left)[pick.of_box]


class _Cut(NamedTuple):
    """The elements of a level in one chunk: the indices of each dimension, the coordinates along each axis."""

    dimensions: dict[int, Indices]
    axes: dict[int, Indices]


def _picks(piece: Resolved, storage: Storage) -> list[_Pick]:
    constant: dict[int, int] = {}
    cuts = []
    for axes, dimensions in groups_of(piece):
        if axes:
            cuts.append(_cuts(Level(axes, dimensions, piece, storage), piece))
        else:
            constant = {d: int(piece.indices[d].item()) for d in dimensions}
    return [_pick(piece, constant, combined) for combined in itertools.product(*cuts)]


def _cuts(level: Level, piece: Resolved) -> list[_Cut]:
    count = math.prod(level.lengths)
    order = np.arange(count) if level.chunks is None else np.argsort(level.chunks, kind="stable")
    begins = [0]
    if level.chunks is not None:
        begins = np.flatnonzero(np.append(True, np.diff(level.chunks[order]) != 0)).tolist()
    of_dimensions = {d: level.along_axes(piece.indices[d])[order] for d in level.dimensions}
    of_axes = dict(zip(level.axes, np.unravel_index(order, level.lengths), strict=True))
    return [
        _Cut({d: i[b:e] for d, i in of_dimensions.items()}, {axis: i[b:e] for axis, i in of_axes.items()})
        for b, e in itertools.pairwise([*begins, count])
    ]


def _pick(piece: Resolved, constant: dict[int, int], cuts: tuple[_Cut, ...]) -> _Pick:
    """Return the box around one combination of cuts. Each cut is an axis of the picked elements."""
    start = [constant.get(d, 0) for d in range(len(piece.indices))]
    stop = [low + 1 for low in start]
    of_box: list[Any] = [0] * len(start)
    of_result: list[Any] = [0] * len(piece.shape)
    for number, cut in enumerate(cuts):
        lengths = [1] * len(cuts)
        lengths[number] = -1
        for d, indices in cut.dimensions.items():
            start[d], stop[d] = int(indices.min()), int(indices.max()) + 1
            of_box[d] = (indices - start[d]).reshape(lengths)
        for axis, coordinates in cut.axes.items():
            of_result[axis] = coordinates.reshape(lengths)
    return _Pick(tuple(start), tuple(stop), tuple(of_box), tuple(of_result))

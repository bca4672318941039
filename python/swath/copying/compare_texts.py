"""Compares texts of variable length with texts, or with characters along one more dimension, piece by piece."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.copying.boxes import Box, boxes, turned_back
from swath.copying.compare import Comparison, Found, HowToCompare, merged
from swath.copying.request import checked_axes
from swath.copying.texts import ELEMENTS_AT_ONCE, Texts
from swath.errors import ArgumentError
from swath.formats import Description


def compare_texts(both: tuple[Description, Description], axes: tuple[int, ...] | None, how: HowToCompare) -> Comparison:
    """Compare two arrays, at least one of which has text of variable length. Collective."""
    ranks = how.ranks
    sides = Texts(both[0], like=both[1]), Texts(both[1], like=both[0])
    for side in sides:
        if not side.is_text:
            raise ArgumentError(f"elements of dtype {both[0].dtype} and {both[1].dtype} cannot be compared")
    turned = checked_axes(axes, len(sides[0].shape))
    shape = tuple(sides[0].shape[axis] for axis in turned)
    if shape != sides[1].shape:
        return Comparison(False, 0, reason=f"shapes {shape} and {sides[1].shape}")

    def work() -> Found:
        found = Found()
        for number, box in enumerate(boxes(shape, sides[1].chunk_shape, ELEMENTS_AT_ONCE)):
            if number % ranks.size == ranks.rank:
                _note(sides[0].read(turned_back(box, turned)).transpose(turned), sides[1].read(box), box, found)
        return found

    found = merged(ranks.gather_objects(ranks.run_collectively(f"verify {both[0].name} {both[1].name}", work)))
    return Comparison(found.differing == 0, math.prod(shape), found.differing, found.index, found.values)


def _note(a: npt.NDArray[Any], b: npt.NDArray[Any], box: Box, found: Found) -> None:
    found.add_box(np.asarray(a != b, bool), [part.start for part in box], lambda place: (a[place], b[place]))

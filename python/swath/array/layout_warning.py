"""A warning, once for each array, where its layout makes an operation many times slower than its bytes need."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from swath import _core
from swath.errors import LayoutWarning, warn_caller

if TYPE_CHECKING:
    from swath.array.open_array import Array

VARIABLE = "SWATH_LAYOUT_WARNING"
"""The environment variable: "0" warns of no layout."""
SECONDS_MIN = 0.5
"""An operation that takes less is looked at no further."""
FACTOR_MIN = 4.0


def is_wanted() -> bool:
    """Return whether arrays that are opened now warn."""
    return os.environ.get(VARIABLE) != "0"


def warn_of(array: Array, plan: _core.Plan) -> bool:
    """Warn (LayoutWarning) where the plan is predicted to take long for its bytes; whether it did. Local."""
    seconds = plan.seconds
    if seconds < SECONDS_MIN:
        return False
    conforming = _conforming_seconds(array, plan)
    if seconds < FACTOR_MIN * conforming:
        return False
    if array._ranks.rank == 0:
        warn_caller(
            f"{plan.direction} {array.path}: {plan.decomposition} is predicted to take {seconds:.1f} s by the layout "
            f"that the file has ({array.layout}), and {conforming:.2g} s where each rank's share is contiguous "
            f"({seconds / conforming:.0f} x). swath.advise_layout finds a layout that suits, swath.copy makes it; "
            f'{VARIABLE}=0, or warnings.simplefilter("ignore", swath.LayoutWarning), turns this warning off',
            LayoutWarning,
        )
    return True


def _conforming_seconds(array: Array, plan: _core.Plan) -> float:
    """Return the price of as many bytes of which each rank has one run of the file."""
    itemsize = array.dtype.itemsize
    elements = plan.bytes // itemsize
    form = _core.ArrayForm(
        "conforming", (elements,), itemsize, _core.Layout.strided((elements,), itemsize, 0, (itemsize,))
    )
    blocks = _core.Distribution([("block", 0)], [plan.ranks], [])
    decomposition = _core.Decomposition.distributed(blocks, [(0, 1, elements, False)], plan.ranks)
    given = {"name": array.path, "learning": _core.Learning(array._core.profile, True), "is_new": False}
    same_bytes = _core.Array(array._ranks.comm, array._file.core, form, b"", given)
    return same_bytes.explain(_core.Operation(form, plan.direction, decomposition), plan.cached).seconds

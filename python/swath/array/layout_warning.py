"""Warns, once for each array, if the layout makes an operation many times slower than necessary for its bytes."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from swath import _core
from swath.errors import LayoutWarning, warn_caller

if TYPE_CHECKING:
    from swath.array.open_array import Array

VARIABLE = "SWATH_LAYOUT_WARNING"
"""The environment variable; "0" switches the warnings off."""
SECONDS_MIN = 0.5
"""Shorter operations are not checked."""
FACTOR_MIN = 4.0
ADVICE = (
    "swath.advise_layout finds a layout that suits, swath.copy makes it; "
    f'{VARIABLE}=0, or warnings.simplefilter("ignore", swath.LayoutWarning), turns this warning off'
)


def is_wanted() -> bool:
    """Return whether arrays that are opened now give warnings."""
    return os.environ.get(VARIABLE) != "0"


def warn_of(array: Array, done: _core.Execution) -> bool:
    """Warn (LayoutWarning) if the layout made a long operation many times slower. Return whether it did. Local.

    For plain bytes the plan shows it; for coded chunks, the decoded bytes compared with the requested ones.
    """
    if done.plan is not None:
        return _warn_of_plan(array, done.plan)
    return done.of_chunks is not None and _warn_of_chunks(array, done.of_chunks, int(done.counters.decoded_bytes))


def _warn_of_chunks(array: Array, operation: _core.Operation, decoded_bytes: int) -> bool:
    """Warn if many bytes were decoded for each requested one: of partly used chunks, or by several ranks."""
    shapes = operation.local_shapes(array._ranks.rank)
    asked = sum(math.prod(shape) for shape in shapes) * array.dtype.itemsize
    if decoded_bytes < FACTOR_MIN * max(asked, 1):
        return False
    if array._ranks.rank == 0:
        plan = array._core.explain_chunks(operation, 0.0)
        factor = plan.total["decoded_bytes"] / max(plan.bytes, 1)
        warn_caller(
            f"{operation.direction} {array.path}: {plan.decomposition} decodes {factor:.0f} bytes for each that is "
            f"asked for ({factor:.0f} x), each chunk {plan.times_decoded:.1f} times, by the chunks that the file has "
            f"({array.layout}): one is decoded whole, by every rank that shares no memory with one that has. "
            f"{ADVICE}",
            LayoutWarning,
        )
    return True


def _warn_of_plan(array: Array, plan: _core.Plan) -> bool:
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
            f"({seconds / conforming:.0f} x). {ADVICE}",
            LayoutWarning,
        )
    return True


def _conforming_seconds(array: Array, plan: _core.Plan) -> float:
    """Return the predicted time for the same bytes if each rank had one run of the file."""
    itemsize = array.dtype.itemsize
    elements = plan.bytes // itemsize
    form = _core.ArrayForm(
        "conforming", (elements,), itemsize, _core.Layout.strided((elements,), itemsize, 0, (itemsize,))
    )
    blocks = _core.Distribution([("block", 0)], [plan.ranks], [])
    decomposition = _core.Decomposition.distributed(blocks, [(0, 1, elements, False)], plan.ranks)
    given = {"name": array.path, "learning": _core.Learning(array._core.profile, True), "is_new": False}
    same_bytes = _core.Array(array._ranks.comm, array._stored.core_file, form, b"", given)
    return same_bytes.explain(_core.Operation(form, plan.direction, decomposition), plan.cached).seconds

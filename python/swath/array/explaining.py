"""Implements `Array.explain`: the plan of an operation, and, if it is carried out, its measured costs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from swath import _core
from swath.array.places import Places
from swath.array.plan import ChunkPlan, LibraryPlan, Measured, Plan
from swath.array.request import Request, checked_tuning
from swath.errors import ArgumentError
from swath.formats.description import LibraryLayout
from swath.space import Boxes, Distribution, normalise_selection

if TYPE_CHECKING:
    from swath.array.open_array import Array


def explained(array: Array, request: Request, cached: float | None) -> Plan:
    """Return the plan of a distribution. Without a communicator, it is for the distribution's ranks. Local."""
    distribution = request.distribution
    if array._ranks.size > 1 or request.rank is not None or not isinstance(distribution, Distribution):
        return _plan(array, array._operation(request), cached)
    ranks = max(distribution.ranks) + 1 if distribution.ranks else distribution.size
    return explained_for(array, request, ranks, cached)


def explained_for(array: Array, request: Request, ranks: int, cached: float | None = None) -> Plan:
    """Return the plan for so many ranks, none of which need exist. Local; `request` has a distribution."""
    distribution = request.distribution
    assert isinstance(distribution, Distribution)
    chosen = normalise_selection(request.selection, array.shape)
    decomposition = _core.Decomposition.distributed(distribution._core, chosen, ranks)
    sizes = checked_tuning(request.tuning)
    operation = _core.Operation(array._form, request.direction, decomposition, request.method, sizes)
    return _plan(array, operation, cached)


def explained_shares(array: Array, request: Request, cached: float | None) -> Plan:
    """Return the plan for the boxes, or places, of all ranks. Collective."""
    try:
        operation = array._operation(request)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other ranks must hear of it
        array._refuse(None, error)
    with array._agreed_errors():
        return _plan(array, array._core.with_all_shares(operation, f"explained with cached={cached}"), cached)


def analyzed(array: Array, request: Request) -> Plan:
    """Carry the operation out, and return its plan with the measurements. Collective."""
    array._ranks.agree(f"explain, with analyze, {request.direction} {array._stored.identity}")
    plan: Plan | None = None
    if request.direction == "read":
        array._read(request, None)
    else:
        values = array.read(request.distribution, selection=request.selection, rank=request.rank)
        if array._core.goes_by_chunks("write"):
            with contextlib.suppress(ArgumentError):  # the write will raise it, on all ranks
                plan = _explained(array, request)  # of the chunks that are stored before the write
        array._write(request, values)
    plan = plan or array.last_plan or _plan(array, array._operation(request), None)
    plan.measured = Measured.of(array._ranks.gather_objects(array.counters.to_dict()))
    return plan


def _explained(array: Array, request: Request) -> Plan:
    is_gathered = isinstance(request.distribution, (Boxes, Places))
    return explained_shares(array, request, None) if is_gathered else explained(array, request, None)


def plan_of_chunks(array: Array, operation: _core.Operation, cached: float | None) -> Plan:
    """Return the plan of coded chunks, from the chunks that are stored now."""
    return ChunkPlan(array._core.explain_chunks(operation, cached), array._title(), array.layout)


def _plan(array: Array, operation: _core.Operation, cached: float | None) -> Plan:
    title = array._title()
    if array._core.has_plans:
        return Plan(array._core.explain(operation, cached), title)
    array.refuse_closed("explain")
    layout = array._description.layout
    direction, ranks = operation.direction, operation.ranks
    reason = layout.reason if isinstance(layout, LibraryLayout) else array.layout
    if array._core.goes_by_chunks(direction):
        return plan_of_chunks(array, operation, cached)
    return LibraryPlan(title, direction, ranks, reason)

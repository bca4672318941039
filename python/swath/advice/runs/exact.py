"""The exact operations of a trace of Swath: how each is planned, and which layout suits them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from swath import _core
from swath.advice import accesses
from swath.advice.advise import advise_operations
from swath.advice.pricing import Conditions
from swath.advice.question import Form
from swath.advice.question import Question as LayoutQuestion
from swath.errors import Error
from swath.trace.reading import ProcessTrace, is_operation, operation, read_trace

POSITIONS_MAX = 16
"""Operations that differ in their positions only are priced at this many of them."""
PRICED_MAX = 500
"""The number of different operations that are priced."""
FORMATS = ("raw", "npy")
"""The formats whose layouts are priced."""


@dataclass
class Repeated:
    """An operation, and how often it was carried out.

    Attributes:
        core: the operation.
        key: its key in the trace.
        times: how often it happened.
    """

    core: _core.Operation
    key: str
    times: int = 0


@dataclass
class ArrayOperations:
    """The operations on one array.

    Attributes:
        identity: the file, its format and the variable, as the log names the file.
        shape: the shape of the array.
        element_bytes: the bytes of an element.
        operations: its operations.
    """

    identity: str
    shape: tuple[int, ...]
    element_bytes: int
    operations: list[Repeated] = field(default_factory=list)


def array_operations(path: str) -> list[ArrayOperations]:
    """Return the operations of a trace of Swath on each array. Those of boxes and views are left out."""
    traces = read_trace(path)
    found: dict[str, ArrayOperations] = {}
    known: dict[str, Repeated | None] = {}
    for trace in traces:
        for event in trace.events:
            if not is_operation(event) or "error" in event.arguments or event.arguments.get("rank", 0) != 0:
                continue
            key = str(event.arguments["operation"])
            if key not in known:
                is_of_one = bool(trace.operations[key].share)  # boxes and views: a trace has those of its rank only
                known[key] = None if is_of_one else _repeated(trace, key, found, operation([(trace, event)]))
            one = known[key]
            if one is not None:
                one.times += 1
    return [one for one in found.values() if one.operations]


def _repeated(trace: ProcessTrace, key: str, found: dict[str, ArrayOperations], core: _core.Operation) -> Repeated:
    array = trace.arrays[trace.operations[key].array]
    of = found.setdefault(array.identity, ArrayOperations(array.identity, array.shape, array.element_bytes))
    one = Repeated(core, key)
    of.operations.append(one)
    return one


def seconds_now(operations: list[Repeated], profile: _core.Profile, way: str | None = None) -> float:
    """Return the seconds of operations as they are, by their cheapest methods.

    Args:
        operations: the operations; of many, some are priced.
        profile: the prices.
        way: "read" or "write" for those of one direction.
    """
    mine = [one for one in operations if way in (None, one.core.direction)]
    some = mine[:: max(1, len(mine) // PRICED_MAX)]
    priced = sum(one.times * _cheapest(_core.make_plan(one.core, profile)) for one in some)
    times = sum(one.times for one in some)
    return priced * sum(one.times for one in mine) / times if times else 0.0


def _cheapest(plan: _core.Plan) -> float:
    """Return the seconds of the cheapest method: on another store, Swath takes another method than in the trace."""
    return min(float(one["price"]["seconds"]) for one in plan.candidates().values())


@dataclass(frozen=True)
class BestLayout:
    """The cheapest layout for the operations on an array.

    Attributes:
        name: the layout in words.
        order: its order, or the extents of its chunks with "x" between them.
        seconds: the price of all operations.
    """

    name: str
    order: str
    seconds: float


def best_layout(array: ArrayOperations, profile: _core.Profile) -> BestLayout | None:
    """Return the cheapest layout; None if the array has none to choose, or has it.

    All reads and writes of the array are priced together, in both layouts in the same way.
    """
    present = array.operations[0].core.array.layout
    if present is None:
        return None
    conditions = Conditions(profile, 1.0, "posix")
    try:
        form = Form(array.shape, np.dtype(f"V{array.element_bytes}"))
        question = LayoutQuestion(conditions, FORMATS, ("64KiB", "64MiB"), {})
        operations = as_accesses(array.operations)
        best = advise_operations(question, form, operations).best
        pricer = question.pricer(form, operations)
        now = pricer.total(pricer.seconds_by_layout(present))
    except Error:
        return None
    if best.total >= now:
        return None
    order = "x".join(map(str, best.chunks)) if best.chunks is not None else _order(best.order)
    return BestLayout(best.name, order, seconds_now(array.operations, profile) * best.total / now)


def _order(order: tuple[int, ...]) -> str:
    names = {tuple(range(len(order))): "C", tuple(reversed(range(len(order)))): "F"}
    return names.get(order, ",".join(map(str, order)))


def as_accesses(operations: list[Repeated]) -> list[accesses.Operations]:
    """Return operations as layout advice prices them: those that differ in their positions only are one access."""
    groups: dict[tuple[object, ...], list[Repeated]] = {}
    for one in operations:
        form = tuple((step, count, dropped) for _, step, count, dropped in one.core.decomposition.selection)
        key = (one.core.direction, form, str(one.core.decomposition.distribution), one.core.ranks)
        groups.setdefault(key, []).append(one)
    return [_access(group) for group in groups.values()]


def _access(group: list[Repeated]) -> accesses.Operations:
    core = group[0].core
    step = max(1, len(group) // POSITIONS_MAX)
    sampled = group[::step]
    selection = tuple(core.decomposition.selection)
    distribution = core.decomposition.distribution
    grid = [1] * len(selection) if distribution is None else [*distribution.grid, *[1] * len(selection)]
    lengths = tuple(max(1, -(-count // parts)) for (_, _, count, _), parts in zip(selection, grid, strict=False))
    return accesses.Operations(
        _text(core, selection),
        core.direction,
        float(sum(one.times for one in group)),
        tuple(tuple(one.core.decomposition.selection) for one in sampled),
        None,
        core.ranks,
        lengths,
        tuple(float(one.times) for one in sampled),
        tuple(one.core.decomposition for one in sampled),
    )


def _text(core: _core.Operation, selection: tuple[tuple[int, int, int, bool], ...]) -> str:
    """Return an access in the notation of `swath layout --access`; positions are left open."""
    items = []
    for index, (first, step, count, dropped) in enumerate(selection):
        letter = "ijklmn"[index] if index < len("ijklmn") else f"i{index}"
        by = "" if step == 1 else f":{step}"
        items.append(
            letter if dropped else f"{letter}:{letter}+{count}" if step == 1 else f"{first}:{first + count * step}{by}"
        )
    return ("write " if core.direction == "write" else "") + f"[{', '.join(items)}]"

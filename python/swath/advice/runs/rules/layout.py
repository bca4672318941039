"""Layout: the order of the bytes in the file is not the order in which the program reads or writes them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from swath import _core
from swath.advice.advise import advise_operations
from swath.advice.pricing import Conditions
from swath.advice.question import Form
from swath.advice.question import Question as LayoutQuestion
from swath.advice.runs import exact
from swath.advice.runs.advice import PATTERN, Finding, Proposal, Question, Subject
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.pattern import Pattern
from swath.advice.runs.prices import DISK, Prices
from swath.advice.runs.rules.common import LARGE_BYTES, of_access, worth_a_look
from swath.errors import Error
from swath.replay.changes import Layout
from swath.store.profile import MODELLED

STRIDED = 0.5
"""The least part of the calls that are the same distance behind the one before."""
CALLS_MIN = 32
RUNS_FEWER = 4
"""All calls together cover this many times fewer regions than calls that follow each other make."""
SMALL_RUN = 1 << 20
"""Operations whose contiguous parts are larger gain little from another layout."""
FORMATS = ("raw", "npy")


def findings(question: Question) -> Iterator[Finding]:
    """Yield another order or chunks, where calls jump over the file and yet use all of it."""
    yield from _of_operations(question)
    for one in worth_a_look(question):
        if one.layer == "swath" or one.is_collective or not _is_strided(question, one):
            continue
        is_new = _is_written(question, one.file)
        if not is_new and one.bytes <= one.distinct:
            continue  # of a file that is read once a copy costs more than it saves
        yield _by_stride(question, one, is_new=is_new)


def _is_strided(question: Question, one: Accesses) -> bool:
    """Return whether a rank's calls have one distance, and all together leave few gaps."""
    requests = question.run.log.requests
    if len(one.rows) < CALLS_MIN or not one.run_bytes > 0 or one.request_bytes >= SMALL_RUN:
        return False
    slowest = max(one.seconds, key=lambda rank: one.seconds[rank])
    rows = one.rows[requests.rank[one.rows] == slowest]
    if len(rows) < CALLS_MIN or (requests.offset[rows] < 0).any():
        return False
    distances, counts = np.unique(np.diff(requests.offset[rows]), return_counts=True)
    at = int(counts.argmax())
    is_far = abs(int(distances[at])) > one.request_bytes
    return is_far and counts[at] >= STRIDED * (len(rows) - 1) and one.space_runs * RUNS_FEWER <= one.runs


def _is_written(question: Question, file: str) -> bool:
    return any(one.file == file and one.way == "write" for one in question.run.accesses)


def _by_stride(question: Question, one: Accesses, *, is_new: bool) -> Finding:
    now = question.now(one)
    size = max(1, round(one.bytes / one.passes / one.ranks))
    after = Pattern(one.way, one.ranks, 1, size, 0, max(1, size // LARGE_BYTES), "direct", now.times)
    estimate = question.compared(one, after)
    presumes = ["no other program needs the order of the file"]
    if not is_new:
        presumes.append(_copy(question, one.distinct, estimate.saving.likely))
    return of_access(
        one,
        estimate,
        Proposal(
            PATTERN,
            "another layout: the order in which the program goes through the file",
            f"calls are {one.request_bytes:,.0f} bytes long and jump, and together they cover {one.distinct:,} bytes",
            lines(question.run, "layout", "new" if is_new else "copy", order="F"),
            Layout(file=one.file, layout="F"),
            tuple(presumes),
            4,
        ),
    )


def _copy(question: Question, moved: int, saved: float) -> str:
    """Return what the copy of a file costs, and after how many runs it pays."""
    calls = max(1, moved // LARGE_BYTES)
    ways = (Pattern(way, size=moved, calls=calls, method="direct") for way in ("read", "write"))
    seconds = sum(question.prices.seconds(pattern) for pattern in ways)
    runs = math.ceil(seconds / saved) if saved > 0 else 0
    return (
        f"the file exists: a copy takes about {seconds:.3g} s, so it pays after {runs:,} run{'s' if runs > 1 else ''}"
    )


@dataclass(frozen=True)
class _Best:
    """The cheapest layout of an array's operations, with the price of the present one. `command` prints both."""

    name: str
    layout: str
    seconds: float
    now: float
    command: str


def _of_operations(question: Question) -> Iterator[Finding]:
    run = question.run
    for array in question.operations:
        mine = [one for one in run.accesses if one.file == array.identity and one.layer == "swath"]
        if not mine or not _has_short_runs(array.operations, question.prices.profile):
            continue
        written = any(one.core.direction == "write" for one in array.operations)
        if not written and sum(one.bytes for one in mine) <= math.prod(array.shape) * array.element_bytes:
            continue
        best = _best(question, array)
        if best is None:
            continue
        seconds: dict[int, float] = {}
        for one in mine:
            for rank, spent in question.seconds(one).items():
                seconds[rank] = seconds.get(rank, 0.0) + spent
        part = max(0.0, 1 - best.seconds / best.now)
        high = min(1.0, 1 - best.seconds / best.now / question.uncertainty)
        low = 1 - best.seconds / best.now * question.uncertainty
        words = f"operations as they are: {best.now:.4g} s by their plans; {best.name}: {best.seconds:.4g} s"
        estimate = question.saved(seconds, part, words, low=low, high=high)
        estimate = replace(estimate, commands=(*filter(None, (best.command,)), *estimate.commands))
        subject = Subject(
            (array.identity,),
            tuple((array.identity, way) for way in ("read", "write")),
            f"{sum(one.calls for one in mine):,} operations on an array of {array.shape}",
            sum(one.calls for one in mine),
            sum(one.bytes for one in mine),
        )
        presumes = ["no other program needs the order of the file"]
        if not written:
            presumes.append(_copy(question, math.prod(array.shape) * array.element_bytes, estimate.saving.likely))
        proposal = Proposal(
            PATTERN,
            f"another layout: {best.name}",
            "operations of the array move short pieces of the file",
            lines(run, "layout", "new" if written else "copy", order=best.layout),
            Layout(file=array.identity, layout=best.layout),
            tuple(presumes),
            4,
        )
        yield Finding(subject, proposal, estimate)


def _has_short_runs(operations: list[exact.Repeated], profile: _core.Profile) -> bool:
    for one in operations:
        plan = _core.make_plan(one.core, profile)
        if plan.runs > plan.ranks and plan.bytes / max(plan.runs, 1) < SMALL_RUN:
            return True
    return False


def _best(question: Question, array: exact.ArrayOperations) -> _Best | None:
    """Return the best layout; None if the present one is as good, or the array has none to choose.

    All reads and writes of the array are priced together, in both layouts in the same way.
    """
    operations = exact.as_accesses(array.operations)
    present = array.operations[0].core.array.layout
    if present is None:
        return None
    conditions = Conditions(question.prices.profile, 1.0, "posix")
    try:
        form = Form(array.shape, np.dtype(f"V{array.element_bytes}"))
        asked = LayoutQuestion(conditions, FORMATS, ("64KiB", "64MiB"), {})
        advice = advise_operations(asked, form, operations)
        pricer = asked.pricer(form, operations)
        now = pricer.total(pricer.seconds_by_layout(present))
    except Error:
        return None
    best = advice.best
    order = "x".join(map(str, best.chunks)) if best.chunks is not None else _order(best.order)
    accesses = " ".join(f'--access "{one.text}:{one.times:g}"' for one in operations)
    shape = ",".join(map(str, array.shape))
    layout = f"swath layout {accesses} --formats {','.join(FORMATS)} --cached 1"
    # `swath layout` cannot take the prices of a machine, so no command prints these.
    has_command = not question.prices.machine
    command = f"{layout}{_store_option(question.prices)} {shape} V{array.element_bytes}" if has_command else ""
    return None if best.total >= now else _Best(best.name, order, best.total, now, command)


def _store_option(prices: Prices) -> str:
    """Return the option of `swath layout` that selects these prices."""
    if prices.store.startswith(DISK):
        return f" --engine {MODELLED}{prices.store.removeprefix(DISK)}"
    return f" --store {prices.store}" if prices.store else ""


def _order(order: tuple[int, ...]) -> str:
    names = {tuple(range(len(order))): "C", tuple(reversed(range(len(order)))): "F"}
    return names.get(order, ",".join(map(str, order)))

"""Layout: the order of the bytes in the file is not the order in which the program reads or writes them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from swath import _core
from swath.advice.runs import exact
from swath.advice.runs.advice import PATTERN, Finding, Proposal, Subject
from swath.advice.runs.estimate import Estimate, Formula, least, sum_of, total
from swath.advice.runs.means import lines
from swath.advice.runs.measures import best_layout
from swath.advice.runs.observed import Accesses
from swath.advice.runs.pattern import Pattern
from swath.advice.runs.question import Question
from swath.advice.runs.rules.common import LARGE_BYTES, of_access, worth_a_look
from swath.replay.changes import Layout

STRIDED = 0.5
"""The least part of the calls that are the same distance behind the one before."""
CALLS_MIN = 32
RUNS_FEWER = 4
"""All calls together cover this many times fewer regions than calls that follow each other make."""
SMALL_RUN = 1 << 20
"""Operations whose contiguous parts are larger gain little from another layout."""


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
    slowest = one.slowest_rank
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
    facts: tuple[Formula, ...] = ()
    if not is_new:
        words, facts = _copy(question, one.distinct, estimate.likely)
        presumes.append(words)
    return of_access(
        question,
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
        facts=facts,
    )


def _copy(question: Question, moved: int, saved: Formula) -> tuple[str, tuple[Formula, ...]]:
    """Return what the copy of a file costs, and after how many runs it pays: in words, and as formulas."""
    calls = max(1, moved // LARGE_BYTES)
    read, write = (
        question.price(f"price_of_{way}", Pattern(way, size=moved, calls=calls, method="direct").words)
        for way in ("read", "write")
    )
    seconds = (read + write).named("copy_seconds")
    facts: tuple[Formula, ...] = (seconds,)
    runs = 0
    if saved.number > 0:
        facts = (seconds, (seconds / saved).named("runs_until_it_pays"))
        runs = math.ceil(facts[1].number)
    pays = f"it pays after {runs:,} run{'s' if runs > 1 else ''}"
    return f"the file exists: a copy takes about {seconds.number:.3g} s, so {pays}", facts


def _of_operations(question: Question) -> Iterator[Finding]:
    run = question.run
    for array in question.operations:
        mine = [one for one in run.accesses if one.file == array.identity and one.layer == "swath"]
        if not mine or not _has_short_runs(array.operations, question.prices.profile):
            continue
        written = any(one.core.direction == "write" for one in array.operations)
        if not written and sum(one.bytes for one in mine) <= math.prod(array.shape) * array.element_bytes:
            continue
        best = best_layout(question, array.identity)
        if best is None:
            continue
        estimate = _by_plans(question, array.identity, mine)
        subject = Subject(
            (array.identity,),
            tuple((array.identity, way) for way in ("read", "write")),
            f"{sum(one.calls for one in mine):,} operations on an array of {array.shape}",
            total(question.measure("calls_now", "calls", one.way, one.file) for one in mine),
            total(question.measure("bytes_now", "bytes", one.way, one.file) for one in mine),
        )
        presumes = ["no other program needs the order of the file"]
        if not written:
            words, facts = _copy(question, math.prod(array.shape) * array.element_bytes, estimate.likely)
            presumes.append(words)
            subject = replace(subject, facts=facts)
        proposal = Proposal(
            PATTERN,
            f"another layout: {best.name}",
            "operations of the array move short pieces of the file",
            lines(run, "layout", "new" if written else "copy", order=best.order),
            Layout(file=array.identity, layout=best.order),
            tuple(presumes),
            4,
        )
        yield Finding(subject, proposal, estimate)


def _by_plans(question: Question, array: str, of: list[Accesses]) -> Estimate:
    """Return the estimate: the seconds are scaled by the prices of the operations with both layouts."""
    seconds = sum_of(question.seconds(one) for one in of)
    now = question.measure("planned_now", "planned", array)
    ratio = (question.measure("planned_best", "planned", array, "best") / now).named("ratio")
    slowest, uncertainty = seconds.slowest, question.uncertainty
    low, high = slowest * (1 - ratio * uncertainty), slowest * least(1, 1 - ratio / uncertainty)
    return Estimate(seconds, low, slowest * (1 - ratio), high)


def _has_short_runs(operations: list[exact.Repeated], profile: _core.Profile) -> bool:
    for one in operations:
        plan = _core.make_plan(one.core, profile)
        if plan.runs > plan.ranks and plan.bytes / max(plan.runs, 1) < SMALL_RUN:
            return True
    return False

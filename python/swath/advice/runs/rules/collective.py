"""Collective I/O: ranks move regions of a shared file that alternate."""

from __future__ import annotations

from collections.abc import Iterator

from swath.advice.runs.advice import PATTERN, Finding, Proposal
from swath.advice.runs.estimate import Formula
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.pattern import Pattern
from swath.advice.runs.question import Question
from swath.advice.runs.rules.common import LARGE_BYTES, of_access, worth_a_look
from swath.replay.changes import Collective

RUNS_MIN = 2.0
"""Fewer regions a rank and phase are nearly contiguous: ranks need not exchange them."""
MANY_REGIONS = 16_384
"""Guideline 6 of Ching et al.: more regions than this need two-phase."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield a collective access for each file whose ranks move many small regions by themselves."""
    run = question.run
    if run.processes < 2 or not run.has_mpi:
        return
    for one in worth_a_look(question):
        runs = one.space_runs / one.phases
        if one.ranks < 2 or one.is_collective or one.layer == "swath" or not one.run_bytes < LARGE_BYTES:
            continue
        if not runs >= RUNS_MIN or one.bytes / one.calls >= LARGE_BYTES:
            continue
        phases = one.phases * max(1, round(one.passes))
        after = Pattern(
            one.way,
            ranks=one.ranks,
            regions=max(1, round(runs)),
            size=max(1, round(one.bytes / one.passes / one.ranks / one.space_runs)),
            gap=round(one.gap),
            times=phases,
        )
        is_timed = bool(len(one.rows)) and not question.prices.is_elsewhere
        skew = question.measure("skew", "skew", one.way, one.file) if is_timed else None
        estimate = question.compared(one, after, skew)
        condition = f"{one.ranks:,} ranks share the file, and each has {runs:,.0f} regions of it in a phase"
        yield of_access(
            question,
            one,
            estimate,
            Proposal(
                PATTERN,
                "collective I/O: one call for all regions of all ranks",
                condition=condition,
                means=lines(run, "collective", one.way, by_mpi_io=one.layer == "mpi-io"),
                change=Collective(file=one.file),
                presumes=_presumes(one, phases, 0.0 if skew is None else skew.number),
                guideline=6 if runs > MANY_REGIONS else 1,
            ),
            facts=(_regions_of_a_phase(question, one),),
        )


def _regions_of_a_phase(question: Question, one: Accesses) -> Formula:
    regions, phases = (question.measure(name, name, one.way, one.file) for name in ("regions", "phases"))
    return (regions / phases).named("regions_of_a_phase")


def _presumes(one: Accesses, phases: int, skew: float) -> tuple[str, ...]:
    said = [f"all {one.ranks:,} ranks make the call together, {phases:,} times"]
    if skew > 0:
        said.append(f"ranks that arrive early wait {skew:.3g} s in all, which is counted (guideline 7)")
    if not len(one.rows):
        said.append("regions are counted from calls that did not follow the one before; where they lie is not known")
    return tuple(said)

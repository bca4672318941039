"""Findings that belong together become one advice. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from swath.advice.runs.advice import Advice, Finding
from swath.advice.runs.estimate import Formula, RankSeconds, Reference, Value, least, total
from swath.advice.runs.factors import Factor

SHOWN_MAX = 2
"""The number of findings whose calls an advice on many files describes."""


def joined(run_seconds: Formula, processes: int, findings: Sequence[Finding]) -> Advice:
    """Return the advice of findings that belong together.

    Args:
        run_seconds: the seconds of the run.
        processes: the number of processes.
        findings: the findings.
    """
    by_seconds = sorted(findings, key=lambda one: -one.estimate.likely.number)
    shown = by_seconds[:SHOWN_MAX]
    what = "; and ".join(one.subject.what for one in shown)
    if len(findings) > len(shown):
        what += f"; and {len(findings) - len(shown):,} more like these"
    rows = [row for one in findings for row in one.subject.rows]
    files = tuple(dict.fromkeys(file for one in by_seconds for file in one.subject.files))
    proposal = by_seconds[0].proposal
    if proposal.change is not None and len(files) > 1:
        proposal = replace(proposal, change=replace(proposal.change, file=""))
    formulas = dict(_together(processes, by_seconds))
    formulas["part"] = Reference(formulas["likely"], "likely") / run_seconds
    formulas["seconds"] = _slowest(processes, [one.estimate.seconds for one in by_seconds])
    formulas["calls"] = total(one.subject.calls for one in by_seconds)
    formulas["bytes"] = total(one.subject.bytes for one in by_seconds)
    facts = tuple(fact for one in shown for fact in one.subject.facts)
    return Advice(proposal, files, what, (min(rows), max(rows)) if rows else (), formulas, facts)


def _together(processes: int, findings: Sequence[Finding]) -> dict[str, Formula]:
    """Return the saving of the rank that saves most: files of different ranks are used at the same time."""
    estimates = [one.estimate for one in findings]
    if len(estimates) == 1:
        return {name: getattr(estimates[0], name) for name in ("low", "likely", "high")}
    saved = [
        {rank: seconds * one.saved_part.number for rank, seconds in one.seconds.numbers.items()} for one in estimates
    ]
    most = _rank_with_most(processes, saved)
    terms: dict[str, list[Formula]] = {"low": [], "likely": [], "high": []}
    for one in estimates:
        for rank in one.seconds.numbers:
            if rank % processes == most:
                for name, of in terms.items():
                    of.append(_of_rank(getattr(one, name), one.seconds, rank))
    return {name: total(of) for name, of in terms.items()}


def _of_rank(saved: Formula, seconds: RankSeconds, rank: int) -> Formula:
    """Return what a rank saves, from what the slowest rank saves: in proportion to their seconds."""
    if rank == seconds.slowest_rank or seconds.numbers[rank] == seconds.slowest.number:
        return saved
    return saved * (seconds.of(rank) / seconds.slowest)


def _slowest(processes: int, parts: Sequence[RankSeconds]) -> Formula:
    """Return the sum of the seconds of the rank with most of them."""
    most = _rank_with_most(processes, [one.numbers for one in parts])
    return total(one.of(rank) for one in parts for rank in one.numbers if rank % processes == most)


def _rank_with_most(processes: int, parts: Iterable[dict[int, float]]) -> int:
    of_rank = [0.0] * processes
    for one in parts:
        for rank, seconds in one.items():
            of_rank[rank % processes] += seconds
    return max(range(processes), key=lambda rank: of_rank[rank])


def corrected(advice: Advice, factor: Factor, learned: Value, run_seconds: Formula) -> Advice:
    """Return the advice with a learned factor in its saving; calls cannot save more than their seconds.

    Args:
        advice: the advice.
        factor: the factor.
        learned: the same, as a value with the command that prints it.
        run_seconds: the seconds of the run.
    """
    most = Reference(advice.formulas["seconds"], "seconds")
    formulas = {name: least(advice.formulas[name] * learned, most) for name in ("low", "likely", "high")}
    part = Reference(formulas["likely"], "likely") / run_seconds
    return replace(advice, formulas={**advice.formulas, **formulas, "part": part}, learned=factor)

"""Advice about a run: the rules in their order, and only what saves a noticeable part of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from swath.advice.runs.advice import Advice, Finding
from swath.advice.runs.factors import Factor
from swath.advice.runs.joining import corrected, joined
from swath.advice.runs.observed import observed
from swath.advice.runs.prices import Prices
from swath.advice.runs.question import Question
from swath.advice.runs.rules import RULES
from swath.trace.log import Log

PART_MIN = 0.05
"""Advice that saves a smaller part of the run is not given."""


@dataclass(frozen=True)
class RunAdvice:
    """All advice about a run.

    Attributes:
        path: the path of the log.
        tracer: the program that wrote it.
        command: the command of the run; "" if it is not known.
        processes: the number of processes.
        has_mpi: whether they are ranks of MPI.
        seconds: the seconds of the run; priced ones if the store is another one.
        io_seconds: the seconds in calls of the rank with most of them, likewise.
        source: the origin of the prices.
        only_counters: whether the log has no requests, so that intervals are wide.
        advice: the advice in the order in which it is to be carried out.
        notes: what the log cannot tell.
    """

    path: str
    tracer: str
    command: str
    processes: int
    has_mpi: bool
    seconds: float
    io_seconds: float
    source: str
    only_counters: bool
    advice: tuple[Advice, ...]
    notes: tuple[str, ...]


def advise(log: Log, prices: Prices, learned: Mapping[str, Factor] | None = None) -> RunAdvice:
    """Return the advice about a run.

    Args:
        log: its log, from `swath.trace.opening.read_log`.
        prices: the prices of its store, or of another one on which it is to run.
        learned: what replays have taught on this store, by the titles of advice.
    """
    run = observed(log)
    question = Question(run, prices)
    found = [] if not question.seconds_of_run > 0 else _advice(question, learned or {})
    return RunAdvice(
        log.path,
        log.tracer,
        log.command,
        run.processes,
        run.has_mpi,
        question.seconds_of_run,
        question.seconds_in_calls,
        prices.profile.source,
        run.only_counters,
        tuple(found),
        tuple(log.notes),
    )


def _advice(question: Question, learned: Mapping[str, Factor]) -> list[Advice]:
    """Return the advice of all rules. What an earlier rule changes, a later one leaves alone."""
    run_seconds = question.measure("run_seconds", "seconds")
    taken: set[tuple[str, str]] = set()
    advice = []
    for rule in RULES:
        groups: dict[tuple[str, ...], list[Finding]] = {}
        for finding in rule(question):
            if finding.estimate.likely.number > 0 and not taken.intersection(finding.subject.claims):
                groups.setdefault(finding.key, []).append(finding)
        for findings in groups.values():
            one = joined(run_seconds, question.run.processes, findings)
            factor = learned.get(one.proposal.title)
            if factor is not None and factor.observations:
                one = corrected(one, factor, question.learned(one.proposal.title, factor), run_seconds)
            if one.part < PART_MIN:
                continue
            advice.append(one)
            for finding in findings:
                taken.update(finding.subject.claims)
                _leave(question, finding)
    return advice


def _leave(question: Question, finding: Finding) -> None:
    """Note what a change leaves of the seconds of the calls, for the rules after it."""
    rest = 1 - finding.estimate.saved_part
    for file in finding.subject.files:
        for way in ("read", "write"):
            if any(way in claim for of, claim in finding.subject.claims if of in (file, "")):
                left = question.left.get((file, way))
                question.left[file, way] = (rest if left is None else left * rest).named("left")

"""An advice: one change of a run, with its evidence, its condition, and the seconds that it saves. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from swath.advice.runs.exact import ArrayOperations, array_operations, seconds_now
from swath.advice.runs.observed import Accesses, Metadata, Observed
from swath.advice.runs.pattern import Pattern
from swath.advice.runs.prices import Prices, Saving, sum_of
from swath.replay.changes import Change, Collective

COUNTERS_FACTOR = 2.0
"""Seconds that follow from counters alone are less certain by this factor."""
SHOWN_MAX = 2
"""The number of findings whose numbers an advice on many files shows."""
FACTOR_MOST = 4.0
"""A learned factor lies between the inverse of this number and the number."""
MEMORY = 8
"""A new replay weighs at least one part in so many."""


@dataclass(frozen=True)
class Step:
    """A step of the systematic approach of Kandaswamy et al. 2002, figure 12.

    Attributes:
        number: its number in the order. In figure 12 the interface comes after the access of one rank; here it comes
            before, because large calls remove what reading ahead would only hide.
        words: its name.
    """

    number: int
    words: str


PARALLELISM = Step(1, "parallelism")
PATTERN = Step(2, "access and storage pattern")
INTERFACE = Step(3, "interface")
LOCAL = Step(4, "access of one rank")
STREAMS = Step(5, "streams")
BALANCE = Step(6, "balance")
SERVERS = Step(7, "servers")
METADATA = Step(8, "metadata")


@dataclass(frozen=True)
class Estimate:
    """The seconds of some calls, now and after a change.

    Attributes:
        seconds: the seconds of each rank now: measured ones, or priced ones for another store.
        saved_part: the part of them that the change saves.
        saving: the same in seconds of the slowest rank, with its interval.
        words: how the numbers are computed.
        commands: commands that print the numbers.
    """

    seconds: dict[int, float]
    saved_part: float
    saving: Saving
    words: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Proposal:
    """What a rule proposes.

    Attributes:
        step: the step of figure 12.
        title: the advice in a few words.
        condition: when the advice holds.
        means: for each language or tool, the line that carries it out.
        change: the change as a replay makes it; None if no replay can make it.
        presumes: what is presumed, a sentence each.
        guideline: the number of the guideline of Ching et al. 2006 that it follows; 0 for none.
    """

    step: Step
    title: str
    condition: str
    means: dict[str, str]
    change: Change | None = None
    presumes: tuple[str, ...] = ()
    guideline: int = 0


@dataclass(frozen=True)
class Subject:
    """The calls that a finding is about.

    Attributes:
        files: the files.
        claims: what the proposal changes, by file: a later finding with one of these claims is dropped.
        what: what the calls are, in words.
        calls: the number of calls.
        bytes: the bytes of these calls.
        rows: the first and the last of these calls in the log, from 0; () if the log has none.
        kind: findings with equal kinds and titles belong together.
    """

    files: tuple[str, ...]
    claims: tuple[tuple[str, str], ...]
    what: str
    calls: int
    bytes: int = 0
    rows: tuple[int, ...] = ()
    kind: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """What a rule found on one file; findings of one rule on several files become one advice.

    Attributes:
        subject: the calls.
        proposal: the change.
        estimate: the seconds.
    """

    subject: Subject
    proposal: Proposal
    estimate: Estimate

    @property
    def key(self) -> tuple[str, ...]:
        """Return what findings that belong together have in common."""
        if isinstance(self.proposal.change, Collective):  # of reads and writes together
            return (self.proposal.title, *self.subject.files)
        return (self.proposal.title, *self.subject.kind)


@dataclass(frozen=True)
class Factor:
    """What replays have shown of one kind of advice, for one store.

    Attributes:
        factor: replayed seconds divided by predicted ones.
        observations: the number of replays.
    """

    factor: float = 1.0
    observations: int = 0

    def observed(self, ratio: float) -> Factor:
        """Return the factor after one more replay, which is bounded: one disturbed replay must not spoil the rest."""
        weight = 1 / min(self.observations + 1, MEMORY)
        bounded = min(max(ratio, 1 / FACTOR_MOST), FACTOR_MOST)
        return Factor(self.factor ** (1 - weight) * bounded**weight, self.observations + 1)


@dataclass(frozen=True)
class Advice:
    """One advice about a run: the findings of one rule, on one file or several.

    Attributes:
        proposal: what is proposed.
        files: the files, those with most seconds first.
        evidence: what the calls are; how many; their bytes; their seconds on the slowest rank; which of the log's.
        saving: the seconds of the run that it saves.
        part: the same as a part of the run.
        words: how the numbers are computed.
        commands: commands that print the numbers.
        learned: the factor that replays have taught, which is in the saving.
    """

    proposal: Proposal
    files: tuple[str, ...]
    evidence: dict[str, Any]
    saving: Saving
    part: float
    words: str
    commands: tuple[str, ...]
    learned: Factor = Factor()

    def corrected(self, learned: Factor) -> Advice:
        """Return the advice with a learned factor in its saving; calls cannot save more than their seconds."""
        if not learned.observations:
            return self
        most = self.evidence["seconds"]
        low, likely, high = (min(one * learned.factor, most) for one in vars(self.saving).values())
        words = f"{self.words}; times {learned.factor:.3g}, learned from {learned.observations:,} replays"
        saving, part = Saving(low, likely, high), self.part * likely / self.saving.likely
        return replace(self, saving=saving, part=part, words=words, learned=learned)


@dataclass
class Question:
    """The question of one run, on which all rules work.

    Attributes:
        run: the facts.
        prices: the prices.
        left: for each access, by file and way, the part of its seconds that earlier advice leaves.
    """

    run: Observed
    prices: Prices
    left: dict[tuple[str, str], float] = field(default_factory=dict)

    @cached_property
    def operations(self) -> list[ArrayOperations]:
        """Return the exact operations on each array, if the log is a trace of Swath."""
        return array_operations(self.run.log.path) if self.run.log.tracer == "Swath" else []

    @cached_property
    def exact(self) -> dict[tuple[str, str], float]:
        """Return the prices of exact operations, by file and way."""
        return {
            (array.identity, way): seconds_now(array.operations, self.prices.profile, way)
            for array in self.operations
            for way in {one.core.direction for one in array.operations}
        }

    def adapts(self, one: Accesses, means: str) -> bool:
        """Return whether Swath adapts the access by itself, by one of `swath.base.adaptive`."""
        return means in self.run.log.adaptive.get(one.file, ())

    @property
    def uncertainty(self) -> float:
        """Return the factor within which prices are right for this log."""
        return self.prices.factor * (COUNTERS_FACTOR if self.run.only_counters else 1.0)

    def now(self, one: Accesses) -> Pattern:
        """Return the calls of an access as the program makes them, as a pattern."""
        if one.layer == "swath":  # its plans decide what a call moves; a call is taken to be contiguous
            calls = max(1, one.calls // max(one.ranks, 1))
            return Pattern(one.way, max(one.ranks, 1), size=max(1, round(one.request_bytes)), times=calls)
        runs = max(1, round(one.runs)) if one.runs >= 1 else 1
        return Pattern(
            one.way,
            ranks=max(one.ranks, 1),
            regions=runs,
            size=max(1, round(one.bytes / one.passes / one.ranks / runs)),
            gap=round(one.gap),
            calls=max(1, round(one.calls_of_run)),
            method="direct",
            times=max(1, round(one.passes)),
        )

    def cached(self, one: Accesses) -> float:
        """Return 1 if the seconds of the reads are those of a page cache, else 0."""
        if one.way == "write" or self.prices.is_elsewhere:
            return 0.0
        pattern = self.now(one)
        near = [abs(_ratio(one.slowest, self.prices.seconds(pattern, part))) for part in (0.0, 1.0)]
        return float(near[1] < near[0])

    def seconds(self, one: Accesses) -> dict[int, float]:
        """Return the seconds of each rank now: from the log, or priced if the store is another one."""
        left = self.left.get((one.file, one.way), 1.0)
        if not self.prices.is_elsewhere:
            return {rank: seconds * left for rank, seconds in one.seconds.items()}
        priced = self.exact.get((one.file, one.way))
        if priced is None:
            priced = self.prices.seconds(self.now(one))
        priced *= left
        return dict.fromkeys(one.seconds, priced)

    def without_bytes(self, one: Metadata, name: str) -> dict[int, float]:
        """Return the seconds of each rank in calls that move no bytes. On another store, only syncs have a price."""
        if not self.prices.is_elsewhere:
            return one.seconds[name]
        if name != "sync":
            return {}
        calls = one.calls[name] / max(one.ranks, 1)
        priced = calls * self.prices.sync(one.written_bytes / one.calls[name])
        return dict.fromkeys(one.seconds[name], priced)

    def compared(self, one: Accesses, after: Pattern, more: float = 0.0) -> Estimate:
        """Return what it saves if the calls of an access follow another pattern.

        Args:
            one: the access.
            after: the pattern after the change.
            more: seconds that the change costs besides.
        """
        now, cached = self.now(one), self.cached(one)
        before, then = self.prices.seconds(now, cached), self.prices.seconds(after, cached) + more
        seconds = self.seconds(one)
        slowest = max(seconds.values(), default=0.0)
        ratio = min(then / before, 1.0) if before > 0 else 1.0
        saved_part = 1 - ratio
        scaled = slowest * ratio
        worst, best = max(then, scaled) * self.uncertainty, min(then, scaled) / self.uncertainty
        likely = slowest * saved_part
        saving = Saving(slowest - worst, likely, slowest - best)
        if self.prices.is_elsewhere:  # the seconds now are prices, too, and regions may lie so close that no head moves
            near = self.prices.without_jumps(now) - then * self.uncertainty
            high = max(saving.high, likely * self.uncertainty)
            saving = Saving(min(saving.low, near, likely / self.uncertainty), likely, high)
        words = (
            f"{_seconds(slowest)} × (1 - {_seconds(then)} / {_seconds(before)}); {_seconds(then)} is the price of"
            f' "{after.words}", {_seconds(before)} of "{now.words}"'
        )
        if more:
            words += f"; {_seconds(more)} of it is added"
        price = f"swath advise{self.prices.command}{' --cached 1' if cached else ''} --price"
        return Estimate(
            seconds, saved_part, saving, words, (f'{price} "{after.words}"', f'{price} "{now.words}"', self.measured)
        )

    def saved(self, seconds: dict[int, float], part: float, words: str, *, low: float, high: float) -> Estimate:
        """Return an estimate from measured seconds: the saved part of them, and the least and the most part."""
        slowest = max(seconds.values(), default=0.0)
        saving = Saving(slowest * low, slowest * part, slowest * high)
        return Estimate(seconds, part, saving, words, (self.measured,))

    @property
    def measured(self) -> str:
        """Return the command that prints the measured numbers."""
        return f"swath characterise --json {self.run.log.path}"


def _ratio(measured: float, price: float) -> float:
    """Return how far a price is from a measurement; 0 if they are equal."""
    return max(measured / price, price / measured) if measured > 0 and price > 0 else 0.0


def _seconds(seconds: float) -> str:
    return f"{seconds:.4g} s"


def joined(run_seconds: float, processes: int, findings: Sequence[Finding]) -> Advice:
    """Return the advice of findings that belong together."""
    by_seconds = sorted(findings, key=lambda one: -one.estimate.saving.likely)
    first = by_seconds[0]
    saving = _together(processes, by_seconds)
    rows = [row for one in findings for row in one.subject.rows]
    files = tuple(dict.fromkeys(file for one in by_seconds for file in one.subject.files))
    shown = by_seconds[:SHOWN_MAX]
    what, words = (
        "; and ".join(said) for said in zip(*((one.subject.what, one.estimate.words) for one in shown), strict=True)
    )
    if len(findings) > len(shown):
        what += f"; and {len(findings) - len(shown):,} more like these"
        words += f"; likewise for {len(findings) - len(shown):,} more"
    if len(findings) > 1:
        words += "; added up rank by rank"
    commands = tuple(dict.fromkeys(command for one in shown for command in one.estimate.commands))
    evidence: dict[str, Any] = {
        "what": what,
        "calls": sum(one.subject.calls for one in findings),
        "bytes": sum(one.subject.bytes for one in findings),
        "seconds": _slowest(processes, (one.estimate.seconds for one in findings)),
    }
    if rows:
        evidence["calls_of_log"] = [min(rows), max(rows)]
    proposal = first.proposal
    if proposal.change is not None and len(files) > 1:
        proposal = replace(proposal, change=replace(proposal.change, file=""))
    part = saving.likely / run_seconds if run_seconds > 0 else 0.0
    return Advice(proposal, files, evidence, saving, part, words, commands)


def _together(processes: int, findings: Sequence[Finding]) -> Saving:
    """Return the saving of the rank that saves most: files of different ranks are used at the same time."""
    if len(findings) == 1:
        return findings[0].estimate.saving
    of_rank = [0.0] * processes
    for one in findings:
        for rank, seconds in one.estimate.seconds.items():
            of_rank[rank % processes] += seconds * one.estimate.saved_part
    likely = max(of_rank)
    total = sum_of([one.estimate.saving for one in findings])
    return total.times(likely / total.likely) if total.likely > 0 else Saving(0.0, 0.0, 0.0)


def _slowest(processes: int, parts: Iterable[dict[int, float]]) -> float:
    of_rank = [0.0] * processes
    for part in parts:
        for rank, seconds in part.items():
            of_rank[rank % processes] += seconds
    return max(of_rank)

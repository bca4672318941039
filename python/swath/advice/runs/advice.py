"""An advice: one change of a run, with its evidence, its condition, and the seconds that it saves. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from swath.advice.runs.estimate import Estimate, Formula
from swath.advice.runs.factors import Factor
from swath.advice.runs.prices import Saving
from swath.replay.changes import Change, Collective


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
        facts: other numbers that the words of the finding mention.
    """

    files: tuple[str, ...]
    claims: tuple[tuple[str, str], ...]
    what: str
    calls: Formula
    bytes: Formula
    rows: tuple[int, ...] = ()
    kind: tuple[str, ...] = ()
    facts: tuple[Formula, ...] = ()


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


UNKNOWN = Factor()
"""No replay has taught anything."""


@dataclass(frozen=True)
class Advice:
    """One advice about a run: the findings of one rule, on one file or several.

    Attributes:
        proposal: what is proposed.
        files: the files, those with most seconds first.
        what: what the calls are.
        rows: the first and the last of these calls in the log, from 0; () if the log has none.
        formulas: its numbers, by the names of `estimate.TOP`: the low, likely and high seconds that it saves; the
            likely ones as a part of the run; the seconds of the calls on the slowest rank; the calls and their bytes.
        facts: other numbers that its words mention.
        learned: the factor that replays have taught, which is in the saving.
    """

    proposal: Proposal
    files: tuple[str, ...]
    what: str
    rows: tuple[int, ...]
    formulas: dict[str, Formula]
    facts: tuple[Formula, ...] = ()
    learned: Factor = UNKNOWN

    @property
    def saving(self) -> Saving:
        """Return the seconds of the run that it saves."""
        return Saving(*(self.formulas[name].number for name in ("low", "likely", "high")))

    @property
    def part(self) -> float:
        """Return the likely saving as a part of the run."""
        return self.formulas["part"].number

    @property
    def evidence(self) -> dict[str, Any]:
        """Return what the calls are; how many; their bytes; their seconds on the slowest rank; which of the log's."""
        counts = {name: round(self.formulas[name].number) for name in ("calls", "bytes")}
        found = {"what": self.what, **counts, "seconds": self.formulas["seconds"].number}
        return {**found, "calls_of_log": list(self.rows)} if self.rows else found

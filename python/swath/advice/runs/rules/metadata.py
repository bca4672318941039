"""Metadata: files that are opened again and again, syncs after each write, and many other calls."""

from __future__ import annotations

from collections.abc import Iterator

from swath.advice.runs.advice import METADATA, Estimate, Finding, Proposal, Question, Subject
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Metadata
from swath.advice.runs.prices import Saving
from swath.base.units import in_bytes
from swath.replay.changes import Change, KeepOpen, OneSync

OPENS_MIN = 2.0
"""Calls for each rank of which one would be enough."""
COUNTED_MIN = 8
"""The same for calls that were counted together."""
SMALL_FILE = 1 << 20
SMALL_FILES_MIN = 100


def findings(question: Question) -> Iterator[Finding]:
    """Yield one open or one sync for many, and fewer calls where they were only counted together."""
    for one in question.run.metadata:
        for name in ("open", "sync"):
            calls = one.calls.get(name, 0)
            if calls >= OPENS_MIN * max(one.ranks, 1):
                yield _once(question, one, name, calls)
        if one.calls.get("metadata", 0) >= COUNTED_MIN * one.ranks and not one.waits:
            yield _fewer(question, one)
    yield from _small_files(question)


def _small_files(question: Question) -> Iterator[Finding]:
    """Yield one file for many small ones, if a rank opens many."""
    run = question.run
    moved: dict[str, int] = {}
    for access in run.accesses:
        moved[access.file] = moved.get(access.file, 0) + access.bytes
    small = [one for one in run.metadata if moved.get(one.file, 0) < SMALL_FILE and not one.waits]
    if len(small) < SMALL_FILES_MIN * run.processes:
        return
    seconds: dict[int, float] = {}
    for one in small:
        for name in one.calls:
            for rank, spent in question.without_bytes(one, name).items():
                seconds[rank] = seconds.get(rank, 0.0) + spent
    calls = sum(sum(one.calls.values()) for one in small)
    subject = Subject(
        tuple(one.file for one in small),
        tuple((one.file, "metadata") for one in small),
        f"{calls:,} calls that move no bytes, on {len(small):,} files of less than {in_bytes(SMALL_FILE)}",
        calls,
        sum(moved.get(one.file, 0) for one in small),
    )
    proposal = Proposal(
        METADATA,
        "one file for many small ones",
        f"a rank uses {len(small) / run.processes:,.0f} small files on average",
        lines(run, "fewer calls"),
        presumes=("the files are data of this program, not its libraries",),
    )
    part = 1 - run.processes / len(small)
    words = f"{len(small):,} files become one a rank, and half of the gain is taken as likely"
    yield Finding(subject, proposal, question.saved(seconds, part / 2, words, low=0.0, high=part))


def _once(question: Question, one: Metadata, name: str, calls: int) -> Finding:
    seconds = question.without_bytes(one, name)
    slowest = max(seconds.values(), default=0.0)
    again = 1 - one.ranks / calls
    if name == "sync":
        remains = min(1.0, question.prices.sync(one.written_bytes) / slowest) if slowest > 0 else 1.0
        part = max(0.0, min(again, 1 - remains))
        words = f"one sync of {one.written_bytes:,} bytes remains: {remains * slowest:.4g} s of {slowest:.4g} s"
        change: Change = OneSync(file=one.file)
        title, means = "one sync after the last write", "one sync"
        presumes = ("after a crash it is enough to have the state of the last sync, or of none",)
    else:
        part, words = again, f"{calls:,} opens by {one.ranks:,} ranks become one a rank"
        change, title, means = KeepOpen(file=one.file), "open the file once", "keep open"
        presumes = ("no other program replaces the file in between",)
    estimate = question.saved(seconds, part, words, low=part / 2, high=again)
    condition = f"{calls:,} {name}s of a file by {one.ranks:,} rank{'s' if one.ranks > 1 else ''}"
    proposal = Proposal(METADATA, title, condition, lines(question.run, means), change, presumes)
    return Finding(_subject(one, name, calls), proposal, estimate)


def _fewer(question: Question, one: Metadata) -> Finding:
    """Of counters: metadata calls have one time together, so the gain is uncertain."""
    seconds, calls = question.without_bytes(one, "metadata"), one.calls["metadata"]
    slowest = max(seconds.values(), default=0.0)
    needed = min(1.0, 2 * one.ranks / calls)
    estimate = Estimate(
        seconds,
        (1 - needed) / 2,
        Saving(0.0, slowest * (1 - needed) / 2, slowest * (1 - needed)),
        f"an open and a close a rank are needed, {2 * one.ranks:,} of {calls:,} calls; if all calls take equally long, "
        f"the others have {slowest * (1 - needed):.4g} s, half of which is taken as likely",
        (question.measured,),
    )
    proposal = Proposal(
        METADATA,
        "fewer opens, stats, seeks and syncs",
        f"{calls:,} calls on a file that move no bytes",
        lines(question.run, "fewer calls"),
        presumes=("the log has one time for all these calls together: the interval is wide",),
    )
    return Finding(_subject(one, "metadata", calls), proposal, estimate)


def _subject(one: Metadata, name: str, calls: int) -> Subject:
    return Subject((one.file,), ((one.file, name),), f"{calls:,} calls ({name})", calls)

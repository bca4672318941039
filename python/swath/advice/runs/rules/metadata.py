"""Metadata: files that are opened again and again, syncs after each write, and many other calls."""

from __future__ import annotations

from collections.abc import Iterator

from swath.advice.runs.advice import METADATA, Finding, Proposal, Subject
from swath.advice.runs.estimate import Estimate, Formula, Literal, RankSeconds, greatest, least, stated
from swath.advice.runs.means import lines
from swath.advice.runs.metadata_use import SMALL_FILE, seconds_of_calls, seconds_of_ranks, small_files
from swath.advice.runs.observed import Metadata
from swath.advice.runs.price_words import sync_words
from swath.advice.runs.question import Question
from swath.base.units import in_bytes
from swath.replay.changes import Change, KeepOpen, OneSync

OPENS_MIN = 2.0
"""Calls for each rank of which one would be enough."""
COUNTED_MIN = 8
"""The same for calls that were counted together."""
SMALL_FILES_MIN = 100
HALF = 0.5
"""The likely part of the most that can be saved, where the log does not tell more."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield one open or one sync for many, and fewer calls where they were only counted together."""
    if question.prices.is_elsewhere:
        return  # the seconds of these calls are those of the log's store, and the run there has none of them
    for one in question.run.metadata:
        for name in ("open", "sync"):
            calls = one.calls.get(name, 0)
            if calls >= OPENS_MIN * max(one.ranks, 1):
                yield _once(question, one, name, calls)
        if one.calls.get("metadata", 0) >= COUNTED_MIN * one.ranks and not one.waits:
            yield _fewer(question, one)
    yield from _small_files(question)


def _half(reason: str) -> Formula:
    return stated(HALF, "half", f"{reason}: between nothing and all of it is saved")


def _small_files(question: Question) -> Iterator[Finding]:
    """Yield one file for many small ones, if a rank opens many."""
    run = question.run
    small = small_files(run)
    if len(small) < SMALL_FILES_MIN * run.processes:
        return
    calls = question.measure("calls_now", "small-files", "calls")
    files, processes = question.measure("files", "small-files"), question.measure("processes", "processes")
    subject = Subject(
        tuple(one.file for one in small),
        tuple((one.file, "metadata") for one in small),
        f"{calls.number:,.0f} calls that move no bytes, on {len(small):,} files of less than {in_bytes(SMALL_FILE)}",
        calls,
        question.measure("bytes_now", "small-files", "bytes"),
        facts=((files / processes).named("files_of_a_rank"),),
    )
    proposal = Proposal(
        METADATA,
        "one file for many small ones",
        f"a rank uses {len(small) / run.processes:,.0f} small files on average",
        lines(run, "fewer calls"),
        presumes=("the files are data of this program, not its libraries",),
    )
    seconds = RankSeconds(
        seconds_of_ranks(small),
        lambda rank: question.measure("seconds_now", "small-files", "seconds", f"rank={rank}"),
    )
    most = seconds.slowest * (1 - processes / files)
    yield Finding(subject, proposal, Estimate(seconds, Literal(0), most * _half("one file has calls, too"), most))


def _seconds(question: Question, one: Metadata, name: str) -> RankSeconds:
    return RankSeconds(
        one.seconds[name],
        lambda rank: question.measure(f"{name}_seconds", "seconds", name, one.file, f"rank={rank}"),
    )


def _once(question: Question, one: Metadata, name: str, calls: int) -> Finding:
    if name == "sync":
        change: Change = OneSync(file=one.file)
        title, means = "one sync after the last write", "one sync"
        presumes = ("after a crash it is enough to have the state of the last sync, or of none",)
    else:
        change, title, means = KeepOpen(file=one.file), "open the file once", "keep open"
        presumes = ("no other program replaces the file in between",)
    condition = f"{calls:,} {name}s of a file by {one.ranks:,} rank{'s' if one.ranks > 1 else ''}"
    proposal = Proposal(METADATA, title, condition, lines(question.run, means), change, presumes)
    return Finding(_subject(question, one, name, calls), proposal, _once_estimate(question, one, name))


def _once_estimate(question: Question, one: Metadata, name: str) -> Estimate:
    """Return the estimate: one call a rank of the mean seconds remains; or it is the slowest one, or the fastest one.

    A sync that remains takes at least what a sync of all written bytes costs.
    """
    seconds = _seconds(question, one, name)
    now = seconds.slowest
    calls, ranks = (question.measure(f"{what}_of_{name}", what, name, one.file) for what in ("calls", "ranks"))
    likely = now * (1 - ranks / calls)
    low = high = likely
    if len(seconds_of_calls(question.run, one, name, seconds.slowest_rank)):
        words = (name, one.file, f"rank={seconds.slowest_rank}")
        low = least(now - question.measure(f"slowest_{name}", "slowest", *words), likely)
        high = greatest(now - question.measure(f"fastest_{name}", "fastest", *words), likely)
    if name == "sync":
        price = question.price("price_of_sync", sync_words(one.written_bytes))
        low = least(low, now - price * question.uncertainty)
        likely = greatest(least(likely, now - price), 0)
        high = greatest(high, likely)
        low = least(low, likely)
    return Estimate(seconds, low, likely, high)


def _fewer(question: Question, one: Metadata) -> Finding:
    """Of counters: metadata calls have one time together, so the gain is uncertain. An open and a close are needed."""
    seconds, calls = _seconds(question, one, "metadata"), one.calls["metadata"]
    of_log, ranks = (question.measure(f"{what}_now", what, "metadata", one.file) for what in ("calls", "ranks"))
    most = seconds.slowest * (1 - least(2 * ranks / of_log, 1))
    half = _half("the log has one time for all these calls together")
    proposal = Proposal(
        METADATA,
        "fewer opens, stats, seeks and syncs",
        f"{calls:,} calls on a file that move no bytes",
        lines(question.run, "fewer calls"),
        presumes=("the log has one time for all these calls together: the interval is wide",),
    )
    return Finding(
        _subject(question, one, "metadata", calls), proposal, Estimate(seconds, Literal(0), most * half, most)
    )


def _subject(question: Question, one: Metadata, name: str, calls: int) -> Subject:
    of_log, ranks = (question.measure(f"{what}_of_{name}", what, name, one.file) for what in ("calls", "ranks"))
    return Subject((one.file,), ((one.file, name),), f"{calls:,} calls ({name})", of_log, Literal(0), facts=(ranks,))

"""Streams: more ranks transfer at once than the store serves well."""

from __future__ import annotations

from collections.abc import Iterator

from swath.advice.runs.advice import STREAMS, Finding, Proposal
from swath.advice.runs.estimate import Estimate, least, stated
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.price_words import slowdown_words
from swath.advice.runs.question import Question
from swath.advice.runs.rules.common import of_access, worth_a_look
from swath.base.stream_settings import BURST_BYTES
from swath.replay.changes import Streams

STREAMS_MAX = 64
LARGE_REQUEST = 64 << 10
"""The measured slowdown is that of large requests."""


def _has_streams(one: Accesses) -> bool:
    """Return whether ranks transfer more than one burst: less gets one token, and does not wait (docs/streams.md).

    The plan of a collective operation of Swath decides how many ranks transfer.
    """
    if one.layer == "swath" and one.is_collective:
        return False
    of_a_phase = one.bytes / max(1, one.ranks) / max(1, one.phases)
    return one.request_bytes >= LARGE_REQUEST and of_a_phase >= BURST_BYTES


def findings(question: Question) -> Iterator[Finding]:
    """Yield a number of streams, where the profile of the store says that fewer are faster."""
    prices = question.prices
    if not prices.is_measured or not prices.numbers["device.read"]:
        return
    large = [one for one in worth_a_look(question) if _has_streams(one) and not question.cached(one)]
    for way in ("read", "write"):
        mine = [one for one in large if one.way == way]
        ranks = {rank for one in mine for rank in one.seconds}
        if len(ranks) < 2:
            continue
        counts = range(1, min(len(ranks), STREAMS_MAX) + 1)
        slowdowns = {n: prices.slowdown(way, n) / n for n in counts}
        best = min(counts, key=slowdowns.__getitem__)
        for one in mine if slowdowns[best] < slowdowns[counts[-1]] else ():
            yield _fewer(question, one, best, len(ranks))


def _fewer(question: Question, one: Accesses, best: int, ranks: int) -> Finding:
    return of_access(
        question,
        one,
        _estimate(question, one, best, min(ranks, STREAMS_MAX)),
        Proposal(
            STREAMS,
            f"at most {best} stream{'s' if best > 1 else ''} at a time",
            condition=f"{ranks:,} ranks transfer at once; the store is fastest with {best}",
            means=lines(question.run, "streams"),
            change=Streams(file=one.file, streams=best),
            presumes=("no other job uses the store", "the ranks transfer at the same time"),
        ),
        f"streams of {one.way}s",
    )


def _estimate(question: Question, one: Accesses, best: int, here: int) -> Estimate:
    """Return the estimate: the seconds are scaled by the time of a byte with fewer streams."""
    seconds, uncertainty = question.seconds(one), question.uncertainty
    fewer = stated(best, "streams_then", "the number of streams with which the store is fastest")
    all_of_them = stated(here, "streams_now", f"the ranks that transfer at once, but not more than {STREAMS_MAX}")
    of_byte = question.price("slowdown_now", slowdown_words(one.way, here)) / all_of_them
    of_byte_then = question.price("slowdown_then", slowdown_words(one.way, best)) / fewer
    likely = seconds.slowest * (1 - of_byte_then / of_byte)
    return Estimate(seconds, likely / uncertainty, likely, least(seconds.slowest, likely * uncertainty))

"""Streams: more ranks transfer at once than the store serves well."""

from __future__ import annotations

from collections.abc import Iterator

from swath.advice.runs.advice import STREAMS, Estimate, Finding, Proposal, Question
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.prices import Saving
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
    for one in large:
        ranks = {rank for other in large if other.way == one.way for rank in other.seconds}
        if len(ranks) < 2:
            continue
        slow = {n: prices.slowdown(one.way, n) / n for n in range(1, min(len(ranks), STREAMS_MAX) + 1)}
        best = min(slow, key=lambda n: slow[n])
        here = slow[max(slow)]
        part = 1 - slow[best] / here
        seconds = question.seconds(one)
        slowest = max(seconds.values(), default=0.0)
        saving = Saving(slowest * part / prices.factor / 2, slowest * part, slowest * min(1.0, part * prices.factor))
        words = f"{slowest:.4g} s × (1 - {slow[best]:.4g} / {here:.4g}): time of a byte, {best} and {max(slow)} streams"
        store = f" {prices.store}" if prices.store else ""
        shown = f"cat {prices.machine}" if prices.machine else f"swath calibrate --show{store}"
        yield of_access(
            one,
            Estimate(seconds, part, saving, words, (question.measured, shown)),
            Proposal(
                STREAMS,
                f"at most {best} stream{'s' if best > 1 else ''} at a time",
                condition=f"{len(ranks):,} ranks transfer at once; the store is fastest with {best}",
                means=lines(question.run, "streams"),
                change=Streams(file=one.file, streams=best),
                presumes=("no other job uses the store", "the ranks transfer at the same time"),
            ),
            f"streams of {one.way}s",
        )

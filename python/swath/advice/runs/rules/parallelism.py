"""Parallelism: one rank moves what all could move."""

from __future__ import annotations

from collections.abc import Iterator

from swath.advice.runs.advice import PARALLELISM, Finding, Proposal
from swath.advice.runs.means import lines
from swath.advice.runs.pattern import Pattern
from swath.advice.runs.question import Question
from swath.advice.runs.rules.common import of_access, worth_a_look
from swath.replay.changes import Collective

ALONE = 0.95
"""The part of a direction's bytes that one rank moves alone."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield a collective access for each file that one of many ranks moves alone, for all."""
    run = question.run
    if run.processes < 2 or not run.has_mpi:
        return
    for way in ("read", "write"):
        of = [one for one in run.accesses if one.way == way and not one.is_collective]
        alone = [one for one in of if one.ranks == 1]
        ranks = {rank for one in alone for rank in one.seconds}
        moved = sum(one.bytes for one in of)
        if len(ranks) != 1 or sum(one.bytes for one in alone) < ALONE * moved:
            continue
        rank = next(iter(ranks))
        for one in worth_a_look(question, ways=(way,)):
            if one not in alone or one.calls < 2 * run.processes:
                continue
            times = max(1, round(one.passes)) * one.phases
            size = max(1, round(one.bytes / times / run.processes))
            after = Pattern(way, ranks=run.processes, size=size, times=times)
            yield of_access(
                question,
                one,
                question.compared(one, after),
                Proposal(
                    PARALLELISM,
                    "collective I/O: all ranks, with one call",
                    condition=f"rank {rank} alone {way}s for {run.processes} ranks, in {one.calls:,} calls",
                    means=lines(run, "collective", way, by_mpi_io=one.layer == "mpi-io"),
                    change=Collective(file=one.file),
                    presumes=(
                        "each rank has its part of the data, so that nothing is gathered before",
                        f"there is one collective call in each of {times:,} phases",
                    ),
                    guideline=1,
                ),
                facts=(question.measure("processes", "processes"),),
            )

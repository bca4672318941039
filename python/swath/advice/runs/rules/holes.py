"""Collective writes that read first: the MPI library fills holes by reading, and writes the holes back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swath.advice.runs.advice import SERVERS, Finding, Proposal, Question
from swath.advice.runs.means import lines
from swath.advice.runs.rules.common import of_access
from swath.trace.totals import all_totals

OFTEN = 0.5
"""The least number of reads below the MPI library for each write there."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield writes without reading, where a file is read below MPI-IO, but hardly by the program."""
    log = question.run.log
    if question.prices.is_elsewhere or not any(kind.layer == "mpi-io" for kind in log.kinds):
        return
    totals = all_totals(log)
    for one in question.run.accesses:
        if one.layer != "mpi-io" or one.way != "write" or not one.is_collective:
            continue
        of = totals[totals["file"] == log.files.index(one.file)]
        below = {way: of[np.isin(of["kind"], log.kinds_where(way, "posix"))] for way in ("read", "write")}
        wanted = sum(other.calls for other in question.run.accesses if other.file == one.file and other.way == "read")
        reads, writes = (int(below[way]["calls"].sum()) for way in ("read", "write"))
        seconds = {way: float(np.nansum(rows["seconds"])) for way, rows in below.items()}
        if not writes or reads - wanted < OFTEN * writes or not sum(seconds.values()):
            continue
        part = seconds["read"] / sum(seconds.values())
        yield of_access(
            one,
            question.saved(
                question.seconds(one),
                part,
                f"reads take {seconds['read']:.4g} s of {sum(seconds.values()):.4g} s of the calls below MPI-IO",
                low=part / 4,
                high=min(1.0, 2 * part),
            ),
            Proposal(
                SERVERS,
                "collective writes that do not read first",
                f"the file is read {reads:,} times and written {writes:,} times below MPI-IO, and the program reads it "
                f"{wanted:,} times",
                lines(question.run, "holes", by_mpi_io=True),
                presumes=("the ranks together leave few holes, or the holes may be written by other calls",),
            ),
            "reads of collective writes",
        )

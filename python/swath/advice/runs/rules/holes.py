"""Collective writes that read first: the MPI library fills holes by reading, and writes the holes back."""

from __future__ import annotations

from collections.abc import Iterator

from swath.advice.runs.advice import SERVERS, Finding, Proposal
from swath.advice.runs.estimate import Estimate, least, stated
from swath.advice.runs.means import lines
from swath.advice.runs.question import Question
from swath.advice.runs.rules.common import of_access

OFTEN = 0.5
"""The least number of reads below the MPI library for each write there."""
FEWER, MORE = 4.0, 2.0
"""The calls wait for a quarter of the part that reads have below MPI-IO, or for its double: the log does not tell."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield writes without reading, where a file is read below MPI-IO, but hardly by the program."""
    log = question.run.log
    if question.prices.is_elsewhere or not any(kind.layer == "mpi-io" for kind in log.kinds):
        return
    for one in question.run.accesses:
        if one.layer != "mpi-io" or one.way != "write" or not one.is_collective:
            continue
        reader = question.by_file.get((one.file, "read"))
        wanted = 0 if reader is None else reader.calls
        reads, writes = (question.measure(f"{way}s", "below-calls", way, one.file) for way in ("read", "write"))
        reading, writing = (
            question.measure(f"{way}_seconds", "below-seconds", way, one.file) for way in ("read", "write")
        )
        both = reading + writing
        if not writes.number or reads.number - wanted < OFTEN * writes.number or not both.number:
            continue
        seconds = question.seconds(one)
        likely = seconds.slowest * (reading / both)
        fewer = stated(FEWER, "fewer", "aggregators may read at the same time as others write; the log does not tell")
        more = stated(MORE, "more", "ranks may wait for the slowest aggregator; the log does not tell")
        again = f"{wanted:,} times" if wanted else "never"
        yield of_access(
            question,
            one,
            Estimate(seconds, likely / fewer, likely, least(likely * more, seconds.slowest)),
            Proposal(
                SERVERS,
                "collective writes that do not read first",
                f"the file is read {reads.number:,.0f} times and written {writes.number:,.0f} times below MPI-IO, and "
                f"the program reads it {again}",
                lines(question.run, "holes", by_mpi_io=True),
                presumes=("the ranks together leave few holes, or the holes may be written by other calls",),
            ),
            "reads of collective writes",
            (reads, writes, *([] if reader is None else [question.measure("reads_above", "calls", "read", one.file)])),
        )

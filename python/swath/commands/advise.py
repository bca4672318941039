"""`swath advise`: what would make a program faster, from its trace or log, and by how much."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from typing import Any

from swath.advice.runs import learned, measures
from swath.advice.runs.advice import Advice
from swath.advice.runs.advise import RunAdvice, advise
from swath.advice.runs.estimate import as_data as formulas_as_data
from swath.advice.runs.factors import factors
from swath.advice.runs.observed import observed
from swath.advice.runs.price_words import priced
from swath.advice.runs.priced_run import PricedRun
from swath.advice.runs.store_prices import prices_of
from swath.advice.runs.verify import Verification, verify
from swath.commands import output
from swath.commands.advise_text import print_advice, print_verification
from swath.errors import ArgumentError
from swath.trace.opening import read_log

HELP = "say what would make a traced program faster, and by how much"
DESCRIPTION = """\
Say what would make the file use of a program faster, in the order in which it is
to be changed: collective I/O, layout, calls of one rank, streams, interface,
balance, servers, metadata. Each advice has its evidence, its condition, the
seconds that it would save with an interval, how it is done, and the formula of
its seconds, with a command for each number in it. What would save less than 5 % of
the run is not said.
"""

EPILOG = """\
prices: a pattern of access, whose seconds --price prints:
  "write ranks=4 regions=4096 size=8 gap=128 method=two-phase"
  regions are those of each rank, of so many bytes; gap is between neighbouring
  ones; methods are auto, direct, sieve, list, two-phase; calls=N: each region is
  moved by N calls of the program; times=N: all this happens N times.
  Also "without-jumps PATTERN", "copy size=BYTES", "sync size=BYTES" and
  "slowdown read streams=4"

measures: a number of the run, which --measure prints:
  "seconds write FILE rank=3", "calls open FILE", "overlap read FILE rank=0";
  docs/advise.md has all of them, and an error lists them

examples:
  swath trace --into run7 mpiexec -n 4 ./program
  swath advise run7                        what would make it faster
  swath advise run7 --store disk:p690-scsi if the files were on that disk
  swath advise run7 --machine paragon      if the program ran on that machine
  swath advise run7 --verify               replay each advice: does it hold?
  swath advise job.darshan --json          a log of Darshan, as data
  swath advise --price "write ranks=4 regions=4096 size=8 method=direct"
  swath advise run7 --measure "seconds"    the seconds of the run

read next: docs/advise.md.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath advise TRACE`."""
    parser.add_argument(
        "trace", metavar="TRACE", nargs="?", help="the folder of a trace, one file of it, or a log of Darshan"
    )
    parser.add_argument(
        "--store", metavar="FOLDER|disk:NAME", help="prices of this store; of a modelled disk, calls are priced, too"
    )
    parser.add_argument(
        "--machine",
        metavar="NAME|FILE",
        help="prices of a machine of `swath simulate`, or of a profile from `swath calibrate --json` (FILE.json)",
    )
    parser.add_argument(
        "--verify", action="store_true", help="replay the run with each advice, and print what it saves there"
    )
    parser.add_argument("--price", metavar="PATTERN", help="print the seconds of a pattern of access instead")
    parser.add_argument("--measure", metavar="WORDS", help="print one number of the log instead")
    parser.add_argument("--cached", metavar="PART", default="0", help="of --price: of what is read, in the page cache")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the advice, a price, or a measure."""
    if (options.trace is None) == (options.price is None):
        raise ArgumentError("advise: name one trace or log, or give --price")
    if options.price is not None:
        return _print_price(options)
    log = read_log(options.trace)
    prices = prices_of(options.store, options.machine, log.files)
    if options.measure is not None:
        return _print_measure(options, PricedRun(observed(log), prices))
    found = advise(log, prices, factors(prices.profile.source))
    shown = verify(found, options.store or "") if options.verify else None
    if shown is not None:
        learned.learn(prices.profile.source, shown.replayed)
    if options.json:
        output.print_json({**as_data(found), **({} if shown is None else {"verified": as_data_of_replays(shown)})})
    else:
        print_advice(found, struck_of(shown))
        if shown is not None:
            print_verification(shown)
    return 0


def as_data(found: RunAdvice) -> dict[str, Any]:
    """Return the advice as plain data, for JSON."""
    return {**asdict(replace(found, advice=())), "advice": [_advice_as_data(one) for one in found.advice]}


def _advice_as_data(one: Advice) -> dict[str, Any]:
    change = one.proposal.change
    return {
        **asdict(replace(one.proposal, change=None)),
        "change": None if change is None else change.words,
        "files": one.files,
        "evidence": one.evidence,
        "saving": asdict(one.saving),
        "part": one.part,
        **formulas_as_data(one.formulas, one.facts),
        "learned": asdict(one.learned),
    }


def as_data_of_replays(shown: Verification) -> dict[str, Any]:
    """Return replays as plain data, for JSON."""
    replayed = [{**asdict(one), "error": one.error} for one in shown.replayed]
    return {"original": asdict(shown.original), "replayed": replayed}


def struck_of(shown: Verification | None) -> set[str]:
    """Return the titles of advice that saved nothing in a replay."""
    return set() if shown is None else {one.title for one in shown.replayed if one.gains is False}


def _print_measure(options: argparse.Namespace, run: PricedRun) -> int:
    measure, said_for = measures.found(measures.split(options.measure))
    number = float(measure.of(run, *said_for))
    if options.json:
        said = {"measure": options.measure, "value": number, "unit": measure.unit, "meaning": measure.meaning}
        output.print_json(said)
    else:
        print(f"{number:.6g} {measure.unit}: {measure.meaning}" if measure.unit else f"{number:.6g}: {measure.meaning}")
    return 0


def _print_price(options: argparse.Namespace) -> int:
    try:
        cached = float(options.cached)
    except ValueError:
        cached = -1.0
    if not 0 <= cached <= 1:
        raise ArgumentError(f'--cached "{options.cached}": expected a part, 0 to 1')
    if options.measure is not None:
        raise ArgumentError("advise: --price and --measure print one number each; leave one out")
    prices = prices_of(options.store, options.machine, ())
    found = priced(prices, options.price, cached)
    source = prices.profile.source
    if options.json:
        output.print_json({"price": options.price, **asdict(found), "source": source})
    else:
        moved = f" for {found.bytes:,} bytes" if found.bytes else ""
        print(f"{found.value:.4g} {found.unit}{moved} ({source})")
    return 0

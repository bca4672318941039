"""The numbers of a run that words name: `swath advise LOG --measure` prints them, and advice is computed of them."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from swath.advice.runs import exact, timing
from swath.advice.runs.aggregation import aggregators
from swath.advice.runs.factors import factors
from swath.advice.runs.metadata_use import seconds_of_calls, seconds_of_ranks, small_files
from swath.advice.runs.observed import Accesses, Metadata
from swath.advice.runs.priced_run import PricedRun
from swath.advice.runs.rank_shares import bytes_of_ranks, independent, summed
from swath.advice.runs.server_use import ServerUse, servers_used
from swath.errors import ArgumentError
from swath.trace.totals import all_totals

SHOWN_MAX = 5
"""The number of files that an error names."""
PATTERNS = {
    "WAY": r"read|write",
    "CALL": r"\S+",
    "FILE": r".+",
    "TITLE": r".+",
    "rank=N": r"rank=(\d+)",
    "server=N": r"server=(\d+)",
}
"""What stands for each word of a form that is not that word itself."""


@dataclass(frozen=True)
class Measure:
    """A number of a run.

    Attributes:
        form: the words that name it. WAY is read or write; CALL is WAY, open, sync or another call that moves no bytes;
            FILE is the name of a file; N is a number.
        meaning: what the number is.
        unit: its unit.
        is_priced: whether it depends on the prices: of another store, or of plans.
        of: returns it, from the run and the words that stand for WAY, CALL, FILE and N.
    """

    form: str
    meaning: str
    unit: str
    is_priced: bool
    of: Callable[..., float]

    @functools.cached_property
    def first(self) -> str:
        """Return its first word."""
        return self.form.partition(" ")[0]

    def matched(self, words: Sequence[str]) -> list[str | int] | None:
        """Return what stands for WAY, CALL, FILE and N; None if the words have another form."""
        form = self.form.split()
        if len(form) != len(words):
            return None
        found: list[str | int] = []
        for name, word in zip(form, words, strict=True):
            match = re.fullmatch(PATTERNS.get(name, re.escape(name)), word)
            if match is None:
                return None
            if name in PATTERNS:
                found.append(int(match[1]) if match.re.groups else word)
        return found


MEASURES: list[Measure] = []
"""All measures. Of two forms that fit, the first one counts."""


def _measure(
    form: str, meaning: str, unit: str = "s", *, is_priced: bool = False
) -> Callable[[Callable[..., float]], Callable[..., float]]:
    def keep(function: Callable[..., float]) -> Callable[..., float]:
        MEASURES.append(Measure(form, meaning, unit, is_priced, function))
        return function

    return keep


def found(words: Sequence[str]) -> tuple[Measure, list[str | int]]:
    """Return the measure that words name, and what they say for WAY, CALL, FILE and N.

    Raises:
        ArgumentError: they name none; the error has the forms that were expected.
    """
    first = words[0] if words else ""
    measures = [one for one in MEASURES if one.first == first]
    for measure in measures:
        matched = measure.matched(words)
        if matched is not None:
            return measure, matched
    text = shlex.join(words)
    if measures:
        forms = "; ".join(one.form for one in measures)
        raise ArgumentError(f'measure "{text}": expected "{first}" as in: {forms}')
    names = ", ".join(dict.fromkeys(one.first for one in MEASURES))
    raise ArgumentError(f'measure "{text}": it begins with {first!r}; expected one of {names}')


def split(text: str) -> list[str]:
    """Return the words of a text. Raise ArgumentError if a quotation does not end."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ArgumentError(f'measure "{text}": {error}; expected shell words, with file names in quotes') from None


def _access(run: PricedRun, way: str, file: str) -> Accesses:
    one = run.by_file.get((file, way))
    if one is None:
        raise _no_such(f"{way}s of {file!r}", [file for file, of in run.by_file if of == way])
    return one


def _metadata(run: PricedRun, call: str, file: str) -> Metadata:
    one = run.metadata_by_file.get(file)
    if one is None or call not in one.calls:
        known = [file for file, one in run.metadata_by_file.items() if call in one.calls]
        raise _no_such(f'calls "{call}" of {file!r}', known)
    return one


def _no_such(what: str, known: list[str]) -> ArgumentError:
    more = f" and {len(known) - SHOWN_MAX:,} more" if len(known) > SHOWN_MAX else ""
    files = f"these are of {', '.join(map(repr, known[:SHOWN_MAX]))}{more}" if known else "there are none of any file"
    return ArgumentError(f"measure: the log has no {what}; {files}")


def _of_rank(seconds: Mapping[int, float], rank: int) -> float:
    if rank not in seconds:
        ranks = ", ".join(map(str, sorted(seconds)[:SHOWN_MAX])) + (", …" if len(seconds) > SHOWN_MAX else "")
        raise ArgumentError(f"measure: rank {rank} makes no such call; expected one of {ranks or 'no rank'}")
    return seconds[rank]


def _of_process(run: PricedRun, numbers: npt.NDArray[np.float64], rank: int) -> float:
    if rank >= run.run.processes:
        raise ArgumentError(f"measure: there is no rank {rank}; expected 0 to {run.run.processes - 1}")
    return float(numbers[rank])


@_measure("seconds", "seconds of the run, from its begin to its end", is_priced=True)
def _run_seconds(run: PricedRun) -> float:
    return run.seconds_of_run


@_measure("call-seconds", "seconds in file calls of the rank with most of them", is_priced=True)
def _call_seconds(run: PricedRun) -> float:
    return run.seconds_in_calls


@_measure("processes", "processes of the run", "processes")
def _processes(run: PricedRun) -> float:
    return run.run.processes


@_measure("seconds WAY rank=N", "seconds of a rank in all reads, or writes, that are not collective", is_priced=True)
def _way_seconds(run: PricedRun, way: str, rank: int) -> float:
    return _of_process(run, independent_seconds(run, way), rank)


@_measure(
    "seconds WAY mean",
    "seconds in all reads, or writes, that are not collective: the mean of all ranks",
    is_priced=True,
)
def _way_mean(run: PricedRun, way: str) -> float:
    return float(independent_seconds(run, way).mean())


@_measure("seconds WAY FILE mean", "seconds in the reads, or writes, of a file: the mean of all ranks", is_priced=True)
def _file_mean(run: PricedRun, way: str, file: str) -> float:
    return sum(run.rank_seconds(_access(run, way, file)).values()) / run.run.processes


@_measure("seconds CALL FILE rank=N", "seconds of a rank in these calls on a file")
def _call_rank_seconds(run: PricedRun, call: str, file: str, rank: int) -> float:
    if call in ("read", "write"):
        return _of_rank(_access(run, call, file).seconds, rank)
    return _of_rank(_metadata(run, call, file).seconds[call], rank)


@_measure("seconds CALL FILE", "seconds in these calls on a file, of the rank with most of them")
def _call_seconds_most(run: PricedRun, call: str, file: str) -> float:
    if call in ("read", "write"):
        return _access(run, call, file).slowest
    return max(_metadata(run, call, file).seconds[call].values(), default=0.0)


@_measure("slowest CALL FILE rank=N", "seconds of a rank's slowest call that moves no bytes")
def _slowest(run: PricedRun, call: str, file: str, rank: int) -> float:
    return float(_each(run, call, file, rank).max())


@_measure("fastest CALL FILE rank=N", "seconds of a rank's fastest call that moves no bytes")
def _fastest(run: PricedRun, call: str, file: str, rank: int) -> float:
    return float(_each(run, call, file, rank).min())


def _each(run: PricedRun, call: str, file: str, rank: int) -> npt.NDArray[np.float64]:
    each = seconds_of_calls(run.run, _metadata(run, call, file), call, rank)
    if not len(each):
        raise ArgumentError(f'measure: the log has no call "{call}" of {file!r} by rank {rank} with its seconds')
    return each


@_measure("calls CALL FILE", "calls of all ranks on a file", "calls")
def _calls(run: PricedRun, call: str, file: str) -> float:
    return _access(run, call, file).calls if call in ("read", "write") else _metadata(run, call, file).calls[call]


@_measure("calls WAY", "all reads, or writes, that are not collective", "calls")
def _way_calls(run: PricedRun, way: str) -> float:
    return sum(one.calls for one in independent(run.run, way))


@_measure("bytes WAY", "bytes of all reads, or writes, that are not collective", "bytes")
def _way_bytes(run: PricedRun, way: str) -> float:
    return sum(one.bytes for one in independent(run.run, way))


@_measure("bytes WAY rank=N", "bytes of a rank in all reads, or writes, that are not collective", "bytes")
def _way_rank_bytes(run: PricedRun, way: str, rank: int) -> float:
    return _of_process(run, bytes_of_ranks(run.run, independent(run.run, way)), rank)


@_measure("bytes WAY mean", "bytes in all reads, or writes, that are not collective: the mean of all ranks", "bytes")
def _way_mean_bytes(run: PricedRun, way: str) -> float:
    return float(bytes_of_ranks(run.run, independent(run.run, way)).mean())


@_measure("ranks CALL FILE", "ranks that make these calls", "ranks")
def _ranks(run: PricedRun, call: str, file: str) -> float:
    return _access(run, call, file).ranks if call in ("read", "write") else _metadata(run, call, file).ranks


@_measure("rank-bytes WAY FILE", "different bytes that a rank moves, the mean of the ranks", "bytes")
def _rank_distinct(run: PricedRun, way: str, file: str) -> float:
    one = _access(run, way, file)
    return one.rank_distinct / one.ranks


OF_AN_ACCESS = (
    ("bytes", "bytes of the reads, or writes, of a file", "bytes", "bytes"),
    ("regions", "contiguous regions of the file that a rank moves, on average", "regions", "space_runs"),
    ("runs", "runs of a rank's calls that follow each other in the file, on average", "runs", "runs"),
    ("run-bytes", "bytes of a run of calls that follow each other in the file, on average", "bytes", "run_bytes"),
    ("gap", "bytes between neighbouring regions that nobody moves, on average", "bytes", "gap"),
    ("passes", "how often a rank moves each byte, on average", "times", "passes"),
    ("phases", "times with these calls that are separated by times without", "phases", "phases"),
    ("distinct", "different bytes of the file that are moved", "bytes", "distinct"),
    ("span", "bytes from the first to the last byte that is moved", "bytes", "span"),
)
"""Measures that are an attribute of an access: first word, meaning, unit, attribute."""


def _attribute(name: str) -> Callable[..., float]:
    return lambda run, way, file: float(getattr(_access(run, way, file), name))


for _word, _meaning, _unit, _name in OF_AN_ACCESS:
    _measure(f"{_word} WAY FILE", _meaning, _unit)(_attribute(_name))


@_measure("skew WAY FILE", "seconds that a rank would wait for the last one, the mean of the ranks, in all phases")
def _skew(run: PricedRun, way: str, file: str) -> float:
    return timing.skew(run.run.log, _access(run, way, file))


@_measure("overlap WAY FILE rank=N", "seconds of a rank's calls that its computing could hide", is_priced=True)
def _overlap(run: PricedRun, way: str, file: str, rank: int) -> float:
    one = _access(run, way, file)
    priced = _of_rank(run.rank_seconds(one), rank)
    return timing.overlap(run.run.log, one, rank, priced if run.prices.is_elsewhere else None)


@_measure("computed-again FILE rank=N", "seconds of computing what a rank wrote, as often as it read it")
def _computed_again(run: PricedRun, file: str, rank: int) -> float:
    log = run.run.log
    rows = [timing.rows_of(log, _access(run, way, file), rank) for way in ("read", "write")]
    return timing.computed_again(log, *rows) if all(len(one) for one in rows) else 0.0


@_measure("repeated WAY FILE rank=N", "the part of a rank's seconds for bytes that it moved before", "", is_priced=True)
def _repeated(run: PricedRun, way: str, file: str, rank: int) -> float:
    return timing.repeated(run.run.log, _access(run, way, file), rank, of_bytes=run.prices.is_elsewhere)


@_measure(
    "aggregators WAY FILE", "ranks that move the bytes of collective calls for all; 0 if it is not known", "ranks"
)
def _aggregators(run: PricedRun, way: str, file: str) -> float:
    return aggregators(run.run.log, _access(run, way, file))


@_measure("concurrency WAY FILE", "ranks in these calls at the same time, on average while any is", "ranks")
def _concurrency(run: PricedRun, way: str, file: str) -> float:
    return timing.concurrency(run.run.log, _access(run, way, file))


@_measure("server-seconds WAY server=N rank=N", "seconds of a rank's requests that lie on one server alone")
def _server_seconds(run: PricedRun, way: str, server: int, rank: int) -> float:
    return _of_rank(_server(run, way, server).seconds, rank)


@_measure("server-calls WAY server=N", "requests that lie on one server alone", "calls")
def _server_calls(run: PricedRun, way: str, server: int) -> float:
    return _server(run, way, server).calls


@_measure("server-bytes WAY server=N", "bytes of the requests that lie on one server alone", "bytes")
def _server_bytes(run: PricedRun, way: str, server: int) -> float:
    return _server(run, way, server).bytes


@_measure("server-files WAY server=N", "files of the requests that lie on one server alone", "files")
def _server_files(run: PricedRun, way: str, server: int) -> float:
    return len(_server(run, way, server).files)


@_measure("server-rate WAY server=N", "seconds a byte of a server's median request", "s/byte")
def _server_rate(run: PricedRun, way: str, server: int) -> float:
    return _server(run, way, server).rate


@_measure("server-rate WAY median", "seconds a byte of the median server's median request", "s/byte")
def _median_rate(run: PricedRun, way: str) -> float:
    return _rate(run, way, np.median)


@_measure("server-rate WAY least", "seconds a byte of the fastest server's median request", "s/byte")
def _least_rate(run: PricedRun, way: str) -> float:
    return _rate(run, way, np.min)


@_measure("server-rate WAY second", "seconds a byte of the median request on the slowest server but one", "s/byte")
def _second_rate(run: PricedRun, way: str) -> float:
    return _rate(run, way, lambda rates: np.sort(rates)[-2:][0])


def _rate(run: PricedRun, way: str, of: Callable[[list[float]], float]) -> float:
    rates = [one.rate for one in servers(run, way).values()]
    if not rates:
        raise ArgumentError(f"measure: no server is known for {way}s of this log")
    return float(of(rates))


def servers(run: PricedRun, way: str) -> dict[int, ServerUse]:
    """Return the use of each server."""
    return run.kept(("servers", way), lambda: servers_used(run.run, way))


def _server(run: PricedRun, way: str, server: int) -> ServerUse:
    known = servers(run, way)
    if server not in known:
        numbers = ", ".join(map(str, sorted(known))) or "none: no server is known"
        raise ArgumentError(f"measure: no {way}s on server {server}; expected one of {numbers}")
    return known[server]


@_measure("below-seconds WAY FILE", "seconds of the calls that the MPI library makes on a file, of all ranks together")
def _below_seconds(run: PricedRun, way: str, file: str) -> float:
    return float(np.nansum(below(run, way, file)["seconds"]))


@_measure("below-calls WAY FILE", "calls that the MPI library makes on a file", "calls")
def _below_calls(run: PricedRun, way: str, file: str) -> float:
    return float(below(run, way, file)["calls"].sum())


def below(run: PricedRun, way: str, file: str) -> npt.NDArray[np.void]:
    """Return the counters of the calls on a file below MPI-IO."""
    log = run.run.log
    totals = run.kept("totals", lambda: all_totals(log))
    if file not in log.files:
        raise ArgumentError(f"measure: the log has no file {file!r}")
    of: npt.NDArray[np.void] = totals[
        (totals["file"] == log.files.index(file)) & np.isin(totals["kind"], log.kinds_where(way, "posix"))
    ]
    return of


@_measure("small-files", "files of which less than a MiB is moved", "files")
def _small_files(run: PricedRun) -> float:
    return len(small_files(run.run))


@_measure("small-files calls", "calls that move no bytes, on files of which less than a MiB is moved", "calls")
def _small_calls(run: PricedRun) -> float:
    return sum(sum(one.calls.values()) for one in small_files(run.run))


@_measure("small-files bytes", "bytes of the files of which less than a MiB is moved", "bytes")
def _small_bytes(run: PricedRun) -> float:
    names = {one.file for one in small_files(run.run)}
    return sum(one.bytes for one in run.run.accesses if one.file in names)


@_measure(
    "small-files seconds rank=N",
    "seconds of a rank in calls that move no bytes, on files of which less than a MiB is moved",
)
def _small_seconds(run: PricedRun, rank: int) -> float:
    return _of_rank(seconds_of_ranks(small_files(run.run)), rank)


@_measure(
    "planned WAY FILE", "price of the exact reads, or writes, of Swath on an array, by their plans", is_priced=True
)
def _planned(run: PricedRun, way: str, file: str) -> float:
    if (file, way) not in run.planned:
        raise _no_such(f"exact {way}s of {file!r}", [file for file, of in run.planned if of == way])
    return run.planned[file, way]


@_measure("planned FILE", "price of the exact operations of Swath on an array, by their plans", is_priced=True)
def _planned_all(run: PricedRun, file: str) -> float:
    return exact.seconds_now(_array(run, file).operations, run.prices.profile)


@_measure(
    "planned FILE best", "price of the exact operations of Swath on an array in its cheapest layout", is_priced=True
)
def _planned_best(run: PricedRun, file: str) -> float:
    best = best_layout(run, file)
    if best is None:
        raise ArgumentError(f"measure: the array {file!r} has no layout to choose")
    return best.seconds


@_measure("learned TITLE", "the factor that replays have taught for the advice with this title", "", is_priced=True)
def _learned(run: PricedRun, title: str) -> float:
    known = factors(run.prices.profile.source)
    if title not in known:
        titles = ", ".join(map(repr, known)) or "nothing yet"
        raise ArgumentError(f"measure: nothing was learned of {title!r}; replays have taught {titles}")
    return known[title].factor


def best_layout(run: PricedRun, file: str) -> exact.BestLayout | None:
    """Return the cheapest layout for the exact operations on an array; None if it has none to choose."""
    array = _array(run, file)
    return run.kept(("layout", file), lambda: exact.best_layout(array, run.prices.profile))


def _array(run: PricedRun, file: str) -> exact.ArrayOperations:
    for one in run.operations:
        if one.identity == file:
            return one
    raise _no_such(f"exact operations of {file!r}", [one.identity for one in run.operations])


def independent_seconds(run: PricedRun, way: str) -> npt.NDArray[np.float64]:
    """Return the seconds of each rank in all reads, or writes, that are not collective."""
    return run.kept(
        ("independent", way),
        lambda: summed(run.run, [run.rank_seconds(one) for one in independent(run.run, way)]),
    )

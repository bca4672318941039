"""Tables of NCIO: one for each sweep, case, direction, cache and rank count, and the conclusions from all."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

from rich.console import Console
from rich.text import Text

from swath.commands import output
from swath_bench.ncio.options import CACHES, CASES, DIRECTIONS, SWEEPS, UNCACHED
from swath_bench.ncio.summary import AUTO, spread

COLD_MAX = 0.01
"""The largest cached part of the file before an operation that is called cold."""
_DEVICE_WORDS = """\
Cold: synced and dropped from the page cache before; what the device, or the host of a virtual one, caches stays cached.
Reached the device: reads by what the ranks made devices read; synced writes by what was written to the file's device \
meanwhile, by anyone."""
_POOL_WORDS = """\
Uncached: the files are in a pool; there is no page cache between, neither warm nor cold, and what its servers cache \
they have cached.
An answered write is on the medium of all replicas: a sync looks whether the file is still there."""
WORST_SHOWN = 5
"""The number of cells that are named of each group; the JSON has all."""
VARIED = {"count": ("region count", "region_count"), "size": ("region bytes", "region_bytes")}
VARIED["spacing"] = ("spacing bytes", "spacing_bytes")


def show(console: Console, result: dict[str, Any]) -> None:
    """All tables, then the sentences of the summary."""

    def key(cell: dict[str, Any]) -> tuple[Any, ...]:
        places = (SWEEPS, CASES, DIRECTIONS, (*CACHES, UNCACHED))
        names = (cell["sweep"], cell["case"], cell["direction"], cell["cache"])
        return cell["ranks"], *(known.index(name) for known, name in zip(places, names, strict=True))

    for _, group in itertools.groupby(sorted(result["cells"], key=key), key=key):
        _show_table(console, list(group))
    console.print(Text(_protocol_words(result["options"]), style="dim"), soft_wrap=True)
    for sentence in result["summary"]["sentences"]:
        console.print(Text(sentence), soft_wrap=True)
    for group in result["summary"]["groups"]:
        _show_beyond(console, group)


def _show_table(console: Console, cells: list[dict[str, Any]]) -> None:
    first = cells[0]
    varied, field = VARIED[first["sweep"]]
    rows = varied.replace(" ", "\n")
    names = list(dict.fromkeys(name for cell in cells for name in cell["contenders"]))
    headers = [_header(name) for name in names]
    console.print(
        Text(
            f"{varied}: {first['case']} {first['direction']}, {first['cache']}, {first['ranks']} ranks; MB/s",
            style="bold",
        )
    )
    table = output.table(rows, *headers, "auto\nchose", right=(rows, *headers))
    for cell in cells:
        best = max((c["megabytes_per_second"] or 0.0 for c in cell["contenders"].values()), default=0.0)
        rates = [_rate(cell["contenders"].get(name), best) for name in names]
        table.add_row(f"{cell[field]:,}", *rates, _chosen(cell["contenders"].get(AUTO)))
    console.print(table)
    console.print(Text(evidence_words(cells), style="dim"), soft_wrap=True)
    console.print()


def _header(name: str) -> str:
    """Narrow columns: "mpich independent, no sieving" on four lines, "mpich", "indep.", "no", "sieving"."""
    for long, short in (("independent,", "indep."), ("collective,", "collect."), ("automatic", "autom.")):
        name = name.replace(long, short)
    return name.replace(" ", "\n")


def _chosen(auto: dict[str, Any] | None) -> str:
    """Return the chosen method, "sieve"; "sieve …" if some repetition took another one."""
    if auto is None or auto["chosen"] is None:
        return ""
    taken = {r["chosen"] for r in auto["repetitions"]}
    return str(auto["chosen"]) + (" …" if len(taken) > 1 else "")


def _rate(contender: dict[str, Any] | None, best: float) -> Text:
    if contender is None or contender["refused"] is not None:
        return Text("refused" if contender is not None else "")
    rate = contender["megabytes_per_second"]
    if rate is None:
        return Text("too slow")
    shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
    return Text(f"{shown} ◂", style="bold") if rate == best else Text(f"{shown}  ")


def evidence_words(cells: list[dict[str, Any]]) -> str:
    """Return sentences on the cells of a table: were they noncontiguous, did they reach the device, and the spread."""
    contenders = [c for cell in cells for c in cell["contenders"].values() if c["mean_seconds"] is not None]
    if not contenders:
        return "nothing measured"
    apart = [
        f"noncontiguous in {where}" + ("" if all(noncontiguous) else f" in {sum(noncontiguous)} of {len(cells)} rows")
        for where in ("memory", "file")
        if any(noncontiguous := [cell[f"{where}_noncontiguous"] for cell in cells])
    ]
    spreads = [known for c in contenders if (known := spread(c)) is not None]
    words = [
        " and ".join(apart) or "contiguous in memory and file",
        _device_words([c["reached_device"] for c in contenders])
        if cells[0]["cache"] != UNCACHED
        else "in a pool, no page cache between",
        f"spread of the repetitions kept: median {statistics.median(spreads):.0%}, most {max(spreads):.0%}"
        if spreads
        else "spread not known: one repetition kept",
    ]
    if cells[0]["cache"] == "cold":
        words.insert(1, _cold_words(cells))
    return "; ".join(words)


def _device_words(reached: list[bool | None]) -> str:
    if None in reached:
        return "whether it reached the device is not known"
    if all(reached):
        return "reached the device"
    if not any(reached):
        return "did not reach the device: page cache"
    return f"reached the device in {sum(map(bool, reached))} of {len(reached)} measurements"


def _cold_words(cells: list[dict[str, Any]]) -> str:
    parts = []
    for cell in cells:
        for contender in cell["contenders"].values():
            for repetition in contender["repetitions"]:
                cached = repetition["cached_bytes_before"]
                if cached is None:
                    return "what was in the page cache before is not known"
                parts.append(cached / cell.get("file_bytes", cell["bytes"]))
    most = max(parts, default=0.0)
    return f"{'in' if most <= COLD_MAX else 'NOT COLD: in'} the page cache before: {most:.2%} of the file at most"


def _protocol_words(options: dict[str, Any]) -> str:
    dropped = "all counted" if options["keep_extremes"] else "without the highest and the lowest"
    short, where = ("a pool", _POOL_WORDS) if options.get("store") else ("a warm cache", _DEVICE_WORDS)
    return f"""\
Mean of {options["repetitions"]} repetitions, {dropped}, after those that do not count; contenders in turn, \
{options["pause"]:g} s of pause before each.
Writes {"with" if options["sync"] else "WITHOUT"} a sync after each. From the first rank's start to the last rank's \
end; opening files and setting views is not timed.
Operations under 5 ms on {short} are repeated within one repetition, all as often as the fastest (up to 20 ms); \
ranks {"wait" if options["together"] else "do NOT wait"} for each other before each, outside of its time.
All data is compared after each read, the whole file, its gaps too, after each write (of files above 64 MiB: after the \
first and the last).
{where}
MB = 10^6 bytes of regions; ◂ best; auto chose: most often, … not always; too slow: not tried, after more than \
{options["limit_seconds"]:g} s in a smaller cell."""


def _show_beyond(console: Console, group: dict[str, Any]) -> None:
    for what, found in (("best method", group["auto"]["beyond"]), ("best peer", group["peers"]["slower"])):
        for cell in found[:WORST_SHOWN]:
            best = cell.get("best") or cell["best_peer"]
            noise = "" if cell.get("beyond_noise", True) else " (within noise)"
            chose = f"; auto chose {cell['chosen']}" if "chosen" in cell else ""
            console.print(Text(f"  auto {cell['ratio']:.2f} × {best}{noise}: {cell['cell']}{chose}"), soft_wrap=True)
        if len(found) > WORST_SHOWN:
            more = f"  and {len(found) - WORST_SHOWN} cells more in which the {what} was faster: in the JSON's summary"
            console.print(Text(more), soft_wrap=True)

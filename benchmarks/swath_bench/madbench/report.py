"""The report of `swath bench madbench`: one self-contained HTML file, which needs neither a network nor a program.

It has tables in the shape of tables 3 and 6 to 8 of the paper, its figures 3 (sweet spots), 4 (timelines of the tasks)
and 2 (head positions, for modelled disks), the throttle's decisions with reasons, the conditions, and all numbers as
JSON, `<script type="application/json" id="result">`; of the tasks' times only those that are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from swath_bench import page
from swath_bench.madbench import report_plots
from swath_bench.madbench.problem import PHASES
from swath_bench.madbench.report_plots import SweetSpot, reads_of
from swath_bench.madbench.summary import ALL, AUTO, PASSES, io_of, sweeps_of, where_of
from swath_bench.madbench.tables import evidence_words

TIMELINE_PHASE = "invD"
"""The phase that figure 4 shows."""
PARTS = {"COMP": "compute_seconds", "TIO": "tio_seconds", "LBSTIO": "lbstio_seconds"}
COLUMNS = ("run", "tasks", "writers", "readers", "total", *(f"{phase} {part}" for phase in PHASES for part in PARTS))

Record = dict[str, Any]
Sweep = list[tuple[int, Record]]


def write(result: Mapping[str, Any], path: str) -> None:
    """`result` of `swath bench madbench`, as its JSON has it, as one HTML file. Raises UnsupportedError, StoreError."""
    page.check_can_write(path)
    page.write(_page(result), path)


def _page(result: Mapping[str, Any]) -> str:
    sweeps = sweeps_of(result["runs"])
    return page.filled(
        __package__,
        sentences=page.items(result["summary"]["sentences"]),
        sweet_spots=_sweet_spots(sweeps),
        timelines="\n".join(_timelines(sweep) for sweep in sweeps),
        decisions=_decisions(result["runs"]),
        heads="\n".join(_heads(sweep) for sweep in sweeps),
        tables="\n".join(_table(sweep) for sweep in sweeps),
        peers="\n".join(_peers(peers) for peers in result["peers"]) or "<p>Nobody else was asked to read.</p>",
        conditions=page.definitions(result["conditions"]),
        options=page.definitions(result["options"]),
        result=page.embedded(_slim(result, sweeps)),
    )


def _title(run: Record) -> str:
    group = f"{run['group']}: " if run["group"] else ""
    return f"{group}{where_of(run)}, {run['tasks']} tasks, {run['writers']} writing at a time, {run['cache']}"


# ---- figure 3 --------------------------------------------------------------------------------------------------------


def _sweet_spots(sweeps: Sequence[Sweep]) -> str:
    swept = [sweep for sweep in sweeps if len(_static(sweep)) > 1]
    if not swept:
        return "<p>It takes two static numbers of readers, or more: --readers 1,2,4,all.</p>"
    panels = {f"({number})": _sweet_spot(sweep) for number, sweep in enumerate(swept, 1)}
    said = page.items(f"({number}) {_title(sweep[0][1])}" for number, sweep in enumerate(swept, 1))
    return f"<figure>{report_plots.sweet_spots('sweet-spots', panels)}</figure><ul class=key>{said}</ul>"


def _static(sweep: Sweep) -> Sweep:
    return [(index, run) for index, run in sweep if run["readers"] != AUTO]


def _in_order(sweep: Sweep) -> Sweep:
    """Sort from one reader up; then all, then auto."""

    def place(numbered: tuple[int, Record]) -> tuple[int, int]:
        word = numbered[1]["readers"]
        return {ALL: 1, AUTO: 2}.get(word, 0), int(word) if word.isdigit() else 0

    return sorted(sweep, key=place)


def _sweet_spot(sweep: Sweep) -> tuple[list[str], list[SweetSpot]]:
    ordered = _in_order(sweep)
    points = []
    for series in ("total", *PHASES):
        best = min(_seconds(run, series) for _, run in _static(sweep))
        for place, (index, run) in enumerate(ordered):
            seconds = _seconds(run, series)
            percent = 100 * (seconds / best - 1) if best else 0.0
            words = f"{series}, {run['readers']} reading at a time: {seconds:.4g} s, {percent:+.3g} %"
            points.append(SweetSpot(index, series, place, run["readers"] == AUTO, percent, words))
    return [run["readers"] for _, run in ordered], points


def _seconds(run: Record, series: str) -> float:
    return float(run["total_seconds"] if series == "total" else run["phases"][series]["seconds"])


# ---- figure 4 --------------------------------------------------------------------------------------------------------


def _of_figure_4(sweep: Sweep) -> Sweep:
    """Return the runs of figure 4, if they exist: unthrottled, the best static number, auto."""
    by_readers = {run["readers"]: (index, run) for index, run in sweep}
    static = [numbered for numbered in _static(sweep) if numbered[1]["readers"] != ALL]
    best = min(static, key=lambda numbered: _seconds(numbered[1], TIMELINE_PHASE), default=None)
    return [shown for shown in (by_readers.get(ALL), best, by_readers.get(AUTO)) if shown is not None]


def _timelines(sweep: Sweep) -> str:
    shown = _of_figure_4(sweep)
    if not shown:
        return ""
    name = f"timelines-{shown[0][0]}"
    plot = report_plots.timelines(name, TIMELINE_PHASE, [(index, _readers_words(run), run) for index, run in shown])
    return f"<figure><figcaption>{page.text(_title(shown[0][1]))}</figcaption>{plot}</figure>"


def _readers_words(run: Record) -> str:
    return "unthrottled" if run["readers"] == ALL else f"{run['readers']} reading at a time"


# ---- decisions, figure 2 ---------------------------------------------------------------------------------------------


def _decisions(runs: Sequence[Record]) -> str:
    shown = [(index, run) for index, run in enumerate(runs) if run["readers"] == AUTO]
    if not shown:
        return "<p>No run was throttled by auto.</p>"
    titles = [(index, f"run {index}: {run['disk'] or 'this folder'}", run) for index, run in shown]
    plot = report_plots.decisions("decisions", titles)
    rows = [
        _row(index, (index, d["seconds"], d["requests"], d["limit"] or "no limit", d["reason"]))
        for index, run in shown
        for d in reads_of(run)
    ]
    head = "".join(f"<th>{title}</th>" for title in ("run", "seconds", "requests", "limit", "reason"))
    return (
        f"<figure>{plot}</figure><details><summary>All {len(rows)} decisions</summary><table class=decisions><thead>"
        f"<tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></details>"
    )


def _heads(sweep: Sweep) -> str:
    shown = [(index, run) for index, run in _of_figure_4(sweep) if run["heads"]]
    if not shown:
        return ""
    panels = [(index, _readers_words(run), run["heads"]) for index, run in shown]
    plot = report_plots.heads(f"heads-{shown[0][0]}", panels)
    return f"<figure><figcaption>{page.text(_title(shown[0][1]))}</figcaption>{plot}</figure>"


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _table(sweep: Sweep) -> str:
    rows = []
    for index, run in sweep:
        parts = [run["phases"][phase][part] for phase in PHASES for part in PARTS.values()]
        values = (index, run["tasks"], run["writers"], run["readers"], run["total_seconds"], *parts, run["io_percent"])
        rows.append(_row(index, values))
    head = "".join(f"<th>{page.text(title)}</th>" for title in (*COLUMNS, "% I/O"))
    runs = [run for _, run in sweep]
    return (
        f"<h3>{page.text(_title(runs[0]))}</h3><p class=note>{page.text(evidence_words(runs))}</p><div class=wide>"
        f"<table class=numbers><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(index: int, values: Sequence[object]) -> str:
    return f'<tr data-run="{index}">{"".join(map(page.cell, values))}</tr>'


def _peers(peers: Record) -> str:
    rows = []
    for name, found in peers["contenders"].items():
        values: list[object] = [name]
        for of_pass in (found[words] for words in PASSES):
            values += [of_pass["tio_seconds"], of_pass["lbstio_seconds"], peers["bytes"] / io_of(of_pass) / 1e6]
        rows.append(f"<tr>{''.join(map(page.cell, values))}</tr>")
    columns = ("who reads", *(f"{part}, {words}" for words in PASSES for part in ("TIO", "LBSTIO", "MB/s")))
    head = "".join(f"<th>{title}</th>" for title in columns)
    return (
        f"<h3>{page.text(where_of(peers))}, {peers['tasks']} tasks, {page.text(peers['cache'])}</h3>"
        f"<table class=peers><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _slim(result: Mapping[str, Any], sweeps: Sequence[Sweep]) -> dict[str, Any]:
    """Without the tasks' times that no figure draws, and without head positions: megabytes of them."""
    drawn = {index for sweep in sweeps for index, _ in _of_figure_4(sweep)}
    return {**result, "runs": list(_slim_runs(result["runs"], drawn))}


def _slim_runs(runs: Sequence[Record], drawn: set[int]) -> Iterator[Record]:
    for index, run in enumerate(runs):
        phases = {
            name: {
                key: value
                for key, value in phase.items()
                if key != "tasks" or (index in drawn and name == TIMELINE_PHASE)
            }
            for name, phase in run["phases"].items()
        }
        yield {**run, "phases": phases, "heads": None}

"""The report of `swath bench scf`: one HTML file with figures 1, 2 and 6 of the paper, its tables, and all numbers.

The numbers are JSON, `<script type="application/json" id="result">`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swath_bench import page
from swath_bench.scf import report_plots
from swath_bench.scf.summary import SIZES

VERSION_COLUMNS = (
    *("integrals", "all, s", "% less than stored", "an iteration, s"),
    *("I/O, s of all ranks", "% less than stored", "% of execution"),
)
OPERATION_COLUMNS = ("operation", "count", "seconds", "bytes", "% of I/O", "% of execution")


def write(result: Mapping[str, Any], path: str) -> None:
    """`result` of `swath bench scf`, as its JSON has it, as one HTML file. Raises UnsupportedError, StoreError."""
    page.check_can_write(path)
    page.write(_page(result), path)


def _page(result: Mapping[str, Any]) -> str:
    summary = result["summary"]
    sweeps = summary["sweeps"]
    return page.filled(
        __package__,
        sentences=page.items(summary["sentences"]),
        durations=f"<figure>{report_plots.durations('durations', result['runs'])}</figure>",
        sweeps=f"<figure>{report_plots.sweeps('shares', sweeps)}</figure>"
        if sweeps
        else "<p>No shares were swept.</p>",
        versions="\n".join(map(_versions, summary["versions"])),
        tables="\n".join(_tables(index, run) for index, run in enumerate(summary["runs"])),
        conditions=page.definitions(result["conditions"]),
        options=page.definitions(result["options"]),
        result=page.embedded(result),
    )


def _versions(place: Mapping[str, Any]) -> str:
    rows = [
        [
            one["integrals"] if one["share"] is None else f"{one['integrals']} {one['share']}",
            *(one[name] for name in ("seconds", "seconds_saved_percent", "iteration_seconds", "io_seconds")),
            *(one[name] for name in ("io_seconds_saved_percent", "percent_of_execution")),
        ]
        for one in place["versions"]
    ]
    where = "this folder" if place["disk"] is None else f"modelled disk {place['disk']}"
    title = page.text(f"{place['input']}, {place['ranks']} ranks, {where}")
    return f"<h3>{title}</h3>{_table(VERSION_COLUMNS, rows)}"


def _tables(index: int, run: Mapping[str, Any]) -> str:
    operations = [list(row.values()) for row in run["operations"]]
    sizes = [[kind, *counts.values()] for kind, counts in run["sizes"].items()]
    return (
        f"<h3>{page.text(run['words'])}</h3>"
        f"<p class=note>{run['seconds']:.3f} s, an iteration {run['iteration_seconds']:.3f} s</p>"
        f"{_table(OPERATION_COLUMNS, operations, index)}{_table(('requests', *(n for n, _ in SIZES)), sizes, index)}"
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]], run: int | None = None) -> str:
    head = "".join(f"<th>{page.text(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(map(page.cell, row))}</tr>" for row in rows)
    of_run = "" if run is None else f' data-run="{run}"'
    return f"<table{of_run}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

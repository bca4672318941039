"""The report of `swath bench ncio`: one self-contained HTML file, which needs neither a network nor a program.

It has the counterparts of figures 4, 5 and 6 of Ching et al., 2006, for all measurements; the method that "auto" chose
in each cell; predicted against measured seconds; the conditions; all numbers. The numbers are those of the JSON, which
is in the page, too, `<script type="application/json" id="result">`: of the repetitions only "operation_seconds", the
mean of the counted ones without the sync, to which predictions refer.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from swath_bench import page
from swath_bench.ncio import report_plots
from swath_bench.ncio.options import UNCACHED
from swath_bench.ncio.report_plots import CASES, SWEEPS, WITHIN, Point, Style

Cell = dict[str, Any]
Contender = dict[str, Any]

FIGURES = {"count": "region count (figure 4)", "size": "region size (figure 5)", "spacing": "region spacing (figure 6)"}
BYTES_PER_MEGABYTE = 1e6
CLOSE = 1.1
"""A choice whose time is at most this many times that of the best method counts as right."""
NOT_SHOWN = ("refused", "skipped")


def write(result: Mapping[str, Any], path: str) -> None:
    """`result` of `swath bench ncio`, as its JSON has it, as one HTML file. Raises UnsupportedError, StoreError."""
    page.check_can_write(path)
    page.write(_page(result), path)


@dataclasses.dataclass(frozen=True)
class View:
    """The measurements with one number of ranks, one direction, and one state of the page cache.

    `cells` has the index in the result's "cells" and the cell.
    """

    direction: str
    cache: str
    ranks: int
    cells: list[tuple[int, Cell]]

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.direction}, {cache_words(self.cache)}, {self.ranks} rank{'s' if self.ranks > 1 else ''}"

    @property
    def said_of(self) -> str:
        """Return the beginning of the summary's sentences on this view alone."""
        return f"{self.ranks} ranks, {self.direction}, {self.cache}: "

    @property
    def name(self) -> str:
        """For ids and links."""
        return f"{self.direction}-{self.cache}-{self.ranks}"

    def measured(self) -> Iterator[Contender]:
        """Every contender of every cell that has a time."""
        return (c for _, cell in self.cells for c in cell["contenders"].values() if c["mean_seconds"] is not None)


def cache_words(cache: str) -> str:
    """Return the state of the page cache, for people."""
    return "no page cache" if cache == UNCACHED else f"{cache} cache"


def views(result: Mapping[str, Any]) -> list[View]:
    """Return the views of a result, in the order in which they were measured."""
    found: dict[tuple[str, str, int], View] = {}
    for index, cell in enumerate(result["cells"]):
        key = (cell["direction"], cell["cache"], cell["ranks"])
        found.setdefault(key, View(*key, [])).cells.append((index, cell))
    return list(found.values())


def operation_seconds(contender: Contender) -> float | None:
    """Return the mean of the repetitions that count, without the sync after them; None where there are none."""
    kept = [r["operation_seconds"] for r in contender["repetitions"] if not r["dropped"]]
    return statistics.fmean(kept) if kept else None


def _page(result: Mapping[str, Any]) -> str:
    contenders = [named for cell in result["cells"] for named in cell["contenders"].items()]
    # Whether a contender chooses is known only if it was measured.
    choosing = {name: contender for name, contender in contenders if contender["chosen"] is not None}
    drawn = report_plots.styles({**dict(contenders), **choosing})
    found = views(result)
    sentences = result["summary"].get("sentences", [])
    return page.filled(
        __package__,
        sentences=page.items(said for said in sentences if not said.startswith(tuple(view.said_of for view in found))),
        links=" ".join(f'<a href="#{view.name}">{page.text(view.title)}</a>' for view in found),
        views="\n".join(_view(view, drawn, sentences) for view in found),
        predictions=_predictions(found, drawn),
        conditions=page.definitions(result["conditions"]),
        options=page.definitions(result["options"]),
        result=_embedded(result),
    )


def _view(view: View, drawn: dict[str, Style], sentences: Sequence[str]) -> str:
    said = [said.removeprefix(view.said_of) for said in sentences if said.startswith(view.said_of)]
    parts = [
        f'<section id="{view.name}"><h2>{page.text(view.title)}</h2>',
        f"<ul>{page.items([_what_it_was(view), *said])}</ul>",
    ]
    for sweep, title in FIGURES.items():
        cells = [(index, cell) for index, cell in view.cells if cell["sweep"] == sweep]
        if cells:
            parts.append(f"<figure><figcaption>Bandwidth by {title}</figcaption>")
            parts.append(report_plots.sweep_plot(f"{view.name}-{sweep}", sweep, _series(sweep, cells), drawn))
            parts += [f"<p class=note>{page.text(said)}</p>" for said in _absent(cells)]
            parts.append("</figure>")
    parts += [_choices(view), _numbers(view), "</section>"]
    return "\n".join(parts)


def _series(sweep: str, cells: list[tuple[int, Cell]]) -> dict[str, dict[str, list[Point]]]:
    """Case to contender to the points of its line, from left to right."""
    series: dict[str, dict[str, list[Point]]] = {case: {} for case in CASES}
    for index, cell in sorted(cells, key=lambda numbered: numbered[1][SWEEPS[sweep]]):
        for name, contender in cell["contenders"].items():
            if contender["mean_seconds"] is not None:
                low, high = (
                    cell["bytes"] / contender[end] / BYTES_PER_MEGABYTE for end in ("high_seconds", "low_seconds")
                )
                rate = contender["megabytes_per_second"]
                point = Point(index, name, cell[SWEEPS[sweep]], rate, low, high)
                series[cell["case"]].setdefault(name, []).append(point)
    return series


def _what_it_was(view: View) -> str:
    """Return whether it reached the device, and the spread of the repetitions."""
    measured = list(view.measured())
    if not measured:
        return "Nothing was measured."
    reached = sum(c["reached_device"] is True for c in measured)
    unknown = sum(c["reached_device"] is None for c in measured)
    spreads = [(c["high_seconds"] - c["low_seconds"]) / c["mean_seconds"] for c in measured]
    strided = sum(cell["file_noncontiguous"] for _, cell in view.cells)
    not_told = f"; in {unknown} it is not known" if unknown else ""
    device = (
        "The file is in a pool: no page cache is between, and what was written was answered by its servers."
        if view.cache == UNCACHED
        else f"The device was reached in {reached} measurements{not_told}."
    )
    return (
        f"{len(measured)} measurements in {len(view.cells)} cells, {strided} of them noncontiguous in the file. "
        f"{device} Bars go from the slowest to the fastest "
        f"repetition that counts: apart by {100 * statistics.median(spreads):.0f} % of the mean in the median, "
        f"{100 * max(spreads):.0f} % at most."
    )


def _absent(cells: list[tuple[int, Cell]]) -> list[str]:
    """Return the contenders that are missing in some cells: one sentence for each reason."""
    counts: dict[tuple[str, str, str], int] = {}
    for _, cell in cells:
        for name, contender in cell["contenders"].items():
            for how in NOT_SHOWN:
                if contender[how] is not None:
                    key = (name, how, contender[how])
                    counts[key] = counts.get(key, 0) + 1
    names: dict[tuple[str, str, int], list[str]] = {}
    for (name, how, reason), count in counts.items():
        names.setdefault((how, reason, count), []).append(name)
    return [
        f"{'; '.join(of)}: {how} in {count} of {len(cells)} cells: {reason}"
        for (how, reason, count), of in names.items()
    ]


def _choices(view: View) -> str:
    """Return the choice of "auto" in each cell, and its time divided by that of the best of our methods."""
    tables = []
    close = compared = 0
    for sweep in FIGURES:
        cells = {(cell["case"], cell[SWEEPS[sweep]]): cell for _, cell in view.cells if cell["sweep"] == sweep}
        steps = sorted({step for _, step in cells})
        rows = []
        for case in CASES:
            row = []
            for step in steps:
                chosen, ratio = _choice(cells.get((case, step)))
                compared += ratio is not None
                close += ratio is not None and ratio <= CLOSE
                far = " class=far" if ratio is not None and ratio > CLOSE else ""
                times = "" if ratio is None else f" <b>{ratio:.2f}</b>"
                row.append(f"<td{far}>{page.text(chosen)}{times}</td>")
            if any(cells.get((case, step)) for step in steps):
                rows.append(f"<tr><th>{case}</th>{''.join(row)}</tr>")
        if rows:
            head = "".join(f"<th>{step}</th>" for step in steps)
            tables.append(
                f"<table class=choices><thead><tr><th>{page.text(report_plots.AXES[sweep])}</th>{head}</tr></thead>"
                f"<tbody>{''.join(rows)}</tbody></table>"
            )
    if not any(c["chosen"] for c in view.measured()):
        return ""
    words = "The method, and its time in that of the best of the methods that were asked for by name."
    if compared:
        words += f" At most {CLOSE} in {close} of {compared} cells; the others are marked."
    return f"<h3>What auto chose</h3><p>{words}</p><div class=wide>{''.join(tables)}</div>"


def _choice(cell: Cell | None) -> tuple[str, float | None]:
    """Return the chosen method, and its seconds divided by those of the best of our methods (None: unknown)."""
    if cell is None:
        return "", None
    ours = [c for c in cell["contenders"].values() if not c["peer"] and c["mean_seconds"] is not None]
    auto = next((c for c in ours if c["chosen"] is not None), None)
    if auto is None:
        return "–", None
    named = [c["mean_seconds"] for c in ours if c["chosen"] is None]
    return auto["chosen"], auto["mean_seconds"] / min(named) if named else None


def _predictions(found: list[View], drawn: dict[str, Style]) -> str:
    series: dict[str, dict[str, list[Point]]] = {}
    for view in found:
        for index, cell in view.cells:
            for name, contender in cell["contenders"].items():
                if contender["predicted_seconds"] is not None and contender["mean_seconds"] is not None:
                    panel = series.setdefault(f"{view.direction}, {cache_words(view.cache)}", {})
                    measured = operation_seconds(contender)
                    assert measured is not None
                    point = Point(index, name, measured, contender["predicted_seconds"])
                    panel.setdefault(name, []).append(point)
    if not series:
        return "<p>Nothing was predicted.</p>"
    words = []
    for title, of in series.items():
        errors = [abs(p.y - p.x) / p.x for points in of.values() for p in points]
        within = sum(error <= WITHIN for error in errors)
        words.append(
            f"{title}: the median error is {100 * statistics.median(errors):.3g} % of what was measured; {within} of "
            f"{len(errors)} predictions lie within {100 * WITHIN:.0f} %."
        )
    plot = report_plots.prediction_plot("predictions", series, drawn)
    return f"<ul>{page.items(words)}</ul><figure>{plot}</figure>"


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of the table of all numbers: its value for a contender of a cell, or None."""

    title: str
    of: Callable[[Cell, str, Contender], object]


def _milliseconds(key: str) -> Callable[[Cell, str, Contender], object]:
    return lambda cell, name, contender: _in_milliseconds(contender[key])


def _in_milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


COLUMNS = (
    Column("sweep", lambda cell, name, contender: cell["sweep"]),
    Column("case", lambda cell, name, contender: cell["case"]),
    Column("regions per rank", lambda cell, name, contender: cell["region_count"]),
    Column("region bytes", lambda cell, name, contender: cell["region_bytes"]),
    Column("spacing bytes", lambda cell, name, contender: cell["spacing_bytes"]),
    Column("bytes", lambda cell, name, contender: cell["bytes"]),
    Column("contender", lambda cell, name, contender: name),
    Column("MB/s", lambda cell, name, contender: contender["megabytes_per_second"]),
    Column("mean ms", _milliseconds("mean_seconds")),
    Column("low ms", _milliseconds("low_seconds")),
    Column("high ms", _milliseconds("high_seconds")),
    Column("operation ms", lambda cell, name, contender: _in_milliseconds(operation_seconds(contender))),
    Column("predicted ms", _milliseconds("predicted_seconds")),
    Column("chosen", lambda cell, name, contender: contender["chosen"]),
    Column("device", lambda cell, name, contender: {True: "yes", False: "no", None: None}[contender["reached_device"]]),
    Column("not measured", lambda cell, name, contender: contender["refused"] or contender["skipped"]),
)


def _numbers(view: View) -> str:
    """Return all numbers of a view, a row for each contender of each cell."""
    rows = []
    for index, cell in view.cells:
        for name, contender in cell["contenders"].items():
            values = "".join(page.cell(column.of(cell, name, contender)) for column in COLUMNS)
            rows.append(f'<tr data-cell="{index}" data-contender="{page.text(name)}">{values}</tr>')
    head = "".join(f"<th>{page.text(column.title)}</th>" for column in COLUMNS)
    return (
        f"<details><summary>All numbers: {len(rows)} rows</summary><div class=wide><table class=numbers>"
        f"<thead><tr>{head}</tr></thead><tbody>\n{chr(10).join(rows)}\n</tbody></table></div></details>"
    )


def _embedded(result: Mapping[str, Any]) -> str:
    """Return the result without the single repetitions, as JSON that cannot end the element it stands in."""
    slim = {**result, "cells": list(_without_repetitions(result["cells"]))}
    return page.embedded(slim)


def _without_repetitions(cells: Iterable[Cell]) -> Iterator[Cell]:
    for cell in cells:
        contenders = {
            name: {
                **{key: value for key, value in contender.items() if key != "repetitions"},
                "operation_seconds": operation_seconds(contender),
            }
            for name, contender in cell["contenders"].items()
        }
        yield {**cell, "contenders": contenders}

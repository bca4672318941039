"""The plots of the report, by matplotlib, as SVG inside a page: every marker has its numbers as attributes.

A line is a `<g>` element with `data-contender`; each of its markers a `<use>` element with `data-cell` (the index in
"cells"), `data-x`, `data-y`, and for bars `data-low` and `data-high`; its `<title>` says the same to people.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from swath_bench import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CASES = {
    "c-c": "contiguous in both",
    "nc-c": "noncontiguous in memory",
    "c-nc": "noncontiguous in the file",
    "nc-nc": "noncontiguous in both",
}
SWEEPS = {"count": "region_count", "size": "region_bytes", "spacing": "spacing_bytes"}
AXES = {"count": "regions per rank", "size": "region size, bytes", "spacing": "region spacing, bytes"}
WITHIN = 0.25
"""A prediction outside this band counts as wrong, as a part of the measured time."""

PANEL_INCHES = (3.3, 2.5)
MARGIN_INCHES = {"left": 0.65, "right": 0.15, "top": 0.3, "bottom": 0.5}
PANELS_MIN = 3
"""Smallest number of panels for the width of a row: fewer panels would be huge on the page."""
LEGEND_COLUMNS = 5
LEGEND_ROW_INCHES = 0.2
FEW_DECADES = 100
"""Values within this factor get labels at 2 and 5, too."""
TICKS_MAX = 6
BINARY = 1024
SHADES = {
    "swath": ("#4292c6", "#08519c", "#41b6c4", "#8856a7", "#2171b5", "#6baed6"),
    "mpich": ("#d94801", "#fd8d3c", "#a63603", "#fdae6b", "#7f2704"),
    "openmpi": ("#238b45", "#74c476", "#00441b", "#a1d99b", "#41ab5d"),
}
OTHER_SHADES = ("#c51b8a", "#8c6d31", "#636363", "#e377c2", "#bcbd22")
MARKERS = "osD^vPX<>hp*"


@dataclasses.dataclass(frozen=True)
class Point:
    """One marker: which cell and contender of the result, and where."""

    cell: int
    contender: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None

    @property
    def mark(self) -> svg.Mark:
        """Return the attributes of the marker."""
        data: dict[str, object] = {"cell": self.cell, "x": self.x, "y": self.y}
        words = f"{self.contender}: {self.y:.4g} at {self.x:.4g}"
        if self.low is not None and self.high is not None:
            data |= {"low": self.low, "high": self.high}
            words += f" ({self.low:.4g} to {self.high:.4g})"
        return svg.Mark(data, words)


Style = dict[str, Any]


def styles(contenders: Mapping[str, Mapping[str, Any]]) -> dict[str, Style]:
    """Return the style of each contender in all plots: a hue for a family, a marker for each, dashes for the peers.

    A contender that chooses its method is black and on top: the plots show its distance from the best.
    """
    used: dict[str, int] = {}
    found: dict[str, Style] = {}
    for number, (name, contender) in enumerate(contenders.items()):
        family = contender["family"] if contender["family"] in SHADES else ""
        shades = SHADES.get(family, OTHER_SHADES)
        shade = used[family] = used.get(family, -1) + 1
        found[name] = {
            "color": shades[shade % len(shades)],
            "marker": MARKERS[number % len(MARKERS)],
            "linestyle": "--" if contender["peer"] else "-",
            "zorder": 3,
        }
        if contender["chosen"] is not None:
            found[name] |= {"color": "black", "linewidth": 1.8, "zorder": 4}
    return found


def sweep_plot(
    name: str, sweep: str, series: Mapping[str, Mapping[str, Sequence[Point]]], drawn: dict[str, Style]
) -> str:
    """Draw bandwidth over the varied quantity of a sweep: a panel for each case, all on one scale.

    `series` goes from the case to the contender to its points. The counterpart of figures 4, 5 and 6 of Ching et al.,
    2006. Both axes are logarithmic; on that of the spacing the first step, from 0, is linear.
    """
    everything = [p for of in series.values() for points in of.values() for p in points]
    with _figure(name, len(CASES), [c for c in drawn if any(c in of for of in series.values())], drawn) as page:
        for panel, (case, words) in zip(page.panels, CASES.items(), strict=True):
            panel.set_title(f"{case}: {words}")
            _scale_x(panel, [p.x for p in everything])
            _scale_y(panel, [p.y for p in everything])
            for contender, points in series.get(case, {}).items():
                page.draw(panel, f"{case}-{contender}", points, drawn[contender])
            panel.set_xlabel(AXES[sweep])
        page.panels[0].set_ylabel("MB/s")
    return page.svg


def prediction_plot(name: str, series: Mapping[str, Mapping[str, Sequence[Point]]], drawn: dict[str, Style]) -> str:
    """Predicted over measured seconds, a panel for each key of `series` (its title), with the line and the band."""
    everything = [v for of in series.values() for points in of.values() for p in points for v in (p.x, p.y)]
    ends = (min(everything) / 2, max(everything) * 2)
    with _figure(name, len(series), [c for c in drawn if any(c in of for of in series.values())], drawn) as page:
        for panel, (title, of) in zip(page.panels, series.items(), strict=True):
            panel.set_title(title)
            panel.set(xscale="log", yscale="log", xlim=ends, ylim=ends, xlabel="measured, s")
            panel.minorticks_off()
            panel.fill_between(
                ends, [e * (1 - WITHIN) for e in ends], [e * (1 + WITHIN) for e in ends], color="#dddddd", linewidth=0
            )
            panel.plot(ends, ends, color="#888888", linewidth=0.8)
            for contender, points in of.items():
                page.draw(panel, f"{title}-{contender}", points, {**drawn[contender], "linestyle": "none"})
        page.panels[0].set_ylabel("predicted, s")
    return page.svg


class _Page:
    """A row of panels on one scale, and the points that were drawn in them."""

    def __init__(self, name: str, figure: Figure, panels: list[Axes]) -> None:
        self.panels = panels
        self.svg = ""
        self._name = name
        self._figure = figure
        self._groups: dict[str, svg.Group] = {}

    def draw(self, panel: Axes, series: str, points: Sequence[Point], style: Style) -> None:
        """A line through `points` with a marker at each and bars from low to high where they are known."""
        if not points:
            return
        bars = [(max(0, p.y - p.low), max(0, p.high - p.y)) for p in points if p.low is not None and p.high is not None]
        line, _, ranges = panel.errorbar(
            [p.x for p in points],
            [p.y for p in points],
            yerr=list(zip(*bars, strict=True)) if len(bars) == len(points) else None,
            elinewidth=0.8,
            **style,
        )
        identity = svg.identity(f"{self._name}-{series}")
        line.set_gid(identity)
        for drawn in ranges:
            drawn.set_gid(identity + svg.BARS)
        self._groups[identity] = svg.Group({"contender": points[0].contender}, [point.mark for point in points])

    def finish(self) -> None:
        """The SVG, once all is drawn."""
        self.svg = svg.drawn(self._figure, self._name, self._groups)


@contextlib.contextmanager
def _figure(name: str, panels: int, contenders: Sequence[str], drawn: dict[str, Style]) -> Iterator[_Page]:
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    legend = LEGEND_ROW_INCHES * -(-len(contenders) // LEGEND_COLUMNS)
    margin = MARGIN_INCHES
    width = PANEL_INCHES[0] * max(panels, PANELS_MIN)
    height = margin["top"] + PANEL_INCHES[1] + margin["bottom"] + legend
    with rc_context(svg.SETTINGS):
        figure = Figure(figsize=(width, height))
        figure.subplots_adjust(
            left=margin["left"] / width,
            right=PANEL_INCHES[0] * panels / width - margin["right"] / width,
            top=1 - margin["top"] / height,
            bottom=(margin["bottom"] + legend) / height,
            wspace=0.06,
        )
        axes = figure.subplots(1, panels, sharex=True, sharey=True, squeeze=False)[0]
        page = _Page(name, figure, list(axes))
        yield page
        handles = [Line2D([], [], label=contender, **drawn[contender]) for contender in contenders]
        if handles:
            figure.legend(handles=handles, loc="lower center", ncols=min(LEGEND_COLUMNS, len(handles)))
        page.finish()


def _scale_x(panel: Axes, values: Sequence[float]) -> None:
    steps = sorted(set(values))
    positive = [step for step in steps if step > 0]
    if steps and steps[0] == 0 and positive:
        panel.set_xscale("symlog", base=2, linthresh=positive[0])
    elif positive:
        panel.set_xscale("log", base=2)
    every = max(1, -(-len(steps) // TICKS_MAX))
    panel.set_xticks(steps[::every], [_short(step) for step in steps[::every]])
    panel.set_xticks([], minor=True)


def _scale_y(panel: Axes, values: Sequence[float]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    few = bool(values) and max(values) < FEW_DECADES * min(values)
    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter("{x:g}")


def _short(number: float) -> str:
    """1048576: "1M"; 2048: "2K"; 8: "8"; 1000: "1000"."""
    for unit, symbol in ((BINARY**2, "M"), (BINARY, "K")):
        if number >= unit and number % unit == 0:
            return f"{number / unit:g}{symbol}"
    return f"{number:g}"

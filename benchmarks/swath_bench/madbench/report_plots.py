"""The figures of the report: 2, 3 and 4 of the paper, and the throttle's decisions. Every mark has its numbers."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from swath_bench import svg
from swath_bench.madbench.records import MET, MOVED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_INCHES = (3.3, 2.6)
MARGIN_INCHES = {"left": 0.65, "right": 0.15, "top": 0.3, "bottom": 0.5}
PANELS_IN_A_ROW = 3
GAP_INCHES = 0.85
LEGEND_INCHES = 0.25
SERIES_STYLES: dict[str, dict[str, Any]] = {
    "total": {"color": "black", "marker": "o", "linewidth": 1.8},
    "dSdC": {"color": "#d94801", "marker": "s"},
    "invD": {"color": "#2171b5", "marker": "^"},
    "W": {"color": "#238b45", "marker": "D"},
}
BAR_HEIGHT = 0.8
TASK_COLORS = ("#2171b5", "#6baed6")
"""Colours of tasks in turn, so that neighbours differ."""
HEAD_COLOR = "#333333"
REQUEST_COLORS = {"large": "#2171b5", "medium": "#fd8d3c", "small": "#74c476"}
"""The colours of request sizes, by their names in `swath.throttle.Decision.requests`."""
BYTES_IN_GIGABYTE = 1e9

Record = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class SweetSpot:
    """One point of figure 3: the extra time of a phase, or of the run, against the best number of readers."""

    run: int
    series: str
    place: int
    adaptive: bool
    percent: float
    words: str


def sweet_spots(name: str, panels: Mapping[str, tuple[Sequence[str], Sequence[SweetSpot]]]) -> str:
    """Figure 3: a panel for each disk; `panels` goes from its title to the labels of the places and the points."""
    groups: dict[str, svg.Group] = {}
    with _figure(len(panels), legend=True) as (figure, axes):
        for panel, (title, (labels, points)) in zip(axes, panels.items(), strict=True):
            panel.set_title(title)
            for series, style in SERIES_STYLES.items():
                for adaptive in (False, True):  # an adaptive run has no position on the axis: no line connects it
                    of_kind = [p for p in points if p.series == series and p.adaptive == adaptive]
                    if of_kind:
                        group_id = svg.identity(f"{name}-{title}-{series}-{'auto' if adaptive else 'static'}")
                        line = panel.plot([p.place for p in of_kind], [p.percent for p in of_kind], **style)[0]
                        line.set_gid(group_id)
                        marks = [svg.Mark({"run": p.run, "percent": p.percent}, p.words) for p in of_kind]
                        groups[group_id] = svg.Group({"series": series}, marks)
            panel.set_xticks(range(len(labels)), labels)
            panel.set_xlim(-0.4, len(labels) - 0.6)
            panel.set_xlabel("reading at a time")
        for panel in axes[::PANELS_IN_A_ROW]:
            panel.set_ylabel("% more than the best number")
        _legend(figure, SERIES_STYLES)
    return svg.drawn(figure, name, groups)


def timelines(name: str, phase: str, runs: Sequence[tuple[int, str, Record]]) -> str:
    """Figure 4: when each task was in its transfers of a phase; a panel for each run: index, title, record."""
    from matplotlib.ticker import MaxNLocator

    groups: dict[str, svg.Group] = {}
    with _figure(len(runs), legend=False) as (figure, axes):
        last = max(run["phases"][phase]["end"] - run["phases"][phase]["begin"] for _, _, run in runs)
        for panel, (index, title, run) in zip(axes, runs, strict=True):
            panel.set_title(title)
            begin = run["phases"][phase]["begin"]
            for task, steps in enumerate(run["phases"][phase]["tasks"]):
                spans = [(marks[MET] - begin, marks[MOVED] - begin) for marks in steps]
                bars = panel.broken_barh(
                    [(first, end - first) for first, end in spans],
                    (task - BAR_HEIGHT / 2, BAR_HEIGHT),
                    color=TASK_COLORS[task % len(TASK_COLORS)],
                    linewidth=0,
                )
                group_id = svg.identity(f"{name}-{index}-task-{task}")
                bars.set_gid(group_id)
                marks = [
                    svg.Mark(
                        {"step": step, "begin": first, "end": end},
                        f"task {task}, step {step}: {first:.4g} to {end:.4g} s",
                    )
                    for step, (first, end) in enumerate(spans)
                ]
                groups[group_id] = svg.Group({"run": index, "task": task}, marks, tag="path")
            panel.set_axisbelow(True)
            panel.set_xlim(0, last)
            panel.set_ylim(-0.6, len(run["phases"][phase]["tasks"]) - 0.4)
            panel.yaxis.set_major_locator(MaxNLocator(integer=True))
            panel.set_xlabel(f"seconds since {phase} began")
        axes[0].set_ylabel("task")
    return svg.drawn(figure, name, groups)


def decisions(name: str, runs: Sequence[tuple[int, str, Record]]) -> str:
    """Plot the number of streams that the throttle served at a time over a run, with the reasons of its changes.

    Streams with large and with small requests have separate limits, each a line.
    """
    groups: dict[str, svg.Group] = {}
    with _figure(len(runs), legend=True) as (figure, axes):
        for panel, (index, title, run) in zip(axes, runs, strict=True):
            panel.set_title(title)
            for requests, color in REQUEST_COLORS.items():
                of_size = [decision for decision in reads_of(run) if decision["requests"] == requests]
                if of_size:
                    group_id = svg.identity(f"{name}-{index}-{requests}")
                    marks = _draw_limits(panel, of_size, run, color, group_id)
                    groups[group_id] = svg.Group({"run": index, "requests": requests}, marks)
            panel.set_xlim(0, run["total_seconds"])
            panel.set_yscale("log", base=2)
            panel.set_yticks([t for t in (1, 2, 4, 8, 16, 32, 64) if t <= max(1, run["tasks"])])
            panel.yaxis.set_major_formatter("{x:g}")
            panel.set_ylim(0.8, run["tasks"] * 1.25)
            panel.set_xlabel("seconds")
        for panel in axes[::PANELS_IN_A_ROW]:
            panel.set_ylabel("streams at a time")
        _legend(figure, {f"{requests} requests": {"color": color} for requests, color in REQUEST_COLORS.items()})
    return svg.drawn(figure, name, groups)


def _draw_limits(panel: Axes, decided: Sequence[Record], run: Record, color: str, group_id: str) -> list[svg.Mark]:
    """Return a line of steps, and a mark where each begins; no limit is drawn as all tasks."""
    points = [(decision["seconds"], decision["limit"] or run["tasks"]) for decision in decided]
    steps = [(0.0, run["tasks"]), *points, (run["total_seconds"], points[-1][1])]
    panel.step([s for s, _ in steps], [limit for _, limit in steps], where="post", color=color, linewidth=1.0)
    line = panel.plot([s for s, _ in points], [limit for _, limit in points], "o", color=color, markersize=3.5)[0]
    line.set_gid(group_id)
    return [
        svg.Mark({"seconds": s, "limit": limit}, f"{s:.4g} s: {limit}: {decision['reason']}")
        for (s, limit), decision in zip(points, decided, strict=True)
    ]


def reads_of(run: Record) -> list[Record]:
    """Return the decisions about reads."""
    return [decision for decision in run["decisions"] if decision["direction"] == "read"]


def heads(name: str, runs: Sequence[tuple[int, str, Sequence[tuple[float, float]]]]) -> str:
    """Draw figure 2: the head positions of the first disk; for each run: index, title, (seconds, byte) in order."""
    groups: dict[str, svg.Group] = {}
    with _figure(len(runs), legend=False) as (figure, axes):
        for panel, (index, title, points) in zip(axes, runs, strict=True):
            panel.set_title(title)
            line = panel.plot(
                [seconds for seconds, _ in points],
                [position / BYTES_IN_GIGABYTE for _, position in points],
                color=HEAD_COLOR,
                linewidth=0.6,
            )[0]
            group_id = svg.identity(f"{name}-{index}")
            line.set_gid(group_id)
            groups[group_id] = svg.Group({"run": index, "points": len(points)}, [])
            panel.set_xlabel("seconds")
        axes[0].set_ylabel("position of the head, GB")
    return svg.drawn(figure, name, groups)


@contextlib.contextmanager
def _figure(panels: int, *, legend: bool) -> Iterator[tuple[Figure, list[Axes]]]:
    """So many panels, in rows."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = -(-panels // PANELS_IN_A_ROW)
    width = PANEL_INCHES[0] * PANELS_IN_A_ROW
    margin = MARGIN_INCHES
    foot = margin["bottom"] + (LEGEND_INCHES if legend else 0)
    height = margin["top"] + rows * PANEL_INCHES[1] + (rows - 1) * GAP_INCHES + foot
    with rc_context(svg.SETTINGS):
        figure = Figure(figsize=(width, height))
        figure.subplots_adjust(
            left=margin["left"] / width,
            right=1 - margin["right"] / width,
            top=1 - margin["top"] / height,
            bottom=foot / height,
            wspace=0.16,
            hspace=GAP_INCHES / PANEL_INCHES[1],
        )
        axes = figure.subplots(rows, PANELS_IN_A_ROW, squeeze=False).ravel().tolist()
        for unused in axes[panels:]:
            unused.remove()
        yield figure, axes[:panels]


def _legend(figure: Figure, styles: Mapping[str, Mapping[str, Any]]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=label, **style) for label, style in styles.items()]
    figure.legend(handles=handles, loc="lower center", ncols=len(handles))

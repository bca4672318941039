"""Figures 1 (durations of reads and writes over the time of a run) and 6 (time over the share on disk)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from swath_bench import svg
from swath_bench.scf.options import AUTO
from swath_bench.scf.summary import BEGIN, BYTES, KIND, RANK, SECONDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IN_A_ROW = 3
PANEL_INCHES = (3.5, 2.9)
LEAST_SECONDS = 1e-3
"""Least upper end of the axis of durations."""
COLORS = {"read": "#2171b5", "write": "#d94801"}
SHARE_STYLE: dict[str, Any] = {"color": "black", "marker": "o"}
AUTO_STYLE: dict[str, Any] = {"color": "#238b45", "linestyle": "--", "linewidth": 1.2}
CHOSEN_STYLE: dict[str, Any] = {"color": "#238b45", "marker": "D", "linestyle": "--"}

Record = Mapping[str, Any]


def durations(name: str, runs: Sequence[Record]) -> str:
    """Figure 1: a panel for each run, a mark for each read and write."""
    groups: dict[str, svg.Group] = {}
    with _figure(len(runs)) as (figure, axes):
        for index, (panel, run) in enumerate(zip(axes, runs, strict=True)):
            panel.set_title(run["words"], fontsize=7)
            for kind, color in COLORS.items():
                events = [event for event in run["events"] if event[KIND] == kind]
                if not events:
                    continue
                line = panel.plot(
                    [e[BEGIN] for e in events], [e[SECONDS] for e in events], ".", color=color, markersize=3, label=kind
                )[0]
                group_id = svg.identity(f"{name}-{index}-{kind}")
                line.set_gid(group_id)
                marks = [
                    svg.Mark(
                        {"rank": e[RANK], "begin": e[BEGIN], "seconds": e[SECONDS]},
                        f"rank {e[RANK]}, {e[BEGIN]:.4g} s: {kind} of {e[BYTES]} bytes, {e[SECONDS]:.3g} s",
                    )
                    for e in events
                ]
                groups[group_id] = svg.Group({"run": index, "kind": kind}, marks)
            panel.set_xlim(0, max([run["seconds"], *(e[BEGIN] + e[SECONDS] for e in run["events"])]))
            panel.set_ylim(0, max(panel.get_ylim()[1], LEAST_SECONDS))
            panel.set_xlabel("seconds since the run began")
            panel.set_ylabel("seconds waited")
            if panel.get_legend_handles_labels()[0]:
                panel.legend(loc="upper right")
    return svg.drawn(figure, name, groups)


def sweeps(name: str, swept: Sequence[Record]) -> str:
    """Figure 6: a panel for each input, number of ranks and disk; the time of auto is a dashed line."""
    groups: dict[str, svg.Group] = {}
    with _figure(len(swept)) as (figure, axes):
        for index, (panel, sweep) in enumerate(zip(axes, swept, strict=True)):
            where = "this folder" if sweep["disk"] is None else f"modelled disk {sweep['disk']}"
            panel.set_title(f"{sweep['input']}, {sweep['ranks']} ranks, {where}", fontsize=8)
            fixed = sorted((p for p in sweep["points"] if p["share"] != AUTO), key=lambda p: float(p["share"]))
            line = panel.plot([float(p["share"]) for p in fixed], [p["seconds"] for p in fixed], **SHARE_STYLE)[0]
            group_id = svg.identity(f"{name}-{index}")
            line.set_gid(group_id)
            marks = [
                svg.Mark(
                    {"share": p["share"], "seconds": p["seconds"]},
                    f"{p['share']} % on disk: {p['seconds']:.4g} s, an iteration {p['iteration_seconds']:.4g} s",
                )
                for p in fixed
            ]
            groups[group_id] = svg.Group({"sweep": index}, marks)
            for point in sweep["points"]:
                if point["share"] == AUTO:
                    panel.axhline(point["seconds"], **AUTO_STYLE)
                    chosen = 100 * point["disk_share"]
                    panel.plot([chosen], [point["seconds"]], **CHOSEN_STYLE, label=f"auto: {chosen:.0f} %")
                    panel.legend(loc="best")
            panel.set_ylim(0, None)
            panel.set_xlabel("% of the integrals on disk")
            panel.set_ylabel("seconds")
    return svg.drawn(figure, name, groups)


@contextlib.contextmanager
def _figure(panels: int) -> Iterator[tuple[Figure, list[Axes]]]:
    """So many panels, in rows."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = -(-panels // IN_A_ROW)
    with rc_context(svg.SETTINGS):
        figure = Figure(figsize=(PANEL_INCHES[0] * IN_A_ROW, PANEL_INCHES[1] * rows), layout="constrained")
        axes = figure.subplots(rows, IN_A_ROW, squeeze=False).ravel().tolist()
        for unused in axes[panels:]:
            unused.remove()
        yield figure, axes[:panels]

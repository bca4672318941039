"""The report of a simulated run as one HTML page: tables, timelines, and a heat map of the servers."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from swath.base.units import in_bytes, in_seconds
from swath.trace.pictures import READ_COLOUR, WRITE_COLOUR, Axis, bars, even_axis, picture, tinted
from swath.trace.report import STYLE

if TYPE_CHECKING:
    from swath.simulation.result import Simulated

ROWS_MAX = 128
COLOURS = ((31, 104, 181), (217, 95, 2), (27, 158, 119), (117, 112, 179), (230, 171, 2), (102, 102, 102), (166, 86, 40))


def html_report(found: Simulated) -> str:
    """Return the page. It needs no other file and no network."""
    title = html.escape(f"{found.machine.name}: {found.ranks:,} ranks")
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head>"
        f"<body><h1>{title}</h1>{fragment(found)}</body></html>\n"
    )


def fragment(found: Simulated) -> str:
    """Return the part of the page that a notebook shows."""
    took = f"{in_bytes(found.bytes)} by {found.ranks:,} ranks: {in_seconds(found.seconds)}"
    parts = [
        f"<p>{html.escape(found.machine.description)}</p>",
        f"<p>{took}, limited by {html.escape(found.limit)}. Times are simulated.</p>",
        *_operations(found),
        *_phases(found),
        *_servers(found),
        *_links(found),
    ]
    return "".join(parts)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; the texts may hold any characters."""
    head = "".join(f"<th>{html.escape(one)}</th>" for one in heads)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(one))}</td>" for one in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _operations(found: Simulated) -> Iterator[str]:
    yield "<h2>Operations</h2>"
    rows = [
        (one["name"] or "operation", one["method"], in_seconds(one["seconds"])) for one in found.values["operations"]
    ]
    yield table(["operation", "method", "time"], rows[:ROWS_MAX])
    if len(rows) > ROWS_MAX:
        yield f"<p>and {len(rows) - ROWS_MAX:,} further ones</p>"


def _phases(found: Simulated) -> Iterator[str]:
    yield "<h2>Phases</h2><p>Seconds, the mean of the ranks.</p>"
    yield table(["phase", "time"], [(name, in_seconds(seconds)) for name, seconds in found.phases.items()])
    timeline = found.values.get("timeline", {})
    ranks = timeline.get("ranks")
    if ranks:
        key = "".join(
            f'<span style="background:rgb{colour}"></span>{html.escape(name)}'
            for name, colour in zip(ranks, COLOURS, strict=False)
        )
        yield f'<p class="key">Part of the ranks in each phase:{key}</p>{_ranks_over_time(found)}'


def _ranks_over_time(found: Simulated) -> str:
    """Return a picture whose columns are stacked: from the bottom, the part of the ranks in each phase."""
    timeline = found.values["timeline"]
    rows = 60
    parts = np.array(list(timeline["ranks"].values()), float) / max(1, found.ranks)
    tops = np.cumsum(parts, axis=0)
    height = (np.arange(rows)[::-1] + 0.5) / rows
    layers = []
    for number, colour in zip(range(len(parts)), COLOURS, strict=False):
        low = tops[number - 1] if number else np.zeros(parts.shape[1])
        is_in = (height[:, None] >= low) & (height[:, None] < tops[number])
        layers.append((is_in.astype(float), colour))
    up = Axis("part of the ranks", [(0.0, "0"), (0.5, "½"), (1.0, "1")])
    return picture(tinted(layers), 180, _seconds(timeline), up)


def _seconds(timeline: dict[str, list[float]]) -> Axis:
    return even_axis("seconds, simulated", timeline["edges"][0], timeline["edges"][-1])


def _servers(found: Simulated) -> Iterator[str]:
    yield "<h2>Servers</h2>"
    rows = [(key.removesuffix("_seconds"), *found.in_words(key)) for key in ("bytes", "requests", "busy_seconds")]
    yield table([f"of {len(found.values['servers']):,} servers", "least", "mean", "most"], rows)
    timeline = found.values.get("timeline", {})
    if timeline.get("servers"):
        rates = np.array(timeline["servers"], float)
        busy_parts = rates / max(float(rates.max()), 1.0)
        together = -(-len(busy_parts) // ROWS_MAX)
        shown_rows = np.array(
            [busy_parts[row : row + together].mean(axis=0) for row in range(0, len(busy_parts), together)]
        )
        count = len(shown_rows)
        up = Axis(
            "server", [(1 - (row + 0.5) / count, str(row * together)) for row in range(0, count, -(-count // 16))]
        )
        colour = WRITE_COLOUR if any(one.write for one in found.operations) else READ_COLOUR
        yield "<p>Bytes a second that each server stores or reads; darker: more of them.</p>"
        yield picture(tinted([(shown_rows, colour)]), max(60, min(16 * count, 420)), _seconds(timeline), up)


def _links(found: Simulated) -> Iterator[str]:
    links = found.values["links"]
    if links:
        yield "<h2>Links</h2><p>Bytes of each class of links.</p>"
        yield bars([(name, float(link["bytes"])) for name, link in links.items()], READ_COLOUR)
    yield "<h2>Messages of a rank</h2>"
    rows = [(name, f"{one['mean']:.1f}", f"{int(one['max']):,}") for name, one in found.values["messages"].items()]
    yield table(["to", "mean", "most"], rows)

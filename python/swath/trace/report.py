"""The report of a run as one HTML page with tables and pictures, which needs no other file and no network."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from swath.base.units import in_bytes, in_seconds
from swath.trace.bursts import busiest_layer
from swath.trace.characteristics import Characteristics
from swath.trace.log import Log, Requests
from swath.trace.pictures import (
    OTHER_COLOUR,
    READ_COLOUR,
    WRITE_COLOUR,
    Axis,
    bars,
    even_axis,
    picture,
    spread,
    tinted,
)

COLUMNS = 300
"""The number of columns of pictures over time."""
ROWS_MAX = 96
DURATION_ROWS = 60
FILES_SHOWN = 4
ROW_SHOWN_MAX = 40
FAINT = 0.25
"""The darkness of the smallest count that is not 0."""
SEEN_MIN = 1e-6
"""A smaller value is a rounding error."""
WAYS = (("read", READ_COLOUR), ("write", WRITE_COLOUR), ("", OTHER_COLOUR))
STYLE = """
body{font:14px/1.45 system-ui,sans-serif;max-width:960px;margin:24px auto;padding:0 12px;color:#222;background:#fff}
svg{width:100%;height:auto;display:block}svg text{font:11px system-ui,sans-serif;fill:#333}
table{border-collapse:collapse;margin:8px 0}th,td{padding:2px 10px;border-bottom:1px solid #ddd;text-align:right}
th:first-child,td:first-child{text-align:left;word-break:break-all}h2{margin:28px 0 4px}p{margin:4px 0}
.key span{display:inline-block;width:12px;height:12px;margin:0 4px 0 14px;vertical-align:-1px}
.note{color:#7a4b00}
"""


@dataclass(frozen=True)
class Times:
    """The time axis of pictures.

    Attributes:
        edges: the edges of the columns, in seconds since the begin of the log.
        axis: the axis to draw.
    """

    edges: npt.NDArray[np.float64]
    axis: Axis

    def column(self, places: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        """Return the column of each time."""
        step = self.edges[1] - self.edges[0]
        column: npt.NDArray[np.intp] = np.clip(((places - self.edges[0]) / step).astype(np.intp), 0, COLUMNS - 1)
        return column


def html_report(log: Log, found: Characteristics) -> str:
    """Return the page.

    Args:
        log: the log of the run.
        found: the result of `swath.trace.characteristics.characterise`.
    """
    name = _said(os.path.basename(os.path.abspath(found.path)))
    parts = [f"<h1>{name}</h1>", *_head(found), *_operations(found)]
    if len(log.requests):
        parts += _pictures(log)
    else:
        parts.append("<p>No request is recorded: there is nothing to draw over time.</p>")
    parts += [*_sizes(found), *_files(found), *_phases(found)]
    title = f"<title>{name}: characteristics</title>"
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">{title}<style>{STYLE}</style></head>'
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _said(text: object) -> str:
    return html.escape(str(text).encode("utf-8", "backslashreplace").decode())


def _head(found: Characteristics) -> Iterator[str]:
    yield f"<p>{_said(found.tracer)}, {found.processes} processes, {in_seconds(found.execution_seconds)} together</p>"
    if found.command:
        yield f"<p>Run as <code>{_said(found.command)}</code></p>"
    yield f"<p>Limited by {_said(found.limit)}</p>"
    for one in found.balance:
        yield f"<p>{_said(one.of)}: the most is {one.imbalance:.2f} times the mean of {one.over} ({one.which})</p>"
    for note in found.notes:
        yield f'<p class="note">{_said(note)}</p>'


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{_said(one)}</th>" for one in heads)
    body = "".join("<tr>" + "".join(f"<td>{_said(one)}</td>" for one in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _operations(found: Characteristics) -> Iterator[str]:
    yield "<h2>Operations</h2>"
    rows = []
    for one in found.operations:
        parts = [_percent(one.seconds, whole) for whole in (found.io_seconds(one.layer), found.execution_seconds)]
        seconds = "-" if math.isnan(one.seconds) else f"{one.seconds:,.3f}"
        rows.append([f"{one.layer} {one.name}", f"{one.calls:,}", seconds, in_bytes(one.bytes), *parts])
    yield _table(["operation", "calls", "seconds", "bytes", "% of I/O", "% of the run"], rows)


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole > 0 and not math.isnan(part) else "-"


def _pictures(log: Log) -> Iterator[str]:
    requests = log.requests
    low, high = float(requests.began.min()), float(requests.ended.max())
    high = max(high, low + 1e-6)
    times = Times(np.linspace(low, high, COLUMNS + 1), even_axis("seconds since the log began", low, high))
    key = "".join(f'<span style="background:rgb{colour}"></span>{name or "other"}' for name, colour in WAYS)
    layer = busiest_layer(log)
    yield f'<h2>Ranks over time</h2><p class="key">Part of the time in calls of {_said(layer)}:{key}</p>'
    yield _timeline(log, times, layer)
    yield "<h2>Durations of reads and writes</h2><p>Each point is a call; darker: more of them.</p>"
    yield _durations(log, times)
    yield from _heat_maps(log, times)


def _rows_of(log: Log, way: str) -> npt.NDArray[np.bool_]:
    kinds = [index for index, kind in enumerate(log.kinds) if kind.direction == way]
    return np.isin(log.requests.kind, kinds)


def _timeline(log: Log, times: Times, layer: str) -> str:
    ranks = max(log.ranks, int(log.requests.rank.max()) + 1)
    together = -(-ranks // ROWS_MAX)
    rows = -(-ranks // together)
    step = float(times.edges[1] - times.edges[0]) * together
    parts = []
    for way, colour in WAYS:
        kinds = [index for index, kind in enumerate(log.kinds) if (kind.direction, kind.layer) == (way, layer)]
        requests = log.requests.take(np.isin(log.requests.kind, kinds))
        lane = (np.maximum(requests.rank, 0) // together).astype(np.intp)
        busy = spread(lane, requests.began, requests.ended, rows, times.edges) / step
        parts.append((np.where(busy > SEEN_MIN, FAINT + (1 - FAINT) * np.clip(busy, 0, 1), 0), colour))
    shown = range(0, rows, -(-rows // 16))
    up = Axis("rank", [(1 - (row + 0.5) / rows, str(row * together)) for row in shown])
    return picture(tinted(parts), max(60, min(16 * rows, 480)), times.axis, up)


def _durations(log: Log, times: Times) -> str:
    moved = _rows_of(log, "read") | _rows_of(log, "write")
    seconds = np.maximum(log.requests.seconds[moved], 1e-7)
    low, high = (np.log10(one) for one in (seconds.min(initial=1.0), seconds.max(initial=1e-7)))
    low, high = math.floor(min(low, high)), math.floor(max(low, high)) + 1
    parts = []
    for way, colour in WAYS[:2]:
        requests = log.requests.take(_rows_of(log, way))
        place = (high - np.log10(np.maximum(requests.seconds, 1e-7))) / (high - low) * DURATION_ROWS
        cell = np.clip(place.astype(np.intp), 0, DURATION_ROWS - 1) * COLUMNS + times.column(requests.began)
        parts.append((_darkened(np.bincount(cell, minlength=DURATION_ROWS * COLUMNS)), colour))
    shape = (DURATION_ROWS, COLUMNS)
    ticks = [((power - low) / (high - low), f"{10.0**power:g}") for power in range(low, high + 1)]
    return picture(tinted([(part.reshape(shape), colour) for part, colour in parts]), 240, times.axis, Axis("s", ticks))


def _darkened(counts: npt.NDArray[np.float64] | npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """Return the darkness of counts, from 0 to 1: each count above 0 is visible, and the largest is 1."""
    most = float(counts.max(initial=0))
    if most <= 0:
        return np.zeros(counts.shape)
    return np.where(counts > 0, FAINT + (1 - FAINT) * np.log1p(counts) / np.log1p(most), 0.0)


def _heat_maps(log: Log, times: Times) -> Iterator[str]:
    requests = log.requests.take((log.requests.offset >= 0) & (log.requests.length > 0) & (log.requests.file >= 0))
    layers = np.array([kind.layer for kind in log.kinds], object)
    if not len(requests):
        return
    pairs = {}
    for layer in dict.fromkeys(layers):
        of = layers[requests.kind] == layer
        moved = np.bincount(requests.file[of], requests.length[of], minlength=len(log.files))
        pairs.update({(layer, int(file)): moved[file] for file in np.argsort(moved)[::-1][:FILES_SHOWN] if moved[file]})
    yield "<h2>Bytes over the file and time</h2><p>Read and written bytes; darker: more of them.</p>"
    for layer, file in sorted(pairs, key=lambda one: -pairs[one])[:FILES_SHOWN]:
        mine = requests.take((layers[requests.kind] == layer) & (requests.file == file))
        yield f"<p>{_said(log.files[file])} ({_said(layer)})</p>{_heat_map(log, mine, times)}"


def _heat_map(log: Log, requests: Requests, times: Times) -> str:
    end = float((requests.offset + requests.length).max())
    edges = np.linspace(0, end, ROWS_MAX + 1)
    parts = []
    for way, colour in WAYS[:2]:
        mine = requests.take(np.isin(requests.kind, log.kinds_where(way)))
        begin = mine.offset.astype(float)
        moved = spread(times.column(mine.began), begin, begin + mine.length, COLUMNS, edges)
        parts.append((_darkened(np.where(moved > 0.5, moved, 0).T[::-1]), colour))  # drops rounding errors
    unit, size = next((name, size) for name, size in UNITS if end >= size)
    return picture(tinted(parts), 220, times.axis, even_axis(f"offset, {unit}", 0, end / size))


UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("bytes", 1))


def _sizes(found: Characteristics) -> Iterator[str]:
    if found.sizes:
        yield "<h2>Sizes of requests</h2>"
    for sizes in found.sizes:
        yield f"<p>{_said(sizes.layer)} {sizes.name}</p>"
        names = [f"< {sizes.bounds[0]:,} bytes", *(f"≥ {bound:,} bytes" for bound in sizes.bounds)]
        colour = READ_COLOUR if sizes.name == "read" else WRITE_COLOUR
        yield bars([(name, count) for name, count in zip(names, sizes.counts, strict=True) if count], colour)


def _files(found: Characteristics) -> Iterator[str]:
    yield "<h2>Files</h2>"
    rows = []
    for one in found.files[:ROW_SHOWN_MAX]:
        seconds = one.read_seconds + one.write_seconds + one.metadata_seconds
        named = "; ".join(f"{way}: {of.distribution}" for way, of in one.accesses.items() if of.distribution)
        parts = ["-" if math.isnan(part) else f"{100 * part:.0f} %" for part in (one.sequential, one.consecutive)]
        moved = (in_bytes(one.read_bytes), in_bytes(one.written_bytes))
        rows.append([one.file, one.layer, one.ranks, *moved, f"{seconds:.3f}", *parts, named])
    heads = ["file", "layer", "ranks", "read", "written", "seconds", "sequential", "consecutive", "distribution"]
    yield _table(heads, rows)
    if len(found.files) > ROW_SHOWN_MAX:
        yield f"<p>and {len(found.files) - ROW_SHOWN_MAX:,} files with fewer bytes</p>"


def _phases(found: Characteristics) -> Iterator[str]:
    if not found.phases:
        return
    yield "<h2>Phases</h2>"
    rows = [
        (
            f"{one.began:.3f} s",
            in_seconds(one.ended - one.began),
            f"{one.calls:,}",
            one.ranks,
            in_bytes(one.read_bytes),
            in_bytes(one.written_bytes),
        )
        for one in found.phases[:ROW_SHOWN_MAX]
    ]
    yield _table(["began", "lasted", "calls", "ranks", "read", "written"], rows)
    if len(found.phases) > ROW_SHOWN_MAX:
        yield f"<p>and {len(found.phases) - ROW_SHOWN_MAX:,} phases after these</p>"

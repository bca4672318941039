"""Pictures of numbers as SVG inside an HTML page: a matrix of colours with axes, and bars."""

from __future__ import annotations

import base64
import html
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
WIDTH, LEFT, RIGHT, TOP, BOTTOM = 940, 96, 12, 8, 34
"""The sizes of a picture and its margins, in pixels."""
TICKS = 8
READ_COLOUR, WRITE_COLOUR, OTHER_COLOUR = (31, 104, 181), (217, 95, 2), (120, 120, 120)


@dataclass(frozen=True)
class Axis:
    """An axis of a picture.

    Attributes:
        label: its quantity and unit.
        ticks: positions along the axis, from 0 to 1, with their texts.
    """

    label: str
    ticks: Sequence[tuple[float, str]]


def even_axis(label: str, low: float, high: float) -> Axis:
    """Return an axis with round numbers from `low` to `high`."""
    span = high - low
    if not span > 0:
        return Axis(label, [(0.0, f"{low:g}")])
    step = 10.0 ** math.floor(math.log10(span / TICKS))
    step = next(step * factor for factor in (1, 2, 5, 10, 20) if span / (step * factor) <= TICKS)
    numbers = np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step
    return Axis(label, [((one - low) / span, f"{one:,.12g}") for one in numbers.tolist()])


def spread(row: npt.NDArray[np.intp], begin: Floats, end: Floats, rows: int, edges: Floats) -> Floats:
    """Return the length of the intervals between each two neighbouring edges, for each of `rows`.

    Args:
        row: the row of each interval.
        begin: the begin of each interval, within the edges.
        end: the end of each interval, likewise.
        rows: the number of rows.
        edges: edges at equal distances.
    """
    return np.diff(_covered(row, begin, rows, edges) - _covered(row, end, rows, edges), axis=1)


def _covered(row: npt.NDArray[np.intp], places: Floats, rows: int, edges: Floats) -> Floats:
    """Return the sum of (edge - place) over the places before each edge."""
    cells = len(edges) - 1
    cell = np.clip(((places - edges[0]) / (edges[1] - edges[0])).astype(np.int64), 0, cells - 1)
    at = row * cells + cell
    shape = (rows, cells)
    counts = np.cumsum(np.bincount(at, minlength=rows * cells).reshape(shape), axis=1)
    sums = np.cumsum(np.bincount(at, places - edges[0], minlength=rows * cells).reshape(shape), axis=1)
    found = np.zeros((rows, cells + 1))
    found[:, 1:] = counts * (edges[1:] - edges[0]) - sums
    return found


def tinted(parts: Sequence[tuple[Floats, tuple[int, int, int]]]) -> npt.NDArray[np.uint8]:
    """Mix colours: a pixel is white if all parts are 0, and has the colour of a part if that part is 1."""
    total = np.sum([part for part, _ in parts], axis=0)
    scale = np.maximum(total, 1)
    colours = np.zeros((*total.shape, 3))
    for part, colour in parts:
        colours += (part / scale)[..., None] * np.array(colour, float)
    white = np.maximum(1 - total, 0)
    made: npt.NDArray[np.uint8] = (colours + white[..., None] * 255).clip(0, 255).astype(np.uint8)
    return made


def picture(colours: npt.NDArray[np.uint8], height: int, across: Axis, up: Axis) -> str:
    """Return a matrix of colours as SVG. Its first row is at the top."""
    inner = WIDTH - LEFT - RIGHT
    stored = base64.b64encode(png(colours)).decode()
    shown = (
        f'<image x="{LEFT}" y="{TOP}" width="{inner}" height="{height}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{stored}"/>'
        f'<rect x="{LEFT}" y="{TOP}" width="{inner}" height="{height}" fill="none" stroke="#888"/>'
    )
    return _framed(shown, height, across, up)


def _framed(shown: str, height: int, across: Axis, up: Axis) -> str:
    inner, bottom = WIDTH - LEFT - RIGHT, TOP + height
    texts = [
        f'<text x="{LEFT + place * inner:.1f}" y="{bottom + 14}" text-anchor="middle">{html.escape(text)}</text>'
        for place, text in across.ticks
    ]
    texts += [
        f'<text x="{LEFT - 6}" y="{bottom - place * height + 4:.1f}" text-anchor="end">{html.escape(text)}</text>'
        for place, text in up.ticks
    ]
    middle = TOP + height / 2
    texts.append(
        f'<text x="{LEFT + inner / 2}" y="{bottom + 29}" text-anchor="middle">{html.escape(across.label)}</text>'
    )
    texts.append(
        f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">{html.escape(up.label)}</text>'
    )
    return f'<svg viewBox="0 0 {WIDTH} {bottom + BOTTOM}" role="img">{shown}{"".join(texts)}</svg>'


def bars(rows: Sequence[tuple[str, float]], colour: tuple[int, int, int]) -> str:
    """Return horizontal bars with their names and numbers, as SVG."""
    most = max((value for _, value in rows), default=0) or 1
    left, line = 240, 18
    parts = []
    for number, (name, value) in enumerate(rows):
        y = number * line
        width = (WIDTH - left - 120) * value / most
        parts.append(
            f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{html.escape(name)}</text>'
            f'<rect x="{left}" y="{y + 3}" width="{width:.1f}" height="{line - 5}" fill="rgb{colour}"/>'
            f'<text x="{left + width + 6:.1f}" y="{y + 13}">{value:,.0f}</text>'
        )
    return f'<svg viewBox="0 0 {WIDTH} {len(rows) * line + 4}" role="img">{"".join(parts)}</svg>'


def png(colours: npt.NDArray[np.uint8]) -> bytes:
    """Return a matrix of colours (rows, columns, 3) as a PNG file."""
    height, width, _ = colours.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)  # each line begins with the number of its filter: 0 is none
    lines[:, 1:] = colours.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )

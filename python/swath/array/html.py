"""The display of an open array in notebooks: its facts, its layout to scale, and each rank's share. Pure text.

Two dimensions are drawn: divided ones come first, then the last ones. If a dimension has many parts, the first ones are
drawn. The colours suit light and dark pages; lines and letters have the colour of the page's text.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from swath.space import Block, Boxes, Cyclic, Distribution, Shape, Whole

SIDE = 160
"""Pixels of the longer side of a picture."""
SIDE_MIN = 26
PART_MIN = 13
"""The pixels that a rank's number needs."""
PARTS_MAX = 16
"""The largest number of parts that are drawn along a dimension."""
BOXES_MAX = 64
LABEL_MAX = 24
"""Characters of a name in a picture."""
ROWS_OF_ORDER = 5
"""The number of lines that show the order of elements."""
DEGREES_OF_HUE = 137.5
"""The step in hue from one rank to the next: a few dozen ranks have different colours."""


@dataclass(frozen=True)
class Pictured:
    """The facts about an array that are drawn.

    Attributes:
        shape: in elements.
        names: the names of its dimensions; () if they have none.
        order: its dimensions from slowest to fastest; None if that is not known.
        chunks: elements of a chunk along each dimension; None if there are no chunks.
    """

    shape: Shape
    names: tuple[str, ...] = ()
    order: tuple[int, ...] | None = None
    chunks: Shape | None = None


@dataclass(frozen=True)
class Shared:
    """How ranks shared an array when it was last read or written.

    Attributes:
        words: the operation, "read [0:10]".
        shape: the shape of the selection.
        names: the names of its dimensions; () if they have none.
        shares: the distribution of the selection, or the boxes of one rank.
        rank: the rank of the boxes.
    """

    words: str
    shape: Shape
    names: tuple[str, ...]
    shares: Distribution | Boxes
    rank: int = 0


@dataclass(frozen=True)
class _Part:
    """The elements from `begin` to `end` along a dimension, which belong to one owner."""

    begin: int
    end: int
    owner: int = 0


@dataclass(frozen=True)
class _Axis:
    """One of the dimensions that are drawn: its parts, to scale.

    Attributes:
        label: its name and length, in HTML.
        parts: the first ones.
        pixels: the pixels that they take.
    """

    label: str
    parts: tuple[_Part, ...]
    pixels: float

    def span(self, part: _Part) -> tuple[float, float]:
        """Return the begin and the length of a part, in pixels."""
        end = max(self.parts[-1].end, 1)
        return part.begin * self.pixels / end, (part.end - part.begin) * self.pixels / end


def page(title: str, facts: Sequence[tuple[str, str]], pictures: Sequence[str]) -> str:
    """Return an HTML fragment: a table of facts with the pictures beside it."""
    rows = "".join(
        f'<tr><th style="text-align:left;padding:1px 8px 1px 0">{_text(name)}</th>'
        f'<td style="text-align:left;padding:1px 0;overflow-wrap:anywhere">{_text(value)}</td></tr>'
        for name, value in facts
    )
    return (
        f'<div style="display:flex;flex-wrap:wrap;gap:24px;align-items:flex-start">'
        f'<table style="border-collapse:collapse"><caption style="text-align:left;font-weight:bold">{_text(title)}'
        f"</caption>{rows}</table>{''.join(pictures)}</div>"
    )


def listing(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table."""
    cell = "text-align:left;padding:1px 8px 1px 0"
    head = "".join(f'<th style="{cell}">{_text(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{cell}">{_text(value)}</td>' for value in row) + "</tr>" for row in rows
    )
    return (
        f'<table style="border-collapse:collapse"><caption style="text-align:left;font-weight:bold">{_text(title)}'
        f"</caption><tr>{head}</tr>{body}</table>"
    )


def layout_picture(array: Pictured) -> str:
    """Return the picture of an array in its file: chunks, or the order of its elements; "" if it cannot be drawn."""
    if not array.shape or 0 in array.shape:
        return ""
    chunks = array.chunks or array.shape
    counts = [-(-n // max(c, 1)) for n, c in zip(array.shape, chunks, strict=True)]
    drawn = _drawn_dimensions(array.shape, [count > 1 for count in counts])
    parts = {d: list(_first(_blocks(array.shape[d], max(chunks[d], 1)))) for d in drawn}
    axes = _axes(array.shape, array.names, parts)
    cells = "".join(_rectangle(axes, pair, "none") for pair in _pairs(axes))
    if array.chunks is not None:
        caption = f"{_product(counts)} chunks of {_product(array.chunks)}"
        return _figure(axes, cells, caption + _cut(counts, drawn, "chunks"))
    caption = "in the order of the lines" if array.order else ""
    return _figure(axes, cells + _order_lines(axes, drawn, array.order), caption)


def shares_picture(shared: Shared) -> str:
    """Return the picture of each rank's share; "" if it cannot be drawn."""
    if not shared.shape or 0 in shared.shape:
        return ""
    if isinstance(shared.shares, Boxes):
        return _picture_of_boxes(shared, shared.shares)
    d = shared.shares
    all_parts = [_parts_of(rule, p, n) for rule, p, n in zip(d.rules, d.grid, shared.shape, strict=True)]
    drawn = _drawn_dimensions(shared.shape, [not isinstance(rule, Whole) for rule in d.rules])
    axes = _axes(shared.shape, shared.names, {dim: list(_first(all_parts[dim])) for dim in drawn})
    cells = []
    for pair in _pairs(axes):
        place = 0
        for dim, parts in enumerate(d.grid):
            owner = pair[drawn.index(dim) - len(drawn)].owner if dim in drawn else 0
            place = place * parts + owner
        rank = place if d.ranks is None else d.ranks[place]
        cells.append(_rectangle(axes, pair, _colour(rank), f"rank {rank}", str(rank)))
    counts = [_count_of(rule, p, n) for rule, p, n in zip(d.rules, d.grid, shared.shape, strict=True)]
    return _figure(axes, "".join(cells), f"{shared.words}: whose elements" + _cut(counts, drawn, "blocks"))


def _picture_of_boxes(shared: Shared, boxes: Boxes) -> str:
    drawn = _drawn_dimensions(shared.shape, [False] * len(shared.shape))
    axes = _axes(shared.shape, shared.names, {d: [_Part(0, shared.shape[d])] for d in drawn})
    cells = [_rectangle(axes, pair, "none") for pair in _pairs(axes)]
    for low, high in boxes.boxes[:BOXES_MAX]:
        corners = [_Part(low[d], high[d]) for d in drawn]
        pair = (corners[0], corners[1]) if len(corners) == 2 else (_Part(0, 1), corners[0])
        cells.append(_rectangle(axes, pair, _colour(shared.rank), f"{low} to {high}"))
    return _figure(axes, "".join(cells), f"{shared.words}: {len(boxes)} boxes of rank {shared.rank}")


# ---- parts and axes --------------------------------------------------------------------------------------------------


def _drawn_dimensions(shape: Shape, divided: Sequence[bool]) -> list[int]:
    """Return two dimensions: divided ones come first, then those longer than 1; of equal ones, the last."""
    by_interest = sorted(range(len(shape)), key=lambda d: (divided[d], shape[d] > 1, d), reverse=True)
    return sorted(by_interest[:2])


def _blocks(length: int, size: int) -> Iterator[_Part]:
    return (_Part(begin, min(begin + size, length)) for begin in range(0, length, size))


def _parts_of(rule: Block | Cyclic | Whole, owners: int, length: int) -> Iterator[_Part]:
    size = _block_size(rule, owners, length)
    return (_Part(part.begin, part.end, number % owners) for number, part in enumerate(_blocks(length, size)))


def _count_of(rule: Block | Cyclic | Whole, owners: int, length: int) -> int:
    return -(-length // _block_size(rule, owners, length))


def _block_size(rule: Block | Cyclic | Whole, owners: int, length: int) -> int:
    if isinstance(rule, Whole):
        return length
    return rule.size or -(-length // owners)


def _first(parts: Iterator[_Part]) -> Iterator[_Part]:
    for number, part in enumerate(parts):
        if number == PARTS_MAX:
            return
        yield part


def _axes(shape: Shape, names: tuple[str, ...], parts: dict[int, list[_Part]]) -> tuple[_Axis, _Axis]:
    """Return the vertical and the horizontal axis; for an array of one dimension the vertical axis has one part."""
    lengths = {d: max(of_dimension[-1].end, 1) for d, of_dimension in parts.items()}
    longest = max(lengths.values())
    axes = [
        _Axis(_label(shape, names, d), tuple(of_dimension), _pixels(lengths[d] / longest, len(of_dimension)))
        for d, of_dimension in parts.items()
    ]
    return (axes[0], axes[1]) if len(axes) == 2 else (_Axis("", (_Part(0, 1),), SIDE_MIN), axes[0])


def _pixels(of_longest: float, parts: int) -> float:
    """Return the length of a dimension in pixels: to scale, unless its parts would be too small to recognise."""
    return max(SIDE * of_longest, min(PART_MIN * parts, SIDE), SIDE_MIN)


def _label(shape: Shape, names: tuple[str, ...], d: int) -> str:
    name = names[d] if d < len(names) else f"axis {d}"
    return _text(f"{name if len(name) <= LABEL_MAX else name[: LABEL_MAX - 1] + '…'}: {shape[d]:,}")


def _pairs(axes: tuple[_Axis, _Axis]) -> Iterator[tuple[_Part, _Part]]:
    return ((down, right) for down in axes[0].parts for right in axes[1].parts)


def _order_lines(axes: tuple[_Axis, _Axis], drawn: list[int], order: tuple[int, ...] | None) -> str:
    """Return lines along the faster drawn dimension. Each begins at the end of the previous one."""
    if order is None:
        return ""
    down, right = axes[0].pixels, axes[1].pixels
    goes_down = len(drawn) == 2 and order.index(drawn[0]) > order.index(drawn[1])
    along, across = (down, right) if goes_down else (right, down)
    count = ROWS_OF_ORDER if len(drawn) == 2 else 1
    turns = []
    for number in range(count):
        at = across * (number + 0.5) / count
        turns += [(at, 5.0), (at, along - 5)]
    points = [(a, b) if goes_down else (b, a) for a, b in turns]
    line = " ".join(f"{x:g},{y:g}" for x, y in ((round(x, 1), round(y, 1)) for x, y in points))
    x, y = points[-1]
    head = [(x - 3, y - 6), (x + 3, y - 6)] if goes_down else [(x - 6, y - 3), (x - 6, y + 3)]
    triangle = " ".join(f"{round(a, 1):g},{round(b, 1):g}" for a, b in [*head, (x, y)])
    return (
        f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-opacity="0.6"/>'
        f'<polygon points="{triangle}" fill="currentColor"/>'
    )


def _cut(counts: Sequence[int], drawn: list[int], what: str) -> str:
    """Return in words what the picture leaves out."""
    if any(counts[d] > PARTS_MAX for d in drawn):
        return f"; the first {PARTS_MAX} {what} of a dimension"
    return "; one slice" if any(count > 1 for d, count in enumerate(counts) if d not in drawn) else ""


def _product(counts: Sequence[int]) -> str:
    return " × ".join(f"{count:,}" for count in counts)


# ---- SVG -------------------------------------------------------------------------------------------------------------


def _rectangle(
    axes: tuple[_Axis, _Axis], pair: tuple[_Part, _Part], colour: str, told: str = "", letters: str = ""
) -> str:
    (y, height), (x, width) = (axis.span(part) for axis, part in zip(axes, pair, strict=True))
    title = f"<title>{_text(told)}</title>" if told else ""
    drawn = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}" '
        f'stroke="currentColor" stroke-width="0.6">{title}</rect>'
    )
    if not letters or height < PART_MIN - 1 or width < 7 * len(letters) + 4:
        return drawn
    middle = f'x="{x + width / 2:.1f}" y="{y + height / 2:.1f}"'
    return f'{drawn}<text {middle} text-anchor="middle" dominant-baseline="central">{_text(letters)}</text>'


def _colour(rank: int) -> str:
    return f"hsl({rank * DEGREES_OF_HUE % 360:g} 60% 55% / 0.45)"


def _figure(axes: tuple[_Axis, _Axis], drawn: str, caption: str) -> str:
    labels = [f"{arrow} {axis.label}" for arrow, axis in zip("↓→", axes, strict=True) if axis.label]
    words = f"{', '.join(labels)}<br/>{_text(caption)}".removesuffix("<br/>")
    return (
        f'<figure style="margin:0;max-width:{SIDE + 80}px"><svg xmlns="http://www.w3.org/2000/svg" '
        f'width="{axes[1].pixels + 2:.0f}" height="{axes[0].pixels + 2:.0f}" fill="currentColor" '
        f'style="color:inherit;font:11px sans-serif"><g transform="translate(1 1)">{drawn}</g></svg>'
        f'<figcaption style="font-size:smaller">{words}</figcaption></figure>'
    )


def _text(value: str) -> str:
    """Return text for HTML. Bytes of names that are not UTF-8 are escaped as in Python."""
    return html.escape(value.encode("utf-8", "backslashreplace").decode(), quote=True)

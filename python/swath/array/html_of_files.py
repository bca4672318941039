"""The display of open arrays and files in notebooks: passes their facts to html.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swath.array import html
from swath.array.decoding import AS_STORED, mean_others
from swath.array.request import Request
from swath.formats.contents import Attributes, Contents
from swath.formats.description import StridedLayout
from swath.space import Boxes, Distribution, normalise_selection, selected_shape, selection_text

if TYPE_CHECKING:
    from swath.array.open_array import Array


def of_array(array: Array, shared: Request | None) -> str:
    """Return an array as HTML; `shared` is the last operation that several ranks shared."""
    names = array.dimensions or [""] * array.ndim
    lengths = " × ".join(f"{name} {n:,}".strip() for name, n in zip(names, array.shape, strict=True))
    facts = [
        ("file", f"{array.path} ({array.format})"),
        ("shape", lengths or "scalar"),
        ("dtype", str(array.dtype)),
        ("bytes", f"{array.nbytes:,}"),
        ("layout", array.layout),
    ]
    if mean_others(array.attributes):
        facts.append(("values", AS_STORED))
    facts += _attribute_facts(dict(array.attributes))
    pictures = [html.layout_picture(html.Pictured(array.shape, array.dimensions, _order(array), array.chunks))]
    if shared is not None:
        pictures.append(html.shares_picture(_shared(array, shared)))
    return html.page(f"swath.Array {array.variable or ''}".strip(), facts, [p for p in pictures if p])


def of_contents(path: str, contents: Contents) -> str:
    """Return a file as HTML: its attributes, its dimensions, and its variables."""
    root = contents.group("")
    lengths = [
        f"{dimension.name} {dimension.length:,}{' (unlimited)' if dimension.is_unlimited else ''}"
        for dimension in root.dimensions.values()
    ]
    facts = [("format", f"{contents.format} {contents.version}".strip())]
    facts += [("dimensions", ", ".join(lengths))] if lengths else []
    rows = [
        (v.name, " × ".join(f"{n:,}" for n in v.shape), str(v.dtype or "?"), ", ".join(v.dimensions), v.unsupported)
        for v in contents.variables.values()
    ]
    variables = html.listing("variables", ("name", "shape", "dtype", "dimensions", ""), rows)
    return html.page(f"swath.File {path}", facts + _attribute_facts(root.attributes), [variables])


def _attribute_facts(attributes: Attributes) -> list[tuple[str, str]]:
    return [(name, _short(value)) for name, value in attributes.items()]


def _short(value: object) -> str:
    text = np.array2string(value, threshold=8) if isinstance(value, np.ndarray) else str(value)
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"


TEXT_MAX = 200
"""The largest number of characters that are shown of an attribute."""


def _order(array: Array) -> tuple[int, ...] | None:
    """Return the dimensions from slowest to fastest."""
    layout = array._description.layout
    if not isinstance(layout, StridedLayout):
        return None
    return tuple(sorted(range(array.ndim), key=lambda d: -layout.strides[d]))


def _shared(array: Array, request: Request) -> html.Shared:
    assert isinstance(request.distribution, (Distribution, Boxes))  # there is no picture of places
    if isinstance(request.distribution, Boxes):
        rank = array._ranks.rank
        return html.Shared(request.direction, array.shape, array.dimensions, request.distribution, rank)
    chosen = normalise_selection(request.selection, array.shape)
    kept = tuple(name for name, one in zip(array.dimensions, chosen, strict=False) if not one[3])
    words = request.direction if request.selection is ... else f"{request.direction} {selection_text(chosen)}"
    return html.Shared(words, selected_shape(chosen), kept, request.distribution)

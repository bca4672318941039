"""Plots by matplotlib as SVG inside a page: every mark has its numbers as attributes.

A group that matplotlib drew with a group id becomes a `<g>` element of that id with `data-` attributes; so do its
marks, each with a `<title>` of the same content.
"""

from __future__ import annotations

import dataclasses
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SVG = "http://www.w3.org/2000/svg"
LINK = "{http://www.w3.org/1999/xlink}href"
SETTINGS: Any = {
    "svg.fonttype": "none",  # text stays text: it is small, and the browser's search finds it
    "svg.hashsalt": "swath",  # the same result gives the same page
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.markersize": 4.5,
    "lines.linewidth": 1.2,
}
BARS = "-bars"
"""Suffix of the id of a line's bars."""


@dataclasses.dataclass(frozen=True)
class Mark:
    """One marker, or one bar: its `data-` attributes by name, and its title."""

    data: Mapping[str, object]
    title: str


@dataclasses.dataclass(frozen=True)
class Group:
    """One group id of a drawing: its `data-` attributes, its marks in order, and the kind of their elements.

    `tag`: "use" for the markers of a line, "path" for the shapes of a collection.
    """

    data: Mapping[str, object]
    marks: Sequence[Mark]
    tag: str = "use"


def identity(words: str) -> str:
    """Return `words` as an id for HTML and URL fragments."""
    return re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-")


def drawn(figure: Figure, name: str, groups: Mapping[str, Group]) -> str:
    """Return `figure` as an element with id `name` of a page that holds others; `groups` by their group ids."""
    told = io.BytesIO()
    figure.savefig(told, format="svg", metadata={"Date": None})
    return _for_a_page(told.getvalue(), name, groups)


def _for_a_page(svg: bytes, name: str, groups: Mapping[str, Group]) -> str:
    """Make ids unique to this element, and give marks their attributes and titles."""
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ET.fromstring(svg)
    for metadata in root.findall(f"{{{SVG}}}metadata"):
        root.remove(metadata)
    named = {element.get("id"): element for element in root.iter() if element.get("id")}
    for group_id, group in groups.items():
        _label_group(named[group_id], group)
    for element in root.iter():
        _hoist(element)
    text = ET.tostring(root, encoding="unicode")
    referred = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    for element in root.iter():
        own = element.attrib.pop("id", None)
        if own is not None and own.removesuffix(BARS) in groups:
            element.set("id", own)
        elif own in referred:
            element.set("id", f"{name}-{own}")
        for attribute, value in element.attrib.items():
            if attribute == LINK:
                element.set(attribute, f"#{name}-{value[1:]}")
            elif "url(#" in value:
                element.set(attribute, value.replace("url(#", f"url(#{name}-"))
    for size in ("width", "height"):  # the page's style makes it as wide as the page
        del root.attrib[size]
    root.set("id", name)
    root.set("class", "plot")
    root.set("role", "img")
    return ET.tostring(root, encoding="unicode")


def _label_group(line: ET.Element, group: Group) -> None:
    _set_data(line, group.data)
    for parent in list(line.iter()):
        for element, mark in zip(parent.findall(f"{{{SVG}}}{group.tag}"), group.marks, strict=False):
            _set_data(element, mark.data)
            ET.SubElement(element, f"{{{SVG}}}title").text = mark.title


def _set_data(element: ET.Element, data: Mapping[str, object]) -> None:
    for key, value in data.items():
        element.set(f"data-{key}", value if isinstance(value, str) else repr(value))


def _hoist(group: ET.Element) -> None:
    """Move attributes that all children share to the parent: pages have tens of thousands of markers and bars."""
    children = list(group)
    if group.tag == f"{{{SVG}}}g" and len(children) > 1:
        for attribute in ("style", "clip-path"):
            values = {child.get(attribute) for child in children}
            (value,) = values if len(values) == 1 else (None,)
            if value is not None and attribute not in group.attrib:
                group.set(attribute, value)
                for child in children:
                    del child.attrib[attribute]
    if group.tag == f"{{{SVG}}}text":  # the page has a font
        group.set("style", re.sub(r"font-family: [^;]*;? ?", "", group.get("style", "")))

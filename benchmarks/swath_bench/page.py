"""Reports: one self-contained HTML file, with its numbers in a `<script type="application/json">`."""

from __future__ import annotations

import decimal
import html
import importlib.resources
import importlib.util
import json
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from swath.errors import UnsupportedError, store_error

SIGNIFICANT_DIGITS = 4


def check_can_write(path: str) -> None:
    """Check before the measurement. Raises UnsupportedError without matplotlib, StoreError for a bad path."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UnsupportedError("the HTML report needs matplotlib: pip install matplotlib")
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except OSError as error:
        raise store_error(f"--html {path}: {error.strerror}", error.errno) from None


def filled(package: str, **parts: str) -> str:
    """Return `report.html` of a package, with its parts, and the common `style`, in place of $names."""
    template = importlib.resources.files(package).joinpath("report.html").read_text(encoding="utf-8")
    style = importlib.resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    return string.Template(template).substitute(parts, style=style)


def write(page: str, path: str) -> None:
    """Write the page. Raises StoreError if the system refuses."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
    except OSError as error:
        raise store_error(f"--html {path}: {error.strerror}", error.errno) from None


def text(said: object) -> str:
    """Return any value as escaped text of a page."""
    return html.escape(str(said))


def items(sentences: Iterable[str]) -> str:
    """Return the items of a list as HTML."""
    return "".join(f"<li>{text(said)}</li>" for said in sentences)


def cell(value: object) -> str:
    """Return a cell of a table: numbers are rounded and right-aligned, None is empty."""
    if isinstance(value, float):
        return f"<td class=n>{rounded(value)}</td>"
    if isinstance(value, int):
        return f"<td class=n>{value}</td>"
    return "<td></td>" if value is None else f"<td>{text(value)}</td>"


def rounded(number: float) -> str:
    """Round to four digits, without an exponent: 12345.6: "12350"; 0.000123456: "0.0001235"."""
    shown = f"{decimal.Decimal(f'{number:.{SIGNIFICANT_DIGITS}g}'):f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def definitions(found: Mapping[str, Any]) -> str:
    """Return a mapping, which may be nested, as HTML."""
    lines = []
    for key, value in found.items():
        if isinstance(value, Mapping):
            said = definitions(cast("Mapping[str, Any]", value)) if value else "–"
        elif isinstance(value, Sequence) and not isinstance(value, str):
            said = text(", ".join(map(str, value)) or "–")
        else:
            said = text("–" if value is None else value)
        lines.append(f"<dt>{text(str(key).replace('_', ' '))}</dt><dd>{said}</dd>")
    return f"<dl>{''.join(lines)}</dl>"


def embedded(value: Any) -> str:
    """Return JSON that cannot end the HTML element around it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")

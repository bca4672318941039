"""Reports: one HTML file that needs nothing else, with its numbers in it, `<script type="application/json">`."""

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
    """Raises now, not after minutes of measuring: UnsupportedError without matplotlib, StoreError for a bad path."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UnsupportedError("the HTML report needs matplotlib: pip install matplotlib")
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except OSError as error:
        raise store_error(f"--html {path}: {error.strerror}", error.errno) from None


def filled(package: str, **parts: str) -> str:
    """`report.html` of a package with its parts, and `style`, that of all reports, in place of $names."""
    template = importlib.resources.files(package).joinpath("report.html").read_text(encoding="utf-8")
    style = importlib.resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    return string.Template(template).substitute(parts, style=style)


def write(page: str, path: str) -> None:
    """Raises StoreError where the system refuses."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
    except OSError as error:
        raise store_error(f"--html {path}: {error.strerror}", error.errno) from None


def text(said: object) -> str:
    """Return it as text of a page, whatever it holds."""
    return html.escape(str(said))


def items(sentences: Iterable[str]) -> str:
    """Return what a list holds."""
    return "".join(f"<li>{text(said)}</li>" for said in sentences)


def cell(value: object) -> str:
    """Of a table: numbers rounded and to the right, nothing where there is None."""
    if isinstance(value, float):
        return f"<td class=n>{rounded(value)}</td>"
    if isinstance(value, int):
        return f"<td class=n>{value}</td>"
    return "<td></td>" if value is None else f"<td>{text(value)}</td>"


def rounded(number: float) -> str:
    """To four digits, and never with an exponent: 12345.6: "12350"; 0.000123456: "0.0001235"."""
    shown = f"{decimal.Decimal(f'{number:.{SIGNIFICANT_DIGITS}g}'):f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def definitions(found: Mapping[str, Any]) -> str:
    """Return a mapping, of mappings perhaps, for people."""
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
    """Return it as JSON that cannot end the element it stands in."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")

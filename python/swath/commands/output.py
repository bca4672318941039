"""How subcommands print: tables for people, one JSON value for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

BROKEN_MIN = 40
"""The width of a cell whose text is broken into lines, in columns."""
LINE_MAX = 1 << 16
"""The width of a line that holds long names, in columns."""


def console() -> Console:
    """Return a console for standard output: as wide as the terminal, else 110 columns."""
    printed = Console(highlight=False, soft_wrap=False)
    return printed if printed.file.isatty() else Console(highlight=False, width=110)


def table(*columns: str, right: tuple[str, ...] = (), unbroken: tuple[str, ...] = ()) -> Table:
    """Return a plain table. Columns in `right` hold numbers; cells of columns in `unbroken` stay on one line."""
    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for column in columns:
        justify: Literal["left", "right"] = "right" if column in right else "left"
        made.add_column(column, justify=justify, overflow="fold", no_wrap=column in unbroken)
    return made


def print_unbroken(table: Table) -> None:
    """Print a table; its lines are longer than the terminal's if unbroken cells need it."""
    for column in table.columns:
        longest = max(cell_len(str(text)) for text in (column.header, *column.cells))
        column.min_width = longest if column.no_wrap else min(longest, BROKEN_MIN)
    printed = console()
    needed = printed.measure(table, options=printed.options.update(max_width=LINE_MAX)).minimum
    printed.width = max(printed.width, needed)
    printed.print(table)


def print_facts(facts: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Print lines with a name and pieces of text. Lines break between pieces, never inside one."""
    rows = list(facts)
    printed = console()
    indent = max((cell_len(name) for name, _ in rows), default=0) + 1
    for name, pieces in rows:
        for number, line in enumerate(_lines_of(pieces, printed.width - indent)):
            head = Text((name if number == 0 else "").ljust(indent), style="bold")
            printed.print(head.append(line, style="not bold"), soft_wrap=True)


def _lines_of(pieces: Sequence[str], width: int) -> list[str]:
    lines = [""]
    for piece in pieces:
        joined = f"{lines[-1]} {piece}" if lines[-1] else piece
        if lines[-1] and cell_len(joined) > width:
            lines.append(piece)
        else:
            lines[-1] = joined
    return lines


def print_json(value: Any) -> None:
    r"""Print `value` as valid JSON: NaN and infinity, which JSON lacks, become strings with their names.

    Bytes of file names that are not UTF-8 are escaped as in Python: "\udcff" for the byte 255.
    """
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    print(text.encode("utf-8", "backslashreplace").decode())


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)

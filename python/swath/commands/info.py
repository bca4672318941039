"""`swath info`: what is in a file, and where the bytes of a variable are."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from rich.text import Text

from swath import formats
from swath.array import opening
from swath.commands import arguments, output
from swath.formats import Summary
from swath.formats.description import plain

DESCRIPTION = """\
Show what is in a file: its variables with shape, type, dimensions, and where
their bytes are. With a variable, everything about that one. Reads headers only.
"""

EPILOG = """\
examples:
  swath info sst.nc                        all variables
  swath info sst.nc:surface_temperature    one of them, with its attributes
  swath info run.h5:fields/pressure --json
  swath info dump.bin --shape 5000,5000 --dtype f8 --order F --offset 512

The LAYOUT decides what a read costs: a rank whose share is a few long contiguous
ranges reads fast; `swath explain` says how many ranges a distribution gives.
Compressed chunks are read and decoded as a whole, several at a time.
"through the library" means that bytes are scattered by the format: correct, but
slower.

read next: swath explain --help
"""


def add_parser(subparsers: Any, name: str) -> argparse.ArgumentParser:
    """`swath info FILE[:VARIABLE]`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help="what is in a file",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_file(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(options: argparse.Namespace) -> int:
    """Show one variable in detail where one is named or there is one only, else all of them in a table."""
    path, variable = arguments.file_and_variable(options.file)
    raw = arguments.raw_description(options)
    summaries = [] if raw else formats.variables(path)
    if raw or variable is not None or (len(summaries) == 1 and summaries[0].name is None):
        facts = _facts(path, variable, raw, summaries)
        output.print_json(facts) if options.json else _print_one(facts)
    elif options.json:
        output.print_json({"path": path, "variables": [_summary(summary) for summary in summaries]})
    else:
        _print_all(path, summaries)
    return 0


def _facts(path: str, variable: str | None, raw: dict[str, Any], summaries: list[Summary]) -> dict[str, Any]:
    with opening.open(path, variable, **raw) as a:
        dimensions = next((summary.dimensions for summary in summaries if summary.name == a.variable), ())
        fill = np.asarray(a.fill_value)
        return {
            "path": a.path,
            "variable": a.variable,
            "format": a.format,
            "shape": a.shape,
            "dtype": a.dtype.str if a.dtype.fields is None else str(a.dtype),
            "dimensions": dimensions,
            "layout": a.layout,
            "bytes": a.nbytes,
            "fill_value": plain(fill[()] if fill.dtype.fields is None else str(fill)),
            "attributes": a.attributes,
        }


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "name": summary.name,
        "shape": summary.shape,
        "dtype": summary.dtype,
        "dimensions": summary.dimensions,
        "layout": summary.layout,
        "coordinate": summary.coordinate,
        "attributes": summary.attributes,
    }


def _print_one(facts: dict[str, Any]) -> None:
    table = output.table("", "")
    table.show_header = False
    shown = {**facts, "shape": output.by(facts["shape"]), "bytes": output.in_bytes(facts["bytes"])}
    shown["dimensions"] = ", ".join(facts["dimensions"])
    attributes = shown.pop("attributes")
    for key, value in shown.items():
        if value not in (None, ""):
            table.add_row(Text(key.replace("_", " "), style="bold"), Text(str(value)))
    for number, (key, value) in enumerate(attributes.items()):
        table.add_row(Text("attributes" if number == 0 else "", style="bold"), Text(f"{key} = {plain(value)}"))
    output.console().print(table)


def _print_all(path: str, summaries: list[Summary]) -> None:
    table = output.table("variable", "shape", "dtype", "dimensions", "layout")
    for summary in sorted(summaries, key=lambda summary: summary.coordinate):
        style = "dim" if summary.coordinate else ""
        cells = (
            summary.name or "(no name)",
            output.by(summary.shape),
            summary.dtype,
            ", ".join(summary.dimensions),
            summary.layout,
        )
        table.add_row(*(Text(cell, style=style) for cell in cells))
    console = output.console()
    console.print(table)
    if not summaries:
        console.print(Text(f"{path} holds no variables"))
        return
    example = next((summary for summary in summaries if not summary.coordinate), summaries[0])
    console.print(Text(f"\nOne of them in detail: swath info {path}:{example.name}"), soft_wrap=True)

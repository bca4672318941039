"""`swath info`: the contents of a file, and the layout of a variable."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.text import Text

from swath import _core, formats
from swath.array import opening
from swath.array.decoding import AS_STORED, mean_others
from swath.base import stored_path, units
from swath.commands import arguments, output
from swath.errors import Error
from swath.files import layouts
from swath.formats import Contents, sizes
from swath.formats.contents import Variable
from swath.formats.description import plain

HELP = "what is in a file"
DESCRIPTION = """\
Show what is in a file: dimensions, groups and attributes, and its variables with
shape, type, and where their bytes are. With a variable, everything about that one.
Reads headers and tables of chunks only.
"""

EPILOG = """\
examples:
  swath info sst.nc                        all variables
  swath info sst.nc surface_temperature    one of them, with its attributes
  swath info run.h5:fields/pressure --json
  swath info dump.bin --shape 5000,5000 --dtype f8 --order F --offset 512

The LAYOUT decides what a read costs: a rank whose share is a few long contiguous
ranges reads fast; `swath explain` says how many ranges a distribution gives.
Compressed chunks are read and decoded as a whole, several at a time.
"through the library" means that bytes are scattered by the format: correct, but
slower.

read next: swath explain --help
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath info FILE [VARIABLE]`."""
    arguments.add_file_and_variable(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Show one variable in detail if it is named or the only one; else show the whole file."""
    path, variable = arguments.named_file(options)
    raw = arguments.raw_description(options)
    contents = None if raw else formats.contents(path)
    if contents is None or variable is not None or list(contents.variables) == [""]:
        facts = _facts_of_variable(path, variable, raw)
        output.print_json(facts) if options.json else _print_variable(facts)
        return 0
    facts = _facts_of_file(path, contents)
    output.print_json(facts) if options.json else _print_file(facts)
    return 0


def _facts_of_variable(path: str, variable: str | None, raw: dict[str, Any]) -> dict[str, Any]:
    with opening.open(path, variable, **raw) as a:
        fill = np.asarray(a.fill_value)
        return {
            "path": a.path,
            **_striped(a.path),
            "variable": a.variable,
            "format": a.format,
            "shape": a.shape,
            "dtype": _dtype(a.dtype),
            "dimensions": a.dimensions,
            "unlimited": [bool(grows) for grows in a._description.unlimited],
            "chunks": a.chunks,
            "layout": a.layout,
            "bytes": a.nbytes,
            "stored_bytes": sizes.stored_bytes(a._description),
            "fill_value": plain(fill[()] if fill.dtype.fields is None else str(fill)),
            "values": _values(a.attributes),
            "attributes": dict(a.attributes),
        }


def _striped(path: str) -> dict[str, str]:
    return {"striped": _core.striped_name(path)} if stored_path.of(path).is_striped else {}


def _facts_of_file(path: str, contents: Contents) -> dict[str, Any]:
    dimensions = [
        {"name": f"{group.name}/{dimension.name}".lstrip("/"), "length": dimension.length}
        | {"unlimited": dimension.is_unlimited}
        for group in contents.groups.values()
        for dimension in group.dimensions.values()
    ]
    variables = [_facts_in_file(path, variable) for variable in contents.variables.values()]
    return {
        "path": path,
        **_striped(path),
        "format": contents.format,
        "version": contents.version,
        "bytes": sum(variable["bytes"] for variable in variables),
        "stored_bytes": sizes.of_path(path),
        "dimensions": dimensions,
        "groups": [{"name": g.name, "attributes": dict(g.attributes)} for g in contents.groups.values() if g.name],
        "attributes": dict(contents.group("").attributes),
        "variables": variables,
    }


def _facts_in_file(path: str, variable: Variable) -> dict[str, Any]:
    layout, stored = "", None
    if not variable.unsupported:
        try:
            found = formats.describe(path, variable.name)
            layout, stored = layouts.text(found), sizes.stored_bytes(found)
        except Error as error:  # only this variable is damaged: the others are shown
            layout = f"cannot be read: {error}"
    return {
        "name": variable.name,
        "shape": variable.shape,
        "dtype": "?" if variable.dtype is None else _dtype(variable.dtype),
        "dimensions": variable.dimensions,
        "chunks": variable.chunks,
        "layout": f"unsupported: {variable.unsupported}" if variable.unsupported else layout,
        "bytes": variable.nbytes,
        "stored_bytes": stored,
        "coordinate": variable.is_coordinate,
        "values": _values(variable.attributes),
        "attributes": dict(variable.attributes),
    }


def _dtype(dtype: np.dtype[Any]) -> str:
    return dtype.str if dtype.fields is None else str(dtype)


def _values(attributes: Mapping[str, Any]) -> str:
    """Return whether Swath reads values as stored, and a hint if attributes mask or scale them."""
    return AS_STORED if mean_others(attributes) else "as stored"


def _print_variable(facts: dict[str, Any]) -> None:
    shown = {
        "path": [facts["path"]],
        "striped file": [facts.get("striped", "")],
        "variable": [facts["variable"] or ""],
        "format": [facts["format"]],
        "shape": [units.by(facts["shape"])],
        "dtype": facts["dtype"].split(),
        "dimensions": _listed([_growing(name, grows) for name, grows in _with_growth(facts)]),
        "layout": facts["layout"].split(),
        "bytes": [units.in_bytes(facts["bytes"])],
        "stored": _stored(facts).split(),
        "fill value": str(facts["fill_value"]).split(),
        "values": facts["values"].split(),
    }
    rows = [(name, pieces) for name, pieces in shown.items() if any(pieces)]
    output.print_facts(rows + _attribute_rows("attributes", facts["attributes"]))


def _with_growth(facts: dict[str, Any]) -> list[tuple[str, bool]]:
    unlimited = facts["unlimited"] or [False] * len(facts["dimensions"])
    return list(zip(facts["dimensions"], unlimited, strict=True))


def _growing(name: str, grows: bool) -> str:
    return f"{name} (unlimited)" if grows else name


def _stored(facts: dict[str, Any]) -> str:
    """Return "1.2 MiB, 3.1 × smaller"; "" if the stored size is not known."""
    stored = facts["stored_bytes"]
    if stored is None:
        return ""
    if 0 < stored < facts["bytes"]:
        return f"{units.in_bytes(stored)}, {facts['bytes'] / stored:.2g} × smaller"
    return units.in_bytes(stored)


def _listed(names: list[str]) -> list[str]:
    return [f"{name}," for name in names[:-1]] + names[-1:]


def _attribute_rows(title: str, attributes: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    lines = [line for name, value in attributes.items() for line in f"{name} = {_value(value)}".splitlines()]
    return [(title if number == 0 else "", line.split(" ")) for number, line in enumerate(lines)]


def _value(value: Any) -> str:
    """Return an attribute as text: "1.5 (float32)"; for many numbers, the first and the last ones."""
    if isinstance(value, np.ndarray):
        numbers = np.array2string(value, separator=", ", threshold=10, edgeitems=3).replace("\n", "")
        return f"{numbers} ({value.dtype})"
    if isinstance(value, np.generic):
        return f"{value} ({value.dtype})"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _print_file(facts: dict[str, Any]) -> None:
    variables = facts["variables"]
    version = f" ({facts['version']})" if facts["version"] else ""
    lengths = [_growing(f"{d['name']} = {d['length']:,}", d["unlimited"]) for d in facts["dimensions"]]
    rows = [
        ("path", [facts["path"]]),
        ("format", [f"{facts['format']}{version}"]),
        ("stored", [f"{_stored(facts)};", f"elements {units.in_bytes(facts['bytes'])}"]),
        ("dimensions", _listed(lengths)),
        *_attribute_rows("attributes", facts["attributes"]),
    ]
    for group in facts["groups"]:
        rows += [("group", [group["name"]]), *_attribute_rows("", group["attributes"])]
    output.print_facts(row for row in rows if row[1])
    console = output.console()
    if not variables:
        console.print(Text(f"{facts['path']} holds no variables"))
        return
    console.print()
    _print_variables(variables)
    if any(variable["values"] != "as stored" for variable in variables):
        console.print(Text("\nvalues are as stored; swath.open(…, decode=True) masks and scales them"))
    example = next((v for v in variables if not v["coordinate"]), variables[0])
    console.print(Text(f"\nOne of them in detail: swath info {facts['path']}:{example['name']}"), soft_wrap=True)


def _print_variables(variables: list[dict[str, Any]]) -> None:
    columns = ("variable", "shape", "dtype", "dimensions", "bytes", "stored", "layout")
    table = output.table(*columns, right=("bytes",), unbroken=columns[:-1])
    for variable in sorted(variables, key=lambda variable: variable["coordinate"]):
        style = "dim" if variable["coordinate"] else ""
        cells = (
            variable["name"] or "(no name)",
            units.by(variable["shape"]),
            variable["dtype"],
            ", ".join(variable["dimensions"]),
            units.in_bytes(variable["bytes"]),
            _stored(variable),
            variable["layout"],
        )
        table.add_row(*(Text(cell, style=style) for cell in cells))
    output.print_unbroken(table)

"""`swath repair`: undoes the incomplete changes of a killed program in a file."""

from __future__ import annotations

import argparse
import os

from swath.commands import output
from swath.errors import NotFoundError
from swath.formats import changes
from swath.formats.files import checked_path

HELP = "restore files whose writer was killed"
DESCRIPTION = """\
Restore files whose writer was killed while it added variables, attributes or
records: what it had not completed is taken back, so that the file holds whole
records again, for every program. Opening a file with Swath does the same.

Nothing else is repaired: a file that no Swath program has left half changed stays
as it is. What is changed in a file is journalled beside it, as .NAME.swath-undo.
"""

EPILOG = """\
examples:
  swath repair run.h5
  swath repair *.nc run.zarr

read next: docs/files.md.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath repair FILE...`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file, or the folder of a Zarr store")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Restore each file, and print which of them needed it."""
    found = []
    for file in options.files:
        path = checked_path(file)
        if not os.path.lexists(path):
            raise NotFoundError(f"{path}: there is no such file", 2)
        found.append({"path": path, "restored": changes.repair(path)})
    if options.json:
        output.print_json(found)
        return 0
    for one in found:
        words = "restored: what was not complete is taken back" if one["restored"] else "in order"
        print(f"{one['path']}: {words}")
    return 0

"""`swath verify`: compares two files, or two arrays, of any formats."""

from __future__ import annotations

import argparse
import contextlib

import swath
from swath.commands import arguments, output

HELP = "compare two arrays, whatever their formats and layouts"
DESCRIPTION = """\
Compare two files, or two arrays element by element, in bounded memory. Formats, layouts, byte
order and dtype may differ: values are compared, as NumPy compares them; a NaN is
equal to a NaN. Says how many elements differ, and which is the first in C order.

Files of many variables are compared as a whole where no variable is named: names,
dimensions and attributes, too. --by-library reads both by the libraries of their
formats: an independent judge of a copy, which also names what Swath has no words for.
"""

EPILOG = """\
exit status: 0 they are equal, 1 they are not, 2 they could not be compared.

examples:
  swath verify a.npy b.h5
  swath verify a.npy b.npy --axes 1,0     is b the transposed a?
  swath verify a.nc b.zarr --by-library     says netCDF4 of one what zarr says of the other?
  swath verify dump.bin a.npy --source-shape 5000,5000 --source-dtype f8

read next: swath copy --help; docs/copying.md.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath verify A[:VARIABLE] B[:VARIABLE]`."""
    parser.add_argument(
        "file", metavar="A[:VARIABLE]", help=".npy, netCDF classic, netCDF-4, HDF5, Zarr, or a raw file"
    )
    parser.add_argument("other", metavar="B[:VARIABLE]", help="the same, but no raw file")
    arguments.add_raw_source(parser)
    parser.add_argument("--axes", metavar="D,D,...", help="dimensions of A in the order of B: 1,0 for transposed ones")
    parser.add_argument("--memory", metavar="SIZE", help="the budget: 256MiB")
    parser.add_argument(
        "--by-library", action="store_true", help="read both files by h5py, netCDF4, zarr or NumPy, and not by Swath"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Compare, and print the differences."""
    path, variable = arguments.file_and_variable(options.other)
    axes = None if options.axes is None else arguments.integers("--axes", options.axes)
    source, own_variable = arguments.source_of_copy(options)
    how = {"variable": own_variable, "other_variable": variable, "axes": axes, "memory": options.memory}
    how["by_library"] = options.by_library
    with source if isinstance(source, swath.Array) else contextlib.nullcontext():
        found = swath.verify(source, path, comm=arguments.started_comm(), **how)
    output.print_json(found.to_dict()) if options.json else print(found)
    return 0 if found else 1

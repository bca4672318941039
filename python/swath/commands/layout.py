"""`swath layout`: which layout suits what a program reads and writes, and a copy that has it."""

from __future__ import annotations

import argparse
from typing import Any

import swath
from swath.advice.advise import payback
from swath.advice.candidates import FORMATS
from swath.commands import arguments, output
from swath.errors import ArgumentError

DESCRIPTION = """\
Say which layout (order of dimensions, or chunk shape) makes the accesses of a
program cheapest, before a file is made, or beside a file that there is. Prices
are the planner's, from the profile of the store (swath calibrate).
"""

EPILOG = """\
accesses (--access, any number of them): an item for each dimension, then how often
  "[:, j]:10"           ten reads of one column, whichever
  "[i:i+64, :]:all"     windows of 64 rows until all rows were read
  "write [block, *]:5"  five writes, rows in blocks over --ranks
  "[10:20, ::4]"        a slice as it stands

examples:
  swath layout --access "[:, j]:10" --access "[i, :]:1" 8192,8192 f8
  swath layout --access "[*, block]" --ranks 4 --formats npy,raw 8192,8192 f8
  swath layout --access "[:, j]:10" --file a.npy
                                   and does a copy pay?
  swath layout --access "[:, j]:10" --file a.npy --apply b.h5
                                   make it

read next: docs/layout.md; swath explain --help; swath copy --help.
"""


def add_parser(subparsers: Any, name: str) -> argparse.ArgumentParser:
    """`swath layout --access ACCESS ... SHAPE DTYPE`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help="which layout suits what a program reads and writes",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shape", metavar="SHAPE", nargs="?", help="elements along each dimension: 8192,8192")
    parser.add_argument("dtype", metavar="DTYPE", nargs="?", help="as NumPy writes it: f8")
    parser.add_argument(
        "--access", metavar="ACCESS", action="append", required=True, help="what is read or written, and how often"
    )
    parser.add_argument("--ranks", metavar="N", default="1", help="that block and cyclic divide the array over")
    parser.add_argument("--store", metavar="DIR", help="where the file is to be, whose profile prices")
    parser.add_argument("--cached", metavar="PART", default="0", help="of what is read, in the page cache (default 0)")
    parser.add_argument("--formats", metavar="NAME,...", help=f"that may store it (default {','.join(FORMATS)})")
    parser.add_argument("--chunk-bytes", metavar="LEAST,MOST", default="64KiB,64MiB", help="of a chunk")
    parser.add_argument("--file", metavar="FILE[:VARIABLE]", help="that there is: says shape and dtype; does it pay?")
    parser.add_argument("--apply", metavar="TARGET", help="copy FILE there in the layout that is advised")
    parser.add_argument("--overwrite", action="store_true", help="TARGET may be replaced")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(options: argparse.Namespace) -> int:
    """Advise; beside a file say whether a copy pays; carry the copy out where that is asked for."""
    if options.file is None:
        if options.apply is not None:
            raise ArgumentError("layout: --apply copies a file: name it with --file")
        if options.shape is None or options.dtype is None:
            raise ArgumentError("layout: say SHAPE and DTYPE (8192,8192 f8), or --file")
        advice = _advised(options, arguments.integers("SHAPE", options.shape), options.dtype, options.store)
        output.print_json(advice.to_dict()) if options.json else print(advice, end="")
        return 0
    if options.shape is not None:
        raise ArgumentError("layout: --file says shape and dtype; leave them out")
    path, variable = arguments.file_and_variable(options.file)
    with swath.open(path, variable) as array:
        advice = _advised(options, array.shape, array.dtype, options.store or options.apply or path)
        target = options.apply or _beside(path, advice)
        pays = payback(advice, options.access, array, target, ranks=_ranks(options))
        if options.apply is not None:
            advice.creation(
                array.shape, array.dtype, swath.formats.format_for(target)
            )  # raises where it cannot have it
            swath.copy(array, target, overwrite=options.overwrite, **advice.best.creation)
    if options.json:
        plain = {"copy_seconds": pays.copy_seconds, "seconds_now": pays.seconds_now, "uses": pays.uses}
        output.print_json({**advice.to_dict(), "copy": plain, "target": options.apply})
        return 0
    print(f"{advice}\nuse once: {pays}")
    if options.apply is not None:
        print(f"{target} has {advice.best.name}")
    return 0


def _advised(options: argparse.Namespace, shape: Any, dtype: Any, store: Any) -> swath.LayoutAdvice:
    least, _, most = options.chunk_bytes.partition(",")
    try:
        cached = float(options.cached)
    except ValueError:
        raise ArgumentError(f'--cached "{options.cached}": expected a part, 0 to 1') from None
    return swath.advise_layout(
        options.access,
        shape,
        dtype,
        store=store,
        ranks=_ranks(options),
        cached=cached,
        formats=FORMATS if options.formats is None else tuple(options.formats.split(",")),
        chunk_bytes=(least, most),
    )


def _ranks(options: argparse.Namespace) -> int:
    return arguments.whole_number("--ranks", options.ranks)


def _beside(path: str, advice: swath.LayoutAdvice) -> str:
    """Return the name of a file that a copy could make there; it is not made."""
    suffix = {"raw": ".bin", "npy": ".npy", "netcdf-classic": ".nc", "hdf5": ".h5"}[advice.best.formats[0]]
    return f"{path}.advised{suffix}"

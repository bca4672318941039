"""`swath layout`: advises a layout for the reads and writes of a program, and makes a copy with it."""

from __future__ import annotations

import argparse
import contextlib
import re
from typing import Any

import swath
from swath.advice.advise import payback, payback_of_several
from swath.advice.candidates import FORMATS
from swath.commands import arguments, output
from swath.errors import ArgumentError

HELP = "which layout suits what a program reads and writes"
DESCRIPTION = """\
Say which layout (order of dimensions, or chunks and how they are stored) makes
the accesses of a program cheapest, before a file is made, or beside a file that
there is; of several arrays of one computation together. Prices are the
planner's, from the profile of the store (swath calibrate).
"""

EPILOG = """\
accesses (--access, any number of them): an item for each dimension, then how often
  "[:, j]:10"           ten reads of one column, whichever
  "[i:i+64, :]:all"     windows of 64 rows until all rows were read
  "write [block, *]:5"  five writes, rows in blocks over --ranks
  "[10:20, ::4]"        a slice as it stands
of several arrays (--array) the array's name before the "[", and what couples them:
  "B[j, i] = A[i, j]"            a transpose, in tiles within --memory
  "C[i, j] = A[i, k] * B[k, j]"  a product
  "C[i, j] = A[i, k] * B[k, j] for i by 128, j"
                                 these loops, the outermost first; k is taken whole

examples:
  swath layout --access "[:, j]:10" --access "[i, :]:1" 8192,8192 f8
  swath layout --access "[*, block]" --ranks 4 --formats npy,raw 8192,8192 f8
  swath layout --access "[:, :, k]" --codecs zstd=2.5 --formats zarr 512,512,512 f4
  swath layout --access "[:, j]:10" --file a.npy
                                   and does a copy pay?
  swath layout --access "[:, j]:10" --file a.npy --apply b.h5
                                   make it
  swath layout --access "B[j, i] = A[i, j]" --memory 256MiB \\
      --array A=20000,30000:f8 --array B=30000,20000:f8
  swath layout --recorded run.json what swath.recorded has seen a program do

read next: docs/layout.md; swath explain --help; swath copy --help.
"""

_SHAPE = re.compile(r"(\d+(?:,\d+)*):([^:,]+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath layout --access ACCESS ... SHAPE DTYPE`."""
    parser.add_argument("shape", metavar="SHAPE", nargs="?", help="elements along each dimension: 8192,8192")
    parser.add_argument("dtype", metavar="DTYPE", nargs="?", help="as NumPy writes it: f8")
    parser.add_argument("--access", metavar="ACCESS", action="append", help="what is read or written, and how often")
    parser.add_argument("--recorded", metavar="FILE", help="what a program did, from swath.recorded; not --access")
    parser.add_argument(
        "--array",
        metavar="NAME=ARRAY",
        action="append",
        default=[],
        help="one of several: SHAPE:DTYPE, or FILE[:VARIABLE]",
    )
    parser.add_argument("--memory", metavar="BYTES", default="256MiB", help="of tiles of all arrays (default 256MiB)")
    parser.add_argument("--ranks", metavar="N", default="1", help="that block and cyclic divide the array over")
    parser.add_argument("--store", metavar="DIR", help="where the file is to be, whose profile prices")
    parser.add_argument("--engine", metavar="NAME", help="that moves the bytes; a modelled disk has its own profile")
    parser.add_argument("--cached", metavar="PART", default="0", help="of what is read, in the page cache (default 0)")
    parser.add_argument("--formats", metavar="NAME,...", help=f"that may store it (default {','.join(FORMATS)})")
    parser.add_argument("--chunk-bytes", metavar="LEAST,MOST", default="64KiB,64MiB", help="of a chunk")
    parser.add_argument(
        "--codecs", metavar="NAME[=RATIO],...", help="that may compress chunks; without a ratio measured on FILE"
    )
    parser.add_argument("--file", metavar="FILE[:VARIABLE]", help="that there is: says shape and dtype; does it pay?")
    parser.add_argument(
        "--apply", metavar="[NAME=]TARGET", action="append", default=[], help="copy FILE there in the advised layout"
    )
    parser.add_argument("--overwrite", action="store_true", help="TARGET may be replaced")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the advice; for a file, say whether a copy pays, and make the copy if requested."""
    if (options.access is None) == (options.recorded is None):
        raise ArgumentError("layout: say what is done: --access, any number of times, or --recorded")
    if options.array:
        return _run_several(options)
    if len(options.apply) > 1:
        raise ArgumentError("layout: --apply is given more than once; several arrays are named by --array")
    accesses = options.access if options.recorded is None else swath.Recorded.load(options.recorded)
    if options.file is None:
        return _run_without_file(options, accesses)
    if options.shape is not None:
        raise ArgumentError("layout: --file says shape and dtype; leave them out")
    return _run_beside_file(options, accesses)


def _run_without_file(options: argparse.Namespace, accesses: Any) -> int:
    if options.apply:
        raise ArgumentError("layout: --apply copies a file: name it with --file")
    if options.recorded is None and (options.shape is None or options.dtype is None):
        raise ArgumentError("layout: say SHAPE and DTYPE (8192,8192 f8), or --file, or --array")
    if options.recorded is not None and options.shape is not None:
        raise ArgumentError("layout: --recorded says shape and dtype; leave them out")
    shape = None if options.shape is None else arguments.integers("SHAPE", options.shape)
    _print(options, _advised(options, accesses, shape, options.dtype, options.store))
    return 0


def _run_beside_file(options: argparse.Namespace, accesses: Any) -> int:
    path, variable = arguments.file_and_variable(options.file)
    apply = options.apply[0] if options.apply else None
    with swath.open(path, variable) as array:
        store = options.store or apply or path
        is_recorded = options.recorded is not None
        shape, dtype = (None, None) if is_recorded else (array.shape, array.dtype)
        advice = _advised(options, accesses, shape, dtype, store, sample=array)
        if not isinstance(advice, swath.LayoutAdvice):
            raise ArgumentError(f"layout: {options.recorded} is of several arrays; leave out --file and --apply")
        target = apply or _beside(path, advice)
        _check_can_have(array, target, advice)
        pays = payback(advice, accesses, array, target, ranks=_ranks(options))
        if apply is not None:
            _copy(array, target, advice, overwrite=options.overwrite)
    _print(options, advice, pays, {"target": apply})
    if apply is not None and not options.json:
        print(f"{target} has {advice.best.name}")
    return 0


def _run_several(options: argparse.Namespace) -> int:
    """Advise several arrays, some of which may be files."""
    if options.shape is not None or options.file is not None or options.recorded is not None:
        raise ArgumentError("layout: --array says which arrays; leave out SHAPE, DTYPE, --file and --recorded")
    given = dict(_named("--array", one) for one in options.array)
    targets = dict(_named("--apply", one) for one in options.apply)
    shapes: dict[str, Any] = {}
    dtypes: dict[str, Any] = {}
    with contextlib.ExitStack() as opened:
        files: dict[str, Any] = {}
        for name, what in given.items():
            if stated := _SHAPE.fullmatch(what):
                shapes[name], dtypes[name] = arguments.integers("--array", stated[1]), stated[2]
            else:
                files[name] = opened.enter_context(swath.open(*arguments.file_and_variable(what)))
                shapes[name], dtypes[name] = files[name].shape, files[name].dtype
        if unknown := [name for name in targets if name not in files]:
            raise ArgumentError(f"layout: --apply {unknown[0]}=...: name its file with --array {unknown[0]}=FILE")
        store = options.store or next((one.path for one in files.values()), None)
        sample = next(iter(files.values()), None)
        advice = _advised(options, options.access, shapes, dtypes, store, sample=sample)
        assert isinstance(advice, swath.JointAdvice)
        for name, target in targets.items():
            _check_can_have(files[name], target, advice[name])
        present = {n: (one, targets.get(n) or _beside(one.path, advice[n])) for n, one in files.items()}
        pays = payback_of_several(advice, options.access, present, ranks=_ranks(options)) if present else None
        for name, target in targets.items():
            _copy(files[name], target, advice[name], overwrite=options.overwrite)
    _print(options, advice, pays, {"targets": targets})
    if not options.json:
        for name, target in targets.items():
            print(f"{target} has {advice[name].best.name}")
    return 0


def _named(option: str, text: str) -> tuple[str, str]:
    name, sign, what = text.partition("=")
    if not sign or not name.isidentifier() or not what:
        raise ArgumentError(f'layout: {option} "{text}": expected a name of an array, "=", and what it is')
    return name, what


def _check_can_have(array: swath.Array, target: str, advice: swath.LayoutAdvice) -> None:
    """Raise ArgumentError if the target's format cannot store the layout."""
    advice.creation(array.shape, array.dtype, swath.formats.format_for(target))


def _copy(array: swath.Array, target: str, advice: swath.LayoutAdvice, *, overwrite: bool) -> None:
    swath.copy(array, target, overwrite=overwrite, **{"chunks": (), **advice.best.creation})


def _print(options: argparse.Namespace, advice: Any, pays: Any = None, also: dict[str, Any] | None = None) -> None:
    if options.json:
        plain = advice.to_dict()
        if pays is not None:
            seconds = {"copy_seconds": pays.copy_seconds, "seconds_now": pays.seconds_now, "uses": pays.uses}
            plain.update({"copy": seconds, **(also or {})})
        output.print_json(plain)
    elif pays is None:
        print(advice, end="")
    else:
        print(f"{advice}\nuse once: {pays}")


def _advised(
    options: argparse.Namespace, accesses: Any, shape: Any, dtype: Any, store: Any, *, sample: Any = None
) -> swath.LayoutAdvice | swath.JointAdvice:
    least, _, most = options.chunk_bytes.partition(",")
    try:
        cached = float(options.cached)
    except ValueError:
        raise ArgumentError(f'--cached "{options.cached}": expected a part, 0 to 1') from None
    advice: swath.LayoutAdvice | swath.JointAdvice = swath.advise_layout(
        accesses,
        shape,
        dtype,
        store=store,
        ranks=_ranks(options),
        cached=cached,
        formats=FORMATS if options.formats is None else tuple(options.formats.split(",")),
        chunk_bytes=(least, most),
        codecs=_codecs(options.codecs),
        sample=sample,
        memory=options.memory,
        engine=options.engine,
    )
    return advice


def _codecs(text: str | None) -> Any:
    """Return names with ratios, or names alone. Raise ArgumentError if only some names have a ratio."""
    if text is None:
        return None
    pairs = [one.partition("=") for one in text.split(",")]
    if not any(sign for _, sign, _ in pairs):
        return [name for name, _, _ in pairs]
    try:
        return {name: float(ratio) for name, _, ratio in pairs}
    except ValueError:
        raise ArgumentError(f'--codecs "{text}": expected a ratio for each, as in zstd=2.5, or for none') from None


def _ranks(options: argparse.Namespace) -> int:
    return arguments.whole_number("--ranks", options.ranks)


def _beside(path: str, advice: swath.LayoutAdvice) -> str:
    """Return the name that is suggested for a copy in the same folder; no file is created."""
    suffixes = {"raw": ".bin", "npy": ".npy", "netcdf-classic": ".nc3", "hdf5": ".h5", "zarr": ".zarr"}
    return f"{path}.advised{suffixes[advice.best.formats[0]]}"

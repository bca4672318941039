"""`python -m swath.bench`: measure, beside the peers."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

from swath.bench import interleaved, launch, table1
from swath.bench.conditions import conditions, in_words, memory_bytes
from swath.commands import output
from swath.errors import ArgumentError, Error, StoreError, store_error

BENCHMARKS: dict[str, ModuleType] = {"interleaved": interleaved, "table1": table1}
UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
DISK_MARGIN = 1.05

DESCRIPTION = """\
Measures Swath beside its peers and beside the best that the file could give, in
one run; it starts its own ranks. Without a name it runs all of:

  interleaved   two ranks, 64 MiB, regions of 8 bytes in turn, page cache: Swath's
                methods beside ROMIO's (MPI.File), independent and collective
  table1        the eight distributions of table 1 of the two-phase paper on an
                array of 2 GiB, four ranks, from a cold and from a warm cache,
                beside the conforming read; redistribution beside it
"""

EPILOG = """\
examples:
  python -m swath.bench --quick                     small sizes: does it work here?
  python -m swath.bench interleaved --region 512    larger regions
  python -m swath.bench table1 --folder /scratch --json table1.json

Measure on a machine that does nothing else: the table says what the load was.
"""


def parser() -> argparse.ArgumentParser:
    """The command line; what is not given has the default of each benchmark."""
    made = argparse.ArgumentParser(
        prog="python -m swath.bench",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("benchmark", nargs="?", choices=BENCHMARKS, help="which one (default: all)")
    made.add_argument("--ranks", type=_count, metavar="N", help="how many ranks (2; table1: 4)")
    made.add_argument("--bytes", type=_size, metavar="SIZE", help="of the file, as in 64MiB (table1: 2GiB)")
    made.add_argument("--repetitions", type=_count, metavar="N", help="that are counted (8; table1: 5)")
    made.add_argument(
        "--region", type=_size, metavar="SIZE", dest="region_bytes", help="interleaved: of a region (8 bytes)"
    )
    made.add_argument(
        "--unsieved-fraction",
        type=float,
        metavar="PART",
        help="interleaved: of the file, for ROMIO without data sieving, which is slow (0.0625)",
    )
    made.add_argument("--folder", default=".", help="where the files go, and are removed again (default: here)")
    made.add_argument("--json", metavar="FILE", help="every repetition and the conditions, as JSON")
    made.add_argument("--quick", action="store_true", help="small sizes: whether it works, not how fast")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0 done, 2 could not be done, 130 interrupted."""
    given = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _exit_on_signal)  # so that files are removed and ranks ended
    try:
        return run(given)
    except Error as error:
        print(f"swath.bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("swath.bench: interrupted", file=sys.stderr)
        return 130


def run(given: argparse.Namespace) -> int:
    """Check all, then measure, print and record one benchmark after the other."""
    launch.check_can_start()
    chosen = {name: options_of(name, given) for name in ([given.benchmark] if given.benchmark else BENCHMARKS)}
    for name, options in chosen.items():
        check_room(name, BENCHMARKS[name].needs(options), given.folder)
    if given.json:
        check_writable(given.json)
    results = []
    for name, options in chosen.items():
        results.append(measured(name, options, given.folder))
        print_result(results[-1])
        if given.json:  # after each: a later one may fail
            record(given.json, results)
    return 0


def options_of(name: str, given: argparse.Namespace) -> Any:
    """The benchmark's own options: its defaults, or its quick ones, and what was given. Raises ArgumentError."""
    module = BENCHMARKS[name]
    options = module.quick_options() if given.quick else module.Options()
    known = {field.name for field in dataclasses.fields(options)}
    asked = {
        option: getattr(given, option)
        for option in ("ranks", "bytes", "repetitions", "region_bytes", "unsieved_fraction")
        if getattr(given, option) is not None
    }
    if given.benchmark is not None and not asked.keys() <= known:
        unknown = min(asked.keys() - known).removesuffix("_bytes").replace("_", "-")
        raise ArgumentError(f"--{unknown}: {name} has no such option")
    return dataclasses.replace(options, **{option: value for option, value in asked.items() if option in known})


def check_room(name: str, needed: dict[str, int], folder: str) -> None:
    """Raises StoreError, ArgumentError where the disk or the memory is too small, before anything is written."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise store_error(f"--folder {folder}: {error.strerror}", error.errno) from None
    if needed["disk"] * DISK_MARGIN > free:
        raise StoreError(
            f"{name}: needs {output.in_bytes(needed['disk'])} in {folder}, where {output.in_bytes(free)} are free: "
            "give another --folder, or fewer --bytes",
            28,
        )
    available = memory_bytes("MemAvailable")
    if available is not None and needed["memory"] > available:
        raise ArgumentError(
            f"{name}: needs {output.in_bytes(needed['memory'])} of memory, the file in the page cache included; "
            f"{output.in_bytes(available)} are available: give fewer --bytes"
        )


def measured(name: str, options: Any, folder: str) -> dict[str, Any]:
    """One benchmark: conditions, options, every repetition, and the summary. Its file is gone afterwards."""
    found = conditions(folder)
    try:
        with tempfile.TemporaryDirectory(prefix="swath-bench-", dir=folder) as own:
            result = launch.run_on_ranks(name, dataclasses.asdict(options), own)
    except OSError as error:
        if isinstance(error, Error):
            raise
        raise store_error(f"--folder {folder}: {error.strerror}", error.errno) from None
    found["load_average_after"] = os.getloadavg()[0]
    result = {"benchmark": name, "conditions": found, "options": dataclasses.asdict(options), **result}
    return {**result, "summary": BENCHMARKS[name].summarise(result)}


def print_result(result: dict[str, Any]) -> None:
    """The tables for people."""
    console = output.console()
    console.print()
    BENCHMARKS[result["benchmark"]].show(console, result)
    console.print(in_words(result["conditions"]), style="dim", soft_wrap=True)


def check_writable(path: str) -> None:
    """Raises StoreError now, not after minutes of measuring."""
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except OSError as error:
        raise store_error(f"--json {path}: {error.strerror}", error.errno) from None


def record(path: str, results: list[dict[str, Any]]) -> None:
    """All results as JSON."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
        file.write("\n")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected at least 1")
    return number


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*(?:([kmgt])i?b?|b)?", text.strip(), re.IGNORECASE)
    if found is None or int(found[1]) < 1:
        raise argparse.ArgumentTypeError(f'"{text}": expected a size, as in 64MiB')
    return int(found[1]) << UNITS[(found[2] or "").lower()]


def _exit_on_signal(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())

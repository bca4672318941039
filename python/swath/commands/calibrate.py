"""`swath calibrate`: measure a store, keep its profile, show it. The measuring is in `swath.calibration`."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from swath import calibration
from swath.array import progress
from swath.base import stored_path, units
from swath.calibration import modelled, pool
from swath.commands import output
from swath.errors import ArgumentError, UnsupportedError, store_error
from swath.ranks import mpi
from swath.simulation.calibrated import MEDIA, machine_of, to_toml
from swath.store import profile
from swath.store.profile import StoredProfile

HELP = "measure a store, so that the cheapest method is chosen"
DESCRIPTION = """\
Measure the store that holds a folder, in half a minute: what requests, jumps,
locks and syncs cost, in the page cache and on the device behind it (never one
taken for the other), and what copies and meetings of ranks cost on this machine.
The profile is kept in your cache folder; from then on every array on that store
is read and written by the method that it makes cheapest. Without one, Swath
plans with stated defaults, and says so.
"""

EPILOG = """\
examples:
  swath calibrate /scratch/me              measure, and keep
  swath calibrate /scratch/me --show       what is known of that store
  swath calibrate . --json profile.json    also as a file, for another machine of
                                           the same kind: SWATH_PROFILE=profile.json
  swath calibrate . --machine here.toml    also as a machine that swath simulate reads
  swath calibrate . --freeze               from now on learn nothing from operations

It needs 1 GiB free there (256 MiB with --quick) and removes what it makes. Run it
while the machine is quiet. Where the device cannot be told from the page cache,
as on tmpfs, the device stays unknown and the output says why.

SWATH_PROFILE=none ignores profiles, SWATH_PROFILE=FILE uses that one.

read next: docs/calibration.md, swath explain --help
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath calibrate DIR`."""
    parser.add_argument("dir", metavar="DIR", help="a folder on the store; to measure, one that can be written to")
    parser.add_argument("--quick", action="store_true", help="in about 5 seconds, less exactly")
    parser.add_argument(
        "--json", metavar="FILE", help="write the profile there as well; - prints it instead of a table"
    )
    parser.add_argument("--machine", metavar="FILE", help="write a machine file for swath simulate as well")
    parser.add_argument(
        "--medium", choices=MEDIA, help="what the disk of --machine is: the device (default, where known), or the cache"
    )
    parser.add_argument(
        "--engine", metavar="model:PRESET", help="measure that modelled disk, which has a profile of its own"
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--show", action="store_true", help="measure nothing: print the profile that there is")
    instead.add_argument("--forget", action="store_true", help="measure nothing: remove the profile that there is")
    instead.add_argument(
        "--freeze", action="store_true", help="measure nothing: operations correct the profile no more"
    )
    instead.add_argument("--thaw", action="store_true", help="measure nothing: they correct it again")


def run(options: argparse.Namespace) -> int:
    """Measure a store, or show or change its profile; the status is 1 if --show finds none."""
    if options.engine is not None:
        return _modelled(options)
    if options.forget:
        return _forget(options.dir)
    if options.show:
        found = profile.find(options.dir)
        if found.profile is None:
            print(f"{options.dir}: no profile: {found.reason}")
            return 1
        _give(found.profile, options)
        return 0
    if options.freeze or options.thaw:
        return _set_frozen(options.dir, frozen=options.freeze)
    if stored_path.of(options.dir).has_servers:
        with _ended_by_signals(), _bar() as report:
            measured = pool.calibrate_pool(
                options.dir, calibration.QUICK if options.quick else calibration.FULL, report=report
            )
        measured.save()
        _give(measured, options)
        return 0
    measured = _measure(options.dir, calibration.QUICK if options.quick else calibration.FULL)
    measured.save()
    _give(measured, options)
    return 0


def _modelled(options: argparse.Namespace) -> int:
    """Measure a modelled disk and keep its profile, or show it."""
    if not options.engine.startswith(profile.MODELLED):
        raise ArgumentError(f"--engine {options.engine}: expected a modelled disk: model:PRESET")
    if options.forget or options.freeze or options.thaw:
        raise ArgumentError("--engine: a modelled disk is measured or shown; its profile learns nothing")
    if options.show:
        given = profile.for_path(options.dir, options.engine)
        if given is None or given.store != profile.store_of_engine(options.engine):
            print(f"{options.engine}: no profile: swath calibrate DIR --engine {options.engine} measures it")
            return 1
    else:
        given = modelled.calibrate_modelled(options.engine, options.dir)
        given.save()
    _give(given, options)
    return 0


def _measure(folder: str, effort: calibration.Effort) -> StoredProfile:
    started_by, ranks = mpi.launcher()
    if ranks > 1:
        raise UnsupportedError(
            f"calibrate: one process measures, and {started_by}'s mpiexec started {ranks}: run it without mpiexec"
        )
    if os.environ.get(profile.VARIABLE):
        print(f"swath: {profile.VARIABLE} is set: what is measured now is kept, but not used", file=sys.stderr)
    before = profile.find(folder).profile if not os.environ.get(profile.VARIABLE) else None
    progress.show_bars(False)  # bars would slow the operations down; programs have none by default
    with _ended_by_signals(), _bar() as report:
        measured = calibration.calibrate(folder, effort, report=report)
    return dataclasses.replace(measured, frozen=before is not None and before.frozen)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Make SIGTERM and SIGHUP unwind the stack, as Ctrl-C does, so that no file is left."""

    def end(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _bar() -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar on standard error if it is a terminal."""
    columns = (TextColumn("{task.description:24}"), BarColumn(), TimeElapsedColumn())
    # rich's own test would not do: with FORCE_COLOR, as in Jupyter, it takes everything for a terminal.
    is_shown = sys.stderr.isatty()
    with Progress(*columns, console=Console(file=sys.stderr), transient=True, disable=not is_shown) as bars:
        task = bars.add_task("", total=1.0)
        yield lambda step, done: bars.update(task, description=step, completed=done)


def _forget(folder: str) -> int:
    try:
        file = profile.forget(folder)
    except OSError as error:
        raise store_error(str(error), error.errno) from None
    print(f"{folder}: there was no profile" if file is None else f"{folder}: removed {file}")
    return 0


def _set_frozen(folder: str, *, frozen: bool) -> int:
    found = profile.find(folder)
    if found.profile is None:
        raise ArgumentError(f"{folder}: no profile to {'freeze' if frozen else 'thaw'}: {found.reason}")
    dataclasses.replace(found.profile, frozen=frozen).save()
    says = "operations correct it no more" if frozen else "operations correct it again"
    print(f"{found.profile.file}: {'frozen' if frozen else 'thawed'}: {says}")
    return 0


def _give(given: StoredProfile, options: argparse.Namespace) -> None:
    """Print the profile, and write the requested files."""
    if options.machine is not None:
        comment = f"Measured by swath calibrate {options.dir}: {given.numbers.get('source', given.date[:16])}"
        _write(options.machine, to_toml(machine_of(given, options.medium), comment))
    json_file = options.json
    if json_file == "-":
        output.print_json(given.to_dict())
        return
    if json_file is not None:
        _write(json_file, json.dumps(given.to_dict(), indent=2) + "\n")
    _print(given)


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise store_error(f"{path}: {error.strerror}", error.errno) from None


def _print(given: StoredProfile) -> None:
    console = output.console()
    store, machine = given.store, given.machine
    console.print(Text(f"{store.file_system} at {store.mount_point} ({store.device}), measured {given.date}", "bold"))
    console.print(
        Text(
            f"{machine.cores} cores of {machine.processor}, {machine.memory_gib} GiB, {machine.host}, {given.kernel}\n"
        )
    )
    of_pool = (_objects_table,)
    of_files = (_media_table, _copies_table, _memory_table, _others_table)
    for number, made in enumerate(of_pool if store.is_pool else of_files):
        if number > 0:
            console.print()
        console.print(made(given.numbers))
    console.print(Text("\nhow it is known", "bold"))
    known = output.table("", "")
    known.show_header = False
    for group, how in given.known.items():
        known.add_row(Text(group), Text(how))
    console.print(known)
    for note in given.notes:
        console.print(Text(f"note: {note}", "yellow"))
    if given.corrections:
        console.print(Text(f"learned from operations: {_learned(given)}"))
    if given.frozen:
        console.print(Text("frozen: nothing is learned from operations (--thaw ends it)"))
    console.print(Text(f"\nkept in {given.file}"), soft_wrap=True)


def _media_table(numbers: dict[str, Any]) -> Any:
    """Return a table of requests by size, jumps and streams; columns are page cache and device, read and write."""
    columns = [(medium, direction) for medium in ("cache", "device") for direction in ("read", "write")]
    heads = [f"{'page cache' if medium == 'cache' else 'device'} {direction}" for medium, direction in columns]
    table = output.table("one request", *heads, right=tuple(heads))
    for x, _ in numbers["cache.read"]:
        cells = []
        for medium, direction in columns:
            seconds = dict(map(tuple, numbers[f"{medium}.{direction}"])).get(x)
            cells.append("unknown" if not seconds else f"{_time(seconds)}  {_rate(x / seconds):>10}")
        table.add_row(units.in_bytes(int(x)), *cells)
    for name, label in (("jump", "a jump, more"), ("jump_batched", "  one of 64 at once")):
        cells = []
        for medium, direction in columns:
            seconds = numbers.get(f"{medium}.{direction}_{name}")
            unknown = not numbers[f"{medium}.{direction}"]
            cells.append("" if seconds is None else "unknown" if unknown else f"{_time(seconds)}  {'':>10}")
        table.add_row(label, *cells)
    streams = [x for x, _ in numbers["cache.read_slowdown"] if x > 1]
    for x in streams:
        cells = []
        for medium, direction in columns:
            factor = dict(map(tuple, numbers[f"{medium}.{direction}_slowdown"])).get(x)
            cells.append("unknown" if factor is None else f"{factor:.2f} ×  {'':>10}")
        table.add_row(f"{x:.0f} streams, each", *cells)
    return table


def _objects_table(numbers: dict[str, Any]) -> Any:
    """Return a table of the costs of operations on objects, a column for each direction."""
    table = output.table("objects of a pool", "read", "write", right=("read", "write"))
    rows = {
        "alone": "an operation that is waited for",
        "operation": "one among many",
        "range": "  each range of a list",
        "region": "  each region of a description",
    }
    of_bytes = {
        "byte": "  each MiB",
        "described": "  each MiB by a description",
        "window": "  each MiB that a server reads for it",
    }
    for name, label in {**rows, **of_bytes}.items():
        times = 2**20 if name in of_bytes else 1
        seconds = (numbers[f"objects.{direction}.{name}"] * times for direction in ("read", "write"))
        table.add_row(label, *map(_time, seconds))
    table.add_row("of what is waited for, the network", _time(numbers["objects.network"]), "")
    return table


def _copies_table(numbers: dict[str, Any]) -> Any:
    names = {
        "gather": "gather",
        "scatter": "scatter",
        "exchange_gather": "gather, other core's",
        "exchange_scatter": "scatter, other core's",
    }
    table = output.table("copies of blocks", *names.values(), right=tuple(names.values()))
    for place, (x, _) in enumerate(numbers["gather"]):
        table.add_row(units.in_bytes(int(x)), *(_rate(1 / numbers[name][place][1]) for name in names))
    for x, factor in numbers["copy_slowdown"]:
        if x > 1:
            table.add_row(f"{x:.0f} at once, each", f"{factor:.2f} ×", "", "", "")
    return table


def _memory_table(numbers: dict[str, Any]) -> Any:
    names = {
        "memory_byte_store": "a MiB read straight to it",
        "memory_byte_load": "a MiB written straight from it",
        "memory_line_store": "a line stored in part",
        "memory_line_load": "a line loaded in part",
    }
    table = output.table("memory costs more, by its size", *names.values(), right=tuple(names.values()))
    for place, (x, _) in enumerate(numbers["memory_byte_store"]):
        read, write, store, load = (numbers[name][place][1] for name in names)
        table.add_row(units.in_bytes(int(x)), _time(read * 2**20), _time(write * 2**20), _time(store), _time(load))
    return table


def _others_table(numbers: dict[str, Any]) -> Any:
    table = output.table("one of each", "seconds", right=("seconds",))
    table.show_header = False
    table.add_row("an operation that moves nothing", _time(numbers["operation_seconds"]))
    if "late_operation_seconds" in numbers:  # older profiles lack it
        table.add_row("  after a sync, with cold caches", _time(numbers["late_operation_seconds"]))
    table.add_row("a lock", _time(numbers["lock_seconds"]))
    table.add_row("a sync of one dirty page", _time(numbers["sync_seconds"]))
    table.add_row("  of every further MiB", _time(numbers["sync_byte_seconds"] * 2**20))
    table.add_row("one more piece of memory, read", _time(numbers["read_piece_seconds"]))
    table.add_row("one more piece of memory, written", _time(numbers["write_piece_seconds"]))
    table.add_row("finding a rank's part of a window", _time(numbers["visit_seconds"]))
    for x, seconds in numbers.get("look", []):
        table.add_row(f"looking at {x / 2**20:g} MiB of the page cache", _time(seconds))
    if "look_page_seconds" in numbers:  # older profiles lack it
        table.add_row("  at a page of it, beside its lines", _time(numbers["look_page_seconds"]))
    for x, seconds in numbers["barrier"]:
        if x > 1:
            table.add_row(f"a meeting of {x:.0f} ranks", _time(seconds))
    for x, seconds in numbers.get("round", []):  # older profiles lack it
        if x > 1:
            table.add_row(f"  of {x:.0f} that copy meanwhile", _time(seconds))
    return table


def _learned(given: StoredProfile) -> str:
    return ", ".join(
        f"{place} {factor:.2f} × (from {seen} operations)" for place, (factor, seen) in given.corrections.items()
    )


def _time(seconds: float) -> str:
    """Return a time with three digits: 0.82 us, 45.1 us, 1.2 ms."""
    for unit, scale in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.3g} s"


def _rate(bytes_per_second: float) -> str:
    """Return a rate in decimal units, as vendors do: 5.81 GB/s."""
    for unit, scale in (("kB/s", 1e3), ("MB/s", 1e6)):
        if bytes_per_second < 999.5 * scale:
            return f"{bytes_per_second / scale:.3g} {unit}"
    return f"{bytes_per_second / 1e9:.3g} GB/s"

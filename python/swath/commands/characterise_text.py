"""The tables of `swath characterise`: what a run did with files, for people."""

from __future__ import annotations

import math
from collections.abc import Iterator

from swath.base.units import BYTES_IN_UNIT, in_bytes, in_seconds
from swath.commands import output
from swath.trace.characteristics import Characteristics, Sizes
from swath.trace.file_use import FileUse

SHOWN_MAX = 10
"""The largest number of rows of files and of phases; further ones are not printed."""


def print_characteristics(found: Characteristics) -> None:
    """Print the tables of one run."""
    together = in_seconds(found.execution_seconds)
    print(f"{found.path}: {found.tracer}, {found.processes} processes, {together} of all together")
    if found.command:
        print(f"run as: {found.command}")
    print()
    _print_operations(found)
    for sizes in found.sizes:
        print(f"{sizes.layer} {sizes.name}: " + ", ".join(_sizes(sizes)))
    _print_counts(found)
    _print_files(found)
    _print_phases(found)
    for balance in found.balance:
        which = f", {'server' if 'servers' in balance.of else 'rank'} {balance.which}"
        print(f"{balance.of}: the most is {balance.imbalance:.2f} times the mean of {balance.over}{which}")
    print(f"limited by {found.limit}")
    for note in found.notes:
        print(f"note: {note}")
    print()


def _print_operations(found: Characteristics) -> None:
    numbers = ("calls", "seconds", "bytes", "% of I/O", "% of the run")
    rows = output.table("operation", *numbers, right=numbers)
    for layer in dict.fromkeys(one.layer for one in found.operations):
        of = [one for one in found.operations if one.layer == layer]
        taken = found.io_seconds(layer)
        for one in of:
            name = f"{layer} {one.name}" + (f" ({one.failed} failed)" if one.failed else "")
            rows.add_row(name, *_numbers(one.calls, one.seconds, one.bytes, taken, found.execution_seconds))
        calls, moved = (sum(getattr(one, what) for one in of) for what in ("calls", "bytes"))
        rows.add_row(f"{layer} all", *_numbers(calls, taken, moved, taken, found.execution_seconds))
    output.console().print(rows)
    print()


def _numbers(calls: int, seconds: float, moved: int, of_io: float, of_run: float) -> tuple[str, ...]:
    shown = "-" if math.isnan(seconds) else f"{seconds:.3f}"
    return f"{calls:,}", shown, in_bytes(moved), _percent(seconds, of_io), _percent(seconds, of_run)


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole > 0 and not math.isnan(part) else "-"


def _sizes(sizes: Sizes) -> Iterator[str]:
    for index, count in enumerate(sizes.counts):
        if count:
            low = f"{_bound(sizes.bounds[index - 1])} ≤ " if index else ""
            high = f" < {_bound(sizes.bounds[index])}" if index < len(sizes.bounds) else ""
            yield f"{count:,} of {low}size{high}"


def _bound(size: int) -> str:
    return f"{size // BYTES_IN_UNIT:,} KiB" if size % BYTES_IN_UNIT == 0 else f"{size:,} B"


def _print_counts(found: Characteristics) -> None:
    for layer, counts in found.counts.items():
        if counts:
            named = (f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
            print(f"{layer} counted: {', '.join(named)}")
    print()


def _print_files(found: Characteristics) -> None:
    numbers = ("ranks", "read", "written", "seconds", "sequential", "consecutive")
    rows = output.table("file", "layer", *numbers, right=numbers)
    for one in found.files[:SHOWN_MAX]:
        seconds = one.read_seconds + one.write_seconds + one.metadata_seconds
        moved = (in_bytes(one.read_bytes), in_bytes(one.written_bytes))
        parts = (_part(one.sequential), _part(one.consecutive))
        rows.add_row(one.file, one.layer, str(one.ranks), *moved, f"{seconds:.3f}", *parts)
    output.console().print(rows)
    if len(found.files) > SHOWN_MAX:
        print(f"and {len(found.files) - SHOWN_MAX:,} files with fewer bytes: --json has them")
    for one in found.files[:SHOWN_MAX]:
        for said in _accesses(one):
            print(said)
    print()


def _part(part: float) -> str:
    return "-" if math.isnan(part) else f"{100 * part:.0f} %"


def _accesses(use: FileUse) -> Iterator[str]:
    for way, moved in (("read", use.read_bytes), ("write", use.written_bytes)):
        accesses = use.accesses.get(way)
        if accesses is None:
            continue
        said = [accesses.distribution or "no distribution recognised"]
        if moved > accesses.distinct_bytes:
            said.append(f"{in_bytes(moved - accesses.distinct_bytes)} more than once")
        if use.ranks > 1 and not math.isnan(accesses.interleaved):
            said.append(f"ranks interleaved at {_part(accesses.interleaved)} of the places")
        print_name = f"{use.file} ({use.layer}), {way}"
        yield f"{print_name}: {'; '.join(said)}"


def _print_phases(found: Characteristics) -> None:
    if not found.phases:
        return
    numbers = ("phase", "began", "lasted", "calls", "ranks", "read", "written")
    rows = output.table(*numbers, right=numbers)
    for number, one in enumerate(found.phases[:SHOWN_MAX], 1):
        lasted = in_seconds(one.ended - one.began)
        counts = (f"{one.calls:,}", str(one.ranks), in_bytes(one.read_bytes), in_bytes(one.written_bytes))
        rows.add_row(str(number), f"{one.began:.3f} s", lasted, *counts)
    output.console().print(rows)
    if len(found.phases) > SHOWN_MAX:
        print(f"and {len(found.phases) - SHOWN_MAX:,} phases after these: --json has them")
    if found.between_dumps:
        shortest, longest = min(found.between_dumps), max(found.between_dumps)
        print(f"from a phase that writes to the next: {in_seconds(shortest)} to {in_seconds(longest)}")
    print()

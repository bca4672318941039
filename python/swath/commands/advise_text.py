"""The text of `swath advise`."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from swath.advice.runs.advice import Advice
from swath.advice.runs.advise import PART_MIN, RunAdvice
from swath.advice.runs.estimate import as_data
from swath.advice.runs.verify import Verification
from swath.base.units import in_bytes, in_seconds
from swath.commands import output

FILES_SHOWN = 3
FORMULA_MAX = 160
LINES_SHOWN = 8
"""Of advice about many files, so many characters of the formula, and so many lines of its numbers, are printed."""


def print_advice(found: RunAdvice, struck: Collection[str] = ()) -> None:
    """Print all advice about a run; of advice that replays have struck, the title only."""
    mpi = " of MPI" if found.has_mpi else ""
    processes = f"{found.processes:,} process{'es' if found.processes > 1 else ''}{mpi}"
    print(f"{found.path}: {found.tracer}, {processes}, {in_seconds(found.seconds)}")
    if found.command:
        print(f"run as: {found.command}")
    if found.seconds > 0:
        part = found.io_seconds / found.seconds
        print(f"the slowest rank is in file calls for {in_seconds(found.io_seconds)}, {part:.0%} of the run")
    print(f"prices: {found.source}")
    for note in found.notes:
        print(f"note: {note}")
    if found.only_counters and found.advice:
        print("note: the log has counters only, so the intervals are wide")
    if not found.advice:
        print(f"\nno advice: nothing that Swath knows would save {PART_MIN:.0%} of the run or more")
    for number, one in enumerate(found.advice, 1):
        print()
        if one.proposal.title in struck:
            print(f"{number}. struck, its replay saves nothing: {one.proposal.title}")
            continue
        for line in _lines(number, one):
            print(line)


def print_verification(shown: Verification) -> None:
    """Print what was predicted beside what replays save."""
    original = shown.original
    print(
        f"\nreplayed in {original.store}: the run as it was, {in_seconds(original.elapsed_seconds)}"
        f" ({in_seconds(original.traced_elapsed_seconds)} in the log)"
    )
    rows = output.table("advice", "predicted", "replayed", "error", right=("predicted", "replayed", "error"))
    for one in shown.replayed:
        replayed = "-" if one.replayed is None else _signed(one.replayed)
        error = "-" if one.error is None or not one.gains else f"{one.error:+.0%}"
        rows.add_row(one.title, in_seconds(one.predicted), replayed, error)
    output.console().print(rows)
    for one in shown.replayed:
        if one.why:
            print(f"{one.title}: not replayed: {one.why}")


def _lines(number: int, one: Advice) -> Iterator[str]:
    proposal, evidence = one.proposal, one.evidence
    saving = one.saving
    saved = f"{in_seconds(saving.likely)} ({_signed(saving.low)} to {_signed(saving.high)}), {one.part:.0%} of the run"
    yield f"{number}. {proposal.title}: saves {saved}"
    yield f"   step:      {proposal.step.words}" + (f"; guideline {proposal.guideline}" if proposal.guideline else "")
    yield f"   file:      {_files(one)}"
    yield f"   evidence:  {evidence['what']}"
    rows = evidence.get("calls_of_log")
    where = f"; calls {rows[0]:,} to {rows[1]:,} of the log" if rows else ""
    moved = f", {in_bytes(evidence['bytes'])}" if evidence["bytes"] else ""
    spent = in_seconds(evidence["seconds"])
    yield f"              {evidence['calls']:,} calls{moved}, {spent} on the slowest rank{where}"
    yield f"   condition: {proposal.condition}"
    for index, (name, line) in enumerate(proposal.means.items()):
        yield f"   {'how:' if not index else '    '}       {name}: {line}"
    for index, said in enumerate(proposal.presumes):
        yield f"   {'presumes:' if not index else '         '}  {said}"
    yield from _numbers(one)


def _numbers(one: Advice) -> Iterator[str]:
    """Yield the formula of the likely seconds, and the commands that print its values; of long ones, some."""
    said = as_data({"likely": one.formulas["likely"]})
    likely, *named = said["formulas"].items()
    is_long = len(likely[1]) > FORMULA_MAX
    yield f"   numbers:   likely = {likely[1][:FORMULA_MAX]}{' … (--json prints all of it)' if is_long else ''}"
    lines = [f"{name} = {text}" for name, text in named]
    for name, value in said["values"].items():
        lines.append(f"{name} = {value['value']:.4g}: {value.get('command') or value['reason']}")
    for line in lines[:LINES_SHOWN]:
        yield f"              {line}"
    if len(lines) > LINES_SHOWN:
        yield f"              … and {len(lines) - LINES_SHOWN:,} more: --json prints all"


def _files(one: Advice) -> str:
    rest = len(one.files) - FILES_SHOWN
    return ", ".join(one.files[:FILES_SHOWN]) + (f" and {rest:,} more" if rest > 0 else "")


def _signed(seconds: float) -> str:
    return f"-{in_seconds(-seconds)}" if seconds < 0 else in_seconds(seconds)

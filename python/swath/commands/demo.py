"""`swath demo`: start ranks, and print their results. The work of the ranks is in demo_ranks.py."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from swath.base import units
from swath.commands import arguments, output
from swath.commands.demo_ranks import ONE_DIMENSIONAL, real_file
from swath.errors import ArgumentError, UnsupportedError, store_error
from swath.ranks import mpi
from swath.space import Block, Cyclic, Whole, balanced_grid

HELP = "see it work on real data, with ranks of its own"
DESCRIPTION = """\
See it work, in about a minute, on real data. Ranks of its own (nothing else is
needed: it finds mpiexec) read the satellite sea-surface temperature of the
package iris-sample-data in each of the eight distributions of table 1 of the
two-phase paper, check every element against a serial read, change the
distribution in memory, and write the array back transposed. Then the same on an
array made on the spot, large enough for the difference in speed to show, beside
the paper's own figures.
"""

EPILOG = """\
examples:
  swath demo
  swath demo --ranks 2 --size 2000        smaller: 32 MB instead of 200 MB
  swath demo --keep demo-output           keep the files it makes
  swath demo --json                       for programs

exit status 1 when any element is wrong, or a rank fails.

read next: swath explain --help; docs/ and README.md for using it from Python
"""

PAPER = 'del Rosario, Bordawekar, Choudhary, "Improved Parallel I/O via a Two-phase Run-time Access Strategy", 1993'


ENDED_SECONDS_MAX = 5
"""How long mpiexec may take to end its ranks before it is killed."""


class DemoError(Exception):
    """The ranks found something wrong, or did not end."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath demo`."""
    parser.add_argument("--ranks", metavar="N", default="4", help="how many ranks (default 4)")
    parser.add_argument("--size", metavar="N", default="5000", help="rows and columns of the array made (default 5000)")
    parser.add_argument("--keep", metavar="DIR", help="put the files there and keep them (default: a passing folder)")
    parser.add_argument("--timeout", metavar="SECONDS", default="300", help="give up after this long (default 300)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Start the ranks and print what they report; status 1 when it fails."""
    ranks, size, seconds_max = (
        _at_least_1(option, getattr(options, option)) for option in ("ranks", "size", "timeout")
    )
    _check_can_start()
    begin = time.monotonic()
    with _folder(options.keep) as folder:
        parts = []
        try:
            for part in _parts(_command(ranks, folder, size), seconds_max):
                parts.append(part)
                if not options.json:
                    _print_part(part)
        except DemoError as failed:
            print(f"swath: the demo failed: {failed}", file=sys.stderr)
            return 1
    seconds = time.monotonic() - begin
    if options.json:
        output.print_json({"verified": True, "ranks": ranks, "seconds": seconds, "parts": parts})
    else:
        _print_end(seconds, ranks, options.keep)
    return 0


def _at_least_1(option: str, text: str) -> int:
    number = arguments.whole_number(f"--{option}", text)
    if number < 1:
        raise ArgumentError(f"--{option} {number}: expected at least 1")
    return number


def _check_can_start() -> None:
    if mpi.launcher()[0] is not None:
        raise UnsupportedError("swath demo starts its own ranks: call it without mpiexec")
    missing = [name for name in ("mpi4py", "h5py") if importlib.util.find_spec(name) is None]
    if missing or mpi.own_mpiexec() is None:
        missing = missing or ["mpiexec"]
        raise UnsupportedError(f"swath demo needs {', '.join(missing)}: pip install 'swath[demo]', then swath doctor")
    real_file()


@contextlib.contextmanager
def _folder(keep: str | None) -> Iterator[str]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="swath-demo-") as folder:
            yield folder
        return
    try:
        os.makedirs(keep, exist_ok=True)
    except OSError as error:
        raise store_error(f"--keep {keep}: {error.strerror}", error.errno) from None
    yield os.path.abspath(keep)


def _command(ranks: int, folder: str, size: int) -> list[str]:
    # `-m mpi4py` ends all ranks when one fails.
    rank = [sys.executable, "-m", "mpi4py", "-m", "swath.commands.demo_ranks", "--folder", folder, "--size", str(size)]
    return [str(mpi.own_mpiexec()), "-n", str(ranks), *rank]


def _parts(command: list[str], seconds_max: float) -> Iterator[dict[str, Any]]:
    """Yield the reports of the ranks, part by part; a line on standard error shows the current step.

    Raises DemoError if they report an error, fail, or do not end.
    """
    # All ranks are on this machine, without ssh. They have a process group of their own, which is ended as a whole.
    environment = {**os.environ, "HYDRA_LAUNCHER": "fork"}
    job = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    late = threading.Event()

    def end_late() -> None:
        late.set()
        _end(job)

    timer = threading.Timer(seconds_max, end_late)
    timer.start()
    doing, failed = "starting ranks", ""
    try:
        with Console(stderr=True).status(doing) as status:
            for event in _events(job):
                if event["event"] == "step":
                    doing = event["text"]
                    status.update(f"{doing} ...")
                elif event["event"] == "error":
                    failed = event["message"]
                else:
                    status.stop()
                    yield event
                    status.start()
        job.wait()
    finally:
        timer.cancel()
        _end(job)
    if failed:
        raise DemoError(failed)
    if late.is_set():
        raise DemoError(
            f"no end after {seconds_max} s, while {doing}: try --size 1000, a longer --timeout, and swath doctor"
        )
    if job.returncode != 0:
        raise DemoError(
            f"mpiexec ended with status {job.returncode}, while {doing}; what the failing rank said stands above; "
            "then try swath doctor"
        )


def _events(job: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """Yield the lines that rank 0 reports; all other output goes to standard error."""
    assert job.stdout is not None
    for line in job.stdout:
        try:
            event = json.loads(line)
            known = event["event"] in ("step", "part", "error")
        except (ValueError, TypeError, KeyError):
            known = False
        if known:
            yield event
        else:
            print(line, end="", file=sys.stderr)


def _end(job: subprocess.Popen[str]) -> None:
    """End mpiexec unless it has ended; it ends its ranks."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if job.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(ENDED_SECONDS_MAX)


def _print_part(part: dict[str, Any]) -> None:
    console = output.console()
    name = os.path.basename(part["path"]) + (f":{part['variable']}" if part["variable"] else "")
    shape = units.by(tuple(part["shape"]))
    console.print()
    console.print(Text(f"{name}: {shape} {part['dtype']}, {part['ranks']} ranks", style="bold"))
    last_two = ", over the last two dimensions" if len(part["shape"]) > 2 else ""
    console.print(Text(f"Layout: {part['layout']}. The distributions of table 1{last_two}:\n"))
    _print_rows(console, part)
    if part["part"] == "real":
        _print_real(console, part)
    else:
        _print_made(console, part)


def _print_rows(console: Console, part: dict[str, Any]) -> None:
    numbers = ("requests\ndirect", "requests\ntwo-phase", "time\ndirect", "time\ntwo-phase", "redis-\ntribute")
    table = output.table("distribution", "method", "why", *numbers, right=numbers, unbroken=("distribution", "method"))
    for row in part["rows"]:
        about = "≈" if row["direct_sample"] else ""
        redistributed = row["redistribute_seconds"]
        table.add_row(
            row["distribution"],
            row["method"],
            Text(_in_short(row["reason"])),
            f"{row['requests']['direct']:,}",
            f"{row['requests']['two-phase']:,}",
            about + units.in_seconds(row["seconds"]["direct"]),
            units.in_seconds(row["seconds"]["two-phase"]),
            "-" if redistributed is None else units.in_seconds(redistributed),
        )
    console.print(table)
    console.print(
        Text(
            f"\nRequests of all ranks together; times of the slowest rank; redistribute: in memory, from "
            f"{part['conforming']}. Every element of every read was checked, bit by bit."
        )
    )


def _in_short(reason: str) -> str:
    """Return the start of a plan's reason: of "mean run of 4 bytes (419904 runs), …" it is "mean run of 4 bytes"."""
    return re.split(r"[,:(]", reason, maxsplit=1)[0].strip()


def _print_real(console: Console, part: dict[str, Any]) -> None:
    example = part["rows"][-1]
    written = part["transposed"]
    console.print(Text(f"Why, in full, for {example['distribution']}: {example['reason']}."))
    console.print(
        Text(
            f"Written back transposed, as {units.by(tuple(written['shape']))}, from {written['distribution']}: "
            f"{units.in_seconds(written['seconds'])} with fsync; NumPy finds every element in its place."
        )
    )


def _print_made(console: Console, part: dict[str, Any]) -> None:
    samples = [row for row in part["rows"] if row["direct_sample"]]
    if samples:
        sample = samples[0]["direct_sample"]
        console.print(
            Text(
                f"≈ direct access timed on the first {sample['columns']:,} of {sample['of_columns']:,} columns "
                f"({sample['requests']:,} requests), and multiplied."
            )
        )
    written = part["transposed"]
    console.print(
        Text(
            f"Created in column-major order in {units.in_seconds(part['created_seconds'])}, and written transposed "
            f"from {written['distribution']} in {units.in_seconds(written['seconds'])}, both with fsync and checked "
            "by NumPy."
        )
    )
    _print_table_8(console, part)


def _print_table_8(console: Console, part: dict[str, Any]) -> None:
    console.print(
        Text("\nTable 8 of the two-phase paper: times as ratios to the best read", style="bold"),
        Text("(paper: 16 processors of an Intel Touchstone Delta, 5K × 5K; here: the array above)\n"),
        sep="\n",
    )
    table = output.table("", "", *ONE_DIMENSIONAL, right=ONE_DIMENSIONAL)
    names = {
        "best": "best read (a)",
        "redistribute": "redistribute (b)",
        "total": "total (a) + (b)",
        "direct": "direct (d)",
        "speedup": "speed-up (d) / (a + b)",
        "two_phase": "one two-phase read",
    }
    sampled = {row["distribution"] for row in part["rows"] if row["direct_sample"]}
    for key, name in names.items():
        for source in ("paper", "here") if key != "two_phase" else ("here",):
            cells = []
            for distribution in ONE_DIMENSIONAL:
                ratio = part["table_8"][source][distribution].get(key)
                unsure = key in ("direct", "speedup")
                mark = ">" if source == "paper" and distribution == "row-cyclic" and unsure else ""
                mark = "≈" if source == "here" and distribution in sampled and unsure else mark
                cells.append("-" if ratio is None else f"{mark}{ratio:,.2f}" if ratio < 100 else f"{mark}{ratio:,.0f}")
            table.add_row("" if source == "here" and key != "two_phase" else name, source, *cells)
    console.print(table)
    console.print(Text(f"\n{_honest_words(part)}\nPaper: {PAPER}."))


def _honest_words(part: dict[str, Any]) -> str:
    cached = part["cached_fraction_max"]
    if cached < 0.05:
        return (
            f"Before each timed read the file was dropped from the page cache (at most {cached:.0%} of it was left): "
            "these reads went to the disk, whatever that may cache of its own. The paper's disks had to seek: where "
            "they do not, direct access loses only by many small requests, and a speed-up below 1 is a loss."
        )
    return (
        f"The file could not be dropped from the page cache (up to {cached:.0%} of it was left): these are times of "
        "system calls and copies in memory, not of a disk, which would make small requests dearer still."
    )


def _print_end(seconds: float, ranks: int, keep: str | None) -> None:
    path, mpiexec = real_file(), mpi.own_mpiexec()
    kept = f" The files are in {keep}." if keep else ""
    grid = balanced_grid((Whole(), Block(), Cyclic(4)), ranks)
    text = f"""
All of it verified, in {seconds:.0f} s.{kept}

Next, type
  swath info {path}
  swath explain {path}:surface_temperature --dist "*,block,cyclic(4)" --ranks {ranks}
and in a program of your own, started with {mpiexec} -n {ranks} python program.py
  import swath
  from mpi4py import MPI
  with swath.open("{path}", variable="surface_temperature", comm=MPI.COMM_WORLD) as a:
      mine = a.read(swath.Distribution((swath.Whole(), swath.Block(), swath.Cyclic(4)), grid={grid}))
"""
    output.console().print(Text(text), soft_wrap=True, end="")

"""SimGrid's SMPI beside `swath simulate`: contiguous parts of one file, by MPI_File there and by Swath's methods here.

SMPI runs a program of C with simulated time. Its MPI_File ignores views, so other patterns cannot be compared. Its file
is on one disk of one host, whose only number is a bandwidth: each machine is simulated twice, with the numbers that
both have, and with all of its numbers on one server. docs/simulation.md has results.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable
from importlib import resources
from typing import Any

from rich.console import Console

from swath.base.units import in_bytes, in_seconds
from swath.commands import output
from swath.errors import Error
from swath.simulation import machine as machines
from swath.simulation.machine import Machine
from swath.simulation.operations import distributed
from swath.simulation.simulate import simulate
from swath.space import Block, Whole
from swath_bench.smpi.platforms import FILE, MOUNT, NOT_EXPRESSED, SHARED, write_platform

METHODS = {"independent": "direct", "collective": "two-phase"}
"""Swath's method for each kind of MPI_File's calls."""
MISSING = (
    "smpicc and smpirun of SimGrid are not installed, so nothing was compared: install libsimgrid-dev (Debian), or "
    "SimGrid from https://simgrid.org; make bench-packages does it in a checkout"
)
CONFIGURATION = {
    "smpi/simulate-computation": "no",
    "smpi/display-timing": "no",
    "network/model": "CM02",
    "network/TCP-gamma": "0",
    "network/crosstraffic": "0",
    "network/bandwidth-factor": "1",
    "network/latency-factor": "1",
}
"""Links have the bandwidths of the machine, without SimGrid's factors of TCP."""
SECONDS_MAX = 600


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        ranks: numbers of ranks, a node each as long as the machine has so many.
        bytes: of the file.
        machine: a machine file or a name; None: `machines`.
        machines: the machines that are simulated if none is given.
        directions: "write", "read".
    """

    ranks: tuple[int, ...] = (1, 4, 16)
    bytes: int = 64 << 20
    machine: str | None = None
    machines: tuple[str, ...] = ("feynman", "linux-cluster-2002", "site-2026")
    directions: tuple[str, ...] = ("write", "read")

    in_one_process = True
    """It needs no MPI of this machine."""


def quick_options() -> Options:
    """Few bytes: they test that the benchmark works."""
    return Options(ranks=(1, 2), bytes=1 << 20, machines=("feynman",))


def needs(options: Options) -> dict[str, int]:
    """Bytes of disk and memory: SMPI's ranks have the buffers of a real run."""
    return {"disk": 1 << 20, "memory": options.bytes + (1 << 28)}


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Simulate each case by SMPI and by Swath; nothing, where there is no SMPI."""
    found: list[dict[str, Any]] = []
    if shutil.which("smpicc") is None or shutil.which("smpirun") is None:
        return {"cells": found, "skipped": MISSING}
    folder = os.path.abspath(folder)  # commands are run there
    program = _compiled(folder)
    names = [options.machine] if options.machine else list(options.machines)
    for name, ranks, direction, call in itertools.product(names, options.ranks, options.directions, METHODS):
        found.append(_cell(machines.load(name), ranks, (direction, call), options, (program, folder)))
        keep({"cells": found})
    return {"cells": found}


def _cell(
    given: Machine, ranks: int, what: tuple[str, str], options: Options, where: tuple[str, str]
) -> dict[str, Any]:
    """Return the seconds of one case. `what` is the direction and the call, `where` the program and the folder."""
    machine = given.with_values({**SHARED, "ranks_per_node": -(-ranks // given.values["nodes"])})
    share = max(1, options.bytes // ranks)
    return {
        "machine": given.name,
        "ranks": ranks,
        "direction": what[0],
        "call": what[1],
        "bytes": share * ranks,
        "smpi": _by_smpi(machine, ranks, what, share, where),
        "same_numbers": _ours(machine.with_values(NOT_EXPRESSED), ranks, what, share),
        "all_numbers": _ours(machine, ranks, what, share),
    }


def _ours(machine: Machine, ranks: int, what: tuple[str, str], share: int) -> float:
    direction, call = what
    operation = distributed(
        (ranks, share), "u1", (Block(), Whole()), ranks=ranks, write=direction == "write", method=METHODS[call]
    )
    return simulate(operation, machine, ranks=ranks).seconds


def _by_smpi(machine: Machine, ranks: int, what: tuple[str, str], share: int, where: tuple[str, str]) -> float:
    direction, call = what
    program, folder = where
    nodes = -(-ranks // machine.values["ranks_per_node"])
    platform, hosts = write_platform(machine, nodes, folder, share * ranks if direction == "read" else 0)
    configuration = [f"--cfg={key}:{value}" for key, value in CONFIGURATION.items()]
    start = ["smpirun", "-np", str(ranks), "-platform", platform, "-hostfile", hosts, "-no-privatize"]
    asked = [program, f"{MOUNT}/{FILE}", direction, call, str(share)]
    printed = _output_of([*start, *configuration, *asked], folder)
    seconds = re.search(r"^seconds (\S+)$", printed, re.MULTILINE)
    if seconds is None:
        raise Error(f"{' '.join(start)}: expected a line with the seconds: {printed[-1000:]}")
    return float(seconds[1])


def _compiled(folder: str) -> str:
    program = os.path.join(folder, "contiguous")
    with resources.as_file(resources.files("swath_bench.smpi") / "program" / "contiguous.c") as source:
        _output_of(["smpicc", "-O1", str(source), "-o", program], folder)
    return program


def _output_of(command: list[str], folder: str) -> str:
    """Return what a command prints in a folder. Raises Error with SimGrid's words if it fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, cwd=folder, check=False)
    except subprocess.TimeoutExpired:
        raise Error(f"{' '.join(command)}: it took more than {SECONDS_MAX} s") from None
    if done.returncode != 0:
        printed = done.stdout + done.stderr
        said = "\n".join(line for line in printed.splitlines() if "CRITICAL" in line) or printed[-1000:]
        raise Error(f"{' '.join(command)}: status {done.returncode}: {said}")
    return done.stdout


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return the ratios of simulated seconds, ours / SMPI's."""
    kinds = {"same_numbers": "with the numbers that both have", "all_numbers": "with all numbers of the machines"}
    summary: dict[str, Any] = {"sentences": []}
    for kind, words in kinds.items():
        ratios = [cell[kind] / cell["smpi"] for cell in result["cells"]]
        if not ratios:
            continue
        spread = {"least": min(ratios), "median": statistics.median(ratios), "most": max(ratios)}
        summary[kind] = spread
        summary["sentences"].append(
            f"simulated seconds, ours / SMPI's, {words}: median {spread['median']:.2f}, "
            f"{spread['least']:.2f} to {spread['most']:.2f} in {len(ratios)} cases"
        )
    if "skipped" in result:
        summary["sentences"].append(f"smpi: {result['skipped']}")
    return summary


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the seconds of each case, and the ratios."""
    right = ("ranks", "SMPI", "ours", "ours / SMPI", "all numbers", "these / SMPI")
    rows = output.table("machine", "ranks", "direction", "call", *right[1:], right=right)
    for cell in result["cells"]:
        smpi, same, every = (in_seconds(cell[kind]) for kind in ("smpi", "same_numbers", "all_numbers"))
        ratios = [f"{cell[kind] / cell['smpi']:.2f}" for kind in ("same_numbers", "all_numbers")]
        names = (cell["machine"], f"{cell['ranks']}", cell["direction"], cell["call"])
        rows.add_row(*names, smpi, same, ratios[0], every, ratios[1])
    if result["cells"]:
        console.print(f"a file of {in_bytes(result['cells'][0]['bytes'])}, a contiguous part of each rank")
        console.print(rows)
    for sentence in result["summary"]["sentences"]:
        console.print(sentence)

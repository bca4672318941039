"""Scaling studies: what more I/O nodes, other stripes or other methods do on machines that nobody here has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from swath.errors import ArgumentError
from swath.simulation import machine as machines
from swath.simulation.boxes import boxes_of
from swath.simulation.machine import Machine
from swath.simulation.operations import Operation, distributed
from swath.simulation.simulate import simulate
from swath.space import Block, Whole
from swath.trace.intervals import runs_of

MIB = 1 << 20
INTEGRAL_BUFFER = 65_536
"""The bytes of a read of SCF 1.1: most requests have 64 to 256 KiB (section 4.3)."""
INTEGRAL_BYTES = 256 * MIB
"""The simulated part of a Fock iteration of SCF 1.1: enough for a steady state of 256 ranks."""
FORTRAN_SECONDS = 50e-3
"""What a read costs more by the Fortran interface: 0.1 s on average, and PASSION halves the time of I/O (4.3)."""
COMPUTE_SECONDS = 85e-3
"""The computation that belongs to a buffer: with LARGE, I/O is 54 % of the time, so 0.1 s × 46 / 54 (4.3)."""
LATTICE = 48
"""The extent of the lattice study's field along three dimensions; the first one has twice as many."""
COLLECTIVE = "collective (two-phase)"
BY_HAND = "all-to-all by hand, parts of whole stripes"


@dataclass(frozen=True)
class Study:
    """The result of a study.

    Attributes:
        name: the name of the study.
        question: the question that it answers.
        machine: the name of the machine.
        columns: the heads of the table; the first one names the rows.
        rows: the cells of the table.
        sentences: what follows from the table.
    """

    name: str
    question: str
    machine: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    sentences: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the study as JSON can hold it."""
        return asdict(self)


@dataclass(frozen=True)
class StudyOptions:
    """The arguments of a study.

    Attributes:
        machine: the machine.
        ranks: the largest number of ranks; None for the study's own.
        seed: the seed of the noise.
    """

    machine: Machine
    ranks: int | None
    seed: int

    def powers(self, low: int, high: int) -> list[int]:
        """Return `low`, twice as many, and so on up to `high`, or up to the largest number of ranks."""
        most = min(high, self.ranks or high)
        found = [low << shift for shift in range(most.bit_length()) if low << shift <= most]
        return found or [most]


def run_study(
    name: str,
    *,
    machine: str | None = None,
    settings: Mapping[str, Any] | None = None,
    ranks: int | None = None,
    seed: int = 1,
) -> Study:
    """Carry a study out.

    Args:
        name: a key of `STUDIES`.
        machine: a machine file or a name; by default the study's machine.
        settings: values of the machine that differ, by their dotted keys.
        ranks: the largest number of ranks; by default the study's.
        seed: the seed of the noise.

    Raises:
        ArgumentError: there is no such study.
    """
    if name not in STUDIES:
        raise ArgumentError(f"study {name}: expected one of {', '.join(STUDIES)}")
    chosen = machines.load(machine or MACHINES[name]).with_values(settings or {})
    return STUDIES[name](StudyOptions(chosen, ranks, seed))


def io_nodes(options: StudyOptions) -> Study:
    """Return times of SCF 1.1's reads: I/O nodes against software (figures 4 and 5 of the applications paper)."""
    variants = {
        "unoptimised, 16 I/O nodes": (16, FORTRAN_SECONDS),
        "optimised, 16 I/O nodes": (16, 0.0),
        "unoptimised, 64 I/O nodes": (64, FORTRAN_SECONDS),
        "optimised, 64 I/O nodes": (64, 0.0),
    }
    rows = []
    for ranks in options.powers(4, 256):
        seconds = []
        for servers, more in variants.values():
            call = options.machine.values["software"]["call_overhead"] + more
            machine = options.machine.with_values({"servers.count": servers, "software.call_overhead": call})
            seconds.append(simulate(integrals(ranks), machine, ranks=ranks, seed=options.seed).seconds)
        rows.append((ranks, *seconds))
    crossing = next((row[0] for row in rows if row[3] < row[2]), None)
    said = (
        "optimised software on 16 I/O nodes is faster than unoptimised software on 64 at every number of ranks here"
        if crossing is None
        else f"from {crossing} ranks on, unoptimised software on 64 I/O nodes is faster than optimised on 16"
    )
    return Study(
        "io-nodes",
        "Seconds of a Fock iteration of SCF 1.1: do I/O nodes or software help more?",
        options.machine.name,
        ("ranks", *variants),
        rows,
        [f"{said}; in the paper, it is so beyond 64 processors (figure 4)"],
    )


def integrals(ranks: int, *, share: float = 1.0, recompute_seconds: float = 0.0) -> list[Operation]:
    """Return the reads of a Fock iteration: buffer after buffer of each rank's part, and the work on each.

    Args:
        ranks: the number of ranks.
        share: the part of the buffers that is on disk; the others are computed again.
        recompute_seconds: the time to compute a buffer again.
    """
    steps = max(1, INTEGRAL_BYTES // (ranks * INTEGRAL_BUFFER))
    step = distributed(
        (ranks, steps * INTEGRAL_BUFFER),
        "u1",
        (Block(), Whole()),
        ranks=ranks,
        method="direct",
        name="read integrals",
    )
    stored = max(1, round(share * steps))  # one read at least, so that there is an operation
    computing = COMPUTE_SECONDS * steps / stored + recompute_seconds * (steps - stored) / stored
    selections = (((0, n * INTEGRAL_BUFFER), (ranks, (n + 1) * INTEGRAL_BUFFER)) for n in range(stored))
    return [replace(step, selection=selection, gap_seconds=computing) for selection in selections]


def stripes(options: StudyOptions) -> Study:
    """Return times of a checkpoint by the number of servers that a file lies on."""
    nodes, servers = options.machine.values["nodes"], options.machine.values["servers"]["count"]
    ranks = min(options.ranks or 1_000, options.machine.ranks_max)
    counts = sorted({1, 8, nodes // 2, nodes, 2 * nodes, servers // 2, servers} & set(range(1, servers + 1)))
    rows = []
    for count in counts:
        machine = options.machine.with_values({"stripe.count": count})
        row: list[Any] = [count]
        for method in ("two-phase", "direct"):
            found = simulate(_checkpoint(ranks, method), machine, ranks=ranks, seed=options.seed)
            row.append(found.seconds)
        rows.append(tuple(row))
    best = min(rows, key=lambda row: row[1])
    return Study(
        "stripes",
        f"Seconds of a checkpoint of {ranks:,} ranks by the number of stripes: {nodes} nodes, {servers:,} servers",
        options.machine.name,
        ("stripes", "two-phase", "direct"),
        rows,
        [f"{best[0]:,} stripes are best for two-phase"],
    )


def _checkpoint(ranks: int, method: str) -> Operation:
    """Return a 3-D checkpoint of 16 MiB a rank, as in the issue's example: blocks of the first two dimensions."""
    bits = (ranks * 16_384 - 1).bit_length()
    rules = (Block(), Block(), Whole())
    return distributed(
        (1 << bits // 2, 1 << (bits - bits // 2), 128),
        "f8",
        rules,
        ranks=ranks,
        write=True,
        method=method,
        name="checkpoint",
    )


def lattice(options: StudyOptions) -> Study:
    """Return times of a 4-D field of a lattice code, in blocks (mpich#7935)."""
    ranks = min(options.ranks or 256, options.machine.ranks_max)
    unit = options.machine.values["stripe"]["unit"]
    shape = (2 * LATTICE, LATTICE, LATTICE, LATTICE * 18)
    blocks = distributed(shape, "f8", (Block(),) * 4, ranks=ranks, write=True, method="two-phase", name="collective")
    ways = {
        COLLECTIVE: [blocks],
        "collective, windows of a stripe": [replace(blocks, tuning={"window_bytes": unit})],
        "all-to-all by hand, equal parts": _by_hand(blocks, ranks, blocks.element_bytes),
        BY_HAND: _by_hand(blocks, ranks, unit),
        "a request a run (direct)": [blocks.by("direct")],
        "planner's choice (auto)": [blocks.by("auto")],
    }
    rows = [_of_way(name, operations, options, ranks) for name, operations in ways.items()]
    seconds = {row[0]: row[1] for row in rows}
    best = min(seconds, key=seconds.__getitem__)
    return Study(
        "lattice",
        f"A 4-D field of {' × '.join(map(str, shape))} doubles in blocks of {ranks:,} ranks: how is it written best?",
        options.machine.name,
        ("way", "seconds", "of them exchange", "GB/s", "requests"),
        rows,
        [
            f"{best} is best",
            f"with an {BY_HAND}, it takes {seconds[BY_HAND] / seconds[COLLECTIVE]:.2f} times as long as collectively",
        ],
    )


def _by_hand(blocks: Operation, ranks: int, unit: int) -> list[Operation]:
    """Return the operations of a program that gathers a contiguous part of the file on each rank, and writes it.

    Each part starts at a multiple of `unit` bytes. The boxes that it gathers lie one after another in memory, as they
    do in the file, so that a part is written as one run of bytes.
    """
    units = -(-blocks.bytes // unit)
    ends = np.minimum(np.arange(ranks + 1) * units // ranks * unit, blocks.bytes) // blocks.element_bytes
    parts = [runs_of(ends[rank : rank + 1], np.diff(ends[rank : rank + 2])) for rank in range(ranks)]
    boxes = tuple(boxes_of(part, blocks.shape) for part in parts)
    flat = (int(ends[-1]),)
    runs = tuple(boxes_of(part, flat) for part in parts)
    write = replace(blocks, shape=flat, distribution=runs, method="direct", name="contiguous write")
    return [replace(blocks, redistributed_to=boxes, name="all-to-all"), write]


def _of_way(name: str, operations: Sequence[Operation], options: StudyOptions, ranks: int) -> tuple[Any, ...]:
    found = simulate(operations, options.machine, ranks=ranks, seed=options.seed)
    written = operations[-1].bytes
    exchange = found.phases["exchange"] + found.phases["copy"]
    return name, found.seconds, exchange, written / found.seconds / 1e9, sum(_requests(found.values))


def _requests(values: dict[str, Any]) -> Sequence[int]:
    return [int(one["requests"]) for one in values["servers"]]


def scaling(options: StudyOptions) -> Study:
    """Return times of the same checkpoint for each rank, by the number of ranks."""
    rows = []
    for ranks in options.powers(16, min(4_096, options.machine.ranks_max)):
        found = simulate(_checkpoint(ranks, "two-phase"), options.machine, ranks=ranks, seed=options.seed)
        messages = found.values["messages"].get("agree", {"max": 0, "mean": 0.0})
        rate = found.bytes / found.seconds / 1e9
        rows.append((ranks, found.seconds, rate, int(messages["max"]), float(messages["mean"])))
    return Study(
        "scaling",
        "A checkpoint of 16 MiB a rank, more and more ranks: time, and messages of a rank to agree",
        options.machine.name,
        ("ranks", "seconds", "GB/s", "most messages", "mean messages"),
        rows,
        [f"from {rows[0][0]:,} to {rows[-1][0]:,} ranks the rate is {rows[-1][2] / rows[0][2]:.1f} times as high"],
    )


STUDIES: dict[str, Callable[[StudyOptions], Study]] = {
    "io-nodes": io_nodes,
    "stripes": stripes,
    "lattice": lattice,
    "scaling": scaling,
}
"""The studies by the names that `swath simulate --study` takes."""
MACHINES = {"io-nodes": "paragon", "stripes": "site-2026", "lattice": "site-2026", "scaling": "site-2026"}
"""The machines of the studies."""

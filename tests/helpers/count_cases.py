"""Requests on files of every layout, with the counters of each rank and those of the plan.

As a program (`python count_cases.py FOLDER ENGINE SEED...`) it puts marks before and after every operation, which a
tracer
of its system calls can see, and prints the counters as JSON: see test_kernel_counts.py.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import swath
from cases import Case, make_case, make_file, share, strided_like, who
from swath.array.counters import IoAmounts
from swath.simulated import run_ranks

METHODS = ("direct", "sieve", "list", "two-phase")
LAYOUTS = ("raw", "npy", "netcdf", "hdf5")
COUNTED = tuple(field.name for field in dataclasses.fields(IoAmounts))

Record = dict[str, Any]


class NoMarks:
    """Marks for a run without a tracer."""

    def begin(self, number: int) -> None:
        """Operation `number` begins."""

    def end(self, number: int) -> None:
        """It has ended."""


class FileMarks:
    """Marks for a tracer of pread and pwrite: a write to a file of that name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, number: int) -> None:
        self._mark(f"begin-{number}")

    def end(self, number: int) -> None:
        self._mark(f"end-{number}")

    def _mark(self, name: str) -> None:
        descriptor = os.open(self._folder / name, os.O_CREAT | os.O_WRONLY, 0o600)
        os.pwrite(descriptor, b"-", 0)
        os.close(descriptor)


class TraceMarks:
    """Marks in the kernel's trace."""

    def __init__(self, tracing: Path) -> None:
        self._descriptor = os.open(tracing / "trace_marker", os.O_WRONLY)

    def begin(self, number: int) -> None:
        os.write(self._descriptor, f"begin-{number}".encode())

    def end(self, number: int) -> None:
        os.write(self._descriptor, f"end-{number}".encode())


def spread_case(layout: str, ranks: int, seed: int) -> Case:
    """Return a case of this layout that is not empty."""
    rng = random.Random(seed)
    while True:
        case = make_case(rng, ranks, layouts=(layout,))
        if np.prod(case.shape) > 20:
            return case


def execute(case: Case, opened: dict[str, Any], engine: str, marks: Any, first: int) -> list[Record]:
    """Read and write the case by every method; return a record for each operation and rank."""
    operations = [(write, method) for write in (False, True) for method in METHODS]
    records: list[Record] = []

    def work(comm: Any) -> None:
        with swath.open(**opened, mode="r+", comm=comm, engine=engine) as a:
            assert a.engine == engine
            for number, (write, method) in enumerate(operations, start=first):
                parts = [np.array(part, order="C") for part in share(case, case.values(), comm.rank)]
                if case.strided_memory:
                    views = [strided_like(part, random.Random(case.seed)) for part in parts]
                    for view, part in zip(views, parts, strict=True):
                        view[...] = part
                    parts = views
                memory = parts if case.boxes is not None else parts[0]
                asked = {"selection": case.selection, "method": method, "tuning": case.tuning}
                cost = a.explain(who(case, comm.rank), write=write, **asked).cost(method, comm.rank)
                comm.barrier()
                if comm.rank == 0:
                    marks.begin(number)
                comm.barrier()
                if write:
                    a.write(memory, who(case, comm.rank), **asked)
                else:
                    a.read(who(case, comm.rank), out=memory, **asked)
                comm.barrier()
                if comm.rank == 0:
                    marks.end(number)
                counted = a.counters.to_dict()
                records.append(
                    {
                        "operation": number,
                        "what": f"{'write' if write else 'read'} {method} rank {comm.rank} of {case}",
                        "method": method,
                        "scattered": case.strided_memory,
                        "counters": {name: counted[name] for name in COUNTED},
                        "plan": cost,
                    }
                )

    run_ranks(case.ranks, work, seed=case.seed, nodes=1 + case.seed % min(case.ranks, 2))
    return records


def cases(seeds: list[int]) -> Iterator[Case]:
    """Yield a case of each layout for each seed."""
    for seed in seeds:
        for number, layout in enumerate(LAYOUTS):
            yield spread_case(layout, 1 + (seed + number) % 4, seed)


def main() -> None:
    """Execute cases in the folder; print the records."""
    folder, engine = Path(sys.argv[1]), sys.argv[2]
    marks: Any = TraceMarks(Path(os.environ["TRACING"])) if "TRACING" in os.environ else FileMarks(folder)
    records: list[Record] = []
    for place, case in enumerate(cases([int(seed) for seed in sys.argv[3:]])):
        inside = folder / f"data-{place}"
        inside.mkdir()
        records += execute(case, make_file(case, inside), engine, marks, 1 + len(METHODS) * 2 * place)
    json.dump(records, sys.stdout)


if __name__ == "__main__":
    main()

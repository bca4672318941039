"""A large request, and its real memory: test_memory.py runs it as a separate program.

    python memory_cases.py CASE DIRECTION METHOD RANKS NODES PATH     simulated ranks, all in this process
    mpiexec -n 2 python memory_cases.py CASE DIRECTION METHOD mpi 1 PATH

Prints JSON, one object: the local bytes, the bytes in the plan, and the resident bytes at the peak.
"""

from __future__ import annotations

import gc
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import swath
from swath.simulated import run_ranks

MIB = 1 << 20


@dataclass(frozen=True)
class Request:
    """The array that is read or written; 256 MiB in all."""

    shape: tuple[int, int]
    order: str
    selection: Any
    grid: tuple[int, int]  # in units of ranks: a 0 stands for their number
    rules: tuple[Any, Any]
    tuning: dict[str, int]

    def distribution(self, ranks: int) -> swath.Distribution:
        return swath.Distribution(self.rules, grid=[n or ranks for n in self.grid])


LARGE_BUFFERS = {"sieve_bytes": 100 * MIB, "bounce_bytes": 100 * MIB, "window_bytes": 40 * MIB}
CASES = {
    # Rows of a file in columns: memory is scattered, and what passes through buffers is large.
    "transposed": Request((4096, 8192), "F", np.s_[:], (0, 1), (swath.Block(), swath.Whole()), LARGE_BUFFERS),
    # Every other 512 bytes are nobody's, and the others are dealt out.
    "holes": Request((1 << 20, 64), "C", np.s_[::2], (0, 1), (swath.Cyclic(), swath.Whole()), LARGE_BUFFERS),
    "default": Request((1 << 19, 64), "C", np.s_[:], (0, 1), (swath.Cyclic(), swath.Whole()), {}),
}


def status(name: str) -> int:
    """A field of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(name)


def move(request: Request, direction: str, method: str, path: str, comm: Any, ranks: int) -> dict[str, int]:
    """Execute the request; return this rank's local bytes, and the plan's other bytes. Collective."""
    d = request.distribution(ranks)
    asked: dict[str, Any] = {"selection": request.selection, "method": method, "tuning": request.tuning}
    mode = "r+" if direction == "write" else "r"
    with swath.open(path, shape=request.shape, dtype="<f8", order=request.order, mode=mode, comm=comm) as a:
        rank = 0 if comm is None else comm.rank
        plan = a.explain(d, write=direction == "write", **asked)
        if direction == "write":
            selected = [len(range(n)[s]) for n, s in zip(request.shape, (request.selection, slice(None)), strict=True)]
            mine = np.ones(d.local_shape(selected, rank), "<f8")
            a.write(mine, d, **asked)
        else:
            mine = a.read(d, **asked)
        return {"local": mine.nbytes, "stated": plan.cost(method, rank)["buffer_bytes"]}


def main() -> None:
    """Measures one case."""
    case, direction, method, world, nodes, path = sys.argv[1:]
    request = CASES[case]
    comm: Any = None
    if world == "mpi":
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    # Everything is loaded, and every code path has run once, before anything is measured.
    small = Request((64, 64), request.order, request.selection, request.grid, request.rules, {})
    small_path = f"{path}.small" if comm is None or comm.rank == 0 else ""
    if comm is None or comm.rank == 0:
        Path(small_path).write_bytes(bytes(64 * 64 * 8))
    if comm is not None:
        small_path = comm.bcast(small_path)
    run(small, direction, method, small_path, comm, world, nodes)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that from now on
    before, shared_before = status("VmRSS"), status("RssShmem")
    moved = run(request, direction, method, path, comm, world, nodes)
    result = {
        "local": sum(one["local"] for one in moved),
        "stated": sum(one["stated"] for one in moved),
        "peak": status("VmHWM") - before,
        "shared": status("RssShmem") - shared_before,
    }
    results = [result] if comm is None else comm.gather(result)
    if results is not None:
        total = {name: sum(one[name] for one in results) for name in result}
        # A shared window is resident in every rank that touches it; it is there once.
        total["peak"] -= total["shared"] - max(one["shared"] for one in results)
        json.dump(total, sys.stdout)


def run(
    request: Request, direction: str, method: str, path: str, comm: Any, world: str, nodes: str
) -> list[dict[str, int]]:
    """Run on MPI's ranks, on one rank, or on simulated ones."""
    if comm is not None:
        return [move(request, direction, method, path, comm, comm.size)]
    if world == "1":
        return [move(request, direction, method, path, None, 1)]
    return run_ranks(int(world), lambda c: move(request, direction, method, path, c, int(world)), nodes=int(nodes))


if __name__ == "__main__":
    main()

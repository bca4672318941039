"""Under mpiexec: columns of an array in a pool, by every method; the plan's numbers, and the counts of the OSDs.

SWATH_TEST_CEPH_CONF=… mpiexec -n 2 python rados_counts_ranks.py STRIPE ROWS ROW_BYTES ELEMENT_BYTES METHOD…

Each rank has the first element of every Nth row. Prints a line of JSON for each method and direction.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[2] / "helpers"))

import ceph
import swath
from swath.base import stored_path

comm = MPI.COMM_WORLD
DISTRIBUTION = swath.Distribution((swath.Cyclic(1), swath.Whole()), grid=(comm.size, 1))
COLUMN = np.s_[:, :1]


def counted_by_osds() -> dict[str, int]:
    """Return the OSDs' counts, when all requests are counted and no rank makes new ones. Collective."""
    comm.Barrier()
    found = ceph.osd_counters() if comm.rank == 0 else {}
    comm.Barrier()
    return found


def measure(a: swath.Array, method: str, direction: str, mine: Any) -> dict[str, Any]:
    plan = a.explain(DISTRIBUTION, selection=COLUMN, method=method, write=direction == "write")
    before, begin = counted_by_osds(), time.monotonic()
    if direction == "read":
        a.read(DISTRIBUTION, selection=COLUMN, out=mine, method=method)
    else:
        a.write(mine, DISTRIBUTION, selection=COLUMN, method=method)
    after, seconds = counted_by_osds(), time.monotonic() - begin
    made = comm.gather({key: getattr(a.counters, key) for key in ("read_requests", "write_requests", "locks")})
    return {
        "method": method,
        "direction": direction,
        "took": plan.method,
        "seconds": seconds,
        "planned": [plan.cost(method, rank) for rank in range(comm.size)],
        "made": made,
        "counted": {key: after[key] - before[key] for key in after},
    }


def main() -> None:
    stripe, rows, row_bytes, element_bytes = sys.argv[1], *map(int, sys.argv[2:5])
    dtype = np.dtype(f"V{element_bytes}")
    shape = (rows, row_bytes // element_bytes)
    path = ceph.name(f"counts/{comm.bcast(os.getpid())}.raw", stripe=stripe)
    if comm.rank == 0:  # without a hole
        with swath.create(path, shape, dtype, format="raw") as new:
            new.write(np.full(rows * row_bytes, 7, "u1").view(dtype).reshape(shape))
    comm.Barrier()
    mine = np.zeros((len(range(comm.rank, rows, comm.size)), 1), dtype)
    for method in sys.argv[5:]:
        with swath.open(path, shape=shape, dtype=dtype, mode="r+", comm=comm) as a:
            for direction in ("read", "write"):
                found = measure(a, method, direction, mine)
                if comm.rank == 0:
                    print(json.dumps(found), flush=True)
    comm.Barrier()
    if comm.rank == 0:
        stored_path.of(path).remove()


if __name__ == "__main__":
    main()

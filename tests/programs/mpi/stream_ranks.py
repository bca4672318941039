"""Ranks that behave as several nodes share the tokens of a target that all of them see.

Run by `SWATH_NODES=2 SWATH_STREAMS_TARGET=name mpiexec -n N python stream_ranks.py FILE`; FILE holds the
doubles 0, 1, 2, ... and is evicted from the page cache before each reading.
"""

from __future__ import annotations

import os
import sys

import numpy as np
from mpi4py import MPI

import swath
from swath.store import page_cache

WORLD = MPI.COMM_WORLD


def main() -> None:
    path = sys.argv[1]
    elements = os.path.getsize(path) // 8
    with swath.open(path, shape=elements, dtype="f8", comm=WORLD, streams=1) as a:
        for method in ("direct", "two-phase", "list", "sieve"):
            if WORLD.rank == 0:
                page_cache.evict(path)
            WORLD.Barrier()
            mine = a.read(swath.Distribution((swath.Cyclic(1 << 15),), (WORLD.size,)), method=method)
            together = WORLD.allreduce(mine.sum())
            assert together == np.arange(elements, dtype="f8").sum(), (method, together)
        WORLD.Barrier()
        scopes = WORLD.gather(a.streams.scope)
        status = a.streams
    if WORLD.rank == 0:
        remote = [scope.startswith("coordinator") for scope in scopes]
        assert remote == [rank >= WORLD.size // 2 for rank in range(WORLD.size)], scopes
        assert status.reads.active == status.reads.waiting == 0, status
        print(f"all right: {status.reads.grants} tokens, {status.reads.waits} waited for")


main()

"""Ranks learn alike, also if one of them reads much data by itself in between."""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

import swath

COMM = MPI.COMM_WORLD
SHAPE = (600, 600)
columns = swath.Distribution((swath.Whole(), swath.Cyclic(1)), grid=(1, COMM.size))
if COMM.rank == 0:
    np.arange(np.prod(SHAPE), dtype="<f8").tofile(sys.argv[1])
COMM.barrier()
with swath.open(sys.argv[1], shape=SHAPE, dtype="<f8", comm=COMM) as a:
    for _ in range(40):
        a.read(columns)
        if COMM.rank == 0:
            for row in range(64):
                a[row, 3:50:2]
    plans = COMM.allgather(str(a.explain(columns)))
assert len(set(plans)) == 1, plans
print("well")

"""A program ends in the middle of a loop of all ranks, on one rank or on all: the others get an error, none hangs."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import numpy as np
from mpi4py import MPI

import swath

path, ending, prefetch = sys.argv[1], sys.argv[2], int(sys.argv[3])
comm = MPI.COMM_WORLD
SHAPE = (30, 8, 50)
if comm.rank == 0:
    np.zeros(SHAPE).tofile(path)
comm.barrier()
rows = swath.Distribution((swath.Block(), swath.Whole()), grid=(comm.size, 1))
a = swath.open(path, shape=SHAPE, dtype="<f8", comm=comm, mode="r+")
future: Any = a.read_async(rows, selection=3)
writer = a.writer(behind=2)
loop = a.iterate(rows, prefetch=prefetch)  # the loop lives until the interpreter ends
try:
    for i, _ in enumerate(loop):
        writer.write(np.zeros((8, 50))[np.ix_(*rows.indices(SHAPE[1:], comm.rank))], rows, selection=i)
        if i == 5 and (ending == "all" or comm.rank == comm.size - 1):
            print("well", flush=True)
            if ending == "killed":
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)
            sys.exit(0)
except swath.Error:
    assert ending != "all"
    print("well", flush=True)

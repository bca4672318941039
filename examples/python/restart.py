"""A restart: any number of ranks, each with a block of columns, reads the last record of a dump and appends the next.

mpiexec -n 3 python restart.py [FILE]     the file that dump.py has made
"""

import sys

import numpy as np
from mpi4py import MPI

import swath

comm = MPI.COMM_WORLD
path = sys.argv[1] if len(sys.argv) > 1 else "dump.nc4"
columns = swath.Distribution((swath.Whole(), swath.Block()), grid=(1, comm.size))

with swath.open_file(path, mode="r+", comm=comm) as file:
    time, t = file["time"], file["t"]
    records = t.shape[0]
    last = t.read(columns, selection=(records - 1, ...))
    mine = columns.indices(t.shape[1:], comm.rank)
    assert np.array_equal(last, np.broadcast_to(100 * (records - 1) + mine[0][:, np.newaxis], last.shape))
    time.append(0.5 * records)
    t.append(last + 100, columns)
    print(f"rank {comm.rank} of {comm.size}: {last.shape[1]} columns of record {records}", flush=True)

"""A rank waits in Swath for another rank, which waits for messages from the first: FOLDER, blocking or beside.

Rank 0 sends, then writes; rank 1 receives all messages before it writes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import swath

COMM = MPI.COMM_WORLD
folder, way = sys.argv[1:]
rows = swath.Distribution((swath.Block(),), grid=(COMM.size,))
values = np.arange(100.0)
mine = values[np.ix_(*rows.indices((100,), COMM.rank))]
message = np.zeros(4096, np.uint8)
sends = []

with swath.create(Path(folder, "a.raw"), 100, "<f8", comm=COMM) as a:
    a.write_async(mine, rows).result()  # the ranks already meet at the start of the first operation
    for _ in range(10000):
        if COMM.rank == 0:
            sends.append(COMM.Isend(message, 1))
        elif COMM.rank == 1:
            COMM.Recv(message, 0)
    if way == "blocking":
        a.write(mine, rows)
    else:
        a.write_async(mine, rows).result()
    MPI.Request.Waitall(sends)
    np.testing.assert_array_equal(a.read(rows), mine)
if COMM.rank == 0:
    print("well")

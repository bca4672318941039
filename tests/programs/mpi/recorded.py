"""Every rank records: python recorded.py PATH TOLD"""

from __future__ import annotations

import sys

from mpi4py import MPI

import swath

comm = MPI.COMM_WORLD
columns = swath.Distribution((swath.Whole(), swath.Block()), (1, comm.size))
with swath.open(sys.argv[1], comm=comm) as a, swath.recorded(a, path=sys.argv[2]) as done:
    a.read(columns)
    a[comm.rank]
assert sum(one.times for one in done.arrays[0].operations) == 1 + comm.size

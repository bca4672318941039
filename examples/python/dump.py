"""A simulation's dump: each rank has a block of rows, and appends it to a compressed file, a record a time step.

mpiexec -n 4 python dump.py [FILE]     the suffix names the format: .nc4, .nc3, .h5 or .zarr
"""

import sys

import numpy as np
from mpi4py import MPI

import swath

SHAPE = (90, 180)
STEPS = 3
comm = MPI.COMM_WORLD
path = sys.argv[1] if len(sys.argv) > 1 else "dump.nc4"
codecs = None if path.endswith(".nc3") else "zlib"
rows = swath.Distribution((swath.Block(), swath.Whole()), grid=(comm.size, 1))
mine, _ = rows.indices(SHAPE, comm.rank)
values = np.empty((len(mine), SHAPE[1]), "f4")

with swath.create_file(path, comm=comm, attributes={"title": "a dump"}, overwrite=True) as file:
    time = file.create("time", (None,), "f8", dimensions=("time",), attributes={"units": "s"})
    t = file.create("t", (None, *SHAPE), "f4", dimensions=("time", "y", "x"), codecs=codecs)
    for step in range(STEPS):
        time.append(0.5 * step)
        values[...] = 100 * step + mine[:, np.newaxis]
        t.append(values, rows)
if comm.rank == 0:
    print(f"{path}: {STEPS} records of {SHAPE[0]} x {SHAPE[1]}, by {comm.size} ranks")

"""All ranks transform a file together, in little memory.

mpiexec -n 3 python fft_ranks.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from mpi4py import MPI

import swath

folder = Path(sys.argv[1])
done = swath.rfftn(folder / "a.npy", folder / "b.npy", memory=150_000, comm=MPI.COMM_WORLD)
assert len(done.plan.passes) > 1
assert all(one.panels >= MPI.COMM_WORLD.size for one in done.plan.passes), "some rank had nothing to do"
try:
    swath.fftn(folder / "a.npy", folder / "b.npy", comm=MPI.COMM_WORLD)
except swath.ExistsError:
    pass
else:
    raise AssertionError("an existing file was replaced")

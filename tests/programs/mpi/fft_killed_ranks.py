"""All ranks transform a file together; each reports its process number, so that the test can kill one of them.

mpiexec -n 3 python fft_killed_ranks.py FOLDER
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mpi4py import MPI

import swath

folder, comm = Path(sys.argv[1]), MPI.COMM_WORLD
(folder / f"process.{comm.rank}.new").write_text(str(os.getpid()))
(folder / f"process.{comm.rank}.new").rename(folder / f"process.{comm.rank}")
comm.barrier()
swath.fftn(folder / "a.npy", folder / "data" / "b.npy", memory=1_000_000, overwrite=True, comm=comm)

"""A created array still exists when the ranks end: FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import swath

COMM = MPI.COMM_WORLD
D = swath.Distribution((swath.Block(),), grid=(COMM.size,))
kept = swath.create(Path(sys.argv[1], "a.npy"), 12, "f8", comm=COMM)
kept.write(np.ones(D.local_shape((12,), COMM.rank)), D)

"""Ranks write one interleaved view together by MPI-IO, and read it back one by one."""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

COUNT = 100
comm = MPI.COMM_WORLD
file = MPI.File.Open(comm, sys.argv[1], MPI.MODE_RDWR | MPI.MODE_CREATE)
every = MPI.INT.Create_vector(COUNT, 1, comm.size).Commit()
file.Set_view(4 * comm.rank, MPI.INT, every)
values = np.arange(COUNT, dtype="i4") + 1000 * comm.rank
file.Write_at_all(0, values)
found = np.empty_like(values)
file.Read_at(0, found)
assert np.array_equal(found, values)
file.Close()

"""A file whose name is not UTF-8, on real ranks: FOLDER."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from mpi4py import MPI

import swath

COMM = MPI.COMM_WORLD
D = swath.Distribution((swath.Block(),), grid=(COMM.size,))
VALUES = np.arange(10.0)
MINE = VALUES[np.ix_(*D.indices((10,), COMM.rank))]

for suffix in ("raw", "npy", "nc", "h5", "zarr"):
    path = os.path.join(os.fsencode(sys.argv[1]), b"\xff\xe4." + suffix.encode())
    with swath.create(path, 10, ">f8", comm=COMM) as a:
        a.write(MINE, D)
    with swath.open(path, comm=COMM, **({"shape": 10, "dtype": ">f8"} if suffix == "raw" else {})) as a:
        np.testing.assert_array_equal(a.read(D), MINE)
    with pytest.raises(swath.NotFoundError) as raised:
        swath.open(path + b"\xff", comm=COMM)
    assert os.fsdecode(path + b"\xff") in str(raised.value)
if COMM.rank == 0:
    print("well")

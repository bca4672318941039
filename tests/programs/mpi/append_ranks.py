"""Append records to a file, until the program is killed or the requested number is reached."""

from __future__ import annotations

import os
import sys

import numpy as np
from mpi4py import MPI

import swath

WIDTH = 37


def main(path: str, kind: str, records: int) -> None:
    comm = MPI.COMM_WORLD
    columns = swath.Distribution((swath.Block(),), grid=(comm.size,))
    planes = swath.Distribution((swath.Whole(), swath.Block()), grid=(1, comm.size))
    processes = comm.gather(os.getpid())
    if comm.rank == 0:
        print("processes", *processes, flush=True)
    own = columns.local_shape((WIDTH,), comm.rank)
    own_plane = planes.local_shape((3, WIDTH), comm.rank)
    if os.path.exists(path):
        f = swath.open_file(path, mode="r+", comm=comm)
    else:
        f = swath.create_file(path, format=kind, comm=comm)
        f.create("time", (None,), "f8", dimensions=("time",))
        f.create("t", (None, WIDTH), "f4", dimensions=("time", "x"), chunks=(2, 10) if "classic" not in kind else None)
        f.create("u", (None, 3, WIDTH), "i2", dimensions=("time", "z", "x"))
        f.sync()
    with f:
        for row in range(f["t"].shape[0], records):
            f["time"].append(float(row))
            f["t"].append(np.full(own, row, "f4"), columns)
            f["u"].append(np.full(own_plane, row, "i2"), planes)
            if comm.rank == 0:
                print(f"record {row}", flush=True)
            if row % 20 == 19:
                f.sync()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

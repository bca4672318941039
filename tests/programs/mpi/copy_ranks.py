"""Under mpiexec: copies by all ranks equal those of one process byte by byte; all ranks get each error.

mpiexec -n 4 python copy_ranks.py
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[2] / "helpers"))
import by_library
import swath

COPIES: list[tuple[str, dict[str, Any]]] = [
    ("b.npy", {"axes": (1, 0)}),
    ("b.bin", {"order": "F", "dtype": ">f4"}),
    ("b.h5", {"chunks": (50, 30)}),
    ("b.nc", {"format": "netcdf-classic"}),
]


def main() -> None:
    comm = MPI.COMM_WORLD
    copy = by_library.verified(swath.copy)
    shared: dict[str, Any] = {"comm": comm, "workers": comm.size}
    folder = comm.bcast(tempfile.mkdtemp() if comm.rank == 0 else None)
    source = os.path.join(folder, "a.npy")
    if comm.rank == 0:
        np.save(source, np.arange(301 * 203, dtype="<f8").reshape(301, 203))
    comm.Barrier()
    for name, options in COPIES:
        together, alone = os.path.join(folder, name), os.path.join(folder, f"alone-{name}")
        copy(source, together, memory=200_000 * comm.size, checkpoint_bytes=100_000, **shared, **options)
        if comm.rank == 0:
            copy(source, alone, memory=200_000, checkpoint_bytes=100_000, **options)
            with open(together, "rb") as a, open(alone, "rb") as b:
                assert a.read() == b.read(), name
        if name != "b.bin":
            assert swath.verify(source, together, axes=options.get("axes"), memory="1MiB", comm=comm)
    engine = "fault:write@3=EIO" if comm.rank == comm.size - 1 else "posix"
    try:
        swath.copy(source, os.path.join(folder, "c.npy"), order="F", memory=100_000, engine=engine, **shared)
    except swath.StoreError as error:
        told = comm.allgather(str(error))
        assert len(set(told)) == 1, told
        assert f"rank {comm.size - 1}" in told[0], told
    else:
        raise AssertionError("no error")
    comm.Barrier()
    if comm.rank == 0:
        assert not any("swath-copy" in left or left == "c.npy" for left in os.listdir(folder)), os.listdir(folder)
        shutil.rmtree(folder)
        print("the same bytes")


if __name__ == "__main__":
    try:
        main()
    except BaseException as error:
        print(f"rank {MPI.COMM_WORLD.rank}: {error!r}", file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1)
        raise

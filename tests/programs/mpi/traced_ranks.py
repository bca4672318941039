"""Ranks read and write in several ways; each writes a list of its operations, which is compared with the trace."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import swath

SHAPE = (12, 10)
RULES = {"block": swath.Block(), "cyclic": swath.Cyclic(1), "cyclic(3)": swath.Cyclic(3)}


def main(folder: Path, end: str) -> None:
    """Run the operations, and end as `end` says: "well", or "killed" by a signal a second later."""
    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
    values = np.arange(SHAPE[0] * SHAPE[1], dtype="i4").reshape(SHAPE)
    did: list[Any] = []
    with swath.create(folder / "x.npy", SHAPE, "i4", comm=comm, overwrite=True) as array:
        rows = swath.Distribution((swath.Block(), swath.Whole()), grid=(size, 1))
        mine = values[np.ix_(*rows.indices(SHAPE, rank))]
        array.write(mine, rows)
        did.append(["write", mine.nbytes, [list(mine.shape)]])
    with swath.open(folder / "x.npy", comm=comm) as array:
        for rule in RULES.values():
            columns = swath.Distribution((swath.Whole(), rule), grid=(1, size))
            found = array.read(columns)
            assert np.array_equal(found, values[np.ix_(*columns.indices(SHAPE, rank))])
            did.append(["read", found.nbytes, [list(found.shape)]])
        for _ in range(2):  # a repeated operation
            boxes = array.read(swath.Boxes([((rank, 0), (rank + 1, 3)), ((rank + 5, 2), (rank + 6, 9))]))
            did.append(["read", sum(box.nbytes for box in boxes), [list(box.shape) for box in boxes]])
        row = array[rank, ::3]
        assert np.array_equal(row, values[rank, ::3])
        did.append(["read", row.nbytes, [list(row.shape)]])
    (folder / f"did-{rank}").write_text(json.dumps(did))
    comm.Barrier()
    if end == "killed":
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

"""A CYCLIC(1) read of all ranks from Python, as `program/cyclic_read.c` does it from C; it prints the same lines."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from mpi4py import MPI

import swath
from swath_bench.measure import WrongDataError


def main(path: str, repetitions: int) -> None:
    """Read again and again; the first read does not count."""
    ranks = MPI.COMM_WORLD
    cyclic = swath.Distribution((swath.Cyclic(),), grid=(ranks.size,))
    with swath.open(path, comm=ranks) as array:
        expected = np.arange(ranks.rank, array.shape[0], ranks.size, dtype="f8")
        values = np.empty_like(expected)
        for repetition in range(repetitions + 1):
            values[:] = -1
            ranks.Barrier()
            begin = time.perf_counter()
            array.read(cyclic, out=values)
            seconds = ranks.allreduce(time.perf_counter() - begin, MPI.MAX)
            if not np.array_equal(values, expected):
                raise WrongDataError(f"rank {ranks.rank}: other elements")
            if ranks.rank == 0 and repetition > 0:
                print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

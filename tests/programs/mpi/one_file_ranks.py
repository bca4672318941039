"""Ranks write interleaved arrays of one open file at the same time; each prints its number of lost elements."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from mpi4py import MPI

import swath

comm = MPI.COMM_WORLD
lost = 0


def written(arrays: list[Any], rows: swath.Distribution, turn: int) -> list[Any]:
    """Write other values into all arrays, in one of several ways, and return this rank's values."""
    mine = rows.indices(arrays[0].shape, comm.rank)[0]
    values = [np.full(len(mine), 100.0 * turn + 10 * i + comm.rank) for i in range(len(arrays))]
    method = ("sieve", "direct", "list", "two-phase")[turn % 4]
    futures = [a.write_async(v, rows, method="sieve") for a, v in zip(arrays[:-1], values[:-1], strict=True)]
    arrays[-1].write(values[-1], rows, method=method)
    futures.append(arrays[0].write_async(values[0], rows, method=method))
    order = range(len(futures)) if comm.rank % 2 else reversed(range(len(futures)))
    for i in order:
        futures[i].result()
    return values


with swath.open_file(sys.argv[1], mode="r+", comm=comm, engine="model:xeon-eide") as file:
    arrays = [file[name] for name in "abc"]
    rows = swath.Distribution((swath.Cyclic(),), grid=(comm.size,))
    for turn in range(8):
        values = written(arrays, rows, turn)
        for a, v in zip(arrays, values, strict=True):
            lost += int((a.read(rows) != v).sum())
print(lost, flush=True)

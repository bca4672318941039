"""MPI ranks iterate over batches that are stored or computed again, and all get the error of one rank."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import swath

SIZES = [500 * (1 + batch % 4) for batch in range(30)]


def produce(batch: int) -> Any:
    return np.full(SIZES[batch], float(batch))


def fails(batch: int) -> Any:
    if batch == 11:
        raise ZeroDivisionError("eleven")
    return produce(batch)


def main(folder: str) -> None:
    comm = MPI.COMM_WORLD
    for disk in ("auto", 0.5, 1.0):
        with swath.Balanced(produce, SIZES, path=f"{folder}/b", disk=disk, memory=0, comm=comm) as balanced:
            for _ in range(3):
                mine = []
                for batch, values in balanced:
                    assert values.shape == (SIZES[batch],)
                    assert (values == batch).all()
                    mine.append(batch)
                everyone = sorted(batch for of_rank in comm.allgather(mine) for batch in of_rank)
                assert everyone == list(range(len(SIZES))), everyone
            shares = comm.allgather(balanced.plan.disk_share)
            assert len(set(shares)) == 1, shares
    with (
        pytest.raises((ZeroDivisionError, swath.Error), match="eleven"),
        swath.Balanced(fails, SIZES, path=f"{folder}/b", memory=0, comm=comm) as balanced,
    ):
        for _ in balanced:
            pass
    print("well", flush=True)


main(sys.argv[1])

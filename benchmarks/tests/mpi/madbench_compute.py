"""Compute mode of MADbench on these ranks, verified on the full matrices: gangs, blocks, ragged and empty rows."""

import os
import tempfile

import pytest
from mpi4py import MPI

from swath.ranks.ranks import ranks_of
from swath_bench.madbench import Options, algebra, run
from swath_bench.measure import WrongDataError

CASES = [
    {"pixels": 24, "bins": 4, "block": 4},
    {"pixels": 24, "bins": 4, "block": 32, "gangs": 2},
    {"pixels": 23, "bins": 5, "block": 3, "gangs": 2},
    {"pixels": 23, "bins": 5, "block": 5, "gangs": 4, "shared_file": True},
    {"pixels": 5, "bins": 2, "block": 2, "gangs": 4},
    {"pixels": 3, "bins": 1, "block": 1, "shared_file": True},
    {"pixels": 1, "bins": 3, "block": 1, "gangs": 2},
    {"pixels": 150, "bins": 3, "block": 16, "gangs": 2},
]


def main() -> None:
    comm = MPI.COMM_WORLD
    ranks = ranks_of(comm)
    folder = comm.bcast(tempfile.mkdtemp() if comm.rank == 0 else None)
    for case in CASES:
        asked = Options(tasks=comm.size, compute=True, verify=True, readers=("all",), **case)
        told = run(ranks, os.path.join(folder, "run"), asked)
        assert set(told["relative_errors"]) == {"inverse", "products"}, told
        assert len(told["traces"]) == case["bins"], told
        assert all(trace > 0 for trace in told["traces"]), told
    # The verification can also fail: here for an inverse with a small error in one element.
    honest = algebra.invert

    def wrong(matrix, dealt):
        honest(matrix, dealt)
        if dealt.ranks.rank == 1:
            matrix[0, 0] *= 1 + 1e-6

    algebra.invert = wrong
    asked = Options(tasks=comm.size, compute=True, verify=True, pixels=24, bins=2, block=4)
    with pytest.raises(WrongDataError, match="wrong results: relative errors beside NumPy"):
        run(ranks, os.path.join(folder, "run"), asked)
    comm.barrier()
    if comm.rank == 0:
        os.rmdir(folder)
        print(f"all verified: {len(CASES)}")


main()

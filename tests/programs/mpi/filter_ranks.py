"""Under mpiexec: filtered datasets of HDF5 and netCDF-4 are written by all ranks, and read by h5py and netCDF4.

mpiexec -n 4 python filter_ranks.py SEED CASES
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from mpi4py import MPI
from seeded import run_cases

from filter_cases import check_filtered_writes, make_filtered_case

comm = MPI.COMM_WORLD


def check(case: Any, seed: int, folder: Path) -> None:
    check_filtered_writes(case, folder / "a.h5", comm, comm.Barrier)


if __name__ == "__main__":
    run_cases(lambda seed: make_filtered_case(random.Random(seed), comm.size), check)

"""Under mpiexec: random places, different on each rank; every method reads and writes them, compared with NumPy.

mpiexec -n 4 python place_ranks.py SEED CASES
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from mpi4py import MPI
from seeded import run_cases

from cases import make_case, make_file
from place_cases import check_reads_of_places, check_writes_of_places

comm = MPI.COMM_WORLD


def check(case: Any, _seed: int, folder: Path) -> None:
    opened = comm.bcast(make_file(case, folder) if comm.rank == 0 else None)
    check_reads_of_places(case, opened, comm, comm.rank)
    check_writes_of_places(case, opened, comm, comm.rank, comm.rank == 0)


if __name__ == "__main__":
    run_cases(lambda seed: make_case(random.Random(seed), comm.size), check)

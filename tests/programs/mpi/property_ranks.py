"""Under mpiexec: random cases, the same on all ranks; every method reads and writes them, compared with NumPy.

mpiexec -n 4 python property_ranks.py SEED CASES
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from mpi4py import MPI
from seeded import run_cases

from cases import check_reads, check_redistribution, check_writes, make_case, make_file

comm = MPI.COMM_WORLD


def check(case: Any, seed: int, folder: Path) -> None:
    opened = comm.bcast(make_file(case, folder) if comm.rank == 0 else None)
    check_reads(case, opened, comm, comm.rank)
    check_writes(case, opened, comm, comm.rank, comm.Barrier, comm.rank == 0)
    check_redistribution(case, comm, comm.rank, random.Random(seed))


if __name__ == "__main__":
    run_cases(lambda seed: make_case(random.Random(seed), comm.size), check)

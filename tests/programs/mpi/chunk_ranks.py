"""Under mpiexec: random cases of coded chunks, the same on all ranks; reads and writes must agree with the plan.

mpiexec -n 4 python chunk_ranks.py SEED CASES
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from mpi4py import MPI
from seeded import run_cases

from chunk_cases import check_chunks, make_coded_case, make_coded_file

comm = MPI.COMM_WORLD


def check(case: Any, seed: int, folder: Path) -> None:
    path, values = comm.bcast(make_coded_file(case, folder) if comm.rank == 0 else None)
    check_chunks(case, path, values, comm)


if __name__ == "__main__":
    run_cases(lambda seed: make_coded_case(random.Random(seed), comm.size), check)

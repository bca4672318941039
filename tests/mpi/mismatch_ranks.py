"""Ranks whose arguments differ, on real ranks: FOLDER CASES."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parent.parent))

from mismatch_cases import check, files_in, make_case, make_files, outcome

COMM = MPI.COMM_WORLD
folder, cases = Path(sys.argv[1]), int(sys.argv[2])
if COMM.rank == 0:
    make_files(folder)
COMM.Barrier()
before = files_in(folder)
for seed in range(cases):
    case = make_case(random.Random(f"{COMM.size} {seed}"), COMM.size)
    outcomes = COMM.allgather(outcome(case, folder, COMM, COMM.rank))
    check(case, outcomes, before, folder)
    COMM.Barrier()
if COMM.rank == 0:
    print(f"{cases} mismatches")

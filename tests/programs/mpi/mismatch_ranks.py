"""Real ranks call with different arguments: FOLDER CASES."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[2] / "helpers"))

import swath
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
for variable, value in (("SWATH_ENGINE", "uring"), ("SWATH_STREAMS", "3")):
    if COMM.rank == COMM.size - 1:
        os.environ[variable] = value
    with pytest.raises(swath.DisagreementError, match=variable.removeprefix("SWATH_").lower()):
        swath.open(folder / "a.npy", comm=COMM)
    os.environ.pop(variable, None)
    swath.open(folder / "a.npy", comm=COMM).close()
if COMM.rank == 0:
    print(f"{cases} mismatches")

"""The common part of programs under mpiexec that check random cases, the same on all ranks: PROGRAM SEED CASES."""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[2] / "helpers"))


def run_cases(make_case: Callable[[int], Any], check: Callable[[Any, int, Path], None]) -> None:
    """Check the case of each seed, in a folder that all ranks see; an exception on one rank ends all ranks.

    `make_case(seed)` returns a case; `check(case, seed, folder)` raises an exception if the results are wrong.
    """
    try:
        _run_cases(make_case, check)
    except BaseException:  # noqa: BLE001 - after any exception the other ranks must not wait for this one
        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)


def _run_cases(make_case: Callable[[int], Any], check: Callable[[Any, int, Path], None]) -> None:
    comm = MPI.COMM_WORLD
    first_seed, cases = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as own:
        folder = Path(comm.bcast(own))
        for seed in range(first_seed, first_seed + cases):
            case = make_case(seed)
            of_seed = folder / str(seed)
            if comm.rank == 0:
                of_seed.mkdir()
            comm.Barrier()
            try:
                check(case, seed, of_seed)
            except BaseException:
                print(f"rank {comm.rank}: seed {seed}: {case}", file=sys.stderr, flush=True)
                raise
        comm.Barrier()  # no rank uses the folder any more
    if comm.rank == 0:
        print(f"{cases} cases on {comm.size} ranks: all right")

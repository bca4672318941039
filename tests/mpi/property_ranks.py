"""Under mpiexec: random cases, the same on all ranks, read and written by every method and compared with NumPy.

mpiexec -n 4 python tests/mpi/property_ranks.py SEED CASES
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parent.parent))
from cases import check_reads, check_redistribution, check_writes, make_case, make_file


def main() -> None:
    comm = MPI.COMM_WORLD
    first_seed, cases = int(sys.argv[1]), int(sys.argv[2])
    for seed in range(first_seed, first_seed + cases):
        rng = random.Random(seed)
        case = make_case(rng, comm.size)
        folder = comm.bcast(tempfile.mkdtemp() if comm.rank == 0 else None)
        opened = comm.bcast(make_file(case, Path(folder)) if comm.rank == 0 else None)
        try:
            check_reads(case, opened, comm, comm.rank)
            check_writes(case, opened, comm, comm.rank, comm.Barrier, comm.rank == 0)
            check_redistribution(case, comm, comm.rank, random.Random(seed))
        except BaseException:
            print(f"rank {comm.rank}: seed {seed}: {case}", file=sys.stderr, flush=True)
            raise
    if comm.rank == 0:
        print(f"{cases} cases on {comm.size} ranks: all right")


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001 - whatever it is, the other ranks must not wait for this one
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)

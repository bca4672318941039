"""Under mpiexec: random cases of coded chunks, the same on all ranks, read and written as planned.

mpiexec -n 4 python tests/mpi/chunk_ranks.py SEED CASES
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parent.parent))
from chunk_cases import check_chunks, make_coded_case, make_coded_file


def main() -> None:
    comm = MPI.COMM_WORLD
    first_seed, cases = int(sys.argv[1]), int(sys.argv[2])
    for seed in range(first_seed, first_seed + cases):
        case = make_coded_case(random.Random(seed), comm.size)
        folder = comm.bcast(tempfile.mkdtemp() if comm.rank == 0 else None)
        path, values = comm.bcast(make_coded_file(case, Path(folder)) if comm.rank == 0 else None)
        try:
            check_chunks(case, path, values, comm)
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

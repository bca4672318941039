"""Under mpiexec: filtered datasets of HDF5 and netCDF-4 are written by all ranks, and read by h5py and netCDF4.

mpiexec -n 4 python tests/mpi/filter_ranks.py SEED CASES
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parent.parent))
from filter_cases import check_filtered_writes, make_filtered_case


def main() -> None:
    comm = MPI.COMM_WORLD
    first_seed, cases = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as own:
        folder = Path(comm.bcast(own))
        for seed in range(first_seed, first_seed + cases):
            case = make_filtered_case(random.Random(seed), comm.size)
            try:
                check_filtered_writes(case, folder / f"{seed}.h5", comm, comm.Barrier)
            except BaseException:
                print(f"rank {comm.rank}: seed {seed}: {case}", file=sys.stderr, flush=True)
                raise
        comm.Barrier()
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

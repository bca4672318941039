"""Under mpiexec: every method reads and writes elements far apart, in files of more than 4 GiB.

mpiexec -n 3 python large_span_ranks.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[2] / "helpers"))
from large_spans import SPANS, check_boxes, check_span


def main() -> None:
    comm = MPI.COMM_WORLD
    path = Path(sys.argv[1], "a.dat")
    for span in SPANS:
        check_span(span, path, comm, comm.Barrier)
    check_boxes(path, comm, comm.Barrier)
    if comm.rank == 0:
        print("all right")


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001 - the other ranks must not wait for this one
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)

"""Under mpiexec: the random cases of property_ranks.py, in files of a Ceph pool striped in many ways.

SWATH_TEST_CEPH_CONF=… mpiexec -n 4 python rados_ranks.py SEED CASES
"""

from __future__ import annotations

import dataclasses
import random
import shutil
from pathlib import Path
from typing import Any

from mpi4py import MPI
from seeded import run_cases

import ceph
from cases import METHODS, check_reads, check_writes, make_case, make_file
from swath.base import stored_path
from swath.formats import new_in_store

STRIPES = ("65536,4,4194304", "13,3,39", "1,2,8", "1000,2,4000", "7,1,7000")
"""Most of them split elements."""

INNER = ("two-phase/list", "two-phase/datatype", "two-phase/sieve")

comm = MPI.COMM_WORLD


def check(case: Any, seed: int, folder: Path) -> None:
    opened: dict[str, Any] = {}
    if comm.rank == 0:
        rng = random.Random(seed)
        local = make_file(case, folder)
        path = ceph.name(
            f"ranks{folder}", stripe=rng.choice(STRIPES), **({} if rng.random() < 0.6 else {"class": "no"})
        )
        new_in_store.made(stored_path.of(path), lambda aside: shutil.copy(local["path"], aside))
        opened = {**local, "path": path}
    opened = comm.bcast(opened)
    case = dataclasses.replace(case, methods=(*METHODS, *INNER))
    check_reads(case, opened, comm, comm.rank)
    check_writes(case, opened, comm, comm.rank, comm.Barrier, comm.rank == 0)
    if comm.rank == 0:
        stored_path.of(opened["path"]).remove()


if __name__ == "__main__":
    run_cases(lambda seed: make_case(random.Random(seed), comm.size, layouts=("raw", "npy", "netcdf")), check)

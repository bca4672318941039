"""Runs a transform, and measures its peak memory: bytes above those before, on the rank with the largest number.

    [mpiexec -n 2] python fft_memory_program.py FOLDER NAME SHAPE DTYPE TARGET ARGUMENTS

SHAPE is JSON, and ARGUMENTS, those of the transform. Prints JSON.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

import swath
from memory_cases import status

SMALL = 1 << 22


def make(path: Path, shape: list[int], dtype: str, source: dict[str, Any]) -> None:
    """Make a file of ones without having it in memory."""
    with swath.create(path, shape, dtype, overwrite=True, **source) as a:
        rows = max((8 << 20) // (int(np.prod(shape[1:])) * np.dtype(dtype).itemsize), 1)
        chunk = (source.get("chunks") or [1])[0]
        rows = max(rows // chunk, 1) * chunk
        for row in range(0, shape[0], rows):
            a[row : row + rows] = np.ones((min(rows, shape[0] - row), *shape[1:]), dtype)


def main() -> None:
    """Measures one transform."""
    folder, name, shape, dtype, target = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), *sys.argv[4:6]
    how = json.loads(sys.argv[6])
    comm: Any = None
    if "PMI_RANK" in os.environ or "OMPI_COMM_WORLD_RANK" in os.environ:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    is_first = comm is None or comm.rank == 0
    source = how.pop("source", {})
    name_of_source = how.pop("source_name", "a.npy")
    transform = getattr(swath, name)
    small = f"small-{name_of_source}"
    if is_first:
        make(folder / name_of_source, shape, dtype, source)
        make(folder / small, [96 if len(shape) < 3 else 24] * len(shape), dtype, source)
    # Everything is loaded, and all code has run once, before the measurement.
    transform(folder / small, folder / f"small-{target}", comm=comm, **{**how, "memory": SMALL})
    gc.collect()
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now on
    done = transform(folder / name_of_source, folder / target, comm=comm, **how)
    peak, after = status("VmHWM") - before, status("VmRSS") - before
    told = {
        "peak": peak,
        "after": after,
        "planned": done.plan.memory_bytes,
        "passes": len(done.plan.passes),
        "moved": done.moved_bytes,
        "threads": threading.active_count(),
    }
    everyone = [told] if comm is None else comm.gather(told)
    if is_first:
        print(json.dumps({**told, "peak": max(one["peak"] for one in everyone)}))


if __name__ == "__main__":
    main()

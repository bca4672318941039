"""rechunker: copies a Zarr store into another through a third, in stages that it plans for its memory limit.

It does not move dimensions. For a transpose it makes chunks of whole columns in Fortran order: the bytes of each are
those of rows of the transposed array; only the shape in the target's metadata is the source's.
"""

from __future__ import annotations

from typing import Any

import answers
import zarr
from rechunker import rechunk

from .copying import Job, copying

TUNED_PART = 0.4
"""Part of the budget for `max_mem`: this bounds what a task reads; the chunks that it writes take further memory."""


def copy(job: Job) -> dict[str, Any]:
    """Copy with the budget as `max_mem` and dask's threads; tuned, with one task at a time, which gets more memory.

    The fewer tasks share the budget, the longer are the runs that each moves.
    """
    max_mem = round(job.memory * TUNED_PART) if job.tuned else job.memory
    executor = "python" if job.tuned else "dask"
    plan = rechunk(
        zarr.open(job.store, mode="r"),
        target_chunks=job.chunks[::-1] if job.transposed else job.chunks,
        max_mem=max_mem,
        target_store=job.target,
        target_options={"compressor": None, "order": "F" if job.transposed else "C"},
        temp_store=f"{job.scratch}/stage.zarr",
        temp_options={"compressor": None},
        executor=executor,
    )
    plan.execute()
    return {
        "hints": {"source": "Zarr, rows in chunks", "max_mem": max_mem, "executor": executor},
        "transposed": False,
    }


if __name__ == "__main__":
    answers.answer(copy=copying(copy))

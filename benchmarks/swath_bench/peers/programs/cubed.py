"""cubed: a plan with a bound on each task's memory, from a Zarr store into another, with stages between them."""

from __future__ import annotations

from typing import Any

import answers
import cubed
import cubed.array_api as xp

from .copying import Job, copying

RESERVED_BYTES = 1 << 20
"""Memory of a task besides its data. The interpreter is not counted: the budget excludes it."""


def copy(job: Job) -> dict[str, Any]:
    """Copy with cubed's default of 2 GB a task; tuned, with each thread's share of the budget, as its guide advises."""
    settings: dict[str, Any] = {"work_dir": job.scratch, "zarr_compressor": None}  # as all others
    if job.tuned:
        settings.update(
            allowed_mem=job.memory // job.workers,
            reserved_mem=RESERVED_BYTES,
            executor_name="threads",
            executor_options={"max_workers": job.workers},
        )
    with cubed.config.set({f"spec.{name}": value for name, value in settings.items()}):
        source = cubed.from_zarr(job.store)
        turned = xp.permute_dims(source, (1, 0)) if job.transposed else source
        cubed.to_zarr(turned.rechunk(job.chunks), job.target)
        allowed = cubed.config.get("spec.allowed_mem")
    del settings["work_dir"]
    return {"hints": {"source": "Zarr, rows in chunks", **settings, "allowed_mem": allowed}}


if __name__ == "__main__":
    answers.answer(copy=copying(copy))

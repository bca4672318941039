"""zarr-python: an array made from the mapped file, at once, or block by block."""

from __future__ import annotations

from typing import Any

import zarr

from .protocol import Job, in_memory, main

BLOCKS_PER_BUDGET = 3
"""A block is in memory, and its chunks on their way to their files."""


def made(job: Job) -> Any:
    """The target, for one who writes all chunks: without a look whether they are empty."""
    return zarr.create_array(
        job.target,
        shape=job.target_shape,
        dtype="<f8",
        chunks=job.chunks,
        compressors=None,
        config={"write_empty_chunks": True},
    )


def copy_with_defaults(job: Job) -> dict[str, Any]:
    """`create_array` with data: chunk by chunk, ten at a time."""
    zarr.create_array(job.target, data=job.mapped(), chunks=job.chunks, compressors=None)
    return {"hints": {"source": "the file, mapped", "async.concurrency": zarr.config.get("async.concurrency")}}


def copy_tuned(job: Job) -> dict[str, Any]:
    """Blocks brought into the target's order by NumPy; all chunks written, without a look whether they are empty."""
    settings = {"async.concurrency": 2 * job.workers, "threading.max_workers": job.workers}
    zarr.config.set(settings)
    target = made(job)
    source = job.mapped()
    for block in job.blocks(job.memory // BLOCKS_PER_BUDGET):
        target[block] = in_memory(source[block])
    return {
        "hints": {
            "source": "the file, mapped",
            "block": job.block_shape(job.memory // BLOCKS_PER_BUDGET),
            **settings,
            "write_empty_chunks": True,
        }
    }


if __name__ == "__main__":
    main(lambda job: copy_tuned(job) if job.tuned else copy_with_defaults(job))

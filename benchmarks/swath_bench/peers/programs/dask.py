"""dask.array: the mapped file as a chunked array, transposed, and stored by threads into a Zarr store."""

from __future__ import annotations

from typing import Any

import answers
import dask
import dask.array as da
import numpy as np
import zarr

from .copying import Floats, Job, copying, in_memory
from .zarr import made

BLOCKS_PER_WORKER = 3
"""A worker holds the block that it has read, and the chunks that it writes."""


def loaded(path: str, transposed: bool, block_info: Any = None) -> Floats:
    """Read a block, by a mapping of its own: `from_array` would copy all of a mapped array into memory."""
    source = np.load(path, mmap_mode="r")
    rows, columns = (slice(*ends) for ends in block_info[None]["array-location"])
    return in_memory((source.T if transposed else source)[rows, columns])


def copy_with_defaults(job: Job) -> dict[str, Any]:
    """Chunks as dask chooses them, rechunked to the target's, and `to_zarr`."""
    source = da.from_array(job.mapped())  # copies it
    source.rechunk(job.chunks).to_zarr(job.target, compressors=None)
    return {"hints": {"source": "the file, mapped", "blocks": source.chunksize, "scheduler": "threads"}}


def copy_tuned(job: Job) -> dict[str, Any]:
    """Copy blocks of whole chunks of the target, as large as the budget allows each thread, without rechunking."""
    nbytes = job.memory // (BLOCKS_PER_WORKER * job.workers)
    block = job.block_shape(nbytes)
    target = made(job)
    source = da.map_blocks(
        loaded,
        path=job.source,
        transposed=job.transposed,
        chunks=da.core.normalize_chunks(block, job.target_shape),
        dtype="<f8",
        meta=np.empty((0, 0)),
    )
    zarr_settings = {"async.concurrency": 1, "threading.max_workers": job.workers}
    with zarr.config.set(zarr_settings), dask.config.set(scheduler="threads", num_workers=job.workers):
        da.store(source, target, lock=False)
    return {
        "hints": {
            "source": "the file, mapped",
            "blocks": block,
            "scheduler": "threads",
            "num_workers": job.workers,
            "write_empty_chunks": True,
            **zarr_settings,
        }
    }


if __name__ == "__main__":
    answers.answer(copy=copying(lambda job: copy_tuned(job) if job.tuned else copy_with_defaults(job)))

"""TensorStore: a Zarr store of version 3, written at once, or block by block from the mapped file."""

from __future__ import annotations

from typing import Any

import tensorstore as ts

from .protocol import Job, in_memory, main

BLOCKS_PER_BUDGET = 4
"""Two blocks are under way, each as it was read, and as the chunks that are written of it."""


def _made(job: Job, context: Any) -> Any:
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{job.target}/"}}
    layout = ts.ChunkLayout(chunk_shape=job.chunks)
    return ts.open(
        spec, context=context, create=True, dtype=ts.float64, shape=job.target_shape, chunk_layout=layout
    ).result()


def copy_with_defaults(job: Job) -> dict[str, Any]:
    """One asynchronous write of a view of the other store: it reads each chunk once, and holds what it has read."""
    source = ts.open({"driver": "zarr", "kvstore": {"driver": "file", "path": f"{job.store}/"}}, read=True).result()
    target = _made(job, ts.Context())
    target.write(source.T if job.transposed else source).result()
    return {"hints": {"source": "Zarr, rows in chunks", "how": "one write of the whole array"}}


def copy_tuned(job: Job) -> dict[str, Any]:
    """Block by block, two under way; as many threads as cores, no cache, and no sync and no lock for each file.

    What is transposed is turned by NumPy: TensorStore's own copy from a transposed view takes half as long again.
    """
    context = {
        "cache_pool": {"total_bytes_limit": 0},
        "data_copy_concurrency": {"limit": job.workers},
        "file_io_concurrency": {"limit": max(2 * job.workers, 4)},
        "file_io_sync": False,  # all are synced at the end
        "file_io_locking": {"mode": "none"},
    }
    target = _made(job, ts.Context(context))
    source = job.mapped()
    nbytes = job.memory // BLOCKS_PER_BUDGET
    before = None
    for block in job.blocks(nbytes):
        values = in_memory(source[block]) if job.transposed else source[block]
        written = target[block].write(values, can_reference_source_data_indefinitely=True)
        if before is not None:
            before.result()
        before = written
    if before is not None:
        before.result()
    return {"hints": {"source": "the file, mapped", "block": job.block_shape(nbytes), "context": context}}


if __name__ == "__main__":
    main(lambda job: copy_tuned(job) if job.tuned else copy_with_defaults(job))

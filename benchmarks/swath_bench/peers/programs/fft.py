"""dask.array.fft, and cubed with numpy.fft on its blocks: along one axis, then the other, from a Zarr store into one.

A block has the full length of the transformed axis, so both re-chunk the array between the axes.
"""

from __future__ import annotations

import os
import time
from typing import Any

import answers
import memory_watch
import numpy as np

BLOCKS_PER_WORKER = 6
"""A worker holds the block that it has read, its transform, and the parts for other blocks."""


def dask_fft(request: dict[str, Any]) -> None:
    """Transform by threads, in blocks of which each worker may have some in the budget."""
    import dask
    import dask.array as da

    rows, columns = request["shape"]
    workers = request["workers"]
    lines = [max(request["memory"] // (BLOCKS_PER_WORKER * workers * 16 * n), 1) for n in (rows, columns)]

    def work() -> None:
        source = da.from_zarr(request["source"])
        across = da.fft.fft(source.rechunk((rows, lines[0])), axis=0)
        along = da.fft.fft(across.rechunk((lines[1], columns)), axis=1)
        # Zarr's chunks must have equal shapes; the last block may be shorter.
        along.to_zarr(request["target"], compressors=None)

    with dask.config.set(scheduler="threads", num_workers=workers):
        _measured(request, work)


def cubed_fft(request: dict[str, Any]) -> None:
    """Transform with each thread's share of the budget, as cubed's guide advises."""
    import cubed

    rows, columns = request["shape"]
    workers = request["workers"]
    allowed = request["memory"] // workers
    lines = [max(allowed // (BLOCKS_PER_WORKER * 2 * 16 * n), 1) for n in (rows, columns)]
    settings = {
        "spec.work_dir": request["scratch"],
        "spec.zarr_compressor": None,
        "spec.allowed_mem": allowed,
        "spec.reserved_mem": 1 << 20,
        "spec.executor_name": "threads",
        "spec.executor_options": {"max_workers": workers},
    }

    def work() -> None:
        source = cubed.from_zarr(request["source"])
        across = cubed.map_blocks(np.fft.fft, source.rechunk((rows, lines[0])), dtype="<c16", axis=0)
        along = cubed.map_blocks(np.fft.fft, across.rechunk((lines[1], columns)), dtype="<c16", axis=1)
        cubed.to_zarr(along, request["target"])

    with cubed.config.set(settings):
        _measured(request, work)


def _measured(request: dict[str, Any], work: Any) -> None:
    answers.keep(request["kept"], {"begun": True})
    with memory_watch.watched() as peak:
        begin = time.perf_counter()
        work()
        os.sync()
        seconds = time.perf_counter() - begin
    answers.keep(request["kept"], {"seconds": seconds, "peak_bytes": peak[0]})


if __name__ == "__main__":
    answers.answer(dask=dask_fft, cubed=cubed_fft)

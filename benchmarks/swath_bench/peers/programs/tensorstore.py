"""TensorStore: a store written at once, or block by block; regions of one; several requests at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import answers
import numpy as np
import tensorstore as ts

from . import reading, regions
from .copying import Job, copying, in_memory
from .regions import Pattern, Store, Values

BLOCKS_PER_BUDGET = 4
"""Two blocks are under way, each with the values that were read, and the chunks that are written."""


def _made(job: Job, context: Any) -> Any:
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{job.target}/"}}
    layout = ts.ChunkLayout(chunk_shape=job.chunks)
    return ts.open(
        spec, context=context, create=True, dtype=ts.float64, shape=job.target_shape, chunk_layout=layout
    ).result()


def copy_with_defaults(job: Job) -> dict[str, Any]:
    """Copy by one asynchronous write of a view of the other store: it reads each chunk once, and keeps the values."""
    source = ts.open({"driver": "zarr", "kvstore": {"driver": "file", "path": f"{job.store}/"}}, read=True).result()
    target = _made(job, ts.Context())
    target.write(source.T if job.transposed else source).result()
    return {"hints": {"source": "Zarr, rows in chunks", "how": "one write of the whole array"}}


def copy_tuned(job: Job) -> dict[str, Any]:
    """Block by block, two under way; as many threads as cores, no cache, and no sync and no lock for each file.

    NumPy transposes the blocks: TensorStore's own copy from a transposed view takes half as long again.
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


class TensorStoreFolder(Store):
    """TensorStore with chunks of whole rows, or with the chunks that it chooses; both without compression."""

    def __init__(self, path: str, *, defaults: bool, sync: bool) -> None:
        super().__init__(f"{path}/")
        self._defaults = defaults
        self._spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": self.path}}
        self._sync = sync

    def _open(self, **options: Any) -> Any:
        # Opened anew, so its caches are empty. TensorStore syncs its files only if the benchmark syncs.
        return ts.open(self._spec, context=ts.Context({"file_io_sync": self._sync}), **options).result()

    def create(self, pattern: Pattern) -> None:
        """Front to back."""
        layout = {}
        if not self._defaults:
            layout = {"chunk_layout": ts.ChunkLayout(chunk_shape=regions.chunks_of_rows(pattern))}
        array = self._open(create=True, delete_existing=True, dtype=ts.int64, shape=pattern.file_shape, **layout)
        for begin, end in pattern.pieces(0, pattern.file_shape[0]):
            array[begin:end].write(pattern.image(begin, end, self.stamp)).result()

    def opened(self) -> Any:
        """Return the array."""
        return self._open(open=True)

    def rows(self, pattern: Pattern, begin: int, end: int) -> Values:
        """Through an array of its own."""
        return np.asarray(self.opened()[begin:end].read().result())


class RegionsContender(regions.Contender):
    """One process, which has threads of its own; the ranks' selections at the same time."""

    store: TensorStoreFolder

    def open(self, pattern: Pattern) -> None:
        """Anew each time."""
        self._array = self.store.opened()

    def operation(self, pattern: Pattern, direction: str, memories: list[Values]) -> Callable[[], object]:
        """Move by strided views; values that are read are copied to their positions."""
        moves = [(self._array[place], memory) for place, memory in self.selections(pattern, memories)]

        def read() -> None:
            for (_, memory), found in zip(moves, [view.read() for view, _ in moves], strict=True):
                memory[...] = found.result()

        def write() -> None:
            with ts.Transaction() as transaction:  # ranks that share a chunk: it is read and written once
                for view, memory in moves:
                    view.with_transaction(transaction).write(memory).result()

        return read if direction == "read" else write

    def hints(self) -> dict[str, str]:
        """Return how it lies on the medium."""
        return {
            "chunks": str(self._array.chunk_layout.write_chunk.shape),
            "codec": str(self._array.codec and self._array.codec.to_json()),
        }


def contenders(_: regions.Ranks, request: dict[str, Any]) -> list[regions.Contender]:
    """With the library's defaults, and with smaller chunks."""
    sync = request["options"]["sync"]
    return regions.in_folders(
        request,
        "tensorstore",
        lambda path, defaults: TensorStoreFolder(path, defaults=defaults, sync=sync),
        RegionsContender,
    )


class ReadingContender(reading.Contender):
    """Its caches are empty: each opening has a new context, which keeps no chunks by default."""

    def open(self) -> None:
        """Anew."""
        self._array = ts.open(
            {
                "driver": "zarr" if self.version == 2 else "zarr3",
                "kvstore": {"driver": "file", "path": f"{self.path}/"},
            },
            context=ts.Context(self.settings.get("context", {})),
            open=True,
            read=True,
        ).result()

    def read(self, selections: Sequence[reading.Selection]) -> list[reading.Values]:
        """Request all selections together; tuned, in one batch, so shared chunks are read once."""
        views = [self._array[selection] for selection in selections]
        if self.settings.get("batch"):
            with ts.Batch() as batch:
                promised = [view.read(batch=batch) for view in views]
        else:
            promised = [view.read() for view in views]
        return [np.asarray(one.result()) for one in promised]

    def close(self) -> None:
        """Close the store and its mapped files."""
        del self._array


if __name__ == "__main__":
    answers.answer(
        copy=copying(lambda job: copy_tuned(job) if job.tuned else copy_with_defaults(job)),
        regions=regions.measuring(contenders),
        reads=reading.reading(ReadingContender),
    )

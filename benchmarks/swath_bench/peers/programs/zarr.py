"""zarr-python: a store made from the mapped file, at once, or block by block; regions of one, and reads.

Reads may go through the codecs of zarrs, as the configuration says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import answers
import numpy as np
import zarr

from . import reading, regions
from .copying import Job, copying, in_memory
from .regions import Pattern, Store, Values

BLOCKS_PER_BUDGET = 3
"""Memory holds a block, and the chunks that are being written."""


def made(job: Job) -> Any:
    """Return the target for writing all chunks, without a check for empty ones."""
    return zarr.create_array(
        job.target,
        shape=job.target_shape,
        dtype="<f8",
        chunks=job.chunks,
        compressors=None,
        config={"write_empty_chunks": True},
    )


def copy_with_defaults(job: Job) -> dict[str, Any]:
    """Call `create_array` with the data: chunk by chunk, ten at a time."""
    zarr.create_array(job.target, data=job.mapped(), chunks=job.chunks, compressors=None)
    return {"hints": {"source": "the file, mapped", "async.concurrency": zarr.config.get("async.concurrency")}}


def copy_tuned(job: Job) -> dict[str, Any]:
    """Copy blocks that NumPy brings into the target's order; all chunks are written, also empty ones."""
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


class ZarrFolder(Store):
    """zarr-python with uncompressed chunks of whole rows, or with the chunks that it chooses."""

    def __init__(self, path: str, *, defaults: bool) -> None:
        super().__init__(path)
        self._defaults = defaults

    def create(self, pattern: Pattern) -> None:
        """Front to back."""
        layout: dict[str, Any] = {}
        if not self._defaults:
            layout = {"chunks": regions.chunks_of_rows(pattern), "compressors": None}
        array = zarr.create_array(
            zarr.storage.LocalStore(self.path),
            shape=pattern.file_shape,
            dtype=regions.VALUE_DTYPE,
            overwrite=True,
            **layout,
        )
        for begin, end in pattern.pieces(0, pattern.file_shape[0]):
            array[begin:end] = pattern.image(begin, end, self.stamp)

    def opened(self) -> Any:
        """Return the array."""
        return zarr.open_array(zarr.storage.LocalStore(self.path), mode="r+")

    def rows(self, pattern: Pattern, begin: int, end: int) -> Values:
        """Through an array of its own."""
        return np.asarray(self.opened()[begin:end])


class RegionsContender(regions.Contender):
    """One process, rank after rank."""

    store: ZarrFolder

    def open(self, pattern: Pattern) -> None:
        """Anew each time."""
        self._array = self.store.opened()

    def operation(self, pattern: Pattern, direction: str, memories: list[Values]) -> Callable[[], object]:
        """Move by slices; values that are read are copied to their positions."""
        array = self._array
        selections = self.selections(pattern, memories)

        def read() -> None:
            for selection, memory in selections:
                memory[...] = array[selection]

        def write() -> None:
            for selection, memory in selections:
                array[selection] = memory

        return read if direction == "read" else write

    def hints(self) -> dict[str, str]:
        """Return how it lies on the medium."""
        return {"chunks": str(self._array.chunks), "compressors": str(self._array.compressors)}


def contenders(_: regions.Ranks, request: dict[str, Any]) -> list[regions.Contender]:
    """Return contenders with the library's defaults, and tuned."""
    return regions.in_folders(
        request, "zarr", lambda path, defaults: ZarrFolder(path, defaults=defaults), RegionsContender
    )


class ReadingContender(reading.Contender):
    """Several requests one after the other; tuned, by threads that each make one."""

    def __init__(self, path: str, version: int, settings: dict[str, Any]) -> None:
        super().__init__(path, version, settings)
        zarr.config.set(settings.get("config", {}))
        threads = settings.get("threads", 0)
        self._pool = ThreadPoolExecutor(threads) if threads else None

    def open(self) -> None:
        """Anew."""
        self._array = zarr.open_array(zarr.storage.LocalStore(self.path, read_only=True), mode="r")

    def read(self, selections: Sequence[reading.Selection]) -> list[reading.Values]:
        """Read by slices, also one row: zarrs refuses an index there."""
        return reading.read_each(self._read_one, selections, self._pool)

    def _read_one(self, selection: reading.Selection) -> reading.Values:
        slices = tuple(slice(part, part + 1) if isinstance(part, int) else part for part in selection)
        dropped = tuple(0 if isinstance(part, int) else slice(None) for part in selection)
        return np.asarray(self._array[slices])[dropped]


if __name__ == "__main__":
    answers.answer(
        copy=copying(lambda job: copy_tuned(job) if job.tuned else copy_with_defaults(job)),
        regions=regions.measuring(contenders),
        reads=reading.reading(ReadingContender),
    )

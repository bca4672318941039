"""The chunks of a task on disk, through Swath: a file for each task, or one for all."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from typing import Any

import swath
from swath.array.open_array import Array
from swath.base.stream_settings import Streams
from swath.ranks.ranks import Ranks
from swath.store.standalone import page_cache
from swath.throttle.throttle import Decision
from swath_bench.madbench.options import Options, streams_of
from swath_bench.madbench.problem import VALUE_BYTES, Values

DTYPE = "<f8"
READ_BYTES = 8 << 20
METHOD = "direct"
"""A chunk is contiguous: one request of its size, as the paper's "largest possible I/O request size"."""


class ChunkFiles:
    """This task's chunks. Every task opens its file independently: it waits for others only at the paper's barriers.

    In separate files a chunk is a bin of an array (bins, rows of the task, pixels); in the shared file, (bins, pixels,
    pixels), it is a range of rows of a bin. Tasks without rows have no file.

    Attributes:
        path: the path of this task's file.
    """

    def __init__(self, ranks: Ranks, path: str, options: Options) -> None:
        problem = options.problem
        self._ranks = ranks
        self._first, self._last = problem.rows(ranks.rank)
        self._shared = options.shared_file
        rows = problem.pixels if self._shared else self._last - self._first
        self._shape = (problem.bins, rows, problem.pixels)
        self._engine = f"model:{options.only_disk}@{disk_name(path)}" if options.virtual else None
        self._array: Array | None = None
        self.path = path if self._shared else f"{path}.{ranks.rank}"

    @property
    def chunk_bytes(self) -> int:
        """Return the bytes of this task's chunk."""
        return (self._last - self._first) * self._shape[2] * VALUE_BYTES

    def offset(self, number: int) -> int:
        """Return the offset in `path` of the chunk of bin `number`, in bytes."""
        rows = number * self._shape[1] + (self._first if self._shared else 0)
        return rows * self._shape[2] * VALUE_BYTES

    def create(self, writers: str) -> None:
        """Collective. Create the files, open for writing by this number of tasks at a time."""
        streams: Streams = {"read": None, "write": streams_of(writers)}
        if self._shared:
            if self._ranks.rank == 0:
                swath.create(self.path, self._shape, DTYPE, format="raw", atomic=False, overwrite=True).close()
            self._ranks.comm.barrier()
            if self.chunk_bytes:
                self._open("r+", streams)
        elif self.chunk_bytes:
            self._array = swath.create(
                self.path,
                self._shape,
                DTYPE,
                format="raw",
                atomic=False,
                overwrite=True,
                engine=self._engine,
                streams=streams,
            )

    def open(self, readers: str) -> None:
        """Open for reading by this number of tasks at a time."""
        if self.chunk_bytes:
            self._open("r", {"read": streams_of(readers)})

    def _open(self, mode: str, streams: Streams) -> None:
        self._array = swath.open(
            self.path,
            mode=mode,
            shape=self._shape,
            dtype=DTYPE,
            format="raw",
            engine=self._engine,
            streams=streams,
        )

    def write(self, number: int, chunk: Values) -> None:
        """The chunk of bin `number`."""
        if self._array is not None:
            self._array.write(chunk, selection=self._place(number), method=METHOD)

    def read(self, number: int, chunk: Values) -> None:
        """Read into `chunk`."""
        if self._array is not None:
            self._array.read(selection=self._place(number), out=chunk, method=METHOD)

    def _place(self, number: int) -> tuple[int, slice]:
        return (number, slice(self._first, self._last)) if self._shared else (number, slice(None))

    def sync(self) -> None:
        """Sync the writes to the medium."""
        if self._array is not None:
            self._array.sync()

    def decisions(self) -> list[dict[str, Any]]:
        """Return the throttle's decisions, with reasons, for the target of this task's open file."""
        status = None if self._array is None else self._array.streams
        return [] if status is None else [_as_plain(decision) for decision in status.decisions]

    def close(self) -> None:
        """Close the file."""
        array, self._array = self._array, None
        if array is not None:
            array.close()

    def prepare_cache(self, cache: str) -> tuple[int, int] | None:
        """Collective. Drop the file from the page cache, or load it; return the cached bytes, and the file's bytes.

        None if this task has no separate file, or the kernel does not report it; in virtual time nothing is done.
        """
        told = None
        if self._engine is None and self.chunk_bytes and not (self._shared and self._ranks.rank):
            with page_cache.opened(self.path) as fd:
                size = os.fstat(fd).st_size
                if cache == "cold":
                    page_cache.drop(fd)
                else:
                    for offset in range(0, size, READ_BYTES):
                        os.pread(fd, READ_BYTES, offset)
                cached = page_cache.cached_bytes(fd, size)
                told = None if cached is None else (cached, size)
        self._ranks.comm.barrier()
        return told

    def remove(self) -> None:
        """Collective. Close and remove the files, after all have closed."""
        self.close()
        self._ranks.comm.barrier()
        self.discard()

    def discard(self) -> None:
        """Close and remove this task's file, without waiting for the others."""
        self.close()
        if not self._shared or self._ranks.rank == 0:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)


def disk_name(path: str) -> str:
    """Return the disk name for a run in virtual time whose files are at `path`."""
    return os.path.basename(path)


def _as_plain(decision: Decision) -> dict[str, Any]:
    """For JSON: "seconds" of the task's clock, "limit" (None: no limit any more), "reason" with the evidence."""
    return {
        **dataclasses.asdict(decision),
        "seconds": decision.time,
        "limit": decision.to_limit or None,
        "reason": str(decision),
    }

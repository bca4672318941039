"""Other readers of the chunks: ROMIO and plain NumPy, compared with Swath on the same files."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from swath.ranks.ranks import Ranks
from swath.store.standalone import page_cache
from swath_bench.madbench.files import DTYPE, ChunkFiles
from swath_bench.madbench.options import ALL, AUTO, Options
from swath_bench.madbench.problem import Values
from swath_bench.madbench.records import cached_part, phase_record, sum_known
from swath_bench.madbench.running import Watch
from swath_bench.madbench.summary import PASSES, SWATH_AUTO
from swath_bench.measure import WrongDataError, say

__all__ = ["Options", "run"]

READ_PHASE = "invD"


class Reader(Protocol):
    """One way of reading this task's chunks."""

    def open(self) -> None:
        """Open this task's file."""
        ...

    def read(self, number: int, chunk: Values) -> None:
        """The chunk of bin `number`, into `chunk`."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class SwathReader:
    """Swath, with a limit of readers at a time."""

    def __init__(self, files: ChunkFiles, readers: str) -> None:
        self._files, self._readers = files, readers
        self.read, self.close = files.read, files.close

    def open(self) -> None:
        """See `Reader`."""
        self._files.open(self._readers)


class NumpyReader:
    """Plain `numpy.fromfile`."""

    def __init__(self, files: ChunkFiles) -> None:
        self._files = files

    def open(self) -> None:
        """See `Reader`."""

    def read(self, number: int, chunk: Values) -> None:
        """See `Reader`."""
        chunk[...] = np.fromfile(
            self._files.path, dtype=DTYPE, count=chunk.size, offset=self._files.offset(number)
        ).reshape(chunk.shape)

    def close(self) -> None:
        """See `Reader`."""


class RomioReader:
    """`MPI.File` of the installed MPI; each task opens its own file independently."""

    def __init__(self, files: ChunkFiles) -> None:
        self._files = files

    def open(self) -> None:
        """See `Reader`."""
        from mpi4py import MPI

        self._file = MPI.File.Open(MPI.COMM_SELF, self._files.path, MPI.MODE_RDONLY)

    def read(self, number: int, chunk: Values) -> None:
        """See `Reader`."""
        self._file.Read_at(self._files.offset(number), chunk)

    def close(self) -> None:
        """See `Reader`."""
        self._file.Close()


def run(ranks: Ranks, path: str, options: Options) -> dict[str, Any]:
    """Collective. Writes the chunks, then lets each contender read them all, in invD's steps; from a cold page cache.

    Raises WrongDataError if a contender reads wrong numbers.
    """
    files = ChunkFiles(ranks, path, options)
    contenders: dict[str, Reader] = {
        SWATH_AUTO: SwathReader(files, AUTO),
        "Swath, unthrottled": SwathReader(files, ALL),
        "Swath, 1 at a time": SwathReader(files, "1"),
    }
    if "romio" in options.peers:
        contenders["ROMIO, MPI.File.Read_at"] = RomioReader(files)
    if "numpy" in options.peers:
        contenders["NumPy, numpy.fromfile"] = NumpyReader(files)
    try:
        _write(ranks, files, options)
        found = {name: _read(ranks, files, options, name, reader) for name, reader in contenders.items()}
    except BaseException:
        files.discard()
        raise
    files.remove()
    problem = options.problem
    return {
        "disk": options.only_disk,
        "switch_to": None,
        "virtual": False,
        "tasks": options.tasks,
        "bins": options.bins,
        "cache": options.caches[0],
        "chunk_bytes": problem.matrix_bytes // options.tasks,
        "bytes": problem.matrix_bytes * options.bins,
        "contenders": found,
    }


def _write(ranks: Ranks, files: ChunkFiles, options: Options) -> None:
    say(ranks, "madbench: peers: writing")
    files.create(options.writers[0])
    for number in range(options.bins):
        files.write(number, options.problem.pattern(ranks.rank, number))
        ranks.comm.barrier()
    files.sync()
    files.close()
    ranks.comm.barrier()


def _read(ranks: Ranks, files: ChunkFiles, options: Options, name: str, reader: Reader) -> dict[str, Any]:
    """Read all chunks, once in each pass; the files are opened once."""
    say(ranks, f"madbench: peers: {name}")
    if files.chunk_bytes:
        reader.open()
    passes = {words: _read_all(ranks, files, options, name, reader) for words in PASSES}
    if files.chunk_bytes:
        reader.close()
    return passes


def _read_all(ranks: Ranks, files: ChunkFiles, options: Options, name: str, reader: Reader) -> dict[str, Any]:
    problem = options.problem
    first, last = problem.rows(ranks.rank)
    chunk = np.full((last - first, problem.pixels), np.nan)
    watch = Watch(ranks)
    cached = files.prepare_cache(options.caches[0])
    device_before = page_cache.device_bytes_read()
    for number in range(options.bins):

        def read(number: int = number) -> None:
            if files.chunk_bytes:
                reader.read(number, chunk)

        def check(number: int = number) -> None:
            if not np.array_equal(chunk, problem.pattern(ranks.rank, number)):
                raise WrongDataError(f"{name}: wrong data: task {ranks.rank}: {files.path}: bin {number}")
            chunk.fill(np.nan)

        watch.step(READ_PHASE, read, after=check)
    device_after = page_cache.device_bytes_read()
    known = device_before is not None and device_after is not None
    device = (device_after or 0) - (device_before or 0) if known else None
    told = ranks.gather_objects((watch.steps[READ_PHASE], cached, device))
    steps, cached_of, device_of = zip(*told, strict=True)
    return {
        **phase_record(steps, start=min(of_task[0][0] for of_task in steps)),
        "cached_before": cached_part(cached_of),
        "device_bytes_read": sum_known(device_of),
    }

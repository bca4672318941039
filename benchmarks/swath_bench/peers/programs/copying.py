"""The measurement of a copy, for `swath bench copy`. It needs NumPy and `swath_bench.standalone`, no Swath.

A program copies once, and leaves a line when it begins and one when it is done. The clock runs from opening the source
until every file and folder of the target is on the medium. Memory and bytes read from devices are counted as in
`swath_bench.copy_contenders`, those of child processes included.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import answers
import memory_watch
import numpy as np
import numpy.typing as npt
import page_cache

Floats = npt.NDArray[np.float64]
Slices = tuple[slice, slice]

VALUE_BYTES = 8
SYNCS_AT_ONCE = 16
TURNED_ROWS = 256
"""A transposed copy goes block by block: NumPy's own copy touches a new cache line for each element."""


@dataclasses.dataclass(frozen=True)
class Job:
    """One copy.

    Attributes:
        case: "transpose" or "tile".
        setting: "defaults" or "tuned".
        source: a .npy file.
        store: the same array as a Zarr store of version 2, some rows in a chunk.
        target: the Zarr store to make.
        scratch: a folder for intermediate files; it does not exist yet.
        kept: path of the answer's lines.
        shape: shape of the source.
        target_shape: shape of the target.
        chunks: chunks of the target.
        memory: the budget, in bytes.
        workers: number of cores.
    """

    case: str
    setting: str
    source: str
    store: str
    target: str
    scratch: str
    kept: str
    shape: tuple[int, int]
    target_shape: tuple[int, int]
    chunks: tuple[int, int]
    memory: int
    workers: int

    @property
    def tuned(self) -> bool:
        """Return whether the tuned setting is measured."""
        return self.setting == "tuned"

    @property
    def transposed(self) -> bool:
        """Return whether target[i, j] is source[j, i]."""
        return self.case == "transpose"

    def mapped(self) -> Floats:
        """Return the source file as the target's array: mapped into memory, not read."""
        source: Floats = np.load(self.source, mmap_mode="r")
        return source.T if self.transposed else source

    def block_shape(self, nbytes: int) -> tuple[int, int]:
        """Return the shape of as many whole chunks of the target as have `nbytes`; rows of chunks grow last."""
        along = max(nbytes // (self.chunks[0] * self.chunks[1] * VALUE_BYTES), 1)
        in_row = -(-self.target_shape[1] // self.chunks[1])
        width = min(along, in_row)
        height = min(along // width, -(-self.target_shape[0] // self.chunks[0]))
        return (
            min(height * self.chunks[0], self.target_shape[0]),
            min(width * self.chunks[1], self.target_shape[1]),
        )

    def blocks(self, nbytes: int) -> Iterator[Slices]:
        """The target in blocks of that shape, in its order."""
        shape = self.block_shape(nbytes)
        starts = (range(0, extent, step) for extent, step in zip(self.target_shape, shape, strict=True))
        for i, j in itertools.product(*starts):
            yield slice(i, min(i + shape[0], self.target_shape[0])), slice(j, min(j + shape[1], self.target_shape[1]))


Work = Callable[[Job], dict[str, Any]]
"""Makes the target; returns "hints", and "transposed": False if the target keeps the source's shape."""


def in_memory(block: Floats) -> Floats:
    """Return a block of a mapped file, transposed or not, as an array in C order."""
    if block.flags.c_contiguous:
        return np.array(block)
    made = np.empty(block.shape, block.dtype)
    for column in range(0, block.shape[1], TURNED_ROWS):
        made[:, column : column + TURNED_ROWS] = block[:, column : column + TURNED_ROWS]
    return made


def copying(work: Work) -> Callable[[dict[str, Any]], None]:
    """Return the job: one copy by `work`, measured."""

    def copy_once(asked: dict[str, Any]) -> None:
        told: dict[str, Any] = {field.name: asked[field.name] for field in dataclasses.fields(Job)}
        job = Job(**{**told, **{name: tuple(told[name]) for name in ("shape", "target_shape", "chunks")}})
        answers.keep(job.kept, measured(work, job))

    return copy_once


def measured(work: Work, job: Job) -> dict[str, Any]:
    """Return the figures of a copy from a cold cache, until its target is on the medium."""
    os.makedirs(job.scratch)
    for path in (job.source, *_files_and_folders(job.store)):
        with page_cache.opened(path) as fd:
            page_cache.drop(fd)
    answers.keep(job.kept, {"begun": True})  # a sign of life: the limit of time counts from here
    device = _device_bytes_read()
    with memory_watch.watched() as peak:
        begin = time.perf_counter()
        told = work(job)
        copied = time.perf_counter()
        _sync(job.target)
        end = time.perf_counter()
    after = _device_bytes_read()
    return {
        "seconds": end - begin,
        "sync_seconds": end - copied,
        "peak_bytes": peak[0],
        "device_bytes": None if device is None or after is None else after - device,
        "transposed": told.get("transposed", True),
        "hints": told["hints"],
    }


def _files_and_folders(path: str) -> list[str]:
    """Return `path` and everything below it; folders come after their contents."""
    return [
        os.path.join(folder, name)
        for folder, _, names in os.walk(path, topdown=False)
        for name in (*names, "")  # "": the folder itself
    ]


def _sync(target: str) -> None:
    """Sync several files at once: they share the journal's writes."""
    with concurrent.futures.ThreadPoolExecutor(SYNCS_AT_ONCE) as pool:
        list(pool.map(_sync_one, _files_and_folders(target)))


def _sync_one(path: str) -> None:
    with page_cache.opened(path) as fd:
        os.fsync(fd)


def _device_bytes_read() -> int | None:
    """Return the bytes for this process, its ended children (the kernel adds them to it), and its running ones."""
    own: int | None = page_cache.device_bytes_read()
    if own is None:
        return None
    for child in memory_watch.children(os.getpid()):
        with contextlib.suppress(OSError), open(f"/proc/{child}/io", encoding="ascii") as told:
            own += next(int(line.split()[1]) for line in told if line.startswith("read_bytes"))
    return own

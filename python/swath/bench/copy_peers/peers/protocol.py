"""What all peer programs share: how they are measured. NumPy and the standard library, no Swath.

A program reads a request, a JSON file that `running` writes, copies once, and leaves a line of JSON when it begins and
one when it is done. The clock runs from opening the source until every file and folder of the target is on the medium.
Memory and bytes read from devices are counted as in `swath.bench.copy_contenders`, those of child processes included.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import importlib.util
import itertools
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Slices = tuple[slice, slice]

VALUE_BYTES = 8
POLL_SECONDS = 0.005
POLLS_PER_LOOK = 20
"""After so many it is looked again which child processes there are. One counts from the second look on: until it runs a
program of its own, a new child has its parent's memory."""
SYNCS_AT_ONCE = 16
TURNED_ROWS = 256
"""A transposed copy goes block by block: NumPy's own walks through memory a line an element."""


@dataclasses.dataclass(frozen=True)
class Job:
    """One copy.

    Attributes:
        case: "transpose" or "tile".
        setting: "defaults" or "tuned".
        source: a .npy file.
        store: the same array as a Zarr store of version 2, some rows in a chunk.
        target: the Zarr store to make.
        scratch: a folder for what is not the target; it is not there yet.
        kept: where lines go.
        page_cache: the module of that name.
        shape: of the source.
        target_shape: of the target.
        chunks: of the target.
        memory: the budget, in bytes.
        workers: cores.
    """

    case: str
    setting: str
    source: str
    store: str
    target: str
    scratch: str
    kept: str
    page_cache: str
    shape: tuple[int, int]
    target_shape: tuple[int, int]
    chunks: tuple[int, int]
    memory: int
    workers: int

    @property
    def tuned(self) -> bool:
        """Whether it is not the defaults that are measured."""
        return self.setting == "tuned"

    @property
    def transposed(self) -> bool:
        """Whether target[i, j] is source[j, i]."""
        return self.case == "transpose"

    def mapped(self) -> Floats:
        """The file, as the target's array: mapped into memory, not read."""
        source: Floats = np.load(self.source, mmap_mode="r")
        return source.T if self.transposed else source

    def block_shape(self, nbytes: int) -> tuple[int, int]:
        """As many whole chunks of the target as have `nbytes`, at least one; rows of chunks grow last."""
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
"""Makes the target; returns "hints", and "transposed": False where the target has the source's shape all the same."""


def in_memory(block: Floats) -> Floats:
    """A block of a mapped file, turned or not, as an array in C order."""
    if block.flags.c_contiguous:
        return np.array(block)
    made = np.empty(block.shape, block.dtype)
    for column in range(0, block.shape[1], TURNED_ROWS):
        made[:, column : column + TURNED_ROWS] = block[:, column : column + TURNED_ROWS]
    return made


def main(work: Work) -> None:
    """The program: one copy, measured. What fails is said in a line, and by the exit status."""
    with open(sys.argv[1], encoding="utf-8") as file:
        asked = json.load(file)
    job = Job(**{**asked, **{name: tuple(asked[name]) for name in ("shape", "target_shape", "chunks")}})
    try:
        _keep(job, measured(work, job))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is why there is no measurement
        traceback.print_exc()
        _keep(job, {"failed": f"{type(error).__name__}: {error}"[:600]})
        sys.exit(1)


def measured(work: Work, job: Job) -> dict[str, Any]:
    """What a copy took, from a cold cache, until its target is on the medium."""
    os.makedirs(job.scratch)
    page_cache = _module_at(job.page_cache)
    for path in (job.source, *_files_and_folders(job.store)):
        _with_descriptor(path, page_cache.drop)
    _keep(job, {"begun": True})  # a sign of life: the limit of time counts from here
    device = _device_bytes_read(page_cache)
    with _watched_memory() as peak:
        begin = time.perf_counter()
        told = work(job)
        copied = time.perf_counter()
        _sync(job.target)
        end = time.perf_counter()
    after = _device_bytes_read(page_cache)
    return {
        "seconds": end - begin,
        "sync_seconds": end - copied,
        "peak_bytes": peak[0],
        "device_bytes": None if device is None or after is None else after - device,
        "transposed": told.get("transposed", True),
        "hints": told["hints"],
    }


def _keep(job: Job, line: dict[str, Any]) -> None:
    with open(job.kept, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _module_at(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("page_cache", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _files_and_folders(path: str) -> list[str]:
    """All below `path`, and itself; folders behind what is in them."""
    return [
        os.path.join(folder, name)
        for folder, _, names in os.walk(path, topdown=False)
        for name in (*names, "")  # "": the folder itself
    ]


def _with_descriptor(path: str, call: Callable[[int], object]) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        call(descriptor)
    finally:
        os.close(descriptor)


def _sync(target: str) -> None:
    """Several at once: they share the journal's writes."""
    with concurrent.futures.ThreadPoolExecutor(SYNCS_AT_ONCE) as pool:
        list(pool.map(lambda path: _with_descriptor(path, os.fsync), _files_and_folders(target)))


def _children(process: int) -> list[int]:
    """Of all its threads, and theirs in turn."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # it has ended meanwhile
        for thread in os.listdir(f"/proc/{process}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{process}/task/{thread}/children", "rb") as told:
                found += map(int, told.read().split())
    return [*found, *itertools.chain.from_iterable(map(_children, found))]


def _device_bytes_read(page_cache: Any) -> int | None:
    """Of this process, of its children that have ended (the kernel adds them to it), and of those that have not."""
    own: int | None = page_cache.device_bytes_read()
    if own is None:
        return None
    for child in _children(os.getpid()):
        with contextlib.suppress(OSError), open(f"/proc/{child}/io", encoding="ascii") as told:
            own += next(int(line.split()[1]) for line in told if line.startswith("read_bytes"))
    return own


def _own_bytes(processes: list[int]) -> int:
    """Anonymous and shared memory; page cache that is mapped does not count."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError), open(f"/proc/{process}/status", encoding="ascii") as told:
            fields = dict(line.split(":", 1) for line in told if line.startswith(("RssAnon", "RssShmem")))
            total += sum(int(value.split()[0]) * 1024 for value in fields.values())
    return total


@contextlib.contextmanager
def _watched_memory() -> Iterator[list[int]]:
    """One number: the most that all processes had above what this one has now, looked at every 5 ms."""
    own = os.getpid()
    idle = _own_bytes([own])
    peak = [0]
    ended = threading.Event()

    def watch() -> None:
        processes, seen = [own], set[int]()
        for poll in itertools.count():
            if poll % POLLS_PER_LOOK == 0:
                children = set(_children(own))
                processes, seen = [own, *(children & seen)], children
            peak[0] = max(peak[0], _own_bytes(processes) - idle)
            if ended.wait(POLL_SECONDS):
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        ended.set()
        watcher.join()

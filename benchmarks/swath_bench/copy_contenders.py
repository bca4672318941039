"""The contenders of `swath bench copy`: the floor, Swath, and NumPy loops written by hand for one case."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import swath
from swath.ranks.ranks import Ranks
from swath.store.standalone import page_cache
from swath_bench.measure import WrongDataError, say
from swath_bench.standalone import memory_watch

Shape = tuple[int, int]
Floats = npt.NDArray[np.float64]

FLOOR, SWATH = "read, write and sync", "Swath"
PANELS = {
    "NumPy, panels of columns": ("transpose",),
    "NumPy, panels of rows": ("transpose", "tile"),
}
"""Hand-written loops, with their case. Each uses half of the budget for a panel, half for its transposed copy."""
DTYPE = "<f8"
PIECE_BYTES = 8 << 20
TURNED_ROWS = 256
"""A strided copy of a panel goes block by block: NumPy's own copy touches a new cache line for each element."""


def execute(ranks: Ranks, folder: str, job: dict[str, Any], shape: Shape, chunk: int) -> dict[str, Any]:
    """Collective. One job, timed, its memory watched, and its result checked."""
    source = os.path.join(folder, "a.npy")
    if job["contender"] == "make":
        if ranks.rank == 0:
            _make(source, shape)
        return {"seconds": 0.0}
    say(ranks, f"copy: {job['case']}: {job['contender']}, {ranks.size} ranks, repetition {job['repetition']}")
    target = os.path.join(folder, "b" + {"tile": ".h5"}.get(job["case"], ".npy") if job["contender"] == SWATH else "b")
    if ranks.rank == 0:
        with page_cache.opened(source) as fd:
            page_cache.drop(fd)
    ranks.comm.barrier()
    work = _work_of(job, ranks, source, target, shape, chunk)
    device = page_cache.device_bytes_read()
    with memory_watch.watched() as peak:
        begin = time.perf_counter()
        told = work()
        seconds = time.perf_counter() - begin
    after = page_cache.device_bytes_read()
    own = {"peak": peak[0], "device": None if device is None or after is None else after - device}
    of_all = ranks.gather_objects(own)
    if ranks.rank == 0:
        if job["contender"] != FLOOR and job["repetition"] <= 1:
            _check(job, source, target, shape, chunk)
        os.unlink(target)
    ranks.comm.barrier()
    read = [one["device"] for one in of_all]
    return {
        "seconds": seconds,
        "peak_bytes": sum(one["peak"] for one in of_all),
        "device_bytes": None if None in read else sum(read),
        **told,
    }


def _work_of(
    job: dict[str, Any], ranks: Ranks, source: str, target: str, shape: Shape, chunk: int
) -> Callable[[], dict[str, Any]]:
    if job["contender"] == SWATH:
        return lambda: _swath(job, ranks, source, target, chunk)
    if job["contender"] == FLOOR:
        return lambda: _floor(source, target)
    if job["contender"] == "NumPy, panels of columns":
        return lambda: _columns(source, target, shape, job["memory"] // 2)
    if job["case"] == "tile":
        return lambda: _rows_into_tiles(source, target, shape, chunk)
    return lambda: _rows(source, target, shape, job["memory"] // 2)


def _swath(job: dict[str, Any], ranks: Ranks, source: str, target: str, chunk: int) -> dict[str, Any]:
    ways: dict[str, dict[str, Any]] = {
        "transpose": {"axes": (1, 0)},
        "tile": {"chunks": (chunk, chunk)},
        "convert": {"axes": (1, 0), "dtype": ">f4"},
    }
    how = ways[job["case"]]
    copied = swath.copy(source, target, memory=job["memory"], comm=ranks, **how)
    return {
        "sync_seconds": copied.sync_seconds,
        "predicted_seconds": copied.plan.seconds,
        "predicted_bytes": copied.plan.memory_bytes * copied.working_ranks,
        "plan": copied.plan.to_dict(),
    }


def _floor(source: str, target: str) -> dict[str, Any]:
    buffer = bytearray(PIECE_BYTES)
    begin = time.perf_counter()
    with open(source, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    read = time.perf_counter()
    with open(target, "wb", buffering=0) as file:
        left = os.path.getsize(source)
        while left > 0:
            left -= file.write(memoryview(buffer)[: min(left, len(buffer))])
        written = time.perf_counter()
        os.fsync(file.fileno())
    synced = time.perf_counter()
    return {"read_seconds": read - begin, "write_seconds": written - read, "sync_seconds": synced - written}


def _columns(source: str, target: str, shape: Shape, panel_bytes: int) -> dict[str, Any]:
    """Copy as many columns of the source as fit, which become rows of the target: short reads, one long write."""
    mapped = np.load(source, mmap_mode="r")
    width = max(panel_bytes // (shape[0] * mapped.itemsize), 1)
    panel = np.empty((width, shape[0]), DTYPE)
    with open(target, "wb", buffering=0) as file:
        for column in range(0, shape[1], width):
            now = panel[: min(width, shape[1] - column)]
            for row in range(0, shape[0], TURNED_ROWS):
                now[:, row : row + TURNED_ROWS] = mapped[row : row + TURNED_ROWS, column : column + len(now)].T
            _write_all(file, now)
        return _synced(file)


def _rows(source: str, target: str, shape: Shape, panel_bytes: int) -> dict[str, Any]:
    """Copy rows of the source, as many as fit: one long read, many short writes."""
    height = max(panel_bytes // (shape[1] * 8), 1)
    panel, turned = np.empty((height, shape[1]), DTYPE), np.empty((shape[1], height), DTYPE)
    row_bytes = shape[0] * 8
    with open(source, "rb", buffering=0) as file, open(target, "wb", buffering=0) as made:
        os.ftruncate(made.fileno(), shape[0] * shape[1] * 8)
        file.seek(os.path.getsize(source) - shape[0] * shape[1] * 8)
        for row in range(0, shape[0], height):
            count = min(height, shape[0] - row)
            _read_all(file, panel[:count])
            for column in range(0, shape[1], TURNED_ROWS):
                turned[column : column + TURNED_ROWS, :count] = panel[:count, column : column + TURNED_ROWS].T
            for column in range(shape[1]):
                os.pwrite(made.fileno(), turned[column, :count].data, column * row_bytes + row * 8)
        return _synced(made)


def _rows_into_tiles(source: str, target: str, shape: Shape, chunk: int) -> dict[str, Any]:
    """Copy a row of tiles by one long read and one long write: tiles follow each other, the last one is padded."""
    panel = np.zeros((chunk, shape[1]), DTYPE)
    tiles = np.empty((shape[1] // chunk, chunk, chunk), DTYPE)
    with open(source, "rb", buffering=0) as file, open(target, "wb", buffering=0) as made:
        file.seek(os.path.getsize(source) - shape[0] * shape[1] * 8)
        for row in range(0, shape[0], chunk):
            _read_all(file, panel[: min(chunk, shape[0] - row)])
            tiles[...] = panel.reshape(chunk, -1, chunk).transpose(1, 0, 2)
            _write_all(made, tiles)
        return _synced(made)


def _read_all(file: Any, values: Floats) -> None:
    left = values.reshape(-1).view(np.uint8).data
    while left:
        left = left[file.readinto(left) :]


def _write_all(file: Any, values: Floats) -> None:
    left = values.reshape(-1).view(np.uint8).data
    while left:
        left = left[file.write(left) :]


def _synced(file: Any) -> dict[str, Any]:
    begin = time.perf_counter()
    os.fsync(file.fileno())
    return {"sync_seconds": time.perf_counter() - begin}


def _make(path: str, shape: Shape) -> None:
    """Make and sync the source: element (i, j) is its own number in C order."""
    with swath.create(path, shape, DTYPE, overwrite=True) as a:
        step = max(PIECE_BYTES // (shape[1] * 8), 1)
        for row in range(0, shape[0], step):
            end = min(row + step, shape[0])
            values = np.arange(row * shape[1], end * shape[1], dtype=DTYPE)
            a.write(values.reshape(end - row, shape[1]), selection=np.s_[row:end])


def _check(job: dict[str, Any], source: str, target: str, shape: Shape, chunk: int) -> None:
    """Raise WrongDataError unless the target holds the right values."""
    if job["contender"] == SWATH:
        found = swath.verify(source, target, axes=None if job["case"] == "tile" else (1, 0))
        wrong = "" if found or (job["case"] == "convert" and _rounded(source, target)) else str(found)
    elif job["case"] == "tile":
        wrong = _wrong_tile(source, target, shape, chunk)
    else:
        with swath.open(target, shape=shape[::-1], dtype=DTYPE) as made:
            found = swath.verify(source, made, axes=(1, 0))
            wrong = "" if found else str(found)
    if wrong:
        raise WrongDataError(f"{job['contender']}: {job['case']}: {wrong}")


def _rounded(source: str, target: str) -> bool:
    """Return whether the target holds the source's values as 4-byte numbers."""
    a, b = np.load(source, mmap_mode="r"), np.load(target, mmap_mode="r")
    step = max(PIECE_BYTES // (a.shape[0] * 8), 1)
    return all(np.array_equal(a[:, j : j + step].T.astype("f4"), b[j : j + step]) for j in range(0, a.shape[1], step))


def _wrong_tile(source: str, target: str, shape: Shape, chunk: int) -> str:
    a = np.load(source, mmap_mode="r")
    tiles = np.memmap(target, DTYPE, "r").reshape(-1, shape[1] // chunk, chunk, chunk)
    for number, row in enumerate(range(0, shape[0], chunk)):
        expected = a[row : row + chunk]
        found = tiles[number].transpose(1, 0, 2).reshape(chunk, shape[1])[: len(expected)]
        if not np.array_equal(found, expected):
            return f"wrong values from row {row} on"
    return ""

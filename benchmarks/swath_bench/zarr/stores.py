"""The array, the stores that hold it, and which elements are read."""

from __future__ import annotations

import dataclasses
import itertools
import os
import shutil
from typing import Any

import numpy as np
import numpy.lib.format
import numpy.typing as npt

import swath
from swath_bench.zarr.options import Options

Values = npt.NDArray[np.float32]
Selection = list[int | list[int]]
"""For each dimension an index, or [start, stop, step]."""

DTYPE = "<f4"
CHUNKS_READ = 64
STEP = 7
"""The step shares no divisor with a chunk's length, a power of two: every chunk is read at other positions."""
SHARD_CHUNKS = 4
"""Along each dimension, where the array has as many."""
LEVELS = 32
"""Measured values are rounded to this fraction of a unit before they are compressed."""
BLOSC = {
    "name": "blosc",
    "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0},
}
CODECS: dict[str, list[Any]] = {
    "v3": [],
    "v3-zstd": ["zstd"],
    "v3-blosc": [BLOSC],
    "v3-sharded": ["zstd", "crc32c"],
    "v2-blosc": [BLOSC],
}


@dataclasses.dataclass(frozen=True)
class Store:
    """One store on the disk.

    Attributes:
        kind: one of `options.STORES`.
        path: the path of its folder.
        array: the file with the values that it holds, .npy.
        shape: its shape, in elements.
        chunks: the shape of a chunk.
        shards: the shape of a shard; None if each chunk is a file.
        files: the number of files.
        stored_bytes: the bytes of all files.
        cells: the reads of it: "store", "pattern", "cache", "bytes" of the elements, "selections".
    """

    kind: str
    path: str
    array: str
    shape: tuple[int, int]
    chunks: tuple[int, int]
    shards: tuple[int, int] | None
    files: int
    stored_bytes: int
    cells: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {k: v for k, v in dataclasses.asdict(self).items() if k not in ("path", "array", "cells")}


def make_array(options: Options, path: str) -> str:
    """Make the values: a smooth field and noise, rounded as measured values are. They compress to about a third.

    Returns the path, of an .npy file.
    """
    rows, columns = options.shape
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=options.shape)
    across = np.cos(np.arange(columns, dtype=np.float32) * np.float32(4 * np.pi / columns))
    for begin in range(0, rows, options.chunk):
        along = np.sin(np.arange(begin, begin + options.chunk, dtype=np.float32) * np.float32(6 * np.pi / rows))
        noise = np.random.default_rng((options.seed, begin)).standard_normal((options.chunk, columns), dtype=np.float32)
        field = np.float32(285) + 15 * along[:, None] * across + np.float32(0.25) * noise
        out[begin : begin + options.chunk] = np.round(field * LEVELS) / LEVELS
    out.flush()
    return path


def make_store(kind: str, options: Options, array: str, path: str) -> Store:
    """Return the store of that kind, written by Swath, on the medium."""
    chunks = (options.chunk, options.chunk)
    shards = None
    if kind == "v3-sharded":
        across, along = (min(SHARD_CHUNKS, n) for n in options.grid)
        shards = (across * options.chunk, along * options.chunk)
    values: Values = np.load(array, mmap_mode="r")
    rows = (shards or chunks)[0]
    shutil.rmtree(path, ignore_errors=True)
    form = "zarr:v2" if kind.startswith("v2") else "zarr"
    with swath.create(path, options.shape, DTYPE, chunks=chunks, shards=shards, codecs=CODECS[kind], format=form) as a:
        for begin in range(0, options.shape[0], rows):
            a[begin : begin + rows] = values[begin : begin + rows]
    sizes = [os.stat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(path) for name in names]
    return Store(kind, path, array, options.shape, chunks, shards, len(sizes), sum(sizes), cells_of(kind, options))


def cells_of(kind: str, options: Options) -> list[dict[str, Any]]:
    """Return the reads of one store."""
    cells = []
    for pattern, cache in itertools.product(options.patterns, options.caches):
        chosen = selections(pattern, options)
        size = sum(_elements(selection) for selection in chosen) * np.dtype(DTYPE).itemsize
        cells.append({"store": kind, "pattern": pattern, "cache": cache, "bytes": size, "selections": chosen})
    return cells


def selections(pattern: str, options: Options) -> list[Selection]:
    """Return which elements: one request each."""
    random = np.random.default_rng(options.seed)
    rows, columns = options.shape
    row, column = (int(random.integers(n)) for n in options.shape)
    if pattern == "chunks":
        numbers = random.permutation(options.grid[0] * options.grid[1])[:CHUNKS_READ]
        places = [
            (int(n) // options.grid[1] * options.chunk, int(n) % options.grid[1] * options.chunk) for n in numbers
        ]
        return [[[i, i + options.chunk, 1], [j, j + options.chunk, 1]] for i, j in places]
    single: dict[str, list[Selection]] = {
        "all": [[[0, rows, 1], [0, columns, 1]]],
        "row": [[row, [0, columns, 1]]],
        "column": [[[0, rows, 1], column]],
        "strided": [[[0, rows, STEP], [0, columns, STEP]]],
    }
    return single[pattern]


def _elements(selection: Selection) -> int:
    lengths = [1 if isinstance(part, int) else len(range(*part)) for part in selection]
    return int(np.prod(lengths, dtype=np.int64))

"""Sparse files with a few elements far apart: made, and checked byte for byte without a read of the holes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import swath
from cases import METHODS
from swath import Block, Boxes, Cyclic, Distribution, Whole

MARK = 24
"""Bytes of noise on both sides of every element: gaps that a wrong write would change."""


@dataclass(frozen=True)
class Span:
    """An array in a raw file of more than 4 GiB, and a few selected elements.

    Attributes:
        rules: the distribution of the selected array, one rule a dimension.
        divided: the dimension of the selected array that the ranks share.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    order: str
    offset: int
    selection: Any
    rules: tuple[Any, ...]
    divided: int

    def opened(self, path: Path) -> dict[str, Any]:
        """Return the arguments that open it."""
        return {"path": path, "shape": self.shape, "dtype": self.dtype, "order": self.order, "offset": self.offset}

    def indices(self) -> tuple[np.ndarray, ...]:
        """Return the array's indices of the selected elements, as an open mesh."""
        return np.ix_(*(np.arange(*s.indices(n)) for n, s in zip(self.shape, self.selection, strict=True)))

    def offsets(self) -> np.ndarray:
        """Return the file offset of each selected element, in the shape of the selection."""
        strides = np.ones(len(self.shape), np.int64) * np.dtype(self.dtype).itemsize
        dimensions = range(len(self.shape)) if self.order == "F" else range(len(self.shape))[::-1]
        for faster, d in zip(dimensions, [*dimensions][1:], strict=False):
            strides[d] = strides[faster] * self.shape[faster]
        return np.asarray(self.offset + sum(i * s for i, s in zip(self.indices(), strides, strict=True)))

    def size(self) -> int:
        """Return the bytes of the file, some of them after the array."""
        return self.offset + int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize + 77

    def distribution(self, ranks: int) -> Distribution:
        """Return a distribution of the ranks along one dimension."""
        return Distribution(self.rules, [ranks if d == self.divided else 1 for d in range(len(self.rules))])


SPANS = (
    Span("every millionth", (600_000_000,), "<f8", "C", 12, np.s_[::1000003,], (Cyclic(),), 0),
    Span("blocks of every millionth", (600_000_000,), ">f8", "C", 0, np.s_[::-1000003,], (Block(),), 0),
    Span("rows far apart", (70_001, 70_001), "u1", "C", 5, np.s_[5::6000, 60_000:60_400:3], (Whole(), Cyclic(7)), 1),
    Span("F order", (300, 50, 40_000), "<f8", "F", 128, np.s_[::60, 7:9, ::900], (Block(), Block(), Cyclic()), 2),
)  # fmt: skip


def new_values(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Return elements without a zero byte, so that a hole differs from each."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.random.default_rng(seed).integers(1, 256, count, dtype=np.uint8).view(dtype).reshape(shape)


def spread(offsets: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the position and the value of every byte of the elements, ascending."""
    places = (offsets.reshape(-1, 1) + np.arange(values.dtype.itemsize)).ravel()
    order = np.argsort(places)
    return places[order], np.ascontiguousarray(values).view(np.uint8).ravel()[order]


def make(span: Span, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Make the file with noise around every element; return the positions and values of all bytes that are not zero."""
    offsets = span.offsets()
    begins = np.maximum(offsets.ravel() - MARK, 0)
    places = np.unique((begins[:, None] + np.arange(2 * MARK + offsets.dtype.itemsize)).ravel())
    places = places[places < span.size()]
    bytes_ = new_values(places.shape, "u1", 0)
    with path.open("wb") as file:
        file.truncate(span.size())
        cuts = np.flatnonzero(np.diff(places) > 1) + 1
        for place, part in zip(np.split(places, cuts), np.split(bytes_, cuts), strict=True):
            os.pwrite(file.fileno(), part.tobytes(), int(place[0]))
    return places, bytes_


def data_extents(path: Path) -> list[tuple[int, int]]:
    """Return [begin, end) of all data, without the holes, as the file system reports them."""
    extents = []
    with path.open("rb") as file:
        end = 0
        size = file.seek(0, os.SEEK_END)
        while end < size:
            try:
                begin = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError:  # ENXIO: nothing but a hole from here on
                break
            end = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            extents.append((begin, end))
    return extents


def check_bytes(path: Path, size: int, places: np.ndarray, values: np.ndarray) -> None:
    """Check that the file has these bytes at these (ascending) positions, and zeros everywhere else."""
    assert path.stat().st_size == size
    found = 0
    with path.open("rb") as file:
        for begin, end in data_extents(path):
            low, high = np.searchsorted(places, [begin, end])
            expected = np.zeros(end - begin, np.uint8)
            expected[places[low:high] - begin] = values[low:high]
            now = np.frombuffer(os.pread(file.fileno(), end - begin, begin), np.uint8)
            wrong = np.flatnonzero(now != expected)
            assert not wrong.size, f"{path}: {wrong.size} wrong bytes, the first at {begin + wrong[0]}"
            found += high - low
    assert found == places.size, f"{path}: {places.size - found} bytes were never written"


def check_span(span: Span, path: Path, comm: Any, barrier: Callable[[], None]) -> None:
    """Check that every method reads the elements, and writes others in their place and nothing else. Collective."""
    ranks, rank = comm.size, comm.rank
    offsets = span.offsets()
    if rank == 0:
        places, bytes_ = make(span, path)
    barrier()
    d = span.distribution(ranks)
    mine = np.ix_(*d.indices(offsets.shape, rank))
    for seed, method in enumerate(METHODS, start=1):
        new = new_values(offsets.shape, span.dtype, seed)
        with swath.open(**span.opened(path), mode="r+", comm=comm) as a:
            a.write(new[mine], d, selection=span.selection, method=method)
        barrier()
        if rank == 0:
            element_places, element_bytes = spread(offsets, new)
            bytes_[np.searchsorted(places, element_places)] = element_bytes
            check_bytes(path, span.size(), places, bytes_)
        barrier()
        with swath.open(**span.opened(path), comm=comm) as a:
            for reader in METHODS if method == "two-phase" else (method,):
                got = a.read(d, selection=span.selection, method=reader)
                assert got.tobytes() == np.ascontiguousarray(new[mine]).tobytes(), (span.name, method, reader)
        barrier()


def check_boxes(path: Path, comm: Any, barrier: Callable[[], None]) -> None:
    """Check boxes at both ends of 4.8 GB and in the middle, distributed over the ranks. Collective."""
    n = 600_000_000
    boxes = [((k * (n // 9) + 3,), (k * (n // 9) + 3 + k,)) for k in range(9)] + [((n - 5,), (n,))]
    owned = [boxes[r :: comm.size] for r in range(comm.size)]
    values = {box: new_values((box[1][0] - box[0][0],), "<f8", box[0][0]) for box in boxes}
    for method in METHODS:
        if comm.rank == 0:
            path.unlink(missing_ok=True)
            with path.open("wb") as file:
                file.truncate(8 * n)
        barrier()
        mine = Boxes(owned[comm.rank])
        with swath.open(path, shape=n, dtype="<f8", mode="r+", comm=comm) as a:
            a.write([values[box] for box in mine.boxes], mine, method=method)
            for box, got in zip(mine.boxes, a.read(mine, method=method), strict=True):
                assert got.tobytes() == values[box].tobytes(), (method, box)
        barrier()
        if comm.rank == 0:
            parts = [spread(8 * np.arange(low[0], high[0]), values[low, high]) for low, high in boxes]
            check_bytes(path, 8 * n, *(np.concatenate(column) for column in zip(*parts, strict=True)))
        barrier()

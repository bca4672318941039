"""Requests of ranks in a file that is distributed in a known way: what a tracer would have seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Requests:
    """Requests in one file, and what is true of them.

    Attributes:
        name: of the distribution, as `Distribution.name` has it.
        ranks: how many there are.
        rank: of each request.
        offset: of each request.
        length: of each request.
    """

    name: str
    ranks: int
    rank: Numbers
    offset: Numbers
    length: Numbers

    def take(self, rows: Numbers) -> Requests:
        """Return some of them."""
        return Requests(self.name, self.ranks, self.rank[rows], self.offset[rows], self.length[rows])

    def owned(self, rank: int) -> set[int]:
        """Return the bytes of a rank."""
        mine = self.rank == rank
        pairs = zip(self.offset[mine].tolist(), self.length[mine].tolist(), strict=True)
        return {byte for low, length in pairs for byte in range(low, low + length)}


def of_bytes(name: str, owner: Numbers, base: int, stride: int = 1) -> Requests:
    """Return the requests for a file whose element i (of `stride` bytes) belongs to `owner[i]`, -1: to nobody."""
    change = np.flatnonzero(np.diff(owner)) + 1
    first = np.concatenate([[0], change])
    length = np.diff(np.append(first, len(owner)))
    rank = owner[first]
    is_owned = rank >= 0
    found = (rank, base + first * stride, length * stride)
    return Requests(name, int(owner.max()) + 1, *(one[is_owned] for one in found))


def block(random: np.random.Generator) -> Requests:
    ranks, base = int(random.integers(2, 9)), int(random.integers(0, 5000))
    count = int(random.integers(3 * ranks, 40 * ranks))
    size = -(-count // ranks)
    if (ranks - 1) * size >= count:
        count = ranks * size
    return of_bytes("block", np.arange(count) // size, base, int(random.integers(1, 50)))


def balanced_block(random: np.random.Generator) -> Requests:
    ranks, size = int(random.integers(2, 9)), int(random.integers(2, 40))
    sizes = size + (np.arange(ranks) < random.integers(0, ranks))
    return of_bytes("block", np.repeat(np.arange(ranks), sizes), int(random.integers(0, 99)), 8)


def cyclic(random: np.random.Generator) -> Requests:
    ranks, size = int(random.integers(2, 9)), int(random.integers(1, 20))
    count = int(random.integers(3 * ranks * size, 30 * ranks * size))
    return of_bytes("cyclic", np.arange(count) // size % ranks, int(random.integers(0, 999)), 8)


def tiles(random: np.random.Generator) -> Requests:
    """Of two or three axes, each cut into at least two blocks."""
    axes = int(random.integers(2, 4))
    parts = random.integers(2, 4, axes)
    sizes = random.integers(2, 7, axes)
    shape = parts * sizes - random.integers(0, 2, axes)
    index = np.indices(tuple(shape)) // sizes.reshape(-1, *[1] * axes)
    owner = np.ravel_multi_index(tuple(index), tuple(parts))
    return of_bytes("tiles", owner.reshape(-1), int(random.integers(0, 999)), 8)


def rows(random: np.random.Generator) -> Requests:
    """Columns of a matrix in unequal blocks over ranks: each row is a record."""
    ranks = int(random.integers(2, 6))
    sizes = random.choice(np.arange(2, 40), ranks, replace=False)
    owner = np.tile(np.repeat(np.arange(ranks), sizes), int(random.integers(6, 30)))
    return of_bytes("records", owner, int(random.integers(0, 999)), 8)


def btio(random: np.random.Generator) -> Requests:
    """NPB's multi-partition: rank r's cell 0 is at (r mod q, r div q, 0), the next one in x on, one in y back."""
    side = int(random.integers(2, 5))
    points = int(random.integers(2 * side, 5 * side))
    sizes = points // side + (np.arange(side) < points % side)
    begin = np.cumsum(sizes) - sizes
    owner = np.full((points, points, points), -1)
    for rank in range(side**2):
        x, y = rank % side, rank // side
        for z in range(side):
            inside = [slice(begin[one], begin[one] + sizes[one]) for one in (z, y, x)]
            assert (owner[tuple(inside)] == -1).all()
            owner[tuple(inside)] = rank
            x, y = (x + 1) % side, (y - 1) % side
    return of_bytes("multi-partition", owner.reshape(-1), int(random.integers(0, 999)), 40)


def flash(random: np.random.Generator) -> Requests:
    """FLASH's checkpoint: each variable has the blocks of all ranks, with guard cells around, or without."""
    ranks, variables, guards = int(random.integers(2, 6)), int(random.integers(6, 25)), int(random.integers(0, 3))
    inside = int(random.integers(3, 5))
    blocks = random.integers(2, 6, ranks)
    blocks[0] = blocks[1] + 1
    cells = np.full([inside + 2 * guards] * 2, -1)
    cells[guards : guards + inside, guards : guards + inside] = 0
    one = np.repeat(np.arange(ranks), blocks)[:, None] + np.where(cells.reshape(1, -1) < 0, -1000, 0)
    gap = np.full(int(random.integers(0, 300)), -1)
    variable = np.concatenate([np.maximum(one.reshape(-1), -1), gap])
    return of_bytes("records", np.tile(variable, variables), int(random.integers(0, 999)), 8)


GENERATORS = (block, balanced_block, cyclic, tiles, rows, btio, flash)


def split(of: Requests, random: np.random.Generator) -> Requests:
    """Return the same bytes in more requests, in any order."""
    pieces = random.integers(1, 4, len(of.rank))
    rows = np.repeat(np.arange(len(of.rank)), pieces)
    number = np.concatenate([np.arange(one) for one in pieces])
    begin, end = (of.length[rows] * place // pieces[rows] for place in (number, number + 1))
    order = random.permutation(len(rows))
    made = (of.rank[rows], of.offset[rows] + begin, end - begin)
    return Requests(of.name, of.ranks, *(one[order] for one in made))


def with_noise(of: Requests, random: np.random.Generator) -> Requests:
    """Return them with some small requests elsewhere: of a header, of any bytes."""
    count = max(1, len(of.rank) // 100)
    end = int((of.offset + of.length).max())
    offset = np.concatenate([[0], random.integers(0, end, count)])
    rank = np.concatenate([[0], random.integers(0, of.ranks, count)])
    length = np.minimum(random.integers(1, 9, count + 1), max(1, int(of.length.min())))
    parts = ((of.rank, rank), (of.offset, offset), (of.length, length))
    return Requests(of.name, of.ranks, *(np.concatenate(pair) for pair in parts))


def with_losses(of: Requests, random: np.random.Generator) -> Requests:
    """Return them without some."""
    lost = random.choice(len(of.rank), max(1, len(of.rank) // 20), replace=False)
    return of.take(np.setdiff1d(np.arange(len(of.rank)), lost))

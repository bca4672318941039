"""The linear algebra of compute mode: dense matrices, their rows dealt out in blocks among the ranks of a group.

No library for distributed dense matrices comes as a wheel (the bindings of ScaLAPACK need one that was built for the
installed MPI). With NumPy's kernels the code for MADbench is short: an inverse of a positive definite matrix by
block Gauss-Jordan elimination, which needs no pivoting there and keeps every rank busy to the end (2 N³ flops), and a
product by panels. In both each block of rows is broadcast once; a rank holds its rows and one panel.

Source of the matrices: Borrill, *MADCAP* (1999): dSdC_b(p, p') is the sum over the multipoles l of bin b of
(2 l + 1) / 4π P_l(cos of the angle between p and p'), symmetric positive semidefinite; D = N + sum of C_b dSdC_b.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.polynomial import legendre

from swath.ranks.ranks import Ranks
from swath_bench.madbench.problem import Values

MULTIPOLES = 2
"""The number of multipoles in a bin."""
FIRST_MULTIPOLE = 2
"""The monopole and the dipole are not estimated."""
NOISE_VARIANCE = 0.1
"""N is this times the identity: white noise."""


def directions(pixels: int, seed: int) -> Values:
    """Return the directions of the pixels: (pixels, 3) unit vectors, the same on every rank."""
    points = np.random.default_rng(seed).standard_normal((pixels, 3))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def signal_derivative(number: int, rows: slice, where: Values) -> Values:
    """Return rows of dSdC of bin `number`, (rows, pixels)."""
    first = FIRST_MULTIPOLE + number * MULTIPOLES
    weights = np.zeros(first + MULTIPOLES)
    for multipole in range(first, first + MULTIPOLES):
        weights[multipole] = (2 * multipole + 1) / (4 * math.pi)
    cosines = np.clip(where[rows] @ where.T, -1.0, 1.0)
    return np.asarray(legendre.legval(cosines, weights))


def power(number: int) -> float:
    """C_b: 2π / (l (l + 1)) at the middle of bin `number`, flat in the usual units."""
    middle = FIRST_MULTIPOLE + number * MULTIPOLES + (MULTIPOLES - 1) / 2
    return 2 * math.pi / (middle * (middle + 1))


class BlockCyclicRows:
    """Which rows a rank of a group has: blocks of `block` rows dealt out in turn, as `Cyclic(block)` does."""

    def __init__(self, ranks: Ranks, pixels: int, block: int) -> None:
        self.ranks = ranks
        self.pixels = pixels
        self.block = block
        self.rows = np.array([row for first, last in self._own() for row in range(first, last)], dtype=np.intp)

    def panels(self) -> Iterator[tuple[int, int, int, slice | None]]:
        """Yield every block: first row, end, owner, and its position on this rank (None: on another rank)."""
        place = 0
        for number, first in enumerate(range(0, self.pixels, self.block)):
            last = min(first + self.block, self.pixels)
            owner = number % self.ranks.size
            mine = owner == self.ranks.rank
            yield first, last, owner, slice(place, place + last - first) if mine else None
            place += last - first if mine else 0

    def _own(self) -> Iterator[tuple[int, int]]:
        return ((first, last) for first, last, owner, _ in self.panels() if owner == self.ranks.rank)

    def shared(self, panel: Values | None, owner: int, rows: int) -> Values:
        """Collective. The owner's panel, (rows, pixels), on every rank."""
        told = self.ranks.comm.broadcast(b"" if panel is None else panel.tobytes(), owner)
        return np.frombuffer(told, dtype=np.float64).reshape(rows, self.pixels)


def add_noise(matrix: Values, dealt: BlockCyclicRows) -> None:
    """Adds N to this rank's rows."""
    matrix[np.arange(dealt.rows.size), dealt.rows] += NOISE_VARIANCE


def invert(matrix: Values, dealt: BlockCyclicRows) -> None:
    """Collective. This rank's rows of a symmetric positive definite matrix become those of its inverse.

    After step k the matrix holds the inverse on the columns and rows 0 .. k, and the Schur complement beyond, which is
    positive definite too: hence its diagonal block can always be inverted.
    """
    for first, last, owner, place in dealt.panels():
        pivots = None if place is None else _pivot_rows(matrix[place], first, last)
        panel = dealt.shared(pivots, owner, last - first)
        factors = matrix[:, first:last].copy()
        if place is not None:
            factors[place] = 0  # its own rows become the panel
        matrix[:, first:last] = 0
        matrix -= factors @ panel
        if place is not None:
            matrix[place] = panel


def _pivot_rows(rows: Values, first: int, last: int) -> Values:
    inverse = np.linalg.inv(rows[:, first:last])
    scaled = inverse @ rows
    scaled[:, first:last] = inverse
    return np.asarray(scaled)


def multiply(left: Values, right: Values, dealt: BlockCyclicRows) -> Values:
    """Collective. This rank's rows of the product of two matrices, of both of which it has those rows."""
    product = np.zeros_like(left)
    for first, last, owner, place in dealt.panels():
        panel = dealt.shared(None if place is None else right[place], owner, last - first)
        product += left[:, first:last] @ panel
    return product

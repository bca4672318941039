"""The seven kernels of NASA7, each on arrays that stay on disk: panels are read, computed with, and written.

Source: Bailey and Barton, *The NAS Kernel Benchmark Program* (1985), which says what each kernel computes. A kernel
gets the disk, with arrays of `inputs`, and returns the array of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from disk import Disk, DiskArray

Arrays = Mapping[str, DiskArray]


def mxm(disk: Disk, of: Arrays) -> DiskArray:
    """The product of two matrices by panels of columns; all panels of A contribute to each panel of the result."""
    a, b = of["a"], of["b"]
    product = disk.new("product", (a.shape[0], b.shape[1]), cut=1)
    for columns in disk.cuts(b.shape[1]):
        panel = np.zeros((a.shape[0], columns.stop - columns.start))
        for inner, part in a.panels(1):
            panel += part @ b[inner, columns]
        product[:, columns] = panel
    return product


def cfft2d(disk: Disk, of: Arrays) -> DiskArray:
    """A complex Fourier transform: along columns from one file to another, then along the rows of that."""
    x = of["x"]
    between = disk.new("between", x.shape, cut=1, dtype="c16")  # columns are written, and rows are read ahead
    result = disk.new("transformed", x.shape, cut=0, dtype="c16")
    for columns, panel in x.panels(1):
        between[:, columns] = np.fft.fft(panel, axis=0)
    for rows, panel in between.panels(0):
        result[rows] = np.fft.fft(panel, axis=1)
    return result


def cholsky(disk: Disk, of: Arrays) -> DiskArray:
    """Cholesky decompositions of many band matrices, and the solutions for several right sides.

    `band[i, d, k]` is element (k, k - d) of matrix i, `right[i, r, k]` element k of its right side r.
    """
    band, right = of["band"], of["right"]
    solution = disk.new("solution", right.shape, cut=0)
    for (which, lower), (_, x) in zip(band.panels(0), right.panels(0), strict=True):
        matrices, width, order = lower.shape
        for k in range(order):
            for d in range(min(width - 1, k), -1, -1):  # elements (k, j) of the row, j = k - d
                j = k - d
                known = range(max(0, k - width + 1, j - width + 1), j)
                value = lower[:, d, k] - sum(
                    (lower[:, k - m, k] * lower[:, j - m, j] for m in known), np.zeros(matrices)
                )
                lower[:, d, k] = np.sqrt(value) if d == 0 else value / lower[:, 0, j]
        for k in range(order):
            for d in range(1, min(width - 1, k) + 1):
                x[:, :, k] -= lower[:, d, k, None] * x[:, :, k - d]
            x[:, :, k] /= lower[:, 0, k, None]
        for k in range(order - 1, -1, -1):
            for d in range(1, min(width - 1, order - 1 - k) + 1):
                x[:, :, k] -= lower[:, d, k + d, None] * x[:, :, k + d]
            x[:, :, k] /= lower[:, 0, k, None]
        solution[which] = x
    return solution


def btrix(disk: Disk, of: Arrays) -> DiskArray:
    """Block tridiagonal systems along the first dimension, with blocks of 5 x 5; panels along the second one.

    `below`, `at` and `above` are [j, k, row, column], `right` is [j, k, row].
    """
    right = of["right"]
    solution = disk.new("solution", right.shape, cut=1)
    for k, at in of["at"].panels(1):
        below, above, x = of["below"][:, k], of["above"][:, k], right[:, k]
        for j in range(len(at)):
            if j > 0:
                at[j] -= below[j] @ above[j - 1]
                x[j] -= (below[j] @ x[j - 1, ..., None])[..., 0]
            above[j] = np.linalg.solve(at[j], above[j])
            x[j] = np.linalg.solve(at[j], x[j, ..., None])[..., 0]
        for j in range(len(at) - 2, -1, -1):
            x[j] -= (above[j] @ x[j + 1, ..., None])[..., 0]
        solution[:, k] = x
    return solution


def gmtry(disk: Disk, of: Arrays) -> DiskArray:
    """The matrix of the influence of a wall's points on each other, and its Gaussian elimination.

    The matrix is computed and eliminated by panels of columns; each panel reads all panels before it ("left-looking").
    """
    wall, right = of["wall"][:], of["right"][:]
    n = len(wall)
    matrix = disk.new("matrix", (n, n), cut=1)
    for columns in disk.cuts(n):
        panel = influence(wall, columns)
        for before in disk.cuts(columns.start):
            done = matrix[:, before]
            for j in range(before.start, before.stop):
                panel[j + 1 :] -= np.outer(done[j + 1 :, j - before.start], panel[j])
        for j in range(columns.start, columns.stop):
            at = j - columns.start
            panel[j + 1 :, at] /= panel[j, at]
            panel[j + 1 :, at + 1 :] -= np.outer(panel[j + 1 :, at], panel[j, at + 1 :])
        matrix[:, columns] = panel
    solution = disk.new("solution", (n,), cut=0)
    for columns, panel in matrix.panels(1):
        for j in range(columns.start, columns.stop):
            right[j + 1 :] -= panel[j + 1 :, j - columns.start] * right[j]
    for columns in reversed(list(disk.cuts(n))):
        panel = matrix[:, columns]
        for j in range(columns.stop - 1, columns.start - 1, -1):
            right[j] /= panel[j, j - columns.start]
            right[:j] -= panel[:j, j - columns.start] * right[j]
    solution[:] = right
    return solution


def influence(wall: np.ndarray, columns: slice) -> np.ndarray:
    """Return columns of the matrix of logarithms of distances; the diagonal makes the elimination stable."""
    distance = np.abs(wall[:, None] - wall[None, columns])
    own = np.arange(len(wall))[:, None] == np.arange(len(wall))[None, columns]
    found: np.ndarray = np.where(own, 2.0 * len(wall), np.log(np.where(own, 1.0, distance)))
    return found


def emit(disk: Disk, of: Arrays) -> DiskArray:
    """The potential of vortices at the points of a wall, by panels of points; all vortices contribute to each panel."""
    wall, vortices, strengths = of["wall"], of["vortices"], of["strengths"]
    potential = disk.new("potential", wall.shape, cut=0, dtype="c16")
    for points, panel in wall.panels(0):
        total = np.zeros(len(panel), complex)
        for others, places in vortices.panels(0):
            total += np.log(panel[:, None] - places[None]) @ strengths[others]
        potential[points] = total / (2j * np.pi)
    return potential


def vpenta(disk: Disk, of: Arrays) -> DiskArray:
    """Pentadiagonal systems along the first dimension, for three right sides; panels along the second one.

    `diagonals` is [5, j, k], from the lowest to the highest, `right` is [j, k, 3].
    """
    diagonals, right = of["diagonals"], of["right"]
    solution = disk.new("solution", right.shape, cut=1)
    for k, of_all in diagonals.panels(2):
        a, b, c, d, e = of_all
        x = right[:, k]
        n = len(c)
        for j in range(n):
            if j > 1:
                b[j] -= a[j] * d[j - 2]
                c[j] -= a[j] * e[j - 2]
                x[j] -= a[j, :, None] * x[j - 2]
            if j > 0:
                c[j] -= b[j] * d[j - 1]
                d[j] -= b[j] * e[j - 1]
                x[j] -= b[j, :, None] * x[j - 1]
            d[j] /= c[j]
            e[j] /= c[j]
            x[j] /= c[j, :, None]
        for j in range(n - 2, -1, -1):
            x[j] -= d[j, :, None] * x[j + 1]
            if j < n - 2:
                x[j] -= e[j, :, None] * x[j + 2]
        solution[:, k] = x
    return solution


KERNELS: dict[str, Callable[[Disk, Arrays], DiskArray]] = {
    each.__name__: each for each in (mxm, cfft2d, cholsky, btrix, gmtry, emit, vpenta)
}

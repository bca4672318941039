"""The inputs of the kernels, of any size, and their results by NumPy in memory."""

from __future__ import annotations

import numpy as np

from kernels import influence

Values = dict[str, np.ndarray]

CUT = {"a": 1, "b": 1, "x": 1, "below": 1, "at": 1, "above": 1, "diagonals": 2}
"""The dimension that panels of an input divide. It is 1 for the right sides of btrix and vpenta, 0 for others."""


def inputs(kernel: str, n: int) -> Values:
    """Return the input arrays of a kernel; `n` is the size on which their dimensions depend."""
    random = np.random.default_rng(7)
    if kernel == "mxm":
        return {"a": random.random((n, n)), "b": random.random((n, n))}
    if kernel == "cfft2d":
        return {"x": random.random((n, n)) + 1j * random.random((n, n))}
    if kernel == "cholsky":
        band = random.random((8 * n, 5, 41))
        band[:, 0] += 10  # a dominant diagonal makes it positive definite
        return {"band": band, "right": random.random((8 * n, 4, 41))}
    if kernel == "btrix":
        at = random.random((30, n, 5, 5)) + 20 * np.eye(5)
        return {
            "below": random.random(at.shape),
            "at": at,
            "above": random.random(at.shape),
            "right": at[..., 0].copy(),
        }
    if kernel == "gmtry":
        return {"wall": np.exp(2j * np.pi * np.arange(n) / n) * 3, "right": random.random(n)}
    if kernel == "emit":
        vortices = 4 + random.random(4 * n) + 1j * random.random(4 * n)
        return {
            "wall": np.exp(2j * np.pi * np.arange(n) / n),
            "vortices": vortices,
            "strengths": random.random(4 * n) + 0j,
        }
    diagonals = random.random((5, 128, n))
    diagonals[2] += 10
    return {"diagonals": diagonals, "right": random.random((128, n, 3))}


def cut_of(kernel: str, name: str) -> int:
    """Return the dimension of an input that panels divide."""
    return 1 if name == "right" and kernel in ("btrix", "vpenta") else CUT.get(name, 0)


def reference(kernel: str, of: Values) -> np.ndarray:
    """Return the result of NumPy in memory, from full matrices."""
    if kernel == "mxm":
        return of["a"] @ of["b"]
    if kernel == "cfft2d":
        return np.fft.fft2(of["x"])
    if kernel == "cholsky":
        return np.linalg.solve(_full(of["band"]), of["right"].swapaxes(1, 2)).swapaxes(1, 2)
    if kernel == "btrix":
        return _block_tridiagonal(of)
    if kernel == "gmtry":
        return np.linalg.solve(influence(of["wall"], slice(0, len(of["wall"]))), of["right"])
    if kernel == "emit":
        return np.log(of["wall"][:, None] - of["vortices"]) @ of["strengths"] / (2j * np.pi)
    return _pentadiagonal(of)


def _full(band: np.ndarray) -> np.ndarray:
    count, width, order = band.shape
    full = np.zeros((count, order, order))
    for d in range(width):
        k = np.arange(d, order)
        full[:, k, k - d] = full[:, k - d, k] = band[:, d, d:]
    return full


def _block_tridiagonal(of: Values) -> np.ndarray:
    length, systems, size = of["right"].shape
    full = np.zeros((systems, length, size, length, size))
    for j in range(length):
        full[:, j, :, j] = of["at"][j]
        if j > 0:
            full[:, j, :, j - 1] = of["below"][j]
            full[:, j - 1, :, j] = of["above"][j - 1]
    full = full.reshape(systems, length * size, length * size)
    right = of["right"].swapaxes(0, 1).reshape(systems, length * size, 1)
    return np.linalg.solve(full, right).reshape(systems, length, size).swapaxes(0, 1)


def _pentadiagonal(of: Values) -> np.ndarray:
    _, length, systems = of["diagonals"].shape
    full = np.zeros((systems, length, length))
    for diagonal, offset in enumerate(range(-2, 3)):
        j = np.arange(max(0, -offset), min(length, length - offset))
        full[:, j, j + offset] = of["diagonals"][diagonal, j].T
    return np.linalg.solve(full, of["right"].swapaxes(0, 1)).swapaxes(0, 1)

"""Convergence acceleration: direct inversion in the iterative subspace."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

REMEMBERED_MAX = 8


class Diis:
    """Extrapolates Fock matrices so that their errors, F D S − S D F, cancel (Pulay, J. Comput. Chem. 3, 556, 1982)."""

    def __init__(self) -> None:
        self._focks: list[Matrix] = []
        self._errors: list[Matrix] = []

    def extrapolate(self, fock: Matrix, error: Matrix) -> Matrix:
        """The combination of the Fock matrices so far whose combined error is smallest; `error` is of `fock`."""
        self._focks = [*self._focks, fock][-REMEMBERED_MAX:]
        self._errors = [*self._errors, error][-REMEMBERED_MAX:]
        weights = _weights(self._errors)
        combined: Matrix = np.tensordot(weights, np.array(self._focks), axes=1)
        return combined


def _weights(errors: list[Matrix]) -> npt.NDArray[np.float64]:
    """Weights of sum 1 that minimise the norm of the weighted sum of the errors."""
    count = len(errors)
    flat = np.array(errors).reshape(count, -1)
    products = flat @ flat.T
    scale = products.diagonal().max() or 1.0  # near convergence the products are tiny; the border has ones
    system = np.ones((count + 1, count + 1))
    system[:count, :count] = products / scale
    system[count, count] = 0.0
    right = np.zeros(count + 1)
    right[count] = 1.0
    return np.asarray(np.linalg.lstsq(system, right, rcond=None)[0][:count], dtype=np.float64)

"""The Roothaan equations of a closed shell, F C = S C ε: orbitals, density, energy, error."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


class Roothaan:
    """One molecule's equations; terms of its overlap matrix S are computed once.

    Args:
        core: the core Hamiltonian h, N × N, Hartree.
        overlap: S, N × N.
        electrons: their even number.
    """

    def __init__(self, core: Matrix, overlap: Matrix, electrons: int) -> None:
        self._core, self._overlap = core, overlap
        self._occupied = electrons // 2
        values, vectors = np.linalg.eigh(overlap)
        self._orthogonal = vectors / np.sqrt(values) @ vectors.T  # S^(-1/2)

    def density(self, fock: Matrix) -> Matrix:
        """Return the density of the lowest orbitals of a Fock matrix, two electrons in each."""
        _, vectors = np.linalg.eigh(self._orthogonal @ fock @ self._orthogonal)
        occupied = self._orthogonal @ vectors[:, : self._occupied]
        matrix: Matrix = 2 * occupied @ occupied.T
        return matrix

    def energy(self, density: Matrix, fock: Matrix) -> float:
        """Return the energy of the electrons, Hartree; `fock` belongs to this density."""
        return float(np.sum(density * (self._core + fock)) / 2)

    def error(self, density: Matrix, fock: Matrix) -> Matrix:
        """Return F D S − S D F between orthogonal functions: zero if the density is that of the Fock matrix."""
        product = fock @ density @ self._overlap
        error: Matrix = self._orthogonal @ (product - product.T) @ self._orthogonal
        return error

"""The Fock matrix of a closed shell: the interaction of the electrons, batch by batch.

F = h + G, G = J − K / 2, J_ij = Σ_kl (ij|kl) D_kl, K_ik = Σ_jl (ij|kl) D_jl, where D is the density matrix, twice the
sum over the occupied orbitals (Szabo, Ostlund, *Modern Quantum Chemistry*, section 3.4). A batch stands for up to
eight, so it adds to six parts of G: two by J, four by K. The transposes of these parts are added at the end.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from batches import Batch, Integrals

Matrix = npt.NDArray[np.float64]


def add_batch(half: Matrix, density: Matrix, batch: Batch, integrals: Integrals) -> None:
    """Add the contribution of a batch to `half`, where `half + half.T` is G."""
    i, j, k, l = (block.functions for block in batch)  # noqa: E741
    ni, nj, nk, nl = batch.shape
    # Eight batches have equal numbers of J_ij and J_ji, and of (kl) and (lk); the transpose adds half of them.
    coulomb, exchange = batch.degeneracy / 4, batch.degeneracy / 16
    pairs = integrals.reshape(ni * nj, nk * nl)
    half[i, j] += coulomb * (pairs @ density[k, l].ravel()).reshape(ni, nj)
    half[k, l] += coulomb * (density[i, j].ravel() @ pairs).reshape(nk, nl)

    half[i, l] -= exchange * (density[j, k].ravel() @ integrals.reshape(ni, nj * nk, nl))
    half[j, k] -= exchange * _over_first_and_last(integrals, density[i, l])
    half[i, k] -= exchange * np.einsum("ijkl,jl->ik", integrals, density[j, l])
    half[j, l] -= exchange * np.einsum("ijkl,ik->jl", integrals, density[i, k])


def _over_first_and_last(integrals: Integrals, density: Matrix) -> Matrix:
    """Σ_il (ij|kl) D_il, by one product of a matrix and a vector for each i."""
    ni, nj, nk, nl = integrals.shape
    products = integrals.reshape(ni, nj * nk, nl) @ density[:, :, np.newaxis]
    summed: Matrix = products.sum(axis=0).reshape(nj, nk)
    return summed

"""The two-electron integrals in batches, and the computation of a batch by PySCF.

The basis functions are cut into *blocks* of whole atoms. A *batch* is all integrals (ij|kl) with i, j, k, l in four
blocks I, J, K, L. As (ij|kl) = (ji|kl) = (ij|lk) = (kl|ij), it is enough to have the batches with I ≥ J, K ≥ L and
(I, J) ≥ (K, L); each stands for `degeneracy` batches. (Within a block all integrals are kept, so a batch is a plain
array of four dimensions.)
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Integrals = npt.NDArray[np.float64]
Molecule = Any
"""`pyscf.gto.Mole`, which has no types."""


class Block(NamedTuple):
    """Some atoms next to each other: their shells and basis functions, half-open ranges."""

    number: int
    first_shell: int
    end_shell: int
    first_function: int
    end_function: int

    @property
    def functions(self) -> slice:
        """Rows, or columns, of a matrix over the basis functions."""
        return slice(self.first_function, self.end_function)

    @property
    def size(self) -> int:
        """The number of basis functions."""
        return self.end_function - self.first_function


class Batch(NamedTuple):
    """The integrals (ij|kl) of four blocks."""

    i: Block
    j: Block
    k: Block
    l: Block  # noqa: E741 - as chemists write it

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The shape of its values."""
        return self.i.size, self.j.size, self.k.size, self.l.size

    @property
    def elements(self) -> int:
        """The number of integrals."""
        return self.i.size * self.j.size * self.k.size * self.l.size

    @property
    def degeneracy(self) -> int:
        """The number of batches, permutations of its blocks, that have the same values: 8, 4, 2 or 1."""
        same_pair = (self.i.number, self.j.number) == (self.k.number, self.l.number)
        return (1 + (self.i != self.j)) * (1 + (self.k != self.l)) * (2 - same_pair)


def blocks_of(molecule: Molecule, functions_max: int) -> list[Block]:
    """Return blocks of consecutive atoms with at most `functions_max` basis functions each, but at least one atom."""
    blocks: list[Block] = []
    for first_shell, end_shell, first_function, end_function in molecule.aoslice_by_atom().tolist():
        if blocks and end_function - blocks[-1].first_function <= functions_max:
            blocks[-1] = blocks[-1]._replace(end_shell=end_shell, end_function=end_function)
        else:
            blocks.append(Block(len(blocks), first_shell, end_shell, first_function, end_function))
    return blocks


def batches_of(blocks: list[Block]) -> list[Batch]:
    """Return all needed batches: B blocks have P = B (B + 1) / 2 pairs, and P (P + 1) / 2 batches."""
    pairs = [(blocks[i], blocks[j]) for i in range(len(blocks)) for j in range(i + 1)]
    return [Batch(*bra, *ket) for bra, ket in itertools.product(pairs, pairs) if bra >= ket]


def compute(molecule: Molecule, batch: Batch) -> Integrals:
    """The integrals of a batch, an array of its shape, in Hartree."""
    shells = [bound for block in batch for bound in (block.first_shell, block.end_shell)]
    values: Integrals = molecule.intor("int2e", shls_slice=tuple(shells), aosym="s1")
    return values

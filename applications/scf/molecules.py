"""Molecules from XYZ files, and their quantities without two-electron integrals: all by PySCF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from batches import Molecule
from pyscf import gto, scf

Matrix = npt.NDArray[np.float64]

INPUTS = Path(__file__).with_name("inputs")


def path_of(name: str) -> Path:
    """The file of an input that comes with the program ("small", "medium", "dimer"), else `name` as a path."""
    own = INPUTS / f"{name}.xyz"
    return own if own.exists() else Path(name)


def molecule_of(xyz: str, basis: str) -> Molecule:
    """The molecule of the text of an XYZ file, neutral, with spherical basis functions.

    Raises ValueError if it has unpaired electrons, or PySCF does not understand it.
    """
    atoms = "\n".join(xyz.splitlines()[2:])
    molecule = gto.Mole(atom=atoms, basis=basis, unit="Angstrom", spin=None, verbose=0)
    molecule.build(parse_arg=False, dump_input=False)
    if molecule.spin != 0:
        raise ValueError(f"{molecule.nelectron} electrons: restricted Hartree-Fock is for closed shells")
    return molecule


def core_hamiltonian(molecule: Molecule) -> Matrix:
    """Kinetic energy and the attraction of the nuclei, over the basis functions; Hartree."""
    matrix: Matrix = molecule.intor_symmetric("int1e_kin") + molecule.intor_symmetric("int1e_nuc")
    return matrix


def overlap(molecule: Molecule) -> Matrix:
    """Return the overlaps of the basis functions with each other."""
    matrix: Matrix = molecule.intor_symmetric("int1e_ovlp")
    return matrix


def first_density(molecule: Molecule) -> Matrix:
    """Return the initial density matrix: that of the free atoms, in a minimal basis."""
    density: Matrix = np.asarray(scf.hf.init_guess_by_minao(molecule))
    return density

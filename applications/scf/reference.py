"""The energy of an input by PySCF alone, `pyscf.scf.RHF`, which the program's is compared with.

python applications/scf/reference.py --input small --basis 6-31g*
"""

from __future__ import annotations

import argparse

from molecules import molecule_of, path_of
from pyscf.scf import RHF


def main() -> None:
    """Print the energy, Hartree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", default="small")
    parser.add_argument("--basis", default="6-31g*")
    options = parser.parse_args()
    method = RHF(molecule_of(path_of(options.input).read_text(encoding="utf-8"), options.basis))
    method.conv_tol = 1e-12
    energy = method.kernel()
    if not method.converged:
        raise SystemExit("pyscf.scf.RHF did not converge")
    print(f"{energy:.12f}")


if __name__ == "__main__":
    main()

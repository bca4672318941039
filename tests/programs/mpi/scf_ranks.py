"""The application SCF on the dimer of water, with every source of integrals: its energies equal those of pyscf.scf.RHF.

mpiexec -n N python scf_ranks.py FOLDER
"""

import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "applications" / "scf"))

import scf
from molecules import molecule_of, path_of
from mpi4py import MPI
from options import parse
from pyscf.scf import RHF

TOLERANCE = 1e-8
SHARES = ("0", "0.25", "0.5", "0.75", "1", "auto", "300KiB")


def sources() -> list[list[str]]:
    """Return the arguments of the program for each source."""
    found = [["--integrals", mode] for mode in ("records", "stored", "prefetched", "recomputed")]
    found += [["--integrals", "balanced", "--disk", share] for share in SHARES]
    return [*found, ["--integrals", "balanced", "--disk", "0.5", "--memory", "64KiB"]]


def main() -> None:
    comm, folder = MPI.COMM_WORLD, sys.argv[1]
    reference = RHF(molecule_of(path_of("dimer").read_text(), "6-31g"))
    reference.conv_tol = 1e-12
    expected = reference.kernel()
    for source in sources():
        arguments = ["--input", "dimer", "--basis", "6-31g", "--block", "12", "--folder", folder, *source]
        result = scf.run(parse(arguments), comm)
        assert result.converged, source
        assert abs(result.energy - expected) < TOLERANCE, (source, result.energy, expected)
    if comm.rank == 0:
        print(f"{len(sources())} sources: all energies are PySCF's, {expected:.10f} Hartree")


try:
    main()
except Exception:  # noqa: BLE001 - the other ranks would wait for this one
    traceback.print_exc()
    MPI.COMM_WORLD.Abort(1)

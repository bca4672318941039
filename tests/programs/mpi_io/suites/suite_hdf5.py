"""HDF5's testpar, from Debian's source package, with an HDF5 of its own for each MPI."""

from __future__ import annotations

from pathlib import Path

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
"""Each program with its ranks and its time limit in seconds; long ones get the fewest ranks that run all tests."""
MORE = ("t_pflush1", "t_pflush2", "t_pshutdown", "t_prestart")
ENVIRONMENT = (("HDF5_PARAPREFIX", "."), ("HDF5_NOCLEANUP", "1"), ("HDF5TestExpress", "2"))


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
        workshop.tried(name, [*make, "-k", "-C", "testpar", *PROGRAMS, *MORE], folder)
        restart = _restart_folder(mpi, workshop)
        restart.mkdir(exist_ok=True)
        shutdown = [*mpi.launch(4), str(folder / "testpar" / "t_pshutdown")]
        workshop.run(name, shutdown, restart, **mpi.environment, **dict(ENVIRONMENT))
        workshop.mark_built(name)
    return source.name.removeprefix("hdf5-").split("+")[0]


def build_name(mpi: Mpi) -> str:
    return f"hdf5-{mpi.name}"


def _restart_folder(mpi: Mpi, workshop: Workshop) -> Path:
    """Return the folder with the file that t_pshutdown leaves for t_prestart."""
    return workshop.folder(build_name(mpi)) / "restart"


def _inputs(program: Path) -> tuple[str, ...]:
    """Return the program itself for t_cache_image, which runs itself as ./t_cache_image."""
    return (str(program),) if program.name == "t_cache_image" else ()


def _cases(mpi: Mpi, workshop: Workshop) -> list[Case]:
    programs = workshop.folder(build_name(mpi)) / "testpar"
    cases = [
        Case(name, "testpar", (str(programs / name),), ranks, ends_well, seconds, ENVIRONMENT, _inputs(programs / name))
        for name, (ranks, seconds) in PROGRAMS.items()
    ]
    # The first program ends like a crash, and the second reads the file that it has left.
    flush = ("sh", "-c", f"{programs}/t_pflush1; exec {programs}/t_pflush2")
    left = (str(_restart_folder(mpi, workshop) / "shutdown.h5"),)
    cases.append(Case("t_pflush1, t_pflush2", "testpar", flush, 4, ends_well, 120, ENVIRONMENT))
    cases.append(Case("t_pshutdown", "testpar", (str(programs / "t_pshutdown"),), 4, ends_well, 120, ENVIRONMENT))
    cases.append(Case("t_prestart", "testpar", (str(programs / "t_prestart"),), 4, ends_well, 120, ENVIRONMENT, left))
    return cases


SUITE = Suite("hdf5", ("mpich", "openmpi"), _prepare, _cases)

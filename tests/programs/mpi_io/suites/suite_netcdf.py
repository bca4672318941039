"""netCDF-4's parallel tests, from Debian's source package, with a netCDF on the HDF5 that `suite_hdf5` has built."""

from __future__ import annotations

import suite_hdf5
from mpis import Mpi
from suite import Case, Suite, ends_well
from workshop import Workshop, apt_install

RANKS = 4
PROGRAMS = {
    "nc_test4": (
        "tst_mpi_parallel",
        "tst_parallel",
        "tst_parallel3",
        "tst_parallel4",
        "tst_parallel5",
        "tst_parallel6",
        "tst_parallel_zlib",
        "tst_parallel_compress",
        "tst_quantize_par",
        "tst_nc4perf",
        "tst_simplerw_coll_r",
    ),
    "h5_test": ("tst_h_par", "tst_h_par_compress"),
}


def _prepare(mpi: Mpi, workshop: Workshop) -> str:
    source = workshop.debian_source("netcdf")
    name = build_name(mpi)
    suite_hdf5.SUITE.prepare(mpi, workshop)
    if not workshop.built(name):
        apt_install(workshop, "make", "m4")
        folder = workshop.folder(name)
        folder.mkdir(exist_ok=True)
        hdf5, hdf5_source = workshop.folder(suite_hdf5.build_name(mpi)), workshop.debian_source("hdf5")
        options = [
            "--disable-shared",
            "--enable-parallel-tests",
            "--disable-dap",
            "--disable-byterange",
            "--disable-nczarr",
            "--disable-libxml2",
            "--disable-plugins",
            "--enable-hdf5",
            f"CC={mpi.compilers['c']}",
            "CFLAGS=-O1 -w",
            f"CPPFLAGS=-I{hdf5}/src -I{hdf5_source}/src -I{hdf5_source}/hl/src",
            f"LDFLAGS=-L{hdf5}/src/.libs -L{hdf5}/hl/src/.libs",
        ]
        libraries = "-lhdf5_hl -lhdf5 -lz -ldl -lm"
        workshop.run(name, [str(source / "configure"), *options], folder, LIBS=libraries)
        make = ["make", f"-j{workshop.jobs}"]
        for library in ("include", "libdispatch", "libsrc", "libsrc4", "libhdf5", "liblib"):
            workshop.tried(name, [*make, "-C", library], folder)
        for tests, programs in PROGRAMS.items():
            workshop.tried(name, [*make, "-k", "-C", tests, *programs], folder)
        workshop.mark_built(name)
    return source.name.removeprefix("netcdf-")


def build_name(mpi: Mpi) -> str:
    return f"netcdf-{mpi.name}"


def _cases(mpi: Mpi, workshop: Workshop) -> list[Case]:
    build = workshop.folder(build_name(mpi))
    return [
        Case(name, tests, (str(build / tests / name),), RANKS, ends_well, 300)
        for tests, programs in PROGRAMS.items()
        for name in programs
    ]


SUITE = Suite("netcdf", ("mpich", "openmpi"), _prepare, _cases)

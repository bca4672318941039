"""PnetCDF's tests, benchmarks and FLASH-IO, from Debian's source package, with a PnetCDF of its own for each MPI."""

from __future__ import annotations

import shutil
from pathlib import Path

from mpis import Mpi
from suite import FAILED, PASSED, Case, Finished, Suite, ends_well
from workshop import Workshop, apt_install

RANKS = 4
FOLDERS = (
    "test/testcases",
    "test/nonblocking",
    "test/C",
    "test/F90",
    "test/CXX",
    "test/header",
    "test/cdf_format",
    "test/nc_test",
    "test/nf_test",
    "test/nf90_test",
    "test/largefile",
    "test/subfile",
    "examples/C",
    "benchmarks/C",
)
FLASH = "benchmarks/FLASH-IO"
LEFT_OUT = (
    "tst_version",
    "tst_open_cdf5",
    "tst_corrupt",
    "test_inq_format",
    "pthread",
    "large_files",
    "large_var",
    "bigrecords",
    "tst_flarge",
    "high_dim_var",
    "large_coalesce",
)
"""Programs without MPI-IO of their own, or with more than 4 GB of file and hours on a small machine."""


def _prepare(mpi: Mpi, workshop: Workshop) -> str:
    source = workshop.debian_source("pnetcdf")
    name = build_name(mpi)
    if not workshop.built(name):
        apt_install(workshop, "make", "autoconf", "automake", "libtool", "m4")
        folder = workshop.folder(name)
        if not (folder / "src" / "Makefile").exists():
            _configure(mpi, workshop, source, folder)
        make = ["make", f"-j{workshop.jobs}"]
        workshop.run(name, make, folder)
        for tests in ("test/common", *FOLDERS, FLASH):
            workshop.tried(name, [*make, "-k", "-C", tests, "tests"], folder)
        workshop.mark_built(name)
    return source.name.removeprefix("pnetcdf-")


def _configure(mpi: Mpi, workshop: Workshop, source: Path, folder: Path) -> None:
    """Configure in a copy of the source, which comes without a configure script."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder, symlinks=True)
    workshop.run(folder.name, ["autoreconf", "-i"], folder)
    wrappers = {"MPICC": "c", "MPICXX": "c++", "MPIF77": "fortran", "MPIF90": "fortran"}
    options = [f"{variable}={mpi.compilers[language]}" for variable, language in wrappers.items()]
    options += ["CFLAGS=-O1 -w", *(f"{flags}=-O1 -w -fallow-argument-mismatch" for flags in ("FFLAGS", "FCFLAGS"))]
    configure = ["./configure", "--disable-shared", "--enable-static", "--enable-subfiling", *options]
    workshop.run(folder.name, configure, folder)


def build_name(mpi: Mpi) -> str:
    return f"pnetcdf-{mpi.name}"


def _cases(mpi: Mpi, workshop: Workshop) -> list[Case]:
    build = workshop.folder(build_name(mpi))
    validator = str(build / "src" / "utils" / "ncvalidator" / "ncvalidator")
    cases = [_case(program, group, validator) for group in FOLDERS for program in _programs(build / group)]
    flash = (str(build / FLASH / "flash_benchmark_io"), "flash_")
    cases.append(Case("flash_benchmark_io", "FLASH-IO", flash, RANKS, _judge, 300))
    return cases


def _programs(folder: Path) -> list[Path]:
    """Return the executables with a source beside them: those that the project's make has built."""
    return sorted(
        path
        for path in folder.glob("*")
        if path.is_file()
        and not path.suffix
        and path.stat().st_mode & 0o100
        and any(folder.glob(f"{path.name}.[a-zA-Z]*"))
        and not any(word == path.name or word in path.name for word in LEFT_OUT)
    )


def _case(program: Path, group: str, validator: str) -> Case:
    name = program.name
    out = f"{name}.nc"
    arguments: tuple[str, ...] = (out,)
    after: tuple[str, ...] = ()
    if group == "test/subfile":
        arguments = ("-f", out, "-s", "2")
    elif group in ("test/nc_test", "test/nf_test", "test/nf90_test") and name in ("nc_test", "nf_test", "nf90_test"):
        arguments = ("-d", ".")
    elif name == "tst_io":
        arguments = (".",)
    elif group == "test/testcases" and "all_kinds" not in name and name != "redef1":
        after = (validator, "-q", out)
    ranks = 1 if group == "test/nc_test" or name in ("tst_io", "nf_test", "nf90_test") else RANKS
    environment = (("PNETCDF_SAFE_MODE", "0"),)
    return Case(name, group, (str(program), *arguments), ranks, _judge, 180, environment, (), after)


def _judge(finished: Finished) -> dict[str, str]:
    status = ends_well(finished)[""]
    wrong = any(" fail with " in line or line.startswith("Error at") for line in finished.stdout.splitlines())
    return {"": FAILED if status == PASSED and wrong else status}


SUITE = Suite("pnetcdf", ("mpich", "openmpi"), _prepare, _cases)

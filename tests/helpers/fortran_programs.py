"""Fortran programs, compiled with the installed library by gfortran, or by the mpifort of an MPI."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from installed_library import WHEEL, Mpi, prefix_for, run
from tree import PROGRAMS

HERE = PROGRAMS / "fortran"
FLAGS = [
    "-std=f2018",
    "-Wall",
    "-Wextra",
    "-Wno-uninitialized",
    "-Wno-maybe-uninitialized",
    "-Wno-compare-reals",
    "-fcheck=all",
]
FLAGS += ["-ffree-line-length-none", "-Wno-conversion"]


def fortran_prefix(mpi: Mpi = WHEEL) -> Path:
    """Return the prefix of the library with its module."""
    if shutil.which("gfortran") is None:
        pytest.skip("gfortran is not installed")
    prefix = prefix_for(mpi)
    if not (prefix / "include/swath/fortran/swath.mod").exists():
        pytest.skip("Swath was built without Fortran")
    return prefix


def compiled(source: Path, prefix: Path, *more: object, compiler: object = "gfortran") -> Path:
    """Return the program of one source, in the same folder."""
    program = source.with_suffix("")
    config = prefix / "bin/swath-config"
    flags = [*run([config, "--fflags"]).split(), *run([config, "--flibs"]).split()]
    run([compiler, *FLAGS, *more, source, *flags, "-o", program], cwd=source.parent)
    return program


def parallel(source: Path, folder: Path, mpi: Mpi) -> Path:
    """Return a program with ranks. The MPICH wheel has no Fortran: C provides the few calls that are needed."""
    prefix = fortran_prefix(mpi)
    text = source.read_text()
    if mpi is not WHEEL:
        return compiled(written(folder, source.name, text), prefix, compiler=mpi.mpifort)
    run([mpi.mpicc, "-c", HERE / "mpi_of_c.c", "-o", folder / "c.o"], cwd=folder)
    run(["gfortran", "-c", HERE / "mpi_of_c.f90", "-o", folder / "f.o"], cwd=folder)
    return compiled(written(folder, source.name, text.replace("use mpi_f08", "use mpi_of_c")), prefix, "f.o", "c.o")


def written(folder: Path, name: str, text: str) -> Path:
    """A source of that text."""
    source = folder / name
    source.write_text(text)
    return source

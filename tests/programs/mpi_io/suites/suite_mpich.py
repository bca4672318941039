"""MPICH's test/mpi/io, and its Fortran versions, from Debian's source package."""

from __future__ import annotations

from pathlib import Path

from mpis import Mpi
from suite import Case, Suite, says_no_errors
from workshop import Workshop, apt_install

FOLDERS = ("io", "errors/io", "f77/io", "f90/io", "f08/io")
SLOW = {"bigtype": 600, "i_bigtype": 600}


def _prepare(mpi: Mpi, workshop: Workshop) -> str:
    source = workshop.debian_source("mpich")
    name = _build_name(mpi)
    if not workshop.built(name):
        apt_install(workshop, "make", "perl")
        _build(mpi, workshop, source / "test" / "mpi", name)
        workshop.mark_built(name)
    return source.name.removeprefix("mpich-")


def _build(mpi: Mpi, workshop: Workshop, source: Path, name: str) -> None:
    folder = workshop.folder(name)
    folder.mkdir(exist_ok=True)
    c, cxx, fortran = mpi.compilers["c"], mpi.compilers["c++"], mpi.compilers.get("fortran")
    options = [
        "--disable-cxx",
        "--disable-dtpools",
        "--disable-spawn",
        f"CC={c}",
        f"MPICC={c}",
        f"CXX={cxx}",
        f"MPICXX={cxx}",
        f"CFLAGS={' '.join(['-O1', '-w', *mpi.c_flags()])}",
    ]
    if fortran:
        mismatch = "-fallow-argument-mismatch"
        options += ["--enable-fortran=all", f"FFLAGS={mismatch}", f"FCFLAGS={mismatch}"]
        options += [f"{variable}={fortran}" for variable in ("F77", "MPIF77", "FC", "MPIFC")]
    else:
        options += ["--enable-fortran=no"]
    if not (folder / "io" / "Makefile").exists():
        workshop.run(name, [str(source / "configure"), *options], folder)
    for tests in FOLDERS:
        if tests.startswith("f") and not fortran:
            continue
        make = ["make", "-k", "-C", tests]
        if tests == "f08/io":  # the libraries of these are made only inside a build of MPICH
            workshop.run(
                name, [fortran or "", "-c", str(source / "util" / "mtest_f08.f90"), "-o", "util/mtest_f08.o"], folder
            )
            make.append("LDADD=../../util/mtest_f08.o")
        workshop.tried(name, make, folder)


def _build_name(mpi: Mpi) -> str:
    return f"mpich-tests-{mpi.name}"


def _cases(mpi: Mpi, workshop: Workshop) -> list[Case]:
    folder = workshop.folder(_build_name(mpi))
    source = workshop.debian_source("mpich") / "test" / "mpi"
    cases = []
    for group in FOLDERS:
        if group.startswith("f") and "fortran" not in mpi.compilers:
            continue
        listed = next(path for path in (folder / group / "testlist", source / group / "testlist") if path.exists())
        cases += [_case(line.split(), group, folder) for line in listed.read_text().splitlines() if line[:1].isalnum()]
    return cases


def _case(words: list[str], group: str, folder: Path) -> Case:
    """Parse "bigtype 1 mem=6.5": a program, its ranks, and more settings."""
    name, ranks, *more = words
    arguments = tuple(word.removeprefix("arg=") for word in more if word.startswith("arg="))
    program = str(folder / group / name)
    return Case(name, group, (program, *arguments), int(ranks), says_no_errors, SLOW.get(name, 120))


SUITE = Suite("mpich", ("mpich", "mpich-wheel", "openmpi"), _prepare, _cases)

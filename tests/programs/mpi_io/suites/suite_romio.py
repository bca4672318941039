"""ROMIO's own tests, from Debian's source package of MPICH."""

from __future__ import annotations

import re
from pathlib import Path

from mpis import Mpi
from suite import FAILED, PASSED, Case, Finished, Suite, ends_well
from workshop import Workshop

RANKS = {
    "i_noncontig": 2,
    "noncontig": 2,
    "noncontig_coll": 2,
    "types_with_zeros": 2,
    "error": 1,
    "status": 1,
    "syshints": 1,
}
ARGUMENTS = {
    "aggregation1": ("-h", "-f", "test"),
    "aggregation2": ("test",),
    "hindexed": ("test",),
    "types_with_zeros": ("test",),
    "darray_read": ("test",),
    "big_extents": ("test",),
    "creat_excl": ("-fname", "test"),
}
"""Arguments as in its runtests; all other programs get: -fname test."""
LEFT_OUT = ("perf", "coll_perf", "fperf", "large_file", "large_array")
"""Measurements, and programs with files of 4 GB and more: the random datatypes test spans of this size."""
WRONG = re.compile(r"error|differ|\bis \d+, should be|not ok|expected", re.IGNORECASE)
RIGHT = re.compile(r"no errors|error class|error code|expected error|0 errors", re.IGNORECASE)
FORTRAN = {
    "@F77MPIOINC@": "",
    "@FORTRAN_MPI_OFFSET@": "integer*8",
    "@F77IARGC@": "iargc()",
    "@F77GETARG@": "call getarg(i, str)",
    "@LL@": "lld",
}


def _prepare(mpi: Mpi, workshop: Workshop) -> str:
    source = workshop.debian_source("mpich")
    name = f"romio-{mpi.name}"
    if not workshop.built(name):
        _build(mpi, workshop, source / "src" / "mpi" / "romio" / "test", name)
        workshop.mark_built(name)
    return source.name.removeprefix("mpich-")


def _build(mpi: Mpi, workshop: Workshop, source: Path, name: str) -> None:
    folder = workshop.folder(name)
    folder.mkdir(exist_ok=True)
    for program in _programs(source, mpi):
        path = program
        if program.suffix == ".in":
            path = folder / program.stem
            text = program.read_text(errors="replace")
            for placeholder, value in FORTRAN.items():
                text = text.replace(placeholder, value)
            path.write_text(text)
        fortran = path.suffix == ".f"
        compiler = [mpi.compilers["fortran"], "-std=legacy", "-w"] if fortran else [mpi.compilers["c"], "-w"]
        workshop.tried(name, [*compiler, "-O1", "-o", str(folder / path.stem), str(path)])


def _programs(source: Path, mpi: Mpi) -> list[Path]:
    fortran = "fortran" in mpi.compilers
    found = [*source.glob("*.c"), *source.glob("*.c.in"), *(source.glob("*.f.in") if fortran else ())]
    return sorted(path for path in found if path.name.split(".")[0] not in LEFT_OUT)


def _cases(mpi: Mpi, workshop: Workshop) -> list[Case]:
    folder = workshop.folder(f"romio-{mpi.name}")
    source = workshop.debian_source("mpich") / "src" / "mpi" / "romio" / "test"
    cases = []
    for path in _programs(source, mpi):
        name = path.name.split(".")[0]
        arguments = ARGUMENTS.get(name, ("-fname", "test"))
        if name == "syshints":
            arguments = (str(source / "test_hintfile"),)
        group = "Fortran" if ".f" in path.suffixes else "C"
        cases.append(Case(name, group, (str(folder / name), *arguments), RANKS.get(name, 4), _judge))
    return cases


def _judge(finished: Finished) -> dict[str, str]:
    """Judge by the output: these programs print errors, but still end with 0."""
    status = ends_well(finished)[""]
    wrong = [
        line
        for line in finished.stdout.splitlines() + finished.stderr.splitlines()
        if WRONG.search(line) and not RIGHT.search(line) and not line.startswith("swath mpi-io")
    ]
    return {"": FAILED if status == PASSED and wrong else status}


SUITE = Suite("romio", ("mpich", "mpich-wheel", "openmpi"), _prepare, _cases)

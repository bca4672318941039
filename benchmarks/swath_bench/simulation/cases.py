"""The cases, their contenders, and the sizes."""

from __future__ import annotations

import dataclasses
import math

from swath.errors import ArgumentError
from swath.space import Block, Whole, balanced_grid

MIB = 1 << 20
FLOAT_BYTES = 4
LEVELS = 16
"""Elements of a variable along its vertical dimension."""
GATHERED, DUMP, CYCLIC_READ = "gathered", "dump", "cyclic-read"
DUMPED = 24


@dataclasses.dataclass(frozen=True)
class Contender:
    """A program and its settings.

    Attributes:
        source: the file in `program/`.
        packages: names for pkg-config, of which one is for the MPI; none: Swath, by its `swath-config`.
        format: the format, as in Swath's options.
        suffix: the suffix of its file.
        uses_mpi_io: whether it uses MPI-IO: Open MPI has two libraries for that.
    """

    source: str
    packages: tuple[str, ...] = ()
    format: str = "-"
    suffix: str = ".nc4"
    uses_mpi_io: bool = False


_HDF5 = Contender("by_parallel_hdf5.c", ("hdf5-mpich", "hdf5-openmpi"), suffix=".h5", uses_mpi_io=True)

CASES: dict[str, dict[str, Contender]] = {
    GATHERED: {
        "Swath": Contender("by_swath.c", format="netcdf4"),
        "netCDF-C, gathered": Contender("by_gathering.c", ("netcdf",)),
        "parallel HDF5": _HDF5,
    },
    DUMP: {
        "Swath, classic": Contender("by_swath.c", format="netcdf-classic:cdf5", suffix=".nc3"),
        "Swath, HDF5": Contender("by_swath.c", format="hdf5", suffix=".h5"),
        "PnetCDF": Contender("by_pnetcdf.c", ("pnetcdf",), suffix=".nc3", uses_mpi_io=True),
        "parallel HDF5": _HDF5,
    },
    CYCLIC_READ: {
        "Swath from C": Contender("cyclic_read.c"),
        "Swath from Python": Contender(""),
    },
}


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        ranks: number of ranks.
        bytes: bytes of all variables of a dump; the CYCLIC(1) read is of a quarter of them.
        variables: number of gathered variables.
        cases: names of `CASES`.
        prefixes: installations of Swath, one for each MPI; if empty, the one of this Python's environment.
        rounds: how often every contender is run, in turn.
        repetitions: counted reads of a round of the CYCLIC(1) read.
        limit_seconds: a program that takes longer is ended.
    """

    ranks: int = 4
    bytes: int = 256 * MIB
    variables: int = 1000
    cases: tuple[str, ...] = tuple(CASES)
    prefixes: tuple[str, ...] = ()
    rounds: int = 3
    repetitions: int = 10
    limit_seconds: float = 300.0

    def __post_init__(self) -> None:
        for name in self.cases:
            if name not in CASES:
                raise ArgumentError(f'--cases: "{name}" is unknown: expected some of {", ".join(CASES)}')
        if not self.cases:
            raise ArgumentError(f"--cases: expected some of {', '.join(CASES)}")
        if self.bytes < self.variables * FLOAT_BYTES * LEVELS * self.ranks:
            least = self.variables * FLOAT_BYTES * LEVELS * self.ranks
            raise ArgumentError(f"--bytes {self.bytes}: expected at least {least} for {self.variables} variables")

    def count_of(self, case: str) -> int:
        """Return the number of variables."""
        return self.variables if case == GATHERED else DUMPED

    def shape_of(self, case: str) -> tuple[int, ...]:
        """Return the shape of a variable: nodes and levels, or levels, rows and columns."""
        elements = self.bytes // FLOAT_BYTES // self.count_of(case) // LEVELS
        if case == GATHERED:
            return (max(elements // self.ranks, 1) * self.ranks, LEVELS)
        side = max(math.isqrt(elements) // self.ranks, 1) * self.ranks
        return (LEVELS, side, side)

    def grid_of(self, case: str) -> tuple[int, ...]:
        """Return how many ranks share each dimension."""
        if case == GATHERED:
            return (self.ranks, 1)
        rules = (Whole(), Block(), Block())
        return balanced_grid(rules, self.ranks)


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests."""
    return Options(ranks=2, bytes=2 * MIB, variables=20, rounds=1, repetitions=2)


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory: one file, the variables, and the buffers of libraries."""
    return {"disk": 2 * options.bytes + 64 * MIB, "memory": 4 * options.bytes + 512 * MIB}

"""The programs, their variants and sizes, and the options of the benchmark."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from swath.errors import ArgumentError

PRESETS = ("xeon-eide", "p690-scsi", "p690-raid5", "cluster-nfs-raid5", "ssd")
SCALES = ("test", "small", "large")


@dataclasses.dataclass(frozen=True)
class Case:
    """A program, its variants (as found, optimised, peers), and its optimisations.

    `apart` are peers that do not write one file that the ranks share; they are shown, not compared.
    `variant` is the argument that chooses the variant, `sizes` has the other arguments for each scale. Programs in
    Python take "--name value", compiled ones "name=value".
    """

    title: str
    variant: str
    before: str
    after: str
    peers: tuple[str, ...]
    optimisations: tuple[str, ...]
    sizes: Mapping[str, Mapping[str, str]]
    bytes: Mapping[str, int]
    is_python: bool = False
    has_ranks: bool = True
    squares_only: bool = False
    apart: tuple[str, ...] = ()

    @property
    def variants(self) -> tuple[str, ...]:
        """Return all variants; the one as found is the first."""
        return (self.before, self.after, *self.peers)


COLLECTIVE, LAYOUT, PREFETCHING, INTERFACE = "collective I/O", "file layout", "prefetching", "efficient interface"
OPTIMISATIONS = (COLLECTIVE, PREFETCHING, LAYOUT, INTERFACE)
CASES = {
    "btio": Case(
        "BTIO",
        "mode",
        "simple",
        "swath",
        ("full", "fortran", "epio"),
        (COLLECTIVE,),
        {"test": {"class": "S", "steps": "10"}, "small": {"class": "W"}, "large": {"class": "A"}},
        {"test": 138_240, "small": 22_118_400, "large": 419_430_400},
        squares_only=True,
        apart=("epio",),
    ),
    "ast": Case(
        "AST",
        "variant",
        "found",
        "optimised",
        ("mpi",),
        (COLLECTIVE,),
        {
            "test": {"nx": "32", "ny": "32", "dumps": "2"},
            "small": {"nx": "256", "ny": "256", "dumps": "5"},
            "large": {"nx": "1024", "ny": "1024", "dumps": "5"},
        },
        {"test": 147_456, "small": 23_592_960, "large": 377_487_360},
    ),
    "flash": Case(
        "FLASH-IO",
        "way",
        "found",
        "swath",
        ("mpi",),
        (COLLECTIVE,),
        {
            "test": {"blocks": "16", "size": "4"},
            "small": {"blocks": "320", "suffix": "nc4"},
            "large": {"blocks": "1600", "suffix": "nc4"},
        },
        {"test": 260_000, "small": 38_000_000, "large": 190_000_000},
    ),
    "ipars": Case(
        "IPARS",
        "variant",
        "found",
        "optimised",
        ("mpi",),
        (COLLECTIVE, LAYOUT),
        {
            "test": {"cells": "8 16 16", "records": "3"},
            "small": {"cells": "16 48 48", "records": "10"},
            "large": {"cells": "32 96 96", "records": "20"},
        },
        {"test": 417_792, "small": 25_067_520, "large": 401_080_320},
        is_python=True,
    ),
    "nasa7": Case(
        "NASA7",
        "variant",
        "found",
        "optimised",
        ("memmap",),
        (LAYOUT, PREFETCHING),
        {
            "test": {"size": "40", "panel": "16"},
            "small": {"size": "256", "panel": "32"},
            "large": {"size": "1024", "panel": "64"},
        },
        {"test": 4_000_000, "small": 30_000_000, "large": 200_000_000},
        is_python=True,
        has_ranks=False,
    ),
}


@dataclasses.dataclass(frozen=True)
class Options:
    """The benchmark's parameters.

    Attributes:
        cases: names of programs.
        ranks: numbers of ranks. BTIO runs on squares only, NASA7 is one process.
        scale: "test", "small" or "large".
        rounds: how often each variant is counted; there is one round before.
        disks: modelled disks by name; none: the disk of the folder.
        application: the folder applications of a checkout; by default it is searched.
        prefix: an installation of Swath with Fortran for the MPI of `mpicc`; None leaves BTIO, AST and FLASH-IO out.
        mpicc: the C compiler of that MPI.
        limit_seconds: a run that takes longer is ended, which ends the benchmark.
    """

    cases: tuple[str, ...] = tuple(CASES)
    ranks: tuple[int, ...] = (1, 4, 9, 16)
    scale: str = "small"
    rounds: int = 3
    disks: tuple[str, ...] = ()
    application: str | None = None
    prefix: str | None = None
    mpicc: str | None = None
    limit_seconds: float = 600.0

    def __post_init__(self) -> None:
        for flag, values, known in (("cases", self.cases, tuple(CASES)), ("disk", self.disks, PRESETS)):
            for value in values:
                if value not in known:
                    raise ArgumentError(f'--{flag}: "{value}" is unknown: expected some of {", ".join(known)}')
        if self.scale not in SCALES:
            raise ArgumentError(f'--scale: "{self.scale}" is unknown: expected one of {", ".join(SCALES)}')
        if not self.ranks:
            raise ArgumentError("--ranks: expected at least one")


@dataclasses.dataclass(frozen=True)
class Cell:
    """One program on a number of ranks and a disk: its variants are run in turn."""

    case: str
    ranks: int
    disk: str | None

    @property
    def words(self) -> str:
        """For people."""
        where = "" if self.disk is None else f", modelled disk {self.disk}"
        return f"{CASES[self.case].title}, {self.ranks} ranks{where}"


def cells_of(options: Options, disk: str | None) -> list[Cell]:
    """All cells on a disk, in order."""
    found: list[Cell] = []
    for name in options.cases:
        case = CASES[name]
        ranks = options.ranks if case.has_ranks else (1,)
        fitting = [n for n in ranks if not case.squares_only or int(n**0.5) ** 2 == n]
        found += [Cell(name, n, disk) for n in fitting]
    return found


def quick_options() -> Options:
    """Small enough for a look, and for tests."""
    return Options(ranks=(1, 4), scale="test", rounds=1)


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory: a variant's files, in the page cache too, and the ranks."""
    most = max(CASES[name].bytes[options.scale] for name in options.cases)
    return {"disk": 2 * most, "memory": 3 * most + max(options.ranks) * (100 << 20)}

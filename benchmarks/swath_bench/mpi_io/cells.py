"""The cases, each with its numbers of ranks, by collective and independent calls, written and read."""

from __future__ import annotations

import dataclasses
import itertools
import math

from swath.errors import ArgumentError

DIRECTIONS = ("write", "read")
ACCESSES = ("collective", "independent")
NONCONTIGUOUS, CONTIGUOUS = "noncontiguous", "contiguous"
VECTOR_ELEMENTS = 4_000_000
RANK_BYTES = 32 << 20
"""Memory of a process with its MPI, without data."""
MEMORY_FACTOR_MAX = 12
"""A buffer with gaps is twice the data, and MPI packs it; the file for the floor is as large."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A pattern of the program.

    Attributes:
        pattern: name of the pattern in the program.
        says: description.
        kind: NONCONTIGUOUS or CONTIGUOUS: this sets the goal.
        accesses: kinds of calls.
        bytes_factor: factor of `Options.bytes`.
        squares: whether the number of ranks must be a square.
        call_bytes: bytes of each call, if the case is measured by the call; 0: by its bytes.
    """

    pattern: str
    says: str
    kind: str = NONCONTIGUOUS
    accesses: tuple[str, ...] = ("collective",)
    bytes_factor: int = 1
    squares: bool = False
    call_bytes: int = 0


def _calls(name: str, call_bytes: int) -> Case:
    says = f"calls of {call_bytes:,} bytes, contiguous, the ranks' in turn"
    return Case(name, says, CONTIGUOUS, ACCESSES, call_bytes=call_bytes)


CASES: dict[str, Case] = {
    "cyclic": Case("cyclic", "elements of 8 bytes in turn: a vector", accesses=ACCESSES),
    "btio-A": Case("btio-A", "BTIO, class A: struct of subarrays, ghost cells in memory", squares=True),
    "btio-B": Case("btio-B", "BTIO, class B", squares=True),
    "vara": Case("vara", "PnetCDF vara: a subarray"),
    "varn": Case("varn", "PnetCDF varn: hindexed, pieces of 8 to 128 bytes"),
    "hyperslab": Case("hyperslab", "HDF5 hyperslab: resized hindexed of vector of vector, 16 of 32 bytes"),
    "blocks": Case("blocks", "IOR strided, by a view of blocks of 16 KiB", accesses=ACCESSES),
    "segments": Case("segments", "IOR segmented, calls of 1 MiB", CONTIGUOUS, ACCESSES),
    "strided": Case("strided", "IOR strided, calls of 64 KiB", CONTIGUOUS, ACCESSES),
    "small": Case("small", "2000 calls of 4 KiB", CONTIGUOUS, ACCESSES),
    "vector": Case("cyclic", "vector(4,000,000) of 8 bytes on each rank"),
    "column": Case("column", "HDF5: one of 32 columns, written by all ranks", bytes_factor=4),
    "gaps": Case("gaps", "every other double of a buffer; one run of the file", accesses=ACCESSES),
    "calls-64": _calls("calls-64", 64),
    "calls-1k": _calls("calls-1k", 1 << 10),
    "calls-16k": _calls("calls-16k", 1 << 14),
    "calls-256k": _calls("calls-256k", 1 << 18),
    "calls-1m": _calls("calls-1m", 1 << 20),
    "calls-16m": _calls("calls-16m", 1 << 24),
}
DEFAULT_CASES = tuple(name for name, case in CASES.items() if not case.call_bytes)
CALLS_MAX = 2000
"""The largest number of calls of a rank in one repetition of a case that is measured by the call."""


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of the benchmark.

    Attributes:
        ranks: numbers of ranks, one after the other.
        bytes: bytes that are moved, or bytes of the file if fewer are moved; BTIO moves whole dumps of this size.
        repetitions: repetitions of a process, after one that is not counted.
        rounds: how often everything is repeated, with and without the drop-in in turn.
        cases: names from CASES.
        directions: names from DIRECTIONS.
        limit_seconds: a process that takes longer is ended.
        busy: whether a loop on each core takes the processor from the ranks.
        mpicc: the compiler of the measured MPI; None for that of this Python's environment.
    """

    ranks: tuple[int, ...] = (2, 4)
    bytes: int = 64 << 20
    repetitions: int = 3
    rounds: int = 3
    cases: tuple[str, ...] = DEFAULT_CASES
    directions: tuple[str, ...] = DIRECTIONS
    limit_seconds: float = 120
    busy: bool = False
    mpicc: str | None = None

    def __post_init__(self) -> None:
        for option, given, known in (
            ("cases", self.cases, tuple(CASES)),
            ("directions", self.directions, DIRECTIONS),
        ):
            unknown = [name for name in given if name not in known]
            if unknown or not given:
                raise ArgumentError(f"--{option} {','.join(given)}: expected some of {','.join(known)}")
        if self.bytes < 1 << 16:
            raise ArgumentError(f"--bytes {self.bytes}: expected at least 64KiB")


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests."""
    return Options(ranks=(2,), bytes=1 << 20, repetitions=1, rounds=1, cases=("cyclic", "varn", "segments"))


@dataclasses.dataclass(frozen=True)
class Cell:
    """One measurement: a process on each of `ranks` ranks moves `bytes` of `case` in one direction by one access."""

    case: str
    access: str
    direction: str
    ranks: int
    bytes: int

    @property
    def name(self) -> str:
        """Name in the progress lines."""
        return f"{self.case}, {self.access} {self.direction}, {self.ranks} ranks"


def cells_of(options: Options) -> list[Cell]:
    """Return all measurements; cases that are not for this number of ranks are left out."""
    return [
        Cell(name, access, direction, ranks, bytes_of(name, options, ranks))
        for ranks, name in itertools.product(options.ranks, options.cases)
        if not CASES[name].squares or math.isqrt(ranks) ** 2 == ranks
        for access in CASES[name].accesses
        for direction in options.directions
    ]


def left_out(options: Options) -> list[str]:
    """Return sentences on cases that are not measured on some numbers of ranks."""
    return [
        f"{name} on {ranks} ranks: it is for a square of ranks"
        for name in options.cases
        for ranks in options.ranks
        if CASES[name].squares and math.isqrt(ranks) ** 2 != ranks
    ]


def bytes_of(name: str, options: Options, ranks: int) -> int:
    """Return the bytes that a case moves."""
    if name == "vector":
        return VECTOR_ELEMENTS * 8 * ranks
    call_bytes = CASES[name].call_bytes
    if call_bytes:
        calls = min(max(options.bytes // ranks // call_bytes, 1), CALLS_MAX)
        return calls * call_bytes * ranks
    return CASES[name].bytes_factor * options.bytes


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory."""
    most = max(bytes_of(name, options, ranks) for name in options.cases for ranks in options.ranks)
    return {"disk": 2 * most, "memory": MEMORY_FACTOR_MAX * most + max(options.ranks) * RANK_BYTES}

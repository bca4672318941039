"""The options of the benchmark of files, and the sizes that follow from them."""

from __future__ import annotations

import dataclasses

from swath.errors import ArgumentError
from swath_bench.files.cases import CASES, PEERS
from swath_bench.files.sizes import LEAST_BYTES, Sizes

MIB = 1 << 20
CACHES = ("cold", "warm")


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        bytes: bytes of the array that is read and copied, without compression, and of all variables of a dump.
        ranks: number of ranks of the cases with several.
        cases: names of `cases.CASES`.
        caches: the source in the page cache before each measurement, or out of it.
        peers: names of `cases.PEERS`.
        repetitions: how often each contender is measured, each time in a new process.
        records: number of appended records.
        limit_seconds: a process without a sign of life for this time is ended.
    """

    bytes: int = 1 << 30
    ranks: int = 4
    cases: tuple[str, ...] = tuple(CASES)
    caches: tuple[str, ...] = CACHES
    peers: tuple[str, ...] = PEERS
    repetitions: int = 3
    records: int = 200
    limit_seconds: float = 600.0

    def __post_init__(self) -> None:
        known = {"cases": tuple(CASES), "caches": CACHES, "peers": PEERS}
        for name, expected in known.items():
            flag = "cache" if name == "caches" else name
            for value in getattr(self, name):
                if value not in expected:
                    raise ArgumentError(f'--{flag}: "{value}" is unknown: expected some of {", ".join(expected)}')
            if not getattr(self, name) and name != "peers":
                raise ArgumentError(f"--{flag}: expected some of {', '.join(expected)}")
        for name in ("ranks", "repetitions"):
            if getattr(self, name) < 1:
                raise ArgumentError(f"--{name} {getattr(self, name)}: expected at least 1")
        if self.bytes < LEAST_BYTES:
            raise ArgumentError(f"--bytes {self.bytes}: expected at least {LEAST_BYTES}")
        if not self.limit_seconds > 0:
            raise ArgumentError(f"--limit-seconds {self.limit_seconds:g}: expected more than 0")

    @property
    def in_one_process(self) -> bool:
        """Return whether it starts no ranks, and needs no MPI."""
        return self.ranks == 1 or not any(CASES[name].on_ranks for name in self.cases)

    @property
    def sizes(self) -> Sizes:
        """Return the sizes of arrays, dumps and records."""
        return Sizes(self.bytes, self.records)


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests."""
    return Options(bytes=2 * MIB, repetitions=1, records=5)


def needs(options: Options) -> dict[str, int]:
    """Bytes of disk and memory that it takes: the array, two compressed files and a target; in memory also turned."""
    return {"disk": 4 * options.bytes + 64 * MIB, "memory": 5 * options.bytes + 512 * MIB}


def peer_names() -> tuple[str, ...]:
    """Return the peers that `--peers` without names selects: all."""
    return PEERS

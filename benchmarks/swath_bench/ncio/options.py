"""The options of NCIO: the three sweeps and the protocol."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import Any

from swath.base import stored_path
from swath.errors import ArgumentError
from swath_bench.measure import VALUE_BYTES
from swath_bench.ncio.pattern import Pattern
from swath_bench.ncio.summary import cell_title

SWEEPS = ("count", "size", "spacing")
CASES = ("c-c", "nc-c", "c-nc", "nc-nc")
METHODS = ("direct", "sieve", "list", "two-phase", "auto")
DIRECTIONS = ("write", "read")
CACHES = ("warm", "cold")
UNCACHED = "uncached"
"""The cache state of files in a pool, which have no page cache."""
POOL_METHODS = ("direct", "sieve", "list", "datatype", "two-phase", "auto")
POOL_INNER = ("two-phase/sieve", "two-phase/list", "two-phase/datatype")
"""Further methods for a pool, if requested: two-phase with this inner method for windows with holes."""
POOL_STRIPES = "65536,4,4194304"
"""The stripe unit of the paper's file system, 64 KiB."""
MPI_PEER = "mpi"
"""The name, in `--peers`, of the MPI that is installed here; all other names are from `peers`."""

MEBIBYTE = 1 << 20


@dataclasses.dataclass(frozen=True)
class Options:
    """The sweeps of the paper, and its protocol.

    Attributes:
        ranks: rank counts, one after the other.
        sweeps: which of region count, size and spacing are varied; the others are held.
        cases: memory and file, contiguous or not.
        directions: write, read.
        caches: the file in the page cache before each operation, or out of it.
        methods: Swath's.
        counts: regions of each rank.
        sizes: bytes of a region.
        spacings: bytes between regions.
        base_count: count while the others vary.
        base_size: size while the others vary, bytes.
        base_spacing: spacing while the others vary, bytes.
        sync: whether every write is synced, within its time.
        together: whether ranks wait for each other before every operation, outside of its time; else only before the
            first of those that are repeated within one repetition.
        repetitions: number of counted repetitions, each with every contender.
        keep_extremes: whether the highest and the lowest repetition count.
        pause: seconds before every operation.
        limit_seconds: longest time of one operation of a contender; a slower one is not repeated.
        syncs: number of writes with a sync each, compared with one sync for all; 0 to skip this measurement.
        peers: "mpi" and names of other environments.
        store: a Ceph pool, `rados:POOL[?conf=…&id=…]`, that holds the files; empty: they are in a folder. `for_store`
            has the defaults of both.
    """

    ranks: tuple[int, ...] = (2, 4)
    sweeps: tuple[str, ...] = SWEEPS
    cases: tuple[str, ...] = CASES
    directions: tuple[str, ...] = DIRECTIONS
    caches: tuple[str, ...] = CACHES
    methods: tuple[str, ...] = METHODS
    counts: tuple[int, ...] = tuple(2**power for power in range(11, 21))
    sizes: tuple[int, ...] = (*(2**power for power in range(3, 13)), 16384, 65536)
    spacings: tuple[int, ...] = (0, 8, 32, 128, 512, 1024, 2048, 4096)
    base_count: int = 4096
    base_size: int = 8
    base_spacing: int = 128
    sync: bool = True
    together: bool = True
    repetitions: int = 6
    keep_extremes: bool = False
    pause: float = 1.0
    limit_seconds: float = 10.0
    syncs: int = 16
    peers: tuple[str, ...] = ()
    store: str = ""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if isinstance(getattr(self, field.name), list):  # from JSON
                object.__setattr__(self, field.name, tuple(getattr(self, field.name)))
        methods, caches = ((*POOL_METHODS, *POOL_INNER), (UNCACHED,)) if self.store else (METHODS, CACHES)
        known = {"sweeps": SWEEPS, "cases": CASES, "directions": DIRECTIONS, "caches": caches, "methods": methods}
        for name, expected in known.items():
            for value in getattr(self, name):
                if value not in expected:
                    flag = name.removesuffix("s")
                    raise ArgumentError(f'--{name}: "{value}" is no {flag}: expected some of {", ".join(expected)}')
        for name, least in (("counts", 1), ("sizes", VALUE_BYTES), ("spacings", 0), ("ranks", 1)):
            values = getattr(self, name)
            if not values or min(values) < least:
                raise ArgumentError(f"--{name} {_listed(values)}: expected at least {least}")
        for name in ("sizes", "spacings"):
            for value in (*getattr(self, name), getattr(self, f"base_{name.removesuffix('s')}")):
                if value % VALUE_BYTES:
                    raise ArgumentError(f"--{name} {value}: expected multiples of {VALUE_BYTES} bytes")
        for name, least in (("base_count", 1), ("base_size", VALUE_BYTES), ("base_spacing", 0), ("repetitions", 1)):
            if getattr(self, name) < least:
                raise ArgumentError(f"--{name.replace('_', '-')} {getattr(self, name)}: expected at least {least}")
        if self.pause < 0 or self.limit_seconds <= 0:
            raise ArgumentError("--pause, --limit-seconds: expected seconds, not less than 0")
        if self.syncs < 0:
            raise ArgumentError(f"--syncs {self.syncs}: expected at least 0")
        if self.store:
            self._check_store()

    def _check_store(self) -> None:
        """Raise ArgumentError if it is not a pool, or if a peer would have to read it."""
        pool = stored_path.of(self.store)
        if pool.pool is None or pool.name != pool.pool or pool.name == stored_path.SCHEME:
            raise ArgumentError(
                f"--store {self.store}: expected a pool, rados:POOL, perhaps with ?conf=FILE&id=USER&stripe=…; files "
                "of a file system are measured where --folder says"
            )
        if self.peers:
            raise ArgumentError(
                f"--peers {','.join(self.peers)}: MPI-IO and the other peers read files, none reads a pool: leave out "
                "--peers, or --store"
            )

    def file_name(self, path: str) -> str:
        """Return the measured file: `path`, or one in the pool with the name of its folder and file."""
        if not self.store:
            return path
        pool, _, settings = self.store.partition("?")
        folder, name = os.path.split(os.path.abspath(path))
        said = [part for part in settings.split("&") if part]
        if not any(part.startswith("stripe=") for part in said):
            said.append(f"stripe={POOL_STRIPES}")
        return f"{pool}/{os.path.basename(folder)}.{name}?{'&'.join(said)}"


@dataclasses.dataclass(frozen=True)
class Cell:
    """One point of one figure: a pattern, a direction, and the cache state of the file before."""

    sweep: str
    pattern: Pattern
    direction: str
    cache: str

    @property
    def value(self) -> int:
        """Return the value that this sweep varies."""
        p = self.pattern
        return {"count": p.count, "size": p.region_bytes, "spacing": p.spacing_bytes}[self.sweep]

    @property
    def title(self) -> str:
        """For progress and errors."""
        return cell_title(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        p = self.pattern
        return {
            "sweep": self.sweep,
            "case": p.case,
            "direction": self.direction,
            "cache": self.cache,
            "ranks": p.ranks,
            "region_count": p.count,
            "region_bytes": p.region_bytes,
            "spacing_bytes": p.spacing_bytes,
            "bytes": p.bytes,
            "file_bytes": p.file_bytes,
            "file_noncontiguous": p.file_noncontiguous,
            "memory_noncontiguous": p.memory_noncontiguous,
        }


_OF_POOLS: dict[str, Any] = {
    "methods": POOL_METHODS,
    "caches": (UNCACHED,),
    "counts": tuple(4**power for power in range(5, 9)),
    "sizes": tuple(8 * 4**power for power in range(7)),
    "spacings": (0, 32, 128, 512, 1024, 2048, 4096, 16384),
    "pause": 0.1,
}
"""Fewer cells, as the slowest take seconds, and no long pause: nothing is written back after an answer."""


def for_store(options: Options, store: str) -> Options:
    """Return the options for files in a pool: values that are the defaults of files become the defaults of pools.

    Raises ArgumentError if `store` is not a pool.
    """
    of_files = Options()
    others = {name: value for name, value in _OF_POOLS.items() if getattr(options, name) == getattr(of_files, name)}
    return dataclasses.replace(options, store=store, **others)


def quick_options() -> Options:
    """Return a tiny grid for a quick run, and for tests."""
    return Options(
        ranks=(2,),
        counts=(64, 256),
        sizes=(8, 1024),
        spacings=(0, 128),
        base_count=256,
        repetitions=4,
        pause=0,
        syncs=4,
    )


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory: the largest file, also in the page cache, and all ranks' buffers.

    A pool's disks are not checked: a full one reports an error.
    """
    patterns = [cell.pattern for ranks in options.ranks for cell in cells_of(options, ranks)]
    return {
        "disk": 0 if options.store else max((p.file_bytes for p in patterns), default=0),
        "memory": max((p.file_bytes + p.ranks * (2 * p.memory_bytes + 128 * MEBIBYTE) for p in patterns), default=0),
    }


def cells_of(options: Options, ranks: int) -> list[Cell]:
    """Return the cells of one rank count: each sweep from the smallest value up, cells of one file together."""
    return [
        Cell(sweep, Pattern(ranks, count, size, spacing, case), direction, cache)
        for sweep in SWEEPS
        if sweep in options.sweeps
        for count, size, spacing, case in _points(options, sweep)
        for direction in options.directions
        for cache in options.caches
    ]


def _points(options: Options, sweep: str) -> Iterator[tuple[int, int, int, str]]:
    held = {"count": options.base_count, "size": options.base_size, "spacing": options.base_spacing}
    values = {"count": options.counts, "size": options.sizes, "spacing": options.spacings}[sweep]
    only = held["spacing"] if held["spacing"] in options.spacings else options.spacings[0]
    for value in sorted(set(values)):
        of = {**held, sweep: value}
        for case in CASES:
            # If all is contiguous, there is no spacing to vary: one bar, as in the paper's figure 6.
            if case in options.cases and not (case == "c-c" and sweep == "spacing" and value != only):
                yield of["count"], of["size"], of["spacing"], case


def _listed(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))

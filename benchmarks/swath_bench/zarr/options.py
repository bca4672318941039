"""The options of the Zarr benchmark."""

from __future__ import annotations

import dataclasses
import math

from swath.errors import ArgumentError

MIB = 1 << 20
VALUE_BYTES = 4
STORES = ("v3", "v3-zstd", "v3-blosc", "v3-sharded", "v2-blosc")
"""Version 3 without a compressor, with zstd, with blosc (lz4, shuffle), in shards (zstd, crc32c); version 2, blosc."""
PATTERNS = ("all", "chunks", "row", "column", "strided")
CACHES = ("cold", "warm")
PEERS = ("zarr", "zarrs", "tensorstore")
"""By their environments."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        bytes: bytes of the array without compression, rounded down to whole chunks.
        chunk: elements of a chunk along each of the two dimensions.
        stores: kinds of stores.
        patterns: the access patterns.
        caches: the store in the page cache before each read, or out of it.
        peers: names of environments.
        rounds: how often all programs are run, one after the other.
        repetitions: number of counted repetitions of each read within a round.
        seed: seed of the values, and of the chosen chunks, row and column.
    """

    bytes: int = 1 << 30
    chunk: int = 1024
    stores: tuple[str, ...] = STORES
    patterns: tuple[str, ...] = PATTERNS
    caches: tuple[str, ...] = CACHES
    peers: tuple[str, ...] = PEERS
    rounds: int = 3
    repetitions: int = 2
    seed: int = 1

    in_one_process = True
    """It starts no ranks, and needs no MPI."""

    def __post_init__(self) -> None:
        known = {"stores": STORES, "patterns": PATTERNS, "cache": CACHES, "peers": PEERS}
        for flag, expected in known.items():
            chosen = getattr(self, "caches" if flag == "cache" else flag)
            for value in chosen:
                if value not in expected:
                    raise ArgumentError(f'--{flag}: "{value}" is unknown: expected some of {", ".join(expected)}')
            if not chosen and flag != "peers":
                raise ArgumentError(f"--{flag}: expected some of {', '.join(expected)}")
        for flag in ("chunk", "rounds", "repetitions"):
            if getattr(self, flag) < 1:
                raise ArgumentError(f"--{flag} {getattr(self, flag)}: expected at least 1")
        if min(self.grid) < 2:
            least = 4 * VALUE_BYTES * self.chunk**2
            raise ArgumentError(
                f"--bytes {self.bytes}: expected at least {least}, four chunks of {self.chunk} × {self.chunk} numbers: "
                "give more, or a smaller --chunk"
            )

    @property
    def grid(self) -> tuple[int, int]:
        """Chunks along each dimension: about a square."""
        chunks = self.bytes // (VALUE_BYTES * self.chunk**2)
        columns = max(1, math.isqrt(chunks))
        return chunks // columns, columns

    @property
    def shape(self) -> tuple[int, int]:
        """Return the shape of the array, in elements."""
        rows, columns = self.grid
        return rows * self.chunk, columns * self.chunk


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests: Swath alone, which needs no network."""
    return Options(bytes=MIB, chunk=64, peers=(), rounds=2, repetitions=1)


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory: the array and one store; both in the page cache, and the result."""
    return {"disk": 2 * options.bytes + MIB, "memory": 4 * options.bytes + 512 * MIB}


def peer_names() -> tuple[str, ...]:
    """Return the peers that `--peers` without names selects: all."""
    return PEERS

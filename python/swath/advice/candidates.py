"""Possible layouts of an array: orders of its dimensions, and chunks in any storage. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from swath.array.coding_cost import CodingCost

Extents = tuple[int, ...]

ALL_ORDERS_DIMENSIONS_MAX = 5
"""Arrays of more dimensions are tried in C, F, and the orders that move one dimension to the end or the front."""
C_ONLY = ("netcdf-classic", "hdf5")
"""Formats that store contiguous arrays in C order only."""
STRIDED_FORMATS = ("raw", "npy", *C_ONLY)
FORMATS = (*STRIDED_FORMATS, "zarr")
SHARD_BYTES_MAX = 256 << 20
HDF5_CODECS = ("zlib", "gzip", "deflate", "shuffle", "fletcher32", "zstd", "blosc", "lz4")
ZARR_CODECS = ("zstd", "blosc", "gzip", "lz4", "zlib", "shuffle", "crc32c")
Codecs = tuple[str, ...]
PLAIN_COST = CodingCost(1.0)
"""For chunks without codecs."""


@dataclass(frozen=True)
class Storage:
    """The storage of chunks.

    Attributes:
        format: "hdf5": all in one file; "zarr": one file per chunk, or per shard.
        codecs: their names in the order of encoding.
        cost: the compression ratio of the codecs, and their time.
        is_sharded: whether chunks are in shards.
    """

    format: str = "hdf5"
    codecs: Codecs = ()
    cost: CodingCost = PLAIN_COST
    is_sharded: bool = False

    @property
    def is_plain(self) -> bool:
        """Return whether one file has each element at a known byte: every method of the planner can use it."""
        return self.format == "hdf5" and not self.codecs


PLAIN = Storage()


def storages(formats: Iterable[str], codecs: Mapping[Codecs, CodingCost]) -> list[Storage]:
    """Return the possible storages of chunks in the formats: uncompressed, and with each of the codecs at its cost."""
    found = []
    for kind, known in (("hdf5", HDF5_CODECS), ("zarr", ZARR_CODECS)):
        if kind not in formats:
            continue
        fitting = {names: cost for names, cost in codecs.items() if all(name in known for name in names)}
        for names, cost in {(): PLAIN_COST, **fitting}.items():
            found.append(Storage(kind, names, cost))
            if kind == "zarr":
                found.append(Storage(kind, names, cost, is_sharded=True))
    return found


@dataclass(frozen=True)
class Candidate:
    """A layout.

    Attributes:
        order: the dimensions from slowest to fastest; for chunks, the order of elements in a chunk: C.
        chunks: elements of a chunk along each dimension; None: contiguous.
        storage: of the chunks.
        shards: elements of a shard along each dimension; None: no shards.
    """

    order: Extents
    chunks: Extents | None = None
    storage: Storage = PLAIN
    shards: Extents | None = None

    @property
    def name(self) -> str:
        """As text: "C order", "order (2, 0, 1)", "chunks of 64 by 512", "..., zstd, in shards of 512 by 512"."""
        if self.chunks is not None:
            name = ", ".join(
                [f"chunks of {_by(self.chunks)}", *([f"{'+'.join(c)}"] if (c := self.storage.codecs) else [])]
            )
            if self.shards is not None:
                return f"{name}, in shards of {_by(self.shards)}"
            return f"{name}, a file each" if self.storage.format == "zarr" else name
        ascending = tuple(range(len(self.order)))
        if self.order == ascending:
            return "C order"
        return "F order" if self.order == ascending[::-1] else f"order {self.order}"

    def formats(self, among: Iterable[str] = FORMATS) -> tuple[str, ...]:
        """Return the formats that can store the layout."""
        return tuple(one for one in among if self._fits(one))

    def _fits(self, format: str) -> bool:  # noqa: A002
        if self.chunks is not None:
            return format == self.storage.format
        ascending = tuple(range(len(self.order)))
        if format == "npy":
            return self.order in (ascending, ascending[::-1])
        return format == "raw" or (format in C_ONLY and self.order == ascending)


def orders(ndim: int, formats: Sequence[str]) -> Iterator[Candidate]:
    """Yield contiguous layouts that one of the formats can store, C first."""
    dimensions = tuple(range(ndim))
    turned: Iterable[Extents] = itertools.permutations(dimensions)
    if ndim > ALL_ORDERS_DIMENSIONS_MAX:
        moved = [(*(e for e in dimensions if e != d), d) for d in dimensions]
        moved += [(d, *(e for e in dimensions if e != d)) for d in dimensions]
        turned = dict.fromkeys([dimensions, dimensions[::-1], *moved])
    for order in turned:
        candidate = Candidate(tuple(order))
        if candidate.formats(formats):
            yield candidate


def lengths(shape: Extents, accesses: Iterable[Extents]) -> list[list[int]]:
    """Return for each dimension the lengths of a chunk to try, ascending.

    They are powers of two; the whole and its parts by powers of two, which leave little or no padding at the edge; and
    the lengths of accesses, which then touch one chunk along the dimension.
    """
    taken = list(accesses)
    found = []
    for d, n in enumerate(shape):
        steps = range(max(n, 1).bit_length() + 1)
        of_dimension = {-(-max(n, 1) // 2**k) for k in steps} | {2**k for k in steps}
        of_dimension |= {one[d] for one in taken}
        found.append(sorted(length for length in of_dimension if 1 <= length <= max(n, 1)))
    return found


def neighbours(chunks: Extents, choices: Sequence[Sequence[int]]) -> Iterator[Extents]:
    """Yield chunks that differ by one step of the choices: longer or shorter along one dimension, or both at once."""
    places = [choice.index(length) for choice, length in zip(choices, chunks, strict=True)]

    def moved(steps: dict[int, int]) -> Extents | None:
        at = [place + steps.get(d, 0) for d, place in enumerate(places)]
        if any(not 0 <= place < len(choice) for place, choice in zip(at, choices, strict=True)):
            return None
        return tuple(choice[place] for place, choice in zip(at, choices, strict=True))

    dimensions = range(len(choices))
    single = [{d: step} for d in dimensions for step in (-1, 1)]
    exchanged = [{d: 1, e: -1} for d in dimensions for e in dimensions if d != e]
    for steps in (*single, *exchanged):
        found = moved(steps)
        if found is not None:
            yield found


def coarse(choices: Sequence[Sequence[int]], limits: tuple[int, int], most: int) -> list[Extents]:
    """Return chunk shapes with numbers of elements within `limits`: all of them, or about `most`, spread evenly.

    If there are too many, every second length along every dimension is left out, then every second of the rest.
    """
    step = 1
    while True:
        fewer = [sorted({*choice[::step], choice[-1], choice[0]}) for choice in choices]
        if math.prod(map(len, fewer)) <= 8 * most or max(map(len, fewer)) <= 2:
            found = [one for one in itertools.product(*fewer) if limits[0] <= math.prod(one) <= limits[1]]
            if len(found) <= most or max(map(len, fewer)) <= 2:
                return found
        step *= 2


def shards_of(shape: Extents, chunks: Extents, chunk_bytes: int) -> Extents | None:
    """Return the shape of a shard: as many chunks as fit into `SHARD_BYTES_MAX`; None if it would be one chunk."""
    counts = [-(-n // c) for n, c in zip(shape, chunks, strict=True)]
    taken = [1] * len(shape)
    while True:
        longest = max(range(len(shape)), key=lambda d: counts[d] / taken[d])
        more = min(2 * taken[longest], counts[longest])
        if more == taken[longest] or math.prod(taken) // taken[longest] * more * chunk_bytes > SHARD_BYTES_MAX:
            break
        taken[longest] = more
    if math.prod(taken) == 1:
        return None
    return tuple(c * t for c, t in zip(chunks, taken, strict=True))


def _by(extents: Extents) -> str:
    return " by ".join(map(str, extents))

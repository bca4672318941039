"""Finds the cheapest layouts without the price of every chunk shape."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from swath.advice import candidates
from swath.advice.candidates import PLAIN, Candidate, Extents, Storage
from swath.advice.pricing import Pricer

KEPT = 12
"""The number of layouts that are ranked; the price of a worse layout is not computed to the end."""
KEPT_OF_STORAGE = 3
"""The same for each other storage of chunks: compressed ones, files, shards."""
COARSE_MAX = 160
CHUNKS_MAX = 1 << 18
"""With more chunks, the table of an array is itself expensive."""
BEGINNINGS = 3
STEPS_MAX = 40


@dataclass(frozen=True)
class Priced:
    """A layout, and the seconds of each access, made once."""

    candidate: Candidate
    seconds: tuple[float, ...]
    total: float


class Search:
    """Prices layouts, each once, and keeps the best.

    Args:
        pricer: of the array's accesses.
    """

    def __init__(self, pricer: Pricer) -> None:
        self._pricer = pricer
        self._seen: set[Candidate] = set()
        self._best: dict[Storage, list[Priced]] = {}

    @property
    def priced(self) -> int:
        """Return the number of layouts that were tried."""
        return len(self._seen)

    @property
    def best(self) -> list[Priced]:
        """Return the best layouts, the cheapest first; of equal ones, the simpler first."""
        found = [one for of_storage in self._best.values() for one in of_storage]
        return sorted(found, key=lambda one: (one.total, one.candidate.chunks is not None))

    def look(self, some: Iterable[Candidate], *, keep: bool = False) -> None:
        """Price layouts that were not priced yet; `keep`: at any price."""
        for candidate in some:
            if candidate in self._seen:
                continue
            self._seen.add(candidate)
            best = self._best.setdefault(candidate.storage, [])
            kept = KEPT if candidate.storage == PLAIN else KEPT_OF_STORAGE
            most = math.inf if keep or len(best) < kept else best[kept - 1].total
            seconds = self._pricer.seconds(candidate, most)
            if seconds is not None:
                best.append(Priced(candidate, seconds, self._pricer.total(seconds)))
                best.sort(key=lambda one: (one.total, one.candidate.chunks is not None))

    def look_at_chunks(self, limits: tuple[int, int], storage: Storage = PLAIN) -> None:
        """Try chunk shapes within these limits: some of all shapes, then shapes near the best of them."""
        shape = self._pricer.shape
        choices = candidates.lengths(shape, (access.lengths for access in self._pricer.accesses))

        def wanted(some: Iterable[Extents]) -> list[Candidate]:
            fit = (one for one in some if limits[0] <= math.prod(one) <= limits[1])
            made = (self._candidate(one, storage) for one in fit if _chunk_count(shape, one) <= CHUNKS_MAX)
            return [one for one in made if one is not None]

        # The lengths of accesses come first: they are likely to be good, so that the others can be dropped early.
        self.look(wanted(access.lengths for access in self._pricer.accesses))
        self.look(wanted(candidates.coarse(choices, limits, COARSE_MAX)))
        for _ in range(STEPS_MAX):
            of_storage = [one.candidate.chunks for one in self._best.get(storage, [])]
            chunked = [chunks for chunks in of_storage if chunks is not None][:BEGINNINGS]
            before = self.priced
            for chunks in chunked:
                self.look(wanted(candidates.neighbours(chunks, choices)))
            if self.priced == before:
                return

    def _candidate(self, chunks: Extents, storage: Storage) -> Candidate | None:
        """Return the layout of such chunks; None if a shard would be one chunk."""
        shape = self._pricer.shape
        order = tuple(range(len(shape)))
        if not storage.is_sharded:
            return Candidate(order, chunks, storage)
        shards = candidates.shards_of(shape, chunks, math.prod(chunks) * self._pricer.itemsize)
        return None if shards is None else Candidate(order, chunks, storage, shards)


def _chunk_count(shape: Sequence[int], chunks: Sequence[int]) -> int:
    return math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True))

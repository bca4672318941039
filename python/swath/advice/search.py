"""The cheapest layouts, found without pricing every chunk shape that there is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from swath.advice import candidates
from swath.advice.candidates import Candidate, Extents
from swath.advice.pricing import Pricer

KEPT = 12
"""So many of the best are ranked; what is dearer is not priced to the end."""
COARSE_MAX = 160
CHUNKS_MAX = 1 << 18
"""An array of more chunks has a table that is itself worth a look."""
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
        self.best: list[Priced] = []

    @property
    def priced(self) -> int:
        """Return how many layouts were looked at."""
        return len(self._seen)

    def look(self, some: Iterable[Candidate], *, keep: bool = False) -> None:
        """Price those that were not priced yet; `keep`: whatever they cost."""
        for candidate in some:
            if candidate in self._seen:
                continue
            self._seen.add(candidate)
            most = math.inf if keep or len(self.best) < KEPT else self.best[KEPT - 1].total
            seconds = self._pricer.seconds(self._pricer.layout(candidate), most)
            if seconds is not None:
                self.best.append(Priced(candidate, seconds, self._pricer.total(seconds)))
        self.best.sort(key=lambda one: (one.total, one.candidate.chunks is not None))

    def look_at_chunks(self, limits: tuple[int, int]) -> None:
        """Look at chunk shapes of so many elements: some everywhere, then around the best of them."""
        shape = self._pricer.shape
        choices = candidates.lengths(shape, (access.lengths for access in self._pricer.accesses))
        order = tuple(range(len(shape)))

        def wanted(some: Iterable[Extents]) -> list[Candidate]:
            fit = (one for one in some if limits[0] <= math.prod(one) <= limits[1])
            return [Candidate(order, one) for one in fit if _chunk_count(shape, one) <= CHUNKS_MAX]

        # Those that accesses take at once are likely to be good, and let much of the rest be left early.
        self.look(wanted(access.lengths for access in self._pricer.accesses))
        self.look(wanted(candidates.coarse(choices, limits, COARSE_MAX)))
        for _ in range(STEPS_MAX):
            chunked = [one.candidate.chunks for one in self.best if one.candidate.chunks is not None][:BEGINNINGS]
            before = self.priced
            for chunks in chunked:
                self.look(wanted(candidates.neighbours(chunks, choices)))
            if self.priced == before:
                return


def _chunk_count(shape: Sequence[int], chunks: Sequence[int]) -> int:
    return math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True))

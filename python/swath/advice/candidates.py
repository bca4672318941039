"""Layouts that an array may be given: orders of its dimensions, and chunk shapes. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Extents = tuple[int, ...]

ALL_ORDERS_DIMENSIONS_MAX = 5
"""Of arrays of more dimensions C, F, and the orders that move one dimension to the end or the front are looked at."""
C_ONLY = ("netcdf-classic", "hdf5")
"""Formats that store contiguous arrays in C order alone."""
STRIDED_FORMATS = ("raw", "npy", *C_ONLY)
CHUNKED_FORMATS = ("hdf5",)
FORMATS = STRIDED_FORMATS


@dataclass(frozen=True)
class Candidate:
    """A layout.

    Attributes:
        order: the dimensions from slowest to fastest; of chunks, in which the elements of each lie: C.
        chunks: elements of a chunk along each dimension; None: contiguous.
    """

    order: Extents
    chunks: Extents | None = None

    @property
    def name(self) -> str:
        """For people: "C order", "order (2, 0, 1)", "chunks of 64 by 512"."""
        if self.chunks is not None:
            return f"chunks of {' by '.join(map(str, self.chunks))}"
        ascending = tuple(range(len(self.order)))
        if self.order == ascending:
            return "C order"
        return "F order" if self.order == ascending[::-1] else f"order {self.order}"

    def formats(self, among: Iterable[str] = FORMATS) -> tuple[str, ...]:
        """Return the formats that can store it."""
        return tuple(one for one in among if self._fits(one))

    def _fits(self, format: str) -> bool:  # noqa: A002
        if self.chunks is not None:
            return format in CHUNKED_FORMATS
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
    """Return for each dimension the lengths of a chunk that are worth a look, ascending.

    They are powers of two; the whole and its parts by powers of two, which leave little or no padding at the edge; and
    what accesses take at once, which then touch one chunk along the dimension.
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
    """Return chunk shapes whose numbers of elements lie within `limits`: all of them, or about `most`, spread evenly.

    Where there are too many every second length is left out along every dimension, then every second of these.
    """
    step = 1
    while True:
        fewer = [sorted({*choice[::step], choice[-1], choice[0]}) for choice in choices]
        if math.prod(map(len, fewer)) <= 8 * most or max(map(len, fewer)) <= 2:
            found = [one for one in itertools.product(*fewer) if limits[0] <= math.prod(one) <= limits[1]]
            if len(found) <= most or max(map(len, fewer)) <= 2:
                return found
        step *= 2

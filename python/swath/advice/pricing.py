"""Seconds of accesses with a layout that no file has yet: the planner's prices, from a store's profile."""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from swath import _core
from swath.advice.accesses import Operations
from swath.advice.candidates import Candidate, Extents
from swath.array import coding_cost
from swath.array.open_array import Array
from swath.errors import ArgumentError
from swath.formats.description import strides_of

Stripe = tuple[int, int, int]
Price = Callable[[str, _core.Decomposition], float]
"""A function: the seconds of a read or write, including the wait of the sync after it."""


@dataclass(frozen=True)
class Conditions:
    """The conditions for the prices.

    Attributes:
        profile: of the store.
        cached: the part of the read bytes that is in the page cache, 0 to 1.
        engine: the engine that moves the bytes.
        stripe: for a file in a pool: stripe unit, stripe count and object size; None: for a file system.
    """

    profile: _core.Profile
    cached: float = 0.0
    engine: str = "auto"
    stripe: Stripe | None = None


class Pricer:
    """Prices layouts of one array for its accesses.

    Args:
        shape: of the array.
        itemsize: bytes of an element.
        accesses: the accesses to price.
        conditions: of the store.
    """

    def __init__(
        self,
        shape: Extents,
        itemsize: int,
        accesses: Sequence[Operations],
        conditions: Conditions,
    ) -> None:
        self.shape = shape
        self.itemsize = itemsize
        self.accesses = tuple(accesses)
        self.conditions = conditions
        self.cached = conditions.cached
        self._learning = _core.Learning(conditions.profile, True)
        # An engine reports its capabilities for an open file; nothing is read from the file.
        with tempfile.NamedTemporaryFile() as file:
            self._file = _core.open_file(file.name, "r", _core.FileOptions(conditions.engine))

    def of_accesses(self, accesses: Sequence[Operations]) -> Pricer:
        """Return a pricer of the same array and conditions for other accesses."""
        other = Pricer.__new__(Pricer)
        other.__dict__.update(self.__dict__)
        other.accesses = tuple(accesses)
        return other

    def with_stripe(self, stripe: Stripe) -> Pricer:
        """Return a pricer of the same accesses to a file in a pool with another striping."""
        other = self.of_accesses(self.accesses)
        other.conditions = dataclasses.replace(self.conditions, stripe=stripe)
        return other

    def seconds(self, candidate: Candidate, most: float = math.inf) -> tuple[float, ...] | None:
        """Return the seconds of each access, made once; for a write, including the wait of a sync after it.

        Return None if all accesses, with their frequencies, take more than `most`.
        """
        return self._seconds(self._price_of(candidate), most)

    def seconds_by_layout(self, layout: _core.Layout) -> tuple[float, ...]:
        """Return the same for a layout of the core."""
        seconds = self._seconds(self._price_by_layout(layout))
        assert seconds is not None
        return seconds

    def seconds_now(self, array: Array) -> tuple[float, ...]:
        """Return the same for the layout of an open array. Raise ArgumentError if Swath does not plan its bytes."""
        form, core = array._form, array._core
        if not core.has_plans and not core.goes_by_chunks("read"):
            raise ArgumentError(f"{array.path}: {array.layout}: a format's own library reads it, which has no prices")
        coding = coding_cost.of_array(array)
        seconds_of_coding = None if coding is None else coding.seconds

        def price(direction: str, decomposition: _core.Decomposition) -> float:
            operation = _core.Operation(form, direction, decomposition)
            plan = (
                core.explain(operation, self.cached)
                if core.has_plans
                else core.explain_chunks(operation, self.cached, seconds_of_coding)
            )
            return float(plan.price["seconds"] + plan.price["sync"])

        seconds = self._seconds(price)
        assert seconds is not None
        return seconds

    def total(self, seconds: Sequence[float]) -> float:
        """Return the seconds of all accesses with their frequencies."""
        return sum(one * access.times for one, access in zip(seconds, self.accesses, strict=True))

    def _seconds(self, price: Price, most: float = math.inf) -> tuple[float, ...] | None:
        seconds: list[float] = []
        left = most
        for access in self.accesses:
            mean = 0.0
            for part, decomposition in zip(access.parts, access.decompositions, strict=True):
                one = price(access.direction, decomposition) * part
                mean += one
                left -= one * access.times
                if left < 0:
                    return None
            seconds.append(mean)
        return tuple(seconds)

    def _price_of(self, candidate: Candidate) -> Price:
        if candidate.chunks is None:
            strides = strides_of(self.shape, self.itemsize, candidate.order)
            return self._price_by_layout(_core.Layout.strided(self.shape, self.itemsize, 0, strides))
        if candidate.storage.is_plain:
            return self._price_by_layout(_core.Layout.tiled(self.shape, self.itemsize, candidate.chunks, 0))
        return self._price_by_chunks(candidate)

    def _price_by_layout(self, layout: _core.Layout) -> Price:
        form = _core.ArrayForm("advice", self.shape, self.itemsize, layout)
        if self.conditions.stripe is not None:
            return self._price_in_pool(form, self.conditions.stripe)
        given = {"name": "advice", "learning": self._learning, "is_new": True}
        array = _core.Array(_core.solo_comm(), self._file, form, b"", given)

        def price(direction: str, decomposition: _core.Decomposition) -> float:
            found = array.explain(_core.Operation(form, direction, decomposition), self.cached).price
            return float(found["seconds"] + found["sync"])

        return price

    def _price_in_pool(self, form: _core.ArrayForm, stripe: Stripe) -> Price:
        def price(direction: str, decomposition: _core.Decomposition) -> float:
            operation = _core.Operation(form, direction, decomposition)
            found = _core.make_plan(operation, self.conditions.profile, stripe).price
            return float(found["seconds"] + found["sync"])

        return price

    def _price_by_chunks(self, candidate: Candidate) -> Price:
        assert candidate.chunks is not None
        storage = candidate.storage
        shards = candidate.shards or candidate.chunks
        codecs = (list(storage.codecs), storage.cost.ratio)
        is_table = storage.format == "hdf5"
        chunks = _core.NewChunks(self.shape, self.itemsize, candidate.chunks, shards, codecs, is_table)

        def price(direction: str, decomposition: _core.Decomposition) -> float:
            plan = chunks.plan(direction, decomposition, self.conditions.profile, self.cached, storage.cost.seconds)
            found = plan.price
            return float(found["seconds"] + found["sync"])

        return price

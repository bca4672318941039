"""The checked question: one array or several, and the conditions that they share."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from swath import _core
from swath.advice import candidates
from swath.advice.accesses import Operations
from swath.advice.candidates import PLAIN, Codecs
from swath.advice.pricing import Conditions, Pricer, Stripe
from swath.advice.search import Search
from swath.array.coding_cost import CodingCost
from swath.base import stored_path
from swath.base.memory_budget import memory_bytes
from swath.errors import ArgumentError
from swath.store import profile

Extents = tuple[int, ...]
STRIPES: tuple[Stripe, ...] = tuple((unit << 10, 4, 4 << 20) for unit in (64, 256, 1024, 4096))
"""Stripings of a file in a pool, the default first: small units distribute short accesses over the servers, large units
cut fewer accesses."""


@dataclass(frozen=True)
class Form:
    """An array: its shape, and the dtype of its elements."""

    shape: Extents
    dtype: np.dtype[Any]

    @property
    def itemsize(self) -> int:
        """Return the bytes of an element."""
        return int(self.dtype.itemsize)


@dataclass(frozen=True)
class Question:
    """The facts that all arrays of a question share.

    Attributes:
        conditions: the conditions for the prices.
        formats: the formats that may store the arrays.
        chunk_bytes: the least and most bytes of a chunk.
        codecs: the codecs for chunks, with their ratios and the cost of coding.
    """

    conditions: Conditions
    formats: tuple[str, ...]
    chunk_bytes: tuple[int | str, int | str]
    codecs: Mapping[Codecs, CodingCost]

    def pricer(self, form: Form, accesses: Sequence[Operations]) -> Pricer:
        """Return the pricer for accesses to the array."""
        return Pricer(form.shape, form.itemsize, accesses, self.conditions)

    def search(self, pricer: Pricer) -> Search:
        """Return the best layouts for the pricer's accesses. Raise ArgumentError if there are none."""
        search = Search(pricer)
        search.look(candidates.orders(len(pricer.shape), self.formats), keep=True)
        limits = self._elements(pricer)
        for storage in candidates.storages(self.formats, self.codecs):
            search.look_at_chunks(limits, storage)
        if not search.best:
            raise ArgumentError(
                f"advise_layout: no layout that {', '.join(self.formats)} can store has chunks of {self.chunk_bytes}"
            )
        return search

    def may_have_chunks(self) -> bool:
        """Return whether uncoded chunks in one file are among the layouts."""
        return PLAIN in candidates.storages(self.formats, {})

    def _elements(self, pricer: Pricer) -> tuple[int, int]:
        """Return the least and most elements of a chunk: the whole array may be smaller."""
        least, most = (memory_bytes(one) for one in self.chunk_bytes)
        if least > most:
            raise ArgumentError(f"advise_layout: chunk_bytes {self.chunk_bytes!r}: expected the least, then the most")
        return min(max(least // pricer.itemsize, 1), math.prod(pricer.shape)), max(most // pricer.itemsize, 1)


def checked_formats(formats: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of formats. Raise ArgumentError for unknown names."""
    kinds = (formats,) if isinstance(formats, str) else tuple(formats)
    unknown = [kind for kind in kinds if kind not in candidates.FORMATS]
    if unknown or not kinds:
        raise ArgumentError(
            f"advise_layout: formats {formats!r}: expected some of {', '.join(map(repr, candidates.FORMATS))}"
        )
    return kinds


def stripe_of(store: Any) -> Stripe | None:
    """Return the default striping of new files in a pool; None if the store is no pool."""
    return STRIPES[0] if isinstance(store, (str, os.PathLike)) and stored_path.of(os.fspath(store)).is_striped else None


def profile_of(store: Any, engine: str) -> _core.Profile:
    """Return the profile of a store: of a path there, or a given profile."""
    if isinstance(store, _core.Profile):
        return store
    if isinstance(store, profile.StoredProfile):
        return store.core
    if store is not None and not isinstance(store, (str, bytes, os.PathLike)):
        raise ArgumentError(f"advise_layout: store {store!r}: expected a path")
    if store is None and not engine.startswith(profile.MODELLED):
        return _core.default_profile()
    found = profile.for_path("." if store is None else os.fsdecode(store), engine)
    return _core.default_profile() if found is None else found.core

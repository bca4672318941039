"""What advice is asked for, checked: one array, or several, and the conditions that are common to them."""

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
"""How a file in a pool may be striped, the usual way first: small units share short accesses out over the servers, and
large ones cut fewer of them."""


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
    """What is common to all arrays that advice is asked for.

    Attributes:
        conditions: that accesses are priced under.
        formats: that may store them.
        chunk_bytes: the least and most bytes of a chunk.
        codecs: that may compress chunks, with their ratios and what coding costs.
    """

    conditions: Conditions
    formats: tuple[str, ...]
    chunk_bytes: tuple[int | str, int | str]
    codecs: Mapping[Codecs, CodingCost]

    def pricer(self, form: Form, accesses: Sequence[Operations]) -> Pricer:
        """Return what prices accesses of the array."""
        return Pricer(form.shape, form.itemsize, accesses, self.conditions)

    def search(self, pricer: Pricer) -> Search:
        """Return the best layouts for the pricer's accesses. Raise ArgumentError where there are none."""
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
        """Return whether chunks that no codec touches, in one file, are among the layouts."""
        return PLAIN in candidates.storages(self.formats, {})

    def _elements(self, pricer: Pricer) -> tuple[int, int]:
        """Return the least and most elements of a chunk: the array alone may be less."""
        least, most = (memory_bytes(one) for one in self.chunk_bytes)
        if least > most:
            raise ArgumentError(f"advise_layout: chunk_bytes {self.chunk_bytes!r}: expected the least, then the most")
        return min(max(least // pricer.itemsize, 1), math.prod(pricer.shape)), max(most // pricer.itemsize, 1)


def checked_formats(formats: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of formats. Raise ArgumentError for what is none."""
    kinds = (formats,) if isinstance(formats, str) else tuple(formats)
    unknown = [kind for kind in kinds if kind not in candidates.FORMATS]
    if unknown or not kinds:
        raise ArgumentError(
            f"advise_layout: formats {formats!r}: expected some of {', '.join(map(repr, candidates.FORMATS))}"
        )
    return kinds


def stripe_of(store: Any) -> Stripe | None:
    """Return how new files in a pool are striped unless something else is asked for; None where it is none."""
    return STRIPES[0] if isinstance(store, (str, os.PathLike)) and stored_path.of(os.fspath(store)).is_striped else None


def profile_of(store: Any, engine: str) -> _core.Profile:
    """Return the profile of a store: of the path of a file there, or one that is given."""
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

"""`swath.advise_layout`: from accesses, a shape and a store to the layouts that suit them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from swath import _core
from swath.advice import accesses as made
from swath.advice import candidates
from swath.advice.pricing import Conditions, Pricer
from swath.advice.result import LayoutAdvice, Payback, ranked
from swath.advice.search import Search
from swath.array import layouts
from swath.array.open_array import Array
from swath.copying import explain_copy
from swath.copying.request import memory_bytes
from swath.errors import ArgumentError
from swath.formats.description import checked_dtype, checked_shape
from swath.ranks.compared import effective_engine
from swath.store import profile


def advise_layout(
    accesses: Any,
    shape: int | Sequence[int],
    dtype: npt.DTypeLike,
    *,
    store: Any = None,
    ranks: int = 1,
    cached: float = 0.0,
    formats: str | Sequence[str] = candidates.FORMATS,
    chunk_bytes: tuple[int | str, int | str] = ("64KiB", "64MiB"),
    engine: str | None = None,
) -> LayoutAdvice:
    """Find the layout that makes accesses of an array cheapest. Local; no file is opened or made.

    Layouts are priced by the planner, which prices every operation of Swath so, with the profile of the store: orders
    of the dimensions (all of up to 5), and chunk shapes made of powers of two, parts of the whole and what accesses
    take at once. The idea: Sarawagi and Stonebraker, Efficient Organization of Large Multidimensional Arrays (1994);
    file layouts from accesses: Kandaswamy et al., An Experimental Evaluation of I/O Optimizations on Different
    Applications (2002), section 3.3.

    Args:
        accesses: one or several, each a text such as "[:, j]:10" (ten reads of any column; see docs/layout.md) or a
            `swath.Access`; or a mapping, or pairs, of these to how often each is made.
        shape: in elements.
        dtype: of an element.
        store: where the file is to be: a path there, whose profile (`swath calibrate`) prices; by default stated
            defaults.
        ranks: that divide the array in texts with block or cyclic.
        cached: the part of what is read that is in the page cache, 0 to 1.
        formats: one or several of "raw", "npy", "netcdf-classic" and "hdf5": layouts that none of them can store are
            left out.
        chunk_bytes: the least and most bytes of a chunk.
        engine: what will move the bytes, see `swath.open`; a modelled disk has a profile of its own
            (`swath calibrate --engine`).

    Raises:
        ArgumentError: an access, shape, dtype or format that cannot be.
    """
    lengths, element = checked_shape(shape), checked_dtype(dtype)
    kinds = _formats(formats)
    if not lengths or 0 in lengths:
        raise ArgumentError(f"advise_layout: shape {lengths}: an array of no elements, or one, has no layout to choose")
    if not isinstance(ranks, int) or ranks < 1:
        raise ArgumentError(f"advise_layout: ranks {ranks!r}: expected at least 1")
    if not isinstance(cached, (int, float)) or not 0 <= cached <= 1:
        raise ArgumentError(f"advise_layout: cached {cached!r}: expected a part, 0 to 1")
    asked = made.checked(accesses, ranks, lengths)
    if not asked:
        raise ArgumentError("advise_layout: no accesses: say what the program reads and writes")
    conditions = Conditions(_profile(store, effective_engine(engine)), float(cached), effective_engine(engine))
    pricer = Pricer(lengths, element.itemsize, asked, conditions)
    search = Search(pricer)
    search.look(candidates.orders(len(lengths), kinds), keep=True)
    if set(kinds) & set(candidates.CHUNKED_FORMATS):
        search.look_at_chunks(_elements(chunk_bytes, element.itemsize, math.prod(lengths)))
    if not search.best:
        raise ArgumentError(f"advise_layout: no layout that {', '.join(kinds)} can store has chunks of {chunk_bytes}")
    return LayoutAdvice(
        lengths,
        element,
        tuple((one.text, one.times) for one in asked),
        tuple(ranked(one.candidate, kinds, one.seconds, one.total) for one in search.best),
        float(cached),
        conditions.profile.source,
        search.priced,
    )


def payback(advice: LayoutAdvice, accesses: Any, array: Array, target: Any, *, ranks: int = 1) -> Payback:
    """Return what a copy of `array` to `target` in the advised layout costs and gains. Local.

    Args:
        advice: for the array's accesses.
        accesses: as they were given to `advise_layout`.
        array: that is open, by this process alone.
        target: the file that the copy would make.
        ranks: as given to `advise_layout`.

    Raises:
        ArgumentError: an array whose bytes no plan reaches (coded chunks), or of another shape.
    """
    form = layouts.plain_layout(array._description)
    if form is None or array.shape != advice.shape:
        raise ArgumentError(
            f"{array.path}: expected an array of shape {advice.shape} that is not compressed, not {array.layout} of "
            f"{array.shape}"
        )
    asked = made.checked(accesses, ranks, advice.shape)
    engine = effective_engine(array._file.options.engine)
    conditions = Conditions(_profile(array.path, engine), advice.cached, engine)
    pricer = Pricer(advice.shape, array.dtype.itemsize, asked, conditions)
    seconds = pricer.seconds(form)
    assert seconds is not None
    copied = explain_copy(array, target, **advice.best.creation)
    return Payback(copied.plan.seconds, pricer.total(seconds), advice.best.total)


def _formats(formats: str | Sequence[str]) -> tuple[str, ...]:
    kinds = (formats,) if isinstance(formats, str) else tuple(formats)
    unknown = [kind for kind in kinds if kind not in candidates.FORMATS]
    if unknown or not kinds:
        raise ArgumentError(
            f"advise_layout: formats {formats!r}: expected some of {', '.join(map(repr, candidates.FORMATS))}"
        )
    return kinds


def _profile(store: Any, engine: str) -> _core.Profile:
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


def _elements(chunk_bytes: tuple[int | str, int | str], itemsize: int, elements: int) -> tuple[int, int]:
    """Return the least and most elements of a chunk: the array alone may be less."""
    least, most = (memory_bytes(one) for one in chunk_bytes)
    if least > most:
        raise ArgumentError(f"advise_layout: chunk_bytes {chunk_bytes!r}: expected the least, then the most")
    return min(max(least // itemsize, 1), elements), max(most // itemsize, 1)

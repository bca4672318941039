"""`swath.advise_layout`: finds the best layouts from accesses, shapes and a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy.typing as npt

from swath.advice import accesses as made
from swath.advice import candidates, compression, coupling, from_recorded
from swath.advice.accesses import Operations
from swath.advice.joint import JointAdvice
from swath.advice.pricing import Conditions, Stripe
from swath.advice.question import STRIPES, Form, Question, checked_formats, profile_of, stripe_of
from swath.advice.result import LayoutAdvice, Payback, ranked
from swath.advice.search import Search
from swath.advice.together import Computation, advise_together, payback_together
from swath.array.open_array import Array
from swath.array.recording import Recorded
from swath.base.memory_budget import memory_bytes
from swath.base.stored_path import PathInPool
from swath.copying import explain_copy
from swath.errors import ArgumentError
from swath.formats.description import checked_dtype, checked_shape
from swath.ranks.compared import effective_engine

CHUNK_BYTES = ("64KiB", "64MiB")


@overload
def advise_layout(accesses: Any, shape: int | Sequence[int], dtype: npt.DTypeLike, **options: Any) -> LayoutAdvice: ...
@overload
def advise_layout(
    accesses: Any,
    shape: Mapping[str, int | Sequence[int]],
    dtype: npt.DTypeLike | Mapping[str, npt.DTypeLike],
    **options: Any,
) -> JointAdvice: ...
@overload
def advise_layout(
    accesses: Any, shape: Any = None, dtype: Any = None, **options: Any
) -> LayoutAdvice | JointAdvice: ...
def advise_layout(  # type: ignore[misc]  # options are checked here, not by the overloads
    accesses: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    store: Any = None,
    ranks: int = 1,
    cached: float = 0.0,
    formats: str | Sequence[str] = candidates.FORMATS,
    chunk_bytes: tuple[int | str, int | str] = CHUNK_BYTES,
    codecs: Any = None,
    sample: Any = None,
    memory: int | str = "256MiB",
    engine: str | None = None,
) -> LayoutAdvice | JointAdvice:
    """Find the layout with the cheapest accesses to an array; for several arrays, together. Local.

    No file is opened or made. The planner prices the layouts, as it prices every operation of Swath, with the profile
    of
    the store: orders of the dimensions (all, for up to 5), and chunk shapes of powers of two, of parts of the whole,
    and of the lengths of accesses; chunks in one file, in files, in shards, compressed or not. The idea: Sarawagi and
    Stonebraker, Efficient Organization of Large Multidimensional Arrays (1994); file layouts from accesses: Kandaswamy
    et al., An Experimental Evaluation of I/O Optimizations on Different Applications (2002), section 3.3.

    Args:
        accesses: one or several, each a text such as "[:, j]:10" (ten reads of any column; see docs/layout.md) or a
            `swath.Access`; or a mapping, or pairs, of these to their frequencies; or the result of `swath.recorded`.
            For several arrays "B [:, j]:10", and statements that couple them: "C[i, j] = A[i, k] * B[k, j]".
        shape: in elements; for several arrays, a mapping of their names to shapes. Recorded accesses have their own.
        dtype: of an element; for several arrays one dtype, or a mapping.
        store: the place of the file: a path there, whose profile (`swath calibrate`) gives the prices; the default is a
            documented standard profile. In a pool ("rados:POOL/NAME") stripe units are priced, too.
        ranks: the number of ranks for texts with block or cyclic.
        cached: the part of the read bytes that is in the page cache, 0 to 1.
        formats: one or several of "raw", "npy", "netcdf-classic", "hdf5" and "zarr": layouts that none of them can
            store are excluded.
        chunk_bytes: the least and most bytes of a chunk (of its elements, not compressed).
        codecs: that may compress chunks: names ("zstd", "shuffle+zlib") to ratios, bytes of elements to stored bytes;
            or names alone, whose ratios are measured on the `sample`. The default is the codecs of the `sample`.
        sample: elements like those of the array: an ndarray, or an open array, part of which is read. The cost of
            coding is measured on it; without a sample, the profile gives it.
        memory: bytes, or "64MiB": the memory of the tiles of all arrays of a statement together.
        engine: the engine that will move the bytes, see `swath.open`; a modelled disk has its own profile
            (`swath calibrate --engine`).

    Returns:
        A `LayoutAdvice`; for several arrays a `JointAdvice`, which has one for each name.

    Raises:
        ArgumentError: an impossible access, shape, dtype, format or codec; no tiles fit into `memory`.
    """
    if not isinstance(ranks, int) or ranks < 1:
        raise ArgumentError(f"advise_layout: ranks {ranks!r}: expected at least 1")
    if not isinstance(cached, (int, float)) or not 0 <= cached <= 1:
        raise ArgumentError(f"advise_layout: cached {cached!r}: expected a part, 0 to 1")
    kinds, moving = checked_formats(formats), effective_engine(engine)
    stripe = stripe_of(store)
    if stripe is not None:
        kinds = tuple(kind for kind in kinds if kind in PathInPool.formats)
        if not kinds:
            raise ArgumentError(f"advise_layout: a pool holds {', '.join(PathInPool.formats)}, not {formats!r}")
    conditions = Conditions(profile_of(store, moving), float(cached), moving, stripe)
    question = Question(conditions, kinds, chunk_bytes, compression.costs(codecs, sample))
    computation = _computation(accesses, shape, dtype, ranks)
    if isinstance(computation, Computation):
        return advise_together(question, computation, memory_bytes(memory))
    form, asked = computation
    if not asked:
        raise ArgumentError("advise_layout: no accesses: say what the program reads and writes")
    return advise_operations(question, form, asked)


def payback_of_several(
    advice: JointAdvice, accesses: Any, present: Mapping[str, tuple[Array, str]], *, ranks: int = 1
) -> Payback:
    """Return the cost and the gain of copying some of the arrays into their advised layouts. Local.

    Args:
        advice: for the computation.
        accesses: the argument of `advise_layout`.
        present: for names of the advice, an array that only this process has open, and the file for the copy.
        ranks: the argument of `advise_layout`.
    """
    array, _ = next(iter(present.values()))
    engine = effective_engine(array._stored.file.asked_engine)
    conditions = Conditions(profile_of(array.path, engine), next(iter(advice.arrays.values())).cached, engine)
    question = Question(conditions, candidates.FORMATS, CHUNK_BYTES, {})
    forms = {name: Form(one.shape, one.dtype) for name, one in advice.arrays.items()}
    return payback_together(advice, question, _several(accesses, forms, ranks), present)


def _computation(accesses: Any, shape: Any, dtype: Any, ranks: int) -> Computation | tuple[Form, list[Operations]]:
    """Return the question about one array, or about several. Raise ArgumentError."""
    if isinstance(accesses, Recorded):
        if shape is not None or dtype is not None:
            raise ArgumentError("advise_layout: what was recorded says shape and dtype; leave them out")
        return _recorded(accesses)
    if isinstance(shape, Mapping):
        forms = {name: _form(one, dtype[name] if isinstance(dtype, Mapping) else dtype) for name, one in shape.items()}
        return _several(accesses, forms, ranks)
    if shape is None or isinstance(dtype, Mapping):
        raise ArgumentError("advise_layout: say the array's shape and dtype; of several arrays shapes by their names")
    form = _form(shape, dtype)
    return form, made.checked(accesses, ranks, form.shape)


def _recorded(recorded: Recorded) -> Computation | tuple[Form, list[Operations]]:
    found = [one for one in recorded.arrays if one.operations]
    if not found:
        raise ArgumentError("advise_layout: nothing was recorded; what it sees it knows when its block has ended")
    forms = [_form(one.shape, one.dtype) for one in found]
    asked = [from_recorded.accesses_of(one) for one in found]
    if len(found) == 1:
        return forms[0], asked[0]
    names = [one.name if sum(one.name == each.name for each in found) == 1 else one.path for one in found]
    return Computation(dict(zip(names, forms, strict=True)), (), dict(zip(names, asked, strict=True)))


def _several(accesses: Any, forms: dict[str, Form], ranks: int) -> Computation:
    """Return statements, and the accesses of each array. Raise ArgumentError for accesses to unknown arrays."""
    several = made.as_list(accesses)
    texts = [one for one, _ in several]
    coupled = [isinstance(one, str) and "=" in one for one in texts]
    statements = []
    for (text, times), is_coupling in zip(several, coupled, strict=True):
        if is_coupling:
            statements.append(coupling.parse_statement(f"{text}:{times:g}" if times != 1 else text))
    others = [one for one, is_coupling in zip(several, coupled, strict=True) if not is_coupling]
    asked = {name: made.checked(others, ranks, form.shape, name) for name, form in forms.items()}
    named = {made.array_of(one, ranks) for one, _ in others}
    if unknown := sorted(named - set(forms)):
        raise ArgumentError(
            f'advise_layout: an access of "{unknown[0]}": expected one of {", ".join(forms)} before its "["'
        )
    return Computation(forms, tuple(statements), asked)


def _form(shape: Any, dtype: Any) -> Form:
    lengths, element = checked_shape(shape), checked_dtype(dtype)
    if not lengths or 0 in lengths:
        raise ArgumentError(f"advise_layout: shape {lengths}: an array of no elements, or one, has no layout to choose")
    return Form(lengths, element)


def advise_operations(question: Question, form: Form, asked: Sequence[Operations]) -> LayoutAdvice:
    """Return the best layouts of one array for its operations."""
    search = question.search(question.pricer(form, asked))
    stripes = _stripes(question, search, form, asked)
    return LayoutAdvice(
        form.shape,
        form.dtype,
        tuple((one.text, one.times) for one in asked),
        tuple(ranked(one, question.formats, form.shape, form.itemsize) for one in search.best),
        question.conditions.cached,
        question.conditions.profile.source,
        search.priced,
        min(stripes, key=lambda one: one[1])[0] if stripes else None,
        stripes,
    )


def _stripes(
    question: Question, search: Search, form: Form, asked: Sequence[Operations]
) -> tuple[tuple[Stripe, float], ...]:
    """Return possible stripings of a file in a pool, with the seconds of all accesses with the best layout."""
    if question.conditions.stripe is None:
        return ()
    pricer, best = question.pricer(form, asked), search.best[0].candidate
    priced = []
    for stripe in STRIPES:
        striped = pricer.with_stripe(stripe)
        seconds = striped.seconds(best)
        assert seconds is not None
        priced.append((stripe, striped.total(seconds)))
    return tuple(priced)


def payback(advice: LayoutAdvice, accesses: Any, array: Array, target: Any, *, ranks: int = 1) -> Payback:
    """Return the cost and the gain of a copy of `array` to `target` in the advised layout. Local.

    Args:
        advice: for the array's accesses.
        accesses: the argument of `advise_layout`.
        array: an array that only this process has open.
        target: the file that the copy would make.
        ranks: the argument of `advise_layout`.

    Raises:
        ArgumentError: an array that only a format's library can read, or an array of another shape.
    """
    if array.shape != advice.shape:
        raise ArgumentError(f"{array.path}: expected an array of shape {advice.shape}, not {array.shape}")
    asked = (
        _recorded(accesses) if isinstance(accesses, Recorded) else (None, made.checked(accesses, ranks, array.shape))
    )
    assert isinstance(asked, tuple)
    engine = effective_engine(array._stored.file.asked_engine)
    conditions = Conditions(profile_of(array.path, engine), advice.cached, engine)
    question = Question(conditions, advice.best.formats, (1, 1), {})
    pricer = question.pricer(Form(array.shape, array.dtype), asked[1])
    copied = explain_copy(array, target, overwrite=True, **{"chunks": (), **advice.best.creation})
    return Payback(copied.plan.seconds, pricer.total(pricer.seconds_now(array)), advice.best.total)

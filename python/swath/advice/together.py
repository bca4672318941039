"""Layouts of several arrays, and the tiles that couple them, chosen together.

For given tiles, arrays do not depend on each other: each gets the layout with its cheapest tiles. So the tilings of the
statements are compared, with every array in a layout that is likely to be good (an order, or chunks that are a tile);
then the layouts of all arrays are searched for the best of these tilings.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from swath.advice import candidates, coupling
from swath.advice.accesses import Operations
from swath.advice.candidates import PLAIN, Candidate, Extents, Storage
from swath.advice.coupling import Statement, Tiling, Transfer
from swath.advice.joint import JointAdvice, JointPayback, Tiles
from swath.advice.pricing import Pricer
from swath.advice.question import Form, Question
from swath.advice.result import LayoutAdvice, ranked
from swath.array.open_array import Array
from swath.base.memory_budget import memory_bytes
from swath.copying import explain_copy
from swath.errors import ArgumentError
from swath.space import Selection

FINALISTS = 4
"""The number of best tilings for which the arrays' layouts are searched."""
ROUNDS_MAX = 4
PARTS = (0.13, 0.61)
"""The places of priced tiles, as parts of each dimension."""

Way = tuple[Tiling, ...]
"""The tiling of each of the statements."""


@dataclass(frozen=True)
class Computation:
    """The arrays of a computation and their uses.

    Attributes:
        forms: of the arrays, by their names.
        statements: that couple them.
        accesses: other accesses of each array.
    """

    forms: Mapping[str, Form]
    statements: tuple[Statement, ...]
    accesses: Mapping[str, Sequence[Operations]]


class Ways:
    """The tilings of the statements, with prices.

    Args:
        question: the facts that the arrays share.
        computation: the computation.
        memory: the bytes for the tiles of one statement.
        present: arrays that keep their layouts.
        c_only: every other array is in C order.
    """

    def __init__(
        self,
        question: Question,
        computation: Computation,
        memory: int,
        *,
        present: Mapping[str, Array] | None = None,
        c_only: bool = False,
    ) -> None:
        self.question = question
        self.computation = computation
        self._present = dict(present or {})
        self._c_only = c_only
        self.shapes = {name: form.shape for name, form in computation.forms.items()}
        itemsizes = {name: form.itemsize for name, form in computation.forms.items()}
        self._pricers = {name: question.pricer(form, ()) for name, form in computation.forms.items()}
        self._tilings = [coupling.tilings(one, self.shapes, itemsizes, memory) for one in computation.statements]
        self._transfers: dict[tuple[Statement, Tiling], list[Transfer]] = {}
        self._priced: dict[tuple[str, str, Extents, Candidate | None], float] = {}
        self._beside: dict[tuple[str, Candidate | None], float] = {}

    def best(self, count: int) -> list[tuple[float, Way]]:
        """Return the cheapest tilings, with the seconds of each; without statements, the seconds of all accesses."""
        statements = range(len(self._tilings))
        way: list[Tiling | None] = [None] * len(self._tilings)
        for n in statements:  # each on its own
            way[n] = min(self._tilings[n], key=lambda one: self._seconds(self._with([None] * len(way), n, one)))
        seen: dict[Way, float] = {}
        for _ in range(ROUNDS_MAX):
            before = list(way)
            for n in statements:
                for one in self._tilings[n]:
                    tried = self._with(way, n, one)
                    seen[tuple(t for t in tried if t is not None)] = self._seconds(tried)
                way[n] = min(self._tilings[n], key=lambda one: self._seconds(self._with(way, n, one)))
            if way == before:
                break
        if not self._tilings:
            return [(self._seconds([]), ())]
        return sorted(((seconds, one) for one, seconds in seen.items()), key=lambda one: one[0])[:count]

    @staticmethod
    def _with(way: Sequence[Tiling | None], n: int, tiling: Tiling) -> list[Tiling | None]:
        return [*way[:n], tiling, *way[n + 1 :]]

    def transfers(self, way: Sequence[Tiling | None], name: str) -> list[Transfer]:
        """Return the transfers of an array."""
        found: list[Transfer] = []
        for statement, tiling in zip(self.computation.statements, way, strict=True):
            if tiling is None:
                continue
            key = (statement, tiling)
            if key not in self._transfers:
                self._transfers[key] = coupling.transfers(statement, tiling, self.shapes)
            found += [one for one in self._transfers[key] if one.array == name]
        return found

    def operations(self, way: Sequence[Tiling | None], name: str) -> list[Operations]:
        """Return all operations on an array."""
        shape = self.shapes[name]
        return [*self.computation.accesses[name], *(_operations(one, shape) for one in self.transfers(way, name))]

    def pricer(self, way: Way, name: str) -> Pricer:
        """Return the pricer for all operations on an array."""
        return self._pricers[name].of_accesses(self.operations(way, name))

    def _seconds(self, way: Sequence[Tiling | None]) -> float:
        """Return the seconds of all arrays, each in the best of a few layouts."""
        return sum(self._seconds_of(name, self.transfers(way, name)) for name in self.shapes)

    def _seconds_of(self, name: str, moved: Sequence[Transfer]) -> float:
        if not moved and not self.computation.accesses[name]:
            return 0.0
        return min(
            self._together_with(name, one) + sum(self._one(name, transfer, one) * transfer.times for transfer in moved)
            for one in self._candidates(name, moved)
        )

    def _candidates(self, name: str, moved: Sequence[Transfer]) -> list[Candidate | None]:
        """Return layouts that are likely to be good; None is the array's own layout."""
        if name in self._present:
            return [None]
        shape = self.shapes[name]
        found: list[Candidate | None] = list(candidates.orders(len(shape), self.question.formats))
        if self._c_only:
            return [Candidate(tuple(range(len(shape))))]
        storage = self._storage()
        if storage is not None:
            windows = [one.window for one in moved] + [one.lengths for one in self.computation.accesses[name]]
            windows += [tuple(map(min, a, b)) for a, b in itertools.combinations(dict.fromkeys(windows), 2)]
            most = memory_bytes(self.question.chunk_bytes[1]) // self.computation.forms[name].itemsize
            order = tuple(range(len(shape)))
            found += [Candidate(order, _halved(window, most), storage) for window in dict.fromkeys(windows)]
        return found

    def _storage(self) -> Storage | None:
        if self.question.may_have_chunks():
            return PLAIN
        return next(iter(candidates.storages(self.question.formats, {})), None)

    def _one(self, name: str, transfer: Transfer, candidate: Candidate | None) -> float:
        key = (name, transfer.direction, transfer.window, candidate)
        if key not in self._priced:
            self._priced[key] = self._price(name, [_operations(transfer, self.shapes[name])], candidate)[0]
        return self._priced[key]

    def _together_with(self, name: str, candidate: Candidate | None) -> float:
        key = (name, candidate)
        if key not in self._beside:
            asked = self.computation.accesses[name]
            seconds = self._price(name, asked, candidate)
            self._beside[key] = sum(one * access.times for one, access in zip(seconds, asked, strict=True))
        return self._beside[key]

    def _price(self, name: str, asked: Sequence[Operations], candidate: Candidate | None) -> Sequence[float]:
        pricer = self._pricers[name].of_accesses(asked)
        seconds = pricer.seconds_now(self._present[name]) if candidate is None else pricer.seconds(candidate)
        assert seconds is not None
        return seconds


def _halved(window: Extents, most: int) -> Extents:
    """Return the window, or a part of it that is no larger than a chunk may be."""
    chunk = list(window)
    while math.prod(chunk) > most and max(chunk) > 1:
        longest = chunk.index(max(chunk))
        chunk[longest] = -(-chunk[longest] // 2)
    return tuple(chunk)


def _operations(transfer: Transfer, shape: Extents) -> Operations:
    """Return tiles as operations: at a few places, side by side."""
    window = transfer.window
    counts = [-(-n // w) for n, w in zip(shape, window, strict=True)]
    places = dict.fromkeys(tuple(int(part * count) for count in counts) for part in PARTS)

    def at(place: Sequence[int]) -> Selection:
        starts = [p * w for p, w in zip(place, window, strict=True)]
        return tuple((a, 1, min(w, n - a), False) for a, w, n in zip(starts, window, shape, strict=True))

    items = [
        ":" if w == n else f"{index}:{index}+{w}" for index, w, n in zip(transfer.indices, window, shape, strict=True)
    ]
    text = f"{'write ' if transfer.direction == 'write' else ''}[{', '.join(items)}]"
    return Operations(text, transfer.direction, transfer.times, tuple(map(at, places)), None, 1, window)


def advise_together(question: Question, computation: Computation, memory: int) -> JointAdvice:
    """Return the layouts of all arrays, and tiles within `memory` bytes. Raise ArgumentError without any accesses."""
    if not computation.forms:
        raise ArgumentError("advise_layout: no arrays: name them with their shapes")
    named = {one.array for statement in computation.statements for one in statement.operands}
    idle = [name for name, asked in computation.accesses.items() if not asked and name not in named]
    if idle:
        raise ArgumentError(f"advise_layout: nothing is said of what is done with {idle[0]}")
    ways = Ways(question, computation, memory)
    few = Question(question.conditions, question.formats, question.chunk_bytes, {})
    finals = sorted(
        (
            (sum(_searched(few, ways, way, name)[1] for name in computation.forms), way)
            for _, way in ways.best(FINALISTS)
        ),
        key=lambda one: one[0],
    )
    way = finals[0][1]
    advices = {name: _searched(question, ways, way, name)[0] for name in computation.forms}
    runner_up = None
    if len(finals) > 1:
        runner_up = (tuple(map(str, finals[1][1])), finals[1][0])
    return JointAdvice(
        advices,
        tuple(
            Tiles(statement.text, dict(one.steps), one.loops, one.nbytes)
            for statement, one in zip(computation.statements, way, strict=True)
        ),
        sum(one.best.total for one in advices.values()),
        runner_up,
        Ways(question, computation, memory, c_only=True).best(1)[0][0],
        memory,
    )


def _searched(question: Question, ways: Ways, way: Way, name: str) -> tuple[LayoutAdvice, float]:
    pricer = ways.pricer(way, name)
    form = ways.computation.forms[name]
    search = question.search(pricer)
    advice = LayoutAdvice(
        form.shape,
        form.dtype,
        tuple((one.text, one.times) for one in pricer.accesses),
        tuple(ranked(one, question.formats, form.shape, form.itemsize) for one in search.best),
        question.conditions.cached,
        question.conditions.profile.source,
        search.priced,
    )
    return advice, advice.best.total


def payback_together(
    advice: JointAdvice, question: Question, computation: Computation, present: Mapping[str, tuple[Array, str]]
) -> JointPayback:
    """Return the cost and the gain of copying open arrays into the advised layouts together.

    Before the copies, the computation uses the best tiles for the present layouts. Arrays that no file has yet have the
    best layout before and after.

    Args:
        advice: for the computation.
        question: the question of the advice.
        computation: the computation of the advice.
        present: for some of its arrays, an array that only this process has open, and the file for the copy.
    """
    for name, (array, _) in present.items():
        if array.shape != advice[name].shape:
            raise ArgumentError(f"{array.path}: expected an array of shape {advice[name].shape}, not {array.shape}")
    ways = Ways(question, computation, advice.memory, present={name: array for name, (array, _) in present.items()})
    copies = (
        explain_copy(array, target, overwrite=True, **{"chunks": (), **advice[name].best.creation})
        for name, (array, target) in present.items()
    )
    return JointPayback(sum(one.plan.seconds for one in copies), ways.best(1)[0][0], advice.total)

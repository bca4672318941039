"""Chooses the panels for a sequence of passes: the file between two passes depends on the panels of both. Pure.

Between two passes the array is in a file of tiles (`tiles`). A tile is the intersection of a panel of one pass and a
panel of the other, so that both move it as one piece; or it is longer, if this makes the runs of one pass longer, by
the prices of the store's profile. The panels of all passes are chosen together, step by step (dynamic programming over
the panels of each pass), so that the total of both ends and of the tiles is the least.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.copying.copy_layout import Side
from swath.copying.costs import Costs, Curve, at
from swath.fft.passes import FAR, PanelPass, read_seconds, write_seconds
from swath.fft.tiles import Tiles, runs
from swath.fft.transform import Extents, Transform

Groups = tuple[tuple[int, ...], ...]
"""The axes of each pass."""
Way = tuple[float, tuple[PanelPass, ...]]
"""The seconds, and the passes that take them."""
Numbers = npt.NDArray[Any]

TILES, BETWEEN_C, BETWEEN_F = "tiles", "C", "F"
CANDIDATES = 100
"""The approximate number of panels per pass that are tried: each with each panel of the next pass."""
FACTORS = (2, 4, 8, 16, 32, 64, 256)
"""The ratio between two lengths of a panel that are tried: the first ratio that gives few enough candidates."""


@dataclasses.dataclass(frozen=True)
class Planned:
    """The input of the planning.

    Attributes:
        transform: in the dimensions of the planning: the slowest of the target first.
        source, target: the two sides, in these dimensions.
        buffers: the bytes of memory for panels and for moving them.
        costs: of the store.
        threads: of the transform.
        ranks: the ranks that share the panels of each pass.
        between: "tiles"; or "C" or "F", to measure the cost of such a file between passes.
    """

    transform: Transform
    source: Side
    target: Side
    buffers: int
    costs: Costs
    threads: int = 1
    ranks: int = 1
    between: str = TILES

    def plain(self, done: frozenset[int]) -> Side:
        """Return a side of the shape and dtype that the array has after these axes were transformed."""
        shape = self.transform.shape_after(done)
        return Side.ordered(shape, self.transform.dtype_after(done).itemsize, range(len(shape)))


@dataclasses.dataclass(frozen=True)
class Candidates:
    """Panels of one pass that fit into memory.

    Attributes:
        pattern: the pass, whose lengths are not chosen yet.
        read, written: lengths of the panels, one panel per row.
    """

    pattern: PanelPass
    read: Numbers
    written: Numbers

    def panel(self, place: int) -> PanelPass:
        """Return the pass with the panels of that row."""
        return dataclasses.replace(self.pattern, extents=tuple(int(e) for e in self.read[place]))


class Chooser:
    """Chooses panels; results for a pass are kept for other sequences with the same pass."""

    def __init__(self, what: Planned) -> None:
        self.what = what
        self._found: dict[Any, Candidates | None] = {}
        self._ends: dict[Any, Numbers] = {}
        self._bounds: dict[Groups, float] = {}
        self._lines: dict[Any, int] = {}

    def bound(self, groups: Groups) -> float:
        """Return a lower bound of the seconds of this sequence; infinity if no panels fit."""
        if groups not in self._bounds:
            self._bounds[groups] = self._bound(groups)
        return self._bounds[groups]

    def fits(self, groups: Groups) -> bool:
        """Return whether a line of each pass fits into memory."""
        return all(self._line_bytes(axes, done) <= self.what.buffers for axes, done in with_done(groups))

    def _bound(self, groups: Groups) -> float:
        ways = list(with_done(groups))
        first = self._of_pass(*ways[0], is_first=True, is_last=len(ways) == 1)
        last = self._of_pass(*ways[-1], is_first=len(ways) == 1, is_last=True)
        if first is None or last is None:
            return math.inf
        between = sum(self._flat(self.what.plain(done).nbytes) for _, done in ways[1:])
        return float(self._reading(first).min() + self._writing(last).min()) + between

    def best(self, groups: Groups) -> Way | None:
        """Return the best panels of each pass, and the seconds; None if no panels of some pass fit."""
        what, found = self.what, self._candidates(groups)
        if found is None:
            return None
        seconds, chosen = self._reading(found[0]), []
        for before, behind in itertools.pairwise(found):
            joined = seconds[:, None] + self._between_seconds(before, behind)
            chosen.append(joined.argmin(axis=0))
            seconds = joined.min(axis=0)
        seconds = seconds + self._writing(found[-1])
        if not np.isfinite(seconds.min()):
            return None
        places = [int(seconds.argmin())]
        for best in reversed(chosen):
            places.insert(0, int(best[places[0]]))
        passes = [one.panel(place) for one, place in zip(found, places, strict=True)]
        for number in range(len(passes) - 1):
            between = self._between(passes[number], passes[number + 1])
            passes[number] = dataclasses.replace(passes[number], target=between)
            passes[number + 1] = dataclasses.replace(passes[number + 1], source=between)
        return sum(one.seconds(what.costs) for one in passes), tuple(passes)

    def _candidates(self, groups: Groups) -> list[Candidates] | None:
        """Return the candidates of each pass; None if some pass has none."""
        found = []
        for number, (axes, done) in enumerate(with_done(groups)):
            one = self._of_pass(axes, done, is_first=number == 0, is_last=number == len(groups) - 1)
            if one is None:
                return None
            found.append(one)
        return found

    def _of_pass(
        self, axes: tuple[int, ...], done: frozenset[int], *, is_first: bool, is_last: bool
    ) -> Candidates | None:
        key = (axes, done, is_first, is_last)
        if key not in self._found:
            self._found[key] = self._made(axes, done, is_first=is_first, is_last=is_last)
        return self._found[key]

    def _line_bytes(self, axes: tuple[int, ...], done: frozenset[int]) -> int:
        if (axes, done) not in self._lines:
            self._lines[axes, done] = smallest(self.what, axes, done).memory_bytes
        return self._lines[axes, done]

    def _made(self, axes: tuple[int, ...], done: frozenset[int], *, is_first: bool, is_last: bool) -> Candidates | None:
        """Return the panels of a pass that overlaps reads, transforms and writes; if none fit, of one that does not."""
        what = self.what
        source = what.source if is_first else what.plain(done)
        target = what.target if is_last else what.plain(done | set(axes))
        order = self._order(axes, done, is_first=is_first, is_last=is_last)
        for overlaps in (True, False):
            pattern = PanelPass(what.transform, axes, done, source, target, source.shape, overlaps, what.threads, order)
            extents = list(panels(pattern, what.buffers, what.ranks))
            if extents:
                read = np.array(extents, np.int64).reshape(len(extents), len(source.shape))
                written = read.copy()
                written[:, list(axes)] = [target.shape[axis] for axis in axes]
                return Candidates(pattern, read, written)
        return None

    def _order(self, axes: tuple[int, ...], done: frozenset[int], *, is_first: bool, is_last: bool) -> tuple[int, ...]:
        """Return the order of panels in memory: that of the source or target, or one with long lines to transform.

        Reading tiles takes about as long in any order, but writing is fastest in the order of memory.
        """
        what = self.what
        if is_first and what.source.chunk is None:
            return what.source.order
        if is_last and not is_first and what.target.chunk is None:
            return what.target.order
        dimensions = range(len(what.source.shape))
        later = [d for d in dimensions if d in what.transform.axes and d not in done and d not in axes]
        rest = [d for d in dimensions if d not in axes and d not in later]
        return (*later, *rest, *sorted(axes))

    def _reading(self, one: Candidates) -> Numbers:
        return self._of_end(one, "read", read_seconds, self.what.source, one.read)

    def _writing(self, one: Candidates) -> Numbers:
        return self._of_end(one, "write", write_seconds, self.what.target, one.written)

    def _of_end(self, one: Candidates, name: str, price: Any, side: Side, extents: Numbers) -> Numbers:
        key = (name, id(one))
        if key not in self._ends:
            self._ends[key] = np.array([price(side, tuple(map(int, e)), self.what.costs) for e in extents])
        return self._ends[key]

    def _flat(self, nbytes: int) -> float:
        """Return the least seconds for writing and reading this number of bytes."""
        costs = self.what.costs
        written = costs.cache_write if nbytes <= costs.merge_bytes else costs.write
        return nbytes * (_least(costs.read) + _least(written))

    def _between_seconds(self, before: Candidates, behind: Candidates) -> Numbers:
        """Return the seconds of writing and reading the file between each panel of one pass and each of the next."""
        what, costs = self.what, self.what.costs
        plain = what.plain(before.pattern.done_after)
        if what.between != TILES:
            side = self._ordered(plain)
            written = [write_seconds(side, tuple(map(int, e)), costs) for e in before.written]
            read = [read_seconds(side, tuple(map(int, e)), costs) for e in behind.read]
            each: Numbers = np.array(written)[:, None] + np.array(read)
            return each
        if plain.nbytes == 0:
            return np.zeros((len(before.written), len(behind.read)))
        first, second = before.written[:, None], behind.read[None]
        side = Tiles.of_array(plain.shape, plain.itemsize, plain.shape, before.pattern.order)
        found = [self._tiled_seconds(first, second, tile, side) for tile in _tilings(first, second, side)]
        return np.minimum(*found)

    def _tiled_seconds(self, first: Numbers, second: Numbers, tile: Numbers, side: Side) -> Numbers:
        """Return the seconds of writing panels to tiles, and of reading the panels of the next pass."""
        costs, nbytes = self.what.costs, side.nbytes
        suits = _suits(first, tile, side) & _suits(second, tile, side)
        reads, writes = runs(second, tile, side), runs(first, tile, side)
        reading = reads * (_seconds(costs.read, nbytes / reads) + costs.read_jump)
        writing = writes * _seconds(costs.cache_write, nbytes / writes)
        if nbytes <= costs.merge_bytes:
            writing += nbytes * at(costs.write, FAR) / FAR
        else:
            writing = np.maximum(writing, writes * (_seconds(costs.write, nbytes / writes) + costs.write_jump))
        seconds: Numbers = np.where(suits, reading + writing, math.inf)
        return seconds

    def _between(self, before: PanelPass, behind: PanelPass) -> Side:
        """Return the file between two passes: with the cheaper kind of tiles."""
        plain = self.what.plain(before.done_after)
        if self.what.between != TILES:
            return self._ordered(plain)
        if 0 in plain.shape:
            return Tiles.of_array(plain.shape, plain.itemsize, [max(n, 1) for n in plain.shape], before.order)
        side = Tiles.of_array(plain.shape, plain.itemsize, plain.shape, before.order)
        first, second = np.array(before.extents_written), np.array(behind.extents)
        tilings = _tilings(first, second, side)
        tile = min(tilings, key=lambda one: float(self._tiled_seconds(first, second, one, side)))
        return dataclasses.replace(side, chunk=tuple(int(n) for n in tile))

    def _ordered(self, plain: Side) -> Side:
        dimensions = range(len(plain.shape))
        is_fortran = self.what.between == BETWEEN_F
        return Side.ordered(plain.shape, plain.itemsize, reversed(dimensions) if is_fortran else dimensions)


def _tilings(first: Numbers, second: Numbers, side: Side) -> tuple[Numbers, Numbers]:
    """Return two kinds of tiles for panels of two passes, from the lengths of both.

    The first kind is the intersection of both, which both move as one piece. The second kind has all that a panel of
    the
    next pass has along the dimensions that it contains completely: the next pass reads longer runs, and the pass before
    writes parts of a tile.
    """
    common = np.maximum(np.minimum(first, second), 1)
    return common, np.where(second >= np.array(side.shape, np.int64), second, common)


def _suits(extents: Numbers, tile: Numbers, side: Side) -> Numbers:
    """Return whether boxes consist of whole tiles, or are inside of one, along each dimension."""
    shape = np.array(side.shape, np.int64)
    fits = (extents % tile == 0) | (tile % np.maximum(extents, 1) == 0) | (extents >= shape) | (tile >= shape)
    suited: Numbers = fits.all(axis=-1)
    return suited


def with_done(groups: Groups) -> Iterator[tuple[tuple[int, ...], frozenset[int]]]:
    """Yield the axes of each pass, and those that were transformed before it."""
    done: frozenset[int] = frozenset()
    for one in groups:
        yield one, done
        done |= set(one)


def smallest(what: Planned, axes: tuple[int, ...], done: frozenset[int]) -> PanelPass:
    """Return a pass with panels of single lines, one after the other."""
    source, target = what.plain(done), what.plain(done | set(axes))
    extents = tuple(n if d in axes else min(n, 1) for d, n in enumerate(source.shape))
    return PanelPass(what.transform, axes, done, source, target, extents, False, what.threads, source.order)


def _least(curve: Curve) -> float:
    """Return the least seconds per byte."""
    return min(seconds / nbytes for nbytes, seconds in curve if nbytes > 0)


def _seconds(curve: Curve, nbytes: Numbers) -> Numbers:
    """Return `at` for many values."""
    x, y = (np.array(column) for column in zip(*curve, strict=True))
    found: Numbers = np.where(nbytes > x[-1], y[-1] * nbytes / x[-1], np.interp(nbytes, x, y))
    return found


def panels(pattern: PanelPass, buffers: int, ranks: int = 1) -> Iterator[Extents]:
    """Yield lengths of panels that fit into memory and should be tried.

    A panel has one of some lengths along all free dimensions but one, and along this one as many as fit; or fewer: the
    number that divides it evenly, and a multiple of those lengths, so that the tiles of another pass fill it.
    """
    shape = pattern.source.shape
    free = [d for d in range(len(shape)) if d not in pattern.axes]
    if not free or 0 in shape:
        if pattern.with_extents(shape).memory_bytes <= buffers:
            yield shape
        return
    everything = math.prod(shape[d] for d in free)
    found = False
    for most in (-(-everything // ranks), everything):  # each rank gets a panel, if memory allows it
        for extents in _panels_within(pattern, free, buffers, most):
            found = True
            yield extents
        if found or ranks == 1:
            return


def _panels_within(pattern: PanelPass, free: Sequence[int], buffers: int, most: int) -> Iterator[Extents]:
    """Yield lengths of panels of `most` lines, or of one unit, that fit into memory, each once."""
    shape = pattern.source.shape
    seen = set()
    for unit in _units(pattern):
        lines = pattern.lines_within(buffers, max(most, math.prod(unit[d] for d in free)))
        for extents in _grown(shape, free, unit, lines):
            if extents not in seen:
                seen.add(extents)
                if not _cuts_chunks(pattern, extents):
                    yield extents


def _units(pattern: PanelPass) -> list[Extents]:
    """Return the units of panels: single elements, or chunks of source and target."""
    shape = pattern.source.shape
    single = (1,) * len(shape)
    of_target = tuple(map(min, pattern.target.chunk or single, shape))
    if pattern.target.whole_chunks:
        return [of_target]
    of_source = tuple(map(min, pattern.source.chunk or single, shape))
    return list(dict.fromkeys((tuple(map(max, of_source, of_target)), of_target, single)))


def _grown(shape: Extents, free: Sequence[int], unit: Extents, lines: int) -> Iterator[Extents]:
    """Yield panels of up to this number of lines, made of units."""
    steps = _steps(shape, free, unit)
    for last in free:
        others = [d for d in free if d != last]
        for lengths in itertools.product(*(steps[d] for d in others)):
            room = lines // math.prod(lengths)
            extents = list(shape)
            for d, length in zip(others, lengths, strict=True):
                extents[d] = length
            for length in _lengths(shape[last], unit[last], room, steps[last]):
                extents[last] = length
                yield tuple(extents)


def _lengths(n: int, unit: int, room: int, steps: Sequence[int]) -> Iterator[int]:
    """Yield lengths up to `room`: the longest in units, one that divides n more evenly, a multiple of a step."""
    longest = n if room >= n else room // unit * unit
    if longest == 0:
        return
    yield longest
    parts = -(-n // longest)
    yield min(-(-n // (parts * unit)) * unit, longest)
    step = max((s for s in steps if s <= longest), default=longest)
    yield longest // step * step


def _steps(shape: Extents, free: Sequence[int], unit: Extents) -> dict[int, list[int]]:
    """Return the lengths along each free dimension to try: units, in powers of a factor, and all."""
    steps: dict[int, list[int]] = {}
    for factor in FACTORS:
        steps = {}
        for d in free:
            lengths = [unit[d]]
            while lengths[-1] * factor < shape[d]:
                lengths.append(lengths[-1] * factor)
            steps[d] = list(dict.fromkeys([*(min(length, shape[d]) for length in lengths), shape[d]]))
        if sum(math.prod(len(steps[d]) for d in free if d != last) for last in free) <= CANDIDATES // 3:
            break
    return steps


def _cuts_chunks(pattern: PanelPass, extents: Extents) -> bool:
    """Return whether two panels would write parts of the same chunk, which is written as a whole."""
    target = pattern.target
    if target.chunk is None or not target.whole_chunks:
        return False
    return any(
        d not in pattern.axes and e < n and e % c
        for d, (e, n, c) in enumerate(zip(extents, target.shape, target.chunk, strict=True))
    )

"""How a transform is carried out within a budget of memory: which axes in which pass, and what lies between. Pure.

One pass transforms one axis, or several where all their elements fit in memory together. Between two passes the array
lies in a file of tiles: a tile is what a panel of the pass before and a panel of the pass behind have in common, so
that both move it as one piece. (Kandaswamy et al. 2002, section 4.5, IEEE TPDS 13(12): where both files of an
out-of-core transform have one order, one of the passes moves short runs.)
Where the target's order suits the last pass badly, another pass that transforms nothing may be faster.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from swath.computing.fft.passes import PanelPass, read_seconds, write_seconds
from swath.computing.fft.transform import FROM_REAL, TO_REAL, Extents, Transform
from swath.copying.costs import Costs, at
from swath.copying.sides import Side
from swath.errors import ArgumentError

Groups = tuple[tuple[int, ...], ...]
Way = tuple[float, tuple[PanelPass, ...]]
"""Seconds, and the passes that take them."""

OVERHEAD_BYTES = 4 << 20
"""Kept back of a budget for threads' stacks and plans; of small budgets at most a quarter."""
ANOTHER_PASS_PAYS = 0.9
"""A pass that transforms nothing needs room for another file, and must make it this much faster."""
NEAR_THE_FLOOR = 1.3
"""A plan this near to moving everything in long requests gets no further pass."""
SEQUENCES_MAX = 4
"""So many of the best ways to deal out the axes are tried with further passes."""
AXES_IN_ANY_ORDER = 5
"""Of more axes not every order is looked at."""
TILES, BETWEEN_C, BETWEEN_F = "tiles", "C", "F"


@dataclasses.dataclass(frozen=True)
class Planned:
    """What is planned for.

    Attributes:
        transform: in the dimensions of the planning: the slowest of the target first.
        source, target: the two sides, in these dimensions.
        buffers: bytes of memory that panels and what moves them may take.
        costs: of the store.
        threads: of the transform.
        between: "tiles"; "C" or "F", to measure what another file between costs.
    """

    transform: Transform
    source: Side
    target: Side
    buffers: int
    costs: Costs
    threads: int = 1
    between: str = TILES


@dataclasses.dataclass(frozen=True)
class FftPlan:
    """How a transform is carried out, and what it will cost.

    Attributes:
        passes: each from file to file.
        dimensions: of the source, in the order in which the passes have them.
        budget_bytes: the memory that was allowed to each process.
        costs: that it was priced by.
    """

    passes: tuple[PanelPass, ...]
    dimensions: tuple[int, ...]
    budget_bytes: int
    costs: Costs

    @property
    def memory_bytes(self) -> int:
        """Predicted for the time when it is most, of each process."""
        return max(one.memory_bytes for one in self.passes) + overhead_bytes(self.budget_bytes)

    @property
    def moved_bytes(self) -> int:
        """Bytes that all passes read and write."""
        return sum(one.source.nbytes + one.target.nbytes for one in self.passes)

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the files between passes, when there are most: what a pass reads, and what it writes."""
        sizes = [one.target.stored_bytes for one in self.passes[:-1]]
        return max((sum(sizes[max(p - 1, 0) : p + 1]) for p in range(len(sizes))), default=0)

    @property
    def disk_bytes(self) -> int:
        """Bytes that must be free: the target, and the files between."""
        return self.passes[-1].target.stored_bytes + self.scratch_bytes

    @property
    def seconds(self) -> float:
        """Predicted."""
        return sum(one.seconds(self.costs) for one in self.passes)

    @property
    def floor_seconds(self) -> float:
        """Predicted, if source and target were moved once, in long requests."""
        return _floor(self.passes[0].source, self.passes[-1].target, self.costs)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON; axes and panels are in the dimensions of the array."""
        place = [self.dimensions.index(d) for d in range(len(self.dimensions))]
        passes = []
        for one in self.passes:
            told = one.to_dict(self.costs)
            told["axes"] = [self.dimensions[axis] for axis in one.axes]
            told["panel"] = [one.extents[p] for p in place]
            tile = one.target.chunk if one is not self.passes[-1] else None
            passes.append({**told, "tile": None if tile is None else [tile[p] for p in place]})
        return {
            "passes": passes,
            "budget_bytes": self.budget_bytes,
            "memory_bytes": self.memory_bytes,
            "moved_bytes": self.moved_bytes,
            "disk_bytes": self.disk_bytes,
            "scratch_bytes": self.scratch_bytes,
            "seconds": self.seconds,
            "profile": self.costs.source,
        }


def overhead_bytes(budget_bytes: int) -> int:
    """Return what is kept back of a budget for what is no panel."""
    return min(OVERHEAD_BYTES, budget_bytes // 4)


def make_plan(what: Planned) -> tuple[PanelPass, ...]:
    """Return the fastest passes that keep the budget.

    Raises ArgumentError where not even single lines fit, which says how much memory would do.
    """
    fewest = next((g for g in range(1, len(what.transform.axes) + 2) if any(_sequences(what, g))), None)
    if fewest is None:
        raise _too_small(what)
    sequences = list(_sequences(what, fewest))
    found = [(way, groups) for groups in sequences for way in [_planned(what, groups)] if way is not None]
    found.sort(key=lambda one: one[0][0])
    best = found[0][0] if found else None
    floor = fewest * _floor(what.source, what.target, what.costs)
    if best is None or best[0] > NEAR_THE_FLOOR * floor:
        for groups in [one[1] for one in found[:SEQUENCES_MAX]] or sequences[:SEQUENCES_MAX]:
            if () in groups:
                continue
            for more in (((), *groups), (*groups, ()), ((), *groups, ())):
                best = _better(best, _planned(what, more), ANOTHER_PASS_PAYS)
    if best is None:
        raise _too_small(what)
    return best[1]


def _better(
    best: Way | None,
    found: Way | None,
    pays: float = 1.0,
) -> Way | None:
    if best is None or (found is not None and found[0] < pays * best[0]):
        return found
    return best


def _floor(source: Side, target: Side, costs: Costs) -> float:
    far = 1 << 24
    return (source.nbytes * at(costs.read, far) + target.nbytes * at(costs.write, far)) / far


def _sequences(what: Planned, count: int) -> Iterator[Groups]:
    """Yield the ways to deal the axes out to so many passes, each of which has lines that fit in memory."""
    transform = what.transform
    if not transform.axes:
        if count == 1:
            yield ((),)
        return
    axes = transform.axes
    orders: Any = itertools.permutations(axes)
    if len(axes) > AXES_IN_ANY_ORDER:
        orders = (axes, axes[-2::-1] + axes[-1:])
    seen = set()
    for order in orders:
        for cuts in itertools.combinations(range(1, len(axes)), count - 1):
            ends = (0, *cuts, len(axes))
            groups = tuple(_ordered(transform, order[a:b]) for a, b in itertools.pairwise(ends))
            if groups not in seen and _is_right(transform, groups) and _fits(what, groups):
                seen.add(groups)
                yield groups


def _ordered(transform: Transform, group: Sequence[int]) -> tuple[int, ...]:
    """Return the axes of a pass in the order in which it transforms them: the real one first, or last."""
    rest = sorted(axis for axis in group if axis != transform.real_axis)
    real = [axis for axis in group if axis == transform.real_axis]
    return (*rest, *real) if transform.kind == TO_REAL else (*real, *rest)


def _is_right(transform: Transform, groups: Groups) -> bool:
    if transform.kind == FROM_REAL:
        return transform.real_axis in groups[0]
    return transform.kind != TO_REAL or transform.real_axis in groups[-1]


def _fits(what: Planned, groups: Groups) -> bool:
    return all(_smallest(what, one, done).memory_bytes <= what.buffers for one, done in _with_done(groups))


def _with_done(groups: Groups) -> Iterator[tuple[tuple[int, ...], frozenset[int]]]:
    done: frozenset[int] = frozenset()
    for one in groups:
        yield one, done
        done |= set(one)


def _plain(what: Planned, done: frozenset[int]) -> Side:
    """Return a side of the shape and dtype that the array has once these axes are transformed."""
    shape = what.transform.shape_after(done)
    return Side.ordered(shape, what.transform.dtype_after(done).itemsize, range(len(shape)))


def _smallest(what: Planned, axes: tuple[int, ...], done: frozenset[int]) -> PanelPass:
    """Return a pass whose panels are single lines, one after the other."""
    source, target = _plain(what, done), _plain(what, done | set(axes))
    extents = tuple(n if d in axes else min(n, 1) for d, n in enumerate(source.shape))
    return PanelPass(what.transform, axes, done, source, target, extents, False, what.threads)


def _too_small(what: Planned) -> ArgumentError:
    transform = what.transform
    lines = [_smallest(what, (axis,), frozenset(transform.axes) - {axis}) for axis in transform.axes]
    if transform.kind == FROM_REAL and transform.real_axis is not None:
        lines.append(_smallest(what, (transform.real_axis,), frozenset()))
    needed = max((one.memory_bytes for one in lines), default=what.target.worker_bytes)
    needed = max(needed, what.target.worker_bytes + what.source.worker_bytes)
    needed = min(needed + OVERHEAD_BYTES, 4 * needed // 3 + 8)  # with what is kept back of it
    return ArgumentError(
        f"memory: a whole line along each axis must fit, and a chunk of source and target: give at least {needed} "
        f"bytes (memory=) for {transform.name} of {transform.shape}"
    )


# ---- Panels ----------------------------------------------------------------------------------------------------------


def _planned(what: Planned, groups: Groups) -> Way | None:
    """Return the best panels of each pass, and the seconds; None where some pass has none that fit.

    What is between two passes depends on the panels of both, so that the best way through all is found step by step
    (dynamic programming over the panels of each pass).
    """
    candidates = [
        list(_panels(what, number, len(groups), axes, done)) for number, (axes, done) in enumerate(_with_done(groups))
    ]
    if not all(candidates):
        return None
    costs = what.costs
    ways: list[Way] = [(read_seconds(what.source, one.extents, costs), (one,)) for one in candidates[0]]
    for following in candidates[1:]:
        ways = [min((_joined(what, way, one) for way in ways), key=_seconds_of) for one in following]
    whole = [
        (seconds + write_seconds(what.target, passes[-1].extents_written, costs), passes) for seconds, passes in ways
    ]
    passes = list(min(whole, key=_seconds_of)[1])
    passes[0] = dataclasses.replace(passes[0], source=what.source)
    passes[-1] = dataclasses.replace(passes[-1], target=what.target)
    for number in range(len(passes) - 1):
        between = _between(what, passes[number], passes[number + 1])
        passes[number] = dataclasses.replace(passes[number], target=between)
        passes[number + 1] = dataclasses.replace(passes[number + 1], source=between)
    return sum(one.seconds(costs) for one in passes), tuple(passes)


def _seconds_of(way: Way) -> float:
    return way[0]


def _joined(what: Planned, way: Way, following: PanelPass) -> Way:
    seconds, passes = way
    between = _between(what, passes[-1], following)
    moved = write_seconds(between, passes[-1].extents_written, what.costs)
    moved += read_seconds(between, following.extents, what.costs)
    return seconds + moved, (*passes, following)


def _between(what: Planned, before: PanelPass, behind: PanelPass) -> Side:
    """Return the file between two passes: tiles that both move as one piece."""
    plain = _plain(what, before.done_after)
    if what.between != TILES:
        order = range(len(plain.shape))
        return Side.ordered(plain.shape, plain.itemsize, reversed(order) if what.between == BETWEEN_F else order)
    tile = tuple(max(min(a, b), 1) for a, b in zip(before.extents_written, behind.extents, strict=True))
    return Side.tiled(plain.shape, plain.itemsize, tile)


def _panels(what: Planned, number: int, count: int, axes: tuple[int, ...], done: frozenset[int]) -> Iterator[PanelPass]:
    """Yield panels worth a look: of each length along some of the free dimensions, as long as fit along another.

    The pass reads and writes at once where there are such panels.
    """
    source = what.source if number == 0 else _plain(what, done)
    target = what.target if number == count - 1 else _plain(what, done | set(axes))
    for overlaps in (True, False):
        pattern = PanelPass(what.transform, axes, done, source, target, source.shape, overlaps, what.threads)
        found = [
            one
            for extents in dict.fromkeys(_extents(pattern, what.buffers))
            for one in [dataclasses.replace(pattern, extents=extents)]
            if one.memory_bytes <= what.buffers and not _cuts_chunks(one)
        ]
        yield from found
        if found:
            return


def _cuts_chunks(one: PanelPass) -> bool:
    """Return whether two panels would write parts of one chunk that is written as a whole."""
    chunk = one.target.chunk
    if chunk is None or not one.target.whole_chunks:
        return False
    return any(e < n and e % c for e, n, c in zip(one.extents_written, one.target.shape, chunk, strict=True))


def _extents(pattern: PanelPass, buffers: int) -> Iterator[Extents]:
    """Yield extents of panels: each made as long along one free dimension as fits."""
    shape, axes = pattern.source.shape, pattern.axes
    free = [d for d in range(len(shape)) if d not in axes]
    if not free or 0 in shape:
        yield shape
        return
    single = (1,) * len(shape)
    of_target = tuple(map(min, pattern.target.chunk or single, shape))
    of_source = tuple(map(min, pattern.source.chunk or single, shape))
    # Of one that is written by whole chunks a panel has whole chunks, else where there is room for them.
    of_both = of_target if pattern.target.whole_chunks else tuple(map(max, of_source, of_target))
    for unit in dict.fromkeys((of_both, of_target, single)):
        for last in free:
            others = [d for d in free if d != last]
            for lengths in itertools.product(*(_steps(shape[d], unit[d], len(others)) for d in others)):
                extents = dict(zip(others, lengths, strict=True))
                begun = tuple(extents.get(d, n) for d, n in enumerate(shape))
                grown = _grown(pattern, buffers, begun, last, unit[last])
                if grown is not None:
                    yield grown
                    yield tuple(n if d in axes else _dividing(shape[d], n) for d, n in enumerate(grown))


def _dividing(n: int, extent: int) -> int:
    """Return the longest extent up to the given one that divides n, or the given one where that is less than half.

    Of tiles at the edge that are not whole, each line is a piece of its own.
    """
    return next((e for e in range(extent, (extent - 1) // 2, -1) if e > 0 and n % e == 0), extent)


def _grown(pattern: PanelPass, buffers: int, begun: Extents, d: int, unit: int) -> Extents | None:
    """Return the panel made as long along one dimension as fits; None where not one unit of it does."""
    n = pattern.source.shape[d]

    def with_units(count: int) -> Extents:
        return (*begun[:d], min(count * unit, n), *begun[d + 1 :])

    def fits(count: int) -> bool:
        return dataclasses.replace(pattern, extents=with_units(count)).memory_bytes <= buffers

    if not fits(1):
        return None
    low, high = 1, -(-n // unit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return with_units(low)


def _steps(n: int, unit: int, others: int) -> list[int]:
    """Return lengths along a dimension: powers of four units, of sixteen where there are several dimensions, and all.

    Of three others and more one unit, and all.
    """
    factor = {1: 4, 2: 16}.get(others, n + 1)
    lengths = [unit]
    while lengths[-1] * factor < n:
        lengths.append(lengths[-1] * factor)
    return list(dict.fromkeys([*(min(length, n) for length in lengths), n]))

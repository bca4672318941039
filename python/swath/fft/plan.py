"""The plan of a transform within a budget of memory: the axes of each pass, and the files between. Pure.

One pass transforms one axis, or several if all their elements fit into memory together. Between two passes the array is
in a file of tiles: a tile is the intersection of a panel of the pass before and a panel of the next pass, so that both
move it as one piece. (Kandaswamy et al. 2002, section 4.5, IEEE TPDS 13(12): if both files of an out-of-core transform
have the same order, one of the passes moves short runs.) If the last pass is slow in the target's order, another pass
that transforms nothing may save time.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from swath.copying.copy_layout import Side
from swath.copying.costs import Costs, at
from swath.errors import ArgumentError
from swath.fft.choice import Chooser, Groups, Planned, Way
from swath.fft.passes import PanelPass
from swath.fft.tiles import Tiles
from swath.fft.transform import FROM_REAL, TO_REAL, Transform

OVERHEAD_BYTES = 4 << 20
"""The part of a budget for threads' stacks and plans; at most a quarter of a small budget."""
ANOTHER_PASS_PAYS = 0.9
"""Another pass needs space for another file, so it must save this much time."""
NEAR_THE_FLOOR = 1.3
"""A plan this close to the time of moving everything in long requests gets no further pass."""
MEMORY_MIN = 1 << 10
SEQUENCES_MAX = 20
"""The number of ways to distribute the axes that are priced: those with the lowest bounds."""
SEQUENCES_AGAIN = 4
"""The number of best ways that are tried with passes that transform nothing."""
AXES_IN_ANY_ORDER = 5
"""With more axes, not every order is tried."""


@dataclasses.dataclass(frozen=True)
class FftPlan:
    """The passes of a transform, and their predicted costs.

    Attributes:
        passes: each from file to file.
        dimensions: of the source, in the order of the passes.
        budget_bytes: the memory of each process.
        costs: the costs for the prices.
    """

    passes: tuple[PanelPass, ...]
    dimensions: tuple[int, ...]
    budget_bytes: int
    costs: Costs

    @property
    def memory_bytes(self) -> int:
        """The predicted maximum of memory, of each process."""
        return max(one.memory_bytes for one in self.passes) + overhead_bytes(self.budget_bytes)

    @property
    def moved_bytes(self) -> int:
        """Bytes that all passes read and write."""
        return sum(one.source.nbytes + one.target.nbytes for one in self.passes)

    @property
    def scratch_bytes(self) -> int:
        """The maximum of the bytes of the files between passes: what a pass reads, and what it writes."""
        sizes = [one.target.stored_bytes for one in self.passes[:-1]]
        return max((sum(sizes[max(p - 1, 0) : p + 1]) for p in range(len(sizes))), default=0)

    @property
    def disk_bytes(self) -> int:
        """Bytes that must be free: the target, and the files between passes."""
        return self.passes[-1].target.stored_bytes + self.scratch_bytes

    @property
    def seconds(self) -> float:
        """The predicted seconds."""
        return sum(one.seconds(self.costs) for one in self.passes)

    @property
    def floor_seconds(self) -> float:
        """The predicted seconds if source and target were moved once, in long requests."""
        return _floor(self.passes[0].source, self.passes[-1].target, self.costs)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON; axes and panels are in the dimensions of the array."""
        place = [self.dimensions.index(d) for d in range(len(self.dimensions))]
        passes = []
        for one in self.passes:
            told = one.to_dict(self.costs)
            told["axes"] = [self.dimensions[axis] for axis in one.axes]
            told["panel"] = [one.extents[p] for p in place]
            for name, side in (("read_tile", one.source), ("write_tile", one.target)):
                told[name] = [side.tile[p] for p in place] if isinstance(side, Tiles) else None
            passes.append(told)
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
    """Return the part of a budget that is not for panels."""
    return min(OVERHEAD_BYTES, budget_bytes // 4)


def make_plan(what: Planned) -> tuple[PanelPass, ...]:
    """Return the fastest passes within the budget.

    Raises ArgumentError, with the memory that would be enough, if not even single lines fit.
    """
    chooser = Chooser(what)
    best: Way | None = None
    floor = _floor(what.source, what.target, what.costs)
    for count in range(1, max(len(what.transform.axes), 1) + 1):
        if best is not None and best[0] <= count * floor:
            break  # another pass alone would take as long
        sequences = sorted(_sequences(chooser, count), key=chooser.bound)[:SEQUENCES_MAX]
        best = _best(chooser, sequences, best)
        if best is None or best[0] > NEAR_THE_FLOOR * count * floor:
            further = [
                more
                for groups in sequences[:SEQUENCES_AGAIN]
                if () not in groups
                for more in (((), *groups), (*groups, ()), ((), *groups, ()))
            ]
            best = _best(chooser, sorted(further, key=chooser.bound), best)
    if best is None:
        raise _too_small(what)
    return best[1]


def _best(chooser: Chooser, sequences: Sequence[Groups], best: Way | None) -> Way | None:
    """Return the fastest of the sequences, which are in the order of their bounds, if it is faster than `best`.

    A sequence of more passes needs more space on the disk, so it must save a tenth.
    """
    for groups in sequences:
        pays = 1.0 if best is None or len(groups) <= len(best[1]) else ANOTHER_PASS_PAYS
        most = math.inf if best is None else pays * best[0]
        if chooser.bound(groups) >= most:
            break
        found = chooser.best(groups)
        if found is not None and found[0] < most:
            best = found
    return best


def _floor(source: Side, target: Side, costs: Costs) -> float:
    far = 1 << 24
    return (source.nbytes * at(costs.read, far) + target.nbytes * at(costs.write, far)) / far


def _sequences(chooser: Chooser, count: int) -> Iterator[Groups]:
    """Yield the ways to distribute the axes over `count` passes, each of which has lines that fit into memory."""
    transform = chooser.what.transform
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
            if groups not in seen and _is_right(transform, groups) and chooser.fits(groups):
                seen.add(groups)
                yield groups


def _ordered(transform: Transform, group: Sequence[int]) -> tuple[int, ...]:
    """Return the axes of a pass in the order of their transforms: the real one first, or last."""
    rest = sorted(axis for axis in group if axis != transform.real_axis)
    real = [axis for axis in group if axis == transform.real_axis]
    return (*rest, *real) if transform.kind == TO_REAL else (*real, *rest)


def _is_right(transform: Transform, groups: Groups) -> bool:
    if transform.kind == FROM_REAL:
        return transform.real_axis in groups[0]
    return transform.kind != TO_REAL or transform.real_axis in groups[-1]


def _has_plan(what: Planned) -> bool:
    """Return whether some passes fit into memory."""
    chooser = Chooser(what)
    counts = range(1, max(len(what.transform.axes), 1) + 1)
    return any(chooser.bound(groups) < math.inf for count in counts for groups in _sequences(chooser, count))


def _too_small(what: Planned) -> ArgumentError:
    low = high = max(what.buffers, MEMORY_MIN)
    while not _has_plan(dataclasses.replace(what, buffers=high)):
        low, high = high, 2 * high
    while high - low > low // 64:
        middle = (low + high) // 2
        low, high = (low, middle) if _has_plan(dataclasses.replace(what, buffers=middle)) else (middle, high)
    needed = min(high + OVERHEAD_BYTES, 4 * high // 3 + 8)  # includes the part that is not for panels
    transform = what.transform
    return ArgumentError(
        f"memory: a whole line along each axis must fit, of chunks that are written whole as many as one has; give at "
        f"least {needed} bytes (memory=) for {transform.name} of {transform.shape}"
    )

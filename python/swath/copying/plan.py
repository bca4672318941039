"""How an array is brought into another layout within a budget of memory. Pure: no file, no clock.

Both sides of a copy want long runs, and they want them along different dimensions. The array is cut into tiles; a tile
is read in the order of the source, brought into the order of the target in memory, and written. Of M elements of
memory, a transpose in one pass has runs of s elements on one side and M / s on the other: about sqrt(M) on both. In two
passes, with a file of small chunks between, runs have about M^(2/3) elements, for twice the bytes: where memory is
tiny beside a row, that is less time. (Out-of-core transposition: Kandaswamy et al. 2002, section 3.3, transposes in
memory so that both files are read and written in their own order; the exponents are those of external permuting with
one and two passes.)

Tiles follow each other in the order of the target, so that what was written becomes contiguous after every *band*: one
row of tiles. As long as a band fits in what the page cache may hold back (`Costs.merge_bytes`), the device sees long
writes however short the runs were.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from swath.copying.copy_layout import Extents, Side
from swath.copying.costs import Costs, at
from swath.copying.one_pass import Pass
from swath.errors import ArgumentError

MIB = 1 << 20
OVERHEAD_BYTES = 7 * MIB
"""Kept back of a budget for threads' stacks, rings and plans; of small budgets at most a quarter."""
TYPICAL_OVERHEAD_BYTES = 7 * MIB // 4
"""What they take as a rule: 0 to 3.5 MiB over the grid of `swath bench copy --grid`. Threads that code chunks take all
that is kept back: each has a heap of its own, and its compressor another buffer."""
SLAB_PART = 16
SLAB_BYTES_MIN = 64 << 10
STEPS = tuple(sorted({2**k for k in range(62)} | {3 * 2**k for k in range(61)}))
COARSE_STEPS = STEPS[::4]
"""What two passes are first looked for with: there are some hundred ways to put chunks between them."""
SECOND_PASS_PAYS = 0.9
"""Two passes need room for another file, and must be this much faster."""
SCRATCH_CHUNK_BYTES_MIN = 4096
"""Each chunk that a tile touches costs some bytes of memory and a microsecond."""
SEARCH_SECONDS = 1.0
"""Looking for two passes takes about so long: they must be able to save more."""
START_SECONDS = 0.1
"""Planning, making the files, the journal."""
AT_ONCE_BYTES = 1 << 20
"""Of an array that is moved as one tile, and brought to the medium together with others."""


@dataclasses.dataclass(frozen=True)
class CopyPlan:
    """How a copy is carried out, and what it will cost.

    Attributes:
        passes: one, or two with a scratch file between.
        budget_bytes: the memory that was allowed to each process that moves tiles.
        reason: why so many passes.
    """

    passes: tuple[Pass, ...]
    budget_bytes: int
    reason: str

    @property
    def memory_bytes(self) -> int:
        """Predicted for the time when it is most: all buffers and what goes with them."""
        overhead = overhead_bytes(self.budget_bytes)
        if not any(side.worker_bytes for p in self.passes for side in (p.source, p.target)):
            overhead = min(overhead, TYPICAL_OVERHEAD_BYTES)
        return max(p.memory_bytes for p in self.passes) + overhead

    @property
    def workers_of_node(self) -> int:
        """How many processes of a node move tiles, each within its own part of the memory."""
        return self.passes[0].costs.workers

    @property
    def seconds(self) -> float:
        """Predicted."""
        return START_SECONDS + sum(p.seconds["total"] for p in self.passes)

    @property
    def disk_bytes(self) -> int:
        """That must be free: the target, and the scratch file beside it."""
        return self.passes[-1].target.stored_bytes + self.scratch_bytes

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the file between two passes; 0 with one."""
        return sum(p.target.stored_bytes for p in self.passes[:-1])

    @property
    def is_at_once(self) -> bool:
        """Whether the array is so small that it is one tile, which is brought to the medium together with others."""
        return len(self.passes) == 1 and self.passes[0].tiles <= 1 and self.passes[0].target.nbytes <= AT_ONCE_BYTES

    @property
    def sync_seconds(self) -> float:
        """Predicted, of what all passes wait for at their ends."""
        return sum(p.costs.sync for p in self.passes)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "passes": [p.to_dict() for p in self.passes],
            "workers_of_node": self.workers_of_node,
            "budget_bytes": self.budget_bytes,
            "memory_bytes": self.memory_bytes,
            "disk_bytes": self.disk_bytes,
            "scratch_bytes": self.scratch_bytes,
            "seconds": self.seconds,
            "reason": self.reason,
            "profile": self.passes[0].costs.source,
        }


@dataclasses.dataclass(frozen=True)
class FilePlan:
    """How all variables of a file are copied, one after another, within one budget.

    Attributes:
        variables: their names and how each is copied, in this order.
    """

    variables: tuple[tuple[str, CopyPlan], ...]

    @property
    def passes(self) -> tuple[Pass, ...]:
        """All passes of all variables."""
        return tuple(one for _, plan in self.variables for one in plan.passes)

    @property
    def budget_bytes(self) -> int:
        """The memory that was allowed to each process that moves tiles."""
        return max((plan.budget_bytes for _, plan in self.variables), default=0)

    @property
    def memory_bytes(self) -> int:
        """Predicted for the variable that takes most."""
        return max((plan.memory_bytes for _, plan in self.variables), default=0)

    @property
    def workers_of_node(self) -> int:
        """How many processes of a node move tiles, of the variable that keeps most of them busy."""
        return max((plan.workers_of_node for _, plan in self.variables), default=1)

    @property
    def seconds(self) -> float:
        """Predicted: what is moved at once waits for one sync together."""
        together = [plan.sync_seconds for _, plan in self.variables if plan.is_at_once]
        each = sum(plan.seconds - START_SECONDS for _, plan in self.variables)
        return START_SECONDS + each - sum(together) + max(together, default=0.0)

    @property
    def disk_bytes(self) -> int:
        """That must be free: all of the target, and the largest scratch file."""
        return sum(plan.passes[-1].target.stored_bytes for _, plan in self.variables) + self.scratch_bytes

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the largest file between two passes: there is one at a time."""
        return max((plan.scratch_bytes for _, plan in self.variables), default=0)

    @property
    def reason(self) -> str:
        """How they are moved."""
        small = sum(plan.is_at_once for _, plan in self.variables)
        return f"{len(self.variables)} variables, one after another" + (f"; {small} as one tile each" if small else "")

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "variables": {name: plan.to_dict() for name, plan in self.variables},
            "workers_of_node": self.workers_of_node,
            "budget_bytes": self.budget_bytes,
            "memory_bytes": self.memory_bytes,
            "disk_bytes": self.disk_bytes,
            "scratch_bytes": self.scratch_bytes,
            "seconds": self.seconds,
            "reason": self.reason,
            "profile": next((plan.passes[0].costs.source for _, plan in self.variables), ""),
        }


def overhead_bytes(budget_bytes: int) -> int:
    """Return what is kept back of a budget for what is no buffer."""
    return min(OVERHEAD_BYTES, budget_bytes // 4)


def make_plan(source: Side, target: Side, *, budget_bytes: int, costs: Costs, converts: bool = False) -> CopyPlan:
    """Return the fastest way that keeps the budget.

    Args:
        source: in the dimensions of the target (`Side.permuted`).
        target: of the same shape.
        budget_bytes: memory that may be used.
        costs: of the store.
        converts: whether elements get another dtype; in two passes the second one does it.

    Raises ArgumentError where no tile fits into the budget, which says how much would do.
    """
    buffers = budget_bytes - overhead_bytes(budget_bytes)
    one = best_pass(source, target, buffers, costs, converts)
    two = _best_two(source, target, buffers, costs, converts, one)
    if one is None and two is None:
        smallest = _pass(source, target, _smallest_tile(source, target), costs, converts, 0)
        raise ArgumentError(
            f"a budget of {budget_bytes} bytes is too small: the smallest tile, {smallest.tile} elements, and what "
            f"moves it need {smallest.memory_bytes} bytes; give at least {2 * smallest.memory_bytes} "
            "(memory=, --memory)"
        )
    if one is None or (two is not None and _total(two) < SECOND_PASS_PAYS * one.seconds["total"]):
        assert two is not None
        before = "nothing fits in one" if one is None else f"one would take {one.seconds['total']:.2f} s"
        return CopyPlan(two, budget_bytes, f"two passes: {before}, two take {_total(two):.2f} s")
    why = "runs are long enough on both sides"
    if two is not None:
        why = f"two would take {_total(two):.2f} s"
    return CopyPlan((one,), budget_bytes, f"one pass: {why}")


def plan_at_once(source: Side, target: Side, *, budget_bytes: int, costs: Costs, converts: bool) -> CopyPlan | None:
    """Return the plan that moves a small array as one tile; None where it is none, or does not fit in the budget."""
    if target.nbytes > AT_ONCE_BYTES:
        return None
    one = Pass(source, target, target.shape, target.shape, converts, costs)
    if one.memory_bytes > budget_bytes - overhead_bytes(budget_bytes):
        return None
    return CopyPlan((one,), budget_bytes, "one pass: it is one tile")


def best_pass(
    source: Side, target: Side, buffers: int, costs: Costs, converts: bool, steps: tuple[int, ...] = STEPS
) -> Pass | None:
    """Return the fastest single pass whose buffers fit; None where none does. `steps`: lengths of runs to look at."""
    best: Pass | None = None
    for tile in _tiles(source, target, buffers, steps):
        candidate = _pass(source, target, tile, costs, converts, buffers)
        if candidate.memory_bytes <= buffers and (best is None or _rank(candidate) < _rank(best)):
            best = candidate
    return best


def _rank(candidate: Pass) -> tuple[float, int, int]:
    requests = candidate.read_requests + candidate.write_requests
    return candidate.seconds["total"], requests, candidate.memory_bytes


def _tiles(source: Side, target: Side, buffers: int, lengths: tuple[int, ...]) -> set[Extents]:
    """Tiles worth a look: of each length of runs on one side, with each on the other, rounded to chunks or not."""
    elements = math.prod(target.shape)
    most = buffers // max(source.itemsize, 1)
    if elements == 0:
        return {target.shape}
    steps = [step for step in lengths if step < min(elements, most)] + [min(elements, max(most, 1))]
    of_source = dict.fromkeys(source.box_of(step) for step in steps)
    of_target = dict.fromkeys(target.box_of(step) for step in steps)
    tiles = set()
    for a in of_source:
        for b in of_target:
            tile = tuple(map(max, a, b))
            whole = target.rounded(tile)
            for rounded in {whole} if target.whole_chunks else {tile, whole, source.rounded(whole)}:
                if math.prod(rounded) <= most:
                    tiles.add(rounded)
    return tiles


def _smallest_tile(source: Side, target: Side) -> Extents:
    tile = tuple(map(max, source.box_of(1), target.box_of(1)))
    return target.rounded(tile) if target.whole_chunks else tile


def _pass(source: Side, target: Side, tile: Extents, costs: Costs, converts: bool, buffers: int) -> Pass:
    slab_bytes = max(buffers // SLAB_PART, min(SLAB_BYTES_MIN, buffers // 4))
    return Pass(source, target, tile, _slab(target, tile, slab_bytes), converts, costs)


def _slab(target: Side, tile: Extents, slab_bytes: int) -> Extents:
    """The tile cut along the target's slowest dimensions: runs stay as long as they are, and chunks whole if they can.

    A tile of (300, 4096) for a target in C order, 8 bytes an element, slabs of 1 MiB: (32, 4096).
    """
    slab = list(tile)
    for d in target.order:
        inner = math.prod(slab) // max(slab[d], 1) * target.itemsize
        step = 1 if target.chunk is None else min(target.chunk[d], tile[d])
        slab[d] = min(tile[d], max(slab_bytes // max(inner, 1) // max(step, 1), 1) * step)
        if math.prod(slab) * target.itemsize <= slab_bytes:
            break
    return tuple(slab)


def _total(passes: tuple[Pass, ...]) -> float:
    return sum(p.seconds["total"] for p in passes)


def _best_two(
    source: Side, target: Side, buffers: int, costs: Costs, converts: bool, one: Pass | None
) -> tuple[Pass, Pass] | None:
    """Return the best of two passes by way of chunks; None where they cannot pay.

    Two passes transfer everything twice, and code it once: where one pass is not much slower than that at full speed,
    none is looked for.
    """
    if 0 in target.shape or source.through_library or target.through_library:
        return None
    if one is not None and (
        one.in_place or _gain_max(one) < max(SEARCH_SECONDS, (1 - SECOND_PASS_PAYS) * one.seconds["total"])
    ):
        return None
    best: tuple[Pass, Pass] | None = None
    for chunk in _scratch_chunks(source, target, buffers):
        between = Side.tiled(source.shape, source.itemsize, chunk)
        first = best_pass(source, between, buffers, costs, False, COARSE_STEPS)
        if first is None or (best is not None and first.seconds["total"] >= _total(best)):
            continue
        second = best_pass(between, target, buffers, costs, converts, COARSE_STEPS)
        if second is not None and (best is None or _total((first, second)) < _total(best)):
            best = (first, second)
    return None if best is None else _refined(best, buffers)


def _refined(two: tuple[Pass, Pass], buffers: int) -> tuple[Pass, Pass]:
    """Return the best of two passes by way of the same chunks, with runs of all lengths."""
    first, second = (best_pass(p.source, p.target, buffers, p.costs, p.converts) or p for p in two)
    return min((first, two[0]), key=_rank), min((second, two[1]), key=_rank)


def _gain_max(one: Pass) -> float:
    """Return how many seconds less two passes could take: reading and writing twice in long requests, coding once."""
    source, target, costs = one.source, one.target, one.costs
    far = 1 << 24
    once = (source.nbytes * at(costs.read, far) + target.nbytes * at(costs.write, far)) / far
    decoding = source.nbytes * costs.decode if source.is_compressed else 0.0
    encoding = target.nbytes * costs.encode if target.is_compressed else 0.0
    return one.seconds["total"] - 2 * once - (decoding + encoding) / (costs.cores * costs.nodes)


def _scratch_chunks(source: Side, target: Side, buffers: int) -> list[Extents]:
    """Boxes of powers of four elements along the runs of both sides, that fit in memory some times, not too often."""
    most = buffers // source.itemsize // 8
    least = min(SCRATCH_CHUNK_BYTES_MIN // source.itemsize, most // 8)
    steps = [4**k for k in range(31) if 4**k <= min(most, math.prod(target.shape))]
    boxes = (tuple(map(max, source.box_of(a), target.box_of(b))) for a in steps for b in steps)
    return [box for box in dict.fromkeys(boxes) if least <= math.prod(box) <= most]

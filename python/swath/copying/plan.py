"""The plan to bring an array into another layout within a budget of memory. Pure: no file, no clock.

Both sides of a copy need long runs, but along different dimensions. The array is cut into tiles; a tile is read in the
order of the source, shuffled into the order of the target in memory, and written. With M elements of memory, a
transpose in one pass has runs of s elements on one side and M / s on the other: about sqrt(M) on both. In two passes,
with a file of small chunks between them, runs have about M^(2/3) elements, for twice the bytes: if memory is tiny
compared with a row, this is faster. (Out-of-core transposition: Kandaswamy et al. 2002, section 3.3, transposes in
memory so that both files are read and written in their own order; the exponents are those of external permuting with
one and two passes.)

Tiles follow each other in the order of the target, so that the written bytes are contiguous after each *band*: one row
of tiles. As long as a band fits into the part of the page cache that may wait (`Costs.merge_bytes`), the device gets
long writes even if the runs are short.
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
"""The part of a budget for threads' stacks, rings and plans; at most a quarter of a small budget."""
TYPICAL_OVERHEAD_BYTES = 7 * MIB // 4
"""What they typically take: 0 to 3.5 MiB over the grid of `swath bench copy --grid`. Threads that code chunks take all
the reserve: each has its own heap, and its compressor has another buffer."""
SLAB_PART = 16
SLAB_BYTES_MIN = 64 << 10
STEPS = tuple(sorted({2**k for k in range(62)} | {3 * 2**k for k in range(61)}))
COARSE_STEPS = STEPS[::4]
"""The lengths of the first search for two passes: there are some hundred ways to put chunks between them."""
SECOND_PASS_PAYS = 0.9
"""Two passes need space for another file, so they must be this much faster."""
SCRATCH_CHUNK_BYTES_MIN = 4096
"""Each chunk that a tile touches costs some bytes of memory and a microsecond."""
SEARCH_SECONDS = 1.0
"""The time of a search for two passes: they must be able to save more."""
START_SECONDS = 0.1
"""The time for planning, creating the files, and the journal."""
AT_ONCE_BYTES = 1 << 20
"""An array of at most this size is moved as one tile, and synced together with others."""


@dataclasses.dataclass(frozen=True)
class CopyPlan:
    """The way in which a copy is executed, and its predicted costs.

    Attributes:
        passes: one, or two with a scratch file between.
        budget_bytes: the memory that each process that moves tiles may use.
        reason: why there are one or two passes.
    """

    passes: tuple[Pass, ...]
    budget_bytes: int
    reason: str

    @property
    def memory_bytes(self) -> int:
        """The predicted maximum of memory: all buffers and what belongs to them."""
        overhead = overhead_bytes(self.budget_bytes)
        if not any(side.worker_bytes for p in self.passes for side in (p.source, p.target)):
            overhead = min(overhead, TYPICAL_OVERHEAD_BYTES)
        return max(p.memory_bytes for p in self.passes) + overhead

    @property
    def workers_of_node(self) -> int:
        """The number of processes of a node that move tiles, each within its own part of the memory."""
        return self.passes[0].costs.workers

    @property
    def seconds(self) -> float:
        """The predicted seconds."""
        return START_SECONDS + sum(p.seconds["total"] for p in self.passes)

    @property
    def disk_bytes(self) -> int:
        """The free space that is needed: the target, and the scratch file next to it."""
        return self.passes[-1].target.stored_bytes + self.scratch_bytes

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the file between two passes; 0 with one."""
        return sum(p.target.stored_bytes for p in self.passes[:-1])

    @property
    def is_at_once(self) -> bool:
        """Whether the array is so small that it is one tile, which is synced together with others."""
        return len(self.passes) == 1 and self.passes[0].tiles <= 1 and self.passes[0].target.nbytes <= AT_ONCE_BYTES

    @property
    def sync_seconds(self) -> float:
        """The predicted seconds of the syncs at the ends of all passes."""
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
    """The way in which all variables of a file are copied, one after another, within one budget.

    Attributes:
        variables: their names and plans, in this order.
    """

    variables: tuple[tuple[str, CopyPlan], ...]

    @property
    def passes(self) -> tuple[Pass, ...]:
        """All passes of all variables."""
        return tuple(one for _, plan in self.variables for one in plan.passes)

    @property
    def budget_bytes(self) -> int:
        """The memory that each process that moves tiles may use."""
        return max((plan.budget_bytes for _, plan in self.variables), default=0)

    @property
    def memory_bytes(self) -> int:
        """The predicted memory of the variable that takes most."""
        return max((plan.memory_bytes for _, plan in self.variables), default=0)

    @property
    def workers_of_node(self) -> int:
        """The number of processes of a node that move tiles, for the variable that uses most of them."""
        return max((plan.workers_of_node for _, plan in self.variables), default=1)

    @property
    def seconds(self) -> float:
        """The predicted seconds: arrays that are moved at once share one sync."""
        together = [plan.sync_seconds for _, plan in self.variables if plan.is_at_once]
        each = sum(plan.seconds - START_SECONDS for _, plan in self.variables)
        return START_SECONDS + each - sum(together) + max(together, default=0.0)

    @property
    def disk_bytes(self) -> int:
        """The free space that is needed: the whole target, and the largest scratch file."""
        return sum(plan.passes[-1].target.stored_bytes for _, plan in self.variables) + self.scratch_bytes

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the largest scratch file: there is one at a time."""
        return max((plan.scratch_bytes for _, plan in self.variables), default=0)

    @property
    def reason(self) -> str:
        """How the variables are moved."""
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
    """Return the part of a budget that is not for buffers."""
    return min(OVERHEAD_BYTES, budget_bytes // 4)


def make_plan(source: Side, target: Side, *, budget_bytes: int, costs: Costs, converts: bool = False) -> CopyPlan:
    """Return the fastest plan within the budget.

    Args:
        source: in the dimensions of the target (`Side.permuted`).
        target: the same shape.
        budget_bytes: the memory that may be used.
        costs: the costs of the store.
        converts: whether elements get another dtype; with two passes, the second one converts.

    Raises ArgumentError, with the memory that would be enough, if no tile fits into the budget.
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
    """Return the plan that moves a small array as one tile; None if it is not small, or not within the budget."""
    if target.nbytes > AT_ONCE_BYTES:
        return None
    one = Pass(source, target, target.shape, target.shape, converts, costs)
    if one.memory_bytes > budget_bytes - overhead_bytes(budget_bytes):
        return None
    return CopyPlan((one,), budget_bytes, "one pass: it is one tile")


def best_pass(
    source: Side, target: Side, buffers: int, costs: Costs, converts: bool, steps: tuple[int, ...] = STEPS
) -> Pass | None:
    """Return the fastest single pass whose buffers fit; None if there is none. `steps`: the lengths of runs to try."""
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
    """Return candidate tiles: each length of runs on one side with each on the other, rounded to chunks or not."""
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
    """Cut the tile along the target's slowest dimensions: runs keep their lengths, and chunks stay whole if they can.

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
    """Return the best two passes with chunks between them; None if they cannot save time.

    Two passes transfer everything twice, and code it once: if one pass is not much slower than that at full speed,
    there is no search.
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
    """Return the best two passes with the same chunks between them, with runs of all lengths."""
    first, second = (best_pass(p.source, p.target, buffers, p.costs, p.converts) or p for p in two)
    return min((first, two[0]), key=_rank), min((second, two[1]), key=_rank)


def _gain_max(one: Pass) -> float:
    """Return the most seconds that two passes could save: they read and write twice in long requests, and code once."""
    source, target, costs = one.source, one.target, one.costs
    far = 1 << 24
    once = (source.nbytes * at(costs.read, far) + target.nbytes * at(costs.write, far)) / far
    decoding = source.nbytes * costs.decode if source.is_compressed else 0.0
    encoding = target.nbytes * costs.encode if target.is_compressed else 0.0
    return one.seconds["total"] - 2 * once - (decoding + encoding) / (costs.cores * costs.nodes)


def _scratch_chunks(source: Side, target: Side, buffers: int) -> list[Extents]:
    """Return boxes of powers of four elements along the runs of both sides; a few, not too many, fit into memory."""
    most = buffers // source.itemsize // 8
    least = min(SCRATCH_CHUNK_BYTES_MIN // source.itemsize, most // 8)
    steps = [4**k for k in range(31) if 4**k <= min(most, math.prod(target.shape))]
    boxes = (tuple(map(max, source.box_of(a), target.box_of(b))) for a in steps for b in steps)
    return [box for box in dict.fromkeys(boxes) if least <= math.prod(box) <= most]

"""The ranks of a copy that move tiles. The other ranks agree with them on the progress, and sleep."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Sequence

from swath.copying.plan import CopyPlan
from swath.errors import ArgumentError
from swath.ranks.ranks import Ranks

ANOTHER_PAYS = 0.9
"""More workers have shorter runs for the same memory, so they must make a copy this much faster."""


@dataclasses.dataclass(frozen=True)
class Workers:
    """The ranks that move tiles, the same number on each node that has as many.

    Attributes:
        ranks: in order; rank 0 is one.
        most_on_a_node: the number on the fullest node, where they share its memory.
    """

    ranks: tuple[int, ...]
    most_on_a_node: int

    @staticmethod
    def of(ranks: Ranks, most: int) -> Workers:
        """Return the first `most` ranks of each node."""
        counts: Counter[int] = Counter()
        chosen = []
        for rank in range(ranks.size):
            node = ranks.comm.node_of(rank)
            counts[node] += 1
            if counts[node] <= most:
                chosen.append(rank)
        return Workers(tuple(chosen), min(max(counts.values()), most))

    def tiles_of(self, rank: int, begin: int, end: int) -> range:
        """Return the tiles of [begin, end) that a rank moves: the ranks take turns, so that all work on one band."""
        if rank not in self.ranks:
            return range(0)
        size = len(self.ranks)
        return range(begin + (self.ranks.index(rank) - begin) % size, end, size)


def counts_to_weigh(ranks: Ranks, workers: int | None) -> tuple[int, ...]:
    """Return the numbers of ranks of a node to compare, fewest first: powers of two up to its ranks and its cores.

    Raises ArgumentError unless `workers`, which leaves no choice, is at least 1.
    """
    if workers is not None:
        if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
            raise ArgumentError(f"workers: expected how many ranks of a node work, at least 1, not {workers!r}")
        return (min(workers, ranks.most_on_a_node),)
    most = min(ranks.most_on_a_node, cores_of_node())
    return (*(2**k for k in range(most.bit_length()) if 2**k < most), most)


def best_plan(counts: Sequence[int], plan_for: Callable[[int], CopyPlan]) -> CopyPlan:
    """Return the plan with the best number of workers per node; each worker already has three threads.

    If a copy waits for the device, two workers on 2 cores took longer than one (docs/copying.md): each has half of the
    memory, and six threads share the cores that three kept busy.

    Args:
        counts: the numbers of workers, fewest first.
        plan_for: the plan for a number of workers of a node; raises ArgumentError if the memory of each is too small.
    """
    best = plan_for(counts[0])
    for count in counts[1:]:
        try:
            plan = plan_for(count)
        except ArgumentError:
            break
        if plan.seconds < ANOTHER_PAYS * best.seconds:
            best = plan
    return best


def cores_of_node() -> int:
    """Return the cores of the whole machine: a launcher may have bound this process to one of them."""
    return os.cpu_count() or 1

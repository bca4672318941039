"""Which ranks of a copy move tiles. The others agree with them on what was done, and sleep."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter

from swath.ranks import Ranks


@dataclasses.dataclass(frozen=True)
class Workers:
    """The ranks that move tiles, on each node no more than it has cores.

    A rank reads, shuffles and writes with three threads. More ranks than cores would wait for each other's turns, and
    leave each a smaller part of the memory, so that runs are shorter: 4 ranks on 2 cores took 1.4 times as long as one.

    Attributes:
        ranks: in order; rank 0 is one.
        most_on_a_node: how many the fullest node has, who share its memory.
    """

    ranks: tuple[int, ...]
    most_on_a_node: int

    @staticmethod
    def of(ranks: Ranks) -> Workers:
        """The same on every rank of machines that are alike."""
        cores = cores_of_node()
        counts: Counter[int] = Counter()
        chosen = []
        for rank in range(ranks.size):
            node = ranks.comm.node_of(rank)
            counts[node] += 1
            if counts[node] <= cores:
                chosen.append(rank)
        return Workers(tuple(chosen), min(max(counts.values()), cores))

    def tiles_of(self, rank: int, begin: int, end: int) -> range:
        """Those of [begin, end) that a rank moves: they are dealt out in turn, so that all work on one band."""
        if rank not in self.ranks:
            return range(0)
        size = len(self.ranks)
        return range(begin + (self.ranks.index(rank) - begin) % size, end, size)


def cores_of_node() -> int:
    """Of the whole machine: a launcher may have bound this process to one of them."""
    return os.cpu_count() or 1

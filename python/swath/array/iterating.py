"""Loops over an open array: `blocks`, `iterate` and `writer`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from swath.array.async_operations import AsyncOperations
from swath.array.iteration import arrays
from swath.array.iteration.grid import Box
from swath.array.iteration.loop import Loop
from swath.array.iteration.writer import Writer
from swath.space import Distribution

MEMORY = "64MiB"
Values = np.ndarray[Any, np.dtype[Any]]


class Iterating(AsyncOperations):
    """What an open array is iterated over by."""

    def blocks(
        self,
        block: Sequence[int | None],
        *,
        prefetch: int | str = "auto",
        memory: int | str = MEMORY,
        order: str = "C",
    ) -> Loop[tuple[Box, Values]]:
        """Iterate over blocks that cover the array exactly once, and read them ahead. Local.

            for selection, values in a.blocks((128, None)): ...

        With a communicator blocks are dealt to the ranks in turn, and each rank reads its own alone. Left early, by
        `break` or an error, the loop leaves nothing running. After it `a.counters` has its sums; its `depth` and
        `reason` say how far it reads ahead, and why.

        Args:
            block: its length along each dimension; None: all of it. At the ends blocks are shorter.
            prefetch: how many blocks are read ahead: a number, 0 for none, or "auto": from what is measured of
                computing and reading, none where that costs more than it hides.
            memory: for the block in use, the one before it, and those that are read ahead: bytes, or text as "64MiB".
            order: "C" (the last dimension fastest), "F", or "fast": the order in which the file stores them.

        Returns:
            A loop of (selection, ndarray) pairs; `a[selection]` is the same.

        Raises:
            ArgumentError: a block that cannot be, or two of which the memory does not hold.
            StoreError: in the loop, as `read` does. The loop has ended then.
        """
        return arrays.blocks(self, block, arrays.Settings(prefetch, memory, order))

    def iterate(
        self,
        distribution: Distribution | None = None,
        *,
        axis: int = 0,
        prefetch: int | str = "auto",
        memory: int | str = MEMORY,
    ) -> Loop[Values]:
        """Iterate along a dimension: of each index this rank's share, read ahead. Collective, as every step is.

        Whether steps are read ahead is decided for all ranks together. All ranks leave the loop at the same step. One
        that leaves it alone, by `break`, an error or a Ctrl-C, is a DisagreementError of the others, at one of their
        next steps, which says who it was.

        Args:
            distribution: of the other dimensions; without a communicator it may be left out.
            axis: the dimension, which values do not have.
            prefetch: see `blocks`.
            memory: see `blocks`; of each rank.

        Raises:
            ArgumentError, DisagreementError: before anything is read.
            StoreError: in the loop, as `read` does. The loop has ended then.
            DisagreementError: in the loop, where another rank has left it.
        """
        return arrays.iterate(self, distribution, axis, arrays.Settings(prefetch, memory))

    def writer(self, *, behind: int | str = "auto", memory: int | str = MEMORY) -> Writer:
        """Return what writes behind the program, as a `with` block.

            with a.writer() as w:
                w.write(values, selection=np.s_[:128])

        Values are copied: the program may change them at once. At the end of the block all is written; an error of a
        write is raised by a later one, or there. With a communicator it is collective, as each write is, and all ranks
        end the block after the same write: one that leaves it alone is a DisagreementError of the others.

        Args:
            behind: how many writes may be under way: a number, 0 for none, or "auto", which copies nothing where writes
                take hardly longer than copies.
            memory: of the copies together: bytes, or text as "64MiB".

        Raises ArgumentError.
        """
        return arrays.writer(self, behind, memory)

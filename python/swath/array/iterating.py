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
    """The methods of an open array that iterate over it."""

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

        With a communicator, blocks are dealt to the ranks in turn, and each rank reads its own blocks alone. If it is
        left early, by `break` or an error, the loop leaves nothing running. After the loop `a.counters` has its sums.
        `depth` and `reason` of the loop say how far it reads ahead, and why.

        Args:
            block: the block's length along each dimension; None for the whole dimension. Last blocks may be shorter.
            prefetch: how many blocks are read ahead: a number, 0 for none, or "auto". "auto" measures computing and
                reading, and reads nothing ahead if that costs more than it hides.
            memory: the limit for the block in use, the previous one, and those that are read ahead: bytes, or "64MiB".
            order: "C" (the last dimension fastest), "F", or "fast": the order in which the file stores them.

        Returns:
            A loop of (selection, ndarray) pairs; the ndarray is `a[selection]`.

        Raises:
            ArgumentError: the block is invalid, or two blocks do not fit into the memory.
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
        """Iterate along a dimension: yield this rank's share at each index, read ahead. Each step is collective.

        All ranks read ahead, or none does. All ranks must leave the loop at the same step. If a rank leaves it alone,
        by `break`, an error or Ctrl-C, the others raise a DisagreementError at one of their next steps: it names the
        rank.

        Args:
            distribution: the distribution of the other dimensions; optional without a communicator.
            axis: the dimension to iterate along; values do not have it.
            prefetch: see `blocks`.
            memory: see `blocks`; for each rank.

        Raises:
            ArgumentError, DisagreementError: before anything is read.
            StoreError: in the loop, as `read` does. The loop has ended then.
            DisagreementError: in the loop, if another rank has left it.
        """
        return arrays.iterate(self, distribution, axis, arrays.Settings(prefetch, memory))

    def writer(self, *, behind: int | str = "auto", memory: int | str = MEMORY) -> Writer:
        """Return a writer that writes asynchronously, for a `with` block.

            with a.writer() as w:
                w.write(values, selection=np.s_[:128])

        Values are copied: the program may change them at once. At the end of the block everything is written. An error
        of a write is raised by a later write, or at the end. With a communicator the writer and each write are
        collective. All ranks must end the block after the same write; else the others raise a DisagreementError.

        Args:
            behind: how many writes may be under way: a number, 0 for none, or "auto", which makes no copies if writes
                take hardly longer than copies.
            memory: the limit of all copies together: bytes, or "64MiB".

        Raises ArgumentError.
        """
        return arrays.writer(self, behind, memory)

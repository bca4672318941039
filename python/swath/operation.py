"""One read or write of an array: checked arguments, and who wants what. Nothing of the file's or the caller's state."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from swath import _core, asked
from swath.errors import ArgumentError
from swath.space import Boxes, Distribution, Selection, Shape, selected_shape, selection_text

Tuning = tuple[tuple[str, int], ...]


class Conditions(NamedTuple):
    """What planning needs to know and only a look at memory and file can tell; all ranks have agreed on it.

    Attributes:
        cached: part of what is asked for that is in the page cache, 0 to 1; None where that is not known.
        memory_block_bytes: the smallest piece of any rank's memory that is contiguous in the order of the file; 0 where
            memory is packed.
        memory_span_bytes: of memory that is not packed, from the first byte to the last; of the rank with most.
        shows_cache: whether what is in the page cache can be looked at instead of copied.
    """

    cached: float | None = None
    memory_block_bytes: int = 0
    memory_span_bytes: int = 0
    shows_cache: bool = False


_SELECTION = "\0"
"""Stands in a template for the words of the selection; no file name, and no other word, has it."""


@functools.lru_cache(maxsize=256)
def _template(direction: str, identity: str, names: tuple[str, ...], values: tuple[Any, ...]) -> str:
    """What ranks compare of an operation, but for the selection: new ones come at every step of a program."""
    compared = dict(zip(names, values, strict=True))
    told = {"selection": asked.Told(_SELECTION), "tuning": dict(compared["tuning"])}
    return asked.words(direction, identity, {**compared, **told})


class Operation:
    """One read or write, checked. Of a distribution it never changes, so that who asks again may be given it again.

    Args:
        path: of the file, for messages.
        shape: of the array.
        own_rank: this rank.
        ranks: how many there are.
        direction: "read" or "write".
        distribution: see `Array.read`.
        selection: normalised.
        method: see `Array.read`.
        tuning: from `checked_tuning`.
        rank: whose share, where it is not this rank's own; only without a communicator.
        identity: of the array, for the words that ranks compare.

    Attributes:
        rank: whose share.
        local_shapes: the shape of each of this rank's parts in memory.
        decomposition: the core's; of boxes only after `set_boxes`.

    Raises:
        ArgumentError: as `Array.read` does.
    """

    def __init__(
        self,
        path: str,
        shape: Shape,
        own_rank: int,
        ranks: int,
        direction: str,
        distribution: Distribution | Boxes | None,
        selection: Selection,
        method: str,
        tuning: Tuning,
        rank: int | None = None,
        identity: str = "",
    ) -> None:
        # All that decides which bytes move: what is not compared is left out by name.
        not_compared = ("self", "path", "shape", "own_rank", "ranks", "direction", "rank", "identity")
        self._compared = {name: value for name, value in locals().items() if name not in not_compared}
        self._compared["selection"] = None  # every one is in words of its own
        self._is_kept = isinstance(distribution, Distribution) and isinstance(method, str)
        self.direction = direction
        self.distribution = distribution
        self.selection = selection
        self.method = method
        self.tuning = tuning
        self.rank = own_rank if rank is None else rank
        self.decomposition: Any = None
        self._identity = identity or path
        self._asked = ""
        self._shape = shape
        where = f"{direction} {path}"
        if not isinstance(method, str):
            raise ArgumentError(f'{where}: method: expected the name of one, such as "auto", not {method!r}')
        if rank is not None and distribution is None:
            raise ArgumentError(
                f"{where}: rank={rank} is whose share of a distribution; give the swath.Distribution too"
            )
        if isinstance(distribution, Distribution):
            self._share_distribution(distribution, rank, ranks, where)
        elif isinstance(distribution, Boxes):
            if rank is not None:
                raise ArgumentError(f"{where}: boxes are this rank's own; leave out rank={rank}")
        elif distribution is None:
            if ranks > 1:
                raise ArgumentError(
                    f"{where}: with a communicator of {ranks} ranks say who gets what: a swath.Distribution or "
                    "swath.Boxes (or a[...] for this rank alone)"
                )
            self.decomposition = _core.Decomposition.alone(selection)
        else:
            raise ArgumentError(
                f"{where}: expected a swath.Distribution or swath.Boxes, not {type(distribution).__name__}"
            )
        # A method or tuning that cannot be is found on every rank, before anything else is agreed on.
        if method != "auto" or tuning:
            _core.check_asked(method, tuning)
        self.local_shapes = self._local_shapes()

    def _share_distribution(self, distribution: Distribution, rank: int | None, ranks: int, where: str) -> None:
        if rank is not None:
            distribution.local_shape(selected_shape(self.selection), rank)
            self.decomposition = _core.Decomposition.share_of(distribution._core, self.selection, rank)
        elif ranks == 1 and distribution.size > 1:
            raise ArgumentError(
                f"{where}: {distribution!r} is for {distribution.size} ranks, and this process is alone: say whose "
                "share with rank=, or open the array with comm="
            )
        else:
            self.decomposition = _core.Decomposition.distributed(distribution._core, self.selection, ranks)

    def set_boxes(self, boxes_of_rank: list[Any]) -> None:
        """The boxes of all ranks."""
        self.decomposition = _core.Decomposition.boxes(boxes_of_rank, self._shape)
        if self.direction == "write":
            self.decomposition.check_written_once()

    @property
    def asked(self) -> str:
        """What is asked for, in words that are the same on all ranks where it is the same."""
        if not self._asked:
            names, values = tuple(self._compared), tuple(self._compared.values())
            template = (_template if self._is_kept else _template.__wrapped__)(
                self.direction, self._identity, names, values
            )
            selection = asked.short(selection_text(self.selection))
            self._asked = template.replace(_SELECTION, selection, 1)
        return self._asked

    def _local_shapes(self) -> list[Shape]:
        if isinstance(self.distribution, Boxes):
            return self.distribution.shapes
        shape = selected_shape(self.selection)
        if self.distribution is None:
            return [shape]
        return [tuple(self.distribution._core.local_shape(shape, self.rank))]

    def local_indices(self) -> list[list[npt.NDArray[np.int64]]]:
        """The array's indices that each part holds, one ascending or descending list a dimension of the ARRAY."""
        if isinstance(self.distribution, Boxes):
            return [[np.arange(b, e) for b, e in zip(low, high, strict=False)] for low, high in self.distribution.boxes]
        shape = selected_shape(self.selection)
        if self.distribution is None:
            kept = iter([np.arange(n) for n in shape])
            holds = True
        else:
            kept = iter(self.distribution.indices(shape, self.rank))
            holds = bool(self.distribution._core.holds(self.rank))
        indices = []
        for start, step, _, dropped in self.selection:
            indices.append(np.array([start] if holds else [], dtype=np.int64) if dropped else start + step * next(kept))
        return [indices]

    @property
    def rank_of_decomposition(self) -> int:
        """Which of the decomposition's ranks this one is."""
        return min(self.rank, int(self.decomposition.ranks) - 1)


def checked_tuning(tuning: Any) -> Tuning:
    """`tuning` sorted by name; ArgumentError where it is none."""
    if tuning is None:
        return ()
    if not isinstance(tuning, Mapping):
        raise ArgumentError(f'tuning: expected sizes by name, such as {{"window_bytes": 1 << 22}}, not {tuning!r}')
    for name, value in tuning.items():
        if not isinstance(value, (int, np.integer)) or value >= 1 << 62:
            raise ArgumentError(f"tuning: {name}: expected an integer below 2**62, not {value!r}")
    return tuple(sorted((str(name), int(value)) for name, value in tuning.items()))

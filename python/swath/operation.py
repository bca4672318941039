"""One read or write of an array: checked arguments, who wants what, and the plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from swath import _core
from swath.errors import ArgumentError
from swath.formats import LibraryLayout
from swath.local_memory import memory_tuples
from swath.plan import LibraryPlan, Plan
from swath.space import Boxes, Distribution, Selection, Shape, normalise_selection, selected_shape

if TYPE_CHECKING:
    from swath.array import Array


@dataclasses.dataclass(frozen=True)
class Conditions:
    """What planning needs to know and only a look at memory and file can tell; all ranks have agreed on it.

    Attributes:
        cached: part of what is asked for that is in the page cache, 0 to 1.
        memory_block_bytes: the smallest piece of any rank's memory that is contiguous in the order of the file; 0 where
            memory is packed.
    """

    cached: float = 1.0
    memory_block_bytes: int = 0


class Operation:
    """One read or write, checked: who wants what, and by which method."""

    def __init__(
        self,
        array: Array,
        direction: str,
        distribution: Distribution | Boxes | None,
        selection: Any,
        method: str,
        rank: int | None,
        tuning: Mapping[str, int] | None,
        ranks: int,
    ) -> None:
        self.asked = direction
        self.direction = direction
        self.distribution = distribution
        self.rank = array._ranks.rank if rank is None else rank
        self.method = method
        self._array = array
        self._tuning = _checked_tuning(tuning)
        self._boxes: list[Any] | None = None
        self._core_plan: _core.Plan | None = None
        self._conditions = Conditions()
        self.selection: Selection = normalise_selection(selection, array.shape)
        self.sharing: Any = None
        where = f"{direction} {array.path}"
        if not isinstance(method, str):
            raise ArgumentError(f'{where}: method: expected the name of one, such as "auto", not {method!r}')
        if rank is not None and array._ranks.size > 1:
            raise ArgumentError(
                f"{where}: rank={rank} is for arrays opened without a communicator; each rank has its own"
            )
        if rank is not None and distribution is None:
            raise ArgumentError(
                f"{where}: rank={rank} is whose share of a distribution; give the swath.Distribution too"
            )
        if isinstance(distribution, Distribution):
            self._share_distribution(distribution, rank, ranks, where)
        elif isinstance(distribution, Boxes):
            if selection is not ...:
                raise ArgumentError(f"{where}: boxes are of the whole array; leave out the selection")
            if rank is not None:
                raise ArgumentError(f"{where}: boxes are this rank's own; leave out rank={rank}")
        elif distribution is None:
            if ranks > 1:
                raise ArgumentError(
                    f"{where}: with a communicator of {ranks} ranks say who gets what: a swath.Distribution or "
                    "swath.Boxes (or a[...] for this rank alone)"
                )
            self.sharing = _core.Sharing.alone(self.selection)
        else:
            raise ArgumentError(
                f"{where}: expected a swath.Distribution or swath.Boxes, not {type(distribution).__name__}"
            )
        # A method or tuning that cannot be is found on every rank, before anything else is agreed on.
        _core.check_asked(method, self._tuning)

    def _share_distribution(self, distribution: Distribution, rank: int | None, ranks: int, where: str) -> None:
        if rank is not None:
            distribution.local_shape(selected_shape(self.selection), rank)
            self.sharing = _core.Sharing.share_of(distribution._core, self.selection, rank)
        elif ranks == 1 and distribution.size > 1:
            raise ArgumentError(
                f"{where}: {distribution!r} is for {distribution.size} ranks, and this process is alone: say whose "
                "share with rank=, or open the array with comm="
            )
        else:
            self.sharing = _core.Sharing.distributed(distribution._core, self.selection, ranks)

    def set_boxes(self, boxes: list[Any]) -> None:
        """The boxes of all ranks."""
        self._boxes = boxes
        self.sharing = _core.Sharing.boxes(boxes, self._array.shape)
        if self.direction == "write":
            self.sharing.check_written_once()

    def local_shapes(self) -> list[Shape]:
        """The shape of each of this rank's parts in memory."""
        if isinstance(self.distribution, Boxes):
            return self.distribution.shapes
        shape = selected_shape(self.selection)
        if self.distribution is None:
            return [shape]
        return [self.distribution.local_shape(shape, self.rank)]

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

    def covers_all(self) -> bool:
        """Whether the operation writes every element of the array."""
        return self._array._layout is not None and int(self.core_plan().bytes) == self._array.nbytes

    def set_conditions(self, conditions: Conditions) -> None:
        """What the ranks have agreed on; before the plan is made."""
        self._conditions = conditions
        self._core_plan = None

    @property
    def cached(self) -> float:
        """Part of what is asked for that was in the page cache."""
        return self._conditions.cached

    def cached_part(self) -> float:
        """What part of it the page cache holds now; 1 where the kernel does not tell, or the file is a new one."""
        array = self._array
        if array._layout is None or array._aside is not None or self.sharing is None:
            return 1.0
        begin, end = _core.span_of(array._layout, self.sharing)
        part = array._engine.cached_part(begin, end - begin)
        return 1.0 if part is None else float(part)

    def memory_block_bytes(self, parts: list[npt.NDArray[Any]]) -> int:
        """See `Conditions`, of this rank's own memory."""
        layout = self._array._layout
        if layout is None or self.sharing is None or all(part.flags.c_contiguous for part in parts):
            return 0
        return int(_core.memory_block(layout, self.sharing, self._rank_of_sharing, memory_tuples(parts)))

    @property
    def _rank_of_sharing(self) -> int:
        return min(self.rank, int(self.sharing.ranks) - 1)

    def layout_changed(self) -> None:
        """Plan again."""
        self._core_plan = None

    def core_plan(self) -> _core.Plan:
        """The core's plan, made once."""
        if self._core_plan is None:
            write = self.direction == "write"
            array = self._array
            self._core_plan = _core.make_plan(
                write,
                array._layout,
                self.sharing,
                self.method,
                self._tuning,
                array._ranks.exchange_messages,
                array._learning.profile,
                self._conditions.cached,
                self._conditions.memory_block_bytes,
                min(array._ranks.most_on_a_node, self.sharing.ranks) if array._ranks.size > 1 else 0,
            )
        return self._core_plan

    def plan(self) -> Plan:
        """What `explain` shows."""
        title = self._array._title()
        layout = self._array._description.layout
        if isinstance(layout, LibraryLayout):
            return LibraryPlan(title, self.direction, self.sharing.ranks, layout.reason)
        return Plan(self.core_plan(), title)


def _checked_tuning(tuning: Any) -> dict[str, int]:
    if tuning is None:
        return {}
    if not isinstance(tuning, Mapping):
        raise ArgumentError(f'tuning: expected sizes by name, such as {{"window_bytes": 1 << 22}}, not {tuning!r}')
    for name, value in tuning.items():
        if not isinstance(value, (int, np.integer)) or value >= 1 << 62:
            raise ArgumentError(f"tuning: {name}: expected an integer below 2**62, not {value!r}")
    return {str(name): int(value) for name, value in tuning.items()}

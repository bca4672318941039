"""Which rank owns which elements: distributions, boxes, and NumPy selections.

Source: HPF's DISTRIBUTE and del Rosario, Bordawekar, Choudhary, *Improved Parallel I/O via a Two-phase Run-time Access
Strategy* (1993), section 2.1 and table 1.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import EllipsisType, NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import _core
from swath.errors import ArgumentError, SelectionError

Shape = tuple[int, ...]
Selection = tuple[tuple[int, int, int, bool], ...]
"""(start, step, count, dropped) of every dimension of the array."""


@dataclass(frozen=True)
class Block:
    """One contiguous block a process: `size` elements, or HPF's ceil(N / P); the last may be short or empty."""

    size: int | None = None

    def _rule(self) -> tuple[str, int]:
        return "block", _positive("Block", self.size) if self.size is not None else 0

    def __repr__(self) -> str:
        return "Block()" if self.size is None else f"Block({self.size})"


@dataclass(frozen=True)
class Cyclic:
    """Blocks of `size` elements dealt out in turn: HPF's CYCLIC(k)."""

    size: int = 1

    def _rule(self) -> tuple[str, int]:
        return "cyclic", _positive("Cyclic", self.size)

    def __repr__(self) -> str:
        return f"Cyclic({self.size})"


@dataclass(frozen=True)
class Whole:
    """The dimension is not divided: HPF's `*`."""

    def _rule(self) -> tuple[str, int]:
        return "whole", 0

    def __repr__(self) -> str:
        return "Whole()"


Rule = Block | Cyclic | Whole


class Distribution:
    """How a (selected) array is divided over a process grid, one rule a dimension.

    Place i of the grid, in row-major order as `MPI_Cart_create` numbers it, is rank i, or `ranks[i]` where ranks are
    given. Ranks that have no place hold nothing and still take part in collective operations.

    Args:
        rules: `Block()`, `Block(k)`, `Cyclic(k)` or `Whole()` for each dimension.
        grid: processes along each dimension (1 for `Whole()`), or along each dimension that is not `Whole()`.
        ranks: which ranks of the communicator make up the grid; by default the first ones.

    Attributes:
        grid: processes along each dimension, 1 for `Whole()`.
        size: how many ranks the grid has room for.

    Raises:
        ArgumentError: a rule or grid that cannot be.

    Example: `Distribution((Whole(), Cyclic(4)), grid=(1, 8))` deals blocks of four columns to eight ranks.
    """

    def __init__(self, rules: Sequence[Rule], grid: Sequence[int], ranks: Sequence[int] | None = None) -> None:
        rules = tuple(_items("rules", rules))
        for d, rule in enumerate(rules):
            if not isinstance(rule, (Block, Cyclic, Whole)):
                raise ArgumentError(
                    f"distribution: dimension {d}: expected Block(), Block(k), Cyclic(k) or Whole(), not {rule!r}"
                )
        self.rules = rules
        self.ranks = None if ranks is None else tuple(_integers("ranks", ranks))
        if self.ranks is not None and any(not 0 <= rank < 1 << 31 for rank in self.ranks):
            raise ArgumentError(f"distribution: ranks {self.ranks}: expected numbers from 0 to {(1 << 31) - 1}")
        if self.ranks == ():
            raise ArgumentError("distribution: 0 ranks given; leave out ranks= for the first ones")
        self._core = _core.Distribution(
            [rule._rule() for rule in rules], _integers("grid", grid), list(self.ranks or ())
        )
        self.grid: Shape = tuple(self._core.grid)
        self.size: int = self._core.places
        # Asked for at every operation.
        self._hash = hash((self.rules, self.grid, self.ranks))
        of_ranks = "" if self.ranks is None else f", ranks={self.ranks}"
        self._text = f"Distribution({self.rules}, grid={self.grid}{of_ranks})"

    @classmethod
    def _of_core(cls, core: _core.Distribution) -> Distribution:
        """Return the distribution that the core has."""
        rules: list[Rule] = []
        for kind, size in core.rules:
            rules.append(Whole() if kind == "whole" else Cyclic(size) if kind == "cyclic" else Block(size or None))
        return cls(rules, core.grid, core.ranks or None)

    def local_shape(self, shape: Sequence[int], rank: int) -> Shape:
        """Return the shape of the share of `rank` of a (selected) array of `shape`; zeros beyond the grid.

        Raises ArgumentError where the dimensions do not match, or `Block(k)` leaves elements without an owner.
        """
        return tuple(self._core.local_shape(_shape(shape), _rank(rank)))

    def indices(self, shape: Sequence[int], rank: int) -> tuple[npt.NDArray[np.int64], ...]:
        """Return the indices that `rank` owns, one int64 array a dimension: `full[np.ix_(*d.indices(shape, rank))]`.

        Raises as `local_shape` does.
        """
        return tuple(self._core.indices(_shape(shape), _rank(rank)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Distribution):
            return NotImplemented
        return (self.rules, self.grid, self.ranks) == (other.rules, other.grid, other.ranks)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[Any, ...]:
        return Distribution, (self.rules, self.grid, self.ranks)


TABLE_1: dict[str, tuple[Rule, Rule]] = {
    "column-block": (Whole(), Block()),
    "column-cyclic": (Whole(), Cyclic()),
    "row-block": (Block(), Whole()),
    "row-cyclic": (Cyclic(), Whole()),
    "block-block": (Block(), Block()),
    "block-cyclic": (Block(), Cyclic()),
    "cyclic-block": (Cyclic(), Block()),
    "cyclic-cyclic": (Cyclic(), Cyclic()),
}
"""The eight distributions of table 1 of the two-phase paper, as rules for a two-dimensional array."""


def table_1(name: str, ranks: int) -> Distribution:
    """A distribution of table 1 by its name, over `ranks` ranks (a square-like grid where both dimensions are divided).

    Raises ArgumentError for a name that is not in `TABLE_1`.
    """
    if name not in TABLE_1:
        raise ArgumentError(f"no distribution {name!r} in table 1; expected one of {', '.join(TABLE_1)}")
    rules = TABLE_1[name]
    return Distribution(rules, balanced_grid(rules, ranks))


def balanced_grid(rules: Sequence[Rule], ranks: int) -> Shape:
    """A process grid for `ranks` ranks, as square as `MPI_Dims_create` makes it, 1 along `Whole()` dimensions."""
    ranks = _positive("balanced_grid: ranks", ranks, "at least 1 rank")
    divided = [d for d, rule in enumerate(rules) if not isinstance(rule, Whole)]
    if not divided and ranks > 1:
        raise ArgumentError(f"a distribution whose dimensions are all Whole() cannot be divided over {ranks} ranks")
    grid = [1] * len(rules)
    factors = []
    rest = ranks
    for prime in range(2, math.isqrt(ranks) + 1):
        while rest % prime == 0:
            factors.append(prime)
            rest //= prime
    if rest > 1:
        factors.append(rest)
    for factor in reversed(factors):
        smallest = min(divided, key=lambda d: grid[d])
        grid[smallest] *= factor
    for d, extent in zip(divided, sorted((grid[d] for d in divided), reverse=True), strict=False):
        grid[d] = extent
    return tuple(grid)


class Boxes:
    """Explicit boxes of one rank, as adaptive meshes have them: each rank knows only its own.

    Args:
        boxes: (start, stop) corners of each box, half-open, of as many dimensions as the array has.

    Raises:
        ArgumentError: corners of different lengths, negative ones, or stop below start.
    """

    def __init__(self, boxes: Iterable[tuple[Sequence[int], Sequence[int]]]) -> None:
        checked = []
        for number, box in enumerate(_items("boxes", boxes)):
            try:
                start, stop = box
            except (TypeError, ValueError):
                raise ArgumentError(f"box {number}: expected (start, stop) corners, not {box!r}") from None
            low, high = tuple(_integers("start", start)), tuple(_integers("stop", stop))
            if len(low) != len(high) or any(b < 0 or e < b for b, e in zip(low, high, strict=False)):
                raise ArgumentError(
                    f"box {number}: {low} to {high}: expected corners of one length with 0 <= start <= stop"
                )
            checked.append((low, high))
        self.boxes: tuple[tuple[Shape, Shape], ...] = tuple(checked)

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each box."""
        return [tuple(e - b for b, e in zip(low, high, strict=False)) for low, high in self.boxes]

    def __len__(self) -> int:
        return len(self.boxes)

    def __repr__(self) -> str:
        return f"Boxes({list(self.boxes)})"


def normalise_selection(selection: Any, shape: Shape) -> Selection:
    """NumPy basic slicing (integers, slices, Ellipsis) as (start, step, count, dropped) for every dimension.

    Raises SelectionError for newaxis, arrays and masks, too many indices, or an integer out of range.
    """
    items = selection if isinstance(selection, tuple) else (selection,)
    complete = len(items) == len(shape)
    for item in items:
        complete = complete and item is not Ellipsis
    if not complete:
        items = _completed(items, shape)
    normal = []
    for d, extent in enumerate(shape):
        normal.append(_normalise_one(items[d], extent, d))
    return tuple(normal)


def is_fixed_selection(selection: Any) -> bool:
    """Return whether it cannot change in place: Python's own integers, slices of them, Ellipsis, tuples of those."""
    return all(
        type(item) in (int, EllipsisType)
        or (type(item) is slice and all(type(n) in (int, NoneType) for n in (item.start, item.stop, item.step)))
        for item in (selection if type(selection) is tuple else (selection,))
    )


def _completed(items: tuple[Any, ...], shape: Shape) -> tuple[Any, ...]:
    """Return an item for every dimension: whole ones in place of the Ellipsis, or at the end."""
    ellipses = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise SelectionError("selection: an index can have only one Ellipsis ('...')")
    given = len(items) - len(ellipses)
    if given > len(shape):
        raise SelectionError(f"selection: {given} indices for an array of {len(shape)} dimensions, shape {shape}")
    place = ellipses[0] if ellipses else len(items)
    return (*items[:place], *[slice(None)] * (len(shape) - given), *items[place + 1 :])


def _normalise_one(item: Any, extent: int, d: int) -> tuple[int, int, int, bool]:
    if item is None:
        raise SelectionError(
            f"selection: newaxis (None) in place {d} adds a dimension that the file does not have; read without it, "
            "then reshape the result"
        )
    if isinstance(item, slice):
        try:
            start, stop, step = item.indices(extent)
        except (TypeError, ValueError) as error:
            raise SelectionError(f"selection: dimension {d}: {item!r}: {error}") from None
        count = len(range(start, stop, step))
        return (start if count else 0), (step if count > 1 else 1), count, False  # one element: any step, however long
    if isinstance(item, (bool, np.bool_)):
        raise SelectionError(f"selection: dimension {d}: a mask ({item!r}) is not basic slicing; read, then mask")
    try:
        index = operator.index(item)
    except TypeError:
        raise SelectionError(
            f"selection: dimension {d}: expected an integer, a slice or '...', not {_index_text(item)}"
        ) from None
    if not -extent <= index < extent:
        raise SelectionError(f"selection: dimension {d}: index {index} is outside [{-extent}, {extent})")
    return index % extent, 1, 1, True


def _index_text(item: Any) -> str:
    """Return what an index is that is no basic slicing, and what to do instead."""
    try:
        array = np.asarray(item)
    except ValueError:  # lists of different lengths
        array = np.empty(0)
    if array.ndim == 0:
        return f"{type(item).__name__} ({item!r})"
    if array.dtype == bool:
        return "a mask; read the box that holds its elements, then mask the result: a[box][mask]"
    if array.dtype.kind not in "iu" or array.size == 0 or array.min() < 0:
        return f"{type(item).__name__}; read the box that holds the elements, then index the result: a[box][indices]"
    low, high = int(array.min()), int(array.max())
    return f"indices; read the box that holds them, {low}:{high + 1}, then index the result with indices - {low}"


def selection_text(selection: Selection) -> str:
    """Return the selection for messages: "[3, 10:20:2, 9::-1]"."""

    def one(start: int, step: int, count: int, dropped: bool) -> str:
        stop = start + count * step
        by = "" if step == 1 else f":{step}"
        return str(start) if dropped else f"{start}:{stop if stop >= 0 else ''}{by}"

    return f"[{', '.join(one(*item) for item in selection)}]"


def selected_shape(selection: Selection) -> Shape:
    """Return the shape that NumPy gives the selected array."""
    return tuple([count for _, _, count, dropped in selection if not dropped])


def _items(what: str, values: Any) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise ArgumentError(f"{what}: expected a sequence, not {values!r}") from None


def _integers(what: str, values: Any) -> list[int]:
    try:
        numbers = [operator.index(v) for v in ([values] if isinstance(values, (int, np.integer)) else values)]
    except TypeError:
        raise ArgumentError(f"{what}: expected integers, not {values!r}") from None
    if any(not -(1 << 63) <= number < 1 << 63 for number in numbers):
        raise ArgumentError(f"{what}: expected integers of at most 64 bits, not {values!r}")
    return numbers


def _shape(values: Any) -> list[int]:
    shape = _integers("shape", values)
    if any(extent < 0 for extent in shape):
        raise ArgumentError(f"shape {tuple(shape)}: expected lengths that are not negative")
    return shape


def _positive(what: str, value: Any, expected: str = "a block of at least 1 element") -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if not 1 <= number < 1 << 63:
        raise ArgumentError(f"{what}({value!r}): expected {expected}")
    return number


def _rank(rank: Any) -> int:
    try:
        number = operator.index(rank)
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 31:
        raise ArgumentError(f"rank {rank!r}: expected an integer from 0 to {(1 << 31) - 1}")
    return number

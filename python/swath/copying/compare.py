"""Compares two arrays in files of any format, in bounded memory; verify.py compares whole files."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import _core
from swath.array import progress
from swath.array.opening import open_described
from swath.copying.copy_layout import Side
from swath.copying.costs import Costs
from swath.copying.one_pass import Pass
from swath.copying.pipeline import Elements, Progress, Tiles
from swath.copying.plan import make_plan
from swath.copying.request import checked_axes
from swath.errors import ArgumentError
from swath.files.open_options import OpenOptions
from swath.formats import Description
from swath.ranks.ranks import Ranks

NUMBERS = "biufc"
ValuesAt = Callable[[tuple[int, ...]], tuple[Any, Any]]
WITHOUT_VALUE = "fcmM"
"""The kinds of dtypes that have a NaN or NaT, which is unequal to itself."""
PIECE_ELEMENTS = 1 << 16
"""The elements that are compared at once: their masks and converted values fit into a core's cache."""


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The result of the comparison of two arrays.

    Attributes:
        equal: same shape, and every element has the same value (a NaN is equal to a NaN, also in a field).
        elements: the number of compared elements.
        differing: the number of elements that differ.
        first_index: the index of the first difference in C order; None if there is none.
        first_values: both values there, as plain Python values or text; None if there is none.
        reason: why the arrays are not equal, if their shapes differ and no elements were compared.
    """

    equal: bool
    elements: int
    differing: int = 0
    first_index: tuple[int, ...] | None = None
    first_values: tuple[Any, Any] | None = None
    reason: str = ""

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        if self.equal:
            return f"equal: {self.elements:,} elements"
        if self.first_values is None:
            return f"different: {self.reason}"
        a, b = self.first_values
        first = f"the first at {self.first_index}: {a!r} and {b!r}"
        return f"different: {self.differing:,} of {self.elements:,} elements; {first}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class HowToCompare:
    """How arrays are compared: see `verify`. `memory` is the budget in bytes of this rank."""

    ranks: Ranks
    memory: int
    engine: str | None


def compare_arrays(
    both: tuple[Description, Description], axes: tuple[int, ...] | None, how: HowToCompare
) -> Comparison:
    """Compare two arrays element by element. Collective. Raises as `verify` does."""
    ranks = how.ranks
    first, second = both
    _check_comparable(first.dtype, second.dtype)
    turned = checked_axes(axes, len(first.shape))
    shape = tuple(first.shape[d] for d in turned)
    if shape != second.shape:
        return Comparison(False, 0, reason=f"shapes {shape} and {second.shape}")
    side_a, side_b = Side.of(first).permuted(turned), Side.of(second)
    # Both sides are read: two tiles at a time of each, no slabs.
    numbers = _core.default_profile().to_dict()
    costs = Costs.of({**numbers, "source": "stated defaults"})
    plan = make_plan(side_a, side_b, budget_bytes=max(how.memory // 2, 4096), costs=costs).passes[-1]
    if plan.source is not side_a:  # with two passes, the second one reads a scratch file
        plan = dataclasses.replace(plan, source=side_a)
    title = f"verify {first.name} {second.name}"
    watched = Progress(plan.target.nbytes // ranks.size)
    with contextlib.ExitStack() as stack, progress.watching(title, ranks.rank, watched):

        def work() -> Found:
            arrays = [
                stack.enter_context(
                    contextlib.closing(open_described(d, Ranks(_core.solo_comm()), OpenOptions("r", how.engine)))
                )
                for d in (first, second)
            ]
            room = plan.chunk_buffer_bytes(side_a), plan.chunk_buffer_bytes(side_b)
            unturned = tuple(range(len(shape)))
            tiles = Tiles(arrays[0], side_a, turned, room[0]), Tiles(arrays[1], side_b, unturned, room[1])
            return _compare(plan, tiles, ranks, watched)

        found = merged(ranks.gather_objects(ranks.run_collectively(title, work)))
    total = math.prod(shape)
    return Comparison(found.differing == 0, total, found.differing, found.index, found.values)


@dataclasses.dataclass
class Found:
    """The number of elements that differ, and the first of them with both values."""

    differing: int = 0
    index: tuple[int, ...] | None = None
    values: tuple[Any, Any] | None = None

    def add(self, differing: int, index: tuple[int, ...], values: tuple[Any, Any]) -> None:
        """Add the differences of another part."""
        self.differing += differing
        if self.index is None or index < self.index:
            self.index, self.values = index, values

    def add_box(self, differs: npt.NDArray[np.bool_], begin: Sequence[int], values_at: ValuesAt) -> None:
        """Add the differences in a box that begins at `begin`; `values_at` gives both values at an index of the box."""
        count = int(np.count_nonzero(differs))
        if count:
            inside = np.unravel_index(int(np.argmax(differs)), differs.shape) if differs.ndim else ()
            place = tuple(int(p) for p in inside)
            self.add(count, tuple(x + p for x, p in zip(begin, place, strict=True)), values_at(place))


def merged(of_ranks: list[Found]) -> Found:
    """Return the result of all ranks together."""
    found = Found()
    for one in of_ranks:
        if one.index is not None and one.values is not None:
            found.add(one.differing, one.index, one.values)
    return found


def _compare(plan: Pass, tiles: tuple[Tiles, Tiles], ranks: Ranks, watched: Progress) -> Found:
    """Compare the tiles of this rank."""
    found = Found()
    buffers = [np.empty(math.prod(plan.tile) * side.itemsize, np.uint8) for side in (plan.source, plan.target)]
    for index in range(ranks.rank, plan.tiles, ranks.size):
        box = plan.box(index)
        a, b = (tile.read(box, buffer) for tile, buffer in zip(tiles, buffers, strict=True))
        begin = tuple(s.start for s in box)
        for piece in _pieces(a.shape):
            _compare_piece(a[piece], b[piece], [x + s.start for x, s in zip(begin, piece[:-1], strict=True)], found)
        watched.bytes_done += b.nbytes
    return found


def _compare_piece(a: Elements, b: Elements, begin: list[int], found: Found) -> None:
    found.add_box(differing_elements(a, b), begin, lambda place: (_plain(a[place]), _plain(b[place])))


def _plain(value: Any) -> Any:
    """Return one element as plain Python values, even if a structure holds arrays."""
    if value.dtype.names is not None:
        return tuple(_plain(value[name]) for name in value.dtype.names)
    return value.tolist()


def _check_comparable(a: np.dtype[Any], b: np.dtype[Any]) -> None:
    if not _are_comparable(a, b):
        raise ArgumentError(f"elements of dtype {a} and {b} cannot be compared")


def _are_comparable(a: np.dtype[Any], b: np.dtype[Any]) -> bool:
    """Return whether dtypes can be compared: structures field by field, at any offsets."""
    if a.shape != b.shape or a.names != b.names:
        return False
    if a.subdtype is not None:
        return _are_comparable(a.base, b.base)
    if a.names is not None:
        return all(_are_comparable(a[name], b[name]) for name in a.names)
    if a.kind == "V":
        return a == b
    return a.kind == b.kind or (a.kind in NUMBERS and b.kind in NUMBERS)


def differing_elements(a: Elements, b: Elements) -> npt.NDArray[np.bool_]:
    """Return where elements differ: in any field, in any element of an array in it, in the real or imaginary part."""
    if a.dtype.names is not None:
        differs = np.zeros(a.shape, np.bool_)
        for name in a.dtype.names:
            of_field = differing_elements(a[name], b[name])
            differs |= of_field.any(axis=tuple(range(a.ndim, of_field.ndim)))
        return differs
    differs = np.asarray(a != b)
    if not differs.any() or not {a.dtype.kind, b.dtype.kind} & set(WITHOUT_VALUE):
        return differs
    if "c" in (a.dtype.kind, b.dtype.kind):
        return differing_elements(a.real, b.real) | differing_elements(a.imag, b.imag)
    differs &= ~((a != a) & (b != b))
    return differs


def _pieces(extents: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield boxes of about PIECE_ELEMENTS elements that are nearly cubes: they suit both sides' orders equally."""
    steps = list(extents)
    while math.prod(steps) > PIECE_ELEMENTS:
        longest = max(range(len(steps)), key=steps.__getitem__)
        steps[longest] = -(-steps[longest] // 2)
    grid = [range(0, e, s) for e, s in zip(extents, steps, strict=True)]
    for number in range(math.prod(len(g) for g in grid)):
        piece: list[Any] = []
        for g, s, e in zip(grid, steps, extents, strict=True):
            number, place = divmod(number, len(g))  # noqa: PLW2901
            piece.append(slice(g[place], min(g[place] + s, e)))
        yield (*piece, ...)

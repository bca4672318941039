"""Places: this rank's elements by index arrays, as NumPy takes them, and unions of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError
from swath.space import Boxes, Distribution, Shape, normalise_selection, selected_shape

Indices = npt.NDArray[np.int64]


class Resolved(NamedTuple):
    """Elements of an array of known shape: an index array for each dimension, each with as many axes as `shape`.

    The index arrays broadcast to `shape`: an axis along which one does not vary has the length 1.
    """

    indices: tuple[Indices, ...]
    shape: Shape


class _OfArrays:
    """Elements by index arrays of the leading dimensions, with all indices of the trailing ones."""

    def __init__(self, indices: tuple[Any, ...]) -> None:
        arrays = [_integers(number, given) for number, given in enumerate(indices)]
        try:
            self.shape = np.broadcast_shapes(*(array.shape for array in arrays))
        except ValueError:
            shapes = ", ".join(str(array.shape) for array in arrays)
            raise ArgumentError(f"places: index arrays of shapes {shapes} do not broadcast together") from None
        self._arrays = [_kept(array, len(self.shape)) for array in arrays]

    def resolved(self, shape: Shape, where: str) -> Resolved:
        given = len(self._arrays)
        if given > len(shape):
            raise ArgumentError(f"{where}{given} index arrays for an array of {len(shape)} dimensions, shape {shape}")
        trailing = shape[given:]
        indices = [_within(array, shape[d], d, where) for d, array in enumerate(self._arrays)]
        indices = [array.reshape(*array.shape, *[1] * len(trailing)) for array in indices]
        axes = len(self.shape) + len(trailing)
        for d, extent in enumerate(trailing):
            lengths = [1] * axes
            lengths[len(self.shape) + d] = extent
            indices.append(np.arange(extent, dtype=np.int64).reshape(lengths))
        return Resolved(tuple(indices), (*self.shape, *trailing))

    def __repr__(self) -> str:
        return ", ".join(np.array2string(array, threshold=6, separator=", ") for array in self._arrays)


class _OfBox:
    """The elements of a box."""

    def __init__(self, start: Shape, stop: Shape) -> None:
        self.start, self.stop = start, stop

    def resolved(self, shape: Shape, where: str) -> Resolved:
        if len(self.start) != len(shape) or any(e > n for e, n in zip(self.stop, shape, strict=False)):
            raise ArgumentError(f"{where}the box {self.start} to {self.stop} does not lie in an array of shape {shape}")
        return _product([np.arange(b, e, dtype=np.int64) for b, e in zip(self.start, self.stop, strict=True)])

    def __repr__(self) -> str:
        return f"box {self.start} to {self.stop}"


class _OfShare:
    """One rank's share of a distribution of the (selected) array."""

    def __init__(self, distribution: Distribution, rank: int, selection: Any) -> None:
        self.distribution, self.rank, self.selection = distribution, rank, selection

    def resolved(self, shape: Shape, where: str) -> Resolved:
        try:
            selection = normalise_selection(self.selection, shape)
            kept = iter(self.distribution.indices(selected_shape(selection), self.rank))
        except ArgumentError as error:
            raise type(error)(f"{where}{error}") from None
        holds = bool(self.distribution._core.holds(self.rank))
        # A rank outside the grid has no elements, even if all dimensions are dropped.
        resolved = _product(
            [start + step * (np.zeros(1, np.int64) if dropped else next(kept)) for start, step, _, dropped in selection]
        )
        return resolved if holds else Resolved(resolved.indices, (0,))

    def __repr__(self) -> str:
        chosen = "" if self.selection is ... else f", {self.selection!r}"
        return f"({self.distribution!r}, {self.rank}{chosen})"


_Piece: TypeAlias = _OfArrays | _OfBox | _OfShare


class Places:
    """This rank's elements by index arrays. Each rank passes its own, which other ranks cannot compute.

    `a.read(swath.Places(ix, iy))` is NumPy's `a[ix, iy]`, and `a.read(swath.Places(*np.ix_(rows, columns)))` is
    `a[np.ix_(rows, columns)]`. Index arrays broadcast together; dimensions without one are taken whole; negative
    indices count from the end. Places may be in any order, and when read also repeated. See docs/views.md.

    They are stored as a nest of levels (decision record 0037). Lists that combine, as `np.ix_` makes them, are levels
    inside each other: they need the memory of the lists, not of their product. Lists with a constant stride need no
    memory there; this object also keeps the given indices.

    Args:
        indices: an array, list or range of integers for each of the leading dimensions.
        overlap: whether writes may share elements. An element that this rank writes several times gets the last value,
            as in NumPy; one that several ranks write gets the value of one of them. All ranks must pass the same.
            Without it, a write with a repeated element raises ArgumentError, on all ranks.

    Attributes:
        overlap: the argument.

    Raises:
        ArgumentError: indices are not integers, or do not broadcast. An operation raises it if an index is outside the
            array.
    """

    def __init__(self, *indices: Any, overlap: bool = False) -> None:
        if not indices:
            raise ArgumentError(
                "places: no index arrays; for nothing give swath.Places([]), for the whole array leave places out"
            )
        self._set_pieces((_OfArrays(indices),), overlap=overlap, flat=False)

    @classmethod
    def union(cls, *parts: Any, overlap: bool = False) -> Places:
        """Return the elements of all parts as one flat part: one part behind the other, each in C order.

        Without parts the union is empty, for ranks without elements. In a read, parts may share elements.

        Args:
            parts: `Places`, `Boxes`, and shares of distributions as (distribution, rank) or (distribution, rank,
                selection).
            overlap: see `Places`.

        Raises:
            ArgumentError: anything else.
        """
        pieces: list[_Piece] = []
        for number, part in enumerate(parts):
            pieces.extend(_pieces_of(number, part))
        made = cls.__new__(cls)
        made._set_pieces(tuple(pieces), overlap=overlap, flat=True)
        return made

    def _set_pieces(self, pieces: tuple[_Piece, ...], *, overlap: bool, flat: bool) -> None:
        if not isinstance(overlap, (bool, np.bool_)):
            raise ArgumentError(f"places: overlap={overlap!r}: expected True or False")
        self._pieces = pieces
        self._is_flat = flat
        self.overlap = bool(overlap)

    def shape_in(self, shape: Shape) -> Shape:
        """Return the shape of the result for an array of `shape`. Raises ArgumentError as a read does."""
        pieces = list(self._resolved(tuple(shape), ""))
        if not self._is_flat:
            return pieces[0].shape
        return (sum(int(np.prod(piece.shape, dtype=np.int64)) for piece in pieces),)

    def _resolved(self, shape: Shape, where: str) -> Iterator[Resolved]:
        """Yield the elements of each piece. Raise ArgumentError, which begins with `where`, if one is outside."""
        for number, piece in enumerate(self._pieces):
            yield piece.resolved(shape, f"{where}part {number}: " if self._is_flat else where)

    def __len__(self) -> int:
        """Return the length of the first axis, as for NumPy's index arrays; for a union, its number of pieces."""
        if self._is_flat:
            return len(self._pieces)
        (piece,) = self._pieces
        assert isinstance(piece, _OfArrays)
        if not piece.shape:
            raise TypeError("len() of places without an axis: one element of the leading dimensions")
        return int(piece.shape[0])

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        words = [repr(piece) for piece in self._pieces] + (["overlap=True"] if self.overlap else [])
        return f"Places{'.union' if self._is_flat else ''}({', '.join(words)})"


def _pieces_of(number: int, part: Any) -> list[_Piece]:
    if isinstance(part, Places):
        return list(part._pieces)
    if isinstance(part, Boxes):
        return [_OfBox(start, stop) for start, stop in part.boxes]
    if isinstance(part, tuple) and len(part) in (2, 3) and isinstance(part[0], Distribution):
        distribution, rank = part[:2]
        if isinstance(rank, (int, np.integer)) and 0 <= rank < 1 << 31:
            return [_OfShare(distribution, int(rank), part[2] if len(part) == 3 else ...)]
    raise ArgumentError(
        f"places: part {number} of a union: expected swath.Places, swath.Boxes, or (distribution, rank[, selection]), "
        f"not {part!r}"
    )


def _product(lists: list[Indices]) -> Resolved:
    """Return all combinations of the indices, given as a list for each dimension."""
    return Resolved(tuple(np.ix_(*lists)) if lists else (), tuple(len(one) for one in lists))


def _integers(number: int, given: Any) -> Indices:
    where = f"places: index array {number}"
    try:
        array = np.asarray(given)
    except (ValueError, OverflowError):
        raise ArgumentError(f"{where}: expected an array of integers, not lists of different lengths") from None
    if array.dtype == bool:
        raise ArgumentError(f"{where}: a mask; give the places where it is true: swath.Places(*np.nonzero(mask))")
    if array.size == 0:
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind not in "iu":
        raise ArgumentError(f"{where}: expected integers, not {array.dtype} ({given!r:.80})")
    if array.dtype.kind == "u" and int(array.max()) >= 1 << 63:
        raise ArgumentError(f"{where}: index {int(array.max())} is beyond 64 bits")
    return array.astype(np.int64)


def _kept(array: Indices, axes: int) -> Indices:
    """Return the array with so many axes. An axis along which it does not vary gets the length 1."""
    array = array.reshape((1,) * (axes - array.ndim) + array.shape)
    for axis in range(axes):
        first = array[(slice(None),) * axis + (slice(0, 1),)]
        if array.shape[axis] > 1 and bool((array == first).all()):
            array = first
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def _within(array: Indices, extent: int, d: int, where: str) -> Indices:
    """Return non-negative indices. Raise ArgumentError if one is outside the array."""
    if array.size == 0:
        return array
    low, high = int(array.min()), int(array.max())
    if low < -extent or high >= extent:
        place = tuple(int(i) for i in np.argwhere((array < -extent) | (array >= extent))[0])
        raise ArgumentError(
            f"{where}dimension {d}: index {int(array[place])}, at place {place} of index array {d}, is outside "
            f"[{-extent}, {extent})"
        )
    return np.where(array < 0, array + extent, array) if low < 0 else array

"""Datatypes of MPI with their byte offsets, which are computed here without MPI.

The views are distributed: those of different ranks have no byte in common, and some bytes belong to no rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpi4py import MPI

Offsets = np.ndarray


@dataclass(frozen=True)
class Made:
    """A datatype, the places of its bytes in the order of its type map, and its extent."""

    type: MPI.Datatype
    offsets: Offsets
    extent: int

    @property
    def size(self) -> int:
        """The number of data bytes."""
        return len(self.offsets)

    def places(self, first: int, count: int) -> Offsets:
        """Return the places of data bytes [first, first + count) if the type is repeated without end."""
        numbers = np.arange(first, first + count)
        size = max(self.size, 1)
        return np.asarray(numbers // size * self.extent + self.offsets[numbers % size])

    def free(self) -> None:
        """Free the handle, unless it is one of MPI's named types."""
        if not self.type.is_predefined:
            self.type.Free()


def named(made: MPI.Datatype) -> Made:
    """Return one of MPI's named types."""
    return Made(made, np.arange(made.Get_size()), made.Get_extent()[1])


def _committed(made: MPI.Datatype, offsets: Sequence[Offsets], extent: int) -> Made:
    made.Commit()
    joined = np.concatenate([np.asarray(one, np.int64) for one in offsets]) if offsets else np.zeros(0, np.int64)
    return Made(made, joined, extent)


def contiguous(count: int, of: Made) -> Made:
    """Return `count` of a type, one after another."""
    return _committed(
        of.type.Create_contiguous(count), [of.offsets + k * of.extent for k in range(count)], count * of.extent
    )


def hvector(count: int, length: int, stride: int, of: Made) -> Made:
    """Return `count` blocks of `length`, `stride` bytes from one to the next; a stride may be 0, or negative."""
    made = of.type.Create_hvector(count, length, stride)
    offsets = [of.offsets + k * stride + j * of.extent for k in range(count) for j in range(length)]
    return _committed(made, offsets, made.Get_extent()[1])


def hindexed(lengths: Sequence[int], places: Sequence[int], of: Made) -> Made:
    """Return blocks at byte offsets."""
    made = of.type.Create_hindexed(list(lengths), list(places))
    offsets = [of.offsets + at + j * of.extent for n, at in zip(lengths, places, strict=True) for j in range(n)]
    return _committed(made, offsets, made.Get_extent()[1])


def structure(places: Sequence[int], fields: Sequence[Made]) -> Made:
    """Return fields at byte offsets."""
    made = MPI.Datatype.Create_struct([1] * len(fields), list(places), [field.type for field in fields])
    offsets = [field.offsets + at for at, field in zip(places, fields, strict=True)]
    return _committed(made, offsets, made.Get_extent()[1])


def resized(of: Made, extent: int) -> Made:
    """Return the same bytes with another extent."""
    return _committed(of.type.Create_resized(0, extent), [of.offsets], extent)


def subarray(sizes: Sequence[int], subsizes: Sequence[int], starts: Sequence[int], of: Made) -> Made:
    """Return a box of an array in C order."""
    made = of.type.Create_subarray(list(sizes), list(subsizes), list(starts), MPI.ORDER_C)
    numbers = np.arange(int(np.prod(sizes))).reshape(sizes)
    box = numbers[tuple(slice(s, s + n) for s, n in zip(starts, subsizes, strict=True))]
    return _committed(made, [of.offsets + int(k) * of.extent for k in box.ravel()], int(np.prod(sizes)) * of.extent)


def darray(ranks: int, rank: int, rows: int, columns: int, of: Made) -> Made:
    """Return rows distributed in pairs, with all columns, of an array in C order."""
    made = of.type.Create_darray(
        ranks,
        rank,
        [rows, columns],
        [MPI.DISTRIBUTE_CYCLIC, MPI.DISTRIBUTE_NONE],
        [2, MPI.DISTRIBUTE_DFLT_DARG],
        [ranks, 1],
        MPI.ORDER_C,
    )
    numbers = np.arange(rows * columns).reshape(rows, columns)
    mine = numbers[np.arange(rows) // 2 % ranks == rank]
    return _committed(made, [of.offsets + int(k) * of.extent for k in mine.ravel()], rows * columns * of.extent)


# ---- etypes ----------------------------------------------------------------------------------------------------------

ETYPES: dict[str, Callable[[], Made]] = {
    "bytes": lambda: named(MPI.BYTE),
    "ints": lambda: named(MPI.INT),
    "doubles": lambda: named(MPI.DOUBLE),
    "pairs with a gap": lambda: resized(structure([0, 4], [named(MPI.CHAR), named(MPI.INT)]), 8),
}

# ---- views, dealt out to ranks ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class View:
    """The arguments of set_view."""

    displacement: int
    etype: Made
    filetype: Made

    def places(self, first: int, etypes: int) -> Offsets:
        """Return the places in the file of etypes [first, first + etypes) of the view."""
        size = self.etype.size
        return np.asarray(self.displacement + self.filetype.places(first * size, etypes * size))

    def set(self, file: MPI.File, **more: Any) -> None:
        """Set the view of a file. Collective."""
        file.Set_view(self.displacement, self.etype.type, self.filetype.type, **more)


def _contiguous(etype: Made, ranks: int, rank: int) -> View:
    return View(7 + rank * 400 * etype.extent, etype, contiguous(5, etype))


def _vector(etype: Made, ranks: int, rank: int) -> View:
    stride = (2 * ranks + 1) * etype.extent
    return View(3 + rank * 2 * etype.extent, etype, resized(hvector(4, 2, stride, etype), 4 * stride))


def _indexed(etype: Made, ranks: int, rank: int) -> View:
    owners = np.random.default_rng(ranks).integers(-1, ranks, 40)
    places = [int(k) * etype.extent for k in np.flatnonzero(owners == rank)]
    return View(11, etype, resized(hindexed([1] * len(places), places, etype), 41 * etype.extent))


def _subarray(etype: Made, ranks: int, rank: int) -> View:
    return View(0, etype, subarray((6, 3 * ranks + 1), (4, 3), (1, 3 * rank), etype))


def _subarray_of_three(etype: Made, ranks: int, rank: int) -> View:
    return View(9, etype, subarray((3, 4, 2 * ranks), (2, 3, 2), (1, 0, 2 * rank), etype))


def _structure(etype: Made, ranks: int, rank: int) -> View:
    step = etype.extent
    fields = [contiguous(2, etype), hvector(3, 1, 2 * step, etype), etype]
    made = structure([0, 3 * step, 9 * step], fields)
    return View(5 + rank * 11 * step, etype, resized(made, (ranks * 11 + 2) * step))


def _darray(etype: Made, ranks: int, rank: int) -> View:
    return View(2, etype, darray(ranks, rank, 9, 3, etype))


def _nested(etype: Made, ranks: int, rank: int) -> View:
    step = etype.extent
    rows = hvector(2, 1, ranks * 12 * step, subarray((3, 4), (2, 2), (1, 1), etype))
    planes = hindexed([1, 1], [0, 5 * ranks * 12 * step], rows)
    return View(1 + rank * 12 * step, etype, resized(planes, 10 * ranks * 12 * step))


VIEWS: dict[str, Callable[[Made, int, int], View]] = {
    "contiguous": _contiguous,
    "vector": _vector,
    "indexed": _indexed,
    "subarray": _subarray,
    "subarray of three dimensions": _subarray_of_three,
    "structure": _structure,
    "darray": _darray,
    "nested": _nested,
}

# ---- memory ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Memory:
    """A buffer, its datatype, and the places of a request's bytes in it, in order."""

    bytes: np.ndarray
    type: Made
    count: int
    places: Offsets
    is_absolute: bool = False

    @property
    def spec(self) -> list[Any]:
        """The form that mpi4py's calls take."""
        return [MPI.BOTTOM if self.is_absolute else self.bytes, self.count, self.type.type]

    def put(self, data: np.ndarray) -> None:
        """Put the bytes of a request into the buffer."""
        self.bytes[self.places[: len(data)]] = data


def _noise(count: int) -> np.ndarray:
    return np.asarray(np.random.default_rng(count).integers(0, 256, count, dtype=np.uint8))


def _plain(etype: Made, count: int) -> Memory:
    return Memory(_noise(count * etype.extent + 9), etype, count, etype.places(0, count * etype.size))


def _strided(etype: Made, count: int) -> Memory:
    made = hvector(count, 1, 3 * etype.extent, etype)
    return Memory(_noise(3 * count * etype.extent + 9), made, 1, made.offsets)


def _repeated(etype: Made, count: int) -> Memory:
    one = resized(hindexed([1], [2 * etype.extent], etype), 5 * etype.extent)
    return Memory(_noise(5 * count * etype.extent + 9), one, count, one.places(0, count * etype.size))


def _backwards(etype: Made, count: int) -> Memory:
    made = structure([2 * (count - 1) * etype.extent], [hvector(count, 1, -2 * etype.extent, etype)])
    return Memory(_noise(2 * count * etype.extent + 9), made, 1, made.offsets)


def _shuffled(etype: Made, count: int) -> Memory:
    places = [int(k) * 2 * etype.extent for k in np.random.default_rng(count).permutation(count)]
    made = hindexed([1] * count, places, etype)
    return Memory(_noise(2 * count * etype.extent + 9), made, 1, made.offsets)


def _absolute(etype: Made, count: int) -> Memory:
    plain = _noise(2 * count * etype.extent + 9)
    begin = MPI.Get_address(plain)
    places = [begin + int(k) * 2 * etype.extent for k in range(count)]
    made = hindexed([1] * count, places, etype)
    return Memory(plain, made, 1, made.offsets - begin, is_absolute=True)


def once(etype: Made, count: int) -> Memory:
    """Return memory with stride 0: the same etype again and again, for writes only."""
    made = hvector(count, 1, 0, etype)
    return Memory(_noise(etype.extent + 9), made, 1, made.offsets)


MEMORIES: dict[str, Callable[[Made, int], Memory]] = {
    "plain": _plain,
    "strided": _strided,
    "repeated": _repeated,
    "backwards": _backwards,
    "shuffled": _shuffled,
    "absolute": _absolute,
}

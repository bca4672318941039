"""What NumPy's users expect of an array whose elements are read when they are asked for.

    np.asarray(a), np.mean(a), len(a), for row in a, x in a

All of it reads locally: this rank alone. There is no arithmetic: `np.asarray(a) + 1` says what is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError, InternalError, UnsupportedError
from swath.space import Shape

BLOCK_BYTES = 4 << 20
"""Of the rows that are read at a time while somebody iterates."""
BLOCK_BYTES_MAX = 64 << 20
"""Where a row of chunks takes more: each would be decoded several times."""


class NumpyProtocol:
    """An array with a shape, a dtype, and `a[...]`, made what NumPy takes for one."""

    dtype: np.dtype[Any]

    @property
    def shape(self) -> Shape:
        """Return the lengths in elements."""
        raise NotImplementedError

    @property
    def chunks(self) -> Shape | None:
        """Return the elements of a chunk along each dimension; None where it has none."""
        raise NotImplementedError

    def __getitem__(self, selection: Any) -> Any:
        """Read the selected elements."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """Return the number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Return the bytes of all elements, in memory."""
        return self.size * self.dtype.itemsize

    def to_dask(self, chunks: Any = None) -> Any:
        """Return a dask array that reads its blocks when it is computed, by threads, processes or `distributed`.

        Args:
            chunks: as in `dask.array.from_array`; by default of whole chunks of the file, about as large as dask's
                configuration says ("array.chunk-size").

        Raises:
            UnsupportedError: dask is not there.
        """
        return _conversion("dask").to_dask(self, chunks)

    def to_xarray(self) -> Any:
        """Return an `xarray.DataArray` with its dimensions, attributes and coordinates, read when it is needed.

        Values are as this array gives them; coordinates are decoded (times are times).

        Raises:
            UnsupportedError: xarray is not there.
        """
        return _conversion("xarray").to_xarray(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the first dimension as it is now; so many rows are read at a time as take 4 MiB."""
        if not self.shape:
            raise TypeError("iteration over an array without dimensions")
        return (row for block in self._blocks() for row in block)

    def __contains__(self, value: object) -> bool:
        """Return whether any element equals `value`; this reads the array, until one is found."""
        blocks = self._blocks() if self.shape else [self[()]]
        return any(bool(np.any(block == value)) for block in blocks)

    def __bool__(self) -> bool:
        """Return whether the only element is true, as NumPy does. Raises ArgumentError where there are several."""
        if self.size != 1:
            raise ArgumentError(
                f"the truth of an array of {self.size} elements is not defined: compare `is None`, or use np.any(a), "
                "np.all(a), a.size"
            )
        return bool(self[(0,) * self.ndim])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return all elements, in new memory. Raises ArgumentError where none is allowed (copy=False)."""
        return np.asarray(self._all(copy), dtype=dtype)

    def _all(self, copy: bool | None) -> Any:
        if copy is False:
            raise ArgumentError("copy=False: the elements are in a file, of which there is no view; leave it out")
        return self[...]

    def _blocks(self) -> Iterator[Any]:
        """Return all rows, some at a time: whole rows of chunks where these are not too large."""
        shape = self.shape
        rows = _rows_at_a_time(self.dtype.itemsize * math.prod(shape[1:]), self.chunks)
        return (self[first : min(first + rows, shape[0])] for first in range(0, shape[0], rows))


def _rows_at_a_time(row_bytes: int, chunks: Shape | None) -> int:
    rows = max(BLOCK_BYTES // max(row_bytes, 1), 1)
    of_chunks = chunks[0] if chunks else 1
    if of_chunks * row_bytes > BLOCK_BYTES_MAX:
        return rows
    return max(rows // of_chunks, 1) * of_chunks


_conversions: list[Callable[[], Any]] = []
"""What loads the module that makes objects of dask and xarray. That module knows arrays; arrays do not know it."""


def convert_by(load: Callable[[], Any]) -> None:
    """Let `to_dask` and `to_xarray` use the module that `load` returns."""
    _conversions[:] = [load]


def _conversion(needed: str) -> Any:
    if not _conversions:
        raise InternalError(f"to_{needed}: swath.pickling was not imported, as `swath` does with its names")
    try:
        return _conversions[0]()
    except ImportError as error:
        raise UnsupportedError(f"to_{needed} needs {error.name}: pip install 'swath[xarray]'") from None

"""The interface of a NumPy array for an array whose elements are read when they are needed.

    np.asarray(a), np.mean(a), len(a), for row in a, x in a

All reads are local: only this rank reads. There is no arithmetic: `np.asarray(a) + 1` shows what is read.
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
"""Bytes of rows that an iteration reads at a time."""
BLOCK_BYTES_MAX = 64 << 20
"""The limit if a row of chunks is larger than `BLOCK_BYTES`: smaller reads would decode each chunk several times."""


class NumpyProtocol:
    """Gives a class with a shape, a dtype, and `a[...]` the methods that NumPy expects of an array."""

    dtype: np.dtype[Any]

    @property
    def shape(self) -> Shape:
        """Return the lengths in elements."""
        raise NotImplementedError

    @property
    def chunks(self) -> Shape | None:
        """Return the elements of a chunk along each dimension; None if there are no chunks."""
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
        """Return a dask array. Threads, processes or `distributed` read its blocks when it is computed.

        Args:
            chunks: as in `dask.array.from_array`; by default whole chunks of the file, of about the size in dask's
                configuration ("array.chunk-size").

        Raises:
            UnsupportedError: dask is not installed.
        """
        return _conversion("dask").to_dask(self, chunks)

    def to_xarray(self) -> Any:
        """Return an `xarray.DataArray` with dimensions, attributes and coordinates, which is read when it is needed.

        Values are as this array gives them; coordinates are decoded (times are times).

        Raises:
            UnsupportedError: xarray is not installed.
        """
        return _conversion("xarray").to_xarray(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the first dimension as it is now. About 4 MiB of rows are read at a time."""
        if not self.shape:
            raise TypeError("iteration over an array without dimensions")
        return (row for block in self._blocks() for row in block)

    def __contains__(self, value: object) -> bool:
        """Return whether any element equals `value`. This reads the array until one is found."""
        blocks = self._blocks() if self.shape else [self[()]]
        return any(bool(np.any(block == value)) for block in blocks)

    def __bool__(self) -> bool:
        """Return whether the only element is true, as NumPy does. Raises ArgumentError if there are several."""
        if self.size != 1:
            raise ArgumentError(
                f"the truth of an array of {self.size} elements is not defined: compare `is None`, or use np.any(a), "
                "np.all(a), a.size"
            )
        return bool(self[(0,) * self.ndim])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return all elements, in new memory. Raises ArgumentError if copy=False forbids that."""
        return np.asarray(self._all(copy), dtype=dtype)

    def _all(self, copy: bool | None) -> Any:
        if copy is False:
            raise ArgumentError("copy=False: the elements are in a file, of which there is no view; leave it out")
        return self[...]

    def _blocks(self) -> Iterator[Any]:
        """Yield all rows, some at a time: whole rows of chunks if these are not too large."""
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
"""A function that loads the module for dask and xarray. That module imports arrays, not the other way round."""


def convert_by(load: Callable[[], Any]) -> None:
    """Make `to_dask` and `to_xarray` use the module that `load` returns."""
    _conversions[:] = [load]


def _conversion(needed: str) -> Any:
    if not _conversions:
        raise InternalError(f"to_{needed}: swath.pickling was not imported, as `swath` does with its names")
    try:
        return _conversions[0]()
    except ImportError as error:
        raise UnsupportedError(f"to_{needed} needs {error.name}: pip install 'swath[xarray]'") from None

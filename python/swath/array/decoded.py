"""An open array that is read as decoded values: masked and scaled by its attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from swath.array.async_operations import Future
from swath.array.counters import Counters
from swath.array.decoding import USED, Decoding
from swath.array.iterating import MEMORY
from swath.array.iteration import arrays
from swath.array.iteration.grid import Box
from swath.array.iteration.loop import Loop
from swath.array.numpy_protocol import NumpyProtocol
from swath.array.places import Places
from swath.array.xarray_names import XarrayNames
from swath.errors import ArgumentError
from swath.space import Boxes, Distribution, Shape

if TYPE_CHECKING:
    from swath.array.open_array import Array


class DecodedFuture:
    """The future of `Decoded.read_async`: like `swath.Future`, but its result is decoded."""

    def __init__(self, stored: Future, decoding: Decoding) -> None:
        self._stored: Future | None = stored
        self._decoding = decoding
        self._counters = Counters()
        self._decoded: Any = None

    @property
    def counters(self) -> Counters:
        """Return what the operation did on this rank; zeros before `result` has returned."""
        return self._counters

    def done(self) -> bool:
        """Return whether the values are read. Local."""
        return self._stored is None or self._stored.done()

    def result(self) -> Any:
        """Wait for the values, and return them decoded. Further calls return the same. See `Future.result`."""
        if self._stored is not None:
            values = self._stored.result()
            decode = self._decoding.decode
            self._decoded = [decode(part) for part in values] if isinstance(values, list) else decode(values)
            self._counters, self._stored = self._stored.counters, None
        return self._decoded


class Decoded(XarrayNames[tuple[str, ...], Mapping[str, Any]], NumpyProtocol):
    """A view of an open array that decodes stored values by the attributes of CF, as NumPy masked arrays.

    `Array.decoded` and `swath.open(..., decode=True)` make it. `_FillValue`, `missing_value`, `valid_min`, `valid_max`
    and `valid_range` mask values, `scale_factor` and `add_offset` scale them, `_Unsigned` = "true" makes them unsigned,
    as in netCDF4-python, with the same dtypes. An attribute that cannot be used gives a UserWarning.

    It is for reading only; write stored values by `stored`.

    Attributes:
        stored: the array itself: its counters, plans, `sync` and so on.
        dtype: the dtype of decoded values, in the machine's byte order.
        fill_value: the fill value of the masked arrays: the stored one, or NaN if values are scaled; None if nothing is
            masked.
        attributes: the attributes of the array, without those that decoding uses.
    """

    def __init__(self, stored: Array) -> None:
        self.stored = stored
        name = stored.path if stored.variable is None else f"{stored.path}:{stored.variable}"
        self._decoding = Decoding.of(stored.dtype, stored.attributes, stored.fill_value, name)
        self.dtype = self._decoding.dtype
        self.fill_value = self._decoding.fill_value
        self.attributes: Mapping[str, Any] = {
            name: value for name, value in stored.attributes.items() if name not in USED
        }

    @property
    def path(self) -> str:
        """Return the file."""
        return self.stored.path

    @property
    def variable(self) -> str | None:
        """Return its name in the file."""
        return self.stored.variable

    @property
    def shape(self) -> Shape:
        """Return the lengths in elements."""
        return self.stored.shape

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Return the names of the dimensions; () if the file has no names."""
        return self.stored.dimensions

    @property
    def chunks(self) -> Shape | None:
        """Return the elements of a chunk along each dimension; None if the array has no chunks."""
        return self.stored.chunks

    def read(
        self,
        distribution: Distribution | Boxes | Places | None = None,
        *,
        selection: Any = ...,
        method: str = "auto",
        rank: int | None = None,
        tuning: Mapping[str, int] | None = None,
    ) -> Any:
        """Read and decode this rank's share: a masked array, for boxes a list of them. Collective as `Array.read` is.

        Args:
            distribution: see `Array.read`.
            selection: see `Array.read`.
            method: see `Array.read`.
            rank: see `Array.read`.
            tuning: see `Array.read`.
        """
        stored = self.stored.read(distribution, selection=selection, method=method, rank=rank, tuning=tuning)
        if isinstance(distribution, Boxes):
            return [self._decoding.decode(part) for part in stored]
        return self._decoding.decode(stored)

    def read_async(
        self,
        distribution: Distribution | Boxes | None = None,
        *,
        selection: Any = ...,
        method: str = "auto",
        rank: int | None = None,
        tuning: Mapping[str, int] | None = None,
    ) -> DecodedFuture:
        """Start a read, and return its future, whose `result` decodes. Collective as `Array.read_async` is.

        Args:
            distribution: see `Array.read`.
            selection: see `Array.read`.
            method: see `Array.read`.
            rank: see `Array.read`.
            tuning: see `Array.read`.
        """
        stored = self.stored.read_async(distribution, selection=selection, method=method, rank=rank, tuning=tuning)
        return DecodedFuture(stored, self._decoding)

    def blocks(
        self, block: Sequence[int | None], *, prefetch: int | str = "auto", memory: int | str = MEMORY, order: str = "C"
    ) -> Loop[tuple[Box, Any]]:
        """Iterate over (selection, masked array) pairs, read ahead. See `Array.blocks`.

        Args:
            block: see `Array.blocks`.
            prefetch: see `Array.blocks`.
            memory: see `Array.blocks`; for stored and for decoded values.
            order: see `Array.blocks`.
        """
        return arrays.blocks(self.stored, block, self._settings(prefetch, memory, order))

    def iterate(
        self,
        distribution: Distribution | None = None,
        *,
        axis: int = 0,
        prefetch: int | str = "auto",
        memory: int | str = MEMORY,
    ) -> Loop[Any]:
        """Iterate along a dimension: masked arrays of this rank's share. Collective as `Array.iterate` is.

        Args:
            distribution: see `Array.iterate`.
            axis: see `Array.iterate`.
            prefetch: see `Array.blocks`.
            memory: see `Array.blocks`; for stored and for decoded values.
        """
        return arrays.iterate(self.stored, distribution, axis, self._settings(prefetch, memory))

    def _settings(self, prefetch: Any, memory: Any, order: Any = "C") -> arrays.Settings:
        # Values and a mask, and a temporary array while values are scaled.
        return arrays.Settings(prefetch, memory, order, self._decoding.decode, 3 * self.dtype.itemsize // 2 + 2)

    def __getitem__(self, selection: Any) -> Any:
        """Read and decode the selected elements; without a dimension left, a scalar or `np.ma.masked`. Local."""
        values = np.asarray(self.stored[selection])
        decoded = self._decoding.decode(values)
        return decoded[()] if decoded.ndim == 0 else decoded

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return all elements; masked ones are NaN.

        Raises ArgumentError if some are masked and the dtype has no NaN, or if copy=False forbids new memory.
        """
        decoded = np.ma.asarray(self._all(copy))
        if not np.ma.is_masked(decoded):
            return np.asarray(decoded.data, dtype=dtype)
        if decoded.dtype.kind not in "fc":
            raise ArgumentError(
                f"{self.path}: some elements are masked, and dtype {decoded.dtype} has no NaN to stand for them: use "
                "a.decoded[...], a masked array, and its filled(value)"
            )
        return np.asarray(decoded.filled(np.nan), dtype=dtype)

    def __setitem__(self, selection: Any, values: Any) -> NoReturn:
        self.write(values, selection=selection)

    def write(self, *values: Any, **options: Any) -> NoReturn:
        """Raise ArgumentError: Swath writes stored values only."""
        del values, options
        raise ArgumentError(
            f"write {self.path}: it is open for decoded values, which are only read; write stored ones, by `.stored` "
            "or without decode=True"
        )

    append = write
    write_async = write
    writer = write

    def close(self) -> None:
        """Close the array. Collective as `Array.close` is."""
        self.stored.close()

    def __enter__(self) -> Decoded:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stored.__exit__(kind, error, trace)

    def __reduce__(self) -> tuple[type[Decoded], tuple[Array]]:
        return Decoded, (self.stored,)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "swath.Decoded", self.stored.__dask_tokenize__()

    def _repr_html_(self) -> str:
        return self.stored._repr_html_()

    def __repr__(self) -> str:
        return f"<swath.Decoded {self.dtype} of {self.stored!r}>"

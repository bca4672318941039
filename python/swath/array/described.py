"""The properties of an open array that its description contains, without access to its elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from swath import _core
from swath.array.decoded import Decoded
from swath.array.decoding import AS_STORED, mean_others
from swath.array.html_of_files import of_array
from swath.array.request import Request
from swath.array.xarray_names import XarrayNames
from swath.files import layouts
from swath.files.attributes import StoredAttributes
from swath.files.stored_array import StoredArray
from swath.formats.description import Description
from swath.formats.identity import identity

if TYPE_CHECKING:
    from swath.array.open_array import Array


class DescribedArray(XarrayNames[tuple[str, ...], StoredAttributes]):
    """The properties of an open array that its description contains."""

    attributes: StoredAttributes
    dtype: np.dtype[Any]
    path: str
    variable: str | None
    _core: _core.OpenArray
    _stored: StoredArray
    _shared: Request | None

    if TYPE_CHECKING:

        @property
        def shape(self) -> tuple[int, ...]:
            """Return the lengths in elements."""

    @property
    def _description(self) -> Description:
        """Return the description of the array as it is now."""
        return self._stored.description

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Return the names of the dimensions; () if the file has no names."""
        return self._description.dimensions

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Return the elements of a chunk along each dimension; None if the array has no chunks."""
        return getattr(self._description.layout, "chunk_shape", None)

    @property
    def fill_value(self) -> Any:
        """Return the value of elements that were never stored; None if the format does not define it."""
        if self.dtype.hasobject or not self._description.fill:
            return None
        return np.frombuffer(self._description.fill, dtype=self.dtype)[0]

    @property
    def decoded(self) -> Decoded:
        """Return a view that masks and scales what it reads, by the attributes `_FillValue`, `scale_factor` and so on.

        Everything else of the array has the stored values.
        """
        return Decoded(cast("Array", self))

    @property
    def format(self) -> str:
        """Return the format: "raw", "npy", "netcdf-classic", "hdf5" or "zarr"."""
        return self._description.format

    @property
    def layout(self) -> str:
        """Return the layout in words: "C order at offset 128"."""
        return layouts.text(self._description, self._core.chunks)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "swath.Array", *self._stored.fingerprint()

    def __repr__(self) -> str:
        state = "closed, " if self._core.is_closed else ""
        values = f"; values {AS_STORED}" if mean_others(self.attributes) else ""
        return f"<swath.Array {self._title()}: {state}{self.layout}{values}>"

    def _repr_html_(self) -> str:
        return of_array(cast("Array", self), self._shared)

    @property
    def _identity(self) -> str:
        """Return the identity of the array: ranks compare it if the array is an argument of a call (`swath.copy`)."""
        return identity(self._description, self.path)

    def _title(self) -> str:
        name = self.path if self.variable is None else f"{self.path}:{self.variable}"
        return f"{self.dtype} {self.shape} in {name}"

"""The names that xarray, h5py and zarr have for what Swath calls dimensions and attributes."""

from __future__ import annotations

from typing import Generic, TypeVar

DimensionsT = TypeVar("DimensionsT")
AttributesT = TypeVar("AttributesT")


class XarrayNames(Generic[DimensionsT, AttributesT]):
    """Adds the names `dims` and `attrs` to a class with `dimensions` and `attributes`."""

    @property
    def dims(self) -> DimensionsT:
        """Return `dimensions`, by their name in xarray."""
        return self.dimensions  # type: ignore[attr-defined, no-any-return]  # of the subclass

    @property
    def attrs(self) -> AttributesT:
        """Return `attributes`, by their name in xarray, h5py and zarr."""
        return self.attributes  # type: ignore[attr-defined, no-any-return]

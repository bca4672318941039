"""The names that xarray, h5py and zarr have for what Swath calls dimensions and attributes."""

from __future__ import annotations

from typing import Generic, TypeVar

DimensionsT = TypeVar("DimensionsT")
AttributesT = TypeVar("AttributesT")


class XarrayNames(Generic[DimensionsT, AttributesT]):
    """Gives what has `dimensions` and `attributes` the names `dims` and `attrs` for them, too."""

    @property
    def dims(self) -> DimensionsT:
        """Return `dimensions`, by the name that xarray has for them."""
        return self.dimensions  # type: ignore[attr-defined, no-any-return]  # of the subclass

    @property
    def attrs(self) -> AttributesT:
        """Return `attributes`, by the name that xarray, h5py and zarr have for them."""
        return self.attributes  # type: ignore[attr-defined, no-any-return]

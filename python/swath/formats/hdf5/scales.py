"""Dimension scales: the named dimensions of HDF5 and netCDF-4.

A scale is a dataset with the name of its dimension. It is the coordinate variable of that name, or holds nothing and
exists for the dimension's name and length only. A variable lists the scales of its dimensions in DIMENSION_LIST, and a
scale lists its users in REFERENCE_LIST. netCDF-4 numbers its dimensions (_Netcdf4Dimid), and records the numbers of a
variable's dimensions (_Netcdf4Coordinates): a coordinate variable of several dimensions is a scale, so it can have no
scales, and only this attribute has its dimensions.

This module reads these attributes itself: HDF5's own calls for scales crash or hang if a scale is damaged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swath.formats.hdf5 import attributes
from swath.formats.hdf5.access import library, walk

DIMENSION_ONLY = "This is a netCDF dimension but not a netCDF variable"
"""The begin of NAME for the datasets that netCDF-4 makes for dimensions without a coordinate variable."""


# ---- Reading ---------------------------------------------------------------------------------------------------------


def is_scale(dataset: Any) -> bool:
    """Return whether a dataset, given by its identifier, is a dimension scale."""
    return attributes.raw_text(dataset, "CLASS") == "DIMENSION_SCALE"


def is_dimension_only(dataset: Any) -> bool:
    """Return whether a dataset exists only for a dimension's name and length."""
    return attributes.raw_text(dataset, "NAME").startswith(DIMENSION_ONLY)


def number_of(dataset: Any) -> int | None:
    """Return the number that netCDF-4 gave to a scale's dimension."""
    found = attributes.raw(dataset, "_Netcdf4Dimid")
    return int(found.ravel()[0]) if found is not None and found.size == 1 and found.dtype.kind in "iu" else None


def first_scales(dataset: Any, ndim: int) -> list[Any]:
    """Return, for each dimension, the identifier of its first scale; None if it has none, or if it is gone."""
    h5py = library()
    listed = attributes.raw(dataset, "DIMENSION_LIST")
    if not isinstance(listed, np.ndarray) or listed.shape != (ndim,):
        return [None] * ndim

    def first(references: Any) -> Any:
        try:
            return h5py.h5r.dereference(references[0], dataset)
        except Exception:  # noqa: BLE001  h5py has many
            return None

    return [first(references) for references in listed]


def is_netcdf4(file: Any) -> bool:
    """Return whether the file has netCDF-4's own attributes."""
    if {"_NCProperties", "_nc3_strict"} & set(attributes.names(library().h5o.open(file.id, b"/"))):
        return True
    return any("_Netcdf4Dimid" in attributes.names(item) for _, item in walk(file))

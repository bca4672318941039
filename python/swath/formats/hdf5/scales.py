"""Dimension scales: HDF5's named dimensions, and netCDF-4's.

A dimension is a dataset that is a scale, of the dimension's name. It is the coordinate variable of that name, or holds
nothing and is there for its name and length only. A variable lists the scales of its dimensions in DIMENSION_LIST,
and a scale lists its users in REFERENCE_LIST. netCDF-4 numbers its dimensions (_Netcdf4Dimid) and notes the numbers of
a variable's (_Netcdf4Coordinates): a coordinate variable of several dimensions, which is a scale and so can have none,
has them from there alone.

What is read here is read from these attributes: HDF5's own calls for scales crash or hang where one is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from swath.errors import ArgumentError
from swath.formats.hdf5 import attributes
from swath.formats.hdf5.access import group_and_name, joined, library, walk

DIMENSION_ONLY = "This is a netCDF dimension but not a netCDF variable"
"""How NAME begins of the datasets that netCDF-4 makes for dimensions without a coordinate variable."""

_GROWING_CHUNK = 1024
"""Elements, of the dataset of a dimension without a coordinate variable, which nobody ever writes."""


# ---- Reading ---------------------------------------------------------------------------------------------------------


def is_scale(dataset: Any) -> bool:
    """Return whether a dataset, given by its identifier, is a dimension scale."""
    return attributes.raw_text(dataset, "CLASS") == "DIMENSION_SCALE"


def is_dimension_only(dataset: Any) -> bool:
    """Return whether a dataset is there for a dimension's name and length only."""
    return attributes.raw_text(dataset, "NAME").startswith(DIMENSION_ONLY)


def number_of(dataset: Any) -> int | None:
    """Return the number that netCDF-4 has given to a scale's dimension."""
    found = attributes.raw(dataset, "_Netcdf4Dimid")
    return int(found.ravel()[0]) if found is not None and found.size == 1 and found.dtype.kind in "iu" else None


def numbers_of(dataset: Any, ndim: int) -> list[int]:
    """Return netCDF-4's numbers of a variable's dimensions; [] where it has not noted them."""
    found = attributes.raw(dataset, "_Netcdf4Coordinates")
    if found is None or found.size != ndim or found.dtype.kind not in "iu":
        return []
    return [int(one) for one in found.ravel()]


def first_scales(dataset: Any, ndim: int) -> list[Any]:
    """Return, for each dimension, the identifier of its first scale; None where it has none, or it is gone."""
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


def labels(dataset: Any, ndim: int) -> list[str]:
    """Return the labels of the dimensions, which HDF5 has beside scales; "" for none."""
    found = attributes.raw_texts(dataset, "DIMENSION_LABELS")
    return found if len(found) == ndim else [""] * ndim


def dimensions_of(dataset: Any) -> tuple[str, ...]:
    """Return the names of the dimensions of one dataset (h5py's); () where it names none."""
    ndim: int = dataset.ndim
    if is_scale(dataset.id):
        own = group_and_name(dataset.name)[1]
        if ndim <= 1:
            return (own,) * ndim
        of_numbers = {number_of(item): path for path, item in walk(dataset.file) if is_scale(item)}
        found = [of_numbers.get(number, "") for number in numbers_of(dataset.id, ndim)] or [own] + [""] * (ndim - 1)
    else:
        h5py = library()
        scales = first_scales(dataset.id, ndim)
        found = ["" if scale is None else (h5py.h5i.get_name(scale) or b"").decode() for scale in scales]
    short = [group_and_name(path)[1] for path in found]
    names = [name or label for name, label in zip(short, labels(dataset.id, ndim), strict=True)]
    return tuple(names) if any(names) else ()


def is_netcdf4(file: Any) -> bool:
    """Return whether netCDF-4 keeps its books in the file."""
    if {"_NCProperties", "_nc3_strict"} & set(attributes.names(library().h5o.open(file.id, b"/"))):
        return True
    return any("_Netcdf4Dimid" in attributes.names(item) for _, item in walk(file))


# ---- Making ----------------------------------------------------------------------------------------------------------


class Scales:
    """The dimensions of a file that is changed.

    Args:
        file: h5py's, open for writing.
        is_netcdf4: whether they get netCDF-4's numbers, too.
    """

    def __init__(self, file: Any, *, is_netcdf4: bool) -> None:
        self._file = file
        self.is_netcdf4 = is_netcdf4
        self._next_number: int | None = None

    def find(self, group: str, name: str) -> Any:
        """Return the scale that a name means as seen from a group: its own, or of the nearest above; None for none."""
        h5py = library()
        while True:
            found = self._file.get(joined(group, name))
            if isinstance(found, h5py.Dataset) and found.ndim > 0 and is_scale(found.id):
                return found
            if not group:
                return None
            group = group.rpartition("/")[0]

    def define(self, group: str, name: str, length: int, *, is_unlimited: bool) -> Any:
        """Make a dimension without a coordinate variable, and return its scale."""
        h5py = library()
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_obj_track_times(False)
        plist.set_attr_creation_order(h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED)
        longest = h5py.h5s.UNLIMITED if is_unlimited else length
        if is_unlimited:
            plist.set_chunk((_GROWING_CHUNK,))
        space = h5py.h5s.create_simple((length,), (longest,))
        path = joined(group, name).encode()
        made = h5py.Dataset(h5py.h5d.create(self._file.id, path, h5py.h5t.IEEE_F32BE, space, plist))
        h5py.h5ds.set_scale(made.id, f"{DIMENSION_ONLY}.{length:10d}".encode())
        self.number(made)
        return made

    def number(self, scale: Any, number: int | None = None) -> None:
        """Give a scale's dimension its number, by default the next."""
        if not self.is_netcdf4:
            return
        if number is None:
            if self._next_number is None:
                self._next_number = max((self._number(item) for _, item in walk(self._file)), default=-1) + 1
            number = self._next_number
            self._next_number += 1
        scale.attrs.create("_Netcdf4Dimid", np.int32(number))

    def note_numbers(self, dataset: Any, scales: list[Any]) -> None:
        """Note the numbers of a variable's dimensions, where all have one."""
        numbers = [number_of(scale.id) for scale in scales]
        if self.is_netcdf4 and numbers and None not in numbers:
            dataset.attrs.create("_Netcdf4Coordinates", np.array(numbers, np.int32))

    def make_coordinate(self, dataset: Any) -> None:
        """Make a scale of a coordinate variable."""
        library().h5ds.set_scale(dataset.id, group_and_name(dataset.name)[1].encode())

    def users(self, scale: Any) -> Iterator[tuple[Any, int]]:
        """Yield the datasets that a scale is attached to, each with the dimension that it is of."""
        listed = attributes.raw(scale.id, "REFERENCE_LIST")
        for reference, dimension in () if listed is None else listed.ravel():
            try:
                dataset = self._file[reference]
            except (ValueError, KeyError, TypeError, OSError, RuntimeError):
                continue
            if int(dimension) < dataset.ndim:
                yield dataset, int(dimension)

    def detach_all(self, scale: Any) -> list[tuple[Any, int]]:
        """Detach a scale from whatever it is attached to, and return that."""
        users = list(self.users(scale))
        for dataset, dimension in users:
            library().h5ds.detach_scale(dataset.id, scale.id, dimension)
        return users

    def attach(self, scale: Any, dataset: Any, dimension: int) -> None:
        """Make a scale that of a dataset's dimension."""
        library().h5ds.attach_scale(dataset.id, scale.id, dimension)

    def check(self, scale: Any, length: int, *, is_unlimited: bool) -> None:
        """Raise ArgumentError unless a new variable's dimension is as its scale says."""
        name = scale.name.strip("/")
        if (scale.maxshape[0] is None) != is_unlimited:
            there, new = ("does not grow", "does") if is_unlimited else ("grows", "does not")
            raise ArgumentError(
                f"dimension {name!r} of the file {there}, and that of the new variable {new}: the length of one that "
                "grows is None"
            )
        if not is_unlimited and scale.shape[0] != length:
            raise ArgumentError(
                f"dimension {name!r} has length {scale.shape[0]} in the file, and {length} in the new variable: choose "
                "another name, or that length"
            )

    @staticmethod
    def _number(dataset: Any) -> int:
        found = number_of(dataset)
        return -1 if found is None else found

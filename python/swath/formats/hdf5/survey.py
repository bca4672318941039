"""What a whole HDF5 file holds, as HDF5 says it and as netCDF-4 sees it: found by its metadata alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from swath.errors import UnsupportedError
from swath.formats import hdf5_filters
from swath.formats.choose import describes_others
from swath.formats.contents import Attributes, Contents, Dimension, Enumeration, Group, Variable
from swath.formats.description import Codec
from swath.formats.hdf5 import attributes, scales
from swath.formats.hdf5.access import group_and_name, library, opened, shown_name, walk
from swath.formats.hdf5.layout import dtype_of


def contents(path: str) -> Contents:
    """Return everything that the file holds but the elements.

    A dimension is a dimension scale; where none is attached, the label of HDF5 names it, or nothing: "". Raises
    FormatError for a damaged file, StoreError where the system refuses.
    """
    with opened(path) as file:
        return _Survey(file).contents()


def variables(file: Any) -> dict[str, Variable]:
    """Return every dataset of an open file (h5py's)."""
    return _Survey(file).contents().variables


@dataclass(eq=False)
class _Dataset:
    """A dataset, and its scales: for each dimension the one that is attached to it."""

    path: str
    identifier: Any
    attribute_names: list[str]
    shape: tuple[int, ...]
    maxshape: tuple[int | None, ...]
    is_scale: bool = False
    is_dimension_only: bool = False
    scales: list[_Dataset | None] = field(default_factory=list)


class _Survey:
    """One pass over an open file."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._groups: dict[str, Group] = {}
        self._datasets: list[_Dataset] = []
        self._is_netcdf4 = False
        for path, item in walk(file):
            if isinstance(item, library().h5d.DatasetID):
                self._datasets.append(_dataset(path, item))
            else:
                self._add_group(path, item)
        self._find_scales()

    def contents(self) -> Contents:
        """Return what was found."""
        self._add_dimensions()
        kept = [dataset for dataset in self._datasets if not dataset.is_dimension_only]
        found = [attributes.read(dataset.identifier, dataset.attribute_names) for dataset in kept]
        named = describes_others(found)
        variables: dict[str, Variable] = {}
        for dataset, of_one in zip(kept, found, strict=True):
            variable = self._variable(dataset, of_one, named)
            variables[variable.name] = variable
        is_netcdf4 = self._is_netcdf4 or any("_Netcdf4Dimid" in d.attribute_names for d in self._datasets)
        return Contents("netcdf4" if is_netcdf4 else "hdf5", "", self._groups, variables)

    def _add_group(self, path: str, identifier: Any) -> None:
        names = attributes.names(identifier)
        self._is_netcdf4 |= not path and ("_NCProperties" in names or "_nc3_strict" in names)
        self._groups[path] = Group(path, attributes.read(identifier, names), {})

    def _find_scales(self) -> None:
        """Find the scale of each dimension: by netCDF-4's numbers, else by what is attached."""
        found = [dataset for dataset in self._datasets if dataset.is_scale]
        by_number = {scales.number_of(scale.identifier): scale for scale in found}
        by_number.pop(None, None)
        by_identifier = {scale.identifier: scale for scale in found}
        for dataset in self._datasets:
            ndim = len(dataset.shape)
            if dataset.is_scale and ndim == 1:
                dataset.scales = [dataset]
                continue
            numbers: list[int] = []
            if "_Netcdf4Coordinates" in dataset.attribute_names:
                numbers = scales.numbers_of(dataset.identifier, ndim)
            if numbers and all(number in by_number for number in numbers):
                dataset.scales = [by_number[number] for number in numbers]
            elif "DIMENSION_LIST" in dataset.attribute_names:
                attached = scales.first_scales(dataset.identifier, ndim)
                dataset.scales = [None if one is None else by_identifier.get(one) for one in attached]
            elif dataset.is_scale and ndim:
                dataset.scales = [dataset, *[None] * (ndim - 1)]

    def _add_dimensions(self) -> None:
        """Enter the dimensions into their groups; one that grows is as long as the longest variable along it."""
        longest: dict[_Dataset, int] = {}
        for dataset in self._datasets:
            for length, scale in zip(dataset.shape, dataset.scales, strict=False):
                if scale is not None:
                    longest[scale] = max(longest.get(scale, 0), length)
        for scale in self._datasets:
            if scale.is_scale and scale.shape:
                group, name = group_and_name(scale.path)
                is_unlimited = scale.maxshape[0] is None
                length = longest.get(scale, scale.shape[0]) if is_unlimited else scale.shape[0]
                self._groups[group].dimensions[name] = Dimension(name, length, is_unlimited)

    def _variable(self, dataset: _Dataset, found: Attributes, named: set[str]) -> Variable:
        name = shown_name(dataset.path)
        dtype: np.dtype[Any] | None = None
        unsupported = ""
        try:
            dtype = dtype_of(name, dataset.identifier)
        except UnsupportedError as error:
            unsupported = str(error).removeprefix(f"{name}: ")
        plist = dataset.identifier.get_create_plist()
        is_coordinate = dataset.is_scale or group_and_name(name)[1] in named
        return Variable(
            name=name,
            shape=dataset.shape,
            dtype=dtype,
            dimensions=_dimension_names(dataset),
            attributes=found,
            chunks=tuple(plist.get_chunk()) if plist.get_layout() == library().h5d.CHUNKED else None,
            is_coordinate=is_coordinate or dtype is None or dtype.kind not in "biufc",
            unsupported=unsupported,
            codecs=_codecs(plist),
            enumeration=self._enumeration(dataset) if dtype is not None and dtype.kind in "iu" else None,
        )

    def _enumeration(self, dataset: _Dataset) -> Enumeration | None:
        """Return what numbers are called; their type is called as an equal one in the dataset's group, or above."""
        h5py = library()
        stored = dataset.identifier.get_type()
        if not isinstance(stored, h5py.h5t.TypeEnumID):
            return None
        places = range(stored.get_nmembers())
        members = {stored.get_member_name(place).decode(): int(stored.get_member_value(place)) for place in places}
        group = group_and_name(dataset.path)[0]
        while True:
            inside = self._file[f"/{group}"]
            for name in inside:
                if inside.get(name, getclass=True) is h5py.Datatype and inside[name].id.equal(stored):
                    return Enumeration(name, members)
            if not group:
                return Enumeration("", members)
            group = group_and_name(group)[0]


def _dataset(path: str, identifier: Any) -> _Dataset:
    space = identifier.get_space()
    has_shape = space.get_simple_extent_type() != library().h5s.NULL
    shape = space.get_simple_extent_dims() if has_shape else ()
    unlimited = library().h5s.UNLIMITED
    longest = tuple(None if n == unlimited else n for n in space.get_simple_extent_dims(True)) if has_shape else ()
    names = attributes.names(identifier)
    found = _Dataset(path, identifier, names, shape, longest)
    if "CLASS" in names and scales.is_scale(identifier):
        found.is_scale = True
        found.is_dimension_only = scales.is_dimension_only(identifier)
    return found


def _dimension_names(dataset: _Dataset) -> tuple[str, ...]:
    found = ["" if scale is None else group_and_name(scale.path)[1] for scale in dataset.scales]
    if "DIMENSION_LABELS" in dataset.attribute_names:
        named = scales.labels(dataset.identifier, len(dataset.shape))
        found = [name or label for name, label in zip(found or [""] * len(named), named, strict=True)]
    return tuple(found) if any(found) else ()


def _codecs(plist: Any) -> tuple[Codec, ...] | None:
    """Return the filters; None where Swath does not know all of them."""
    return hdf5_filters.codecs_of(plist) or (None if plist.get_nfilters() else ())

"""A whole new HDF5 or netCDF-4 file, and what such a file cannot hold."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from swath.errors import ArgumentError
from swath.formats import hdf5_filters
from swath.formats.changes import Changes
from swath.formats.contents import Group
from swath.formats.description import NewArray
from swath.formats.files import extend, fresh
from swath.formats.hdf5 import attributes
from swath.formats.hdf5.access import changed, dataset_of, is_name, opened
from swath.formats.hdf5.creating import write_signature
from swath.formats.hdf5.describing import described
from swath.formats.hdf5.new_dataset import NewDataset, make_groups, stored_type
from swath.formats.hdf5.scales import Scales
from swath.formats.new_file import NewFile, refused


def create_file(path: str, new: NewFile) -> None:
    """Make a file with all its groups, dimensions and datasets; see `add` for what is stored of these."""
    is_netcdf4 = new.flavour == "netcdf4"
    with fresh(path):
        changes = Changes(path, is_durable=False)
        write_signature(changes, new.flavour)
        with changed(changes) as file:
            scales = Scales(file, is_netcdf4=is_netcdf4)
            for group in new.groups:
                make_groups(path, file, group.name)
                for dimension in group.dimensions.values():
                    scales.define(group.name, dimension.name, dimension.length, is_unlimited=dimension.is_unlimited)
            for one in new.variables:
                NewDataset(path, file, one, scales).make()
            for group in new.groups:
                attributes.replace(file[group.name or "/"], group.attributes, as_netcdf=is_netcdf4)
        with opened(path) as file:
            ends = [described(path, dataset_of(file, one.name)).end for one in new.variables]
        extend(path, max(ends, default=0))


def refusals(new: NewFile) -> list[str]:
    """Return, in words, what a file cannot hold of all that."""
    return refused(_attempts(new, is_netcdf4=new.flavour == "netcdf4"))


def _attempts(new: NewFile, *, is_netcdf4: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    groups = {group.name: group for group in new.groups}
    for group in new.groups:
        where = f"group {group.name}" if group.name else ""
        if group.name:
            yield where, functools.partial(_check_name, group.name)
        yield from _attempts_of_attributes(where, group.attributes, is_netcdf4=is_netcdf4)
    for one in new.variables:
        yield one.name, functools.partial(_check_name, one.name)
        yield one.name, functools.partial(stored_type, one.dtype, is_netcdf4=is_netcdf4)
        yield one.name, functools.partial(hdf5_filters.asked_codecs, one.codecs, one.dtype.itemsize)
        yield one.name, functools.partial(_check_dimensions, one, groups, is_netcdf4=is_netcdf4)
        yield from _attempts_of_attributes(one.name, one.attributes, is_netcdf4=is_netcdf4)


def _attempts_of_attributes(where: str, given: Any, *, is_netcdf4: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    for name, value in given.items():
        what = f"{where}: attribute {name}" if where else f"attribute {name}"
        yield what, functools.partial(attributes.check, name, value, as_netcdf=is_netcdf4)


def _check_name(name: str) -> None:
    if not is_name(name):
        raise ArgumentError(f"HDF5 allows no name {name!r}")


def _check_dimensions(new: NewArray, groups: dict[str, Group], *, is_netcdf4: bool) -> None:
    group, _, name = new.name.strip("/").rpartition("/")
    names = new.dimensions or ()
    for dimension, length in zip(names, new.shape, strict=False):
        seen = _seen(groups, group, dimension)
        if seen is not None and not seen.is_unlimited and seen.length != length:
            raise ArgumentError(f"it has {length} elements along dimension {dimension}, whose length is {seen.length}")
    own = groups[group].dimensions if group in groups else {}
    if not is_netcdf4 and name in own and names != (name,):
        raise ArgumentError(
            f"there is a dimension {name}, too, and in an HDF5 file both are one dataset; netCDF-4 can hold them"
        )


def _seen(groups: dict[str, Group], group: str, name: str) -> Any:
    while True:
        found = groups[group].dimensions.get(name) if group in groups else None
        if found is not None or not group:
            return found
        group = group.rpartition("/")[0]

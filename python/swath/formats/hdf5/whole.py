"""A whole new HDF5 or netCDF-4 file, and what such a file cannot hold."""

from __future__ import annotations

import functools
import itertools
import math
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError
from swath.formats import hdf5_filters
from swath.formats.changes import Changes
from swath.formats.contents import Group
from swath.formats.description import NewArray
from swath.formats.files import extend, fresh
from swath.formats.hdf5 import attributes
from swath.formats.hdf5.access import changed, dataset_of, group_and_name, is_name
from swath.formats.hdf5.creating import write_signature
from swath.formats.hdf5.describing import describe_many
from swath.formats.hdf5.new_dataset import NewDataset, make_groups, stored_type
from swath.formats.hdf5.scales import Scales
from swath.formats.new_file import NewFile, refused
from swath.formats.undo import PlacingFile


def create_file(path: str, new: NewFile) -> None:
    """Make a file with all its groups, dimensions and datasets; see `add` for what is stored of these."""
    is_netcdf4 = new.flavour == "netcdf4"
    with fresh(path):
        changes = Changes(path, is_durable=False)
        write_signature(changes, new.flavour)
        blank_bytes = max(map(_chunk_bytes, new.variables), default=0)
        with (
            mmap.mmap(-1, max(blank_bytes, 1)) as blank,
            changed(changes, opening=lambda changes: PlacingFile(changes, blank)) as file,
        ):
            scales = Scales(file, is_netcdf4=is_netcdf4)
            for group in new.groups:
                make_groups(path, file, group.name)
                for dimension in group.dimensions.values():
                    scales.define(group.name, dimension.name, dimension.length, is_unlimited=dimension.is_unlimited)
            for one in new.variables:
                fill = NewDataset(path, file, one, scales).make()
                _reserve(dataset_of(file, one.name), one, fill, blank)
            for group in new.groups:
                attributes.replace(file[group.name or "/"], group.attributes, as_netcdf=is_netcdf4)
        ends = [found.end for found in describe_many(path, [one.name for one in new.variables], is_whole=False)]
        extend(path, max(ends, default=0))


def _chunk_bytes(new: NewArray) -> int:
    """Return the bytes of a chunk that gets its room before it is written; 0 where none does."""
    if new.chunks is None or new.codecs or not any(new.unlimited):
        return 0
    return math.prod(new.chunks) * new.dtype.itemsize


def _reserve(dataset: Any, new: NewArray, fill: npt.NDArray[Any] | None, blank: mmap.mmap) -> None:
    """Give the chunks of a dataset that grows, and is not coded, their room.

    They are holes, which somebody else writes; but one that the dataset does not fill holds the fill value, which is
    there when the dataset grows.
    """
    nbytes = _chunk_bytes(new)
    if nbytes == 0:
        return
    filled = b"" if fill is None else np.full(math.prod(new.chunks or ()), fill, new.dtype).tobytes()
    with memoryview(blank) as view, view[:nbytes] as nothing:
        for first in itertools.product(*(range(0, n, c) for n, c in zip(dataset.shape, dataset.chunks, strict=True))):
            ends = zip(first, dataset.chunks, dataset.shape, strict=True)
            is_cut = any(filled) and any(at + c > n for at, c, n in ends)
            dataset.id.write_direct_chunk(first, filled if is_cut else nothing)


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
    group, name = group_and_name(new.name)
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

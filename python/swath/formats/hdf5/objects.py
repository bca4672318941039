"""What one HDF5 file copies unchanged from another, object by object, without the terms that formats share.

These are attributes with their types, named types, links, and datasets with types that Swath does not know. References
lead to the same paths in the other file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.formats.hdf5 import attributes, scales
from swath.formats.hdf5.access import dataset_of, group_and_name, library, opened, shown_name, walk
from swath.formats.hdf5.boxes import boxes
from swath.formats.hdf5.links import Link, links

MERGE_NAMED_TYPES = 0x0040
"""H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG, which h5py does not name."""
OF_DIMENSIONS = ("DIMENSION_LABELS", "NAME")
"""Attributes of dimension scales that exist nowhere else: labels, and the name of a scale."""


@dataclass(frozen=True)
class Objects:
    """The objects to copy.

    Attributes:
        source: the file.
        datasets: those that are copied as a whole.
        links: those that lead to variables.
        left_out: the paths of variables, links and types that are not copied.
        is_all: whether everything is copied; else only `links`.
        keeps_types: whether all attributes are copied; else only those of types that Swath does not know. A text of
            netCDF-4 would be bytes for readers of HDF5.
    """

    source: str
    datasets: tuple[str, ...]
    links: tuple[str, ...]
    left_out: frozenset[str]
    is_all: bool
    keeps_types: bool


def has_utf8_names(path: str) -> bool:
    """Return whether all names in a file are UTF-8, as HDF5 requires: the new file has all names as UTF-8."""
    h5py = library()
    with opened(path) as file:
        found: list[bytes] = []
        for _, item in walk(file):
            h5py.h5a.iterate(item, found.append)
            if isinstance(item, h5py.h5g.GroupID):
                found += list(item)
    return all(map(_is_utf8, found))


def _is_utf8(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def take(path: str, objects: Objects) -> None:
    """Copy them into a file that already has all groups and the other datasets."""
    with opened(objects.source) as source, opened(path, "r+") as target:
        _Taking(source, target, objects).take()


class _Taking:
    """Copies objects from one file to another.

    Args:
        source: h5py's.
        target: h5py's, open for writing.
        objects: the objects to copy.
    """

    def __init__(self, source: Any, target: Any, objects: Objects) -> None:
        self._source = source
        self._target = target
        self._objects = objects
        self._types: dict[int, str] = {}

    def take(self) -> None:
        """Copy all of them."""
        walked = list(walk(self._source))
        linked = links(walked)
        if not self._objects.is_all:
            for path, link in linked.items():
                if shown_name(path) in self._objects.links and link.to in self._target:
                    self._make_link(path, link)
            return
        for path, link in linked.items():
            if not link.kind:
                self._take_type(path)
        for name in self._objects.datasets:
            self._take_dataset(name)
        for path, link in linked.items():
            is_new = path not in self._target and shown_name(path) not in self._objects.left_out
            if link.kind and is_new:
                self._make_link(path, link)
        for name in self._objects.datasets:  # now the targets of references exist
            self._take_references(name)
        for path, item in walked:
            self._take_attributes(path, item)
        for path in self._types.values():
            self._take_attributes(path, library().h5o.open(self._source.id, path.encode()))

    # ---- Types, datasets, links --------------------------------------------------------------------------------------

    def _take_type(self, path: str) -> None:
        h5py = library()
        encoded = path.encode("utf-8", "surrogateescape")
        self._types[h5py.h5o.get_info(h5py.h5o.open(self._source.id, encoded)).addr] = path
        if path not in self._target and path not in self._objects.left_out:
            h5py.h5o.copy(self._source.id, encoded, self._target.id, encoded, _without_attributes())

    def _take_dataset(self, name: str) -> None:
        """Copy a dataset by HDF5's own call; its scales are those of the target."""
        h5py = library()
        dataset = dataset_of(self._source, name)
        path = dataset.name.strip("/").encode("utf-8", "surrogateescape")
        h5py.h5o.copy(self._source.id, path, self._target.id, path, _without_attributes())
        made = self._target[dataset.name]
        if dataset.shape:
            for place, scale in enumerate(scales.first_scales(dataset.id, dataset.ndim)):
                of_target = None if scale is None else self._target.get(h5py.h5i.get_name(scale).decode())
                if of_target is not None:
                    h5py.h5ds.attach_scale(made.id, of_target.id, place)
            numbers = [self._number(scale) for scale in scales.first_scales(dataset.id, dataset.ndim)]
            if numbers and None not in numbers and scales.is_netcdf4(self._target):
                made.attrs.create("_Netcdf4Coordinates", np.array(numbers, np.int32))

    def _take_references(self, name: str) -> None:
        dataset = dataset_of(self._source, name)
        if dataset.shape is not None and dataset.id.get_type().detect_class(library().h5t.REFERENCE):
            made = self._target[dataset.name]
            for box in boxes(dataset.shape):
                made[box] = self._translated(np.asarray(dataset[box]), dataset)

    def _number(self, scale: Any) -> int | None:
        if scale is None:
            return None
        found = self._target.get(library().h5i.get_name(scale).decode())
        return None if found is None else scales.number_of(found.id)

    def _make_link(self, path: str, link: Link) -> None:
        group = self._target.require_group(group_and_name(path)[0] or "/")
        name = group_and_name(path)[1].encode("utf-8", "surrogateescape")
        if link.kind == "hard" and (link.to or "/") in self._target:
            group.id.links.create_hard(name, self._target.id, (link.to or "/").encode("utf-8", "surrogateescape"))
        elif link.kind == "soft":
            group.id.links.create_soft(name, link.says.encode("utf-8", "surrogateescape"))
        elif link.kind == "external":
            of_source = self._source[group.name]  # its links live no longer than the group object
            file, where = of_source.id.links.get_val(name)
            group.id.links.create_external(name, file, where)

    # ---- Attributes --------------------------------------------------------------------------------------------------

    def _take_attributes(self, path: str, holder: Any) -> None:
        h5py = library()
        found = self._target.get(path or "/")
        if found is None or shown_name(path) in self._objects.left_out:
            return
        if isinstance(holder, h5py.h5d.DatasetID) and scales.is_dimension_only(holder):
            return
        if self._objects.keeps_types:
            known = attributes.names(holder)
            names = [name for name in known if name in OF_DIMENSIONS or name in attributes.own_names(holder, known)]
        else:
            names = list(attributes.read_all(holder)[1])
        for name in names:
            self._take_attribute(holder, found.id, name.encode("utf-8", "surrogateescape"))

    def _take_attribute(self, holder: Any, target: Any, name: bytes) -> None:
        h5py = library()
        attribute = h5py.h5a.open(holder, name)
        stored, space = attribute.get_type(), attribute.get_space()
        if h5py.h5a.exists(target, name):
            h5py.h5a.delete(target, name)
        made = h5py.h5a.create(target, name, self._type_for(stored), space)
        if space.get_simple_extent_type() == h5py.h5s.NULL or 0 in attribute.shape:
            return
        if stored.detect_class(h5py.h5t.REFERENCE) or _has_variable_length(stored):
            values = np.empty(attribute.shape, stored.dtype)
            attribute.read(values)
            made.write(self._translated(values, holder))
            return
        raw = np.zeros(attribute.shape, f"V{stored.get_size()}")  # no conversion, whatever the type is
        attribute.read(raw, mtype=stored)
        made.write(raw, mtype=stored)

    def _type_for(self, stored: Any) -> Any:
        """Return the type for the target: for a named type, the target's type of that name."""
        h5py = library()
        if not stored.committed():
            return stored
        path = self._types.get(h5py.h5o.get_info(stored).addr)
        if path is None or path not in self._target:
            return stored.copy()
        return h5py.h5t.open(self._target.id, path.encode("utf-8", "surrogateescape"))

    # ---- References --------------------------------------------------------------------------------------------------

    def _translated(self, values: npt.NDArray[Any], holder: Any) -> npt.NDArray[Any]:
        """Return the values with references to the same paths in the target."""
        if values.dtype.names is not None:
            found = values.copy()
            for name in values.dtype.names:
                found[name] = self._translated(values[name], holder)
            return found
        if values.dtype.kind != "O":
            return values
        found = np.empty(values.shape, values.dtype)
        for index in np.ndindex(values.shape):
            found[index] = self._translated_one(values[index], holder)
        return found

    def _translated_one(self, value: Any, holder: Any) -> Any:
        h5py = library()
        if isinstance(value, np.ndarray):
            return self._translated(value, holder)
        if not isinstance(value, h5py.h5r.Reference) or not value:
            return value
        identifier = getattr(holder, "id", holder) if isinstance(holder, h5py.Dataset) else holder
        name = h5py.h5r.get_name(value, identifier)
        if name is None or name.decode("utf-8", "surrogateescape") not in self._target:
            return type(value)()
        if isinstance(value, h5py.h5r.RegionReference):
            space = h5py.h5r.get_region(value, identifier)
            return h5py.h5r.create(self._target.id, name, h5py.h5r.DATASET_REGION, space)
        return h5py.h5r.create(self._target.id, name, h5py.h5r.OBJECT)


def _without_attributes() -> Any:
    h5py = library()
    plist = h5py.h5p.create(h5py.h5p.OBJECT_COPY)
    plist.set_copy_object(h5py.h5o.COPY_WITHOUT_ATTR_FLAG | MERGE_NAMED_TYPES)
    return plist


def _has_variable_length(stored: Any) -> bool:
    """Return whether elements are stored elsewhere: sequences, or text of variable length, also in a structure."""
    h5py = library()
    if stored.detect_class(h5py.h5t.VLEN):
        return True
    if isinstance(stored, h5py.h5t.TypeStringID):
        return bool(stored.is_variable_str())
    if isinstance(stored, h5py.h5t.TypeCompoundID):
        return any(_has_variable_length(stored.get_member_type(place)) for place in range(stored.get_nmembers()))
    return isinstance(stored, h5py.h5t.TypeArrayID) and _has_variable_length(stored.get_super())

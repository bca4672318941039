"""One new dataset in an open HDF5 or netCDF-4 file: its type, its room, its dimensions, its attributes."""

from __future__ import annotations

import errno
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError, ExistsError
from swath.formats import hdf5_filters
from swath.formats.default_chunks import default_chunks
from swath.formats.description import NewArray
from swath.formats.hdf5 import attributes
from swath.formats.hdf5.access import OTHER_NAME, group_and_name, is_name, joined, library
from swath.formats.hdf5.scales import Scales, is_dimension_only, is_netcdf4, number_of
from swath.formats.netcdf_fills import NETCDF_FILLS

CHUNK_BYTES_MAX = 4 << 20
"""Of an array that grows, where no chunks are asked for."""


class NewDataset:
    """One dataset that is to be made.

    Args:
        path: of the file, for messages.
        file: h5py's, open for writing.
        new: what was asked for.
        scales: the dimensions of the file, where somebody has them already.
    """

    def __init__(self, path: str, file: Any, new: NewArray, scales: Scales | None = None) -> None:
        self._path = path
        self._file = file
        self._new = new
        self._group, self._name = group_and_name(new.name)
        self._scales = scales or Scales(file, is_netcdf4=is_netcdf4(file))
        self._is_netcdf4 = self._scales.is_netcdf4
        self._unlimited = new.unlimited or (False,) * len(new.shape)
        self._kind = "netCDF-4" if self._is_netcdf4 else "HDF5"

    def make(self) -> npt.NDArray[Any] | None:
        """Make it, and return what its elements are that nobody writes; None for zeros. Raises what `add` raises."""
        self._check_name()
        stored = stored_type(self._new.dtype, is_netcdf4=self._is_netcdf4)
        fill = self._fill()
        make_groups(self._path, self._file, self._group)
        names = self._dimension_names()
        is_coordinate = self._is_coordinate(names)
        old = self._file.get(joined(self._group, self._name)) if is_coordinate else None
        if old is not None:
            self._scales.check(old, self._new.shape[0], is_unlimited=self._unlimited[0])
        scales = [None if i == 0 and is_coordinate else self._scale(i, name) for i, name in enumerate(names)]
        number = None if old is None else number_of(old.id)
        users = self._without(old)
        dataset = self._made(self._stored_name(is_coordinate), stored, fill)
        if is_coordinate:
            self._scales.make_coordinate(dataset)
            self._scales.number(dataset, number)
            for user, dimension in users:
                self._scales.attach(dataset, user, dimension)
        else:
            for dimension, scale in enumerate(scales):
                self._scales.attach(scale, dataset, dimension)
        self._scales.note_numbers(dataset, [dataset if scale is None else scale for scale in scales])
        self._set_attributes(dataset)
        return fill

    # ---- Name, type, room --------------------------------------------------------------------------------------------

    def _check_name(self) -> None:
        if not is_name(self._new.name):
            raise ArgumentError(f"HDF5 allows no name {self._new.name!r}; expected a name, or group/name")
        for name in (self._name, OTHER_NAME + self._name):
            found = self._file.get(joined(self._group, name))
            if found is not None and not self._is_dimension_only(found):
                what = "variable" if isinstance(found, library().Dataset) else "group"
                raise ExistsError(
                    f"{self._path}: there is a {what} {self._new.name.strip('/')!r} already; choose another name, or "
                    'open it with mode="r+" to write into it',
                    errno.EEXIST,
                )

    @staticmethod
    def _is_dimension_only(found: Any) -> bool:
        return isinstance(found, library().Dataset) and is_dimension_only(found.id)

    def _fill(self) -> npt.NDArray[Any] | None:
        """Return the fill value in the dtype of the elements."""
        new = self._new
        if new.fill is not None:
            return new.fill
        value = new.attributes.get("_FillValue")
        if value is not None:
            return np.asarray(attributes.fill_value("attribute '_FillValue'", value, new.dtype)).astype(new.dtype)
        return np.array(NETCDF_FILLS[new.dtype.str[1:]], new.dtype) if self._is_netcdf4 else None

    def _made(self, name: str, stored: Any, fill: npt.NDArray[Any] | None) -> Any:
        h5py = library()
        new = self._new
        codecs = hdf5_filters.asked_codecs(new.codecs, new.dtype.itemsize)
        chunks = hdf5_filters.new_chunks(new, codecs)
        grows = any(self._unlimited)
        if chunks is None and grows:
            chunks = default_chunks(new.shape, new.dtype.itemsize, CHUNK_BYTES_MAX)
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.CONTIGUOUS) if chunks is None else plist.set_chunk(chunks)
        hdf5_filters.set_filters(plist, codecs)
        plist.set_obj_track_times(False)  # the same array makes the same bytes at any time
        plist.set_attr_creation_order(h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED)
        if codecs or grows:
            plist.set_alloc_time(h5py.h5d.ALLOC_TIME_INCR)  # a chunk is stored when something is known of it
        else:
            plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)  # else the library would write every element before us
        if fill is not None:
            plist.set_fill_value(_fill_for_h5py(fill))
        longest = tuple(h5py.h5s.UNLIMITED if u else n for n, u in zip(new.shape, self._unlimited, strict=True))
        space = h5py.h5s.create_simple(new.shape, longest) if new.shape else h5py.h5s.create(h5py.h5s.SCALAR)
        path = joined(self._group, name).encode()
        made = h5py.Dataset(h5py.h5d.create(self._file.id, path, stored, space, plist, _links()))
        hdf5_filters.check_kept(made.id.get_create_plist(), codecs)
        return made

    def _set_attributes(self, dataset: Any) -> None:
        new = self._new
        given = {name: value for name, value in new.attributes.items() if name != "_FillValue"}
        marked = new.fill if new.marks_fill else None
        fill = marked if marked is not None else new.attributes.get("_FillValue")
        if fill is not None and new.dtype.kind != "V":
            given = {"_FillValue": fill, **given}
        attributes.replace(dataset, given, as_netcdf=self._is_netcdf4)

    # ---- Dimensions --------------------------------------------------------------------------------------------------

    def _dimension_names(self) -> tuple[str, ...]:
        new = self._new
        if new.dimensions is not None:
            for name in new.dimensions:
                if not is_name(name) or "/" in name:
                    raise ArgumentError(f"{self._kind} allows no dimension {name!r}; expected a name without slashes")
            return new.dimensions
        if not self._is_netcdf4:
            return ()
        names: list[str] = []
        number = 0
        for length, is_unlimited in zip(new.shape, self._unlimited, strict=True):
            while not self._suits(f"dim{number}", length, is_unlimited):
                number += 1
            names.append(f"dim{number}")
            number += 1
        return tuple(names)

    def _suits(self, name: str, length: int, is_unlimited: bool) -> bool:
        """Return whether a dimension of that name is there and is such a one, or can be made."""
        found = self._scales.find(self._group, name)
        if found is None:
            return name != self._name and self._file.get(joined(self._group, name)) is None
        return bool((found.maxshape[0] is None) == is_unlimited and (is_unlimited or found.shape[0] == length))

    def _is_coordinate(self, names: tuple[str, ...]) -> bool:
        """Return whether it is the coordinate variable of its first dimension, which is, or will be, of its group."""
        if not names or names[0] != self._name:
            return False
        if self._file.get(joined(self._group, self._name)) is None and self._scales.find(self._group, self._name):
            return False  # the dimension is of a group above
        if len(names) > 1 and not self._is_netcdf4:
            raise ArgumentError(
                f"{self._path}: variable {self._name!r} has the name of its first dimension, and {len(names)} "
                "dimensions: an HDF5 dimension scale has one; choose another name, or create a netCDF-4 file"
            )
        return True

    def _stored_name(self, is_coordinate: bool) -> str:
        """Return the name in the file: another one where a dimension has it along which the variable does not lie."""
        if is_coordinate or self._file.get(joined(self._group, self._name)) is None:
            return self._name
        self._refuse_double_name(self._name)
        return OTHER_NAME + self._name

    def _scale(self, dimension: int, name: str) -> Any:
        """Return the scale of a dimension of the variable, which is made where there is none of that name."""
        length, is_unlimited = self._new.shape[dimension], self._unlimited[dimension]
        found = self._scales.find(self._group, name)
        if found is not None:
            self._scales.check(found, length, is_unlimited=is_unlimited)
            return found
        if self._file.get(joined(self._group, name)) is not None:
            self._refuse_double_name(name)
            self._file.move(joined(self._group, name), joined(self._group, OTHER_NAME + name))
        return self._scales.define(self._group, name, length, is_unlimited=is_unlimited)

    def _refuse_double_name(self, name: str) -> None:
        if not self._is_netcdf4:
            raise ArgumentError(
                f"{self._path}: {name!r} is to be a dimension and a variable that does not lie along it: an HDF5 file "
                "has one dataset of that name; choose another name, or create a netCDF-4 file"
            )

    def _without(self, scale: Any) -> list[tuple[Any, int]]:
        """Remove a scale that makes way for its coordinate variable, and return what it was attached to."""
        if scale is None:
            return []
        users = self._scales.detach_all(scale)
        del self._file[scale.name]
        return users


def _fill_for_h5py(fill: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return what h5py takes for a fill value: it takes text for text of variable length, whatever its dtype says."""
    return fill.astype(library().string_dtype("ascii")) if fill.dtype.kind == "S" else fill


def stored_type(dtype: np.dtype[Any], *, is_netcdf4: bool) -> Any:
    """Return HDF5's type for a dtype. Raises ArgumentError where it, or netCDF-4, has none."""
    if is_netcdf4 and dtype.str[1:] not in NETCDF_FILLS:
        raise ArgumentError(
            f"netCDF-4 cannot store dtype {dtype}; it stores integers and floats of 8 to 64 bits (no float16, bool "
            "or complex numbers), and single characters ('S1'); convert, or create an .h5 file"
        )
    try:
        return library().h5t.py_create(dtype, logical=True)
    except TypeError as error:
        raise ArgumentError(
            f"HDF5 cannot store dtype {dtype} ({error}); it stores integers, floats, complex numbers, bool, "
            "fixed-length byte strings, and structures of these"
        ) from None


def make_groups(path: str, file: Any, name: str) -> None:
    """Make a group, "" for none, and those that it is in; each notes in which order things are made in it."""
    h5py = library()
    plist = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
    order = h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED
    plist.set_link_creation_order(order)
    plist.set_attr_creation_order(order)
    plist.set_obj_track_times(False)
    above = ""
    for part in name.split("/") if name else ():
        above = joined(above, part)
        found = file.get(above)
        if found is None:
            h5py.h5g.create(file.id, above.encode(), _links(), plist)
        elif not isinstance(found, h5py.Group):
            raise ArgumentError(f"{path}: {above!r} is no group, so there can be nothing in it, such as {name!r}")


def _links() -> Any:
    h5py = library()
    plist = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    plist.set_char_encoding(h5py.h5t.CSET_UTF8)
    return plist

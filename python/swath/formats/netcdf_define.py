"""What changes in the header of a netCDF classic file: variables, dimensions and attributes, and where data then lie.

Pure: no file is touched. Data follow each other as netCDF's library wants them, which opens no other file: the fixed
variables in the order of the header, then the records, each of which holds the record variables in that order.
"""

from __future__ import annotations

import errno
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from swath.errors import ArgumentError, ExistsError
from swath.formats.contents import Attributes, Dimension
from swath.formats.description import OFFSET_LIMIT, NewArray, checked_fill
from swath.formats.netcdf_header import (
    Header,
    HeaderVariable,
    StoredAttribute,
    checked_name,
    padded,
    stored_attribute,
    type_code,
)

DATA_ALIGN = 4096
"""Where data, and large variables, begin: whole pages are transferred."""

ALIGNED_BYTES_MIN = 16 * DATA_ALIGN
"""Of a fixed variable that begins so."""

ROOM_BYTES = 8192
"""Behind a header that was given its place, at least, for variables and attributes to come."""

_NOT_PLACED = 0
"""Where a new variable begins before `placed`: nothing else can begin there."""

_LENGTH_MAX = {1: 2**31 - 4, 2: 2**31 - 4, 5: 2**63 - 4}
_RECORDS_MAX = {1: 2**31 - 1, 2: 2**31 - 1, 5: 2**63 - 1}
_BEGIN_MAX = {1: 2**31 - 1, 2: 2**63 - 1, 5: 2**63 - 1}
_SLAB_BYTES_MAX = {1: 2**31 - 4, 2: 2**32 - 4, 5: 2**63 - 4}
"""By version; of a variable, or one record of it, behind which another begins."""


@dataclass(frozen=True)
class Move:
    """Pieces of a file that go to where they stand `new_step` bytes apart: never to lower offsets, nor closer.

    Attributes:
        begin: where the first is.
        to: where it goes.
        count: of pieces.
        step: bytes of a piece, and from one to the next.
        new_step: bytes from one to the next afterwards; between them are zeros.
    """

    begin: int
    to: int
    count: int
    step: int
    new_step: int

    @property
    def is_needed(self) -> bool:
        """Whether anything gets another place."""
        return self.begin != self.to or self.step != self.new_step


def with_variable(header: Header, new: NewArray) -> Header:
    """Return the header with one more variable, and with its dimensions, that has no place yet: see `placed`.

    Raises ArgumentError for what the version cannot store, a name that is taken, and a dimension that is there with
    another length.
    """
    name = checked_name(new.name)
    if any(v.name == name for v in header.variables):
        raise ExistsError(f"there is a variable {name!r} already; choose another name", errno.EEXIST)
    if "_FillValue" in new.attributes:
        raise ArgumentError("give _FillValue as fill=, not among the attributes")
    filled = {"_FillValue": new.fill} if new.fill is not None and new.marks_fill else {}
    code = type_code(new.dtype, header.version)
    dimensions, indices = _dimensions_for(header, new)
    is_record = bool(indices) and dimensions[indices[0]].is_unlimited
    variable = HeaderVariable(
        name,
        indices,
        _changed((), {**filled, **new.attributes}, header.version),
        code,
        _NOT_PLACED,
        is_record,
        math.prod(dimensions[i].length for i in indices[is_record:]) * new.dtype.itemsize,
    )
    changed = replace(header, dimensions=dimensions, variables=(*header.variables, variable))
    _check_sizes(changed)
    return changed


def with_dimension(header: Header, dimension: Dimension) -> Header:
    """Return the header with one more dimension; where it is unlimited the header tells its length, as `records`.

    Raises ArgumentError for what the version cannot store.
    """
    if dimension.length == 0 and not dimension.is_unlimited:
        raise ArgumentError(
            f"dimension {dimension.name} has no elements, and netCDF classic takes length 0 for unlimited; choose "
            "netCDF-4 or HDF5"
        )
    name, length = checked_name(dimension.name), 0 if dimension.is_unlimited else dimension.length
    stored = replace(dimension, name=name, length=length)
    _check_new(header.version, list(header.dimensions), stored)
    records = dimension.length if dimension.is_unlimited else header.records
    return replace(header, dimensions=(*header.dimensions, stored), records=records)


def with_attributes(header: Header, holder: str, attributes: Attributes) -> Header:
    """Return the header with attributes added, replaced, and, where the value is None, removed.

    `holder` is "" for the file, else one of its variables, whose _FillValue becomes one value of its type. Raises
    ArgumentError for what the version cannot store.
    """
    if not holder:
        return replace(header, attributes=_changed(header.attributes, attributes, header.version))
    variables = list(header.variables)
    index = next(i for i, v in enumerate(variables) if v.name == holder)
    fill = attributes.get("_FillValue")
    if fill is not None:
        attributes = {**attributes, "_FillValue": checked_fill(fill, variables[index].dtype)}
    own = _changed(variables[index].attributes, attributes, header.version)
    variables[index] = replace(variables[index], attributes=own)
    return replace(header, variables=tuple(variables))


def placed(header: Header) -> Header:
    """Return the header with a place for each variable, behind the header.

    What has a place keeps it where there is room. Else all data go up by as much as makes room for this header and
    for as much again; and all records, where a new fixed variable does not fit before them. Raises ArgumentError where
    the version has no number for such a place.
    """
    header_bytes = len(header.to_bytes())
    first = min((v.begin for v in header.variables if v.begin != _NOT_PLACED), default=0)
    data_begin = first if header_bytes <= first else _aligned(header_bytes + max(ROOM_BYTES, header_bytes))
    shift = data_begin - first

    begins = {}
    fixed_end = data_begin
    for v in header.variables:
        if not v.is_record and v.begin != _NOT_PLACED:
            begins[v.name] = v.begin + shift
            fixed_end = max(fixed_end, v.end + shift)
    for v in header.variables:
        if not v.is_record and v.begin == _NOT_PLACED:
            begins[v.name] = _aligned(fixed_end) if v.slab_bytes >= ALIGNED_BYTES_MIN else padded(fixed_end)
            fixed_end = begins[v.name] + padded(v.slab_bytes)

    of_records = [v for v in header.variables if v.is_record]
    old_begin = min((v.begin for v in of_records if v.begin != _NOT_PLACED), default=0)
    record_begin = old_begin + shift if old_begin and old_begin + shift >= fixed_end else _aligned(fixed_end)
    record_end = record_begin
    for v in of_records:
        begins[v.name] = record_end if v.begin == _NOT_PLACED else v.begin - old_begin + record_begin
        record_end += padded(v.slab_bytes)

    result = replace(header, variables=tuple(replace(v, begin=begins[v.name]) for v in header.variables))
    _check_places(result)
    return result


def _check_places(header: Header) -> None:
    for v in header.variables:
        if v.begin > _BEGIN_MAX[header.version]:
            raise ArgumentError(
                f"variable {v.name} would begin at byte {v.begin}, and CDF-{header.version} can tell of bytes up to "
                f"{_BEGIN_MAX[header.version]} only; choose {'netcdf-classic:cdf5' if header.version < 5 else 'HDF5'}"
            )
    if file_end(header) >= OFFSET_LIMIT:
        raise ArgumentError(f"a file of {file_end(header)} bytes is beyond 64-bit offsets")


def is_in_order(header: Header) -> bool:
    """Return whether records lie behind the fixed variables and have no gaps, as netCDF's library writes them."""
    of_records = [v for v in header.variables if v.is_record]
    if not of_records:
        return True
    begin = min(v.begin for v in of_records)
    dense = max(v.end for v in of_records) - begin == sum(padded(v.slab_bytes) for v in of_records)
    return dense and all(v.end <= begin for v in header.variables if not v.is_record)


def file_end(header: Header) -> int:
    """Return how long a file with this header is, the padding of its last record included."""
    end = len(header.to_bytes())
    record_begins = [v.begin for v in header.variables if v.is_record]
    for v in header.variables:
        end = max(end, v.begin if v.is_record else v.end)
    if record_begins:
        end = max(end, min(record_begins) + header.records * header.record_bytes)
    return end


def moves(old: Header, new: Header, file_bytes: int) -> list[Move]:
    """Return where the data of a file with the header `old` go in one with `new`, which has its variables, too.

    In this order those that are needed may be carried out in place. Of records there are all that the file has bytes
    of, also those that `old` does not count yet.
    """
    found = []
    pairs = list(zip(old.variables, new.variables, strict=False))
    of_records = [(v.begin, now.begin) for v, now in pairs if v.is_record]
    if of_records:
        begin, to = min(of_records)
        held = file_bytes - begin
        step, new_step = old.record_bytes, new.record_bytes
        if held > 0 and step != new_step:
            found.append(Move(begin, to, -(-held // step), step, new_step))
        elif held > 0:
            found.append(Move(begin, to, 1, held, held))
    fixed = [(v.begin, now.begin) for v, now in pairs if not v.is_record]
    if fixed:
        begin, to = min(fixed)
        held = min(file_bytes, max(v.end for v in old.variables if not v.is_record)) - begin
        if held > 0:
            found.append(Move(begin, to, 1, held, held))
    return found


def check_records(header: Header, records: int) -> None:
    """Raise ArgumentError where the version, or 64-bit offsets, cannot tell of so many records."""
    records_max = _RECORDS_MAX[header.version]
    if not 0 <= records <= records_max:
        raise ArgumentError(f"{records} records: a CDF-{header.version} file has 0 to {records_max} of them")
    begin = max((v.end for v in header.variables if v.is_record), default=0)
    if begin + records * header.record_bytes >= OFFSET_LIMIT:
        raise ArgumentError(f"{records} records of {header.record_bytes} bytes are beyond 64-bit offsets")


def _aligned(offset: int) -> int:
    return -(-offset // DATA_ALIGN) * DATA_ALIGN


def _changed(
    stored: tuple[StoredAttribute, ...], attributes: Mapping[str, Any], version: int
) -> tuple[StoredAttribute, ...]:
    """Return the stored attributes with others added, replaced in their places, and (None) removed."""
    changed: dict[str, StoredAttribute] = {}
    for attribute in stored:
        changed.setdefault(attribute.name, attribute)
    for name, value in attributes.items():
        known = checked_name(name)
        if value is None:
            changed.pop(known, None)
        else:
            changed[known] = stored_attribute(known, value, version)
    return tuple(changed.values())


def _dimensions_for(header: Header, new: NewArray) -> tuple[tuple[Dimension, ...], tuple[int, ...]]:
    """Return the header's dimensions and those that `new` adds, and the indices of its own."""
    dimensions = list(header.dimensions)
    indices: list[int] = []
    for i, length in enumerate(new.shape):
        grows = (i < len(new.unlimited) and new.unlimited[i]) or (i == 0 and length == 0)
        if i > 0 and (grows or length == 0):
            what = "unlimited" if grows else "zero-length"
            raise ArgumentError(
                f"netCDF classic stores no {what} dimension but the first; shape is {new.shape}: put it first, or "
                "choose netCDF-4 or HDF5"
            )
        if new.dimensions is None:
            wanted = _unnamed(dimensions, Dimension("", length, grows), indices)
        else:
            wanted = Dimension(checked_name(new.dimensions[i]), length, grows)
        index = next((k for k, d in enumerate(dimensions) if d.name == wanted.name), len(dimensions))
        if index == len(dimensions):
            _check_new(header.version, dimensions, wanted)
            dimensions.append(wanted)
        else:
            _check_same(header.counted(dimensions[index]), wanted, is_first=i == 0)
        indices.append(index)
    return tuple(dimensions), tuple(indices)


def _unnamed(dimensions: list[Dimension], wanted: Dimension, taken: list[int]) -> Dimension:
    """Return `wanted` with a name: of an invented dimension that is the same, of the records, or a new one."""
    for d in dimensions:
        if d.is_unlimited and wanted.is_unlimited:
            return replace(wanted, name=d.name)
    for number in itertools.count(len(taken)):
        named = replace(wanted, name=f"dim{number}")
        index = next((k for k, d in enumerate(dimensions) if d.name == named.name), None)
        if index is None or (dimensions[index] == named and index not in taken):
            return named
    raise AssertionError


def _check_new(version: int, dimensions: list[Dimension], wanted: Dimension) -> None:
    if wanted.length > _LENGTH_MAX[version]:
        raise ArgumentError(
            f"dimension {wanted.name} of {wanted.length}: a dimension of CDF-{version} has at most "
            f"{_LENGTH_MAX[version]} elements"
        )
    if not wanted.is_unlimited:
        return
    if wanted.length != 0:
        raise ArgumentError(f"dimension {wanted.name} grows from length 0, not from {wanted.length}")
    for other in dimensions:
        if other.is_unlimited:
            raise ArgumentError(
                f"dimension {wanted.name} cannot be unlimited: a netCDF classic file has one such dimension, which is "
                f"{other.name} here; grow along that one, or choose netCDF-4"
            )


def _check_same(there: Dimension, wanted: Dimension, *, is_first: bool) -> None:
    """Raise ArgumentError where a dimension that is there cannot be the one that is wanted."""
    if there.is_unlimited and not is_first:
        raise ArgumentError(
            f"dimension {there.name} is unlimited in this file, and netCDF classic stores no unlimited dimension but "
            "the first of a variable: put it first, or choose netCDF-4"
        )
    if wanted.is_unlimited and not there.is_unlimited:
        raise ArgumentError(f"dimension {there.name} has {there.length} elements in this file and cannot grow")
    is_same = wanted.length in (0, there.length) if there.is_unlimited else wanted.length == there.length
    if not is_same:
        grows = " (it is unlimited)" if there.is_unlimited else ""
        raise ArgumentError(
            f"dimension {there.name} has {there.length} elements in this file{grows}, not {wanted.length}: give the "
            "same length, or another name"
        )


def _check_sizes(header: Header) -> None:
    """Raise ArgumentError for a large variable that is not the last one: as netCDF's library does (NC_EVARSIZE)."""
    slab_bytes_max = _SLAB_BYTES_MAX[header.version]
    fixed = [v for v in header.variables if not v.is_record]
    of_records = [v for v in header.variables if v.is_record]
    for v in header.variables:
        if v.slab_bytes <= slab_bytes_max:
            continue
        is_last = len(of_records) == 1 if v.is_record else v is fixed[-1] and not of_records
        if header.version == 5 or not is_last:
            what = "one record of variable" if v.is_record else "variable"
            only = "a single record variable" if v.is_record else "the last of a file without record variables"
            raise ArgumentError(
                f"{what} {v.name} takes {v.slab_bytes} bytes; in CDF-{header.version} only {only} may take more than "
                f"{slab_bytes_max}; choose netcdf-classic:cdf5, netCDF-4 or HDF5"
            )

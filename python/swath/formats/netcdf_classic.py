"""netCDF classic files: CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit sizes and more types).

The core reads the header (core/formats/netcdf_classic.h, where its grammar is). Here a variable is chosen and its
attributes become Python's; and headers of new files are written.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np

from swath import _core
from swath.errors import ArgumentError
from swath.formats.choose import choose, describes_others
from swath.formats.contents import Contents, Dimension, Group, Variable
from swath.formats.description import (
    DIMENSIONS_MAX,
    Description,
    NewArray,
    StridedLayout,
    Summary,
    plain,
    refuse_chunks,
    stored_strides,
)
from swath.formats.files import extend, fresh, whole
from swath.formats.netcdf_header import (
    FLAVOURS,
    Header,
    HeaderVariable,
    StoredAttribute,
    checked_name,
    padded,
    slab_bytes_of,
    stored_attribute,
    type_code,
    values_of,
)

__all__ = ["FLAVOURS", "contents", "create", "describe", "matches", "variables"]

DATA_ALIGN = 4096
"""Where data begin in new files: whole pages are transferred, and there is room for attributes to come."""

_FILLS: dict[str, Any] = {
    "i1": -127,
    "i2": -32767,
    "i4": -2147483647,
    "i8": -9223372036854775806,
    "S1": b"\0",
    "u1": 255,
    "u2": 65535,
    "u4": 4294967295,
    "u8": 18446744073709551614,
    "f4": 9.9692099683868690e36,
    "f8": 9.9692099683868690e36,
}
"""What netCDF fills with when a variable has no _FillValue (netcdf.h, NC_FILL_BYTE and so on)."""


def matches(file: BinaryIO, size: int) -> bool:
    """Return whether the file begins as one of the three versions does."""
    del size
    return file.read(4) in (b"CDF\1", b"CDF\2", b"CDF\5")


def describe(path: str, variable: str | None = None) -> Description:
    """Return one variable of a netCDF classic file; None stands for the only one that holds data of its own.

    Raises FormatError, with the byte and the field, for a header that cannot be true or a file too short for the
    variable, and ArgumentError, listing what there is, where `variable` names nothing or None is not enough.
    """
    header = _read(path)
    name = choose(path, _summaries(path, header), variable)
    return whole(_described(path, header, next(v for v in header.variables if v.name == name)))


def contents(path: str) -> Contents:
    """Return what the file holds. Raises FormatError, with the byte and the field, for a header that cannot be true."""
    header = _read(path)
    attributes = {v.name: values_of(v.attributes) for v in header.variables}
    named = describes_others(attributes.values())
    found = {}
    for v in header.variables:
        dimensions = header.dimensions_of(v)
        names = tuple(d.name for d in dimensions)
        unsupported = "" if len(names) <= DIMENSIONS_MAX else f"it has more than {DIMENSIONS_MAX} dimensions"
        found[v.name] = Variable(
            v.name,
            tuple(d.length for d in dimensions),
            v.dtype,
            names,
            attributes[v.name],
            is_coordinate=names == (v.name,) or v.name in named or v.dtype.kind == "S",
            unsupported=unsupported,
        )
    dimensions_by_name = {d.name: d for d in map(header.counted, header.dimensions)}
    groups = {"": Group("", values_of(header.attributes), dimensions_by_name)}
    return Contents("netcdf-classic", f"CDF-{header.version}", groups, found)


def variables(path: str) -> list[Summary]:
    """Every variable of the file, in its order."""
    return _summaries(path, _read(path))


def create(path: str, new: NewArray) -> Description:
    """Create a file with one variable, all its bytes holes; CDF-5 unless `new.flavour` says otherwise.

    Values are stored big-endian whatever byte order is asked for. `new.fill` becomes the attribute _FillValue. The
    header is written here: netCDF's library goes through "redefine" for each attribute of a classic file, which moves
    all the data behind a growing header.

    Raises ArgumentError for what the version cannot store.
    """
    flavour = new.flavour or "cdf5"
    new.needs_c_order("netCDF")
    refuse_chunks(new, "netCDF classic")
    if 0 in new.shape[1:]:
        raise ArgumentError(f"netCDF classic stores no zero-length dimension but the first; shape is {new.shape}")
    header = _header(new, FLAVOURS[flavour])
    with fresh(path):
        with open(path, "r+b") as file:
            file.write(header)
        extend(path, len(header) + padded(new.nbytes))
        return describe(path, new.name)


def _header(new: NewArray, version: int) -> bytes:
    """Return the header of a file that holds just `new`, up to where its data begin."""
    attributes = dict(new.attributes)
    if "_FillValue" in attributes:
        raise ArgumentError("give _FillValue as fill=, not among the attributes")
    if new.fill is not None:
        attributes = {"_FillValue": new.fill, **attributes}
    length_max = 2**63 - 4 if version == 5 else 2**31 - 4
    if max(new.shape, default=0) > length_max:
        raise ArgumentError(f"shape {new.shape}: a dimension of CDF-{version} has at most {length_max} elements")
    names = new.dimensions or tuple(f"dim{i}" for i in range(len(new.shape)))
    is_record = new.shape[:1] == (0,)
    variable = HeaderVariable(
        checked_name(new.name),
        tuple(range(len(names))),
        tuple(stored_attribute(name, value, version) for name, value in attributes.items()),
        type_code(new.dtype, version),
        0,
        is_record,
        slab_bytes_of(new.shape, new.dtype, is_record=is_record),
    )
    dimensions = tuple(
        Dimension(checked_name(n), length, length == 0) for n, length in zip(names, new.shape, strict=True)
    )
    header = Header(version, 0, dimensions, (), (variable,))
    begin = -(-len(header.to_bytes()) // DATA_ALIGN) * DATA_ALIGN
    return replace(header, variables=(replace(variable, begin=begin),)).to_bytes().ljust(begin, b"\0")


def _read(path: str) -> Header:
    version, records, dimensions, attributes, found = _core.netcdf_classic_header(path)
    return Header(
        version,
        records,
        tuple(Dimension(name, length, is_unlimited=length == 0) for name, length in dimensions),
        tuple(StoredAttribute(*one) for one in attributes),
        tuple(
            HeaderVariable(
                name, tuple(indices), tuple(StoredAttribute(*a) for a in own), code, begin, is_record, slab_bytes
            )
            for name, indices, own, code, begin, is_record, slab_bytes in found
        ),
    )


def _described(path: str, header: Header, variable: HeaderVariable) -> Description:
    """Return the variable with as many records as the header tells."""
    dimensions = header.dimensions_of(variable)
    shape = tuple(d.length for d in dimensions)
    strides = stored_strides(f"{path}:{variable.name}", shape, variable.dtype.itemsize, range(len(shape)))
    step = header.record_bytes if variable.is_record else 0
    stored = header.records if variable.is_record else 1
    attributes = values_of(variable.attributes)
    return Description(
        path=path,
        format="netcdf-classic",
        variable=variable.name,
        shape=shape,
        dtype=variable.dtype,
        layout=StridedLayout(variable.begin, (step, *strides[1:]) if variable.is_record else strides),
        fill=_fill_of(variable.dtype, attributes.get("_FillValue")),
        attributes=attributes,
        end=variable.begin + (stored - 1) * step + variable.slab_bytes if stored else 0,
        dimensions=tuple(d.name for d in dimensions),
        unlimited=tuple(d.is_unlimited for d in dimensions) if variable.is_record else (),
    )


def _fill_of(dtype: np.dtype[Any], own: Any) -> bytes:
    """Return the fill value: `own`, the attribute, where it is a value of `dtype` (netCDF ignores others, too)."""
    fill = np.array(_FILLS[dtype.str[1:]], dtype).tobytes()
    value = plain(own)
    if value is not None and not isinstance(value, list):
        with contextlib.suppress(OverflowError, ValueError):
            fill = np.array(value.encode() if isinstance(value, str) else value, dtype).tobytes()
    return fill


def _summaries(path: str, header: Header) -> list[Summary]:
    attributes = {v.name: values_of(v.attributes) for v in header.variables}
    named = describes_others(attributes.values())
    found = []
    for v in header.variables:
        words = f"C order from byte {v.begin}"
        if v.is_record:
            words = f"records: {v.slab_bytes} bytes every {header.record_bytes} from byte {v.begin}"
        dimensions = header.dimensions_of(v)
        names, shape = tuple(d.name for d in dimensions), tuple(d.length for d in dimensions)
        coordinate = names == (v.name,) or v.name in named or v.dtype.kind == "S"
        found.append(Summary(v.name, shape, str(v.dtype), names, words, attributes[v.name], coordinate))
    return found

"""netCDF classic files: CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit sizes and more types).

The core reads the header (core/formats/netcdf_classic.h, where its grammar is). Here a variable is chosen and its
attributes become Python's; and headers of new files are written.
"""

from __future__ import annotations

import contextlib
import math
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from swath import _core
from swath.errors import ArgumentError
from swath.formats.choose import choose, describes_others
from swath.formats.description import (
    Description,
    NewArray,
    StridedLayout,
    Summary,
    plain,
    refuse_chunks,
    stored_strides,
    text,
)
from swath.formats.files import extend, fresh, whole

FLAVOURS = {"cdf1": 1, "cdf2": 2, "cdf5": 5}
"""The versions by the names that `format` gives them."""

DATA_ALIGN = 4096
"""Where data begin in new files: whole pages are transferred, and there is room for attributes to come."""

NAME_BYTES_MAX = 256
"""NC_MAX_NAME of netcdf.h."""

_NAME = re.compile(r"[A-Za-z0-9_\x80-\U0010ffff]([^\x00-\x1f/\x7f]*[^\x00-\x20/\x7f])?")

_DIMENSION, _VARIABLE, _ATTRIBUTE = 10, 11, 12
_TYPES: dict[int, np.dtype[Any]] = {
    code: np.dtype(name)
    for code, name in enumerate(("i1", "S1", ">i2", ">i4", ">f4", ">f8", "u1", ">u2", ">u4", ">i8", ">u8"), start=1)
}
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


@dataclass(frozen=True)
class _Variable:
    name: str
    dimensions: tuple[str, ...]
    shape: tuple[int, ...]
    attributes: dict[str, Any]
    dtype: np.dtype[Any]
    begin: int
    is_record: bool
    slab_bytes: int  # of one record, or of the whole variable; without padding


@dataclass(frozen=True)
class _File:
    variables: dict[str, _Variable]
    records: int
    record_bytes: int


def matches(file: BinaryIO, size: int) -> bool:
    """Return whether the file begins as one of the three versions does."""
    del size
    return file.read(4) in (b"CDF\1", b"CDF\2", b"CDF\5")


def describe(path: str, variable: str | None = None) -> Description:
    """Return one variable of a netCDF classic file; None stands for the only one that holds data of its own.

    Raises FormatError, with the byte and the field, for a header that cannot be true or a file too short for the
    variable, and ArgumentError, listing what there is, where `variable` names nothing or None is not enough.
    """
    file = _read(path)
    chosen = file.variables[choose(path, _summaries(path, file), variable)]
    layout = _layout(path, file, chosen)
    stored = file.records if chosen.is_record else 1
    nbytes = stored * chosen.slab_bytes
    step = file.record_bytes if chosen.is_record else 0
    end = chosen.begin + (stored - 1) * step + chosen.slab_bytes if nbytes else 0
    fill = np.array(_FILLS[chosen.dtype.str[1:]], chosen.dtype).tobytes()
    own = chosen.attributes.get("_FillValue")
    if own is not None and not isinstance(own, list):
        with contextlib.suppress(
            OverflowError, ValueError
        ):  # not a value of the variable's type: netCDF ignores it, too
            fill = np.array(own.encode() if isinstance(own, str) else own, chosen.dtype).tobytes()
    return whole(
        Description(
            path, "netcdf-classic", chosen.name, chosen.shape, chosen.dtype, layout, fill, chosen.attributes, end
        )
    )


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
        extend(path, len(header) + _padded(new.nbytes))
        return describe(path, new.name)


class _Writer:
    """Puts a header together, field by field: what the core takes apart."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.count_bytes = _count_bytes(version)
        self.raw = bytearray(b"CDF" + bytes([version]))

    def number(self, value: int, nbytes: int) -> None:
        self.raw += value.to_bytes(nbytes, "big")

    def count(self, value: int) -> None:
        self.number(value, self.count_bytes)

    def padded(self, raw: bytes) -> None:
        self.raw += raw.ljust(_padded(len(raw)), b"\0")

    def list_length(self, tag: int, entries: int) -> None:
        self.number(tag if entries else 0, 4)
        self.count(entries)

    def name(self, name: str) -> None:
        normal = unicodedata.normalize("NFC", name)
        raw = normal.encode("utf-8", "replace")
        if not _NAME.fullmatch(normal) or len(raw) > NAME_BYTES_MAX:
            raise ArgumentError(
                f"netCDF allows no name {name!r}: it must begin with a letter, a digit or _, have no / or control "
                f"characters, no blank at its end, and at most {NAME_BYTES_MAX} bytes"
            )
        self.count(len(raw))
        self.padded(raw)

    def type_of(self, dtype: np.dtype[Any]) -> int:
        for code, stored in _TYPES.items():
            if stored == dtype.newbyteorder(">") and code <= _last_type(self.version):
                return code
        names = ", ".join(t.name if t.kind != "S" else "S1" for c, t in _TYPES.items() if c <= _last_type(self.version))
        raise ArgumentError(f"netCDF classic (CDF-{self.version}) cannot store dtype {dtype}; it stores {names}")

    def attribute(self, name: str, value: Any) -> None:
        self.name(name)
        if isinstance(value, str | bytes):
            raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
            values = np.frombuffer(raw, "S1")
        else:
            values = np.atleast_1d(np.asarray(value))
            narrow = values.astype("i4") if values.dtype.kind in "iu" else values
            if values.dtype == np.int64 and self.version != 5 and np.array_equal(narrow, values):
                values = narrow  # Python's integers, in the widest type there is
        if values.ndim != 1:
            raise ArgumentError(f"attribute {name} must be text, a number or a list of numbers, not {value!r}")
        code = self.type_of(values.dtype)
        self.number(code, 4)
        self.count(len(values))
        self.padded(values.astype(_TYPES[code]).tobytes())


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

    out = _Writer(version)
    out.count(0)  # records
    out.list_length(_DIMENSION, len(names))
    for name, length in zip(names, new.shape, strict=True):
        out.name(name)
        out.count(length)
    out.list_length(_ATTRIBUTE, 0)
    out.list_length(_VARIABLE, 1)
    out.name(new.name)
    out.count(len(names))
    for i in range(len(names)):
        out.count(i)
    out.list_length(_ATTRIBUTE, len(attributes))
    for name, value in attributes.items():
        out.attribute(name, value)
    out.number(out.type_of(new.dtype), 4)
    slab_bytes = math.prod(n for n in new.shape if n) * new.dtype.itemsize  # length 0 is the record dimension
    vsize_max = 2**64 - 4 if version == 5 else 2**32 - 1  # which stands for "too large to say"
    out.count(min(_padded(slab_bytes), vsize_max))
    begin = -(-(len(out.raw) + _begin_bytes(version)) // DATA_ALIGN) * DATA_ALIGN
    out.number(begin, _begin_bytes(version))
    return bytes(out.raw.ljust(begin, b"\0"))


def _count_bytes(version: int) -> int:
    return 8 if version == 5 else 4


def _begin_bytes(version: int) -> int:
    return 4 if version == 1 else 8


def _last_type(version: int) -> int:
    return 11 if version == 5 else 6


def _padded(nbytes: int) -> int:
    return -(-nbytes // 4) * 4


def _read(path: str) -> _File:
    records, record_bytes, found = _core.netcdf_classic_variables(path)
    variables = {}
    for name, dimensions, shape, stored, code, *place in found:
        attributes = {key: _value(of_type, raw) for key, of_type, raw in stored}
        variables[name] = _Variable(name, tuple(dimensions), tuple(shape), attributes, _TYPES[code], *place)
    return _File(variables, records, record_bytes)


def _value(code: int, raw: bytes) -> Any:
    """Return the value of an attribute, as plain Python."""
    dtype = _TYPES[code]
    return text(raw) if dtype.kind == "S" else plain(np.frombuffer(raw, dtype))


def _layout(path: str, file: _File, variable: _Variable) -> StridedLayout:
    shape = variable.shape
    strides = stored_strides(f"{path}:{variable.name}", shape, variable.dtype.itemsize, range(len(shape)))
    if variable.is_record:
        strides = (file.record_bytes, *strides[1:])
    return StridedLayout(variable.begin, strides)


def _summaries(path: str, file: _File) -> list[Summary]:
    named = describes_others(v.attributes for v in file.variables.values())
    found = []
    for v in file.variables.values():
        words = f"C order from byte {v.begin}"
        if v.is_record:
            words = f"records: {v.slab_bytes} bytes every {file.record_bytes} from byte {v.begin}"
        coordinate = v.dimensions == (v.name,) or v.name in named or v.dtype.kind == "S"
        found.append(Summary(v.name, v.shape, str(v.dtype), v.dimensions, words, v.attributes, coordinate))
    return found

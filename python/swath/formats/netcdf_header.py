"""The header of a netCDF classic file as data, and its bytes: CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit sizes).

Pure: no file is touched. The core takes headers apart (core/formats/netcdf_classic.h, where the grammar is); here they
are put together.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from swath.errors import ArgumentError
from swath.formats.contents import Attributes, Dimension
from swath.formats.description import text

FLAVOURS = {"cdf1": 1, "cdf2": 2, "cdf5": 5}
"""The versions by the names that `format` gives them."""

NAME_BYTES_MAX = 256
"""NC_MAX_NAME of netcdf.h."""

_NAME = re.compile(r"[A-Za-z0-9_\x80-\U0010ffff]([^\x00-\x1f/\x7f]*[^\x00-\x20/\x7f])?")

_DIMENSION, _VARIABLE, _ATTRIBUTE = 10, 11, 12
TYPES: dict[int, np.dtype[Any]] = {
    code: np.dtype(name)
    for code, name in enumerate(("i1", "S1", ">i2", ">i4", ">f4", ">f8", "u1", ">u2", ">u4", ">i8", ">u8"), start=1)
}
"""By the numbers that files use."""


@dataclass(frozen=True)
class StoredAttribute:
    """An attribute as a file has it: `raw` are the big-endian values, without padding."""

    name: str
    code: int
    raw: bytes

    @property
    def value(self) -> Any:
        """As `Contents` has it: text, a NumPy scalar, or an array of native byte order."""
        dtype = TYPES[self.code]
        if dtype.kind == "S":
            return text(self.raw)
        values = np.frombuffer(self.raw, dtype).astype(dtype.newbyteorder("="))
        return values[0] if len(values) == 1 else values


@dataclass(frozen=True)
class HeaderVariable:
    """A variable as a header has it.

    Attributes:
        name: of the variable.
        dimensions: indices into the dimensions of the header.
        attributes: in their order.
        code: its type, a key of `TYPES`.
        begin: the byte where its data, or those of its first record, begin.
        is_record: whether its first dimension is the record dimension.
        slab_bytes: of one record, or of the whole variable; without padding.
    """

    name: str
    dimensions: tuple[int, ...]
    attributes: tuple[StoredAttribute, ...]
    code: int
    begin: int
    is_record: bool
    slab_bytes: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its elements, as stored."""
        return TYPES[self.code]

    @property
    def end(self) -> int:
        """The byte behind its data, or behind those of its first record, with their padding."""
        return self.begin + padded(self.slab_bytes)


@dataclass(frozen=True)
class Header:
    """What a file says of itself; the length of the record dimension is 0 in `dimensions`, and `records` really."""

    version: int
    records: int = 0
    dimensions: tuple[Dimension, ...] = ()
    attributes: tuple[StoredAttribute, ...] = ()
    variables: tuple[HeaderVariable, ...] = ()

    @functools.cached_property
    def record_bytes(self) -> int:
        """From one record to the next; 0 where no variable has records. Those of a single variable are not padded."""
        slabs = [v.slab_bytes for v in self.variables if v.is_record]
        return slabs[0] if len(slabs) == 1 else sum(map(padded, slabs))

    @property
    def numrecs_bytes(self) -> int:
        """Of the number of records, which stands behind the first 4 bytes, and of all counts."""
        return count_bytes(self.version)

    def dimension(self, name: str) -> Dimension | None:
        """Return the dimension of that name as it really is, records counted; None where there is none."""
        return next((self.counted(d) for d in self.dimensions if d.name == name), None)

    def dimensions_of(self, variable: HeaderVariable) -> tuple[Dimension, ...]:
        """Return the dimensions of a variable as they really are, records counted."""
        return tuple(self.counted(self.dimensions[i]) for i in variable.dimensions)

    def stored_end(self, variable: HeaderVariable) -> int:
        """Return the byte behind the data of a variable, without padding; 0 where it has none yet."""
        if not variable.is_record:
            return variable.begin + variable.slab_bytes
        last = variable.begin + (self.records - 1) * self.record_bytes
        return last + variable.slab_bytes if self.records else 0

    def to_bytes(self) -> bytes:
        """Return the header as it stands in a file, from its first byte on."""
        return self._bytes

    @functools.cached_property
    def _bytes(self) -> bytes:
        out = _Writer(self.version)
        out.count(self.records)
        out.list_length(_DIMENSION, len(self.dimensions))
        for dimension in self.dimensions:
            out.name(dimension.name)
            out.count(0 if dimension.is_unlimited else dimension.length)
        out.attributes(self.attributes)
        out.list_length(_VARIABLE, len(self.variables))
        for variable in self.variables:
            out.variable(variable)
        return bytes(out.raw)

    def counted(self, dimension: Dimension) -> Dimension:
        """Return one of `dimensions` as it really is: with the number of records where that is its length."""
        return dataclasses.replace(dimension, length=self.records) if dimension.is_unlimited else dimension


class _Writer:
    """Puts a header together, field by field: what the core takes apart."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.raw = bytearray(b"CDF" + bytes([version]))

    def number(self, value: int, nbytes: int) -> None:
        self.raw += value.to_bytes(nbytes, "big")

    def count(self, value: int) -> None:
        self.number(value, count_bytes(self.version))

    def padded(self, raw: bytes) -> None:
        self.raw += raw.ljust(padded(len(raw)), b"\0")

    def list_length(self, tag: int, entries: int) -> None:
        self.number(tag if entries else 0, 4)
        self.count(entries)

    def name(self, name: str) -> None:
        raw = name.encode()
        self.count(len(raw))
        self.padded(raw)

    def attributes(self, attributes: Iterable[StoredAttribute]) -> None:
        stored = tuple(attributes)
        self.list_length(_ATTRIBUTE, len(stored))
        for attribute in stored:
            self.name(attribute.name)
            self.number(attribute.code, 4)
            self.count(len(attribute.raw) // TYPES[attribute.code].itemsize)
            self.padded(attribute.raw)

    def variable(self, variable: HeaderVariable) -> None:
        self.name(variable.name)
        self.count(len(variable.dimensions))
        for index in variable.dimensions:
            self.count(index)
        self.attributes(variable.attributes)
        self.number(variable.code, 4)
        vsize_max = 2**64 - 4 if self.version == 5 else 2**32 - 1  # which stands for "too large to say"
        self.count(min(padded(variable.slab_bytes), vsize_max))
        self.number(variable.begin, begin_bytes(self.version))


def padded(nbytes: int) -> int:
    """Return `nbytes` with the padding to a multiple of 4 that data, names and attributes have."""
    return -(-nbytes // 4) * 4


def count_bytes(version: int) -> int:
    """Return how many bytes a count or a length takes."""
    return 8 if version == 5 else 4


def begin_bytes(version: int) -> int:
    """Return how many bytes an offset takes."""
    return 4 if version == 1 else 8


def values_of(attributes: Iterable[StoredAttribute]) -> Attributes:
    """Return the attributes by name; of two with one name the first, as netCDF's library finds it."""
    found: Attributes = {}
    for attribute in attributes:
        found.setdefault(attribute.name, attribute.value)
    return found


def checked_name(name: str) -> str:
    """Return the name as a file may have it, in Unicode's form NFC; ArgumentError for what netCDF allows no name."""
    normal = unicodedata.normalize("NFC", name)
    raw = encoded("name", normal)
    if not _NAME.fullmatch(normal) or len(raw) > NAME_BYTES_MAX:
        raise ArgumentError(
            f"netCDF allows no name {name!r}: it must begin with a letter, a digit or _, have no / or control "
            f"characters, no blank at its end, and at most {NAME_BYTES_MAX} bytes"
        )
    return raw.decode()


def encoded(what: str, given: str) -> bytes:
    """Return text as a file has it; ArgumentError for halves of surrogate pairs, which are no text."""
    try:
        return given.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{what} {given!r} cannot be stored as UTF-8: {error.reason}; expected text") from None


def type_code(dtype: np.dtype[Any], version: int) -> int:
    """Return the number that stands for `dtype`, in either byte order; ArgumentError where the version has none."""
    last = 11 if version == 5 else 6
    for code, stored in TYPES.items():
        if stored == dtype.newbyteorder(">") and code <= last:
            return code
    names = ", ".join(t.name if t.kind != "S" else "S1" for c, t in TYPES.items() if c <= last)
    raise ArgumentError(f"netCDF classic (CDF-{version}) cannot store dtype {dtype}; it stores {names}")


def stored_attribute(name: str, value: Any, version: int) -> StoredAttribute:
    """Return an attribute as the version stores it. Its type is kept; int64, Python's type, fits CDF-1 and -2 as int32.

    Raises ArgumentError for a name or a value that it cannot store.
    """
    name = checked_name(name)
    if isinstance(value, str | bytes):
        return StoredAttribute(name, 2, encoded(f"attribute {name}:", value) if isinstance(value, str) else value)
    try:
        values = np.atleast_1d(np.asarray(value))
    except ValueError:
        values = np.empty((0, 0))  # lists of different lengths
    if values.dtype.kind in "UO" or (values.dtype.kind == "S" and values.dtype.itemsize > 1):
        raise ArgumentError(
            f"attribute {name}: netCDF classic stores one text or numbers, not {value!r}; join texts to one, or choose "
            "netCDF-4 or HDF5"
        )
    if values.ndim != 1:
        raise ArgumentError(f"attribute {name} must be text, a number or a list of numbers, not {value!r}")
    try:
        code = type_code(_narrowed(values, version).dtype, version)
    except ArgumentError as error:
        raise ArgumentError(f"attribute {name}: {error}") from None
    return StoredAttribute(name, code, values.astype(TYPES[code]).tobytes())


def _narrowed(values: np.ndarray[Any, Any], version: int) -> np.ndarray[Any, Any]:
    """Return int64 values as int32 where the version has no int64 and they fit."""
    if version == 5 or values.dtype.kind != "i" or values.dtype.itemsize != np.dtype("i8").itemsize:
        return values
    narrow = values.astype("i4")
    return narrow if np.array_equal(narrow, values) else values

"""netCDF classic files: CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit sizes and more types).

netCDF's library tells no offsets, so this module reads (and writes) the header itself, after the grammar of the
"NetCDF classic format specification" (netCDF Users Guide, appendix B) and of PnetCDF's CDF-5. All is big-endian.

    header  = "CDF" version  numrecs  dimensions  attributes  variables
    list    = tag (4 bytes) count entry…         (tag 0 and count 0 when absent)
    name    = count bytes…                       (like every run of small values, padded to 4 bytes)
    variable = name  count dimension-index…  attributes  type  vsize  begin

Counts and sizes take 4 bytes, in CDF-5 8; `begin` takes 4 in CDF-1, else 8. A variable whose first dimension is the
record dimension (length 0) is cut into records: record r of all these variables stands together, at
`begin + r * record size`, and each variable's part of a record is padded to 4 bytes, unless there is only one such
variable. `vsize` is not trusted but computed, because it cannot hold large sizes.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from swath.errors import ArgumentError, FormatError
from swath.formats.choose import choose, describes_others
from swath.formats.description import (
    OFFSET_LIMIT,
    Description,
    NewArray,
    StridedLayout,
    Summary,
    plain,
    refuse_chunks,
    stored_strides,
    text,
)
from swath.formats.files import extend, fresh, opened, whole

FLAVOURS = {"cdf1": 1, "cdf2": 2, "cdf5": 5}
"""The versions by the names that `format` gives them."""

DATA_ALIGN = 4096
"""Where data begin in new files: whole pages are transferred, and there is room for attributes to come."""

NAME_BYTES_MAX = 256
"""NC_MAX_NAME of netcdf.h."""

_NAME = re.compile(r"[A-Za-z0-9_\x80-\U0010ffff]([^\x00-\x1f/\x7f]*[^\x00-\x20/\x7f])?")

FIELD_BYTES_MAX = 2**26
"""The largest name or attribute that is read: a lie in a large file must not take its size in memory."""

DIMENSIONS_MAX = 1024
"""Of one variable: NC_MAX_VAR_DIMS of netcdf.h."""

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
    dimensions: tuple[int, ...]  # indices into the file's dimensions
    attributes: dict[str, Any]
    type: int
    begin: int
    is_record: bool
    slab_bytes: int  # of one record, or of the whole variable; without padding

    @property
    def dtype(self) -> np.dtype[Any]:
        return _TYPES[self.type]

    @property
    def padded_bytes(self) -> int:
        return _padded(self.slab_bytes)


@dataclass(frozen=True)
class _File:
    dimensions: list[tuple[str, int]]  # length 0 is the record dimension
    attributes: dict[str, Any]
    variables: dict[str, _Variable]
    records: int
    record_bytes: int

    def shape(self, variable: _Variable) -> tuple[int, ...]:
        lengths = tuple(self.dimensions[d][1] for d in variable.dimensions)
        return (self.records, *lengths[1:]) if variable.is_record else lengths


class _Reader:
    """Takes a header apart field by field; every claim is checked against the bytes that are left."""

    def __init__(self, file: BinaryIO, path: str, size: int) -> None:
        self.file, self.path, self.size = file, path, size
        self.at = 0
        self.field_at = 0  # where the field began that was taken last
        version = self.take(4, "the magic number")[3]
        if version not in (1, 2, 5):
            raise self.wrong(f"version {version} of netCDF classic is unknown; expected 1, 2 or 5")
        self.count_bytes = _count_bytes(version)
        self.begin_bytes = _begin_bytes(version)
        self.last_type = _last_type(version)

    def wrong(self, what: str) -> FormatError:
        return FormatError(f"{self.path}: netCDF header at byte {self.field_at}: {what}")

    def take(self, nbytes: int, field: str) -> bytes:
        self.field_at = self.at
        if nbytes > FIELD_BYTES_MAX:
            raise self.wrong(f"{field} takes {nbytes} bytes; no header needs more than {FIELD_BYTES_MAX} for one")
        if nbytes > self.size - self.at:
            raise self.wrong(
                f"{field} takes {nbytes} bytes, but the file ends after {self.size - self.at} more: "
                "it is truncated or the header is damaged"
            )
        raw = self.file.read(nbytes)
        if len(raw) < nbytes:
            raise self.wrong(f"{field} takes {nbytes} bytes, {len(raw)} could be read: the file shrank meanwhile")
        self.at += nbytes
        return raw

    def number(self, nbytes: int, field: str) -> int:
        return int.from_bytes(self.take(nbytes, field), "big")

    def count(self, field: str, entry_bytes: int) -> int:
        """A number of entries, each of at least `entry_bytes`, that the rest of the file can hold."""
        n = self.number(self.count_bytes, field)
        if n * entry_bytes > self.size - self.at:
            raise self.wrong(f"{field} is {n}, which needs {n * entry_bytes} bytes; {self.size - self.at} are left")
        return n

    def name(self, of: str) -> str:
        length = self.count(f"the length of the name of {of}", 1)
        if length == 0:
            raise self.wrong(f"the name of {of} is empty")
        raw = self.take(_padded(length), f"the name of {of}")[:length]
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise self.wrong(f"the name of {of} is not UTF-8: {raw[:40]!r}") from None

    def list_length(self, tag: int, of: str, entry_bytes: int) -> int:
        found = self.number(4, f"the tag of the {of}")
        if found not in (0, tag):
            raise self.wrong(f"the tag of the {of} is {found}; expected {tag}, or 0 for none")
        n = self.count(f"the number of {of}", entry_bytes)
        if found == 0 and n != 0:
            raise self.wrong(f"{n} {of} follow a tag that says there are none")
        return n

    def type(self, of: str) -> int:
        code = self.number(4, f"the type of {of}")
        if not 1 <= code <= self.last_type:
            raise self.wrong(f"the type of {of} is {code}; expected 1 to {self.last_type}")
        return code

    def dimensions(self) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        for i in range(self.list_length(_DIMENSION, "dimensions", 2 * self.count_bytes + 4)):
            name = self.name(f"dimension {i}")
            length = self.number(self.count_bytes, f"the length of dimension {name}")
            if length == 0 and any(other == 0 for _, other in found):
                raise self.wrong(f"dimension {name} has length 0, but there is a record dimension already")
            found.append((name, length))
        return found

    def attributes(self, of: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for i in range(self.list_length(_ATTRIBUTE, f"attributes of {of}", 2 * self.count_bytes + 8)):
            name = self.name(f"attribute {i} of {of}")
            code = self.type(f"attribute {name} of {of}")
            dtype = _TYPES[code]
            n = self.count(f"the length of attribute {name} of {of}", dtype.itemsize)
            raw = self.take(_padded(n * dtype.itemsize), f"the value of attribute {name} of {of}")[: n * dtype.itemsize]
            found[name] = text(raw) if code == 2 else plain(np.frombuffer(raw, dtype))
        return found

    def variable(self, i: int, dimensions: Sequence[tuple[str, int]]) -> _Variable:
        name = self.name(f"variable {i}")
        ids: list[int] = []
        ndim = self.count(f"the number of dimensions of {name}", self.count_bytes)
        if ndim > DIMENSIONS_MAX:
            raise self.wrong(f"variable {name} has {ndim} dimensions; netCDF allows {DIMENSIONS_MAX}")
        for _ in range(ndim):
            ids.append(self.number(self.count_bytes, f"a dimension of {name}"))
            if ids[-1] >= len(dimensions):
                raise self.wrong(f"variable {name} has dimension {ids[-1]}; the file has only {len(dimensions)}")
        lengths = [dimensions[d][1] for d in ids]
        if 0 in lengths[1:]:
            raise self.wrong(f"variable {name} has the record dimension at a place other than the first")
        attributes = self.attributes(name)
        code = self.type(name)
        self.take(self.count_bytes, f"vsize of {name}")
        begin = self.number(self.begin_bytes, f"the begin of {name}")
        is_record = lengths[:1] == [0]
        slab_bytes = math.prod(lengths[is_record:]) * _TYPES[code].itemsize
        if slab_bytes >= OFFSET_LIMIT:
            raise self.wrong(f"variable {name} of shape {tuple(lengths)} is beyond 64-bit offsets")
        return _Variable(name, tuple(ids), attributes, code, begin, is_record, slab_bytes)

    def variables(self, dimensions: Sequence[tuple[str, int]]) -> dict[str, _Variable]:
        found: dict[str, _Variable] = {}
        for i in range(self.list_length(_VARIABLE, "variables", 3 * self.count_bytes + 16 + self.begin_bytes)):
            variable = self.variable(i, dimensions)
            if variable.name in found:
                raise self.wrong(f"there are two variables {variable.name}")
            found[variable.name] = variable
        for variable in found.values():
            if variable.begin < self.at:
                raise self.wrong(f"data of {variable.name} begin at byte {variable.begin}, inside the header")
        return found


def matches(file: BinaryIO, size: int) -> bool:
    """Whether the file begins as one of the three versions does."""
    del size
    return file.read(4) in (b"CDF\1", b"CDF\2", b"CDF\5")


def describe(path: str, variable: str | None = None) -> Description:
    """One variable of a netCDF classic file; None stands for the only one that holds data of its own.

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
    shape = file.shape(chosen)
    return whole(
        Description(path, "netcdf-classic", chosen.name, shape, chosen.dtype, layout, fill, chosen.attributes, end)
    )


def variables(path: str) -> list[Summary]:
    """Every variable of the file, in its order."""
    return _summaries(path, _read(path))


def create(path: str, new: NewArray) -> Description:
    """A file with one variable, all its bytes holes; CDF-5 unless `new.flavour` says otherwise.

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
    """Puts a header together, field by field; the mirror image of _Reader."""

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
    """The header of a file that holds just `new`, up to where its data begin."""
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
    with opened(path) as (stream, size):
        reader = _Reader(stream, path, size)
        width = reader.count_bytes
        records = reader.number(width, "the number of records")
        dimensions = reader.dimensions()
        attributes = reader.attributes("the file")
        found = reader.variables(dimensions)
    in_records = [v for v in found.values() if v.is_record]
    record_bytes = in_records[0].slab_bytes if len(in_records) == 1 else sum(v.padded_bytes for v in in_records)
    if records == 256**width - 1:  # "streaming": the writer could not go back to say how many
        records = _records_in(size, in_records, record_bytes)
    if max(records, 1) * record_bytes >= OFFSET_LIMIT:
        raise FormatError(f"{path}: netCDF header at byte 4: {records} records of {record_bytes} bytes are too many")
    file = _File(dimensions, attributes, found, records, record_bytes)
    _check_apart(path, file)
    return file


def _records_in(size: int, in_records: Sequence[_Variable], record_bytes: int) -> int:
    """How many records a file of `size` bytes holds; the last one counts even without its padding."""
    if record_bytes == 0:
        return 0
    last_end = max(v.begin + v.slab_bytes for v in in_records)
    return max(0, (size - last_end) // record_bytes + 1)


def _check_apart(path: str, file: _File) -> None:
    """Raise FormatError where two variables claim the same bytes, so that writing one would damage the other."""
    fixed = [(v.begin, v.begin + v.slab_bytes, v.name) for v in file.variables.values() if not v.is_record]
    record = [(v.begin, v.begin + v.slab_bytes, v.name) for v in file.variables.values() if v.is_record]
    claims = sorted(c for c in fixed + (record if file.records else []) if c[1] > c[0])
    for (_, end, one), (begin, _, other) in itertools.pairwise(claims):
        if begin < end:
            raise FormatError(f"{path}: netCDF header places {one} up to byte {end}, and {other} from {begin} on")
    if file.records > 1:
        begin = min(b for b, _, _ in record) if record else 0
        beyond = [n for b, e, n in claims if b >= begin and e > begin + file.record_bytes]
        if record and beyond:
            raise FormatError(
                f"{path}: netCDF header places {beyond[0]} across the records, which are {file.record_bytes} bytes "
                f"each from byte {begin} on"
            )


def _layout(path: str, file: _File, variable: _Variable) -> StridedLayout:
    shape = file.shape(variable)
    strides = stored_strides(f"{path}:{variable.name}", shape, variable.dtype.itemsize, range(len(shape)))
    if variable.is_record:
        strides = (file.record_bytes, *strides[1:])
    return StridedLayout(variable.begin, strides)


def _summaries(path: str, file: _File) -> list[Summary]:
    named = describes_others(v.attributes for v in file.variables.values())
    found = []
    for v in file.variables.values():
        dimensions = tuple(file.dimensions[d][0] for d in v.dimensions)
        words = f"C order from byte {v.begin}"
        if v.is_record:
            words = f"records: {v.slab_bytes} bytes every {file.record_bytes} from byte {v.begin}"
        coordinate = dimensions == (v.name,) or v.name in named or v.type == 2
        found.append(Summary(v.name, file.shape(v), str(v.dtype), dimensions, words, v.attributes, coordinate))
    return found

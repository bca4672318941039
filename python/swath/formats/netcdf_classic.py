"""netCDF classic files: CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit sizes and more types).

The core reads the header (core/formats/netcdf_classic.h, where its grammar is). Here a variable is chosen and its
attributes become Python's; and files are made, and changed: what a header becomes is worked out in netcdf_define.py,
what data must move for it is moved in netcdf_move.py.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from swath import _core
from swath.errors import ArgumentError, UnsupportedError
from swath.formats import files
from swath.formats.choose import choose, describes_others
from swath.formats.contents import Attributes, Contents, Dimension, Group, Variable
from swath.formats.description import (
    DIMENSIONS_MAX,
    Description,
    NewArray,
    StridedLayout,
    plain,
    refuse_chunks,
    stored_strides,
)
from swath.formats.files import clear, fresh, store_errors, whole, write_all
from swath.formats.netcdf_define import (
    Move,
    check_records,
    file_end,
    is_in_order,
    moves,
    placed,
    with_attributes,
    with_variable,
)
from swath.formats.netcdf_fills import NETCDF_FILLS
from swath.formats.netcdf_header import FLAVOURS, Header, HeaderVariable, StoredAttribute, checked_name, values_of
from swath.formats.netcdf_move import copy_moved, move_in_place
from swath.formats.netcdf_whole import WholeHeader
from swath.formats.new_file import NewFile

if TYPE_CHECKING:
    from swath.formats.changes import Changes

__all__ = [
    "FLAVOURS",
    "add",
    "contents",
    "create",
    "create_file",
    "describe",
    "describe_many",
    "extend",
    "matches",
    "refusals",
    "set_attributes",
    "set_length",
    "start",
]

NUMRECS_AT = 4
"""The byte of the number of records."""


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
    return whole(_described(path, header, _chosen(path, header, variable)))


def describe_many(path: str, variables: Sequence[str]) -> list[Description]:
    """Return several variables, the header read once. Raises as `describe` does."""
    header = _read(path)
    return [whole(_described(path, header, _chosen(path, header, name))) for name in variables]


def contents(path: str) -> Contents:
    """Return what the file holds. Raises FormatError, with the byte and the field, for a header that cannot be true."""
    header = _read(path)
    dimensions_by_name = {d.name: d for d in map(header.counted, header.dimensions)}
    groups = {"": Group("", values_of(header.attributes), dimensions_by_name)}
    return Contents("netcdf-classic", f"CDF-{header.version}", groups, _variables(header))


def start(path: str, flavour: str | None) -> None:
    """Make a file without variables: CDF-5, or what `flavour` says. Raises ExistsError where the name is taken."""
    with fresh(path), open(path, "r+b") as file:
        file.write(Header(FLAVOURS[flavour or "cdf5"]).to_bytes())


def create(path: str, new: NewArray) -> Description:
    """Create a file with one variable, all its bytes holes; CDF-5 unless `new.flavour` says otherwise.

    The header is written here: netCDF's library goes through "redefine" for each attribute of a classic file, which
    moves all the data behind a growing header. Raises ArgumentError for what the version cannot store.
    """
    header = _with_variable(Header(FLAVOURS[new.flavour or "cdf5"]), new)
    with fresh(path):
        with open(path, "r+b") as file:
            file.write(header.to_bytes())
        files.extend(path, file_end(header))
        return describe(path, checked_name(new.name))


def refusals(new: NewFile) -> list[str]:
    """Return, in words, what the version cannot hold of a new file."""
    return WholeHeader(new).refusals


def create_file(path: str, new: NewFile) -> None:
    """Create a file with all its variables, whose bytes are holes. Raises ArgumentError for what it cannot hold."""
    whole_header = WholeHeader(new)
    if whole_header.refusals:
        raise ArgumentError("; ".join(whole_header.refusals))
    with fresh(path):
        with open(path, "r+b") as file:
            file.write(whole_header.header.to_bytes())
        files.extend(path, file_end(whole_header.header))


def add(changes: Changes, new: NewArray) -> Description:
    """Add a variable to a file, with the dimensions that it does not have yet; returns where the variable is.

    Values are stored big-endian whatever byte order is asked for. `new.fill` becomes the attribute _FillValue. All
    bytes of the variable are zeros: the caller fills it, and where the file has records, those that are there already.

    Whatever was described before may have moved: describe it again. Data move in place where the file has no name yet;
    else the new file is written aside and takes the name, so that whoever has the old one open must open it again. A
    move commits `changes`, before and after: it cannot be taken back.

    Raises ArgumentError for what the version cannot store, and for dimensions that do not fit those of the file.
    """
    old = _read(changes.path)
    _store(changes, old, _with_variable(old, new))
    return describe(changes.path, checked_name(new.name))


def set_attributes(changes: Changes, holder: str, attributes: Attributes) -> None:
    """Add attributes, replace those that are there, and remove those whose value is None.

    `holder` is "" for the file, else a variable. Where the header has no room for them data move, as `add` says.
    Raises ArgumentError for what the version cannot store.
    """
    path = changes.path
    old = _read(path)
    name = _chosen(path, old, holder).name if holder.strip("/") else ""
    _store(changes, old, placed(with_attributes(old, name, attributes)))


def extend(changes: Changes, variable: str, rows: int, *, is_written: bool = False) -> Description:
    """Return where `rows` records of a variable are, or will be; the file is not touched.

    Raises ArgumentError where the variable has no records or the version cannot tell of so many.
    """
    header = _read(changes.path)
    chosen = _chosen(changes.path, header, variable)
    if not chosen.is_record:
        raise ArgumentError(f"{changes.path}:{variable} does not grow: its first dimension is not unlimited")
    check_records(header, rows)
    return _described(changes.path, replace(header, records=rows), chosen)


def set_length(changes: Changes, dimension: str, rows: int) -> None:
    """Let the record dimension have so many records, for all variables that have it. The file becomes as long as that.

    Readers see the records from one small write on, which is not kept to be taken back. Raises ArgumentError for
    another dimension, for fewer records than there are, and for more than the version can tell of.
    """
    path = changes.path
    header = _read(path)
    found = header.dimension(dimension.strip("/"))
    if found is None or not found.is_unlimited:
        names = ", ".join(d.name for d in header.dimensions if d.is_unlimited) or "none"
        raise ArgumentError(f"{path}: dimension {dimension} does not grow; the unlimited dimension is {names}")
    if rows < header.records:
        raise ArgumentError(f"{path}: dimension {dimension} has {header.records} records; it cannot shrink to {rows}")
    check_records(header, rows)
    _check_whole(path, header)
    longer = replace(header, records=rows)
    files.extend(path, file_end(longer))
    with _opened_to_change(path) as descriptor:
        os.pwrite(descriptor, rows.to_bytes(header.numrecs_bytes, "big"), NUMRECS_AT)


def _with_variable(header: Header, new: NewArray) -> Header:
    """Return the header with one more variable in its place."""
    new.needs_c_order("netCDF")
    refuse_chunks(new, "netCDF classic")
    return placed(with_variable(header, new))


def _store(changes: Changes, old: Header, new: Header) -> None:
    """Make a file with the header `old` one with the header `new`."""
    path = changes.path
    _check_whole(path, old)
    with _opened_to_change(path) as descriptor:
        parts = moves(old, new, os.fstat(descriptor).st_size)
        needed = [move for move in parts if move.is_needed]
        if (needed or len(old.variables) < len(new.variables)) and not is_in_order(old):
            raise UnsupportedError(
                f"{path}: its variables lie in an order that netCDF's library does not know, so that nothing can be "
                "added; copy it with swath.copy, or with the library that wrote it"
            )
        if needed and changes.is_durable:
            changes.commit()
            _store_aside(path, descriptor, new, parts)
            changes.commit()
        elif needed:
            try:
                move_in_place(descriptor, needed)
                _write_header(path, descriptor, old, new)
            except BaseException as error:
                changes.lose(error)
                raise
            changes.commit()
        else:
            mark = changes.mark()
            try:
                changes.keep(descriptor, 0, max(len(old.to_bytes()), len(new.to_bytes())))
                _write_header(path, descriptor, old, new)
            except BaseException:
                changes.undo(mark)
                raise


def _check_whole(path: str, header: Header) -> None:
    """Raise FormatError for a file that lacks data: it must not be made long enough by zeros."""
    last = max(header.variables, key=header.stored_end, default=None)
    if last is not None:
        whole(_described(path, header, last))


def _write_header(path: str, descriptor: int, old: Header, new: Header) -> None:
    """Write the new header over the old one, after making the file as long as it says, and what is new in it zeros."""
    for variable in new.variables[len(old.variables) :]:
        if not variable.is_record:
            clear(descriptor, variable.begin, variable.end)
    files.extend(path, file_end(new))
    write_all(descriptor, new.to_bytes().ljust(len(old.to_bytes()), b"\0"), 0)


def _store_aside(path: str, source: int, new: Header, parts: list[Move]) -> None:
    """Write the file anew, beside its name, and give it the name: a kill leaves the old one or the new one."""
    aside = _core.AtomicFile(path, True, True, False, "")
    flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR | os.O_CLOEXEC
    try:
        with store_errors(path, f"write it anew, as {aside.working_path}"):
            target = os.open(aside.working_path, flags, 0o600)
            try:
                copy_moved(source, target, parts)
                write_all(target, new.to_bytes(), 0)
                os.ftruncate(target, max(file_end(new), os.fstat(target).st_size))
                _keep_owner(source, target)
                os.fsync(target)
            finally:
                os.close(target)
        aside.complete()
    except BaseException:
        aside.remove()
        raise


def _keep_owner(source: int, target: int) -> None:
    """Give a file that replaces another its owner, as far as this user may, and who may do what with it."""
    status = os.fstat(source)
    with contextlib.suppress(OSError):
        os.fchown(target, status.st_uid, status.st_gid)
    os.fchmod(target, stat.S_IMODE(status.st_mode))


@contextlib.contextmanager
def _opened_to_change(path: str) -> Iterator[int]:
    with store_errors(path, "change"):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def _variables(header: Header) -> dict[str, Variable]:
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
    return found


def _chosen(path: str, header: Header, variable: str | None) -> HeaderVariable:
    by_name = {v.name: v for v in header.variables}
    wanted = (variable or "").strip("/")
    return by_name.get(wanted) or by_name[choose(path, _variables(header).values(), variable)]


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
        end=header.stored_end(variable),
        dimensions=tuple(d.name for d in dimensions),
        unlimited=tuple(d.is_unlimited for d in dimensions) if variable.is_record else (),
    )


def _fill_of(dtype: np.dtype[Any], own: Any) -> bytes:
    """Return the fill value: `own`, the attribute, where it is a value of `dtype` (netCDF ignores others, too)."""
    fill = np.array(NETCDF_FILLS[dtype.str[1:]], dtype).tobytes()
    value = plain(own)
    if value is not None and not isinstance(value, list):
        with contextlib.suppress(OverflowError, ValueError):
            fill = np.array(value.encode() if isinstance(value, str) else value, dtype).tobytes()
    return fill

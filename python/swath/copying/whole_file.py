"""The request for the copy of a whole file: the target's file with all its contents, and what it cannot contain."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from swath import formats
from swath.array.open_array import Array
from swath.copying.by_name import NamedLayout, is_by_name, is_none
from swath.copying.chunking import Before, Into, chunked, chunks_of_text, order_of
from swath.copying.fills import FILL, fill_for, lost_fill, stated_fill
from swath.copying.request import CopyRequest, Part, TargetOptions, attributes_for, check_copied
from swath.copying.selection import selected
from swath.copying.sources import refuse_no_source
from swath.copying.target_dimensions import CHARACTERS_ONLY, TargetDimensions
from swath.copying.text_parts import TextPart, is_text
from swath.copying.texts import longest_bytes, refuse_zero_bytes
from swath.copying.unsupported import OF_HDF5, lost, without_excluded, without_refused
from swath.errors import ArgumentError, UnsupportedError
from swath.formats import (
    ChunkedLayout,
    CodedLayout,
    Contents,
    Description,
    NewArray,
    NewFile,
)
from swath.formats.contents import Attributes, Dimension, Group, Variable
from swath.formats.description import ChunkTable, checked_fill
from swath.formats.files import checked_path
from swath.formats.hdf5.objects import Objects, has_utf8_names
from swath.formats.hdf5.references import lost_references
from swath.formats.netcdf_fills import NETCDF_FILLS
from swath.formats.new_file import tried

ALWAYS_OF_ONE = ("dtype", "target_variable")
OF_ONE_ARRAY = ("axes", "order", "chunks", "shards", *ALWAYS_OF_ONE)
"""Options for one array only; the first four, if they are numbers."""
LIKE_ELEMENTS = ("missing_value", "valid_min", "valid_max", "valid_range", "actual_range", "flag_values", "flag_masks")
"""Attributes that have the type of the elements, by the conventions; Zarr stores them as JSON, without these types."""
DESCRIBED_AT_ONCE = 16
"""The number of variables whose tables of chunks are in memory together."""


def contents_to_copy(
    source: Any, target: Any, names: tuple[str, ...] | None, options: TargetOptions
) -> Contents | None:
    """Return the contents to copy as a file, all of the source or some variables; None if one array is meant.

    Raises ArgumentError if several arrays are meant, but an option is for one array.
    """
    several = names is not None and (len(names) > 1 or options.coordinates)
    if names is not None and not several:
        return None
    of_one = [name for name in OF_ONE_ARRAY if getattr(options, name) is not None]
    of_one = [name for name in of_one if not _is_of_every_array(name, options, several=several)]
    why = f"{of_one[0]}= " + ("is" if of_one[0] in ALWAYS_OF_ONE else "in numbers is") if of_one else ""
    contents = None
    if not why and not isinstance(source, Array):
        refuse_no_source(source, "copy")
        contents = formats.contents_of_many(source)
        if contents is None or "" in contents.variables:
            contents, why = None, "a source without names is"
        else:
            kind = format_of_target(contents, target, options)
            contents, why = (contents, "") if formats.holds_many(kind) else (None, f"a {kind} file is")
    if contents is not None:
        path = checked_path(source)
        return contents if names is None else selected(path, contents, names, coordinates=options.coordinates)
    if several:
        raise ArgumentError(
            f"copy {source}: several variables are to be copied, and {why or 'an open array is'} of one array: name "
            "one variable, or give names of dimensions where there are numbers"
        )
    return None


def _is_of_every_array(argument: str, options: TargetOptions, *, several: bool) -> bool:
    """Return whether an argument applies to every variable: names of dimensions, or "C" and "F"."""
    if argument in ALWAYS_OF_ONE:
        return False
    value = getattr(options, argument)
    if argument == "chunks" and is_none(value):
        return True
    others = several or any(is_by_name(getattr(options, name)) for name in OF_ONE_ARRAY)
    return is_by_name(value) or (value in ("C", "F") and others)


def format_of_target(contents: Contents, target: Any, options: TargetOptions) -> str:
    """Return the format of a whole file from the suffix; netCDF classic and Zarr keep the version of the source."""
    asked = formats.format_for(target, options.format)
    if options.format is not None:
        return asked
    if asked == contents.format == "netcdf-classic":
        return f"{asked}:{contents.version.lower().replace('-', '')}"
    if asked == contents.format == "zarr" and contents.version.endswith("2"):
        return "zarr:v2"
    return asked


def make_whole_request(
    source: Any, target: Any, contents: Contents, options: TargetOptions, *, by_library: bool = True
) -> CopyRequest:
    """Check the arguments for the copy of a file. Raises ArgumentError with all that the target cannot contain.

    Args:
        source: the file.
        target: see `swath.copy`.
        contents: the part of the file that is copied.
        options: the options for the target.
        by_library: whether HDF5's library may copy what only HDF5 has.
    """
    path, target_path = checked_path(source), checked_path(target)
    kind = format_of_target(contents, target, options)
    contents, excluded = without_excluded(path, contents, options.exclude)
    objects = _objects(path, contents, kind, excluded) if by_library else None
    names = TargetDimensions(contents, kind)
    into = Into(target_path, kind, names, _named_layout(path, contents, kind, options), options.codecs)
    found = _found(path, contents, objects, into)
    new = _new_file(contents, objects, into, found)
    if options.skip_unsupported:
        new = _without_what_is_refused(new, into, found)
    else:
        _refuse(path, into, found.refusals + _refusals(new, into, found))
    made = [dataclasses.replace(found.parts[one.name], new=one) for one in new.variables]
    left_out = [*found.left_out, *names.lost_labels, *names.left_out(made)]
    if objects is not None:
        objects, hidden = _without_hidden_links(objects, contents, new, into)
        objects, gone = _with_links_to(objects, contents, {one.name for one in new.variables})
        left_out += [*hidden, *gone]
        left_out += _lost_references(path, contents, new, objects)
    return CopyRequest(
        path,
        contents.format,
        target_path,
        kind,
        tuple(part for part in made if isinstance(part, Part)),
        new,
        tuple(dict.fromkeys(left_out)),
        texts=tuple(part for part in made if isinstance(part, TextPart)),
        objects=objects,
        excluded=excluded,
    )


@dataclasses.dataclass
class _Found:
    """The copies of the variables of a file.

    Attributes:
        parts: by their names in the target.
        refusals: descriptions of what cannot be copied.
        left_out: descriptions of what the target will not contain of the others.
    """

    parts: dict[str, Part | TextPart]
    refusals: list[str]
    left_out: list[str]

    @property
    def arrays(self) -> list[Part]:
        """Return the parts that Swath moves."""
        return [part for part in self.parts.values() if isinstance(part, Part)]


def _named_layout(path: str, contents: Contents, kind: str, options: TargetOptions) -> NamedLayout:
    """Return the options that use names of dimensions. Raises ArgumentError for missing names or impossible options."""
    layout = NamedLayout.of(axes=options.axes, order=options.order, chunks=options.chunks, shards=options.shards)
    layout.check(path, [variable.dimensions for variable in contents.variables.values()])
    _check_layout(kind, layout)
    return layout


def _found(path: str, contents: Contents, objects: Objects | None, into: Into) -> _Found:
    """Return how each variable is copied that HDF5's library does not copy, and what the target cannot contain."""
    takes_all = objects is not None and objects.is_all
    takes_attributes = objects is not None and objects.keeps_types
    refusals, left_out = ([], []) if takes_all else lost(contents, into.kind)
    found = _Found({}, refusals, left_out)
    for variable, described in _described(path, contents, objects):
        part, why = tried(variable.name, functools.partial(_part_of_either, described, variable, into))
        found.refusals += [refusal.replace(f"{path}:{variable.name}: ", "") for refusal in why]
        if part is not None and described is not None:
            found.parts[part.new.name] = _without_attributes(part) if takes_attributes else part
            lost_of = lost_fill(into.kind, described, described.dtype) + _lost_maxshape(into.kind, variable, part.new)
            found.left_out += [f"{variable.name}: {words}" for words in lost_of]
    return found


def _lost_maxshape(kind: str, variable: Variable, new: NewArray) -> tuple[str, ...]:
    """Return a description of a variable's limits of growth, if the target does not keep them."""
    if not variable.maxshape or new.maxshape:
        return ()
    shape = ", ".join("without end" if n is None else str(n) for n in variable.maxshape)
    why = "without chunks it cannot grow" if kind == "hdf5" else f"a {kind} file has no such end"
    return (f"it may grow to ({shape}) elements: {why}",)


def _new_file(contents: Contents, objects: Objects | None, into: Into, found: _Found) -> NewFile:
    groups = into.dimensions.groups(with_attributes=objects is None or not objects.keeps_types)
    in_order = tuple(found.parts[name].new for name in contents.variables if name in found.parts)
    return NewFile(into.kind.partition(":")[2] or None, groups, in_order)


def _refusals(new: NewFile, into: Into, found: _Found) -> list[str]:
    return into.dimensions.refusals(found.arrays) + formats.refusals(into.kind, new)


def _refuse(path: str, into: Into, refused: list[str]) -> None:
    """Raise ArgumentError with all that cannot be stored, if there is anything."""
    if refused:
        raise ArgumentError(
            f"copy {path} to {into.path}: a {into.kind} file cannot hold all of it, and nothing was written:"
            + "".join(f"\n  {refusal}" for refusal in refused)
            + "\nchoose another format (format=, --format), copy variables one by one (variable=, FILE:VARIABLE), "
            "leave some out by name (exclude=, --exclude), or all of these (skip_unsupported=True, --skip-unsupported)"
        )


def _without_what_is_refused(new: NewFile, into: Into, found: _Found) -> NewFile:
    """Return the file without what its format cannot store; `found.left_out` gets the descriptions."""
    if not found.refusals and not _refusals(new, into, found):
        return new
    uneven = into.dimensions.refusals(found.arrays)
    uneven_names = {words.partition(":")[0] for words in uneven}
    held = tuple(one for one in new.variables if one.name not in uneven_names)
    new, skipped = without_refused(into.kind, dataclasses.replace(new, variables=held))
    found.left_out += [*found.refusals, *uneven, *skipped]
    return new


def make_text_request(source: Description, target: Any, options: TargetOptions) -> CopyRequest:
    """Check the arguments for the copy of one array of text of variable length, which becomes the only one of a file.

    Raises ArgumentError, UnsupportedError for a format, or options, that do not fit such an array.
    """
    kind, target_path = formats.format_for(target, options.format), checked_path(target)
    if not formats.holds_many(kind) or any(getattr(options, name) is not None for name in OF_ONE_ARRAY[:-1]):
        check_copied(source)  # this error says what can be done
    name = options.target_variable or (source.variable or "data").rpartition("/")[2]
    grows = source.unlimited or (False,) * len(source.shape)
    known = zip(source.dimensions, source.shape, grows, strict=False)
    dimensions = {one: Dimension(one, length, may_grow) for one, length, may_grow in known if one}
    variable = Variable(name, source.shape, source.dtype, source.dimensions, source.attributes)
    contents = Contents(source.format, "", {"": Group("", {}, dimensions)}, {name: variable})
    names = TargetDimensions(contents, kind)
    part = _text_part(source, variable, Into(target_path, kind, names, NamedLayout(), options.codecs))
    attributes, left_out = attributes_for(kind, part.new.attributes)
    if FILL in part.new.attributes:
        attributes[FILL] = part.new.attributes[FILL]
    part = dataclasses.replace(part, new=dataclasses.replace(part.new, attributes=attributes))
    new = NewFile(kind.partition(":")[2] or None, names.groups(), (part.new,))
    refused = formats.refusals(kind, new)
    if refused:
        raise ArgumentError(f"copy {source.name} to {target_path}: a {kind} file cannot hold it: {'; '.join(refused)}")
    left_out += lost_fill(kind, source, source.dtype)
    return CopyRequest(source.path, source.format, target_path, kind, (), new, left_out, texts=(part,))


def _objects(path: str, contents: Contents, kind: str, excluded: tuple[str, ...]) -> Objects | None:
    """Return what HDF5's library copies unchanged from file to file; None if source or target is not HDF5.

    Also None if names change: the new file has in UTF-8 what was in Latin-1. A netCDF-4 file has rules of its own: it
    gets only links to variables of what is not netCDF-4.
    """
    if contents.format not in OF_HDF5 or kind not in OF_HDF5 or not has_utf8_names(path):
        return None
    is_all = kind == "hdf5" or contents.format == kind
    links = tuple(name for name, one in contents.variables.items() if one.same_as)
    own = {name: one for name, one in contents.variables.items() if not one.same_as}
    datasets = tuple(name for name, one in own.items() if one.unsupported or _is_of_users_type(one, kind))
    keeps_types = contents.format == kind
    return Objects(path, datasets if is_all else (), links, frozenset(excluded), is_all, keeps_types)


def _is_of_users_type(variable: Variable, kind: str) -> bool:
    """Return whether elements have a user-defined type of netCDF-4 that Swath cannot create."""
    dtype = variable.dtype
    return kind == "netcdf4" and dtype is not None and dtype.kind not in "SO" and dtype.str[1:] not in NETCDF_FILLS


def _with_links_to(objects: Objects, contents: Contents, made: set[str]) -> tuple[Objects, list[str]]:
    """Return the objects with links to targets that the new file has, and descriptions of the others."""
    there = made | set(objects.datasets)
    kept = tuple(name for name in objects.links if contents.variables[name].same_as in there)
    gone = [name for name in objects.links if name not in kept]
    words = [f"{name}: a link to {contents.variables[name].same_as}, which is left out" for name in gone]
    return dataclasses.replace(objects, links=kept, left_out=objects.left_out | set(gone)), words


def _without_hidden_links(objects: Objects, contents: Contents, new: NewFile, into: Into) -> tuple[Objects, list[str]]:
    """Return the objects without links that netCDF-4 does not allow, and descriptions of these.

    In netCDF-4, a variable has dimensions of its own group, or of one above. netCDF's library does not open a file in
    which a link leads to a variable of a group whose dimensions are not visible at the link.
    """
    if into.kind != "netcdf4":
        return objects, []
    along = {one.name: one.dimensions for one in new.variables}
    hidden = []
    for name in objects.links:
        to = contents.variables[name].same_as
        if not into.dimensions.is_seen_alike(name.rpartition("/")[0], to, along.get(to)):
            hidden.append(name)
    words = [
        f"{name}: a link to {contents.variables[name].same_as}, whose dimensions are not seen from the link's group"
        for name in hidden
    ]
    kept = tuple(name for name in objects.links if name not in hidden)
    return dataclasses.replace(objects, links=kept, left_out=objects.left_out | set(hidden)), words


def _lost_references(path: str, contents: Contents, new: NewFile, objects: Objects) -> list[str]:
    """Return descriptions of references that the target cannot have, because it lacks their targets."""
    if not objects.is_all:
        return []
    there = {one.name.strip("/") for one in new.variables} | {*objects.datasets, *objects.links}
    for name, group in contents.groups.items():
        there |= {name, *(f"{name}/{one}".strip("/") for one in group.dimensions)}
    there |= {name for name in contents.others if name not in objects.left_out}
    return lost_references(path, objects.datasets, there)


def _without_attributes(part: Part | TextPart) -> Part | TextPart:
    """Return a part without attributes, because they are copied unchanged from the source's file."""
    fill = {FILL: part.new.attributes[FILL]} if FILL in part.new.attributes else {}
    return dataclasses.replace(part, new=dataclasses.replace(part.new, attributes=fill, stated_fill=None))


def _check_layout(kind: str, layout: NamedLayout) -> None:
    """Raise ArgumentError for chunks and orders that no file of the format can have."""
    if layout.chunk and not formats.has_chunks(kind):
        raise ArgumentError(f"a {kind} file stores no chunks; leave out chunks=, or make .nc4, .h5 or .zarr")
    if layout.shard is not None and not formats.is_folder(kind):
        raise ArgumentError(f"a {kind} file stores no shards; leave out shards=, or make .zarr")


def _described(path: str, contents: Contents, objects: Objects | None) -> Iterator[tuple[Variable, Description | None]]:
    """Yield each variable, and its description without the table of its chunks; None if it cannot be read.

    Variables that are copied unchanged are left out.
    """
    taken = () if objects is None else (*objects.datasets, *objects.links)
    wanted = [variable for name, variable in contents.variables.items() if name not in taken]
    readable = [variable.name for variable in wanted if not variable.unsupported]
    for begin in range(0, len(readable), DESCRIBED_AT_ONCE):
        found = formats.describe_many(path, contents.format, readable[begin : begin + DESCRIBED_AT_ONCE])
        for one in found:
            yield contents.variables[one.variable or ""], _without_table(one)
    yield from ((variable, None) for variable in wanted if variable.unsupported)


def _part_of_either(source: Description | None, variable: Variable, into: Into) -> Part | TextPart:
    """Return how one variable is copied. Raises ArgumentError or UnsupportedError if it cannot be copied."""
    if source is None:
        raise UnsupportedError(f"it cannot be read: {variable.unsupported}")
    return _text_part(source, variable, into) if is_text(source) else _part(source, variable, into)


def _text_part(source: Description, variable: Variable, into: Into) -> TextPart:
    """Return how text of variable length is copied: as such, or as characters. Reads it if its length must be known."""
    kind, dimensions = into.kind, into.dimensions
    refuse_zero_bytes(source, kind)
    if into.layout.axes(variable.dimensions) != tuple(range(len(variable.dimensions))):
        raise UnsupportedError(
            "text of variable length keeps the order of its dimensions: leave out axes=, or exclude it"
        )
    named = dimensions.of(variable, source.unlimited)
    unlimited = dimensions.unlimited(variable, named, source.unlimited)
    order = tuple(range(len(source.shape)))
    new = NewArray(source.shape, source.dtype, order, None, variable.name, named, dict(variable.attributes), None)
    chunks = into.layout.chunks(named or (), source.shape, variable.chunks)
    new = dataclasses.replace(new, unlimited=unlimited, chunks=chunks_of_text(new, unlimited, chunks, kind))
    if kind == "hdf5" and new.chunks is not None:
        new = dataclasses.replace(new, maxshape=variable.maxshape)
    if kind.partition(":")[0] != "netcdf-classic":
        return TextPart(source, new, kind)
    attributes = {name: value for name, value in new.attributes.items() if name != FILL}
    as_texts = dataclasses.replace(new, dtype=np.dtype(f"S{longest_bytes(source)}"), attributes=attributes)
    return TextPart(source, _as_characters(as_texts, dimensions), kind)


def _part(source: Description, variable: Variable, into: Into) -> Part:
    """Return how one variable is copied. Raises ArgumentError or UnsupportedError if it cannot be copied."""
    kind, dimensions = into.kind, into.dimensions
    check_copied(source)
    named = dimensions.of(variable, source.unlimited)
    unlimited = dimensions.unlimited(variable, named, source.unlimited)
    fill, marks_fill = fill_for(kind, source, source.dtype)
    axes = into.layout.axes(variable.dimensions) if variable.dimensions else tuple(range(len(source.shape)))
    named = None if named is None else tuple(named[a] for a in axes)
    new = NewArray(
        shape=tuple(source.shape[a] for a in axes),
        dtype=source.dtype,
        order=order_of(source, kind, axes),
        fill=checked_fill(fill, source.dtype),
        variable=variable.name,
        dimensions=named,
        attributes=_attributes(variable, kind, source),
        flavour=None,
        unlimited=tuple(unlimited[a] for a in axes) if unlimited else (),
        marks_fill=marks_fill,
        stated_fill=stated_fill(kind, source, source.dtype),
        enumeration=variable.enumeration if kind in OF_HDF5 else None,
        maxshape=tuple(variable.maxshape[a] for a in axes) if variable.maxshape and kind == "hdf5" else (),
    )
    new = chunked(new, source, Before.of(source, variable, axes, kind), into)
    order = into.layout.order(new.dimensions or ())
    new = new if order is None else dataclasses.replace(new, order=order)
    is_text = source.dtype.kind == "S" and source.dtype.itemsize > 1 and kind.partition(":")[0] in CHARACTERS_ONLY
    if is_text:
        new = _as_characters(new, dimensions)
    return Part(source, into.path, axes, kind, new, is_text, converts=False)


def _without_table(source: Description) -> Description:
    """Return the description without the table of chunks, which is read again when they are copied."""
    layout = source.layout
    nothing = np.empty(0, np.int64)
    if isinstance(layout, ChunkedLayout):
        return dataclasses.replace(source, layout=ChunkedLayout(layout.chunk_shape, nothing))
    if isinstance(layout, CodedLayout) and isinstance(layout.places, ChunkTable):
        table = ChunkTable(nothing, nothing, np.empty(0, np.uint32))
        return dataclasses.replace(source, layout=dataclasses.replace(layout, places=table))
    return source


def _attributes(variable: Variable, kind: str, source: Description) -> Attributes:
    """Return the attributes without the fill value; for Zarr, in the types that the conventions require."""
    found = {name: value for name, value in variable.attributes.items() if name != FILL}
    if source.format != "zarr" or formats.is_folder(kind) or source.dtype.kind not in "iuf":
        return found
    return {name: _like(value, source.dtype) if name in LIKE_ELEMENTS else value for name, value in found.items()}


def _like(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return numbers in a type that can hold them; unchanged if it cannot."""
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "iuf":
        return value
    with np.errstate(all="ignore"):
        found = numbers.astype(dtype.newbyteorder("="))
    return found[()] if np.array_equal(found, numbers, equal_nan=True) else value


def _as_characters(new: NewArray, dimensions: TargetDimensions) -> NewArray:
    """Return an array of texts as one of characters, along one more dimension."""
    length = new.dtype.itemsize
    if new.fill is not None and new.marks_fill and any(new.fill.tobytes()):
        raise ArgumentError(f"{FILL} {new.fill[()]!r}: characters have one of a single character only")
    return dataclasses.replace(
        new,
        shape=(*new.shape, length),
        dtype=np.dtype("S1"),
        order=(*new.order, len(new.order)),
        fill=None,
        dimensions=(*(new.dimensions or ()), dimensions.characters(length)),
        chunks=None if new.chunks is None else (*new.chunks, length),
        codecs=None,
        unlimited=(*new.unlimited, False) if new.unlimited else (),
    )

"""Variables that are copied into an existing file.

The new file is a copy of the old one with the new variables; it takes the old one's name when it is complete. So a copy
that is killed leaves the old file as it was, and another call continues, as with every copy.
"""

from __future__ import annotations

import dataclasses
import errno
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from swath import formats
from swath.array.file import File
from swath.array.opening import open as open_array
from swath.array.opening import open_file
from swath.base import stored_path
from swath.copying.existing import Base
from swath.copying.request import CopyRequest, Part, TargetOptions
from swath.copying.store import Identity
from swath.copying.text_parts import TextPart
from swath.errors import ArgumentError, ExistsError


def base_of(target: Any, names: tuple[str, ...] | None, options: TargetOptions) -> Base | None:
    """Return the file that variables are added to, if variables are named and a file of many variables has the name.

    The names are those of the source, or one is the target's.

    Return None if a new file is made, or if the file has another format than the caller asked for.
    """
    if names is None and options.target_variable is None:
        return None
    path = formats.checked_path(target)
    if not stored_path.of(path).can_change_contents or not os.path.exists(path):
        return None
    contents = formats.contents_of_many(path)
    if contents is None or "" in contents.variables:
        return None
    asked = None if options.format is None else formats.format_for(path, options.format).partition(":")[0]
    return Base(path, contents, Identity.of(path)) if asked in (None, contents.format) else None


def format_of(base: Base) -> str:
    """Return the format of the file as `swath.copy` takes it, its version too."""
    version = base.contents.version
    if base.contents.format == "netcdf-classic":
        return f"netcdf-classic:{version.lower().replace('-', '')}"
    return "zarr:v2" if base.contents.format == "zarr" and version.endswith("2") else base.contents.format


def added_to(base: Base, request: CopyRequest, wanted: tuple[str, ...]) -> CopyRequest:
    """Return the request for the file with the new variables; coordinates that exist already stay as they are.

    Args:
        base: the file.
        request: for a new file with the variables.
        wanted: names of the source's variables that the caller named; the other variables are their coordinates.

    Raises:
        ExistsError: the file has one of the wanted variables.
        ArgumentError: a dimension has another length there, or a coordinate other values.
    """
    new = tuple(_new_ones(base, request, wanted))
    parts = tuple(one for one in new if isinstance(one, Part))
    texts = tuple(one for one in new if isinstance(one, TextPart))
    whole = request.whole
    if whole is not None:
        whole = dataclasses.replace(whole, variables=tuple(one.new for one in new))
    return dataclasses.replace(request, parts=parts, texts=texts, whole=whole, base=base)


def _new_ones(base: Base, request: CopyRequest, wanted: tuple[str, ...]) -> Iterator[Part | TextPart]:
    everything: tuple[Part | TextPart, ...] = (*request.parts, *request.texts)
    for one in everything:
        name = one.new.name.strip("/")
        if name not in base.contents.variables:
            yield dataclasses.replace(one, new=_along(base, one))
        elif request.whole is None or not wanted or (one.source.variable or "") in wanted:
            raise ExistsError(
                f"copy to {base.path}: the file exists and holds {name!r} already: choose another name "
                "(target_variable=), another file, or overwrite=True to replace the file",
                errno.EEXIST,
            )
        else:
            _check_same(base, one)


def add(base: Base, path: str, request: CopyRequest) -> None:
    """Make the new file at `path`: the old one with the new variables, whose elements are not written yet."""
    base.copy_to(path)
    with open_file(path, mode="r+") as file:
        everything: tuple[Part | TextPart, ...] = (*request.parts, *request.texts)
        for one in everything:
            _add(file, one)
    formats.finish(request.format, path)
    for part in request.parts:
        if not part.stored_as_characters:
            formats.allocate(part.describe(path))


def _add(file: File, part: Part | TextPart) -> None:
    new = part.new
    # Text in a Zarr store is written by zarr-python, which must find the array in its final length.
    is_written_by_zarr = isinstance(part, TextPart) and formats.is_folder(file.format)
    rows = new.shape[0] if new.unlimited[:1] == (True,) and not is_written_by_zarr else None
    wanted = new if rows is None else dataclasses.replace(new, shape=(0, *new.shape[1:]))
    made = file._file.add(f"add {new.name}", lambda: wanted)
    if rows is not None:
        array = file[made.variable or ""]
        file._file.give_rows(array._stored, rows)


def _along(base: Base, part: Part | TextPart) -> Any:
    """Return the new variable, with the growing dimensions of the file. Raises ArgumentError."""
    new = part.new
    group = new.name.strip("/").rpartition("/")[0]
    grows = list(new.unlimited or (False,) * len(new.shape))
    for place, name in enumerate(new.dimensions or ()):
        there = base.contents.dimension(group, name)
        if there is None:
            continue
        if there.length != new.shape[place] and not (there.is_unlimited and there.length == 0):
            raise ArgumentError(
                f"copy to {base.path}: {new.name} has {new.shape[place]} elements along dimension {name}, whose length "
                f"is {there.length} in that file; choose another file"
            )
        grows[place] = there.is_unlimited
    if any(grows[1:]):
        dimension = (new.dimensions or ())[grows.index(True, 1)]
        raise ArgumentError(
            f"copy to {base.path}: {new.name} would grow along {dimension}, which is not its first dimension: Swath "
            "adds such variables to new files only"
        )
    return dataclasses.replace(new, unlimited=tuple(grows) if any(grows) else (), flavour=None)


def _check_same(base: Base, part: Part | TextPart) -> None:
    """Raise ArgumentError unless a coordinate has the same values in the existing file."""
    name = part.new.name.strip("/")
    with (
        open_array(base.path, name) as there,
        open_array(part.source.path, part.source.variable, format=part.source.format) as here,
    ):
        one, other = np.asarray(there[...]), np.asarray(here[...])
    if isinstance(part, Part):
        other = other.transpose(part.axes)
    if one.shape != other.shape or not _are_equal(one, other):
        raise ArgumentError(
            f"copy to {base.path}: it has a coordinate {name} with other values than {part.source.name}: choose "
            "another file, or copy the variables without their coordinates"
        )


def _are_equal(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc"))

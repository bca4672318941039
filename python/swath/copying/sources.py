"""The sources of copies and comparisons: a path, or an open array; other open objects are refused, with advice."""

from __future__ import annotations

import errno
from typing import Any

import numpy as np

from swath import formats
from swath.array.decoded import Decoded
from swath.array.file import File, FileGroup
from swath.array.open_array import Array
from swath.base import stored_path
from swath.errors import ArgumentError, StoreError
from swath.formats import Description
from swath.formats.description import CodedLayout


def description_of(source: Any, variable: str | None, doing: str) -> Description:
    """Return the description of an open array, or of the array in a file.

    Raises:
        ArgumentError: `source` is neither; or a variable is named, and the open array is another one.
        Error: as `swath.open` does.
    """
    refuse_no_source(source, doing)
    if not isinstance(source, Array):
        return formats.describe(source, variable)
    source.refuse_closed(doing)
    if variable is not None and variable.strip("/") != source.variable:
        raise ArgumentError(
            f"{doing} {source!r}, variable={variable!r}: an open array is one variable already; give the path of its "
            "file to name another"
        )
    return current_description(source)


def current_description(array: Array) -> Description:
    """Return the current description of an open array: another handle may have moved its elements since the open.

    Raises:
        StoreError: the file now has another array of that name, of another shape or dtype.
        Error: as `swath.open` raises it, if the file cannot be read any more.
    """
    found = array._description
    if found.format == "raw" or not stored_path.of(found.path).can_change_contents:
        return found  # nothing moves in such a file
    now = formats.describe_again(found)
    if now.shape == found.shape and now.dtype == found.dtype:
        return now
    if _has_rows_of_its_own(array, now) and not isinstance(found.layout, CodedLayout):
        return found
    raise StoreError(
        f"{found.name}: it was {found.dtype} {found.shape} when it was opened, and is {now.dtype} {now.shape} in the "
        "file: open it again, or, where rows were appended that others along the dimension have not yet, sync it first",
        errno.ESTALE,
    )


def _has_rows_of_its_own(array: Array, now: Description) -> bool:
    """Return whether this handle has appended rows that readers do not see yet."""
    rows = array._stored.file.known_rows(array.variable or "")
    is_longer = rows is not None and rows == array.shape[0] > now.shape[0]
    return is_longer and array.shape[1:] == now.shape[1:] and array.dtype == now.dtype


def refuse_no_source(source: Any, doing: str) -> None:
    """Raise ArgumentError for an open object that is not a stored array, and for an array in memory."""
    if isinstance(source, (File, FileGroup)):
        raise ArgumentError(
            f"{doing} {source!r}: an open file is no source; give its path when it is complete, or one of its arrays, "
            "file[name]"
        )
    if isinstance(source, Decoded):
        raise ArgumentError(
            f"{doing} {source!r}: elements are taken as they are stored; give the array itself, `.stored`"
        )
    if isinstance(source, np.ndarray):
        raise ArgumentError(
            f"{doing} an array in memory, {source.dtype} {source.shape}: expected a path or an open array; "
            "`with swath.create(path, values.shape, values.dtype) as a: a[...] = values` stores one"
        )


def refuse_open_target(target: Any) -> None:
    """Raise ArgumentError for a target that is open: a copy makes a new file."""
    if isinstance(target, (Array, Decoded, File, FileGroup, np.ndarray)):
        what = "an array in memory" if isinstance(target, np.ndarray) else repr(target)
        raise ArgumentError(
            f"copy to {what}: a copy makes a new file, and expects its path; `target[...] = source[...]` copies into "
            "an array that is there"
        )

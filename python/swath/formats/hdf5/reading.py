"""The contents of an HDF5 or netCDF-4 file, and the positions of its datasets: the core reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swath import _core
from swath.formats.contents import Contents
from swath.formats.description import Description, Seen
from swath.formats.files import whole


def contents(path: str) -> Contents:
    """Return the contents of the file without the elements.

    A dimension is a dimension scale; without a scale, its name is HDF5's label, or "". Raises FormatError for a damaged
    file, StoreError if the system refuses.
    """
    found: Contents = _core.hdf5_contents(path)
    return found


def describe(path: str, variable: str | None = None) -> Description:
    """Return one dataset, "group/name" in a group; None means the only variable that is no coordinate.

    Raises ArgumentError, with the list of names, if `variable` names no dataset or None is ambiguous; UnsupportedError
    for sequences of variable length and similar types; FormatError for a damaged or truncated file; StoreError if the
    system refuses, or if another process has the file open for writing.
    """
    return whole(_core.hdf5_describe(path, [variable], {})[0])


def describe_many(
    path: str, variables: Sequence[str], seen: Mapping[str, Seen] | None = None, *, as_seen: bool = False
) -> list[Description]:
    """Return several datasets, with one open of the file. `seen`: those that were listed before, by name.

    They have their old lengths or are longer; with `as_seen`, the old lengths, even if others have added rows.
    """
    return [whole(one) for one in describe_unchecked(path, variables, seen or {}, as_seen=as_seen)]


def describe_unchecked(
    path: str, variables: Sequence[str], seen: Mapping[str, Seen], *, as_seen: bool = False
) -> list[Description]:
    """Return several datasets without a check of the file's length."""
    asked = {name: seen[name] for name in (variable.strip("/") for variable in variables) if name in seen}
    known = {name: (one.shape, one.dimensions, as_seen) for name, one in asked.items()}
    found: list[Description] = _core.hdf5_describe(path, variables, known)
    return found

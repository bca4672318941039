"""What an HDF5 or netCDF-4 file holds, and where the bytes of its datasets are: read by the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swath import _core
from swath.formats.contents import Contents
from swath.formats.description import Description, Seen
from swath.formats.files import whole


def contents(path: str) -> Contents:
    """Return everything that the file holds but the elements.

    A dimension is a dimension scale; where none is attached, the label of HDF5 names it, or nothing: "". Raises
    FormatError for a damaged file, StoreError where the system refuses.
    """
    found: Contents = _core.hdf5_contents(path)
    return found


def describe(path: str, variable: str | None = None) -> Description:
    """Return one dataset, "group/name" in a group; None stands for the only one that holds numbers of its own.

    Raises ArgumentError, listing what there is, where `variable` names no dataset or None is not enough;
    UnsupportedError for variable-length numbers and the like; FormatError for a damaged or truncated file;
    StoreError where the system refuses, also because another process has the file open for writing.
    """
    return whole(_core.hdf5_describe(path, [variable], {})[0])


def describe_many(
    path: str, variables: Sequence[str], seen: Mapping[str, Seen] | None = None, *, as_seen: bool = False
) -> list[Description]:
    """Return several datasets, the file opened once. `seen`: those that somebody has listed, by name.

    They are as long as they were then, or longer; with `as_seen` as long, whatever others have added since.
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

"""The content of a group of a file, as xarray's variables."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends.common import AbstractDataStore
from xarray.backends.file_manager import CachingFileManager
from xarray.core import indexing

from swath.errors import NotFoundError, warn_caller
from swath.formats.contents import Contents, Variable
from swath.xarray.dimensions import Names, names_of_dimensions
from swath.xarray.lazy import LazyArray, file_manager
from swath.xarray.storage import encoding_of

UNNAMED = "data"
"""The name for the array of a file whose format has no names."""


@dataclass(frozen=True)
class Source:
    """A file for reading: its manager and its contents."""

    path: str
    manager: CachingFileManager
    contents: Contents
    names: Names

    @classmethod
    def at(cls, path: str) -> Source:
        """Open a file. Raises as `swath.open_file` does."""
        manager = file_manager(path)
        with manager.acquire_context() as file:
            contents = file.contents
            names = names_of_dimensions(contents, path)
            file.many(_indices(contents, names))  # xarray reads all of them at once
        return cls(path, manager, contents, names)


def _indices(contents: Contents, names: Names) -> list[str]:
    """Return the variables that index a dimension, if Swath can read them."""
    readable = (variable for variable in contents.variables.values() if not variable.unsupported)
    return [variable.name for variable in readable if names[variable.name] == (variable.short_name,)]


class SwathDataStore(AbstractDataStore):  # type: ignore[misc]
    """One group of a file, for xarray's own decoding by the CF conventions."""

    def __init__(self, source: Source, group: str) -> None:
        self._source = source
        self._group = source.contents.groups[group]

    @classmethod
    def of_groups(cls, path: str, group: str | None) -> dict[str, SwathDataStore]:
        """Return the groups of a file from `group` on, by their paths. Raises NotFoundError if there is none."""
        source = Source.at(path)
        groups = source.contents.groups
        top = (group or "").strip("/")
        if top not in groups:
            there = ", ".join(sorted(groups)[1:]) or "none"
            raise NotFoundError(f"{path}: group not found: {group!r}; its groups: {there}")
        inside = [name for name in groups if name == top or name.startswith(f"{top}/" if top else "")]
        return {name: cls(source, name) for name in inside}

    def close(self) -> None:
        """Close the file; a read of an element opens it again."""
        self._source.manager.close()

    def get_attrs(self) -> dict[str, Any]:
        """Return the attributes of the group."""
        return dict(self._group.attributes)

    def get_dimensions(self) -> dict[str, int]:
        """Return the dimensions of the group."""
        return {name: dimension.length for name, dimension in self._group.dimensions.items()}

    def get_encoding(self) -> dict[str, Any]:
        """Return which dimensions grow."""
        unlimited = {name for name, d in self._group.dimensions.items() if d.is_unlimited}
        # xarray has no such concept for Zarr.
        return {"unlimited_dims": unlimited} if unlimited or self._source.contents.format != "zarr" else {}

    def get_variables(self) -> dict[str, xr.Variable]:
        """Return the variables of the group. Reads nothing beyond the open of the file."""
        return dict(self._variables)

    @functools.cached_property
    def _variables(self) -> dict[str, xr.Variable]:
        inside = f"{self._group.name}/" if self._group.name else ""
        return {v.name.removeprefix(inside) or UNNAMED: self._variable(v) for v in self._own()}

    def _own(self) -> Iterator[Variable]:
        for variable in self._source.contents.variables.values():
            if self._source.contents.group_of(variable) != self._group.name:
                continue
            if variable.dtype is None:
                warn_caller(f"{self._source.path}: {variable.name} is left out: {variable.unsupported}")
                continue
            yield variable

    def _variable(self, variable: Variable) -> xr.Variable:
        assert variable.dtype is not None
        lazy = LazyArray(self._source.manager, self._source.path, variable.name, variable.shape, variable.dtype)
        dimensions = self._source.names[variable.name]
        attributes = dict(variable.attributes)
        if variable.dtype.kind == "S" and "_FillValue" in attributes:
            attributes["_FillValue"] = np.bytes_(attributes["_FillValue"])
        encoding = encoding_of(variable, self._source.contents, dimensions)
        if self._source.contents.format != "zarr":
            encoding |= {"source": self._source.path, "original_shape": variable.shape}
        return xr.Variable(dimensions, indexing.LazilyIndexedArray(lazy), attributes, encoding)

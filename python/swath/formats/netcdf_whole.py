"""The header of a whole new netCDF classic file, and what such a file cannot hold. Pure."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from swath.errors import ArgumentError, ExistsError
from swath.formats.contents import Dimension
from swath.formats.description import NewArray, refuse_chunks
from swath.formats.netcdf_define import placed, with_attributes, with_dimension, with_variable
from swath.formats.netcdf_header import FLAVOURS, Header
from swath.formats.new_file import NewFile


class WholeHeader:
    """A header that is put together from all that a new file is to hold.

    Attributes:
        header: with what it can hold, each variable in its place.
        refusals: in words, what it cannot.
    """

    def __init__(self, new: NewFile) -> None:
        self.header = Header(FLAVOURS[new.flavour or "cdf5"])
        self.refusals: list[str] = []
        self._add_file(new)
        self._record_dimensions = {d.name for d in self.header.dimensions if d.is_unlimited}
        for variable in new.variables:
            if "/" not in variable.name:
                self._add_variable(variable)
        self._try("", placed)

    def _add_file(self, new: NewFile) -> None:
        for group in new.groups:
            if group.name:
                self.refusals.append(f"group {group.name}: netCDF classic has no groups")
                continue
            for name, value in group.attributes.items():
                self._try("", functools.partial(_with_attribute, name, value))
            for dimension in group.dimensions.values():
                self._try("", functools.partial(_with_dimension, dimension))

    def _add_variable(self, new: NewArray) -> None:
        kept = {}
        for name, value in new.attributes.items():
            refusals = len(self.refusals)
            self._try(f"{new.name}: ", functools.partial(_with_attribute, name, value), is_kept=False)
            if len(self.refusals) == refusals:
                kept[name] = value
        names = new.dimensions or ()
        shape = tuple(0 if name in self._record_dimensions else n for name, n in zip(names, new.shape, strict=False))
        wanted = replace(new, attributes=kept, shape=shape if names else new.shape)
        self._try(f"{new.name}: ", functools.partial(_with_new, wanted))

    def _try(self, what: str, change: Callable[[Header], Header], *, is_kept: bool = True) -> None:
        """Change the header, or note why that cannot be."""
        try:
            changed = change(self.header)
        except (ArgumentError, ExistsError) as error:
            self.refusals.append(f"{what}{error}")
        else:
            self.header = changed if is_kept else self.header


def _with_attribute(name: str, value: Any, header: Header) -> Header:
    if value is None:
        raise ArgumentError(f"attribute {name}: netCDF classic stores text and numbers, not null")
    return with_attributes(header, "", {name: value})


def _with_dimension(dimension: Dimension, header: Header) -> Header:
    return with_dimension(header, dimension)


def _with_new(new: NewArray, header: Header) -> Header:
    new.needs_c_order("netCDF")
    refuse_chunks(new, "netCDF classic")
    return with_variable(header, new)

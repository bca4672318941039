"""netCDF-4 files: HDF5 with netCDF-4's dimensions, types and attributes. Only the creation differs from HDF5."""

from __future__ import annotations

import dataclasses

from swath.formats import hdf5
from swath.formats.description import Description, NewArray
from swath.formats.hdf5 import add, contents, describe, describe_many, extend, set_attributes, set_length, to_add
from swath.formats.new_file import NewFile

__all__ = [
    "add",
    "contents",
    "create",
    "create_file",
    "describe",
    "describe_many",
    "extend",
    "refusals",
    "set_attributes",
    "set_length",
    "start",
    "to_add",
]

FLAVOUR = "netcdf4"


def start(path: str, flavour: str | None = None) -> None:
    """Make an empty file. Raises ExistsError if there is one."""
    hdf5.start(path, FLAVOUR)


def create(path: str, new: NewArray) -> Description:
    """Make a file with one variable: `start`, then `add`."""
    return hdf5.create(path, dataclasses.replace(new, flavour=FLAVOUR))


def create_file(path: str, new: NewFile) -> None:
    """Make a file with all its groups, dimensions and variables."""
    hdf5.create_file(path, dataclasses.replace(new, flavour=FLAVOUR))


def refusals(new: NewFile) -> list[str]:
    """Return descriptions of what a netCDF-4 file cannot store of these contents."""
    return hdf5.refusals(dataclasses.replace(new, flavour=FLAVOUR))

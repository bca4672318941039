"""`engine="swath"` of xarray: `open_dataset`, `open_mfdataset`, `open_datatree`, `open_groups`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from typing import Any, ClassVar

import xarray as xr
from xarray.backends import BackendEntrypoint, StoreBackendEntrypoint

from swath import formats
from swath.errors import ArgumentError, Error
from swath.xarray import decodable
from swath.xarray.store import SwathDataStore

DECODERS = (
    "mask_and_scale",
    "decode_times",
    "concat_characters",
    "use_cftime",
    "decode_coords",
    "decode_timedelta",
)
"""The options for xarray's own decoding."""


class SwathBackendEntrypoint(BackendEntrypoint):  # type: ignore[misc]
    """Opens netCDF classic, netCDF-4, HDF5 and Zarr files; Swath reads their arrays when they are needed."""

    description: ClassVar[str] = "Open netCDF, HDF5 and Zarr files with Swath's parallel engines"
    open_dataset_parameters: ClassVar[tuple[str, ...]] = ("filename_or_obj", "drop_variables", "group", *DECODERS)
    supports_groups: ClassVar[bool] = True

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str | None = None,
        **decoders: Any,
    ) -> xr.Dataset:
        """Return the variables of one group, by default the file itself.

        Args:
            filename_or_obj: the file, or the folder of a Zarr store: str, bytes or os.PathLike.
            drop_variables: names of variables to leave out.
            group: path of the group.
            **decoders: `DECODERS`, see `xarray.open_dataset`.

        Raises:
            NotFoundError: there is no such file, or no such group.
            FormatError: the file is truncated, or of an unknown format; a variable has attributes that cannot be
                decoded.
            ArgumentError: the argument is no path: a URL, an open file, bytes of a file.
        """
        path = local_path(filename_or_obj)
        stores = SwathDataStore.of_groups(path, group)
        return _opened(path, stores[(group or "").strip("/")], drop_variables, decoders)

    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str | None = None,
        **decoders: Any,
    ) -> dict[str, xr.Dataset]:
        """Return the data sets of all groups from `group` on, by their paths from there. See `open_dataset`."""
        path = local_path(filename_or_obj)
        top = (group or "").strip("/")
        return {
            _path_from(top, name): _opened(path, store, drop_variables, decoders)
            for name, store in SwathDataStore.of_groups(path, group).items()
        }

    def open_datatree(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str | None = None,
        **decoders: Any,
    ) -> xr.DataTree:
        """Return all groups from `group` on as a tree. See `open_dataset`."""
        groups = self.open_groups_as_dict(filename_or_obj, drop_variables=drop_variables, group=group, **decoders)
        tree = xr.DataTree.from_dict(groups)
        for name, data_set in groups.items():
            tree[name].set_close(data_set._close)
        return tree

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return whether Swath knows the file by its first bytes, for `open_dataset` without an engine.

        xarray asks its own netCDF engines first; Zarr stores are left to the zarr package if it is installed.
        """
        try:
            path = local_path(filename_or_obj)
            if os.path.isdir(path) and importlib.util.find_spec("zarr") is not None:
                return False
            return formats.recognised(path) in ("netcdf-classic", "hdf5", "zarr")
        except Error:
            return False


def _opened(
    path: str, store: SwathDataStore, drop_variables: str | Iterable[str] | None, decoders: dict[str, Any]
) -> xr.Dataset:
    """Return one group, decoded by xarray. Raises FormatError if xarray cannot decode it."""
    dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
    variables = {name: variable for name, variable in store.get_variables().items() if name not in dropped}
    for name, variable in variables.items():
        decodable.check(path, name, variable, decoders)
    try:
        return StoreBackendEntrypoint().open_dataset(store, drop_variables=drop_variables, **decoders)
    except (Error, MemoryError):
        raise
    except TypeError as error:
        if "unexpected keyword argument" in str(error):
            raise  # an error of the caller's argument
        raise decodable.failed(path, variables, decoders, error) from error
    except Exception as error:
        raise decodable.failed(path, variables, decoders, error) from error


def _path_from(top: str, group: str) -> str:
    """Return the path of a group as xarray's other engines do: absolute, or relative to the given top group."""
    return (group[len(top) :].strip("/") or ".") if top else f"/{group}"


def local_path(given: Any) -> str:
    """Return the absolute path of a file, with "~" resolved. Raises ArgumentError if the argument is no path."""
    if isinstance(given, memoryview) or (isinstance(given, bytes) and given.startswith((b"CDF", b"\x89HDF"))):
        raise ArgumentError("open_dataset: these are the bytes of a file; Swath reads files: write them to one")
    return os.path.abspath(os.path.expanduser(formats.checked_path(given)))

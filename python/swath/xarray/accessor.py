"""`ds.swath.to_file(path)`: the method that `import swath.xarray` adds to xarray's data sets."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import xarray as xr

from swath.base.memory_budget import memory_bytes
from swath.errors import ArgumentError
from swath.xarray.backend import local_path
from swath.xarray.encoding import Encoding
from swath.xarray.write import WriteOptions, write


class DatasetAccessor:
    """Swath's methods of a data set."""

    def __init__(self, data_set: xr.Dataset) -> None:
        self._data_set = data_set

    def to_file(
        self,
        path: Any,
        *,
        format: str | None = None,  # noqa: A002
        mode: str | None = None,
        group: str | None = None,
        encoding: Encoding | None = None,
        unlimited_dims: Iterable[Hashable] | None = None,
        append_dim: str | None = None,
        memory: str | int = "256MiB",
        compute: bool = True,
    ) -> Any:
        """Write the data set into a file, encoded as xarray does by the CF conventions.

        A new file gets its name when it is complete. Dask arrays are computed and written block by block.

        Args:
            path: the file. Its suffix gives the format if `format` does not.
            format: see `swath.create_file`.
            mode: "w-" for a new file, "w" to replace an existing one, "a" to add to one: new variables, and new values
                for existing variables of the same shape, with the encoding of the file. The default is "w-", and "a"
                with `append_dim`.
            group: path of the group for the data set.
            encoding: by variable, its storage: `dtype`, `_FillValue`, `scale_factor`, `units`, … as in xarray; for HDF5
                and netCDF-4 `chunksizes`, `zlib`, `complevel`, `shuffle`, `fletcher32`, `compression`; for Zarr
                `chunks`, `shards`, `compressors`.
            unlimited_dims: dimensions that may grow; the default is those that grow in the file of the data set. In a
                new netCDF-4 or HDF5 file any dimension of a variable may grow, in other formats its first one.
            append_dim: the dimension, the first one of its variables, along which the data set is appended to an
                existing file, as with `to_zarr`; without a file, a new one is made in which the dimension is unlimited.
                The appended data must have all variables that the file has along it, and their dimensions, types and
                encodings; the other coordinates must have the values of the file.
            memory: the most bytes of computed dask data in memory: bytes, or "2GiB". At least one dask chunk.
            compute: False returns a `dask.delayed.Delayed` that writes the file when it is computed.

        Raises:
            ExistsError: the file exists, in mode "w-".
            ArgumentError: data that the format cannot store; in mode "a" also values that an existing variable cannot
                hold, an encoding that differs from it, and data that are read from what they overwrite; a memory so
                small that chunks of the file would be decoded and encoded more than four times.
            StoreError: the system refuses.
        """
        name = (group or "").strip("/")
        options = WriteOptions(format, mode, {name: encoding or {}}, unlimited_dims, memory_bytes(memory), append_dim)
        work = functools.partial(write, {name: self._data_set}, local_path(path), options)
        return work() if compute else _delayed(work)


class TreeAccessor:
    """Swath's methods of a tree of data sets."""

    def __init__(self, tree: xr.DataTree) -> None:
        self._tree = tree

    def to_file(
        self,
        path: Any,
        *,
        format: str | None = None,  # noqa: A002
        mode: str | None = None,
        encoding: Mapping[str, Encoding] | None = None,
        unlimited_dims: Iterable[Hashable] | None = None,
        append_dim: str | None = None,
        memory: str | int = "256MiB",
        compute: bool = True,
    ) -> Any:
        """Write each data set into the group of its path. See `DatasetAccessor.to_file`.

        Args:
            path: the file.
            format: see `DatasetAccessor.to_file`.
            mode: see there.
            encoding: by path of the group, and there by variable.
            unlimited_dims: see there.
            append_dim: see there.
            memory: see there.
            compute: see there.

        Raises:
            ArgumentError: also for an encoding of a group that does not exist.
        """
        top = self._tree
        groups = {
            node.path.removeprefix(top.path).strip("/"): node.to_dataset(inherit=node is top) for node in top.subtree
        }
        by_group = {name.strip("/"): words for name, words in (encoding or {}).items()}
        unknown = sorted(set(by_group) - set(groups))
        if unknown:
            raise ArgumentError(f"unexpected encoding group name(s) provided: {', '.join(unknown)}")
        options = WriteOptions(format, mode, by_group, unlimited_dims, memory_bytes(memory), append_dim)
        work = functools.partial(write, groups, local_path(path), options)
        return work() if compute else _delayed(work)


def _delayed(work: Any) -> Any:
    from dask.delayed import delayed

    return delayed(work, pure=False, traverse=False)()


def register() -> None:
    """Make `ds.swath` and `tree.swath` known to xarray."""
    xr.register_dataset_accessor("swath")(DatasetAccessor)
    xr.register_datatree_accessor("swath")(TreeAccessor)

"""`ds.swath.to_file(path)`: what `import swath.xarray` adds to xarray's data sets."""

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
    """What Swath does with a data set."""

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

        A new file gets its name when it is complete. What dask computes is computed and written block by block.

        Args:
            path: the file. Its suffix says the format where `format` does not.
            format: see `swath.create_file`.
            mode: "w-" for a new file, "w" to replace one that exists, "a" to add to it: new variables, and the values
                of those that are there in the same shape, encoded as they are there. By default "w-", and "a" with
                `append_dim`.
            group: path of the group that it is written to.
            encoding: by variable, how it is stored: `dtype`, `_FillValue`, `scale_factor`, `units`, … as in xarray;
                of HDF5 and netCDF-4 `chunksizes`, `zlib`, `complevel`, `shuffle`, `fletcher32`, `compression`; of Zarr
                `chunks`, `shards`, `compressors`.
            unlimited_dims: dimensions that may grow; by default those that grow in the file that it was opened from.
                Of a new netCDF-4 or HDF5 file they may be any of a variable, else its first one.
            append_dim: the dimension, the first one of its variables, along which the data set is appended to a file
                that exists, as with `to_zarr`; where there is none it is made, with that dimension unlimited. What is
                appended has all variables that the file has along it, and the dimensions, types and encodings of these;
                the other coordinates have the same values as in the file.
            memory: how much of what dask computes is in memory at a time: bytes, or "2GiB". At least one dask chunk.
            compute: False returns a `dask.delayed.Delayed` that writes the file when it is computed.

        Raises:
            ExistsError: the file exists, in mode "w-".
            ArgumentError: what the format cannot store; in mode "a" also what a variable that is there cannot hold, an
                encoding that is not its own, and data that are read from what they overwrite; so little memory that
                chunks of the file would be decoded and encoded more than four times.
            StoreError: the system refuses.
        """
        name = (group or "").strip("/")
        options = WriteOptions(format, mode, {name: encoding or {}}, unlimited_dims, memory_bytes(memory), append_dim)
        work = functools.partial(write, {name: self._data_set}, local_path(path), options)
        return work() if compute else _delayed(work)


class TreeAccessor:
    """What Swath does with a tree of data sets."""

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
            ArgumentError: also for an encoding of a group that is not there.
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

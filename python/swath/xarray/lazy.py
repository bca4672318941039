"""Arrays of a file that are read when their elements are needed, by any thread of any process."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from xarray.backends import BackendArray
from xarray.backends.file_manager import CachingFileManager
from xarray.core import indexing

from swath.array.opening import open_file
from swath.formats import checked_path
from swath.xarray.indices import BOXES_MAX, read_outer, read_points


def file_manager(path: Any) -> CachingFileManager:
    """Return a manager that opens a file once per process, at the first use, and closes it when it is not needed.

    Other processes get the path. xarray limits the number of open files (`file_cache_maxsize`).
    """
    return CachingFileManager(open_file, checked_path(path), mode="r")


class LazyArray(BackendArray):  # type: ignore[misc]
    """A variable of a file, read when it is indexed. Threads can read it concurrently; it is pickled as path and name.

    Attributes:
        path: of the file.
        name: of the variable, with its groups.
        shape: in elements.
        dtype: as stored.
    """

    __slots__ = ("_manager", "dtype", "name", "path", "shape")

    def __init__(self, manager: Any, path: str, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._manager = manager
        self.path = path
        self.name = name
        self.shape = shape
        self.dtype = dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        if isinstance(key, indexing.VectorizedIndexer) and _is_of_points(key.tuple):
            return self._read(read_points, key.tuple)
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.OUTER, lambda outer: self._read(read_outer, outer)
        )

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Read in a thread, so that the event loop can continue."""
        return await asyncio.to_thread(self.__getitem__, key)

    def _read(self, read: Any, key: tuple[Any, ...]) -> Any:
        while True:
            with self._manager.acquire_context() as file:
                try:
                    return np.asarray(read(file[self.name], key), self.dtype)
                except Exception:
                    if not getattr(file, "is_closed", False):
                        raise
            # Another thread, or xarray with too many open files, has closed it: open it again.


def _is_of_points(key: tuple[Any, ...]) -> bool:
    """Return whether the boxes of these indices are fewer and smaller than all combinations of the indices."""
    indices = [k for k in key if not isinstance(k, slice)]
    points = np.broadcast_shapes(*(np.shape(k) for k in indices))
    is_plain = all(k.step in (None, 1) for k in key if isinstance(k, slice))
    return len(indices) > 1 and is_plain and 0 < int(np.prod(points)) <= BOXES_MAX

"""`a.to_dask()` and `a.to_xarray()`: an open array for computations with dask and xarray, read when it is needed."""

from __future__ import annotations

import contextlib
import copyreg
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from xarray import conventions
from xarray.core import indexing

from swath import _core
from swath.array.decoded import Decoded
from swath.array.open_array import Array
from swath.xarray.lazy import LazyArray
from swath.xarray.store import UNNAMED, SwathDataStore

if TYPE_CHECKING:
    import dask.array

OPEN_MAX = 64
"""The number of arrays that a process keeps open for tasks from other processes."""


# ---- dask ------------------------------------------------------------------------------------------------------------


def to_dask(array: Array | Decoded, chunks: Any) -> dask.array.Array:
    """Return a dask array: see `Array.to_dask`."""
    import dask.array
    from dask.base import tokenize

    token = f"swath-{tokenize(array)}"
    stored = array.chunks or ()
    source = Shared(array, token)
    if chunks is None:
        # A task has several chunks of the file, about as many as dask's configuration suggests.
        chunks = dask.array.core.normalize_chunks(
            "auto", array.shape, dtype=array.dtype, previous_chunks=stored or None
        )
    meta = np.ma.empty((0,) * array.ndim, array.dtype) if isinstance(array, Decoded) else None
    return dask.array.from_array(source, chunks, name=token, lock=False, asarray=meta is None, fancy=False, meta=meta)


class Shared:
    """An array that a process opens once for any number of tasks."""

    def __init__(self, array: Array | Decoded, token: str) -> None:
        self.array = array
        self._token = token
        self.shape = array.shape
        self.dtype = array.dtype
        self.ndim = array.ndim

    def __getitem__(self, selection: Any) -> npt.NDArray[Any]:
        return self.array[selection]  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        reduce: Any = copyreg.dispatch_table.get(type(self.array), lambda array: array.__reduce__())
        opener, arguments = reduce(self.array)[:2]
        return _shared, (self._token, opener, arguments)


class _Opened:
    """The arrays that a process has opened for tasks: one for each token, for all of its threads."""

    def __init__(self) -> None:
        self._arrays: OrderedDict[str, Shared] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, token: str, opener: Callable[..., Any], arguments: tuple[Any, ...]) -> Shared:
        with self._lock:
            if token not in self._arrays:
                self._arrays[token] = Shared(opener(*arguments), token)
            self._arrays.move_to_end(token)
            if len(self._arrays) > OPEN_MAX:
                self._arrays.popitem(last=False)  # closed when no task uses it any more
            return self._arrays[token]


_opened: dict[int, _Opened] = {}
"""For each process: a forked child has its own, since a thread of its parent may have been opening an array."""


def _shared(token: str, opener: Callable[..., Any], arguments: tuple[Any, ...]) -> Shared:
    return _opened.setdefault(_core.fork_generation(), _Opened()).get(token, opener, arguments)


# ---- xarray ----------------------------------------------------------------------------------------------------------


def to_xarray(array: Array | Decoded) -> xr.DataArray:
    """Return a DataArray: see `Array.to_xarray`."""
    is_decoded = isinstance(array, Decoded)
    stored = array.stored if isinstance(array, Decoded) else array
    name = stored.variable or ""
    if stored.format in ("raw", "npy"):
        lazy = LazyArray(_AlreadyOpen({name: stored}), stored.path, name, stored.shape, stored.dtype)
        names = [f"dim_{axis}" for axis in range(stored.ndim)]
        return xr.DataArray(xr.Variable(names, indexing.LazilyIndexedArray(lazy)), name=UNNAMED)
    group, _, short = name.rpartition("/")
    path = stored._stored.file.path_to_reopen("to_xarray of")
    data_set = _with_coordinates(path, group, short or UNNAMED, is_decoded=is_decoded)
    return data_set[short or UNNAMED]


class _AlreadyOpen:
    """Arrays that are already open, instead of a file manager."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self._arrays = arrays

    @contextlib.contextmanager
    def acquire_context(self) -> Iterator[dict[str, Array]]:
        """Yield the arrays by their names."""
        yield self._arrays


def _with_coordinates(path: str, group: str, name: str, *, is_decoded: bool) -> xr.Dataset:
    """Return a data set of one variable and its decoded coordinates; `is_decoded`: decode the variable, too."""
    stores = SwathDataStore.of_groups(path, "")
    variable = stores[group].get_variables()[name]
    found = {name: variable}
    for one in (*variable.dims, *str(variable.attrs.get("coordinates", "")).split()):
        for above in _upwards(group):
            candidate = stores[above].get_variables().get(one)
            if candidate is not None and set(candidate.dims) <= set(variable.dims):
                found.setdefault(one, candidate)
    is_stored = not is_decoded and variable.dims != (name,)
    decoders = ("mask_and_scale", "decode_times", "decode_timedelta", "concat_characters") if is_stored else ()
    decoded, _, coordinates = conventions.decode_cf_variables(found, {}, **{one: {name: False} for one in decoders})
    names = {*coordinates, *variable.dims} - {name} | ({name} if variable.dims == (name,) else set())
    return xr.Dataset(
        {one: v for one, v in decoded.items() if one not in names},
        {one: v for one, v in decoded.items() if one in names},
    )


def _upwards(group: str) -> list[str]:
    """Return a group and the groups above it, the innermost first."""
    parts = group.split("/") if group else []
    return ["/".join(parts[:count]) for count in range(len(parts), -1, -1)]

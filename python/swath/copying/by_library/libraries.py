"""Chooses the library for a file."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import formats
from swath.array.open_array import Array
from swath.base import stored_path
from swath.copying.by_library import with_h5py, with_netcdf4, with_numpy, with_zarr
from swath.copying.by_library.held import Held
from swath.errors import ArgumentError, FormatError, UnsupportedError
from swath.formats.files import checked_path

Box = tuple[slice, ...]

_MODULES: dict[str, Any] = {"h5py": with_h5py, "netCDF4": with_netcdf4, "zarr": with_zarr, "numpy": with_numpy}
_OF_FORMATS = {"hdf5": "h5py", "netcdf-classic": "netCDF4", "zarr": "zarr", "npy": "numpy"}


@dataclasses.dataclass(frozen=True)
class FileByLibrary:
    """A file, and the results of the libraries. It can be pickled.

    Attributes:
        path: of the file.
        views: the result of each library, by its name; the format's own library is first.
        unreadable: why netCDF4 does not read a netCDF-4 file that h5py reads; "" if it does.
    """

    path: str
    views: dict[str, Held]
    unreadable: str = ""

    @staticmethod
    def of(source: Any) -> FileByLibrary:
        """Call the libraries. Raises ArgumentError; UnsupportedError if no library reads the file, or is installed."""
        path = _path_of(source)
        kind = formats.recognised(path)
        if kind is None:
            formats.contents(path)  # raises an error with the reason
            raise UnsupportedError(f"{path}: no library reads it")
        library = _OF_FORMATS[kind]
        views = {library: _held(library, path)}
        if views[library].format == "netcdf4" and not with_h5py.has_linked_groups(views[library]):
            try:
                views = {"netCDF4": _held("netCDF4", path), **views}
            except FormatError as error:
                return FileByLibrary(path, views, str(error))
        return FileByLibrary(path, views)

    @property
    def held(self) -> Held:
        """The result of the format's own library."""
        return next(iter(self.views.values()))

    @contextlib.contextmanager
    def values(self) -> Iterator[Values]:
        """Open the file, to read boxes of the variables."""
        with contextlib.ExitStack() as stack:
            yield Values(stack, self)


class Values:
    """Reads boxes by the format's library, or by the next one if that library lacks the filter.

    Args:
        stack: closes the open files.
        side: the file.
    """

    def __init__(self, stack: contextlib.ExitStack, side: FileByLibrary) -> None:
        self._read = [stack.enter_context(_MODULES[library].values(side.path)) for library in side.views]

    def read(self, name: str, box: Box) -> npt.NDArray[Any]:
        """Return the elements of a box of a variable; all elements if it has no dimensions, or no elements."""
        for read in self._read[:-1]:
            with contextlib.suppress(RuntimeError, OSError, IndexError, KeyError):
                return np.asarray(read(name, box))
        return np.asarray(self._read[-1](name, box))


def _path_of(source: Any) -> str:
    if isinstance(source, Array):
        raise ArgumentError(f"verify {source!r}, by_library=True: a library reads a file: give its path")
    path = checked_path(source)
    if not stored_path.of(path).is_local:
        raise UnsupportedError(f"verify {path}, by_library=True: libraries do not read files in pools")
    return path


def _held(library: str, path: str) -> Held:
    try:
        importlib.import_module(library)
    except ImportError:
        raise UnsupportedError(f"verify {path}, by_library=True: it needs {library}: pip install {library}") from None
    try:
        return _MODULES[library].held(path)  # type: ignore[no-any-return]
    except Exception as error:
        raise FormatError(f"{path}: {library} cannot read it: {error or type(error).__name__}") from error

"""An open file with many arrays, as `swath.open_file` and `swath.create_file` (opening.py) make it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy.typing as npt

from swath import _core, formats
from swath.array.html_of_files import of_contents
from swath.array.open_array import Array
from swath.array.xarray_names import XarrayNames
from swath.errors import ArgumentError, Error
from swath.files.attributes import StoredAttributes
from swath.files.opened_file import OpenedFile
from swath.formats.contents import Dimension
from swath.formats.description import Order
from swath.ranks import compared


class FileGroup(XarrayNames[dict[str, Dimension], StoredAttributes]):
    """A group of an open file.

    Attributes:
        name: its path, "" for the file itself.
        attributes: the attributes as stored; in mode "r+" new values are stored.
    """

    def __init__(self, file: OpenedFile, name: str) -> None:
        self._file = file
        self.name = name
        self.attributes = StoredAttributes(file, name, _contents(file).groups[name].attributes)

    @property
    def dimensions(self) -> dict[str, Dimension]:
        """Return the dimensions that are defined in this group, by name."""
        return dict(_contents(self._file).groups[self.name].dimensions)

    def __repr__(self) -> str:
        return f"<swath.FileGroup {self.name!r} of {self._file.final_path}>"


class File(XarrayNames[dict[str, Dimension], StoredAttributes], Mapping[str, Array]):
    """An open file: a mapping from names of variables ("group/t") to open arrays.

    Close it, or use it in a `with` block.

    Any number of threads may take arrays from it. With a communicator every call that may read or change the file is
    collective: the first `f[name]` of each name, `create`, changes of attributes, `sync` and `close`.

    Attributes:
        path: the file.
        format: "netcdf-classic", "netcdf4", "hdf5", "zarr", …
        attributes: the attributes of the file; in mode "r+" new values are stored.
    """

    def __init__(self, file: OpenedFile) -> None:
        self._file = file
        self._arrays: dict[str, Array] = {}
        self._groups: dict[str, FileGroup] = {}
        self._locks: dict[int, threading.Lock] = {}
        self.path = file.final_path
        self.format = file.format
        self.attributes = self._group("").attributes

    @property
    def version(self) -> str:
        """Return the version of the format, for people: "CDF-5"."""
        return _contents(self._file).version

    @property
    def mode(self) -> str:
        """Return "r" or "r+"."""
        return self._file.mode

    @property
    def dimensions(self) -> dict[str, Dimension]:
        """Return the dimensions of the file itself, by name; those of groups are in `groups`."""
        return self._group("").dimensions

    @property
    def groups(self) -> dict[str, FileGroup]:
        """Return the groups by their paths."""
        return {name: self._group(name) for name in _contents(self._file).groups if name}

    def _group(self, name: str) -> FileGroup:
        if name not in self._groups:
            self._groups[name] = FileGroup(self._file, name)
        return self._groups[name]

    @property
    def contents(self) -> formats.Contents:
        """Return everything in the file except the elements. Local."""
        return _contents(self._file)

    def __getitem__(self, name: str) -> Array:
        """Return an array, the same one each time. Collective the first time.

        Raises ArgumentError, which lists the names, if there is no such variable; other errors as `swath.open` does.
        """
        key = name.strip("/") if isinstance(name, str) else name
        if key in self._arrays:
            return self._arrays[key]
        with self._opening():
            if key not in self._arrays:
                self._file.refuse_closed(f"open {name!r} of")
                words = f"open {name!r} of {self._file.identity}"
                description = self._file.ranks.on_first(words, lambda: self._file.describe(name))
                self._arrays[key] = Array(self._file.stored_array(description))
            return self._arrays[key]

    def _opening(self) -> threading.Lock:
        """Return the lock of threads that open arrays. A forked child has its own: it does not wait for its parent."""
        return self._locks.setdefault(_core.fork_generation(), threading.Lock())

    def many(self, names: Sequence[str]) -> list[Array]:
        """Return `[self[name] for name in names]`, but look the arrays up together, which is faster. Collective."""
        with self._opening():
            missing = [name for name in names if name.strip("/") not in self._arrays]
            if missing:
                self._file.refuse_closed(f"open {', '.join(missing)} of")
                words = f"open {', '.join(missing)} of {self._file.identity}"
                for description in self._file.ranks.on_first(words, lambda: self._file.describe_many(missing)):
                    self._arrays[description.variable or ""] = Array(self._file.stored_array(description))
            return [self._arrays[name.strip("/")] for name in names]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.strip("/") in _contents(self._file).variables

    def __iter__(self) -> Iterator[str]:
        return iter(_contents(self._file).variables)

    def __len__(self) -> int:
        return len(_contents(self._file).variables)

    def create(
        self,
        name: str,
        shape: int | Sequence[int | None] | None,
        dtype: npt.DTypeLike,
        *,
        order: Order = "C",
        fill: Any = None,
        dimensions: Sequence[str] | None = None,
        attributes: Mapping[str, Any] | None = None,
        chunks: int | Sequence[int] | None = None,
        shards: int | Sequence[int] | None = None,
        codecs: Any = None,
    ) -> Array:
        """Create another variable, and return it. Collective.

        Args:
            name: the name of the variable; "group/t" is in a group, which is created if it does not exist.
            shape: in elements. With None as the first length the array can grow, see `Array.append`; if the file has
                its dimension already, it is as long as that. In netCDF-4 and HDF5 other lengths may be None, too.
            dtype: see `swath.create`.
            order: see `swath.create`.
            fill: see `swath.create`.
            dimensions: names of its dimensions. Those that the file has already must have the same length.
            attributes: the attributes of the variable.
            chunks: see `swath.create`.
            shards: see `swath.create`.
            codecs: see `swath.create`.

        Raises:
            ExistsError: there is a variable of that name.
            ArgumentError: the format cannot store it, or a dimension has another length. Nothing has changed then.
            StoreError: the system refuses.
        """
        given = {key: value for key, value in locals().items() if key not in ("self", "name")}
        words = compared.call_signature(f"create {name!r} in", self._file.identity, given)
        options = formats.CreationOptions(order, fill, name, dimensions, attributes, chunks, shards, codecs)
        path, kind = self._file.path, self.format
        added = self._file.add(words, lambda: formats.new_array(path, kind, shape, dtype, options))
        array = Array(self._file.stored_array(added, is_new=True))
        self._arrays[added.variable or ""] = array
        return array

    @property
    def is_closed(self) -> bool:
        """Return whether it was closed."""
        return self._file.is_closed

    def sync(self) -> None:
        """Flush written data to the medium. Collective.

        Variables that can grow then have as many rows as their dimension: missing rows are filled. A new file with such
        a dimension has its final name after the first call.
        """
        self._file.sync()

    def close(self) -> None:
        """Close the file and its arrays; a created one becomes complete under its name. Collective.

        Raises StoreError if it cannot be completed. Then the old file, if there was one, is still there.
        """
        self._file.close()

    def __enter__(self) -> File:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close(error)
        except Error:
            if error is None:
                raise

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def _repr_html_(self) -> str:
        return of_contents(self.path, self.contents)

    def __repr__(self) -> str:
        state = "closed, " if self.is_closed else ""
        count = len(self)
        return f"<swath.File {self.path}: {state}{self.format}, {count} variable{'s' if count != 1 else ''}>"


def _contents(file: OpenedFile) -> formats.Contents:
    if file.contents is None:
        raise ArgumentError(f"{file.final_path}: it was opened for one array; use swath.open_file")
    return file.contents

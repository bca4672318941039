"""Zarr stores in a local folder, versions 3 and 2: the core reads and writes their metadata (core/formats/zarr).

What is left here: what zarr-python reads for Swath, and values as Python has them.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from swath import _core
from swath.errors import ArgumentError
from swath.formats import zarr_library
from swath.formats.codecs import Dialect, asked
from swath.formats.contents import Attributes, Contents
from swath.formats.description import Codec, Description, LibraryLayout, NewArray, Seen
from swath.formats.new_file import NewFile, tried

FLAVOURS = ("v3", "v2")
FILL = "_FillValue"
_OF_NUMCODECS = "numcodecs."


class Changes(Protocol):
    """What is told before a store changes: swath.formats.changes.Changes."""

    @property
    def path(self) -> str:
        """The folder of the store."""

    def adds(self, relative: str) -> None:
        """A file or folder is added, which undoing removes."""

    def replaces_all(self, names: Iterable[str]) -> None:
        """Files are replaced, whose present bytes undoing restores."""


class Untold:
    """Changes of a store that need not be taken back: a new one, which is removed where it fails."""

    def __init__(self, path: str) -> None:
        self.path = path

    def adds(self, relative: str) -> None:
        """Do nothing."""

    def replaces_all(self, names: Iterable[str]) -> None:
        """Do nothing."""


# ---- What a store holds ----------------------------------------------------------------------------------------------


def is_store(path: str) -> bool:
    """Return whether a folder holds a Zarr array or group."""
    return _core.zarr_is_store(path)


def describe(path: str, variable: str | None = None) -> Description:
    """One array of the store, "group/name" in a group; None stands for the only one that holds numbers of its own.

    Its own metadata are read, not consolidated ones. Raises ArgumentError, listing what there is, where `variable`
    names no array or None is not enough; UnsupportedError for elements or codecs that neither Swath nor zarr-python
    has; FormatError for metadata that cannot be true.
    """
    return _readable(_core.ZarrStore(path, to_change=False).describe(variable))


def describe_many(path: str, variables: Sequence[str], seen: Mapping[str, Seen] | None = None) -> list[Description]:
    """Return several arrays, each by its own metadata. Raises as `describe` does."""
    del seen
    store = _core.ZarrStore(path, to_change=False)
    return [_readable(store.describe(name)) for name in variables]


def contents(path: str) -> Contents:
    """Return what the store holds, from its consolidated metadata where it has valid ones."""
    return _as_python_has(path, _core.ZarrStore(path, to_change=False).contents())


def contents_to_change(path: str) -> Contents:
    """Return the same from the metadata of each node: other programs change them without consolidating them again."""
    return _as_python_has(path, _core.ZarrStore(path, to_change=True).contents())


def _as_python_has(path: str, found: Contents) -> Contents:
    return dataclasses.replace(
        found,
        groups={
            name: dataclasses.replace(group, attributes=_plain(group.attributes))
            for name, group in found.groups.items()
        },
        variables={
            name: zarr_library.glance(path, dataclasses.replace(variable, attributes=_plain(variable.attributes)))
            for name, variable in found.variables.items()
        },
    )


def _readable(found: Description) -> Description:
    """Return the description as Python has it, of an array that Swath or zarr-python reads."""
    plain = dataclasses.replace(found, attributes=_plain(found.attributes))
    return zarr_library.described(plain) if isinstance(found.layout, LibraryLayout) else plain


def _plain(attributes: Attributes) -> Attributes:
    """Return numbers as JSON has them, which knows int and float; but the fill value has the type of the elements."""
    return {
        name: value.item() if isinstance(value, np.generic) and name != FILL else value
        for name, value in attributes.items()
    }


# ---- New stores ------------------------------------------------------------------------------------------------------


def start(path: str, flavour: str | None) -> None:
    """Make a new store, whose root is a group that holds nothing."""
    _core.zarr_start(path, flavour)


def create(path: str, new: NewArray) -> Description:
    """Create a store with one array, none of whose chunks is stored: all elements are the fill value.

    The array is the store itself, or `new.variable` in its groups.
    """
    if new.variable is None:
        _core.zarr_create_array(path, new.flavour, _with_codecs(new), _only_registered(new))
        return describe(path)
    start(path, new.flavour)
    try:
        return add(Untold(path), new)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def create_file(path: str, new: NewFile) -> None:
    """Create a store with all its arrays, none of whose chunks is stored, and consolidated metadata."""
    _core.zarr_create_file(path, _file_with_codecs(new), [_only_registered(array) for array in new.variables])


def finish(path: str) -> None:
    """Write the consolidated metadata of a new store; one that is an array needs none."""
    _core.zarr_finish(path)


def refusals(new: NewFile) -> list[str]:
    """Return, in words, what a store cannot hold of all that."""
    found: list[str] = []
    groups = []
    for group in new.groups:
        where = f"group {group.name}: " if group.name else ""
        groups.append(dataclasses.replace(group, attributes=_convertible(where, group.attributes, found)))
    arrays = []
    for array in new.variables:
        bare = dataclasses.replace(array, attributes=_convertible(f"{array.name}: ", array.attributes, found))
        coded, why = tried(array.name, functools.partial(_with_codecs, bare))
        found += why
        arrays.append(dataclasses.replace(bare, codecs=()) if coded is None else coded)
    return found + _core.zarr_refusals(NewFile(new.flavour, tuple(groups), tuple(arrays)))


def _convertible(where: str, attributes: Mapping[str, Any], refused: list[str]) -> Attributes:
    """Return the attributes that the core takes; what is wrong with the others goes to `refused`."""
    kept = {}
    for name, value in attributes.items():
        _, why = tried(f"{where}attribute {name}", functools.partial(_core.check_attribute, name, value))
        refused += why
        if not why:
            kept[name] = value
    return kept


def chunks_and_shards(
    shape: tuple[int, ...], dtype: np.dtype[Any], chunks: tuple[int, ...] | None, shards: tuple[int, ...] | None
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """The shape of a chunk, by default of about 4 MiB, and of a shard; ArgumentError where they do not fit."""
    chunk, shard = _core.zarr_chunks_and_shards(shape, dtype.itemsize, chunks, shards)
    return tuple(chunk), None if shard is None else tuple(shard)


# ---- Changes ---------------------------------------------------------------------------------------------------------

_stores: weakref.WeakKeyDictionary[Any, _core.ZarrStore] = weakref.WeakKeyDictionary()
"""Stores that are being changed: what was read of their metadata is not read again."""


def _store_of(changes: Changes) -> _core.ZarrStore:
    found = _stores.get(changes)
    if found is None or found.path != changes.path:
        found = _stores[changes] = _core.ZarrStore(changes.path, to_change=True)
    return found


def add(changes: Changes, new: NewArray) -> Description:
    """Add an array, and the groups that its name has and the store has not; none of its chunks is stored.

    A dimension that is there already, in the array's group or one above it, is that dimension: where it grows the array
    has its length. Raises ArgumentError where the name is taken, or lengths differ; the store is as it was then.
    """
    store = _store_of(changes)
    if new.flavour is not None and new.flavour != f"v{store.version}":
        raise ArgumentError(f"{store.path}: the store has version {store.version}, and so have its arrays")
    return _readable(store.add(changes, _with_codecs(new), _only_registered(new)))


def set_attributes(changes: Changes, holder: str, attributes: Attributes) -> None:
    """Add or replace attributes of a group, or of an array: "" is the store, "group/t" an array. None removes one."""
    _store_of(changes).set_attributes(changes, holder, attributes)


def extend(
    changes: Changes, variable: str, rows: int, *, written_from: int | None = None, seen: Seen | None = None
) -> Description:
    """Return the array with so many rows, for which there is room: a chunk is a file of its own.

    Nothing is touched. The rows are not the array's before `set_length`.
    """
    del written_from, seen
    return _readable(_store_of(changes).extend(variable, rows))


def set_length(changes: Changes, dimension: str, rows: int) -> None:
    """Give a dimension a length, in all arrays that have it: "time", or "ocean/time" of a group.

    An array whose dimensions have no names is the only one along its first dimension, which has the array's name here.
    Chunks stay as they are: rows that nobody has written since may have what was written before they were cut off.
    """
    _store_of(changes).set_length(changes, dimension, rows)


def consolidate(path: str) -> None:
    """Write consolidated metadata, as zarr-python does: other readers open the store by reading one file."""
    _core.ZarrStore(path, to_change=False).consolidate()


# ---- Codecs ----------------------------------------------------------------------------------------------------------


def asked_codecs(codecs: Any, itemsize: int) -> tuple[Codec, ...]:
    """What `create` is given as codecs; see swath.formats.codecs."""
    dialect = Dialect(defaults={"shuffle": {"elementsize": itemsize}})
    return asked("zstd" if codecs is None else codecs, itemsize, dialect)


def registered(codecs: Sequence[Codec], chunk_bytes: int) -> tuple[Codec, ...]:
    """Return codecs that are registered for version 3, which every reader has, in place of those that are not.

    fletcher32 becomes crc32c, zlib gzip; lz4, and a compressor with a shuffle before it, become Blosc, which does both.
    A shuffle alone, which makes nothing smaller, is left out.
    """
    return _core.zarr_registered_codecs(codecs, min(chunk_bytes, 2**63 - 1))


def codec_to_v3(codec: Codec) -> dict[str, Any]:
    """Return the codec as metadata of version 3; those that are not registered have numcodecs' names."""
    found: dict[str, Any] = json.loads(_core.zarr_codec_json(codec, 3))
    return found


def codec_to_v2(codec: Codec) -> dict[str, Any]:
    """Return the codec as numcodecs configures it."""
    found: dict[str, Any] = json.loads(_core.zarr_codec_json(codec, 2))
    return found


def _with_codecs(new: NewArray) -> NewArray:
    """Return what is asked for with codecs as the core has them."""
    codecs = None if new.dtype.hasobject else asked_codecs(new.codecs, new.dtype.itemsize)
    return dataclasses.replace(new, codecs=codecs)


def _file_with_codecs(new: NewFile) -> NewFile:
    return dataclasses.replace(new, variables=tuple(_with_codecs(array) for array in new.variables))


def _only_registered(new: NewArray) -> bool:
    """Return whether version 3 gets registered codecs: unless numcodecs' are asked for."""
    several = [new.codecs] if isinstance(new.codecs, (str, Mapping)) else new.codecs or ()
    names = [one["name"] if isinstance(one, Mapping) else one for one in several]
    return not any(name.startswith(_OF_NUMCODECS) for name in names)

"""Zarr stores in a local folder, versions 3 and 2: the core reads and writes their metadata (core/formats/zarr).

This module has the rest: arrays that zarr-python reads for Swath, and conversions to Python's types.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swath import _core
from swath.errors import ArgumentError
from swath.formats import zarr_library
from swath.formats.changes import FileChanges
from swath.formats.codecs import Dialect, asked
from swath.formats.contents import Attributes, Contents
from swath.formats.description import Codec, Description, LibraryLayout, NewArray
from swath.formats.new_file import NewFile, tried
from swath.formats.through_core import FormatOfCore

FLAVOURS: tuple[str, ...] = ("v3", "v2")
FILL = "_FillValue"
_OF_NUMCODECS = "numcodecs."


def is_store(path: str) -> bool:
    """Return whether a folder holds a Zarr array or group."""
    return _core.zarr_is_store(path)


class ZarrOfCore(FormatOfCore):
    """Zarr stores for `swath.formats`. `describe` reads an array's own metadata, not consolidated ones.

    `describe` also raises UnsupportedError for elements or codecs that both Swath and zarr-python lack.
    """

    def start(self, path: str, flavour: str | None) -> None:
        """Make a new store, whose root is an empty group."""
        self.create_file(path, NewFile(flavour, (), ()))

    def create(self, path: str, new: NewArray) -> Description:
        """Make a store of one array, which is the store itself, or `new.variable` in its groups.

        No chunk is stored: all elements are the fill value.
        """
        self.create_file(path, NewFile(new.flavour, (), (new,)))
        return self.describe(path, new.variable)

    def refusals(self, new: NewFile) -> list[str]:
        """Return descriptions of what a store cannot contain of these contents."""
        found: list[str] = []
        groups = []
        for group in new.groups:
            where = f"group {group.name}: " if group.name else ""
            groups.append(dataclasses.replace(group, attributes=_convertible(where, group.attributes, found)))
        arrays = []
        for array in new.variables:
            bare = dataclasses.replace(array, attributes=_convertible(f"{array.name}: ", array.attributes, found))
            coded, why = tried(array.name, functools.partial(self._array_for_core, bare))
            found += why
            arrays.append(dataclasses.replace(bare, codecs=()) if coded is None else coded)
        return found + _core.format_refusals(self.name, NewFile(new.flavour, tuple(groups), tuple(arrays)))

    def to_add(self, changes: FileChanges, new: NewArray) -> NewArray:
        """Return an array that a store gets in the words of the core. Raises ArgumentError for another version."""
        if new.flavour is not None:
            version = changes.contents().version
            if version != f"Zarr {new.flavour[1:]}":
                raise ArgumentError(f"{changes.path}: the store has version {version[5:]}, and so have its arrays")
        return super().to_add(changes, new)

    def _array_for_core(self, new: NewArray) -> NewArray:
        codecs = None if new.dtype.hasobject else asked_codecs(new.codecs, new.dtype.itemsize)
        return dataclasses.replace(new, codecs=codecs, only_registered_codecs=_only_registered(new))

    def _contents(self, path: str, found: Contents) -> Contents:
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

    def described(self, found: Description) -> Description:
        """Convert the core's description to Python's types, for an array that Swath or zarr-python reads."""
        plain = dataclasses.replace(found, attributes=_plain(found.attributes))
        return zarr_library.described(plain) if isinstance(found.layout, LibraryLayout) else plain


def _plain(attributes: Attributes) -> Attributes:
    """Return numbers in JSON's types, int and float; but the fill value has the type of the elements."""
    return {
        name: value.item() if isinstance(value, np.generic) and name != FILL else value
        for name, value in attributes.items()
    }


def _convertible(where: str, attributes: Mapping[str, Any], refused: list[str]) -> Attributes:
    """Return the attributes that the core accepts; descriptions of the others go to `refused`."""
    kept = {}
    for name, value in attributes.items():
        _, why = tried(f"{where}attribute {name}", functools.partial(_core.check_attribute, name, value))
        refused += why
        if not why:
            kept[name] = value
    return kept


def _only_registered(new: NewArray) -> bool:
    """Return whether version 3 gets registered codecs: unless the caller asks for numcodecs'."""
    several = [new.codecs] if isinstance(new.codecs, (str, Mapping)) else new.codecs or ()
    names = [one["name"] if isinstance(one, Mapping) else one for one in several]
    return not any(name.startswith(_OF_NUMCODECS) for name in names)


def finish(path: str) -> None:
    """Write consolidated metadata, as zarr-python does; a store of one array needs none."""
    _core.finish_format_file("zarr", path)


def chunks_and_shards(
    shape: tuple[int, ...], dtype: np.dtype[Any], chunks: tuple[int, ...] | None, shards: tuple[int, ...] | None
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Return the shape of a chunk, by default of about 4 MiB, and of a shard; ArgumentError if they do not fit."""
    chunk, shard = _core.zarr_chunks_and_shards(shape, dtype.itemsize, chunks, shards)
    return tuple(chunk), None if shard is None else tuple(shard)


# ---- Codecs ----------------------------------------------------------------------------------------------------------


def asked_codecs(codecs: Any, itemsize: int) -> tuple[Codec, ...]:
    """Return the codecs for the argument of `create`; see swath.formats.codecs."""
    dialect = Dialect(defaults={"shuffle": {"elementsize": itemsize}})
    return asked("zstd" if codecs is None else codecs, itemsize, dialect)


def registered(codecs: Sequence[Codec], chunk_bytes: int) -> tuple[Codec, ...]:
    """Replace codecs that version 3 has not registered by registered ones, which every reader has.

    fletcher32 becomes crc32c, zlib gzip; lz4, and a compressor after a shuffle, become Blosc, which does both. A
    shuffle alone is left out, since it compresses nothing.
    """
    return _core.zarr_registered_codecs(codecs, min(chunk_bytes, 2**63 - 1))


def codec_to_v3(codec: Codec) -> dict[str, Any]:
    """Return the codec as metadata of version 3; a codec that is not registered has numcodecs' name."""
    found: dict[str, Any] = json.loads(_core.zarr_codec_json(codec, 3))
    return found


def codec_to_v2(codec: Codec) -> dict[str, Any]:
    """Return the codec in numcodecs' configuration."""
    found: dict[str, Any] = json.loads(_core.zarr_codec_json(codec, 2))
    return found


_core_format = ZarrOfCore("zarr")

add = _core_format.add
contents = _core_format.contents
contents_to_change = _core_format.contents_to_change
create = _core_format.create
create_file = _core_format.create_file
describe = _core_format.describe
described = _core_format.described
describe_many = _core_format.describe_many
extend = _core_format.extend
refusals = _core_format.refusals
set_attributes = _core_format.set_attributes
set_length = _core_format.set_length
start = _core_format.start
to_add = _core_format.to_add

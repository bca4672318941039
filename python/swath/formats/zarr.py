"""Zarr stores in a local folder, versions 3 and 2: what they hold, where the chunks are, and how a store is made.

The metadata are read by modules of Swath's, not by zarr-python: `zarr_nodes` has the files, `zarr_arrays` what an array
says of its chunks, `zarr_changes` how a store changes, `zarr_library` what is left to zarr-python.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Sequence
from typing import Any

import numpy as np

from swath.errors import ArgumentError, FormatError, UnsupportedError
from swath.formats import zarr_arrays, zarr_changes, zarr_library
from swath.formats.choose import choose, describes_others
from swath.formats.contents import Contents, Group, Variable
from swath.formats.description import CodedLayout, Description, LibraryLayout, NewArray, Shards
from swath.formats.new_file import NewFile
from swath.formats.zarr_arrays import CHUNK_BYTES, chunks_and_shards
from swath.formats.zarr_attributes import typed_attributes
from swath.formats.zarr_changes import (
    Changes,
    Untold,
    consolidate,
    refusals,
    set_attributes,
    set_length,
    start,
    start_all,
)
from swath.formats.zarr_dimensions import Dimensions
from swath.formats.zarr_nodes import Node, declared_above, hierarchy, is_name, is_store, read_node, walk

__all__ = [
    "CHUNK_BYTES",
    "FLAVOURS",
    "add",
    "chunks_and_shards",
    "consolidate",
    "contents",
    "create",
    "create_file",
    "describe",
    "describe_many",
    "extend",
    "is_store",
    "refusals",
    "set_attributes",
    "set_length",
    "start",
]

FLAVOURS = ("v3", "v2")


def describe(path: str, variable: str | None = None) -> Description:
    """One array of the store, "group/name" in a group; None stands for the only one that holds numbers of its own.

    Its own metadata are read, not consolidated ones. Raises ArgumentError, listing what there is, where `variable`
    names no array or None is not enough; UnsupportedError for elements or codecs that neither Swath nor zarr-python
    has; FormatError for metadata that cannot be true.
    """
    name = "" if variable is None else variable.strip("/")
    node = read_node(path, name) if variable is None or is_name(variable) else None
    if node is None or not node.is_array:
        name = choose(path, _variables(hierarchy(path)), variable).strip("/")
        node = read_node(path, name)
        if node is None or not node.is_array:
            raise FormatError(f"{path}: its consolidated metadata tell of an array {name!r} that is not there")
    return zarr_arrays.describe(node, name or None, declared_above(path, name))


def describe_many(path: str, variables: Sequence[str]) -> list[Description]:
    """Return several arrays. Raises as `describe` does."""
    return [describe(path, name) for name in variables]


def contents(path: str) -> Contents:
    """Return what the store holds, from its consolidated metadata where it has valid ones."""
    return _contents_of(path, hierarchy(path))


def contents_to_change(path: str) -> Contents:
    """Return the same from the metadata of each node: other programs change them without consolidating them again."""
    return _contents_of(path, list(walk(path)))


def _contents_of(path: str, nodes: list[Node]) -> Contents:
    if not nodes:
        raise FormatError(f"{path}: no Zarr store: it has no zarr.json, .zarray or .zgroup")
    dimensions = Dimensions(nodes)
    groups = {node.name: node for node in nodes if not node.is_array or not node.name}
    return Contents(
        "zarr",
        f"Zarr {nodes[0].version}",
        {
            name: Group(name, {} if node.is_array else typed_attributes(node), dimensions.of_group(name))
            for name, node in groups.items()
        },
        {variable.name: variable for variable in _variables(nodes)},
    )


def _variables(nodes: list[Node]) -> list[Variable]:
    """Return every array, also those that Swath cannot read."""
    found = [(node, *_stored(node)) for node in nodes if node.is_array]
    attributes = [typed_attributes(node, dtype) for node, dtype, _, _ in found]
    named = describes_others(attributes)
    variables = []
    for (node, dtype, layout, why), own in zip(found, attributes, strict=True):
        dimensions = node.dimensions()
        describes = node.short_name in named or dimensions == (node.short_name,)
        variable = Variable(
            node.name,
            node.shape(),
            dtype,
            dimensions,
            own,
            None if layout is None else layout.chunk_shape,
            is_coordinate=describes or dtype is None or dtype.kind not in "biufc",
            unsupported=why,
            shards=layout.places.shape
            if isinstance(layout, CodedLayout) and isinstance(layout.places, Shards)
            else None,
            codecs=layout.codecs if isinstance(layout, CodedLayout) else None,
        )
        variables.append(variable)
    return variables


def _stored(node: Node) -> tuple[np.dtype[Any] | None, CodedLayout | LibraryLayout | None, str]:
    """Return dtype and layout of an array, None where they are not known, and why it cannot be read."""
    try:
        return *zarr_arrays.stored(node), ""
    except UnsupportedError as error:
        return zarr_library.glance(node, error)


def create(path: str, new: NewArray) -> Description:
    """Create a store with one array, none of whose chunks is stored: all elements are the fill value.

    The array is the store itself, or `new.variable` in its groups.
    """
    if new.variable is None:
        zarr_changes.start_array(path, new)
        return describe(path)
    start(path, new.flavour)
    try:
        return add(Untold(path), new)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def create_file(path: str, new: NewFile) -> None:
    """Create a store with all its arrays, none of whose chunks is stored, and consolidated metadata."""
    start_all(path, new)


def finish(path: str) -> None:
    """Write the consolidated metadata of a new store; one that is an array needs none."""
    root = read_node(path)
    if root is not None and not root.is_array:
        consolidate(path)


def add(changes: Changes, new: NewArray) -> Description:
    """Add an array to a store of groups, see `zarr_changes.add`; none of its chunks is stored."""
    name = zarr_changes.add(changes, new)
    found = describe(changes.path, name)
    return dataclasses.replace(found, unlimited=new.unlimited) if any(new.unlimited) else found


def extend(changes: Changes, variable: str, rows: int, *, is_written: bool = False) -> Description:
    """Return the array with so many rows, for which there is room: a chunk is a file of its own.

    Nothing is touched. The rows are not the array's before `set_length`.
    """
    found = describe(changes.path, variable)
    if not found.shape or rows < found.shape[0]:
        raise ArgumentError(f"{found.name}: an array of shape {found.shape} cannot be extended to {rows} rows")
    if isinstance(found.layout, LibraryLayout):
        raise UnsupportedError(f"{found.name}: Swath does not write what it reads through zarr-python")
    return dataclasses.replace(found, shape=(rows, *found.shape[1:]))

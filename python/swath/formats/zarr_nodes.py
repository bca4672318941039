"""The nodes of a Zarr store, its groups and arrays: read one by one, or all of them from consolidated metadata.

    for node in walk("run.zarr"):          # groups before what they hold
        node.name, node.is_array, node.attributes

Consolidated metadata are copies of all metadata in one file at the root: `.zmetadata` of version 2, and
`consolidated_metadata` in the `zarr.json` of version 3, as zarr-python writes it. The files of the nodes are the truth.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from swath.errors import FormatError, StoreError
from swath.formats.files import store_errors
from swath.formats.json_fields import Field, json_file, mentions

ALL_OF_V2 = ".zmetadata"
ALL_OF_V3 = "consolidated_metadata"
DIMENSIONS_OF_V2 = "_ARRAY_DIMENSIONS"
"""The attribute in which xarray keeps the names of dimensions."""
UNLIMITED = "_nc_unlimited_dimensions"
"""The attribute of a group that lists its dimensions that were declared to grow.

Zarr has no such thing: any array can be resized. What was declared must be found again where a file is opened to append
to, or copied to a format in which it matters. An attribute of a group is what all readers of both versions accept and
keep (zarr-python refuses other members of a group's metadata). xarray does not show attributes of groups whose names
begin with _nc, which are netCDF's books; in arrays, it would.
"""
_FILES_KEPT = 256
"""Of groups, what they declare."""


@dataclass(frozen=True)
class Node:
    """A group or an array, as its metadata have it.

    Attributes:
        path: the store.
        name: its path in the store; "" for the store itself.
        version: 2 or 3.
        is_array: whether it is no group.
        metadata: what `zarr.json`, `.zarray` or `.zgroup` holds.
        attributes: of version 2 they have a file of their own.
    """

    path: str
    name: str
    version: int
    is_array: bool
    metadata: Field
    attributes: Field

    @property
    def group(self) -> str:
        """The name of the group that it lies in."""
        return self.name.rpartition("/")[0]

    @property
    def short_name(self) -> str:
        """Its name in its group."""
        return self.name.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """Where its files are."""
        return folder_of(self.path, self.name)

    def shape(self) -> tuple[int, ...]:
        """Return the shape of an array."""
        return self.metadata.of("shape").lengths(least=0)

    def dimensions(self) -> tuple[str, ...]:
        """Return the names of an array's dimensions, "" for one without a name; () where none is named.

        Raises FormatError where there are names, but not one for each.
        """
        ndim = len(self.shape())
        names = self.metadata.of("dimension_names")
        if self.version == 3 and names.value is not None:
            found = tuple(name.text(default="") for name in names.items())
            if len(found) != ndim:
                raise names.wrong(f"{ndim} names")
            return found if any(found) else ()
        others = self.attributes.members().get(DIMENSIONS_OF_V2)  # the user's, who may mean something else by it
        if not isinstance(others, list) or len(others) != ndim or not all(isinstance(name, str) for name in others):
            return ()
        return tuple(others)

    def unlimited(self) -> frozenset[str]:
        """Return the names of a group's dimensions that were declared to grow."""
        return _declared(self.attributes)


def _declared(attributes: Field) -> frozenset[str]:
    names = attributes.members().get(UNLIMITED)
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


def folder_of(path: str, name: str) -> str:
    """Return where the files of a node are."""
    return os.path.join(path, name) if name else path


def is_store(path: str) -> bool:
    """Return whether a folder holds a Zarr array or group."""
    return any(os.path.exists(os.path.join(path, name)) for name in ("zarr.json", ".zarray", ".zgroup"))


def is_name(name: str) -> bool:
    """Return whether a store can have a node of that name, which may be a path through groups."""
    parts = name.strip("/").split("/")
    return all(part and part not in (".", "..") and not part.startswith("__") and "\0" not in part for part in parts)


def read_node(path: str, name: str = "") -> Node | None:
    """Return a node of the store at `path`; None where there is none. Raises FormatError for damaged metadata."""
    folder = folder_of(path, name)
    if (found := _json(folder, "zarr.json")) is not None:
        return _node_of_v3(path, name, found)
    for file, is_array in ((".zarray", True), (".zgroup", False)):
        if (found := _json(folder, file)) is not None:
            attributes = _json(folder, ".zattrs") or Field({}, os.path.join(folder, ".zattrs"))
            return _node_of_v2(path, name, found, attributes, is_array=is_array)
    return None


def _json(folder: str, name: str) -> Field | None:
    try:
        return json_file(os.path.join(folder, name))
    except StoreError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            return None
        raise


def _node_of_v3(path: str, name: str, metadata: Field) -> Node:
    metadata.of("zarr_format").integer(3, 3)
    is_array = metadata.of("node_type").text(("array", "group")) == "array"
    return Node(path, name, 3, is_array, metadata, metadata.of("attributes"))


def _node_of_v2(path: str, name: str, metadata: Field, attributes: Field, *, is_array: bool) -> Node:
    metadata.of("zarr_format").integer(2, 2)
    return Node(path, name, 2, is_array, metadata, attributes)


def walk(path: str) -> Iterator[Node]:
    """Every node of the store, by name, groups before what they hold. Folders of chunks are not looked into.

    A group that is a link to one that was found before, such as one that it lies in, is not looked into again.
    """
    found: set[tuple[int, int]] = set()
    waiting = [""]
    while waiting:
        node = read_node(path, waiting.pop())
        if node is None:
            continue
        if not node.is_array:
            status = os.stat(node.folder)
            if (status.st_dev, status.st_ino) in found:
                continue
            found.add((status.st_dev, status.st_ino))
            waiting += reversed(_names_below(node))
        yield node


def arrays_in(group: Node) -> Iterator[Node]:
    """The arrays that a group holds itself, by name."""
    for name in _names_below(group):
        node = read_node(group.path, name)
        if node is not None and node.is_array:
            yield node


def _names_below(group: Node) -> list[str]:
    with store_errors(group.folder, "list"), os.scandir(group.folder) as entries:
        return sorted(f"{group.name}/{entry.name}".lstrip("/") for entry in entries if entry.is_dir())


def declared_above(path: str, name: str) -> frozenset[str]:
    """Return the names of dimensions that the groups above an array declare to grow."""
    found: frozenset[str] = frozenset()
    while name:
        name = name.rpartition("/")[0]
        for file in ("zarr.json", ".zattrs"):
            full = os.path.join(folder_of(path, name), file)
            with contextlib.suppress(OSError):
                status = os.stat(full)
                found |= _declared_in(full, (status.st_ino, status.st_mtime_ns, status.st_size))
    return found


@functools.lru_cache(_FILES_KEPT)
def _declared_in(path: str, state: tuple[int, int, int]) -> frozenset[str]:
    """Return what `declared_above` finds in one file, which may hold the metadata of all other nodes, too."""
    del state  # another one is another file of that name
    if not mentions(path, UNLIMITED):
        return frozenset()
    found = json_file(path)
    return _declared(found.of("attributes") if os.path.basename(path) == "zarr.json" else found)


def hierarchy(path: str) -> list[Node]:
    """Return the nodes that consolidated metadata tell of, where there are valid ones, else those that `walk` finds.

    Groups come before what they hold.
    """
    root = read_node(path)
    found = None if root is None or root.is_array else _consolidated(path, root)
    return list(walk(path)) if found is None else found


def is_consolidated(root: Node) -> bool:
    """Return whether the store of that root has consolidated metadata, valid or not."""
    if root.version == 2:
        return os.path.exists(os.path.join(root.folder, ALL_OF_V2))
    return root.metadata.members().get(ALL_OF_V3) is not None


def _consolidated(path: str, root: Node) -> list[Node] | None:
    """Return all nodes as the root has them; None where it has none, or what cannot be true."""
    try:
        found = _of_v3(path, root) if root.version == 3 else _of_v2(path, root)
    except FormatError:
        return None
    if found is None:
        return None
    groups = {node.name for node in found if not node.is_array} | {""}
    is_whole = all(is_name(node.name) and node.group in groups for node in found)
    return [root, *sorted(found, key=lambda node: node.name.split("/"))] if is_whole else None


def _of_v3(path: str, root: Node) -> list[Node] | None:
    kept = root.metadata.of(ALL_OF_V3)
    if kept.value is None:
        return None
    kept.of("kind").text(("inline",))
    every = kept.of("metadata")
    return [_node_of_v3(path, name, _object(every, name)) for name in every.members()]


def _of_v2(path: str, root: Node) -> list[Node] | None:
    kept = _json(path, ALL_OF_V2)
    if kept is None:
        return None
    kept.of("zarr_consolidated_format").integer(1, 1)
    every = kept.of("metadata")
    found = []
    for key in every.members():
        name, _, file = key.rpartition("/")
        if file not in (".zarray", ".zgroup") or not name:
            continue
        beside = f"{name}/.zattrs"
        attributes = _object(every, beside) if beside in every.members() else Field({}, kept.file, beside)
        found.append(_node_of_v2(path, name, _object(every, key), attributes, is_array=file == ".zarray"))
    return found


def _object(holder: Field, key: str) -> Field:
    """Return the object that another one has under a key; FormatError where it is none."""
    found = holder.of(key)
    if not isinstance(found.value, dict):
        raise found.wrong("an object")
    return found


def attributes_of(node: Node) -> dict[str, Any]:
    """Return the attributes that are the user's, as JSON has them."""
    if node.is_array:
        return {name: value for name, value in node.attributes.members().items() if name != DIMENSIONS_OF_V2}
    return {name: value for name, value in node.attributes.members().items() if not name.lower().startswith("_nc")}

"""Changes of a Zarr store: new groups and arrays, attributes, lengths of dimensions, consolidated metadata.

A file of metadata is replaced as a whole: written aside in its folder, then renamed. Where several are replaced all of
them are written aside first: a full disk changes nothing. `Changes` is told before of each; it takes them back where
the process is killed before they are committed.

Where a store has consolidated metadata they are written again with each change, last: who trusts them finds no array
that is not there, and no record that is not written, at any time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import json
import os
import secrets
import shutil
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from swath.errors import ArgumentError, ExistsError, FormatError, UnsupportedError
from swath.formats import zarr_arrays
from swath.formats.contents import Attributes
from swath.formats.description import OFFSET_LIMIT, NewArray
from swath.formats.files import store_errors
from swath.formats.json_fields import Field
from swath.formats.new_file import NewFile, refused
from swath.formats.zarr_attributes import FILL, attributes_to_json, element, fill_attribute
from swath.formats.zarr_dimensions import Dimensions
from swath.formats.zarr_elements import fill_to_json
from swath.formats.zarr_nodes import (
    ALL_OF_V2,
    ALL_OF_V3,
    UNLIMITED,
    Node,
    arrays_in,
    folder_of,
    is_consolidated,
    is_name,
    read_node,
    walk,
)


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


def version_of(flavour: str | None) -> int:
    """Return the version that a flavour of a store is."""
    return 2 if flavour == "v2" else 3


def start(path: str, flavour: str | None) -> None:
    """Make a new store, whose root is a group that holds nothing."""
    _make(path, _new_group(path, "", version_of(flavour)))


def start_array(path: str, new: NewArray) -> None:
    """Make a new store that is one array."""
    _make(path, _new_array(path, "", version_of(new.flavour), new))


def start_all(path: str, new: NewFile) -> None:
    """Make a new store with all its groups and arrays, no chunk of which is stored, and consolidated metadata."""
    version = version_of(new.flavour)
    groups = []
    for group in new.groups:
        grows = frozenset(name for name, dimension in group.dimensions.items() if dimension.is_unlimited)
        node = _new_group(path, group.name, version, grows)
        groups.append(_with_attributes(node, {**attributes_to_json(group.attributes), **node.attributes.members()}))
    arrays = [_new_array(path, one.name.strip("/"), version, one) for one in new.variables]
    _make(path, *groups, *arrays, is_consolidated=True)


def refusals(new: NewFile) -> list[str]:
    """Return, in words, what a store cannot hold of all that."""
    return refused(_attempts(new, version_of(new.flavour)))


def _attempts(new: NewFile, version: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    for group in new.groups:
        where = f"group {group.name}: " if group.name else ""
        if group.name:
            yield f"group {group.name}", functools.partial(_check_name, group.name)
        for name, value in group.attributes.items():
            yield f"{where}attribute {name}", functools.partial(attributes_to_json, {name: value})
    for array in new.variables:
        yield array.name, functools.partial(_check_name, array.name.strip("/"))
        bare = dataclasses.replace(array, attributes={})
        yield array.name, functools.partial(zarr_arrays.new_metadata, bare, version)
        for name, value in array.attributes.items():
            yield f"{array.name}: attribute {name}", functools.partial(attributes_to_json, {name: value})


def _check_name(name: str) -> None:
    if not is_name(name):
        raise ArgumentError(f"Zarr allows no name {name!r}")


def _make(path: str, *nodes: Node, is_consolidated: bool = False) -> None:
    with store_errors(path, "create"):
        os.mkdir(path)
        try:
            for node in nodes[1:]:
                os.makedirs(node.folder, exist_ok=True)
            edit = _Edit(Untold(path))
            for node in nodes:
                edit.put(node)
            if is_consolidated:
                edit.consolidate(nodes[0])
            edit.apply()
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise


def add(changes: Changes, new: NewArray) -> str:
    """Add an array, and the groups that its name has and the store has not; return its name.

    A dimension that is there already, in the array's group or one above it, is that dimension: where it grows the array
    has its length. Raises ArgumentError where the name is taken, or lengths differ; the store is as it was then.
    """
    path = changes.path
    root = _root(path)
    name = _new_name(root, new)
    groups, missing = _groups_of(path, name)
    new = _fitted(new, name, groups)
    edit = _Edit(changes)
    edit.put(_new_array(path, name, root.version, new))
    grows = _new_unlimited(new, groups)
    own = name.rpartition("/")[0]
    for group in reversed(missing):  # what holds the others last: they appear at once
        edit.put(_new_group(path, group, root.version, grows if group == own else frozenset()))
    if own not in missing and not grows <= groups[-1].unlimited():
        declared = sorted(groups[-1].unlimited() | grows)
        edit.put(_with_attributes(groups[-1], {**groups[-1].attributes.members(), UNLIMITED: declared}))
    edit.apply(folder=name)
    return name


def set_attributes(changes: Changes, holder: str, attributes: Attributes) -> None:
    """Add or replace attributes of a group, or of an array: "" is the store, "group/t" an array. None removes one."""
    node = _node(changes.path, holder)
    kept = {name: value for name, value in attributes.items() if value is not None}
    stored = {**node.attributes.members(), **attributes_to_json({k: v for k, v in kept.items() if k != FILL})}
    for name in attributes.keys() - kept.keys():
        attributes_to_json({name: None})  # refuses those that are no user's
        stored.pop(name, None)
    edit = _Edit(changes)
    if node.is_array and FILL in attributes:
        edit.put(_with_fill(_with_attributes(node, stored), attributes[FILL]))
    else:
        edit.put(_with_attributes(node, {**stored, **attributes_to_json({k: v for k, v in kept.items() if k == FILL})}))
    edit.apply()


def set_length(changes: Changes, dimension: str, rows: int) -> None:
    """Give a dimension a length, in all arrays that have it: "time", or "ocean/time" of a group.

    An array whose dimensions have no names is the only one along its first dimension, which has the array's name here.
    Chunks stay as they are: rows that nobody has written since may have what was written before they were cut off.
    """
    if not 0 <= rows < OFFSET_LIMIT:
        raise ArgumentError(f"{changes.path}: {dimension!r} cannot have the length {rows}")
    nodes = list(walk(changes.path))
    found = _along(changes.path, nodes, dimension.strip("/"))
    edit = _Edit(changes, nodes)
    for array, along in found:
        shape = [rows if i in along else n for i, n in enumerate(array.shape())]
        edit.put(_with_metadata(array, {**array.metadata.members(), "shape": shape}))
    edit.apply()


def consolidate(path: str) -> None:
    """Write consolidated metadata, as zarr-python does: other readers open the store by reading one file."""
    edit = _Edit(Untold(path))
    edit.consolidate(_root(path))
    edit.apply()


# ---- What is asked for -----------------------------------------------------------------------------------------------


def _root(path: str) -> Node:
    root = read_node(path)
    if root is None:
        raise FormatError(f"{path}: no Zarr store: it has no zarr.json, .zarray or .zgroup")
    if root.is_array:
        raise ArgumentError(f"{path}: the store is one array, which holds no others; make a store with groups instead")
    return root


def _node(path: str, name: str) -> Node:
    name = name.strip("/")
    found = read_node(path, name) if not name or is_name(name) else None
    if found is None:
        raise ArgumentError(f"{path}: there is no group and no array {name!r}")
    return found


def _new_name(root: Node, new: NewArray) -> str:
    if new.variable is None or not is_name(new.variable):
        raise ArgumentError(f"Zarr allows no name {new.variable!r}; expected a name, or group/name")
    if new.flavour is not None and version_of(new.flavour) != root.version:
        raise ArgumentError(f"{root.path}: the store has version {root.version}, and so have its arrays")
    name = new.variable.strip("/")
    if (taken := read_node(root.path, name)) is not None:
        what = "an array" if taken.is_array else "a group"
        raise ExistsError(f"{root.path}: there is {what} {name!r} already; choose another name", errno.EEXIST)
    if os.path.lexists(folder_of(root.path, name)):
        raise ArgumentError(f"{root.path}: there is something else than an array under the name {name!r}")
    return name


def _groups_of(path: str, name: str) -> tuple[list[Node], list[str]]:
    """Return the groups above an array that are there, and the names of those that are not; from the root down."""
    there, missing = [], []
    parts = name.split("/")
    for i in range(len(parts)):
        above = "/".join(parts[:i])
        node = read_node(path, above)
        if node is None:
            missing.append(above)
        elif node.is_array:
            raise ArgumentError(f"{path}: {above!r} is an array, which holds no others such as {name!r}")
        else:
            there.append(node)
    return there, missing


def _fitted(new: NewArray, name: str, groups: list[Node]) -> NewArray:
    """Return what is asked for, as long as the dimensions that are there already."""
    if new.dimensions is None:
        return new
    group = name.rpartition("/")[0]
    known = Dimensions(node for above in groups for node in (above, *arrays_in(above)))
    shape = list(new.shape)
    for i, (dimension, length, grows) in enumerate(zip(new.dimensions, new.shape, _grows(new), strict=True)):
        seen = known.seen_from(group, dimension)
        if seen is None:
            continue
        there = seen[1]
        if grows and not there.is_unlimited:
            raise ArgumentError(
                f"{name}: dimension {dimension!r} is there already, has the length {there.length}, and is not one "
                "that grows; give its length, or choose another name"
            )
        if not grows and length != there.length:
            raise ArgumentError(
                f"{name}: dimension {dimension!r} is there already, and has the length {there.length}, not {length}; "
                "choose another name"
            )
        shape[i] = there.length
    return dataclasses.replace(new, shape=tuple(shape))


def _grows(new: NewArray) -> tuple[bool, ...]:
    return new.unlimited or (False,) * len(new.shape)


def _new_unlimited(new: NewArray, groups: list[Node]) -> frozenset[str]:
    """Return the names of dimensions that are to grow, and that no group declares yet."""
    asked = {name for name, grows in zip(new.dimensions or (), _grows(new), strict=False) if grows}
    return frozenset(asked).difference(*(group.unlimited() for group in groups))


def _along(path: str, nodes: list[Node], dimension: str) -> list[tuple[Node, list[int]]]:
    """Return the arrays that have a dimension, and which of theirs it is."""
    dimensions = Dimensions(nodes)
    arrays = [node for node in nodes if node.is_array]
    group, _, name = dimension.rpartition("/")
    seen = dimensions.seen_from(group, name)
    if seen is not None:
        wanted = (seen[0], name)
        along = [(a, [i for i, has in enumerate(dimensions.of_array(a)) if has == wanted]) for a in arrays]
        return [(array, places) for array, places in along if places]
    own = [(array, [0]) for array in arrays if array.name == dimension and array.shape() and not array.dimensions()]
    if not own:
        there = ", ".join(dimensions.paths()[:20]) or "none"
        raise ArgumentError(f"{path}: there is no dimension {dimension!r}; there are: {there}")
    return own


# ---- Nodes as they are to be -----------------------------------------------------------------------------------------


def _new_group(path: str, name: str, version: int, grows: frozenset[str] = frozenset()) -> Node:
    attributes = Field({UNLIMITED: sorted(grows)} if grows else {}, "")
    metadata = {"zarr_format": 2} if version == 2 else {"zarr_format": 3, "node_type": "group"}
    return Node(path, name, version, False, Field(metadata, ""), attributes)


def _new_array(path: str, name: str, version: int, new: NewArray) -> Node:
    metadata, attributes = zarr_arrays.new_metadata(new, version)
    return Node(path, name, version, True, Field(metadata, ""), Field(attributes, ""))


def _with_metadata(node: Node, metadata: dict[str, Any]) -> Node:
    return dataclasses.replace(node, metadata=Field(metadata, ""))


def _with_attributes(node: Node, attributes: dict[str, Any]) -> Node:
    return dataclasses.replace(node, attributes=Field(attributes, ""))


def _with_fill(node: Node, value: Any) -> Node:
    """Return an array with another _FillValue; None for none."""
    dtype = zarr_arrays.describe(node, node.name).dtype
    if dtype.hasobject:
        raise UnsupportedError(f"{node.folder}: Swath sets no {FILL} of text of variable length")
    attributes = {k: v for k, v in node.attributes.members().items() if k != FILL}
    fill = None if value is None else element(value, dtype)
    if node.version == 3:
        return _with_attributes(node, {**attributes, **({} if fill is None else fill_attribute(fill, dtype))})
    encoded = None if fill is None else fill_to_json(np.array(fill, dtype).tobytes(), dtype)
    return _with_metadata(_with_attributes(node, attributes), {**node.metadata.members(), "fill_value": encoded})


# ---- Files -----------------------------------------------------------------------------------------------------------


class _Edit:
    """Nodes that are stored together; the consolidated metadata of the groups above them with them.

    Args:
        changes: are told before.
        every: all nodes of the store as they are, where somebody has read them.
    """

    def __init__(self, changes: Changes, every: Iterable[Node] = ()) -> None:
        self._changes = changes
        self._every = {node.name: node for node in every}
        self._nodes: dict[str, Node] = {}
        self._holders: dict[str, Node] = {}

    def put(self, node: Node) -> None:
        """Store a node, which may be there already."""
        self._nodes[node.name] = node

    def consolidate(self, group: Node) -> None:
        """Store all metadata below a group with it."""
        self._holders[group.name] = group

    def apply(self, folder: str = "") -> None:
        """Do it; raise StoreError where the system refuses.

        All is as it was then; where renaming was begun, `Changes` takes it back.

        Args:
            folder: to be made first.
        """
        path = self._changes.path
        files = self._files()
        made = ""
        with store_errors(path, "change"):
            try:
                if folder:
                    missing = _first_missing(path, folder)
                    self._changes.adds(missing)
                    made = missing
                    os.makedirs(os.path.join(path, folder))
                self._replace(files, made)
            except BaseException:
                if made:
                    shutil.rmtree(os.path.join(path, made), ignore_errors=True)
                raise

    def _replace(self, files: dict[str, str], made: str) -> None:
        """Replace files by their texts, in this order; those in the folder that was made need not be told of."""
        path = self._changes.path
        asides = {name: _aside(os.path.join(path, name)) for name in files}
        try:
            for name, text in files.items():
                _write(asides[name], text, like=os.path.join(path, name))
            self._changes.replaces_all(name for name in files if not made or not name.startswith(f"{made}/"))
            for name in files:
                os.rename(asides[name], os.path.join(path, name))
        except BaseException:
            for aside in asides.values():
                with contextlib.suppress(OSError):
                    os.unlink(aside)
            raise

    def _files(self) -> dict[str, str]:
        """Return what is to be in which files, those that change; consolidated metadata last."""
        path = self._changes.path
        self._find_holders()
        values: dict[str, Any] = {}
        for node in self._nodes.values():
            old = self._every.get(node.name) or read_node(path, node.name)
            before = {} if old is None else _files_of(old)
            values |= {file: value for file, value in _files_of(node).items() if before.get(file, _NOTHING) != value}
        if self._holders and not self._every:
            self._every = {node.name: node for node in walk(path)}
        every = self._every | self._nodes
        for name in sorted(self._holders, key=len, reverse=True):
            holder = every[name]
            below = {n.name: n for n in every.values() if n.name != name and n.name.startswith(f"{name}/".lstrip("/"))}
            for file, value in _consolidated(holder, below).items():
                values.pop(file, None)  # last, and once
                values[file] = value
        return {file: _text(value) for file, value in values.items()}

    def _find_holders(self) -> None:
        path = self._changes.path
        above = {above for name in self._nodes for above in _above(name)}
        for name in above - self._holders.keys():
            group = self._every.get(name) or read_node(path, name)
            if group is not None and not group.is_array and is_consolidated(group):
                self._holders[name] = group


_NOTHING = object()


def _above(name: str) -> Iterator[str]:
    """The node, and all groups above it."""
    yield name
    while name:
        name = name.rpartition("/")[0]
        yield name


def _files_of(node: Node) -> dict[str, Any]:
    """Return what a node's files hold, by their names in the store, the one that makes it a node last."""
    metadata, attributes = node.metadata.members(), node.attributes.members()
    if node.version == 3:
        return {os.path.join(node.name, "zarr.json"): {**metadata, "attributes": attributes}}
    own = ".zarray" if node.is_array else ".zgroup"
    return {os.path.join(node.name, ".zattrs"): attributes, os.path.join(node.name, own): metadata}


def _consolidated(holder: Node, below: dict[str, Node]) -> dict[str, Any]:
    """Return the file of a group that holds all metadata below it, as zarr-python writes it."""
    start = len(holder.name) + 1 if holder.name else 0
    nodes = {name[start:]: below[name] for name in sorted(below, key=_place)}
    if holder.version == 3:
        inline = {**_EMPTY, "metadata": {name: _inline(node) for name, node in nodes.items()}}
        held = {**holder.metadata.members(), "attributes": holder.attributes.members(), ALL_OF_V3: inline}
        return {os.path.join(holder.name, "zarr.json"): held}
    every = {".zgroup": {"zarr_format": 2}, ".zattrs": holder.attributes.members()}
    for name, node in nodes.items():
        every[f"{name}/.zattrs"] = node.attributes.members()
        if node.is_array:
            every[f"{name}/.zarray"] = node.metadata.members()
        else:
            every[f"{name}/.zgroup"] = {"zarr_format": 2, ALL_OF_V3: _EMPTY}
    return {os.path.join(holder.name, ALL_OF_V2): {"metadata": every, "zarr_consolidated_format": 1}}


_EMPTY = {"kind": "inline", "must_understand": False, "metadata": {}}


def _inline(node: Node) -> dict[str, Any]:
    inside = {} if node.is_array else {ALL_OF_V3: _EMPTY}
    return {**node.metadata.members(), "attributes": node.attributes.members(), **inside}


def _place(name: str) -> tuple[int, str]:
    """Return where zarr-python puts a node among the others."""
    return name.count("/"), unicodedata.normalize("NFKC", name).casefold()


def _first_missing(path: str, folder: str) -> str:
    """Return the part of a path in the store that is the first that is not there."""
    parts = folder.split("/")
    places = ["/".join(parts[: i + 1]) for i in range(len(parts))]
    return next(place for place in places if not os.path.lexists(os.path.join(path, place)))


def _text(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def _aside(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.swath-{secrets.token_hex(6)}")


def _write(aside: str, text: str, like: str) -> None:
    """Write a new file that has the permissions of another one, where that is there."""
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with open(descriptor, "w", encoding="utf-8") as file:
        with contextlib.suppress(FileNotFoundError):
            os.fchmod(descriptor, stat.S_IMODE(os.stat(like).st_mode))
        file.write(text)

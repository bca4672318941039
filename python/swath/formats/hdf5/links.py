"""The content of an HDF5 file besides groups and datasets by their first names: links and named types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from swath.formats.hdf5.access import joined, library, text_of


@dataclass(frozen=True)
class Link:
    """A named type, or a second name: of an object, of one in another file, or of one that does not exist.

    Attributes:
        kind: "hard", "soft", "external", "other", or "" for a named type by its first name.
        to: the target's path by its first name; the link's own text if the target is not in the file.
        leads_to: "dataset", "group", "type", or "" if the target is not in the file.
        says: the text of a soft link.
    """

    kind: str
    to: str
    leads_to: str
    says: str = ""

    @property
    def words(self) -> str:
        """Return a description."""
        if not self.kind:
            return "a named type"
        if self.kind == "external":
            return f"a link into another file, {self.to}"
        if self.kind == "other":
            return "a link of a kind that the program defines"
        return (
            f"a link to the {self.leads_to} {self.to or '/'}"
            if self.leads_to
            else f"a link that leads nowhere, to {self.to}"
        )


def links(walked: Iterable[tuple[str, Any]]) -> dict[str, Link]:
    """Return all links of a file but the first hard link to each group and dataset, by their paths.

    Args:
        walked: the result of `walk` for the file, which is open.
    """
    h5py = library()
    first: dict[int, tuple[str, str]] = {}
    groups: list[tuple[str, Any]] = []
    for path, item in walked:
        is_group = isinstance(item, h5py.h5g.GroupID)
        first[h5py.h5o.get_info(item).addr] = path, "group" if is_group else "dataset"
        if is_group:
            groups.append((path, item))
    found: dict[str, Link] = {}
    for path, group in groups:
        for name, info in _names(group):
            below = joined(path, text_of(name))
            link = _link(group, name, info, first, below)
            if link is not None:
                found[below] = link
    return found


def _names(group: Any) -> list[tuple[bytes, Any]]:
    found: list[tuple[bytes, Any]] = []
    try:
        group.links.iterate(lambda name, info: found.append((name, (info.type, info.u))), info=True)
    except (RuntimeError, ValueError, KeyError, OSError):
        found.clear()
    return found


def _link(group: Any, name: bytes, info: Any, first: dict[int, tuple[str, str]], below: str) -> Link | None:
    h5py = library()
    kind, address = info
    if kind == h5py.h5l.TYPE_HARD:
        known = first.get(address)
        if known is None:  # walk finds all other objects
            first[address] = below, "type"
            return Link("", below, "type")
        return None if known[0] == below else Link("hard", known[0], known[1])
    if kind == h5py.h5l.TYPE_EXTERNAL:
        where = [part.decode("utf-8", "replace") for part in group.links.get_val(name)]
        return Link("external", ":".join(where), "")
    if kind != h5py.h5l.TYPE_SOFT:
        return Link("other", "", "")
    says = group.links.get_val(name).decode("utf-8", "surrogateescape")
    try:
        address = h5py.h5o.get_info(h5py.h5o.open(group, name)).addr
    except (KeyError, ValueError, OSError, RuntimeError):
        return Link("soft", says, "", says)
    to, leads_to = first.get(address, (says, ""))
    return Link("soft", to, leads_to, says)

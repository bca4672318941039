"""The dimensions of a Zarr store, which are nowhere but in its arrays: each names its own, and has their lengths."""

from __future__ import annotations

from collections.abc import Iterable

from swath.formats.contents import Dimension
from swath.formats.zarr_nodes import Node


class Dimensions:
    """Which dimension each group defines.

    A name that several arrays of a group use is one dimension; the first of them tells its length. Where a group above
    has one of the same name and length, it is that one, unless the group declares it itself.

    Args:
        nodes: groups before what they hold.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._groups: dict[str, dict[str, Dimension]] = {}
        declared: dict[str, frozenset[str]] = {}
        arrays: dict[str, list[Node]] = {}
        for node in nodes:
            if node.is_array:
                arrays.setdefault(node.group, []).append(node)
            if not node.is_array or not node.name:  # a store may be an array
                self._groups[node.name] = {}
                declared[node.name] = frozenset() if node.is_array else node.unlimited()
        for group, own in self._groups.items():
            for array in arrays.get(group, []):
                for name, length in zip(array.dimensions(), array.shape(), strict=False):
                    if not name or name in own:
                        continue
                    grows = name in declared[group]
                    above = self.seen_from(group, name)
                    if grows or above is None or above[1].length != length:
                        own[name] = Dimension(name, length, grows)

    def of_group(self, group: str) -> dict[str, Dimension]:
        """Return those that a group defines itself, by name."""
        return self._groups[group]

    def seen_from(self, group: str, name: str) -> tuple[str, Dimension] | None:
        """Return what a name means in a group, and the group that defines it; None where none does."""
        while True:
            found = self._groups.get(group, {}).get(name)
            if found is not None:
                return group, found
            if not group:
                return None
            group = group.rpartition("/")[0]

    def of_array(self, array: Node) -> list[tuple[str, str]]:
        """Return for each dimension of an array the group that defines it and its name; ("", "") without a name."""
        found = []
        for name in array.dimensions():
            seen = self.seen_from(array.group, name) if name else None
            found.append(("", "") if seen is None else (seen[0], name))
        return found

    def paths(self) -> list[str]:
        """Return all of them, "ocean/time" of the group "ocean", by name."""
        return sorted(f"{group}/{name}".lstrip("/") for group, own in self._groups.items() for name in own)

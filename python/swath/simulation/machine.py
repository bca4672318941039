"""Descriptions of machines: TOML files with the numbers of nodes, network, servers and disks. All are checked."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from swath import _core
from swath.errors import ArgumentError, NotFoundError, UnsupportedError, store_error

Values = dict[str, Any]


@dataclass(frozen=True)
class _Count:
    """A whole number of at least `low`."""

    low: int

    @property
    def words(self) -> str:
        return f"a whole number of at least {self.low}"

    def fits(self, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= self.low


@dataclass(frozen=True)
class _Number:
    """A number of at least 0, or above 0."""

    positive: bool = False

    @property
    def words(self) -> str:
        return "a number above 0" if self.positive else "a number of at least 0"

    def fits(self, value: object) -> bool:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number and float("inf") > float(value) >= 0 and (value > 0 or not self.positive)  # type: ignore[arg-type, operator]


@dataclass(frozen=True)
class _Truth:
    words = "true or false"

    def fits(self, value: object) -> bool:
        return isinstance(value, bool)


@dataclass(frozen=True)
class _Text:
    words = "a text"

    def fits(self, value: object) -> bool:
        return isinstance(value, str)


@dataclass(frozen=True)
class _Choice:
    names: tuple[str, ...]

    @property
    def words(self) -> str:
        return f"one of {', '.join(self.names)}"

    def fits(self, value: object) -> bool:
        return value in self.names


@dataclass(frozen=True)
class _Counts:
    words = "a list of whole numbers of at least 1; an empty one for a shape that follows from the nodes"

    def fits(self, value: object) -> bool:
        return isinstance(value, list) and all(_Count(1).fits(one) for one in value)


Expected = _Count | _Number | _Truth | _Text | _Choice | _Counts
_RATE, _SECONDS = _Number(positive=True), _Number()

DISK: dict[str, tuple[Expected, Any]] = {
    "disks": (_Count(1), 1),
    "capacity_bytes": (_Count(1), None),
    "media_bytes_per_second": (_RATE, None),
    "seek_shortest_seconds": (_SECONDS, 0.0),
    "seek_longest_seconds": (_SECONDS, 0.0),
    "rotation_seconds": (_SECONDS, 0.0),
    "near_bytes": (_Count(0), 0),
    "stripe_bytes": (_Count(0), 0),
    "parity": (_Truth(), False),
    "segments": (_Count(0), 0),
    "segment_bytes": (_Count(0), 0),
    "request_seconds": (_SECONDS, 0.0),
    "link_bytes_per_second": (_SECONDS, 0.0),
    "request_bytes": (_Count(1), 256 << 10),
    "allocation_bytes": (_Count(1), 1 << 20),
}
"""The parameters of a modelled disk (core/model/disk.h), with their defaults; None: it must be given."""

LEAF_ENDPOINTS = 16
"""Endpoints of a leaf switch of a fat tree whose dimensions are not given; it has as many links upwards."""

KEYS: dict[str, dict[str, tuple[Expected, Any]]] = {
    "": {
        "description": (_Text(), ""),
        "nodes": (_Count(1), None),
        "ranks_per_node": (_Count(1), 1),
    },
    "node": {
        "memory_bandwidth": (_RATE, None),
        "copy_bandwidth": (_RATE, None),
        "latency": (_SECONDS, 0.0),
    },
    "network": {
        "kind": (_Choice(("flat", "mesh", "fat-tree", "hypercube")), None),
        "dimensions": (_Counts(), []),
        "link_bandwidth": (_RATE, None),
        "latency": (_SECONDS, None),
        "backbone_bandwidth": (_RATE, ...),
    },
    "servers": {
        "count": (_Count(1), None),
        "network_bandwidth": (_RATE, None),
        "disks_per_server": (_Count(1), 1),
        "request_overhead": (_SECONDS, 0.0),
        "list_request_overhead_per_region": (_SECONDS, 0.0),
        "list": (_Truth(), False),
        "datatype": (_Truth(), False),
        "locks": (_Truth(), True),
        "cache_bytes": (_Count(0), 0),
        "cache_bandwidth": (_SECONDS, 0.0),
    },
    "servers.disk": {"preset": (_Text(), ""), **DISK},
    "stripe": {
        "unit": (_Count(1), None),
        "count": (_Count(0), 0),
    },
    "page_cache": {
        "has_files": (_Truth(), False),
        "read_call": (_SECONDS, 0.0),
        "write_call": (_SECONDS, 0.0),
        "read_jump": (_SECONDS, 0.0),
        "write_jump": (_SECONDS, 0.0),
        "read_bandwidth": (_SECONDS, 0.0),
        "write_bandwidth": (_SECONDS, 0.0),
        "map_bandwidth": (_SECONDS, 0.0),
        "map_page": (_SECONDS, 0.0),
    },
    "software": {
        "call_overhead": (_SECONDS, 0.0),
        "request_bytes": (_Count(0), 0),
        "message_overhead": (_SECONDS, 0.0),
    },
}
"""What each table of a machine file may hold: expected value, and default (None: it must be given; ...: none)."""


class Machine:
    """A machine, as its file describes it.

    Attributes:
        name: the name of the file, without its suffix.
        path: the file; `<name>` for a machine of the package.
        values: the values of the file, by table; defaults are filled in.
    """

    def __init__(self, name: str, path: str, values: Mapping[str, Any]) -> None:
        self.name = name
        self.path = path
        self.values = _checked(path, values)

    @property
    def description(self) -> str:
        """Return the sentence that `swath simulate --list-machines` prints."""
        return str(self.values["description"])

    @property
    def ranks_max(self) -> int:
        """Return how many ranks the machine has room for."""
        return int(self.values["nodes"] * self.values["ranks_per_node"])

    def with_values(self, given: Mapping[str, Any]) -> Machine:
        """Return this machine with other values, by their dotted keys: `{"servers.count": 64}`.

        A preset of the disk replaces all parameters of the disk.

        Raises ArgumentError for a key that a machine has not, or a value that cannot be.
        """
        values = copy.deepcopy(self.values)
        for key, value in given.items():
            table, _, name = key.rpartition(".")
            if table not in KEYS or name not in KEYS[table]:
                known = ", ".join(sorted(_keys()))
                raise ArgumentError(f"{self.path}: {key}: a machine has no such key; expected one of {known}")
            into = values
            for part in table.split(".") if table else ():
                into = into[part]
            if key == "servers.disk.preset":
                into.clear()
            into[name] = value
        return Machine(self.name, self.path, values)

    def for_ranks(self, ranks: int) -> Values:
        """Return the machine as the simulator takes it, with the nodes that `ranks` ranks fill.

        Raises ArgumentError if the machine is too small.
        """
        if ranks > self.ranks_max:
            raise ArgumentError(
                f"{self.path}: nodes = {self.values['nodes']}, ranks_per_node = {self.values['ranks_per_node']}: "
                f"that is room for {self.ranks_max} ranks, not {ranks}: give fewer ranks, or --set nodes="
                f"{-(-ranks // self.values['ranks_per_node'])}"
            )
        made: Values = {"name": self.name, **copy.deepcopy(self.values)}
        made["nodes"] = -(-ranks // made["ranks_per_node"])
        made["network"].setdefault("backbone_bandwidth", None)
        made["servers"]["disk"].pop("preset", None)
        servers = made["servers"]["count"]
        made["stripe"]["count"] = made["stripe"]["count"] or servers
        made["network"]["dimensions"] = made["network"]["dimensions"] or _dimensions(
            made["network"]["kind"], made["nodes"] + servers
        )
        return made


def names() -> list[str]:
    """Return the names of the machines of the package, sorted."""
    folder = resources.files("swath.simulation") / "machines"
    return sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml"))


def load(name: str | os.PathLike[str]) -> Machine:
    """Return a machine of the package by its name, or the one that a file describes.

    Raises NotFoundError if there is neither, and ArgumentError, which names the file and the key, for a value that
    cannot be.
    """
    text = os.fspath(name)
    if text in names():
        path = f"<{text}>"
        return Machine(
            text, path, parsed(path, (resources.files("swath.simulation") / "machines" / f"{text}.toml").read_text())
        )
    if not os.path.exists(text):
        raise NotFoundError(f"machine {text}: there is no such file, and no machine of that name: {', '.join(names())}")
    try:
        with open(text, encoding="utf-8") as file:
            content = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise store_error(f"machine {text}: it cannot be read: {error}", getattr(error, "errno", 0) or 0) from None
    return Machine(os.path.basename(text).removesuffix(".toml"), text, parsed(text, content))


def parsed(path: str, text: str) -> Values:
    """Return the values of a TOML text. Raises ArgumentError, which names the file and the line, if it is none."""
    if sys.version_info < (3, 11):
        raise UnsupportedError("machine files need Python 3.11 or newer, whose library reads TOML")
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError(f"{path}: it is no TOML: {error}") from None


def _keys() -> Iterator[str]:
    for table, keys in KEYS.items():
        for key in keys:
            yield f"{table}.{key}" if table else key


def _checked(path: str, given: Mapping[str, Any]) -> Values:
    """Return the values with defaults. Raises ArgumentError for the first one that cannot be."""
    made: Values = {}
    for table, keys in KEYS.items():
        found = _table(path, given, table)
        if table == "servers.disk" and found.get("preset"):
            found = {**_preset(path, found["preset"]), **found}
        below = {one.rpartition(".")[2] for one in KEYS if one and one.rpartition(".")[0] == table}
        unknown = sorted(set(found) - set(keys) - below)
        if unknown:
            raise ArgumentError(
                f"{path}: {_dotted(table, unknown[0])} = {found[unknown[0]]!r}: a machine has no such key; "
                f"expected {', '.join(keys)}"
            )
        into = made
        for part in table.split(".") if table else ():
            into = into.setdefault(part, {})
        for key, (expected, default) in keys.items():
            value = found.get(key, default)
            if value is None:
                raise ArgumentError(f"{path}: {_dotted(table, key)} is missing: expected {expected.words}")
            if value is ...:
                continue
            if not expected.fits(value):
                raise ArgumentError(f"{path}: {_dotted(table, key)} = {value!r}: expected {expected.words}")
            into[key] = value
    _check_together(path, made)
    return made


def _check_together(path: str, made: Values) -> None:
    disk = made["servers"]["disk"]
    if disk["seek_longest_seconds"] < disk["seek_shortest_seconds"]:
        raise ArgumentError(
            f"{path}: servers.disk.seek_longest_seconds = {disk['seek_longest_seconds']}: expected at least "
            f"seek_shortest_seconds, which is {disk['seek_shortest_seconds']}"
        )
    if disk["disks"] > 1 and disk["stripe_bytes"] == 0:
        raise ArgumentError(
            f"{path}: servers.disk.stripe_bytes = 0: expected the stripe unit of its {disk['disks']} disks, above 0"
        )
    if disk["parity"] and disk["disks"] < 3:
        raise ArgumentError(f"{path}: servers.disk.disks = {disk['disks']}: expected at least 3 where parity is true")
    if disk["segments"] > 0 and disk["segment_bytes"] == 0:
        raise ArgumentError(f"{path}: servers.disk.segment_bytes = 0: expected more than 0, as segments are given")
    if made["stripe"]["count"] > made["servers"]["count"]:
        raise ArgumentError(
            f"{path}: stripe.count = {made['stripe']['count']}: expected at most servers.count, which is "
            f"{made['servers']['count']}, or 0 for all servers"
        )

    cache = made["page_cache"]
    rates = [cache[f"{direction}_bandwidth"] for direction in ("read", "write")]
    if (rates[0] > 0) != (rates[1] > 0) or (cache["has_files"] and rates[0] == 0):
        raise ArgumentError(
            f"{path}: page_cache.read_bandwidth = {rates[0]}, write_bandwidth = {rates[1]}: expected both above 0, or "
            "both 0 and has_files = false, for a machine whose nodes cache nothing"
        )
    if rates[0] > 0 and made["nodes"] > 1:
        raise ArgumentError(
            f"{path}: page_cache.read_bandwidth = {rates[0]}: expected a machine of one node, not of {made['nodes']}: "
            "the page caches of several nodes are not simulated"
        )


def _table(path: str, given: Mapping[str, Any], table: str) -> Values:
    found: Any = given
    for part in table.split(".") if table else ():
        found = found.get(part, {})
        if not isinstance(found, Mapping):
            raise ArgumentError(f"{path}: {table} = {found!r}: expected a table: [{table}]")
    return dict(found)


def _preset(path: str, name: object) -> Values:
    presets = {one["name"]: one for one in _core.modelled_disk_presets()}
    if name not in presets:
        raise ArgumentError(f"{path}: servers.disk.preset = {name!r}: expected one of {', '.join(presets)}")
    return {key: value for key, value in presets[name].items() if key in DISK}


def _dotted(table: str, key: str) -> str:
    return f"{table}.{key}" if table else key


def _dimensions(kind: str, count: int) -> list[int]:
    """Return the shape of a network with room for `count` nodes and servers.

    A mesh has its extents, a hypercube 2 for each dimension, a fat tree the endpoints and the upward links of a leaf
    switch.

    >>> _dimensions("mesh", 10), _dimensions("hypercube", 10), _dimensions("fat-tree", 10)
    ([3, 4], [2, 2, 2, 2], [16, 16])
    """
    if kind == "mesh":
        rows = max(1, int(count**0.5))
        return [rows, -(-count // rows)]
    if kind == "hypercube":
        return [2] * max(1, (count - 1).bit_length())
    return [LEAF_ENDPOINTS, LEAF_ENDPOINTS] if kind == "fat-tree" else []

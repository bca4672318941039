"""A machine file from the profile of a store: this machine, as `swath calibrate` has measured it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from swath.errors import ArgumentError, UnsupportedError
from swath.simulation.machine import KEYS, Machine, parsed
from swath.store.profile import StoredProfile

MEDIA = ("device", "cache")
MESSAGES_OF_A_BARRIER = 2
"""The messages that pass one after the other in a barrier of two ranks: there and back."""
CAPACITY_BYTES = 1 << 40
"""The bytes of the disk: the distance of its longest seek."""
READ_OVER = 0.05
"""A gap is read over if its seconds are in proportion to its bytes, within this part."""
PIECE_MIN = 8
"""A piece is longer than the smallest request by this factor."""
PIECE_PART = 0.03
"""The least part of a piece's seconds that is constant: a smaller part is not told from a whole request."""
SAME = 0.01
"""Seconds that differ by a smaller part are equal."""
WINDOW_BYTES = 512 << 10
"""The requests of the page cache that methods make are at most about so long: they stay in a core's cache."""
PICKED_BYTES = 64 << 10
"""Copies in the simulator are long: blocks of at least this many bytes, or the longest that were measured."""


def machine_of(profile: StoredProfile, medium: str | None = None) -> Machine:
    """Return one node with one server: the store of a profile.

    The time of a request is fitted as a constant and a rate, from the smallest and the largest measured request that
    follows another one. A jump is a seek, whose seconds grow with the square root of the distance if the profile has
    prices of gaps, and are constant if it has none.

    A store of the operating system has a page cache before its disk, with numbers for each direction and for mapped
    pages. For the medium "cache" it has all files at first; for the device it is empty, and the disk has the numbers of
    reading. A modelled disk has no page cache.

    Args:
        profile: the profile of the store.
        medium: "device" or "cache"; by default the device, where it was measured.

    Raises:
        ArgumentError: the profile does not have this medium.
        UnsupportedError: it is the profile of a pool.
    """
    if profile.store.is_pool:
        raise UnsupportedError(
            f"{profile.file}: the profile of {profile.store.mount_point}, a pool of Ceph, is no description of a "
            "machine: calibrate a folder, or write the machine file (docs/simulation.md)"
        )
    numbers = profile.numbers
    chosen = medium or next(one for one in MEDIA if numbers.get(f"{one}.read") or one == "cache")
    if chosen not in MEDIA or not numbers.get(f"{chosen}.read") or not numbers.get(f"{chosen}.write"):
        raise ArgumentError(
            f"{profile.file}: it has no numbers of the medium {chosen}: expected one of {', '.join(MEDIA)}"
        )
    return Machine("calibrated", profile.file, _values(profile, chosen))


def _values(profile: StoredProfile, medium: str) -> dict[str, Any]:
    numbers = profile.numbers
    piece = _piece(numbers, medium)
    has_page_cache = not profile.store.is_modelled
    if has_page_cache:
        # What a call costs is in the numbers of the page cache.
        overhead, rate, piece = numbers["visit_seconds"], _constant_and_rate(numbers[f"{medium}.read"])[1], 0
    else:
        overhead, rate = _line(numbers, medium, piece)
    batched = numbers.get(f"{medium}.read_jump_batched", 0.0)
    copy = 1 / _at_least(numbers["gather"], PICKED_BYTES)
    cores = max(1, profile.machine.cores)
    at_once = _at_least(numbers["copy_slowdown"], cores) if numbers.get("copy_slowdown") else 1.0
    latency = _at_least(numbers["barrier"], 2) / MESSAGES_OF_A_BARRIER
    memory = 2 * copy * cores / max(1.0, at_once)  # each copied byte is loaded and stored
    return {
        "description": f"{profile.machine.host}, {profile.store.file_system} ({medium}), measured {profile.date[:16]}",
        "nodes": 1,
        "ranks_per_node": max(4, cores),
        "node": {"memory_bandwidth": memory, "copy_bandwidth": copy, "latency": latency},
        "network": {"kind": "flat", "dimensions": [], "link_bandwidth": memory, "latency": 0.0},
        "servers": {
            "count": 1,
            "network_bandwidth": memory,
            "disks_per_server": 1,
            # A page that is read alone waits as long wherever it is: flash has no seeks.
            "request_overhead": numbers[f"{medium}.read_jump"] if has_page_cache else 0.0,
            "list_request_overhead_per_region": 0.0,
            "list": 2 * batched < numbers[f"{medium}.read_jump"],  # whether a batch of ranges saves jumps
            "datatype": False,
            "locks": False,
            "disk": {
                "disks": 1,
                "capacity_bytes": CAPACITY_BYTES,
                "media_bytes_per_second": rate,
                **({} if has_page_cache else _seeks(numbers, medium, rate)),
                "request_seconds": 0.0,
                "request_bytes": 1 << 30,
                "allocation_bytes": 1 << 30,
            },
        },
        "stripe": {"unit": 1 << 20, "count": 0},
        "page_cache": _page_cache(numbers, medium) if has_page_cache else {},
        "software": {"call_overhead": overhead, "request_bytes": piece, "message_overhead": latency / 2},
    }


def _seeks(numbers: Mapping[str, Any], medium: str, rate: float) -> dict[str, Any]:
    """Return the seconds of seeks, and the longest gap that is read over: the means of reading and writing."""
    jump = (numbers[f"{medium}.read_jump"] + numbers[f"{medium}.write_jump"]) / 2
    curves = [dict(map(tuple, numbers.get(f"{medium}.{direction}_gap") or ())) for direction in ("read", "write")]
    gaps = sorted(set(curves[0]) & set(curves[1]))
    seconds = [(curves[0][gap] + curves[1][gap]) / 2 for gap in gaps]
    per_byte = [took / gap for gap, took in zip(gaps, seconds, strict=True)]
    over = list(itertools.takewhile(lambda one: abs(one / per_byte[0] - 1) <= READ_OVER, per_byte))
    beyond = list(zip(gaps, seconds, strict=True))[len(over) :]
    if len(over) < 2 or len(beyond) < 2:
        return {"seek_shortest_seconds": jump, "seek_longest_seconds": jump, "near_bytes": int(rate * jump)}
    near = gaps[len(over) - 1]
    roots, seeks = zip(*((math.sqrt(gap / CAPACITY_BYTES), took) for gap, took in beyond), strict=True)
    per_root, shortest = np.polyfit(roots, seeks, 1)
    shortest = max(float(shortest), 0.0)
    longest = shortest + max(float(per_root), 0.0)
    return {"seek_shortest_seconds": shortest, "seek_longest_seconds": longest, "near_bytes": int(near)}


def _piece(numbers: Mapping[str, Any], medium: str) -> int:
    """Return the bytes of the pieces in which the operating system sends long requests; 0 if it sends them whole.

    Of requests in pieces, each costs in proportion to its bytes, though a piece has a constant cost.
    """
    pieces = []
    for direction in ("read", "write"):
        curve = sorted(numbers[f"{medium}.{direction}"])
        small, constant = curve[0]
        found = 0
        for at, (size, seconds) in enumerate(curve[:-1]):
            is_long = size > PIECE_MIN * small and constant > PIECE_PART * seconds
            if is_long and all(abs(later * size / (of * seconds) - 1) <= SAME for of, later in curve[at + 1 :]):
                found = int(size)
                break
        pieces.append(found)
    return pieces[0] if pieces[0] == pieces[1] else 0


def _page_cache(numbers: Mapping[str, Any], medium: str) -> dict[str, Any]:
    """Return what requests of the page cache cost: a call and a rate, and a jump to another page."""
    found: dict[str, Any] = {"has_files": medium == "cache"}
    for direction in ("read", "write"):
        curve = numbers[f"cache.{direction}"]
        call, rate = _constant_and_rate([one for one in curve if one[0] <= WINDOW_BYTES] or curve)
        found[f"{direction}_call"] = call
        found[f"{direction}_bandwidth"] = rate
        found[f"{direction}_jump"] = numbers[f"cache.{direction}_jump"]
    if look := numbers.get("look"):
        window, seconds = min(look, key=lambda one: abs(one[0] - WINDOW_BYTES))
        found["map_bandwidth"] = window / seconds
        found["map_page"] = numbers["look_page_seconds"]
    return found


def _line(numbers: Mapping[str, Any], medium: str, piece: int) -> tuple[float, float]:
    """Return the seconds of a request beside its bytes, and the bytes per second: the means of reading and writing."""
    overheads, rates = [], []
    for direction in ("read", "write"):
        overhead, rate = _constant_and_rate(
            [one for one in numbers[f"{medium}.{direction}"] if not piece or one[0] <= piece]
        )
        overheads.append(overhead)
        rates.append(rate)
    return sum(overheads) / 2, 2 / sum(1 / rate for rate in rates)


def _constant_and_rate(curve: Any) -> tuple[float, float]:
    """Return the seconds of a request beside its bytes, and the bytes per second, of the smallest and the largest."""
    (small, first), (large, last) = min(curve), max(curve)
    rate = (large - small) / max(last - first, 1e-12)
    return max(0.0, first - small / rate), rate


def _at_least(curve: Any, least: float) -> float:
    """Return the number at the first measured point that is at least `least`; else at the last one."""
    points = sorted(curve)
    return float(next((value for x, value in points if x >= least), points[-1][1]))


def to_toml(machine: Machine, comment: str) -> str:
    """Return a machine file, which `swath.simulation.machine.load` reads as an equal machine.

    Args:
        machine: the machine.
        comment: the first line: where the numbers are from.
    """
    lines = [f"# {comment}"]
    for table, keys in KEYS.items():
        found: Any = machine.values
        for part in table.split(".") if table else ():
            found = found[part]
        if table:
            lines += ["", f"[{table}]"]
        lines += [f"{key} = {_literal(found[key])}" for key in keys if key in found and found[key] != ""]
    text = "\n".join(lines) + "\n"
    parsed("the machine file", text)
    return text


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)

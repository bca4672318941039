"""A machine file from the profile of a store: this machine, as `swath calibrate` has measured it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swath.errors import ArgumentError
from swath.simulation.machine import KEYS, Machine, parsed
from swath.store.profile import StoredProfile

MEDIA = ("device", "cache")
MESSAGES_OF_A_BARRIER = 2
"""The messages that pass one after the other in a barrier of two ranks: there and back."""
PICKED_BYTES = 64 << 10
"""Copies in the simulator are long: blocks of at least this many bytes, or the longest that were measured."""


def machine_of(profile: StoredProfile, medium: str | None = None) -> Machine:
    """Return one node with one server: the store of a profile.

    The time of a request is fitted as a constant and a rate, from the smallest and the largest measured request that
    follows another one; a jump is a seek of constant length.

    Args:
        profile: the profile of the store.
        medium: "device" or "cache"; by default the device, where it was measured.

    Raises:
        ArgumentError: the profile does not have this medium.
    """
    numbers = profile.numbers
    chosen = medium or next(one for one in MEDIA if numbers.get(f"{one}.read") or one == "cache")
    if chosen not in MEDIA or not numbers.get(f"{chosen}.read") or not numbers.get(f"{chosen}.write"):
        raise ArgumentError(
            f"{profile.file}: it has no numbers of the medium {chosen}: expected one of {', '.join(MEDIA)}"
        )
    return Machine("calibrated", profile.file, _values(profile, chosen))


def _values(profile: StoredProfile, medium: str) -> dict[str, Any]:
    numbers = profile.numbers
    overhead, rate = _line(numbers, medium)
    batched = numbers.get(f"{medium}.read_jump_batched", 0.0)
    jump = (numbers[f"{medium}.read_jump"] + numbers[f"{medium}.write_jump"]) / 2
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
            "request_overhead": 0.0,
            "list_request_overhead_per_region": 0.0,
            "list": 2 * batched < numbers[f"{medium}.read_jump"],  # whether a batch of ranges saves jumps
            "datatype": False,
            "locks": False,
            "disk": {
                "disks": 1,
                "capacity_bytes": 1 << 40,
                "media_bytes_per_second": rate,
                "seek_shortest_seconds": jump,
                "seek_longest_seconds": jump,
                "near_bytes": int(rate * jump),
                "request_seconds": 0.0,
                "request_bytes": 1 << 30,
                "allocation_bytes": 1 << 30,
            },
        },
        "stripe": {"unit": 1 << 20, "count": 0},
        "software": {"call_overhead": overhead, "message_overhead": latency / 2},
    }


def _line(numbers: Mapping[str, Any], medium: str) -> tuple[float, float]:
    """Return the seconds of a request beside its bytes, and the bytes per second: the means of reading and writing."""
    overheads, rates = [], []
    for direction in ("read", "write"):
        curve = sorted(numbers[f"{medium}.{direction}"])
        (small, first), (large, last) = curve[0], curve[-1]
        rate = (large - small) / max(last - first, 1e-12)
        overheads.append(max(0.0, first - small / rate))
        rates.append(rate)
    return sum(overheads) / 2, 2 / sum(1 / rate for rate in rates)


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

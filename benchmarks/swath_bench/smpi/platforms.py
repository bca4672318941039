"""A machine of `swath simulate` as a platform of SimGrid: nodes and one server with one disk, by a link each."""

from __future__ import annotations

import os
from typing import Any

from swath.simulation.machine import Machine

MOUNT = "/server"
"""Where the nodes see the server's disk."""
FILE = "data"
"""The file on it."""
CONTENT = "content.txt"
"""The list of the files on the disk. SimGrid looks for it beside the platform."""
SHARED: dict[str, Any] = {
    "network.kind": "flat",
    "network.dimensions": [],
    "servers.count": 1,
    "servers.disks_per_server": 1,
    "stripe.count": 1,
    "servers.cache_bytes": 0,
}
"""What our machine has, too: SMPI's file is on one disk of one host, without a page cache."""
NOT_EXPRESSED: dict[str, Any] = {
    "servers.request_overhead": 0.0,
    "servers.locks": False,
    "servers.disk.seek_shortest_seconds": 0.0,
    "servers.disk.seek_longest_seconds": 0.0,
    "servers.disk.rotation_seconds": 0.0,
    "servers.disk.request_seconds": 0.0,
    "software.call_overhead": 0.0,
    "software.message_overhead": 0.0,
}
"""What a disk and a process of SMPI do not have."""


def disk_rate(machine: Machine) -> float:
    """Return the bytes a second of a server's disk: of all its heads with data, or of its link where that is slower."""
    disk = machine.values["servers"]["disk"]
    heads = disk["disks"] - bool(disk["parity"])
    rate = float(heads * disk["media_bytes_per_second"])
    return min(rate, disk["link_bytes_per_second"] or rate)


def write_platform(machine: Machine, nodes: int, folder: str, file_bytes: int) -> tuple[str, str]:
    """Write the platform and the list of its nodes, and return their paths.

    Args:
        machine: the machine; of its network only bandwidths and the latency are taken.
        nodes: the number of nodes.
        folder: where the files go.
        file_bytes: the bytes of the file that is on the disk already.
    """
    _write(os.path.join(folder, CONTENT), f"/{FILE} {file_bytes}\n")
    names = [f"node{number}" for number in range(nodes)]
    hosts = os.path.join(folder, "nodes.txt")
    _write(hosts, "".join(f"{name}:{machine.values['ranks_per_node']}\n" for name in names))
    platform = os.path.join(folder, "platform.xml")
    _write(platform, "\n".join(_lines(machine, names)) + "\n")
    return platform, hosts


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _lines(machine: Machine, names: list[str]) -> list[str]:
    """Return the lines of the platform. A message passes two links, so each has half of its latency."""
    network, rate = machine.values["network"], disk_rate(machine)
    memory, near = machine.values["node"]["memory_bandwidth"], machine.values["node"]["latency"]
    half = network["latency"] / 2
    server = machine.values["servers"]["network_bandwidth"]
    lines = [
        "<?xml version='1.0'?>",
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1"><zone id="machine" routing="Full">',
        f'<host id="server" speed="1Gf"><disk id="disk" read_bw="{rate}Bps" write_bw="{rate}Bps">',
        f'<prop id="size" value="1EiB"/><prop id="mount" value="{MOUNT}"/>',
        f'<prop id="content" value="{CONTENT}"/></disk></host>',
    ]
    mounted = f'<prop id="remote_disk" value="{MOUNT}:disk:server"/>'
    lines += [f'<host id="{name}" speed="1Gf">{mounted}</host>' for name in names]
    lines.append(f'<link id="server link" bandwidth="{server}Bps" latency="{half}s"/>')
    for name in names:
        lines.append(f'<link id="{name} link" bandwidth="{network["link_bandwidth"]}Bps" latency="{half}s"/>')
        lines.append(f'<link id="{name} memory" bandwidth="{memory}Bps" latency="{near}s"/>')
    for number, name in enumerate(names):
        lines.append(_route(name, name, f"{name} memory"))
        lines.append(_route(name, "server", f"{name} link", "server link"))
        lines += [_route(name, other, f"{name} link", f"{other} link") for other in names[number + 1 :]]
    return [*lines, "</zone></platform>"]


def _route(source: str, target: str, *links: str) -> str:
    passed = "".join(f'<link_ctn id="{link}"/>' for link in links)
    return f'<route src="{source}" dst="{target}">{passed}</route>'

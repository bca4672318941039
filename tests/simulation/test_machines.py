"""Machine files: what they may hold, and what is said about a value that cannot be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import swath
from swath.simulation import machine as machines

GIVEN = """
nodes = 4
ranks_per_node = 2
[node]
memory_bandwidth = 1e9
copy_bandwidth = 1e9
[network]
kind = "flat"
link_bandwidth = 1e9
latency = 1e-6
[servers]
count = 3
network_bandwidth = 1e9
[servers.disk]
capacity_bytes = 1_000_000
media_bytes_per_second = 1e8
[stripe]
unit = 65_536
"""


def loaded(tmp_path: Path, text: str) -> machines.Machine:
    path = tmp_path / "own.toml"
    path.write_text(text)
    return machines.load(path)


@pytest.mark.parametrize("name", machines.names())
def test_each_machine_of_the_package_is_complete_and_described(name: str) -> None:
    found = machines.load(name)
    assert found.description
    described = found.for_ranks(found.ranks_max)
    assert described["nodes"] == found.values["nodes"]
    assert 1 <= described["stripe"]["count"] <= described["servers"]["count"]


@pytest.mark.parametrize("name", machines.names())
def test_each_number_of_a_machine_has_its_source_beside_it(name: str) -> None:
    path = Path(machines.__file__).parent / "machines" / f"{name}.toml"
    lines = path.read_text().splitlines()
    numbers = [line for line in lines if re.match(r"\w+ = [0-9]", line)]
    assert len(numbers) > 10
    if name != "site-2026":  # all of it is assumed, as its head says
        unsourced = [line for line in numbers if "#" not in line and not re.search(r"= (0|0\.0|1)$", line)]
        assert unsourced == []


def test_the_papers_machines_are_those_of_the_papers() -> None:
    paragon, delta, feynman = (machines.load(one).values for one in ("paragon", "delta", "feynman"))
    assert (paragon["stripe"]["unit"], paragon["network"]["kind"]) == (64 << 10, "mesh")
    assert (delta["stripe"]["unit"], delta["servers"]["count"], delta["servers"]["disks_per_server"]) == (4096, 32, 2)
    assert (feynman["nodes"] * feynman["ranks_per_node"], feynman["servers"]["count"]) == (64, 16)
    site = machines.load("site-2026").values
    assert (site["nodes"], site["nodes"] * site["ranks_per_node"], site["servers"]["count"]) == (200, 10_000, 1_000)


WRONG = {
    "count = 3": ("count = 0", "servers.count = 0: expected a whole number of at least 1"),
    "latency = 1e-6": ("latency = -1", "network.latency = -1: expected a number of at least 0"),
    'kind = "flat"': ('kind = "ring"', "network.kind = 'ring': expected one of flat, mesh, fat-tree, hypercube"),
    "unit = 65_536": ('unit = "64KiB"', "stripe.unit = '64KiB': expected a whole number of at least 1"),
    "nodes = 4\n": ("", "nodes is missing: expected a whole number of at least 1"),
    "ranks_per_node = 2": ("rank_per_node = 2", "rank_per_node = 2: a machine has no such key; expected description"),
    "capacity_bytes = 1_000_000": ('preset = "none"', "servers.disk.preset = 'none': expected one of xeon-eide"),
    "network_bandwidth = 1e9": (
        "network_bandwidth = 0.0",
        "servers.network_bandwidth = 0.0: expected a number above 0",
    ),
    "memory_bandwidth = 1e9": ("memory_bandwidth = inf", "node.memory_bandwidth = inf: expected a number above 0"),
    "[stripe]\n": ("[stripe]\ncount = 4\n", "stripe.count = 4: expected at most servers.count, which is 3"),
    "capacity_bytes": ("disks = 2\ncapacity_bytes", "servers.disk.stripe_bytes = 0: expected the stripe unit"),
}


@pytest.mark.parametrize(("old", "new", "said"), [(old, *pair) for old, pair in WRONG.items()], ids=list(WRONG))
def test_a_value_that_cannot_be_is_named_with_its_file_and_key(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GIVEN
    with pytest.raises(swath.ArgumentError, match=re.escape(said)) as raised:
        loaded(tmp_path, GIVEN.replace(old, new, 1))
    assert str(tmp_path / "own.toml") in str(raised.value)


def test_a_file_that_is_no_toml_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(swath.ArgumentError, match=r"own.toml: it is no TOML: .*line 2"):
        loaded(tmp_path, "\nnodes = = 3\n")


def test_an_unknown_machine_names_those_that_there_are() -> None:
    with pytest.raises(swath.NotFoundError, match=r"machine paragom: there is no such file.*paragon"):
        machines.load("paragom")


def test_values_are_overridden_by_dotted_keys(tmp_path: Path) -> None:
    found = loaded(tmp_path, GIVEN)
    other = found.with_values({"servers.count": 64, "nodes": 7})
    assert (other.values["servers"]["count"], other.ranks_max, found.values["servers"]["count"]) == (64, 14, 3)
    with pytest.raises(swath.ArgumentError, match=r"own.toml: servers.counts: a machine has no such key"):
        found.with_values({"servers.counts": 64})


def test_a_preset_replaces_the_whole_disk() -> None:
    found = machines.load("p690").with_values({"servers.disk.preset": "p690-scsi"})
    disk = found.values["servers"]["disk"]
    assert (disk["disks"], disk["parity"], disk["media_bytes_per_second"]) == (1, False, 35e6)


@pytest.mark.parametrize(("ranks", "nodes"), [(1, 1), (2, 1), (3, 2), (8, 4)])
def test_only_the_nodes_that_the_ranks_fill_are_simulated(tmp_path: Path, ranks: int, nodes: int) -> None:
    described: dict[str, Any] = loaded(tmp_path, GIVEN).for_ranks(ranks)
    assert described["nodes"] == nodes
    assert described["stripe"]["count"] == 3


def test_more_ranks_than_the_machine_has_are_refused_with_the_nodes_that_they_need(tmp_path: Path) -> None:
    with pytest.raises(swath.ArgumentError, match=r"room for 8 ranks, not 9: .*--set nodes=5"):
        loaded(tmp_path, GIVEN).for_ranks(9)


@pytest.mark.parametrize(("kind", "shape"), [("mesh", [2, 4]), ("hypercube", [2, 2, 2]), ("flat", [])])
def test_a_network_has_room_for_nodes_and_servers(tmp_path: Path, kind: str, shape: list[int]) -> None:
    found = loaded(tmp_path, GIVEN.replace('"flat"', f'"{kind}"'))
    assert found.for_ranks(8)["network"]["dimensions"] == shape

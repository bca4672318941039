"""The comparison with SMPI: the platform has the machine's numbers, and the sentence where there is no SimGrid."""

from __future__ import annotations

import io
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from swath.simulation import machine as machines
from swath_bench import __main__ as bench
from swath_bench import smpi
from swath_bench.smpi.platforms import disk_rate, write_platform


def shown(result: dict[str, Any]) -> str:
    text = io.StringIO()
    smpi.show(Console(file=text, width=200), result)
    return text.getvalue()


def test_the_platform_has_the_numbers_of_the_machine(tmp_path: Path) -> None:
    machine = machines.load("feynman").with_values({"ranks_per_node": 2})
    platform, hosts = write_platform(machine, 3, str(tmp_path), 4096)
    zone = ET.parse(platform).getroot()[0]
    network = machine.values["network"]
    links = {link.get("id"): link for link in zone.iter("link")}
    assert links["node2 link"].get("bandwidth") == f"{network['link_bandwidth']}Bps"
    assert links["server link"].get("bandwidth") == f"{machine.values['servers']['network_bandwidth']}Bps"
    routes = {(one.get("src"), one.get("dst")): [link.get("id") for link in one] for one in zone.iter("route")}
    assert routes["node1", "server"] == ["node1 link", "server link"]
    assert routes["node0", "node2"] == ["node0 link", "node2 link"]
    passed = [float(str(links[name].get("latency")).removesuffix("s")) for name in routes["node1", "server"]]
    assert sum(passed) == pytest.approx(network["latency"])
    (disk,) = zone.iter("disk")
    assert disk.get("read_bw") == f"{disk_rate(machine)}Bps"
    assert Path(hosts).read_text() == "node0:2\nnode1:2\nnode2:2\n"
    assert (tmp_path / "content.txt").read_text() == "/data 4096\n"


def test_a_disk_is_as_fast_as_its_heads_or_its_link() -> None:
    given = {"disks": 5, "stripe_bytes": 65_536, "media_bytes_per_second": 10e6, "parity": True}
    given["link_bytes_per_second"] = 0.0
    machine = machines.load("feynman").with_values({f"servers.disk.{key}": value for key, value in given.items()})
    assert disk_rate(machine) == 40e6
    assert disk_rate(machine.with_values({"servers.disk.link_bytes_per_second": 30e6})) == 30e6


def test_without_simgrid_nothing_is_compared_and_a_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    result = bench.measured("smpi", smpi.quick_options(), str(tmp_path))
    assert result["cells"] == []
    assert "smpi: smpicc and smpirun of SimGrid are not installed" in shown(result)


def test_ratios_are_ours_to_smpis() -> None:
    cell = {"machine": "m", "ranks": 2, "direction": "write", "call": "collective", "bytes": 8, "smpi": 2.0}
    cells = [{**cell, "same_numbers": ours, "all_numbers": 2 * ours} for ours in (1.0, 3.0, 4.0)]
    summary = smpi.summarise({"cells": cells})
    assert summary["same_numbers"] == {"least": 0.5, "median": 1.5, "most": 2.0}
    assert summary["all_numbers"]["median"] == 3.0
    assert "1.50" in shown({"cells": cells, "summary": summary})


@pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid (libsimgrid-dev) is not installed")
def test_a_few_cases_are_simulated_by_both(tmp_path: Path) -> None:
    result = bench.measured("smpi", smpi.quick_options(), str(tmp_path))
    assert len(result["cells"]) == 8
    assert list(tmp_path.iterdir()) == []
    for cell in result["cells"]:
        disk_seconds = cell["bytes"] / disk_rate(machines.load("feynman"))
        assert cell["smpi"] > disk_seconds
        assert 0.5 < cell["same_numbers"] / cell["smpi"] < 2

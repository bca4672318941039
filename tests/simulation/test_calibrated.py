"""A machine file from the profile of a store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import swath
from swath.calibration.modelled import calibrate_modelled
from swath.commands import cli
from swath.simulation import machine as machines
from swath.simulation.benchmarks import ncio
from swath.simulation.calibrated import machine_of, to_toml
from swath.simulation.simulate import simulate


def test_the_fitted_disk_has_the_rate_and_the_seek_of_the_modelled_one(tmp_path: Path) -> None:
    disk = machine_of(calibrate_modelled("model:p690-scsi", str(tmp_path))).values["servers"]["disk"]
    assert disk["media_bytes_per_second"] == pytest.approx(35e6, rel=0.15)
    assert 4.17e-3 < disk["seek_shortest_seconds"] < 20e-3  # half a turn at least, and a short seek
    assert disk["near_bytes"] == 128 << 10  # what the preset says: core/model/presets.cc
    assert disk["seek_shortest_seconds"] < disk["seek_longest_seconds"]


def test_a_profile_without_prices_of_gaps_has_seeks_of_one_length(tmp_path: Path) -> None:
    profile = calibrate_modelled("model:p690-scsi", str(tmp_path))
    profile.numbers["device.read_gap"] = []
    disk = machine_of(profile).values["servers"]["disk"]
    assert disk["seek_shortest_seconds"] == disk["seek_longest_seconds"]


def test_the_written_file_is_read_as_an_equal_machine(tmp_path: Path) -> None:
    made = machine_of(calibrate_modelled("model:xeon-eide", str(tmp_path)))
    path = tmp_path / "here.toml"
    path.write_text(to_toml(made, "measured here"))
    assert path.read_text().startswith("# measured here\n")
    assert machines.load(path).values == made.values


def test_the_command_writes_a_machine_that_simulate_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "disk.toml"
    assert cli.main(["calibrate", str(tmp_path), "--engine", "model:xeon-eide", "--machine", str(path)]) == 0
    capsys.readouterr()
    found = machines.load(path)
    assert found.values["servers"]["count"] == 1
    assert found.ranks_max >= 4


@pytest.mark.parametrize("medium", ["cache", "device"])
def test_a_local_store_has_a_page_cache_of_the_node(tmp_path: Path, medium: str) -> None:
    modelled = calibrate_modelled("model:p690-scsi", str(tmp_path))
    profile = replace(modelled, store=replace(modelled.store, file_system="ext4"))
    numbers = profile.numbers
    numbers["cache.read"] = numbers["cache.write"] = [[8.0, 1e-6], [524288.0, 101e-6], [16777216.0, 1.0]]
    numbers["cache.read_jump"] = 2e-7
    made = machine_of(profile, medium)
    cache, servers = made.values["page_cache"], made.values["servers"]
    assert cache["has_files"] == (medium == "cache")
    assert cache["read_bandwidth"] == pytest.approx((524288 - 8) / 100e-6)  # longer ones leave the core's cache
    assert cache["write_call"] == pytest.approx(1e-6, rel=0.01)
    assert cache["read_jump"] == 2e-7
    assert cache["map_bandwidth"] > 0
    assert servers["request_overhead"] == numbers[f"{medium}.read_jump"]
    path = tmp_path / "here.toml"
    path.write_text(to_toml(made, "measured here"))
    assert machines.load(path).values == made.values
    # Each region of a list costs a call; picked from mapped pages, none does.
    seconds = {method: simulated_seconds(made, method) for method in ("direct", "list", "sieve")}
    assert seconds["list"] > 0.4 * seconds["direct"]
    assert seconds["sieve"] < seconds["list"] / 2


def test_a_pool_is_no_machine(tmp_path: Path) -> None:
    modelled = calibrate_modelled("model:p690-scsi", str(tmp_path))
    with pytest.raises(swath.UnsupportedError, match=r"a pool of Ceph, is no description of a machine"):
        machine_of(replace(modelled, store=replace(modelled.store, file_system="rados")))


def simulated_seconds(machine: machines.Machine, method: str) -> float:
    (operation,) = ncio(2, count=512, region_bytes=64, spacing_bytes=512)
    found = simulate([operation.by(method)], machine, ranks=2, seed=1)
    return float(found.values["operations"][-1]["seconds"])


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (
            {"page_cache.read_bandwidth": 1e9},
            r"read_bandwidth = 1000000000.0, write_bandwidth = 0.0: expected both",
        ),
        ({"page_cache.has_files": True}, r"expected both above 0, or both 0 and has_files = false"),
        (
            {"page_cache.read_bandwidth": 1e9, "page_cache.write_bandwidth": 1e9, "nodes": 2},
            r"expected a machine of one node, not of 2: the page caches of several nodes are not simulated",
        ),
    ],
)
def test_page_caches_that_cannot_be_are_refused(tmp_path: Path, given: dict[str, object], error: str) -> None:
    made = machine_of(calibrate_modelled("model:p690-scsi", str(tmp_path)))
    with pytest.raises(swath.ArgumentError, match=error):
        made.with_values(given)


def test_a_medium_that_was_not_measured_is_refused(tmp_path: Path) -> None:
    profile = calibrate_modelled("model:xeon-eide", str(tmp_path))
    profile.numbers["device.read"] = []
    assert machine_of(profile).description.count("(cache)") == 1
    with pytest.raises(swath.ArgumentError, match=r"it has no numbers of the medium device"):
        machine_of(profile, "device")

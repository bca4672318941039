"""A machine file from the profile of a store."""

from __future__ import annotations

from pathlib import Path

import pytest

import swath
from swath.calibration.modelled import calibrate_modelled
from swath.commands import cli
from swath.simulation import machine as machines
from swath.simulation.calibrated import machine_of, to_toml


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


def test_a_medium_that_was_not_measured_is_refused(tmp_path: Path) -> None:
    profile = calibrate_modelled("model:xeon-eide", str(tmp_path))
    profile.numbers["device.read"] = []
    assert machine_of(profile).description.count("(cache)") == 1
    with pytest.raises(swath.ArgumentError, match=r"it has no numbers of the medium device"):
        machine_of(profile, "device")

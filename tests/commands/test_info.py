"""`swath info` shows the contents of a file: growing lengths, groups, attributes with their types, stored bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import swath
from swath.commands import cli

LONG = "sea_surface_temperature_of_the_northern_hemisphere_at_noon_as_measured_by_ships"
LATITUDE = "latitude_of_the_centre_of_each_cell_of_the_rotated_grid"

Capture = pytest.CaptureFixture[str]


def told(capsys: Capture, *argv: Any) -> str:
    assert cli.main(["info", *map(str, argv)]) == 0
    return capsys.readouterr().out


def facts_of(capsys: Capture, *argv: Any) -> Any:
    return json.loads(told(capsys, "--json", *argv))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Make a netCDF-4 file with a growing dimension, a group, packed and deflated values."""
    made = tmp_path / "a.nc"
    with netCDF4.Dataset(made, "w") as file:
        file.setncatts({"title": "A run", "history": "made\nby hand", "levels": np.arange(100, dtype="i4")})
        file.createDimension("time", None)
        file.createDimension(LATITUDE, 300)
        file.createVariable("time", "f8", ("time",))[:] = [1, 2, 3]
        packed = file.createVariable(LONG, "i2", ("time", LATITUDE), zlib=True, fill_value=-1)
        packed.scale_factor = np.float32(0.5)
        packed[:] = 1
        group = file.createGroup("ocean/deep")
        group.source = "ship"
        group.createDimension("z", 7)
        group.createVariable("t", "f4", ("z",))[:] = 0
    return made


def test_dimensions_groups_and_attributes_are_told(capsys: Capture, path: Path) -> None:
    text = told(capsys, path)
    for words in (
        "time = 3 (unlimited)",
        f"{LATITUDE} = 300",
        "ocean/deep/z = 7",
        "title = A run",
        "source = ship",
        "levels = [ 0,  1,  2, ..., 97, 98, 99] (int32)",
        "values are as stored; swath.open(…, decode=True) masks and scales them",
    ):
        assert words in text
    facts = facts_of(capsys, path)
    assert facts["format"] == "netcdf4"
    assert {"name": "time", "length": 3, "unlimited": True} in facts["dimensions"]
    assert {"name": "ocean/deep", "attributes": {"source": "ship"}} in facts["groups"]
    assert facts["attributes"]["history"] == "made\nby hand"
    variables = {variable["name"]: variable for variable in facts["variables"]}
    assert set(variables) == {"time", LONG, "ocean/deep/t"}
    assert variables["ocean/deep/t"]["dimensions"] == ["z"]


def test_what_is_stored_is_told_beside_what_it_decodes_to(capsys: Capture, path: Path) -> None:
    facts = facts_of(capsys, f"{path}:{LONG}")
    assert facts["bytes"] == 3 * 300 * 2
    assert 0 < facts["stored_bytes"] < facts["bytes"] / 5
    ratio = facts["bytes"] / facts["stored_bytes"]
    assert f"{facts['stored_bytes']} B, {ratio:.2g} × smaller" in told(capsys, path)
    assert facts_of(capsys, path)["stored_bytes"] == path.stat().st_size
    assert facts["unlimited"] == [True, False]


def test_stored_bytes_are_those_of_the_chunks_that_there_are(capsys: Capture, tmp_path: Path) -> None:
    with swath.create(tmp_path / "a.zarr", (100, 100), "f4", variable="g/t", chunks=(10, 100), codecs=[]) as a:
        a[:20] = 1
    facts = facts_of(capsys, f"{tmp_path}/a.zarr:g/t")
    folder = tmp_path / "a.zarr" / "g" / "t"
    assert facts["stored_bytes"] == sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) > 8000
    assert facts["stored_bytes"] < 10_000
    np.save(tmp_path / "a.npy", np.zeros(5))
    assert facts_of(capsys, tmp_path / "a.npy")["stored_bytes"] == 40


def test_names_are_on_one_line_whatever_the_width(capsys: Capture, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in ("20", "80", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        text = told(capsys, path)
        lines = text.splitlines()
        assert any(line.startswith(f"{LONG} ") for line in lines)
        for name in (LONG, LATITUDE, str(path), "ocean/deep/t", "3 × 300"):
            assert any(name in line for line in lines), (name, columns)
        assert any(f"{path}:{LONG}" in line for line in lines)
        assert f"{LATITUDE}" in told(capsys, f"{path}:{LONG}")


def test_a_variable_tells_its_attributes_with_their_types(capsys: Capture, path: Path) -> None:
    text = told(capsys, f"{path}:{LONG}")
    for words in (
        "time (unlimited), ",
        "_FillValue = -1 (int16)",
        "scale_factor = 0.5 (float32)",
        "values     as stored; decode=True masks and scales",
    ):
        assert words in text
    assert "as stored\n" in told(capsys, f"{path}:ocean/deep/t") + "\n"


def test_a_damaged_variable_does_not_hide_the_others(capsys: Capture, tmp_path: Path) -> None:
    for name in "tu":
        swath.create(tmp_path / "a.zarr", (3,), "f4", variable=name, format="zarr").close()
    metadata = tmp_path / "a.zarr" / "t" / "zarr.json"
    metadata.write_text(metadata.read_text().replace('"zstd"', '"of nobody"'))
    (tmp_path / "a.zarr" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    variables = {v["name"]: v for v in facts_of(capsys, tmp_path / "a.zarr")["variables"]}
    assert "of nobody" in variables["t"]["layout"]
    assert variables["t"]["stored_bytes"] is None
    assert variables["u"]["layout"].startswith("chunks of 3")

"""Names of variables, dimensions, groups and attributes as files store them: with trailing zero bytes, in Latin-1, with
colons."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.commands import arguments

netCDF4 = pytest.importorskip("netCDF4")
h5py = pytest.importorskip("h5py")


def classic(path: Path, old: bytes, new: bytes) -> Path:
    """Write a file by netCDF4-python, and replace one of its names by another of the same length, with its padding."""
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("dimension___", 3)
        v = file.createVariable("temperature_", "f4", ("dimension___",))
        v[:] = [1, 2, 3]
        v.setncattr("attribute___", "K")
    stored = path.read_bytes()
    assert stored.count(old) == 1
    path.write_bytes(stored.replace(old, new.ljust(len(old), b"\0")))
    return path


NAMES = {
    "zero bytes": (b"t", "t"),
    "zero bytes within": (b"t\0emper", "t"),
    "Latin-1": (b"temp\xe9rature", "température"),
    "UTF-8": ("température".encode(), "température"),
    "a colon": (b"air:2m", "air:2m"),
}
FORBIDDEN = {
    "a slash": "a/b",
    "a slash first": "/ab",
    "a slash last": "ab/",
    "a blank first": " ab",
    "control": "\x01b",
}
"""Names that netCDF's library cannot make, but reads."""


@pytest.mark.parametrize("what", NAMES)
@pytest.mark.not_by_library("netCDF4 reads no name that is not UTF-8")
def test_a_variable_of_any_name_is_listed_opened_copied_and_added_to(tmp_path: Path, what: str) -> None:
    raw, name = NAMES[what]
    path = classic(tmp_path / "a.nc", b"temperature_", raw)
    with swath.open_file(path) as file:
        assert list(file) == [name]
        np.testing.assert_array_equal(file[name][...], [1, 2, 3])
    with swath.open(path, variable=name) as a:
        np.testing.assert_array_equal(a[...], [1, 2, 3])
    for target in ("b.zarr", "b.h5", "b.nc4", "b.nc3"):
        swath.copy(path, tmp_path / target)
        with swath.open_file(tmp_path / target) as file:
            assert list(file) == [name]
            np.testing.assert_array_equal(file[name][...], [1, 2, 3])
        assert swath.verify(path, tmp_path / target).equal
    with h5py.File(tmp_path / "b.h5") as file:
        np.testing.assert_array_equal(file[name], [1, 2, 3])
    with swath.open_file(path, mode="r+") as file:
        file.create("more", (3,), "f4", dimensions=("dimension___",))[...] = 7
        file[name].attributes["units"] = "degree"
    stored = path.read_bytes()
    assert raw.partition(b"\0")[0] in stored
    with swath.open_file(path) as file:
        assert list(file) == [name, "more"]
        assert file[name].attributes["units"] == "degree"
        np.testing.assert_array_equal(file[name][...], [1, 2, 3])
    if what != "Latin-1":  # netCDF4-python does not read Latin-1
        with netCDF4.Dataset(path) as file:
            np.testing.assert_array_equal(file[name][...], [1, 2, 3])


@pytest.mark.parametrize("what", FORBIDDEN)
def test_a_name_that_netcdf_allows_nobody_to_make_is_opened_also_by_xarray(tmp_path: Path, what: str) -> None:
    xr = pytest.importorskip("xarray")
    name = FORBIDDEN[what]
    path = classic(tmp_path / "a.nc", b"temperature_", name.encode())
    with swath.open(path, name) as a:
        np.testing.assert_array_equal(a[...], [1, 2, 3])
    with swath.open_file(path) as file:
        assert list(file) == [name]
        np.testing.assert_array_equal(file[name][...], [1, 2, 3])
    with xr.open_dataset(path, engine="swath") as found:
        assert list(found) == [name]


@pytest.mark.parametrize("what", NAMES)
def test_dimensions_and_attributes_of_any_name_are_read(tmp_path: Path, what: str) -> None:
    raw, name = NAMES[what]
    with swath.open(classic(tmp_path / "a.nc", b"dimension___", raw)) as a:
        assert a.dims == a.dimensions == (name,)
    with swath.open(classic(tmp_path / "b.nc", b"attribute___", raw)) as a:
        assert dict(a.attrs) == dict(a.attributes) == {name: "K"}


def test_names_that_are_the_same_text_in_two_encodings_are_refused(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createVariable("vv", "i4", ())
        file.createVariable("www", "i4", ())
    raw = (tmp_path / "a.nc").read_bytes()
    (tmp_path / "a.nc").write_bytes(raw.replace(b"vv", "é".encode()).replace(b"www", b"\xe9\0\0"))
    with pytest.raises(swath.FormatError, match=r"a\.nc: netCDF header has the name 'é' in UTF-8 and in Latin-1"):
        swath.open_file(tmp_path / "a.nc")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["é"] = np.arange(3)
        file["é".encode("latin-1")] = np.arange(4)
    with pytest.raises(swath.FormatError, match=r"a\.h5: it has the name 'é' in UTF-8 and in Latin-1"):
        swath.open_file(tmp_path / "a.h5")


@pytest.mark.not_by_library("h5py cannot sort such names")
def test_an_hdf5_file_with_names_in_latin_1_is_read_copied_and_added_to(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["größe"] = np.arange(2)
        group = file.create_group(b"g\xe9")
        v = group.create_dataset("année".encode("latin-1"), data=np.arange(3.0))
        v.make_scale(b"x")
        w = group.create_dataset(b"w\xe8", data=np.arange(6.0).reshape(2, 3), chunks=(1, 3), compression="gzip")
        w.dims[1].attach_scale(v)
        w.attrs[b"unit\xe9"] = "m"
    names = ["größe", "gé/année", "gé/wè"]
    with swath.open_file(path) as file:
        assert list(file) == names
        assert list(file.groups) == ["gé"]
        assert dict(file["gé/wè"].attributes) == {"unité": "m"}
        assert file["gé/wè"].dimensions == ("", "année")
    with swath.open(path, "gé/wè", mode="r+") as a:
        a[...] = a[...] + 1
        a.attributes["unité"] = "km"
    for name in ("b.zarr", "b.h5", "b.nc4"):
        swath.copy(path, tmp_path / name)
        assert swath.verify(path, tmp_path / name).equal
    with h5py.File(tmp_path / "b.h5") as file:
        assert sorted(file) == ["größe", "gé"]
        assert dict(file["gé/wè"].attrs)["unité"] == "km"
    with swath.open_file(path, mode="r+") as file:
        file.create("gé/new", (2,), "f4")[...] = 1
        file.create("gé/nouveauté", (3,), "f4", dimensions=("année",))[...] = 2
    with h5py.File(path) as file:
        group = file[b"g\xe9"]
        assert list(group) == ["année".encode("latin-1"), "new", "nouveauté", b"w\xe8"]
        np.testing.assert_array_equal(group[b"w\xe8"], np.arange(1.0, 7).reshape(2, 3))
        assert group[b"w\xe8"].attrs[b"unit\xe9"] == "km"
        assert len(group[b"w\xe8"].attrs) == 2  # the second attribute has the scales
        assert group["nouveauté"].dims[0][0].name.endswith("année".encode("latin-1"))


@pytest.mark.parametrize("suffix", ["nc3", "nc4", "h5", "zarr"])
def test_names_with_colons_are_found_by_the_command_line(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run:7.{suffix}"
    group = "" if suffix == "nc3" else "g:h/"
    with swath.create_file(path) as file:
        for number, name in enumerate(("air:2m", "air", f"{group}a:b:c")):
            file.create(name, (3 + number,), "i4")[...] = number
    for number, name in enumerate(("air:2m", "air", f"{group}a:b:c")):
        assert arguments.file_and_variable(f"{path}:{name}") == (str(path), name)
        with swath.open(path, name) as a:
            assert a.shape == (3 + number,)
    command = [sys.executable, "-m", "swath.commands.cli", "info", f"{path}:{group}a:b:c"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert "a:b:c" in told.stdout
    assert arguments.file_and_variable("no:file:v") == ("no:file", "v")


def test_a_file_is_preferred_to_a_variable_of_a_shorter_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "a:b"):
        np.save(f"{name}.npy", np.arange(3))
        Path(f"{name}.npy").rename(name)
    assert arguments.file_and_variable("a:b") == ("a:b", None)
    assert arguments.file_and_variable("a:b:c") == ("a:b", "c")
    assert arguments.file_and_variable("a:c:b") == ("a", "c:b")


@pytest.mark.parametrize("suffix", ["nc3", "nc4", "h5", "zarr"])
def test_files_groups_and_arrays_have_the_names_that_xarray_has(tmp_path: Path, suffix: str) -> None:
    def check(one: Any) -> None:
        assert one.attrs is one.attributes
        assert one.dims == one.dimensions

    with swath.create_file(tmp_path / f"a.{suffix}", attributes={"title": "a"}) as file:
        a = file.create("g/v" if suffix != "nc3" else "v", (3,), "f4", dimensions=("x",), attributes={"units": "K"})
        a[...] = 1
        a.attrs["units"] = "m"
        file.attrs["title"] = "b"
        for one in (file, a, a.decoded, *file.groups.values()):
            check(one)
    with swath.open_file(tmp_path / f"a.{suffix}") as file:
        assert (file.attrs["title"], file[a.variable or ""].attrs["units"], file[a.variable or ""].dims) == (
            "b",
            "m",
            ("x",),
        )

"""HDF5 and netCDF-4 files of Swath with many variables are read by h5py, h5netcdf, netCDF4 and xarray."""

import os
import random
from pathlib import Path

import numpy as np
import pytest

from hdf5_cases import KINDS, add, append, changing, new, started, store
from hdf5_variables import ATTRIBUTES, make_all
from swath.errors import ArgumentError
from swath.formats import hdf5
from swath.formats.changes import FileChanges
from swath.formats.contents import Dimension

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def path(tmp_path, kind):
    return started(tmp_path / ("a.nc4" if kind == "netcdf4" else "a.h5"), kind)


def netcdf_value(value):
    """Return an attribute of netCDF4 with the type that Swath gives it."""
    return value.ravel()[0] if isinstance(value, np.ndarray) and value.size == 1 else value


def check_attributes(found, expected):
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert type(found[name]) is type(np.asarray(value)[()] if isinstance(value, int) else value), name
        np.testing.assert_array_equal(found[name], value)


def test_what_was_made_is_described_as_it_was_asked_for(path, kind):
    make_all(path)
    found = hdf5.contents(path)
    assert found.format == kind
    assert list(found.groups) == ["", "g", "g/inner"]
    assert found.groups[""].dimensions == {"y": Dimension("y", 3), "x": Dimension("x", 4)}
    assert found.groups["g"].dimensions == {"m": Dimension("m", 2)}
    assert found.groups["g/inner"].dimensions == {"n": Dimension("n", 2)}
    check_attributes(found.groups[""].attributes, {"title": "all", **ATTRIBUTES})
    check_attributes(found.variables["t"].attributes, {"_FillValue": np.float32(-1), **ATTRIBUTES})
    assert {name: v.dimensions for name, v in found.variables.items()} == {
        "t": ("y", "x"),
        "x": ("x",),
        "scalar": (),
        "letters": ("x",),
        "g/inner/v": ("x", "n"),
        "g/inner/n": ("n",),
        "g/w": ("y", "m"),
    }
    assert [name for name, v in found.variables.items() if v.is_coordinate] == ["x", "letters", "g/inner/n"]
    assert found.variables["g/w"].chunks == (2, 2)


def test_netcdf4_reads_it_and_goes_on_with_it(path):
    values = make_all(path)
    with netCDF4.Dataset(path, "a") as file:
        file.set_auto_mask(False)
        assert {n: len(d) for n, d in file.dimensions.items()} == {"y": 3, "x": 4}
        for name, value in values.items():
            np.testing.assert_array_equal(file[name][...], value)
            assert file[name].dtype == value.dtype
        assert file["t"].dimensions == ("y", "x")
        assert file["g/inner/v"].dimensions == ("x", "n")
        found = {n: netcdf_value(file["t"].getncattr(n)) for n in file["t"].ncattrs()}
        check_attributes(found, {"_FillValue": np.float32(-1), **ATTRIBUTES})
        check_attributes({n: netcdf_value(file.getncattr(n)) for n in file.ncattrs()}, {"title": "all", **ATTRIBUTES})
        assert file["g/inner"].level == 2
        file.createVariable("later", "f4", ("y", "x"))[...] = 7
        file["t"].added = "yes"
        file["t"][0, 0] = 9
    assert hdf5.contents(path).variables["later"].dimensions == ("y", "x")
    assert hdf5.describe(path, "t").attributes["added"] == "yes"
    add(path, new("latest", (3,), "f4", ("y",)))
    with netCDF4.Dataset(path) as file:
        assert file["latest"].dimensions == ("y",)
        assert file["t"][0, 0] == 9


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
def test_xarray_reads_it_by_either_library(path, engine):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip(engine if engine == "h5netcdf" else "netCDF4")
    values = make_all(path)
    for group in (None, "g", "g/inner"):
        with xarray.open_dataset(path, engine=engine, group=group, mask_and_scale=False) as found:
            prefix = "" if group is None else f"{group}/"
            expected = {n for n in values if n.rpartition("/")[0] == (group or "")}
            assert {prefix + n for n in found.variables} >= expected
            for name in expected:
                variable = found[name.rpartition("/")[2]]
                np.testing.assert_array_equal(variable.values, values[name])
                assert variable.dims == hdf5.contents(path).variables[name].dimensions
            if group is None:
                assert found["t"].attrs["text"] == "°C"
                assert "x" in found.coords
                assert not any("phony" in d for d in found.dims)


def test_h5py_finds_real_dimension_scales_and_nothing_stray(path, kind):
    make_all(path)
    with h5py.File(path) as file:
        assert file["t"].dims[1][0] == file["x"]
        assert file["x"].is_scale
        assert file["y"].attrs["NAME"] == b"This is a netCDF dimension but not a netCDF variable.         3"
        assert ("_NCProperties" in file.attrs) == (kind == "netcdf4")
        books = {"DIMENSION_LIST"} | ({"_Netcdf4Coordinates"} if kind == "netcdf4" else set())
        assert set(file["t"].attrs) == {*ATTRIBUTES, "_FillValue"} | books
        assert file["t"].attrs["small"].shape == ((1,) if kind == "netcdf4" else ())
        if kind == "netcdf4":
            numbers = [int(file[n].attrs["_Netcdf4Dimid"]) for n in ("y", "x", "g/inner/n", "g/m")]
            assert sorted(numbers) == [0, 1, 2, 3]
            assert file["t"].attrs["_Netcdf4Coordinates"].tolist() == numbers[:2]


def test_rows_grow_one_variable_at_a_time_and_then_the_dimension(path):
    add(
        path,
        new("t", (None, 3), "f4", ("time", "x"), fill=-5),
        new("time", (None,), "f8", ("time",)),
        new("g/u", (None, 2, 3), "i4", ("time", "y", "x"), fill=-6, chunks=(2, 1, 3)),
    )
    assert hdf5.describe(path, "t").unlimited == (True, False)
    assert hdf5.contents(path).groups[""].dimensions["time"] == Dimension("time", 0, True)
    for row in range(5):
        with changing(path) as changes:
            append(changes, "time", row, float(row))
            append(changes, "t", row, [row] * 3)
            if row < 3:
                append(changes, "g/u", row, np.full((2, 3), row))
    with changing(path) as changes:
        hdf5.set_length(changes, "time", 5)
    expected = {
        "t": [[row] * 3 for row in range(5)],
        "time": list(range(5)),
        "g/u": [[[row if row < 3 else -6] * 3] * 2 for row in range(5)],
    }
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        assert file.dimensions["time"].isunlimited()
        for name, values in expected.items():
            np.testing.assert_array_equal(file[name][...], values)
    with h5py.File(path) as file:
        for name, values in expected.items():
            np.testing.assert_array_equal(file[name][...], values)
    with netCDF4.Dataset(path, "a") as file:
        file["t"][5:7] = 9
    assert hdf5.contents(path).groups[""].dimensions["time"].length == 7
    assert hdf5.describe(path, "t").shape == (7, 3)
    with changing(path) as changes:
        append(changes, "time", 5, 50.0)
        hdf5.set_length(changes, "time", 7)
    with netCDF4.Dataset(path) as file:
        assert file["time"][:6].tolist() == [0, 1, 2, 3, 4, 50]


def test_room_is_taken_away_and_a_variable_that_is_ahead_keeps_its_rows(path):
    add(
        path,
        new("a", (None,), "i4", ("time",), fill=-1),
        new("b", (None, 2), "i4", ("time", "x"), fill=-1, chunks=(1, 2)),
    )
    with changing(path) as changes:
        for row in range(4):
            append(changes, "a", row, row)
            append(changes, "b", row, [row, row])
        assert hdf5.extend(changes, "b", 2).shape == (2, 2)
        assert hdf5.extend(changes, "a", 3).shape == (3,)
        hdf5.set_length(changes, "time", 2)
        hdf5.extend(changes, "b", 3)
        hdf5.set_length(changes, "time", 5)
    with h5py.File(path) as file:
        assert file["a"][...].tolist() == [0, 1, 2, -1, -1]
        assert file["b"][...].tolist() == [[0, 0], [1, 1], [-1, -1], [-1, -1], [-1, -1]]


def test_what_was_written_and_taken_back_is_the_fill_value_again(path):
    add(path, new("a", (None,), "i4", ("time",), fill=-1), new("b", (None,), "i4", ("time",), fill=-1))
    with FileChanges("hdf5", path) as changes:
        append(changes, "a", 0, 1)
        changes.commit()
        append(changes, "a", 1, 2)
        changes.undo()
        hdf5.set_length(changes, "time", 3)
        changes.commit()
    with h5py.File(path) as file:
        assert file["a"][...].tolist() == [1, -1, -1]
        assert file["b"][...].tolist() == [-1, -1, -1]


def test_chunks_of_what_grows_hold_a_row_or_many_small_ones(path):
    made = add(
        path,
        new("large", (None, 1200, 1100), "f8", ("t", "y", "x")),
        new("small", (None, 3), "f8", ("t", "n")),
        new("one", (None,), "f8", ("t",)),
    )
    chunks = [hdf5.contents(path).variables[d.variable].chunks for d in made]
    assert chunks[0][0] == 1
    assert np.prod(chunks[0]) * 8 <= 4 << 20
    assert chunks[1:] == [(1024, 3), (1024,)]
    assert os.path.getsize(path) < 1 << 16


def test_default_dimensions_are_shared_where_they_are_alike(tmp_path):
    path = started(tmp_path / "a.nc4", "netcdf4")
    add(
        path,
        new("a", (3, 4)),
        new("b", (4, 3)),
        new("c", (3, 3)),
        new("d", (None, 4)),
        new("g/e", (None, 3)),
    )
    found = {name: variable.dimensions for name, variable in hdf5.contents(path).variables.items()}
    assert found == {
        "a": ("dim0", "dim1"),
        "b": ("dim1", "dim2"),
        "c": ("dim0", "dim2"),
        "d": ("dim3", "dim4"),
        "g/e": ("dim3", "dim5"),
    }
    with netCDF4.Dataset(path) as file:
        assert file["b"].shape == (4, 3)
        assert file["d"].dimensions == found["d"]


def test_hdf5_without_names_has_no_scales(tmp_path):
    path = started(tmp_path / "a.h5", "hdf5")
    made = add(path, new("a", (3, 4)), new("b", (None, 4)))
    assert [d.dimensions for d in made] == [(), ()]
    assert hdf5.contents(path).groups[""].dimensions == {}
    with changing(path) as changes:
        append(changes, "b", 0, [1, 2, 3, 4])
    with h5py.File(path) as file:
        assert list(file) == ["a", "b"]
        assert file["b"][...].tolist() == [[1, 2, 3, 4]]


def test_a_variable_with_the_name_of_a_dimension_that_it_does_not_lie_along(tmp_path):
    path = started(tmp_path / "a.nc4", "netcdf4")
    add(path, new("t", (3, 2), "f4", ("x", "y")), new("x", (2,), "i4", ("y",)), new("z", (2,), "i4", ("y",)))
    add(path, new("w", (5,), "f4", ("z",)))  # z becomes a dimension, too
    store(hdf5.describe(path, "x"), [7, 8])
    with netCDF4.Dataset(path, "a") as file:
        assert {n: v.dimensions for n, v in file.variables.items()} == {
            "t": ("x", "y"),
            "x": ("y",),
            "z": ("y",),
            "w": ("z",),
        }
        assert file["x"][...].tolist() == [7, 8]
    plain = started(tmp_path / "a.h5", "hdf5")
    add(plain, new("t", (3, 2), "f4", ("x", "y")))
    for wrong in (new("x", (2,), "i4", ("y",)), new("y", (2, 3), "i4", ("y", "x"))):
        with pytest.raises(ArgumentError, match="choose another name, or create a netCDF-4 file"):
            add(plain, wrong)


def test_a_coordinate_of_two_dimensions_and_dimensions_of_groups_above(tmp_path):
    path = started(tmp_path / "a.nc4", "netcdf4")
    add(
        path,
        new("t", (3, 2), "f4", ("y", "x")),
        new("y", (3, 2), "f4", ("y", "x")),
        new("g/x", (2,), "i4", ("x",)),  # no coordinate: the dimension belongs to the file
        new("g/h/v", (2, 3), "f4", ("x", "y")),
    )
    with netCDF4.Dataset(path, "a") as file:
        assert file["y"].dimensions == ("y", "x")
        assert file["g"].dimensions == {}
        assert file["g/h/v"].dimensions == ("x", "y")
    assert hdf5.describe(path, "y").dimensions == ("y", "x")
    assert hdf5.describe(path, "g/x").dimensions == ("x",)


@pytest.mark.parametrize("seed", range(6))
def test_in_whatever_order_variables_are_added_they_keep_dimensions_and_values(tmp_path, seed, kind):
    chance = random.Random(seed)
    path = started(tmp_path / "a.nc4", kind)
    lengths = {"time": None, "x": 3, "y": 2, "z": 4}
    asked = [new(name, (length,), "f8", (name,)) for name, length in lengths.items()]
    for number in range(12):
        names = chance.sample(sorted(lengths), chance.randrange(4))
        names.sort(key=lambda n: n != "time")
        group = chance.choice(["", "", "g/", "g/h/"])
        name = f"{group}v{number}"
        asked.append(new(name, tuple(lengths[n] for n in names), chance.choice(["i2", ">f4", "u8"]), tuple(names)))
    first_of_groups = chance.sample(asked, len(asked))
    first_of_groups.sort(key=lambda one: "/" in one.variable)  # otherwise groups would have their own dimensions
    values = {}
    for one in first_of_groups:
        with changing(path) as changes:
            description = hdf5.add(changes, one)
            if description.unlimited:
                description = hdf5.extend(changes, one.variable, 2)
            values[one.variable] = np.array(
                [chance.randrange(100) for _ in range(int(np.prod(description.shape)))], one.dtype
            ).reshape(description.shape)
            if description.shape:
                store(description, values[one.variable])
            else:
                values[one.variable][...] = 0
    with changing(path) as changes:
        hdf5.set_length(changes, "time", 2)
    with netCDF4.Dataset(path, "a") as file:
        file.set_auto_mask(False)
        for one in asked:
            assert file[one.variable].dimensions == one.dimensions
            np.testing.assert_array_equal(file[one.variable][...], values[one.variable])
        assert sorted(file.dimensions) == sorted(lengths)
        assert [name for name, d in file.dimensions.items() if d.isunlimited()] == ["time"]
    found = hdf5.contents(path)
    assert {n: v.dimensions for n, v in found.variables.items()} == {a.variable: a.dimensions for a in asked}
    with h5py.File(path) as file:
        for name, value in values.items():
            np.testing.assert_array_equal(file[name][...], value)


def test_names_in_any_script_are_kept(path):
    add(path, new("größe/température", (2,), "f4", ("ß",), attributes={"ключ": "значение"}))
    assert list(hdf5.contents(path).variables) == ["größe/température"]
    with netCDF4.Dataset(path) as file:
        assert file["größe/température"].getncattr("ключ") == "значение"
    with h5py.File(path) as file:
        assert "größe/température" in file


def test_attributes_are_added_replaced_and_removed(path):
    add(path, new("g/v", (2,), "i2", ("x",), fill=-1, attributes={"units": "K", "long_name": "v"}))
    with changing(path) as changes:
        for number in range(20):  # more than HDF5 stores in one place
            hdf5.set_attributes(changes, "g/v", {f"a{number}": number, "units": "m" * number})
        hdf5.set_attributes(changes, "g/v", {"long_name": None, "missing": None, "_FillValue": -2.0})
        hdf5.set_attributes(changes, "/g", {"a": 1.5})
        hdf5.set_attributes(changes, "", {"title": "x"})
    found = hdf5.describe(path, "g/v").attributes
    assert found["units"] == "m" * 19
    assert "long_name" not in found
    assert found["_FillValue"] == np.int16(-2)
    assert type(found["_FillValue"]) is np.int16
    assert [found[f"a{number}"] for number in range(20)] == list(range(20))
    with netCDF4.Dataset(path, "a") as file:
        assert file["g/v"].a19 == 19
        assert file["g"].a == 1.5
        assert file.title == "x"


def test_attributes_that_cannot_be_are_refused_and_change_nothing(path, kind):
    add(path, new("v", (2,), "i2", ("x",), attributes={"units": "K"}))
    before = Path(path).read_bytes()
    wrong = [
        ("nothing", {"a": 1}, "no group and no variable 'nothing'"),
        ("x", {"a": 1}, "no group and no variable 'x'"),
        ("v", {"DIMENSION_LIST": 1}, "use it themselves"),
        ("v", {"_FillValue": 1.5}, "no value of dtype int16"),
        ("v", {"_FillValue": [1, 2]}, "no value of dtype int16"),
        ("v", {"a": object()}, "attribute a: .* is no text, no number, and no list of these"),
        ("v", {"a": np.datetime64("2000-01-01")}, "attribute 'a' of v"),
    ]
    if kind == "netcdf4":
        wrong += [("v", {"a": value}, "netCDF-4 has no attributes of dtype") for value in (True, 1j, np.float16(1))]
        wrong += [("v", {"a": np.zeros((2, 2))}, "2 dimensions")]
    with changing(path) as changes:
        for holder, attributes, message in wrong:
            with pytest.raises(ArgumentError, match=message):
                hdf5.set_attributes(changes, holder, {"units": "m", **attributes})
    assert Path(path).read_bytes() == before

"""netCDF classic files as a whole: contents beside netCDF4, variables and attributes added, records appended."""

import numpy as np
import pytest

from swath.formats import netcdf_classic
from swath.formats.contents import Dimension

netCDF4 = pytest.importorskip("netCDF4")

VERSIONS = {"CDF-1": "NETCDF3_CLASSIC", "CDF-2": "NETCDF3_64BIT_OFFSET", "CDF-5": "NETCDF3_64BIT_DATA"}
CLASSIC_TYPES = ["i1", "S1", "i2", "i4", "f4", "f8"]
TYPES = {"CDF-1": CLASSIC_TYPES, "CDF-2": CLASSIC_TYPES, "CDF-5": [*CLASSIC_TYPES, "u1", "u2", "u4", "i8", "u8"]}


def random_values(rng, shape, dtype):
    values = rng.integers(0, 100, shape)
    return values.astype("u1").view("S1") if dtype == "S1" else values.astype(dtype)


def assert_same_attributes(found, expected):
    """Names, types and values; `expected` as netCDF4 tells them."""
    assert list(found) == list(expected)
    for key, value in expected.items():
        assert type(found[key]) is type(value), key
        assert np.asarray(found[key]).dtype == np.asarray(value).dtype, key
        np.testing.assert_array_equal(found[key], value)


def assert_contents_are_those_of_netcdf4(path):
    found = netcdf_classic.contents(str(path))
    with netCDF4.Dataset(path) as dataset:
        assert found.format == "netcdf-classic"
        assert VERSIONS[found.version] == dataset.data_model
        assert list(found.groups) == [""]
        assert found.group("").dimensions == {
            d.name: Dimension(d.name, len(d), d.isunlimited()) for d in dataset.dimensions.values()
        }
        assert_same_attributes(found.group("").attributes, dataset.__dict__)
        assert list(found.variables) == list(dataset.variables)
        for name, variable in dataset.variables.items():
            assert found.variables[name].shape == variable.shape
            assert found.variables[name].dtype == np.dtype(variable.dtype).newbyteorder(">")
            assert found.variables[name].dimensions == variable.dimensions
            assert_same_attributes(found.variables[name].attributes, variable.__dict__)
    return found


def some_attributes(rng, types):
    """A text, and of each type one value and several."""
    attributes = {"text": "°C"}
    for dtype in types:
        if dtype != "S1":
            attributes[f"one_{dtype}"] = random_values(rng, (), dtype)[()]
            attributes[f"several_{dtype}"] = random_values(rng, int(rng.integers(2, 6)), dtype)
    return attributes


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("records", [0, 3])
def test_contents_are_what_netcdf4_tells_with_all_types(tmp_path, version, records):
    rng = np.random.default_rng(1)
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format=VERSIONS[version]) as dataset:
        dataset.createDimension("y", 3)
        dataset.createDimension("time", None)
        dataset.createDimension("unused", 7)
        dataset.setncatts(some_attributes(rng, TYPES[version]))
        dataset.createVariable("y", "f8", ("y",)).bounds = "edges"
        dataset.createVariable("edges", "f8", ("y",))
        for dtype in TYPES[version]:
            variable = dataset.createVariable(f"v_{dtype}", dtype, ("time", "y"), fill_value=None)
            variable.setncatts(some_attributes(rng, TYPES[version]))
            variable[:records] = random_values(rng, (records, 3), dtype)
        dataset.createVariable("scalar", "i2", (), fill_value=-5).missing_value = np.int16(-5)
    found = assert_contents_are_those_of_netcdf4(tmp_path / "a.nc")
    assert [name for name, v in found.variables.items() if v.is_coordinate] == ["y", "edges", "v_S1"]
    assert type(found.variables["scalar"].attributes["missing_value"]) is np.int16
    assert found.dimension("", "time") == Dimension("time", records, is_unlimited=True)


def test_contents_of_a_file_that_holds_nothing_are_empty(tmp_path):
    for version, data_model in VERSIONS.items():
        path = tmp_path / f"{version}.nc"
        netCDF4.Dataset(path, "w", format=data_model).close()
        found = assert_contents_are_those_of_netcdf4(path)
        assert (found.version, found.variables) == (version, {})


def test_contents_of_a_variable_with_more_dimensions_than_numpy_has_say_that_it_is_unsupported(tmp_path):
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("one", 1)
        file.createVariable("v", "i2", ("one",) * 65)
        file.createVariable("w", "i2", ("one",) * 3)
    found = netcdf_classic.contents(str(tmp_path / "a.nc")).variables
    assert "dimensions" in found["v"].unsupported
    assert found["w"].unsupported == ""

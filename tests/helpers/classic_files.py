"""Shared by tests of netCDF classic files: initial files, changes of them, and their expected contents."""

import os

import numpy as np
import pytest

from swath.formats import netcdf_classic
from swath.formats.changes import FileChanges
from swath.formats.contents import Dimension
from swath.formats.description import NewArray

netCDF4 = pytest.importorskip("netCDF4")

VERSIONS = {"CDF-1": "NETCDF3_CLASSIC", "CDF-2": "NETCDF3_64BIT_OFFSET", "CDF-5": "NETCDF3_64BIT_DATA"}
CLASSIC_TYPES = ["i1", "S1", "i2", "i4", "f4", "f8"]
TYPES = {"CDF-1": CLASSIC_TYPES, "CDF-2": CLASSIC_TYPES, "CDF-5": [*CLASSIC_TYPES, "u1", "u2", "u4", "i8", "u8"]}


def new_array(variable, shape, dtype, **more):
    """Return the array that `create` makes of its arguments."""
    more = {"fill": None, "dimensions": None, "attributes": {}, "flavour": None, **more}
    return NewArray(shape, np.dtype(dtype), tuple(range(len(shape))), variable=variable, **more)


def random_values(rng, shape, dtype):
    values = rng.integers(0, 100, shape)
    return values.astype("u1").view("S1") if dtype == "S1" else values.astype(dtype)


def assert_same_attributes(found, expected):
    """Compare names, types and values; `expected` is netCDF4's result."""
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
    """Return a text, and one and several values of each type."""
    attributes = {"text": "°C"}
    for dtype in types:
        if dtype != "S1":
            attributes[f"one_{dtype}"] = random_values(rng, (), dtype)[()]
            attributes[f"several_{dtype}"] = random_values(rng, int(rng.integers(2, 6)), dtype)
    return attributes


def values_at(description):
    """Return the values at the described bytes of the file, by NumPy alone; bytes after its end are zeros."""
    raw = np.fromfile(description.path, np.uint8)
    if raw.size < description.end:
        raw = np.concatenate([raw, np.zeros(description.end - raw.size, np.uint8)])
    layout = description.layout
    view = np.ndarray(description.shape, description.dtype, raw[layout.offset :], 0, layout.strides)
    return view.copy() if description.end else np.empty(description.shape, description.dtype)


def write_at(description, values, first=0):
    """Write rows, or a whole variable, at the described bytes."""
    values = np.asarray(values, description.dtype)
    with open(description.path, "r+b") as file:
        if not any(description.unlimited):
            os.pwrite(file.fileno(), values.tobytes(), description.layout.offset)
            return
        for row in range(len(values)):
            at = description.layout.offset + (first + row) * description.layout.strides[0]
            os.pwrite(file.fileno(), values[row : row + 1].tobytes(), at)


def read_by_netcdf4(path):
    with netCDF4.Dataset(path) as dataset:
        dataset.set_auto_maskandscale(False)
        dataset.set_auto_chartostring(False)
        return {name: np.asarray(variable[...]) for name, variable in dataset.variables.items()}


def start_with_records(path, version="CDF-5", records=3):
    """A file of two fixed variables and two of records, each odd in size; returns their values."""
    with netCDF4.Dataset(path, "w", format=VERSIONS[version]) as dataset:
        for name, length in (("time", None), ("y", 3), ("x", 5)):
            dataset.createDimension(name, length)
        rng = np.random.default_rng(7)
        for name, dtype, dimensions in (
            ("fixed", "i2", ("y", "x")),
            ("last", "i1", ("x",)),
            ("short", "i2", ("time", "y")),
            ("byte", "i1", ("time", "x")),
        ):
            variable = dataset.createVariable(name, dtype, dimensions)
            shape = [records if d == "time" else len(dataset.dimensions[d]) for d in dimensions]
            variable[: shape[0]] = random_values(rng, shape, dtype)
    return read_by_netcdf4(path)


def changed(path, function, *arguments, is_durable=True):
    with FileChanges("netcdf-classic", str(path), is_new=not is_durable) as changes:
        result = function(changes, *arguments)
        changes.commit()
    return result


def assert_holds(path, values):
    for found in (read_by_netcdf4(path), {n: values_at(netcdf_classic.describe(str(path), n)) for n in values}):
        for name, expected in values.items():
            np.testing.assert_array_equal(found[name], expected)


ADDED = {
    "scalar": new_array("scalar", (), "f8", attributes={"text": "t"}),
    "fixed": new_array("large", (70, 1000), "f4"),
    "record": new_array("grows", (0, 7), "i2", dimensions=("time", "other"), unlimited=(True, False)),
    "existing": new_array("later", (3, 5), "i1", dimensions=("time", "x")),
}
LONG = "attribute " * 3000
FIRST = {"first": "changed before"}


def start_with_room(path):
    """Like `start_with_records`, but by Swath, which leaves space after the header and the fixed variables."""
    made = start_with_records(path)
    path.unlink()
    netcdf_classic.start(str(path), None)
    for name, dimensions in (
        ("fixed", ("y", "x")),
        ("last", ("x",)),
        ("short", ("time", "y")),
        ("byte", ("time", "x")),
    ):
        shape = tuple(0 if d == "time" else n for d, n in zip(dimensions, made[name].shape, strict=True))
        changed(path, netcdf_classic.add, new_array(name, shape, made[name].dtype, dimensions=dimensions))
    changed(path, netcdf_classic.set_length, "time", 3)
    for name, values in made.items():
        write_at(netcdf_classic.describe(str(path), name), values)
    return made


def start_without_records(path):
    """Two fixed variables, and dimensions that others have, too."""
    values = {"short": np.full((3, 5), 7, ">i2"), "byte": np.full((2, 5), 8, "i1")}
    netcdf_classic.start(str(path), "cdf1")
    for name, dimensions in (("short", ("time", "x")), ("byte", ("z", "x"))):
        new = new_array(name, values[name].shape, values[name].dtype, dimensions=dimensions)
        write_at(changed(path, netcdf_classic.add, new), values[name])
    return values


STARTS = [start_with_records, start_with_room, start_without_records]
ATTRIBUTES = {"long": {"a": LONG}, "short": {"a": 1}}


def carry_out(changes, what):
    if what in ATTRIBUTES:
        netcdf_classic.set_attributes(changes, "byte", ATTRIBUTES[what])
    elif what == "records":
        netcdf_classic.set_length(changes, "time", 9)
    else:
        netcdf_classic.add(changes, ADDED[what])


def steps_of(start):
    """Return the possible changes of a file of `STARTS`."""
    return [w for w in [*ADDED, *ATTRIBUTES, "records"] if start is not start_without_records or w not in UNLIMITED]


UNLIMITED = ("record", "records")

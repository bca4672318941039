"""netCDF classic files as a whole: contents beside netCDF4, variables and attributes added, records appended."""

import os

import numpy as np
import pytest

from swath.formats import netcdf_classic, netcdf_move
from swath.formats.contents import Dimension
from swath.formats.description import NewArray

try:
    from swath.formats.changes import Changes
except ImportError:

    class Changes:
        def __init__(self, path, *, is_durable=True):
            self.path = path
            self.is_durable = is_durable
            self.commit()

        def __enter__(self):
            return self

        def __exit__(self, *error):
            if self.kept:
                self.undo()

        def begin(self):
            if not self.kept:
                self.size = os.stat(self.path).st_size

        def keep(self, descriptor, offset, count):
            self.kept.append((offset, os.pread(descriptor, min(count, self.size - offset), offset)))

        def commit(self):
            self.kept = []
            self.size = os.stat(self.path).st_size

        def undo(self):
            with open(self.path, "r+b") as file:
                file.truncate(self.size)
                for offset, data in reversed(self.kept):
                    os.pwrite(file.fileno(), data, offset)
            self.kept = []


netCDF4 = pytest.importorskip("netCDF4")

VERSIONS = {"CDF-1": "NETCDF3_CLASSIC", "CDF-2": "NETCDF3_64BIT_OFFSET", "CDF-5": "NETCDF3_64BIT_DATA"}
CLASSIC_TYPES = ["i1", "S1", "i2", "i4", "f4", "f8"]
TYPES = {"CDF-1": CLASSIC_TYPES, "CDF-2": CLASSIC_TYPES, "CDF-5": [*CLASSIC_TYPES, "u1", "u2", "u4", "i8", "u8"]}


def new_array(variable, shape, dtype, **more):
    """What `create` makes of its arguments."""
    more = {"fill": None, "dimensions": None, "attributes": {}, "flavour": None, **more}
    return NewArray(shape, np.dtype(dtype), tuple(range(len(shape))), variable=variable, **more)


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


# ---- Files that grow -------------------------------------------------------------------------------------------------


def values_at(description):
    """What the described bytes of the file are, by NumPy alone; bytes behind its end are zeros."""
    raw = np.fromfile(description.path, np.uint8)
    if raw.size < description.end:
        raw = np.concatenate([raw, np.zeros(description.end - raw.size, np.uint8)])
    layout = description.layout
    view = np.ndarray(description.shape, description.dtype, raw[layout.offset :], 0, layout.strides)
    return view.copy() if description.end else np.empty(description.shape, description.dtype)


def write_at(description, values, first=0):
    """Write rows, or all of a variable, where the description says."""
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


def read_by_scipy(path):
    with pytest.importorskip("scipy.io").netcdf_file(path, mmap=False) as file:
        return {name: np.array(variable.data) for name, variable in file.variables.items()}


class Grown:
    """A file that is changed step by step, and what it must hold."""

    def __init__(self, path, version, rng, is_durable):
        self.path = str(path)
        self.version = version
        self.rng = rng
        self.is_durable = is_durable
        self.values = {}
        self.grows = set()
        self.attributes = {"": {}}
        self.records = 0
        netcdf_classic.start(self.path, f"cdf{version[-1]}")

    def change(self, function, *arguments):
        with Changes(self.path, is_durable=self.is_durable) as changes:
            result = function(changes, *arguments)
            changes.commit()
        return result

    def add(self, name):
        dtype = self.rng.choice(TYPES[self.version])
        inner = tuple(int(n) for n in self.rng.integers(1, 6, self.rng.integers(0, 3)))
        grows = bool(self.rng.random() < 0.5)
        shape = (0, *inner) if grows else inner
        names = ("time", *(f"n{n}_{i}" for i, n in enumerate(inner))) if grows else None
        attributes = some_attributes(self.rng, TYPES[self.version][: int(self.rng.integers(1, 5))])
        new = new_array(
            name, shape, dtype, dimensions=names, attributes=attributes, unlimited=(grows, *(False for _ in inner))
        )
        made = self.change(netcdf_classic.add, new)
        assert made.shape == ((self.records, *inner) if grows else inner)
        assert made.unlimited == (new.unlimited if grows else ())
        self.attributes[name] = attributes
        np.testing.assert_array_equal(values_at(made), np.zeros(made.shape, made.dtype))
        self.values[name] = random_values(self.rng, made.shape, dtype)
        if grows:
            self.grows.add(name)
        if made.shape and 0 in made.shape:
            return
        write_at(made, self.values[name])

    def append(self):
        """Some records to all variables that grow."""
        rows = self.records + int(self.rng.integers(1, 4))
        for name in self.grows:
            made = self.change(netcdf_classic.extend, name, rows)
            assert made.shape[0] == rows
            more = random_values(self.rng, (rows - self.records, *made.shape[1:]), made.dtype.str[1:])
            write_at(made, more, self.records)
            self.values[name] = np.concatenate([self.values[name], more])
        if self.grows:
            self.change(netcdf_classic.set_length, "time", rows)
            self.records = rows

    def set_attributes(self):
        holder = str(self.rng.choice(["", *self.values]))
        new = some_attributes(self.rng, TYPES[self.version][: int(self.rng.integers(1, 5))])
        new[f"a{self.rng.integers(100)}"] = "long " * int(self.rng.integers(1, 700))
        for name in list(self.attributes[holder])[:2]:
            new[name] = None
        self.change(netcdf_classic.set_attributes, holder, new)
        for name, value in new.items():
            if value is None:
                self.attributes[holder].pop(name, None)
            else:
                self.attributes[holder][name] = value

    def check(self):
        for name, values in self.values.items():
            np.testing.assert_array_equal(values_at(netcdf_classic.describe(self.path, name)), values)
        readers = [read_by_netcdf4] if self.version == "CDF-5" else [read_by_netcdf4, read_by_scipy]
        for read in readers:
            found = read(self.path)
            assert list(found) == list(self.values)
            for name, values in self.values.items():
                np.testing.assert_array_equal(found[name], values.reshape(found[name].shape))
        found = assert_contents_are_those_of_netcdf4(self.path)
        assert_same_attributes(found.group("").attributes, self.attributes[""])
        for name in self.values:
            assert_same_attributes(found.variables[name].attributes, self.attributes[name])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("is_durable", [True, False])
@pytest.mark.parametrize("piece_bytes", [40, netcdf_move.PIECE_BYTES])
def test_a_file_that_grows_by_random_steps_keeps_all_that_was_in_it(
    tmp_path, monkeypatch, version, is_durable, piece_bytes
):
    monkeypatch.setattr(netcdf_move, "PIECE_BYTES", piece_bytes)
    for seed in range(int(os.environ.get("SWATH_CLASSIC_FILES", "5"))):
        rng = np.random.default_rng([seed, int(version[-1]), is_durable, piece_bytes])
        grown = Grown(tmp_path / f"{seed}.nc", version, rng, is_durable)
        for step in range(12):
            what = rng.random()
            if what < 0.5 or not grown.values:
                grown.add(f"v{step}")
            elif what < 0.75:
                grown.append()
            else:
                grown.set_attributes()
            grown.check()
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".nc"] * (seed + 1)

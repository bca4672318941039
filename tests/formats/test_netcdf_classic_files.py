"""Whole netCDF classic files: contents compared with netCDF4, added variables and attributes, appended records."""

import os

import numpy as np
import pytest

from classic_files import (
    ADDED,
    LONG,
    TYPES,
    VERSIONS,
    assert_contents_are_those_of_netcdf4,
    assert_holds,
    assert_same_attributes,
    changed,
    new_array,
    random_values,
    read_by_netcdf4,
    some_attributes,
    start_with_records,
    values_at,
    write_at,
)
from swath.errors import ArgumentError, ExistsError, UnsupportedError
from swath.formats import netcdf_classic
from swath.formats.changes import FileChanges
from swath.formats.contents import Dimension
from swath.formats.netcdf_fills import NETCDF_FILLS

netCDF4 = pytest.importorskip("netCDF4")


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


def read_by_scipy(path):
    with pytest.importorskip("scipy.io").netcdf_file(path, mmap=False) as file:
        return {name: np.array(variable.data) for name, variable in file.variables.items()}


class Grown:
    """A file that is changed step by step, and its expected content."""

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
        with FileChanges("netcdf-classic", self.path, is_new=not self.is_durable) as changes:
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
        unwritten = NETCDF_FILLS[made.dtype.str[1:]] if grows else np.zeros((), made.dtype)
        np.testing.assert_array_equal(values_at(made), np.full(made.shape, unwritten, made.dtype))
        self.values[name] = random_values(self.rng, made.shape, dtype)
        if grows:
            self.grows.add(name)
        if made.shape and 0 in made.shape:
            return
        write_at(made, self.values[name])

    def append(self):
        """Append some records to all growing variables."""
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
def test_a_file_that_grows_by_random_steps_keeps_all_that_was_in_it(tmp_path, version, is_durable):
    for seed in range(int(os.environ.get("SWATH_CLASSIC_FILES", "5"))):
        rng = np.random.default_rng([seed, int(version[-1]), is_durable])
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


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("is_durable", [True, False])
@pytest.mark.parametrize("what", [*ADDED, "attribute"])
def test_a_file_of_netcdf4_keeps_its_values_and_netcdf4_goes_on_with_it(tmp_path, version, is_durable, what):
    path = tmp_path / "a.nc"
    values = start_with_records(path, version)
    os.chmod(path, 0o640)
    if what == "attribute":
        changed(path, netcdf_classic.set_attributes, "last", {"long": LONG}, is_durable=is_durable)
    else:
        made = changed(path, netcdf_classic.add, ADDED[what], is_durable=is_durable)
        unwritten = NETCDF_FILLS[made.dtype.str[1:]] if made.unlimited else np.zeros((), made.dtype)
        values[made.variable] = np.full(made.shape, unwritten, made.dtype)
        assert made.shape == ((3, 7) if what == "record" else ADDED[what].shape)
    assert os.stat(path).st_mode & 0o777 == 0o640
    assert_holds(path, values)
    with netCDF4.Dataset(path, "a") as dataset:
        dataset["fixed"].more = LONG
        dataset["short"][3] = [7, 8, 9]
        dataset.createVariable("added", "i2", ("time", "y"))[:] = 5
    values = read_by_netcdf4(path)
    np.testing.assert_array_equal(values["short"][3], [7, 8, 9])
    assert_holds(path, values)


def test_records_that_are_written_but_not_counted_yet_are_moved_too(tmp_path):
    for is_durable in (True, False):
        path = str(tmp_path / f"{is_durable}.nc")
        netcdf_classic.start(path, None)
        changed(path, netcdf_classic.add, new_array("a", (0, 3), "i1", unlimited=(True, False)))
        write_at(changed(path, netcdf_classic.extend, "a", 5), np.arange(15).reshape(5, 3))
        made = changed(path, netcdf_classic.add, new_array("b", (0,), "f8", unlimited=(True,)), is_durable=is_durable)
        assert made.dimensions == ("dim0",)  # the record dimension, which has this name now
        changed(path, netcdf_classic.add, new_array("fixed", (9000,), "f8"), is_durable=is_durable)
        assert netcdf_classic.describe(path, "a").shape == (0, 3)
        changed(path, netcdf_classic.set_length, "dim0", 5)
        assert_holds(path, {"a": np.arange(15).reshape(5, 3), "b": np.zeros(5), "fixed": np.zeros(9000)})


def test_a_header_has_room_for_variables_and_attributes_to_come(tmp_path):
    path = str(tmp_path / "a.nc")
    netcdf_classic.start(path, None)
    first = changed(path, netcdf_classic.add, new_array("v0", (3,), "f4"))
    assert first.layout.offset % 4096 == 0
    inode = os.stat(path).st_ino
    for number in range(1, 20):
        new = new_array(f"v{number}", (100_000,), "f4", attributes={"units": "m s-1", "long_name": "a name " * 10})
        assert changed(path, netcdf_classic.add, new).layout.offset % 4096 == 0
    assert os.stat(path).st_ino == inode
    assert netcdf_classic.describe(path, "v0").layout == first.layout


def test_attributes_are_replaced_in_their_places_removed_and_kept_in_their_types(tmp_path):
    path = str(tmp_path / "a.nc")
    new = new_array("v", (2,), "i2", fill=np.int16(-1), attributes={"a": np.int16(1), "b": 2.5, "c": "text"})
    netcdf_classic.create(path, new)
    for holder in ("", "v"):
        changed(path, netcdf_classic.set_attributes, holder, {"d": np.float32(1), "e": [1, 2], "gone": None})
    changed(path, netcdf_classic.set_attributes, "/v", {"b": np.array([3, 4], "i1"), "a": None, "_FillValue": 7.0})
    found = netcdf_classic.describe(path)
    assert_same_attributes(
        found.attributes,
        {
            "_FillValue": np.int16(7),
            "b": np.array([3, 4], "i1"),
            "c": "text",
            "d": np.float32(1),
            "e": np.array([1, 2]),
        },
    )
    assert found.fill == np.array(7, ">i2").tobytes()
    assert list(netcdf_classic.contents(path).group("").attributes) == ["d", "e"]
    assert_contents_are_those_of_netcdf4(path)


def test_dimensions_without_names_are_invented_once(tmp_path):
    path = str(tmp_path / "a.nc")
    netcdf_classic.create(path, new_array("a", (2, 3), "i1"))
    for name, shape, dimensions in (
        ("b", (2, 3), ("dim0", "dim1")),
        ("c", (3, 2), ("dim1", "dim2")),
        ("d", (4, 4), ("dim3", "dim4")),
        ("e", (3, 3), ("dim1", "dim5")),
    ):
        assert changed(path, netcdf_classic.add, new_array(name, shape, "i1")).dimensions == dimensions
    lengths = {name: d.length for name, d in netcdf_classic.contents(path).group("").dimensions.items()}
    assert lengths == {"dim0": 2, "dim1": 3, "dim2": 2, "dim3": 4, "dim4": 4, "dim5": 3}


@pytest.mark.parametrize(
    ("version", "new", "message"),
    [
        ("CDF-5", new_array("fixed", (3,), "i1"), "there is a variable 'fixed' already"),
        ("CDF-5", new_array("a/b", (3,), "i1"), "allows no name 'a/b'"),
        ("CDF-5", new_array("v", (4,), "i1", dimensions=("x",)), "dimension x has 5 elements in this file, not 4"),
        ("CDF-5", new_array("v", (4,), "i1", dimensions=("time",)), "has 3 elements .*it is unlimited.*, not 4"),
        ("CDF-5", new_array("v", (0,), "i1", dimensions=("x",)), "x has 5 elements in this file and cannot grow"),
        (
            "CDF-5",
            new_array("v", (0,), "i1", dimensions=("t",), unlimited=(True,)),
            "t cannot be unlimited: .*one such dimension, which is time here",
        ),
        ("CDF-5", new_array("v", (5, 3), "i1", dimensions=("x", "time")), "no unlimited dimension but the first"),
        ("CDF-5", new_array("v", (5, 0), "i1", unlimited=(False, True)), "no unlimited dimension but the first"),
        ("CDF-5", new_array("v", (5, 0), "i1"), "no zero-length dimension but the first"),
        ("CDF-5", new_array("v", (3,), "c8"), "cannot store dtype complex64"),
        ("CDF-2", new_array("v", (3,), "u2"), "cannot store dtype uint16"),
        ("CDF-5", new_array("v", (3,), "i1", attributes={"a": ["one", "two"]}), "attribute a: .*one text or numbers"),
        ("CDF-5", new_array("v", (3,), "i1", attributes={"a": np.array(["one"])}), "attribute a: .*one text or num"),
        ("CDF-5", new_array("v", (3,), "i1", attributes={"a": [[1], [2, 3]]}), "attribute a"),
        ("CDF-5", new_array("v", (3,), "i1", attributes={"a": np.bool_(1)}), "attribute a: .*store dtype bool"),
        ("CDF-1", new_array("v", (3,), "i1", attributes={"a": np.uint8(1)}), "attribute a: .*store dtype uint8"),
        ("CDF-5", new_array("v", (3,), "i1", attributes={"_FillValue": 1}), "as fill="),
        ("CDF-5", new_array("v", (3,), "i1", chunks=(3,)), "stores no chunks"),
        ("CDF-1", new_array("v", (2**31, 1), "i1"), "at most 2147483644 elements"),
        ("CDF-1", new_array("v", (2**16, 2**15), "i1"), "v takes 2147483648 bytes; in CDF-1 only the last of a file"),
        ("CDF-2", new_array("v", (2**16, 2**16), "i1"), "v takes 4294967296 bytes; in CDF-2 .*choose .*cdf5"),
        ("CDF-2", new_array("v", (3, 2**16, 2**16), "i1", dimensions=("time", "a", "b")), "one record of variable v"),
        ("CDF-5", new_array("v", (2**31, 2**31), "i2"), "v takes 9223372036854775808 bytes; in CDF-5"),
        ("CDF-5", new_array("v", (2**63 - 1000,), "i1"), r"would begin at byte \d{19}, .*choose HDF5"),
    ],
)
def test_what_cannot_be_added_is_refused_and_changes_nothing(tmp_path, version, new, message):
    path = tmp_path / "a.nc"
    start_with_records(path, version)
    before = path.read_bytes()
    with FileChanges("netcdf-classic", str(path)) as changes:
        with pytest.raises((ArgumentError, ExistsError), match=message):
            netcdf_classic.add(changes, new)
        assert path.read_bytes() == before


def test_large_variables_go_where_netcdf_reads_them_and_nowhere_else(tmp_path):
    for version, large in (("CDF-1", (2**16, 2**15)), ("CDF-2", (2**16, 2**16))):
        path = tmp_path / f"{version}.nc"
        netcdf_classic.start(str(path), f"cdf{version[-1]}")
        changed(path, netcdf_classic.add, new_array("small", (3,), "i1"))
        made = changed(path, netcdf_classic.add, new_array("large", large, "i1"))
        write_at(made, [1])
        with netCDF4.Dataset(path) as dataset:
            assert list(dataset["large"][0, :2]) == [1, 0]
        for after in (new_array("v", (3,), "i1"), new_array("r", (0, 3), "i1")):
            with pytest.raises(ArgumentError, match="variable large takes"):
                changed(path, netcdf_classic.add, after)

        path = tmp_path / f"{version}-records.nc"
        netcdf_classic.start(str(path), f"cdf{version[-1]}")
        changed(path, netcdf_classic.add, new_array("large", (0, *large), "i1"))
        changed(path, netcdf_classic.set_length, "dim0", 2)
        with netCDF4.Dataset(path) as dataset:
            assert dataset["large"].shape == (2, *large)
        changed(path, netcdf_classic.add, new_array("small", (3,), "i1"))
        with pytest.raises(ArgumentError, match="one record of variable large takes"):
            changed(path, netcdf_classic.add, new_array("r", (0, 3), "i1"))


def test_cdf1_tells_of_no_variable_behind_2_gib(tmp_path):
    path = str(tmp_path / "a.nc")
    netcdf_classic.start(path, "cdf1")
    changed(path, netcdf_classic.add, new_array("a", (2**15, 2**15), "i1"))
    changed(path, netcdf_classic.add, new_array("b", (2**15, 2**15), "i1"))
    with pytest.raises(ArgumentError, match=r"would begin at byte 21474.*CDF-1 can tell .*choose netcdf-classic:cdf5"):
        changed(path, netcdf_classic.add, new_array("c", (3,), "i1"))


def test_lengths_and_rows_that_cannot_be_are_refused(tmp_path):
    path = tmp_path / "a.nc"
    start_with_records(path, "CDF-2")
    before = path.read_bytes()
    for function, name, rows, message in (
        (netcdf_classic.set_length, "time", 2, "has 3 records; it cannot shrink to 2"),
        (netcdf_classic.set_length, "x", 9, "dimension x does not grow; the unlimited dimension is time"),
        (netcdf_classic.set_length, "z", 9, "dimension z does not grow; the unlimited dimension is time"),
        (netcdf_classic.set_length, "time", 2**31, "has 0 to 2147483647 of them"),
        (netcdf_classic.extend, "short", 2**31, "has 0 to 2147483647 of them"),
        (netcdf_classic.extend, "short", -1, "has 0 to"),
        (netcdf_classic.extend, "fixed", 9, "fixed does not grow"),
        (netcdf_classic.extend, "nothing", 9, "no variable 'nothing'"),
        (netcdf_classic.set_attributes, "nothing", {"a": 1}, "no variable 'nothing'"),
        (netcdf_classic.set_attributes, "short", {"_FillValue": "text"}, "is not a value of dtype"),
    ):
        with pytest.raises(ArgumentError, match=message):
            changed(path, function, name, rows)
        assert path.read_bytes() == before
    start_with_records(tmp_path / "b.nc", "CDF-5")
    with pytest.raises(ArgumentError, match="beyond 64-bit offsets"):
        changed(tmp_path / "b.nc", netcdf_classic.extend, "short", 2**62)


def test_rows_are_described_before_they_are_there_and_readers_see_none(tmp_path):
    path = tmp_path / "a.nc"
    start_with_records(path)
    before = path.read_bytes()
    description = changed(path, netcdf_classic.extend, "byte", 10)
    assert description.shape == (10, 5)
    assert description.end == description.layout.offset + 9 * description.layout.strides[0] + 5
    assert path.read_bytes() == before.ljust(description.end, b"\0")
    changed(path, netcdf_classic.set_length, "/time", 10)
    assert netcdf_classic.describe(str(path), "byte") == description
    assert path.stat().st_size == description.end + 3  # the last record's padding


def test_a_file_in_an_order_that_netcdf_refuses_is_left_alone(tmp_path):
    path = tmp_path / "a.nc"
    start_with_records(path, records=0)
    raw = bytearray(path.read_bytes())
    place = netcdf_classic.describe(str(path), "byte").layout.offset.to_bytes(8, "big")
    assert raw.count(place) == 1
    at = raw.index(place)
    raw[at : at + 8] = (2**20).to_bytes(8, "big")
    path.write_bytes(raw)
    with (
        FileChanges("netcdf-classic", str(path)) as changes,
        pytest.raises(UnsupportedError, match="its variables lie in an order"),
    ):
        netcdf_classic.add(changes, ADDED["scalar"])

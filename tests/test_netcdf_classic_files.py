"""netCDF classic files as a whole: contents beside netCDF4, variables and attributes added, records appended."""

import errno
import itertools
import os

import numpy as np
import pytest

from kills import killed
from swath.errors import ArgumentError, StoreError, UnsupportedError
from swath.formats import netcdf_classic, netcdf_move
from swath.formats.changes import Changes, repair
from swath.formats.contents import Dimension
from swath.formats.description import NewArray
from swath.formats.netcdf_define import Move

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
    with Changes(str(path), is_durable=is_durable) as changes:
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
        values[made.variable] = np.zeros(made.shape, made.dtype)
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
        assert made.dimensions == ("dim0",)  # the record dimension, which has a name by now
        changed(path, netcdf_classic.add, new_array("fixed", (9000,), "f8"), is_durable=is_durable)
        assert netcdf_classic.describe(path, "a").shape == (0, 3)
        changed(path, netcdf_classic.set_length, "dim0", 5)
        assert_holds(path, {"a": np.arange(15).reshape(5, 3), "b": np.zeros(5), "fixed": np.zeros(9000)})


def start_with_room(path):
    """As `start_with_records`, by Swath, which leaves room behind the header and the fixed variables."""
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
    """What can be done to a file of those that `STARTS` make."""
    return [w for w in [*ADDED, *ATTRIBUTES, "records"] if start is not start_without_records or w not in UNLIMITED]


UNLIMITED = ("record", "records")


@pytest.mark.parametrize(("start", "what"), [(start, what) for start in STARTS for what in steps_of(start)])
def test_a_kill_at_any_call_leaves_the_old_file_or_the_new_one(tmp_path, start, what):
    path = tmp_path / "a.nc"
    values = start(path)
    before = path.read_bytes()

    def work():
        with Changes(str(path)) as changes:
            carry_out(changes, what)
            changes.commit()

    after = None
    for at in itertools.count(-1):  # the first time there is no kill
        path.unlink()
        path.write_bytes(before)
        is_whole = not killed(work, at)
        repair(str(path))
        now = path.read_bytes()
        if after is None:
            after = now
            assert_holds(path, {n: v for n, v in values.items() if what != "records"})
        elif is_whole:
            break
        only_longer = before.ljust(len(after), b"\0") if what == "records" else before
        assert now in (after, before, only_longer)
        for left in set(os.listdir(tmp_path)) - {"a.nc"}:
            assert left.startswith(".a.nc.swath-")
            os.unlink(tmp_path / left)
    assert at > (0 if what == "records" else 3)
    assert after != before
    assert os.listdir(tmp_path) == ["a.nc"]


@pytest.mark.parametrize(
    ("start", "what", "call"),
    [
        *((start_with_records, "record", call) for call in ("pwrite", "fchmod", "fsync")),
        *((start_with_records, "long", call) for call in ("pwrite", "fchmod", "fsync")),
        (start_with_room, "scalar", "pwrite"),
        (start_with_room, "short", "pwrite"),
        (start_without_records, "fixed", "truncate"),
        (start_without_records, "fixed", "pwrite"),
    ],
)
def test_a_change_that_the_system_refuses_leaves_the_file_as_it_was(tmp_path, monkeypatch, start, what, call):
    path = tmp_path / "a.nc"
    start(path)
    before = path.read_bytes()
    calls = []

    def refused_once(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call_of_os(*arguments)

    with Changes(str(path)) as changes:
        netcdf_classic.set_attributes(changes, "", {})  # a change before, which stays one that can be taken back
        call_of_os = getattr(os, call)
        monkeypatch.setattr(os, call, refused_once)
        with pytest.raises(StoreError, match=f"{path}: .*No space left"):
            carry_out(changes, what)
        assert path.read_bytes() == before
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.nc"]


def test_what_is_taken_back_was_never_there(tmp_path):
    path = tmp_path / "a.nc"
    netcdf_classic.start(str(path), "cdf2")
    changed(path, netcdf_classic.add, new_array("v", (0, 3), "i2", unlimited=(True, False)))
    write_at(changed(path, netcdf_classic.extend, "v", 2), np.ones((2, 3)))
    changed(path, netcdf_classic.set_length, "dim0", 2)
    before = path.read_bytes()
    for is_durable in (True, False):
        with Changes(str(path), is_durable=is_durable) as changes:
            netcdf_classic.set_attributes(changes, "v", {"a": 1})
            netcdf_classic.set_attributes(changes, "", {"b": "two"})
            assert netcdf_classic.contents(str(path)).group("").attributes == {"b": "two"}
        assert path.read_bytes() == before


def test_holes_stay_holes_and_are_not_copied_one_by_one(tmp_path):
    for is_durable in (True, False):
        path = str(tmp_path / f"{is_durable}.nc")
        netcdf_classic.start(path, None)
        big = new_array("big", (0, 2**32), "i1", unlimited=(True, False))
        changed(path, netcdf_classic.add, big)
        changed(path, netcdf_classic.add, new_array("small", (0, 3), "i1", unlimited=(True, False)))
        changed(path, netcdf_classic.add, new_array("huge", (2**20, 2**20), "f4"))
        changed(path, netcdf_classic.set_length, "dim0", 100)
        made = netcdf_classic.describe(path, "small")
        write_at(made, np.arange(300).reshape(100, 3) % 100)
        changed(path, netcdf_classic.set_attributes, "", {"long": LONG}, is_durable=is_durable)
        changed(path, netcdf_classic.add, new_array("more", (2**20, 2**20), "f8"), is_durable=is_durable)
        changed(path, netcdf_classic.add, new_array("late", (100,), "f4", dimensions=("dim0",)), is_durable=is_durable)
        made = netcdf_classic.describe(path, "small")
        with open(path, "rb") as file:
            for record in (0, 1, 99):
                row = os.pread(file.fileno(), 3, made.layout.offset + record * made.layout.strides[0])
                assert list(row) == [(3 * record + i) % 100 for i in range(3)]
        assert os.stat(path).st_size > 2**43
        assert os.stat(path).st_blocks * 512 < 2**23  # in place, zeros are left where bytes were


@pytest.mark.parametrize("seed", range(30))
def test_bytes_and_holes_go_where_they_are_moved(tmp_path, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(netcdf_move, "PIECE_BYTES", int(rng.choice([5000, 4096, 30_000, 1 << 20])))
    block = 4096
    raw = np.repeat(rng.integers(0, 2, 40, dtype=np.uint8), block)  # runs of zeros become holes
    path = tmp_path / "a.bin"
    with open(path, "w+b") as file:
        file.truncate(raw.size)
        for at in range(0, raw.size, block):
            if raw[at]:
                raw[at : at + block] = rng.integers(1, 256, block)
                os.pwrite(file.fileno(), raw[at : at + block].tobytes(), at)
    count = int(rng.choice([1, 1, 2, 7]))
    step = int(rng.integers(1, raw.size // count)) if count > 1 else raw.size - 3 * block
    begin = int(rng.integers(0, raw.size - step * count + 1))
    by = int(rng.choice([0, block, 2 * block, 5000]))
    move = Move(begin, begin + by, count, step, step + int(rng.integers(1, 3 * block)) if count > 1 else step)
    pieces = [raw[begin + i * step : begin + (i + 1) * step] for i in range(count)]
    expected = np.concatenate([np.pad(piece, (0, move.new_step - step)) for piece in pieces])
    with open(path, "r+b") as file, open(tmp_path / "b.bin", "w+b") as other:
        netcdf_move.copy_moved(file.fileno(), other.fileno(), [move])
        netcdf_move.move_in_place(file.fileno(), [move])
        for descriptor in (file.fileno(), other.fileno()):
            found = np.frombuffer(os.pread(descriptor, expected.size, move.to), np.uint8)
            np.testing.assert_array_equal(np.pad(found, (0, expected.size - found.size)), expected)
        np.testing.assert_array_equal(np.fromfile(path, np.uint8, begin), raw[:begin])
        behind = os.pread(file.fileno(), raw.size, move.to + expected.size)
        assert behind == raw[move.to + expected.size :].tobytes()


def test_what_lies_in_a_gap_is_no_part_of_a_new_variable(tmp_path):
    path = tmp_path / "a.nc"
    values = start_with_room(path)
    end = max(netcdf_classic.describe(str(path), name).end for name in ("fixed", "last"))
    gap = netcdf_classic.describe(str(path), "short").layout.offset - end
    with open(path, "r+b") as file:
        os.pwrite(file.fileno(), b"x" * gap, end)
    made = changed(path, netcdf_classic.add, ADDED["scalar"])
    assert end <= made.layout.offset < end + gap
    assert_holds(path, {**values, "scalar": np.zeros(())})


def test_large_records_move_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(netcdf_move, "PIECE_BYTES", 1 << 16)
    values = np.random.default_rng(3).integers(0, 100, (5, 100_003)).astype("i1")
    for is_durable in (True, False):
        path = str(tmp_path / f"{is_durable}.nc")
        netcdf_classic.start(path, None)
        changed(path, netcdf_classic.add, new_array("v", (0, 100_003), "i1", unlimited=(True, False)))
        write_at(changed(path, netcdf_classic.extend, "v", 5), values)
        changed(path, netcdf_classic.set_length, "dim0", 5)
        for name, width in (("w", 20_000), ("x", 1)):
            new = new_array(name, (5, width), "f4", dimensions=("dim0", f"d{width}"))
            changed(path, netcdf_classic.add, new, is_durable=is_durable)
        assert_holds(path, {"v": values, "w": np.zeros((5, 20_000)), "x": np.zeros((5, 1))})


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
        ("CDF-5", new_array("fixed", (3,), "i1"), "there is a variable fixed already"),
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
    with Changes(str(path)) as changes:
        with pytest.raises(ArgumentError, match=message):
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


def test_rows_are_described_before_they_are_there_and_the_file_is_left_alone(tmp_path):
    path = tmp_path / "a.nc"
    start_with_records(path)
    before = path.read_bytes()
    description = changed(path, netcdf_classic.extend, "byte", 10)
    assert description.shape == (10, 5)
    assert description.end == description.layout.offset + 9 * description.layout.strides[0] + 5
    assert path.read_bytes() == before
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
    with Changes(str(path)) as changes, pytest.raises(UnsupportedError, match="its variables lie in an order"):
        netcdf_classic.add(changes, ADDED["scalar"])

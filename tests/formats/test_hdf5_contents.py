"""The contents of a whole HDF5 or netCDF-4 file are compared with those by netCDF4, h5netcdf, h5py and xarray."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import swath
from swath.errors import FormatError, UnsupportedError
from swath.formats.contents import Dimension
from swath.formats.hdf5 import contents, describe, library_read

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "a.nc")


def typed(value):
    """Return an attribute of netCDF4 with the type that Swath gives it."""
    if isinstance(value, list):
        return value
    if isinstance(value, np.ndarray) and value.size == 1:
        return value.ravel()[0]
    return value


def same(found, expected):
    """Return whether two dicts of attributes are equal, with their types."""
    assert list(found) == list(expected)
    for name, value in found.items():
        other = expected[name]
        assert type(value) is type(other), name
        assert np.asarray(value).dtype == np.asarray(other).dtype, name
        np.testing.assert_array_equal(value, other)


def check_against_netcdf4(path):
    """Compare everything in a file with the results of the netCDF4 library."""
    found = contents(path)
    assert pickle.loads(pickle.dumps(found)).variables.keys() == found.variables.keys()
    seen = {}

    def visit(group, name):
        mine = found.group(name)
        same(mine.attributes, {n: typed(group.getncattr(n)) for n in group.ncattrs()})
        sizes = {n: Dimension(n, len(d), d.isunlimited()) for n, d in group.dimensions.items()}
        real = {n: d for n, d in sizes.items() if not n.startswith("phony_dim_")}
        assert mine.dimensions == real
        for n, variable in group.variables.items():
            full = f"{name}/{n}" if name else n
            seen[full] = variable
            mine_too = found.variables[full]
            assert mine_too.shape == variable.shape or any(sizes.get(d) and sizes[d].is_unlimited for d in sizes)
            names = tuple("" if d.startswith("phony_dim_") else d for d in variable.dimensions)
            assert mine_too.dimensions == (names if any(names) else ())
            same(mine_too.attributes, {a: typed(variable.getncattr(a)) for a in variable.ncattrs()})
            chunks = variable.chunking()
            assert mine_too.chunks == (None if chunks in ("contiguous", None) else tuple(chunks))
            if variable.dtype is str:
                assert mine_too.dtype == object
            else:
                assert mine_too.dtype == variable.dtype
        for child in group.groups.values():
            visit(child, f"{name}/{child.name}" if name else child.name)

    with netCDF4.Dataset(path) as dataset:
        visit(dataset, "")
        assert sorted(seen) == sorted(n for n, v in found.variables.items() if not v.unsupported)
    for name, variable in found.variables.items():
        if variable.unsupported:
            with pytest.raises(UnsupportedError):
                describe(path, name)
            continue
        described = describe(path, name)
        assert (described.shape, described.dtype) == (variable.shape, variable.dtype)
        assert described.dimensions == variable.dimensions
        same(described.attributes, variable.attributes)
    return found


def make_netcdf4(path):
    with netCDF4.Dataset(path, "w") as f:
        f.title, f.unit, f.number, f.empty = "title", "°C", np.int16(3), ""
        f.several, f.texts = np.arange(3, dtype=">f4"), ["a", "", "°"]
        f.createDimension("x", 3)
        f.createDimension("time", None)
        f.createDimension("y", 2)
        t = f.createVariable("t", "f4", ("time", "x"), fill_value=-9, chunksizes=(2, 3))
        t.units, t.scale_factor, t.coordinates = "K", np.float32(0.5), "lat"
        f.createVariable("time", "f8", ("time",)).units = "days since 2000-01-01"
        f.createVariable("scalar", "i8", ())
        f.createVariable("lat", "f4", ("x",))
        f.createVariable("y", ">i2", ("y", "x"))  # a coordinate of two dimensions
        g = f.createGroup("g")
        g.createDimension("z", 4)
        g.createVariable("q", "u1", ("time", "z", "x"), zlib=True)
        g.createGroup("inner").createVariable("x", "f4", ("x",))  # no coordinate: the dimension belongs to the file
        text = f.createVariable("text", str, ("x",))
        text[:] = np.array(["a", "bc°", ""], object)
        f.createVariable("one_text", str, ())[...] = "hello"
        f.createVariable("letters", "S1", ("x", "y"))
        f.createDimension("clash", 7)
        f.createVariable("clash", "f4", ("x",))  # netCDF-4 stores this variable under another name
        f.createVariable("level", f.createEnumType("u1", "level_t", {"LOW": 1, "HIGH": 2}), ("x",), fill_value=1)
        t[0:2] = [[1, 2, 3], [4, 5, 6]]
        g["q"][4] = 7


def test_a_file_of_netcdf4_is_described_as_netcdf4_describes_it(path):
    make_netcdf4(path)
    found = check_against_netcdf4(path)
    assert found.format == "netcdf4"
    assert found.groups[""].dimensions["time"] == Dimension("time", 5, True)
    assert found.variables["t"].shape == (5, 3)  # the length of its dimension, not of its dataset
    assert [n for n, v in found.variables.items() if v.is_coordinate] == [
        "time",
        "lat",
        "y",
        "text",
        "one_text",
        "letters",
    ]
    assert "clash" in found.variables
    assert found.groups[""].dimensions["clash"].length == 7
    described = describe(path, "clash")
    assert (described.variable, described.dimensions) == ("clash", ("x",))
    assert describe(path, "t").unlimited == (True, False)
    assert describe(path, "lat").unlimited == ()


def test_text_of_variable_length_and_enumerations_are_read_as_netcdf4_reads_them(path):
    make_netcdf4(path)
    with netCDF4.Dataset(path) as f:
        expected = f["text"][:]
    for index in (..., np.s_[::-1], np.s_[1], np.s_[1:1]):
        with swath.open(path, "text") as a:
            found = a[index]
            assert a.counters.method == "library"
        np.testing.assert_array_equal(found, expected[index])
        assert np.asarray(found, object).dtype == object
    with swath.open(path, "one_text") as a:
        assert a[()] == "hello"
    with swath.open(path, "level") as a:
        assert a.dtype == np.uint8
        assert a[...].tolist() == [1, 1, 1]


def test_text_of_variable_length_is_read_by_ranks_and_not_written(path):
    from swath.simulated import run_ranks

    make_netcdf4(path)

    def work(comm):
        with swath.open(path, "text", mode="r+", comm=comm) as a:
            rows = swath.Distribution((swath.Block(),), (2,))
            part = a.read(rows)
            with pytest.raises(UnsupportedError, match=r"a\.nc:text: .* does not write it; write it with h5py"):
                a.write(part, rows)
            return part.tolist()

    assert run_ranks(2, work) == [["a", "bc°"], [""]]


def test_a_file_of_h5netcdf_is_described_as_netcdf4_describes_it(path):
    h5netcdf = pytest.importorskip("h5netcdf")
    with h5netcdf.File(path, "w") as f:
        f.attrs["title"] = "title"
        f.dimensions = {"x": 3, "y": 2, "time": None}
        v = f.create_variable("t", ("time", "x"), "f4", fillvalue=-1.0, chunks=(1, 3))
        v.attrs["units"] = "K"
        f.create_variable("x", ("x",), data=np.arange(3))
        f.create_group("g").create_variable("w", ("y", "x"), "i2")
        f.resize_dimension("time", 4)
    found = check_against_netcdf4(path)
    assert found.format == "netcdf4"
    assert found.variables["t"].shape == (4, 3)


def test_dimension_scales_labels_and_none_of_plain_hdf5_are_told_apart(path):
    with h5py.File(path, "w") as f:
        f["x"], f["t"], f["plain"] = [1.0, 2.0, 3.0], np.zeros((2, 3)), np.zeros((2, 3))
        f["x"].make_scale("another name")
        f["t"].dims[1].attach_scale(f["x"])
        f["labelled"] = np.zeros((2, 3))
        f["labelled"].dims[0].label = "row"
        f["both"] = np.zeros((2, 3))
        f["both"].dims[0].label = "row"
        f["both"].dims[1].label = "column"
        f["both"].dims[1].attach_scale(f["x"])
        f["deep/er/v"] = np.zeros(3)
        f["deep/er/v"].dims[0].attach_scale(f["x"])
        f["again"] = f["t"]  # the same dataset
        f["soft"] = h5py.SoftLink("/t")
        f["gone"] = h5py.SoftLink("/nowhere")
        f["deep/up"] = f["/"]  # a group that contains itself
    found = contents(path)
    assert found.format == "hdf5"
    assert list(found.groups) == ["", "deep", "deep/er"]
    assert found.groups[""].dimensions == {"x": Dimension("x", 3)}
    names = {name: variable.dimensions for name, variable in found.variables.items()}
    assert [names.pop(name) for name in ("t", "again", "soft")] == [("", "x")] * 3
    links = {found.variables[name].same_as for name in ("t", "again", "soft")}
    assert links in ({"", "t"}, {"", "again"})
    assert found.others["gone"] == "a link that leads nowhere, to /nowhere"
    assert found.others["deep/up"].startswith("a link to the group")
    assert names == {
        "x": ("x",),
        "plain": (),
        "labelled": ("row", ""),
        "both": ("row", "x"),
        "deep/er/v": ("x",),
    }
    for name, variable in found.variables.items():
        assert describe(path, name).dimensions == variable.dimensions


def test_elements_that_are_too_long_for_numpy_are_listed_with_their_reason(path):
    with h5py.File(path, "w") as f:
        text = h5py.h5t.C_S1.copy()
        text.set_size(3 << 30)
        h5py.h5d.create(f.id, b"long", text, h5py.h5s.create_simple((1,)))
        f["short"] = np.arange(3)
    found = contents(path).variables
    assert "more than 2147483647 bytes" in found["long"].unsupported
    assert found["short"].shape == (3,)
    with pytest.raises(UnsupportedError, match="more than 2147483647 bytes"):
        describe(path, "long")


def test_what_cannot_be_read_is_listed_with_its_reason(path):
    with h5py.File(path, "w") as f:
        f.create_dataset("vlen", (2,), h5py.vlen_dtype("i4"))
        f.create_dataset("reference", (2,), h5py.ref_dtype)
        f.create_dataset("null", data=h5py.Empty("f4"))
        f.create_dataset("nested", (2,), [("a", "i4"), ("b", h5py.string_dtype())])
        f.create_dataset("structure", (2,), [("a", "i4"), ("b", ">f8")])
        f.create_dataset("flags", (2,), bool)
        f.create_dataset("packed", (2, 2), "i4", compression="lzf", chunks=(1, 2))
    found = contents(path).variables
    assert {name for name, one in found.items() if one.unsupported} == {"vlen", "reference", "null", "nested"}
    assert "null dataspace" in found["null"].unsupported
    assert "not a fixed number of bytes" in found["vlen"].unsupported
    assert (found["null"].dtype, found["null"].shape) == (None, ())
    assert found["flags"].dtype == bool
    assert found["structure"].dtype == np.dtype([("a", "i4"), ("b", ">f8")])
    assert found["packed"].chunks == (1, 2)


def test_text_of_variable_length_by_h5py_is_read_whatever_its_bytes(path):
    values = np.array([[b"a", b"\xc3\xa9"], [b"", b"\xff\xfe"]], object)
    with h5py.File(path, "w") as f:
        f.create_dataset("v", data=values, dtype=h5py.string_dtype("ascii"), chunks=(1, 2))
        f["v"].attrs["note"] = "with chunks"
    described = describe(path, "v")
    assert described.dtype == object
    read = library_read(described, (slice(None, None, -1), slice(None)))
    assert read.tolist() == [["", "ÿþ"], ["a", "é"]]


def test_a_dimension_without_a_variable_is_no_variable(path):
    make_netcdf4(path)
    with pytest.raises(swath.ArgumentError, match="there is no variable 'x'; there are"):
        describe(path, "x")


@pytest.mark.parametrize("name", ["ostia_monthly.nc", "A1B_north_america.nc", "orca2_votemper.nc", "rotated_pole.nc"])
def test_sample_files_are_described_as_netcdf4_describes_them(name):
    sample = Path(pytest.importorskip("iris_sample_data").__file__).parent / "sample_data" / name
    with open(sample, "rb") as file:
        if file.read(4) != b"\x89HDF":
            pytest.skip("a classic file")
    assert check_against_netcdf4(str(sample)).format == "netcdf4"


def test_damaged_scales_crash_nothing(path):
    """Damage each byte of the attributes that link scales and their users, except text of variable length."""
    with h5py.File(path, "w") as f:
        f["x"], f["t"] = [1.0, 2.0, 3.0], np.zeros((2, 3))
        f["x"].make_scale("x")
        f["t"].dims[1].attach_scale(f["x"])
    whole = Path(path).read_bytes()
    chance = np.random.default_rng(3)
    places = [whole.index(name) for name in (b"CLASS", b"NAME", b"REFERENCE_LIST")]
    for at in chance.choice(
        [p + i for p in places for i in range(120)], int(os.environ.get("SWATH_TEST_DAMAGE", "60"))
    ):
        raw = bytearray(whole)
        raw[at] = chance.choice([0, 1, 0x7F, 0xFF])
        Path(path).write_bytes(raw)
        try:
            found = contents(path)
        except FormatError:
            continue
        assert all(len(v.dimensions) in (0, len(v.shape)) for v in found.variables.values())

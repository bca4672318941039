"""HDF5 and netCDF-4 files refuse content that they cannot hold, and are unchanged then."""

import os
from pathlib import Path

import numpy as np
import pytest

import swath
from hdf5_cases import KINDS, add, changing, new, started, store
from hdf5_variables import make_all
from new_files import create
from swath.errors import ArgumentError, ExistsError
from swath.formats import hdf5, netcdf4
from swath.formats.description import ChunkedLayout, StridedLayout

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def path(tmp_path, kind):
    return started(tmp_path / ("a.nc4" if kind == "netcdf4" else "a.h5"), kind)


def test_names_that_are_taken_and_lengths_that_differ_are_refused(path):
    add(path, new("t", (3, 4), "f4", ("y", "x")), new("g/time", (None,), "f8", ("time",)))
    before = Path(path).read_bytes()
    refused = [
        (new("t", (1,)), ExistsError, "there is a variable 't' already"),
        (new("g", (1,)), ExistsError, "there is a group 'g' already"),
        (new("t/v", (1,)), ArgumentError, "'t' is no group"),
        (new("u", (5,), "f4", ("x",)), ArgumentError, "dimension 'x' has length 4 in the file, and 5"),
        (new("x", (5,), "f4", ("x",)), ArgumentError, "dimension 'x' has length 4 in the file, and 5"),
        (new("g/u", (5,), "f4", ("time",)), ArgumentError, "dimension 'g/time' of the file grows"),
        (new("u", (None,), "f4", ("x",)), ArgumentError, "dimension 'x' of the file does not grow"),
        (new("a\0b", (1,)), ArgumentError, "no name"),
        (new("", (1,)), ArgumentError, "no name"),
        (new("u", (1,), "f4", ("a/b",)), ArgumentError, "no dimension 'a/b'"),
    ]
    with changing(path) as changes:
        for one, error, message in refused:
            with pytest.raises(error, match=message):
                hdf5.add(changes, one)
            assert Path(path).read_bytes() == before
        for call, message in (
            (lambda: hdf5.extend(changes, "t", 5), "no variable 't' grows"),
            (lambda: hdf5.extend(changes, "nothing", 5), "no variable 'nothing' grows"),
            (lambda: hdf5.set_length(changes, "x", 5), "no dimension 'x' that grows"),
            (lambda: hdf5.set_length(changes, "time", 5), "no dimension 'time' that grows"),
        ):
            with pytest.raises(ArgumentError, match=message):
                call()
    assert Path(path).read_bytes() == before


@pytest.mark.parametrize("dtype", ["c16", "?", "f2", "S4", [("a", "i4")], "V3"], ids=str)
def test_dtypes_that_netcdf4_has_not_are_refused(tmp_path, dtype):
    with pytest.raises(ArgumentError, match=r"netCDF-4 cannot store dtype .* create an \.h5 file"):
        netcdf4.create(str(tmp_path / "a.nc4"), new("v", (2,), dtype))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("dtype", ["i1", "u1", "<i2", ">u2", "i4", ">u4", "<i8", "u8", "<f4", ">f4", "f8", "S1"])
def test_every_dtype_of_netcdf4_is_made_with_its_default_fill_value(tmp_path, dtype):
    path = str(tmp_path / "a.nc4")
    made = create(path, (3,), dtype)
    assert made.dtype == np.dtype(dtype)
    assert made.attributes == {}
    with netCDF4.Dataset(path) as file:
        variable = file["data"]
        assert variable.dtype == np.dtype(dtype)
        assert variable.dimensions == ("dim0",)
        fill = netCDF4.default_fillvals[np.dtype(dtype).str[1:]]
        assert np.frombuffer(made.fill, made.dtype)[0] == (fill.encode().rstrip(b"\0") if dtype == "S1" else fill)
    with h5py.File(path) as file:
        assert file["data"].fillvalue == np.frombuffer(made.fill, made.dtype)[0]


@pytest.mark.parametrize("dtype", ["i1", ">i2", "f4", ">f8", "S1"])
def test_a_fill_value_is_that_of_the_dataset_and_an_attribute_of_its_type(path, dtype):
    fill = b"-" if dtype == "S1" else -3
    add(
        path,
        new("v", (3,), dtype, ("x",), fill=fill),
        new("w", (None,), dtype, ("t",), attributes={"_FillValue": fill}),
    )
    for name in ("v", "w"):
        with h5py.File(path) as file:
            assert file[name].fillvalue == fill
        with netCDF4.Dataset(path, "a") as file:
            found = file[name]._FillValue
            assert found in ((fill, fill.decode()) if dtype == "S1" else (fill,))
            if dtype != "S1":
                assert found.dtype == np.dtype(dtype).newbyteorder("=")
    with changing(path) as changes:
        hdf5.set_length(changes, "t", 2)
    with h5py.File(path) as file:
        assert (file["w"][...] == np.array(fill, dtype)).all()


def test_the_same_calls_make_the_same_bytes(tmp_path, kind):
    made = []
    for name in ("a.nc4", "b.nc4"):
        path = started(tmp_path / name, kind)
        make_all(path)
        made.append(Path(path).read_bytes())
    assert made[0] == made[1]


def test_nothing_is_written_where_a_variable_is_made(path):
    made = add(path, new("v", (2**15, 2**15), "f8", ("y", "x")), new("c", (2**14, 2**14), "f8", chunks=(2**10, 2**10)))
    assert isinstance(made[0].layout, StridedLayout)
    assert isinstance(made[1].layout, ChunkedLayout)
    assert (made[1].layout.offsets >= 0).all()
    assert os.stat(path).st_size > 10 * 2**30
    assert os.stat(path).st_blocks * 512 < 2**20


def test_new_elements_are_zeros_where_hdf5_had_given_up_room(path):
    """Removed attributes leave room, and HDF5 puts small datasets there."""
    with changing(path) as changes:
        for number in range(30):
            hdf5.set_attributes(changes, "", {f"a{number}": "x" * 300})
    with h5py.File(path, "r+") as file:
        file["gone"] = np.full(500, 7.0)
        del file["gone"]
    for number in range(10):
        (made,) = add(path, new(f"v{number}", (5 + 40 * number,), "f8"))
        raw = np.fromfile(path, np.uint8)
        assert not raw[made.layout.offset : made.end].any()


@pytest.mark.parametrize("is_new", [True, False])
def test_a_variable_that_h5py_reads_as_another_dtype_is_refused_and_not_left(tmp_path, is_new):
    """h5py reads a structure of the fields r and i as a complex number."""
    path = str(tmp_path / "a.h5")
    if not is_new:
        swath.create_file(path).close()
    with swath.create_file(path) if is_new else swath.open_file(path, mode="r+") as file:
        file.create("before", shape=(3,), dtype="f4")[...] = 6
        with pytest.raises(ArgumentError, match=r"hdf5 cannot store .* only complex64"):
            file.create("both", shape=(3,), dtype=[("r", "f4"), ("i", "f4")])
        file.create("after", shape=(3,), dtype="f4")[...] = 7
    with h5py.File(path) as file:
        assert sorted(file) == ["after", "before"]
        np.testing.assert_array_equal(file["before"], [6, 6, 6])
        np.testing.assert_array_equal(file["after"], [7, 7, 7])


def test_text_of_variable_length_is_not_created(tmp_path):
    with pytest.raises(ArgumentError, match="no fixed number of bytes"):
        create(str(tmp_path / "a.nc4"), (3,), object)


def test_a_new_file_is_not_put_in_place_of_another(path):
    before = Path(path).read_bytes()
    for call in (lambda: hdf5.start(path, None), lambda: netcdf4.create(path, new("v", (2,)))):
        with pytest.raises(ExistsError):
            call()
    assert Path(path).read_bytes() == before


def test_a_flavour_that_is_none_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="no flavour 'netcdf5'"):
        hdf5.start(str(tmp_path / "a.h5"), "netcdf5")
    assert os.listdir(tmp_path) == []


def test_room_for_what_is_written_next_is_not_written_twice(path):
    add(path, new("large", (None, 300, 500), "f8", fill=7), new("small", (None, 3), "f8", fill=7))
    with changing(path) as changes:
        made = [hdf5.extend(changes, name, 2, written_from=0) for name in ("large", "small")]
        assert os.path.getsize(path) >= max(described.end for described in made)
        # A chunk of small rows has room for more than the two, and is filled; the other chunks are holes.
        assert os.stat(path).st_blocks * 512 < 1 << 18
        for described in made:
            assert (described.layout.offsets >= 0).all()
            store(described, np.ones(described.shape))
    with changing(path) as changes:
        hdf5.extend(changes, "large", 4)
        hdf5.extend(changes, "small", 4)
    with h5py.File(path) as file:
        for name in ("large", "small"):
            assert (file[name][:2] == 1).all()
            assert (file[name][2:] == 7).all()

"""HDF5 and netCDF-4 files that other libraries have made, or change afterwards."""

import numpy as np
import pytest

from hdf5_cases import KINDS, append, changing, new, started
from hdf5_variables import make_all
from swath.formats import hdf5

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def path(tmp_path, kind):
    return started(tmp_path / ("a.nc4" if kind == "netcdf4" else "a.h5"), kind)


def made_by(maker, path):
    """Make a file with a growing dimension "time" of length 2, "x" of length 3, and a variable "t" along both."""
    if maker == "netCDF4":
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("time", None)
            file.createDimension("x", 3)
            file.createVariable("t", "f4", ("time", "x"))[:2] = 1
        return
    if maker == "h5netcdf":
        with pytest.importorskip("h5netcdf").File(path, "w") as file:
            file.dimensions = {"time": None, "x": 3}
            file.resize_dimension("time", 2)
            file.create_variable("t", ("time", "x"), "f4", chunks=(1, 3))[...] = 1
        return
    with h5py.File(path, "w") as file:
        file.create_dataset("t", data=np.ones((2, 3), "f4"), maxshape=(None, 3))
        file.create_dataset("time", data=[1.0, 2.0], maxshape=(None,))
        file["x"] = [1, 2, 3]
        for i, name in enumerate(("time", "x")):
            file[name].make_scale()
            file["t"].dims[i].attach_scale(file[name])


@pytest.mark.parametrize("maker", ["netCDF4", "h5netcdf", "h5py"])
def test_files_that_others_made_take_variables_rows_and_attributes(tmp_path, maker):
    path = str(tmp_path / "a.nc")
    made_by(maker, path)
    with changing(path) as changes:
        added = hdf5.add(changes, new("g/u", (None, 3), "i2", ("time", "x"), fill=-1))
        if maker != "h5py":
            hdf5.add(changes, new("x", (3,), "f8", ("x",)))
            hdf5.add(changes, new("time", (None,), "f8", ("time",)))
        append(changes, "t", 2, [4, 5, 6])
        append(changes, "g/u", 0, [7, 8, 9])
        hdf5.set_length(changes, "time", 3)
        hdf5.set_attributes(changes, "", {"title": "more"})
    assert added.dimensions == ("time", "x")
    found = hdf5.contents(path)
    assert found.format == ("hdf5" if maker == "h5py" else "netcdf4")
    assert {name: v.dimensions for name, v in found.variables.items()} == {
        "t": ("time", "x"),
        "g/u": ("time", "x"),
        "x": ("x",),
        "time": ("time",),
    }
    with h5py.File(path) as file:
        assert file["t"][...].tolist() == [[1, 1, 1], [1, 1, 1], [4, 5, 6]]
        assert file["g/u"][...].tolist() == [[7, 8, 9], [-1] * 3, [-1] * 3]
    with netCDF4.Dataset(path, "r" if maker == "h5py" else "a") as file:
        assert file["t"][2].tolist() == [4, 5, 6]
        assert file["g/u"].dimensions == ("time", "x")
        assert file.title == "more"
        assert len(file.dimensions["time"]) == 3
        assert file.dimensions["time"].isunlimited()


def test_h5netcdf_goes_on_with_what_was_made(path):
    h5netcdf = pytest.importorskip("h5netcdf")
    make_all(path)
    with h5netcdf.File(path, "a") as file:
        file.create_variable("later", ("y", "x"), "f4", data=np.ones((3, 4)))
        assert file["t"].dimensions == ("y", "x")
    with netCDF4.Dataset(path, "a") as file:
        assert file["later"].dimensions == ("y", "x")
        assert (file["later"][...] == 1).all()
    assert hdf5.contents(path).variables["later"].dimensions == ("y", "x")

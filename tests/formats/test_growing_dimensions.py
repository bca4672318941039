"""Variables of netCDF-4 and HDF5 files with growing dimensions after the first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import swath

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")
zarr = pytest.importorskip("zarr")


@pytest.mark.parametrize("name", ["a.nc4", "a.h5"])
def test_a_variable_is_as_long_as_a_later_dimension_that_grows_and_grows_with_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with swath.create_file(path) as file:
        time = file.create("time", (None,), "f8", dimensions=("time",))
        for value in range(3):
            time.append(float(value))
        v = file.create("v", (2, None), "i4", dimensions=("x", "time"), fill=-1, codecs=["zlib"])
        w = file.create("w", (2, None), "i4", dimensions=("x", "time"), fill=-1)
        assert v.shape == w.shape == (2, 3)
        v[...] = w[...] = np.arange(6).reshape(2, 3)
        file.create("early", (None, None), "i4", dimensions=("row", "column"), chunks=(1, 4), fill=-2)
    with h5py.File(path) as file:
        assert [file[one].maxshape for one in ("v", "w", "early")] == [(2, None), (2, None), (None, None)]
        np.testing.assert_array_equal(file["v"], np.arange(6).reshape(2, 3))
    with swath.open_file(path, mode="r+") as file:
        file["time"].append(3.0)
    with netCDF4.Dataset(path, "a") as file:
        file.set_auto_mask(False)
        assert file.dimensions["time"].isunlimited()
        for one in ("v", "w"):
            np.testing.assert_array_equal(file[one][...], [[0, 1, 2, -1], [3, 4, 5, -1]])
        file["early"][1, 2] = 5
        np.testing.assert_array_equal(file["early"][...], [[-2, -2, -2], [-2, -2, 5]])
    with swath.open_file(path, mode="r+") as file:
        assert file["v"].shape == (2, 4)
        file["v"][:, 3] = 9
        np.testing.assert_array_equal(file["v"][...], [[0, 1, 2, 9], [3, 4, 5, 9]])


@pytest.mark.parametrize("name", ["a.nc3", "a.zarr"])
def test_other_formats_grow_along_the_first_dimension_only(tmp_path: Path, name: str) -> None:
    with swath.create_file(tmp_path / name) as file:
        with pytest.raises(swath.ArgumentError, match=r"only the first length may be None in .* files"):
            file.create("v", (2, None), "i4", dimensions=("x", "time"))
        assert list(file) == []


@pytest.mark.parametrize("suffix", ["nc4", "h5", "zarr"])
def test_chunks_are_as_long_as_asked_for_along_a_dimension_that_grows(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    with swath.create_file(path) as file:
        file.create("v", (None, 4), "i4", dimensions=("row", "x"), chunks=(5, 3), codecs="zlib")
        file["v"].append(np.arange(28, dtype="i4").reshape(7, 4), records=7)
    made = zarr.open(path, mode="r")["v"] if suffix == "zarr" else h5py.File(path)["v"]
    assert tuple(made.chunks) == (5, 3)
    np.testing.assert_array_equal(made[...], np.arange(28).reshape(7, 4))

"""Datasets without bytes at known places are read and written through HDF5's own library."""

import os

import numpy as np
import pytest

import swath
from swath.errors import ArgumentError, UnsupportedError
from swath.files import layouts
from swath.formats import (
    LibraryLayout,
    contents,
    describe,
    library_read,
    library_write,
)

h5py = pytest.importorskip("h5py")

from hdf5_cases import read_by_h5py  # noqa: E402


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.h5"


def make_library_datasets(path):
    """Make one dataset of each kind without bytes at known places; return the reason for each."""
    values = np.arange(63, dtype=">i4").reshape(7, 9)
    with h5py.File(path, "w") as file:
        file.create_dataset("lzf", data=values, chunks=(3, 4), compression="lzf", shuffle=True)
        file.create_dataset("scaled", data=values, chunks=(3, 4), scaleoffset=0)
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((7, 9))
        compact = h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I32BE, space, plist)
        h5py.Dataset(compact)[...] = values
        outside = file.create_dataset("external", (7, 9), ">i4", external=[(str(path) + ".bin", 0, values.nbytes)])
        outside[...] = values
        file.create_dataset("source", data=values)
        virtual = h5py.VirtualLayout((7, 9), ">i4")
        virtual[...] = h5py.VirtualSource(".", "source", (7, 9))
        file.create_virtual_dataset("virtual", virtual)
    return values, {
        "lzf": "compressed (shuffle, lzf)",
        "scaled": "compressed (scaleoffset)",
        "compact": "compact dataset",
        "external": "external storage",
        "virtual": "virtual dataset",
    }


def test_bytes_out_of_reach_go_through_the_library_which_says_why(path):
    values, reasons = make_library_datasets(path)
    for name, reason in reasons.items():
        description = describe(path, name)
        assert isinstance(description.layout, LibraryLayout)
        assert reason in description.layout.reason
        assert description.end == 0
        got = library_read(description, (slice(None), slice(None)))
        assert got.dtype == np.dtype(">i4")
        np.testing.assert_array_equal(got, values)
        assert layouts.text(description).startswith("through the library: ")


def test_elements_in_other_files_beside_this_one_are_written_there(tmp_path):
    values = np.arange(63, dtype="<i4").reshape(7, 9)
    with h5py.File(tmp_path / "source.h5", "w") as file:
        file.create_dataset("v", data=values)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        virtual = h5py.VirtualLayout((7, 9), "<i4")
        virtual[...] = h5py.VirtualSource("source.h5", "v", (7, 9))
        file.create_virtual_dataset("v", virtual)
    before = sorted(os.listdir())
    with swath.open(tmp_path / "a.h5", "v", mode="r+") as a:
        a[2:5] = values[2:5] + 100
        np.testing.assert_array_equal(a[2:5], values[2:5] + 100)
    with h5py.File(tmp_path / "source.h5") as file:
        np.testing.assert_array_equal(file["v"][2:5], values[2:5] + 100)
        np.testing.assert_array_equal(file["v"][:2], values[:2])
    assert sorted(os.listdir()) == before


def test_elements_stored_as_numpy_cannot_say_go_through_the_library(path):
    c_string = h5py.h5t.C_S1.copy()
    c_string.set_size(4)
    fortran_string = h5py.h5t.FORTRAN_S1.copy()
    fortran_string.set_size(4)
    values = np.array([b"ab", b"", b"xyz"], "S4")
    with h5py.File(path, "w") as file:
        for name, stored in ((b"c", c_string), (b"fortran", fortran_string)):
            space = h5py.h5s.create_simple((3,))
            h5py.Dataset(h5py.h5d.create(file.id, name, stored, space))[...] = values
    for name in ("c", "fortran"):
        description = describe(path, name)
        assert "HDF5 converts them" in description.layout.reason
        np.testing.assert_array_equal(library_read(description, (slice(None),)), values)
        library_write(description, (slice(None, None, -1),), values)
        np.testing.assert_array_equal(read_by_h5py(path, name), values[::-1])


INDICES = [
    (slice(None), slice(None)),
    (slice(1, 6, 2), slice(None, None, -1)),
    (slice(5, 0, -2), slice(8, None, -3)),
    (3, slice(2, 5)),
    (-1, -2),
    (slice(4, 4), slice(None)),
    (slice(6, 2), 0),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_library_reads_and_writes_select_as_numpy(path, index):
    values, reasons = make_library_datasets(path)
    for name in reasons:
        description = describe(path, name)
        got = library_read(description, index)
        assert got.dtype == description.dtype
        assert got.shape == values[index].shape
        np.testing.assert_array_equal(got, values[index])
        expected = values.copy()
        expected[index] = -np.arange(values[index].size).reshape(values[index].shape)
        library_write(description, index, expected[index].astype("<i8"))
        np.testing.assert_array_equal(read_by_h5py(path, name), expected)
        library_write(description, index, 5)
        expected[index] = 5
        np.testing.assert_array_equal(library_read(description, (slice(None),) * 2), expected)


def test_wrong_indices_and_values_for_the_library_are_refused(path):
    make_library_datasets(path)
    description = describe(path, "lzf")
    with pytest.raises(ArgumentError, match="1 indices for 2 dimensions"):
        library_read(description, (slice(None),))
    with pytest.raises(ArgumentError, match="index 7 of dimension 0 is outside its length 7"):
        library_read(description, (7, slice(None)))
    with pytest.raises(ArgumentError, match=r"values of shape \(3,\) do not fit"):
        library_write(description, (slice(None), slice(None)), [1, 2, 3])


def test_elements_that_are_not_plain_bytes_are_refused(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("vlen", (2,), h5py.vlen_dtype("i4"))
        file.create_dataset("reference", (2,), h5py.ref_dtype)
        file.create_dataset("null", data=h5py.Empty("f4"))
        file.create_dataset("nested", (2,), [("a", "i4"), ("b", h5py.string_dtype())])
        file.create_dataset("arrays", (2,), np.dtype("(3,)f4"))
        file["good"] = [1.0]
    for name in ("vlen", "reference", "null", "nested", "arrays"):
        with pytest.raises(UnsupportedError, match=f"{name}: "):
            describe(path, name)
        assert contents(path).variables[name].unsupported
    assert describe(path).variable == "good"  # the only variable with numbers

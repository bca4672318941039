"""Raw files, and the common parts of all formats: recognition, arguments, creation."""

import itertools
import os
import pickle
import threading

import numpy as np
import pytest

from new_files import create
from swath.errors import ArgumentError, ExistsError, FormatError, NotFoundError, StoreError
from swath.formats import StridedLayout, contents, describe, format_for, library_read


def placed(description):
    """Return the array that the described bytes of the file form, by NumPy alone."""
    raw = np.fromfile(description.path, np.uint8)
    layout = description.layout
    return np.ndarray(description.shape, description.dtype, raw, layout.offset, layout.strides)


@pytest.mark.parametrize("order", ["C", "F", *itertools.permutations(range(3))])
@pytest.mark.parametrize("offset", [0, 13])
def test_any_order_and_offset_is_found(tmp_path, order, offset):
    values = np.arange(2 * 3 * 4, dtype=">i4").reshape(2, 3, 4)
    slowest_first = {"C": (0, 1, 2), "F": (2, 1, 0)}.get(order, order)
    path = tmp_path / "a.raw"
    path.write_bytes(bytes(offset) + values.transpose(slowest_first).tobytes())
    description = describe(path, shape=(2, 3, 4), dtype=">i4", order=order, offset=offset)
    np.testing.assert_array_equal(placed(description), values)
    assert description.dtype == np.dtype(">i4")
    assert description.end == path.stat().st_size
    assert pickle.loads(pickle.dumps(description)) == description


def test_an_f_order_stride_is_the_one_of_the_docstring(tmp_path):
    description = create(tmp_path / "a", (2, 3, 4), "f8", order=(2, 0, 1))
    assert description.layout == StridedLayout(0, (24, 8, 48))


def test_a_short_file_is_refused_with_the_numbers(tmp_path):
    path = tmp_path / "a.raw"
    path.write_bytes(bytes(99))
    with pytest.raises(FormatError, match=r"up to byte 100.* 99 bytes: 1 are missing"):
        describe(path, shape=(10,), dtype="f8", offset=20)
    assert describe(path, shape=(9,), dtype="f8", offset=20).end == 92


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": (-1,), "dtype": "f8"}, "negative"),
        ({"shape": (2.5,), "dtype": "f8"}, "integers"),
        ({"shape": (2,), "dtype": "nonsense"}, "not a NumPy dtype"),
        ({"shape": (2,), "dtype": object}, "no fixed number of bytes"),
        ({"shape": (2,), "dtype": "S0"}, "no fixed number of bytes"),
        ({"shape": (2, 2), "dtype": "f8", "order": (0, 0)}, "slowest to fastest"),
        ({"shape": (2, 2), "dtype": "f8", "order": "K"}, "slowest to fastest"),
        ({"shape": (2, 2), "dtype": "f8", "order": 7}, "slowest to fastest"),
        ({"shape": (2,), "dtype": "f8", "offset": -1}, "offset -1"),
        ({"shape": (2,), "dtype": "f8", "offset": "x"}, "offset must be"),
        ({"shape": (2**40, 2**40), "dtype": "f8"}, "64-bit"),
        ({"shape": (2**60,), "dtype": "i1", "offset": 2**63 - 2**59}, "below 2"),
        ({"shape": (2,)}, "both shape and dtype"),
        ({"dtype": "f8"}, "both shape and dtype"),
        ({"order": "F"}, "both shape and dtype"),
        ({"format": "raw"}, "both shape= and dtype="),
        ({"format": "raw", "variable": "v", "shape": 1, "dtype": "f8"}, "without a name"),
        ({"format": 3}, "format must be a string"),
        ({"variable": 3}, "variable must be a string"),
        ({"format": "zip"}, "expected one of raw, npy"),
        ({"format": "npy:2"}, "unknown"),
        ({"format": "npy", "shape": 1, "dtype": "f8"}, "describe a raw file"),
    ],
)
def test_impossible_arguments_say_what_is_wrong(tmp_path, arguments, message):
    path = tmp_path / "a.raw"
    path.write_bytes(bytes(64))
    with pytest.raises(ArgumentError, match=message):
        describe(path, **arguments)


@pytest.mark.parametrize("content", [b"", b"PK\3\4 and more", b"CDF\7", b"\x93NUMP", bytes(5000)])
def test_an_unknown_file_lists_the_known_formats(tmp_path, content):
    path = tmp_path / "a.nc"  # the name does not matter
    path.write_bytes(content)
    with pytest.raises(FormatError, match=rf"{len(content)} bytes.*\.npy, netCDF classic.*HDF5.*shape= and dtype="):
        describe(path)
    with pytest.raises(FormatError):
        contents(path)


def test_files_that_cannot_be_opened_say_why(tmp_path):
    with pytest.raises(NotFoundError, match=r"nowhere\.npy: cannot open: No such file"):
        describe(tmp_path / "nowhere.npy")
    with pytest.raises(NotFoundError):
        describe(tmp_path / "nowhere", shape=1, dtype="f8")
    with pytest.raises(StoreError, match="directory"):
        describe(tmp_path)
    with pytest.raises(ArgumentError, match="path must be"):
        describe(3)


@pytest.mark.parametrize("order", ["C", "F", (1, 2, 0)])
def test_a_created_file_is_written_where_it_says(tmp_path, order):
    values = np.arange(60, dtype="<f8").reshape(3, 4, 5)
    made = create(tmp_path / "a.raw", values.shape, values.dtype, order=order, fill=-1)
    assert os.stat(made.path).st_size == values.nbytes
    assert made.fill == np.float64(-1).tobytes()
    with open(made.path, "r+b") as file:
        for index in np.ndindex(values.shape):
            place = made.layout.offset + sum(i * s for i, s in zip(index, made.layout.strides, strict=True))
            os.pwrite(file.fileno(), values[index].tobytes(), place)
    again = describe(made.path, shape=values.shape, dtype=values.dtype, order=order)
    np.testing.assert_array_equal(placed(again), values)


def test_a_created_file_is_one_hole(tmp_path):
    made = create(tmp_path / "big.raw", (2**20, 2**20), "f8")
    status = os.stat(made.path)
    assert status.st_size == made.end == 2**43
    assert status.st_blocks * 512 < 2**20


@pytest.mark.parametrize("suffix", ["raw", "npy", "nc3", "h5"])
def test_an_existing_file_is_never_replaced(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(b"precious")
    with pytest.raises(ExistsError, match="cannot create"):
        create(path, (3,), "f4")
    assert path.read_bytes() == b"precious"


@pytest.mark.parametrize("suffix", ["raw", "npy", "nc3", "h5"])
def test_what_cannot_be_created_leaves_no_file(tmp_path, suffix):
    for arguments in ({"order": (1, 2, 0)}, {"attributes": {"a": object()}}, {"fill": "no number"}, {"fill": [1, 2]}):
        if suffix == "raw" and "order" in arguments:
            continue
        with pytest.raises(ArgumentError):
            create(tmp_path / f"a.{suffix}", (3, 4, 5), "f4", **arguments)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NotFoundError):
        create(tmp_path / "no folder" / f"a.{suffix}", (3,), "f4")


@pytest.mark.parametrize("suffix", ["raw", "npy"])
def test_names_have_no_place_in_files_without_metadata(tmp_path, suffix):
    for arguments in ({"variable": "v"}, {"dimensions": ("x",)}, {"attributes": {"a": 1}}):
        with pytest.raises(ArgumentError, match=f"stores no {next(iter(arguments))}"):
            create(tmp_path / f"a.{suffix}", (3,), "f4", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_the_suffix_chooses_the_format_unless_told(tmp_path):
    assert [format_for(f"a{s}") for s in (".npy", ".nc", ".nc4", ".nc3", ".h5", ".HDF5", ".bin", "")] == [
        *("npy", "netcdf4", "netcdf4", "netcdf-classic", "hdf5", "hdf5", "raw", "raw")
    ]
    assert format_for("a.npy", "netcdf-classic:cdf2") == "netcdf-classic:cdf2"
    with pytest.raises(ArgumentError, match=r"creates no \.npz files"):
        format_for("a.npz")
    with pytest.raises(ArgumentError, match="unknown"):
        create(tmp_path / "a", (1,), "f4", format="netcdf-classic:cdf3")


def test_dimension_names_must_fit_the_shape(tmp_path):
    for names in (("x",), ("x", "x")):
        with pytest.raises(ArgumentError, match="different names"):
            create(tmp_path / "a.nc", (3, 4), "f4", dimensions=names)


def test_raw_files_have_no_library(tmp_path):
    with pytest.raises(ArgumentError, match="no library path"):
        library_read(create(tmp_path / "a", (3,), "f4"), (slice(None),))


def test_empty_and_scalar_arrays_have_a_place(tmp_path):
    for shape in ((), (0,), (3, 0, 2)):
        made = create(tmp_path / f"a{len(shape)}", shape, "i2")
        assert placed(made).shape == shape
        assert made.end == (2 if shape == () else 0)


def test_creating_where_others_create_too_gives_one_winner(tmp_path):
    won = []

    def attempt():
        try:
            won.append(create(tmp_path / "a", (3,), "f4"))
        except ExistsError:
            pass

    threads = [threading.Thread(target=attempt) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1

"""HDF5 and netCDF-4 files: the described bytes beside what h5py reads."""

import contextlib
import itertools
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import swath
from swath.array import layouts
from swath.commands import cli
from swath.errors import ArgumentError, Error, FormatError, StoreError, UnsupportedError
from swath.formats import (
    ChunkedLayout,
    CodedLayout,
    LibraryLayout,
    StridedLayout,
    allocate,
    contents,
    create,
    describe,
    library_read,
    library_write,
)
from swath.simulated import run_ranks

h5py = pytest.importorskip("h5py")

SAMPLES = ["ostia_monthly.nc", "A1B_north_america.nc", "hybrid_height.nc", "rotated_pole.nc", "orca2_votemper.nc"]


def boxes(description):
    """Where each stored chunk lies: (its place in the array, an ndarray view of the file's bytes) one by one."""
    raw = np.memmap(description.path, np.uint8, "r+") if os.path.getsize(description.path) else b""
    layout, shape, dtype = description.layout, description.shape, description.dtype
    if isinstance(layout, StridedLayout):
        yield (slice(None),) * len(shape), np.ndarray(shape, dtype, raw, layout.offset, layout.strides)
        return
    for place in itertools.product(*map(range, layout.offsets.shape)):
        begin = [p * c for p, c in zip(place, layout.chunk_shape, strict=True)]
        box = tuple(slice(b, min(b + c, n)) for b, c, n in zip(begin, layout.chunk_shape, shape, strict=True))
        inside = tuple(slice(0, s.stop - s.start) for s in box)
        if layout.offsets[place] >= 0:
            yield box, np.ndarray(layout.chunk_shape, dtype, raw, layout.offsets[place])[inside]
        else:
            yield box, np.broadcast_to(np.frombuffer(description.fill, dtype)[0], [s.stop - s.start for s in box])


def placed(description):
    """The array that the described bytes of the file make, by NumPy alone."""
    out = np.empty(description.shape, description.dtype)
    for box, values in boxes(description):
        out[box] = values
    return out


def read(path, name):
    with h5py.File(path, "r") as file:
        return file[name][()]


def check_against_h5py(path, name="v"):
    """The description of dataset `name`, after comparing all its bytes with h5py's."""
    description = describe(path, name)
    expected = read(path, name)
    assert description.shape == expected.shape
    with h5py.File(path, "r") as file:
        assert description.dtype == file[name].dtype
    np.testing.assert_array_equal(placed(description), expected)
    assert pickle.loads(pickle.dumps(description)) == description
    return description


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.h5"


@pytest.mark.parametrize("name", SAMPLES)
def test_every_variable_of_real_netcdf4_files_equals_h5py(name):
    path = Path(pytest.importorskip("iris_sample_data").__file__).parent / "sample_data" / name
    found = contents(path).variables
    assert len(found) > 3
    for variable in found.values():
        if variable.unsupported:
            with pytest.raises(UnsupportedError):
                describe(path, variable.name)
            continue
        description = describe(path, variable.name)
        expected = read(path, variable.name)
        if isinstance(description.layout, (LibraryLayout, CodedLayout)):
            values = library_read(description, (slice(None),) * len(description.shape))
        else:
            values = np.empty(description.shape, description.dtype)
            for box, part in boxes_read_only(description):
                values[box] = part
        assert values.dtype == description.dtype
        np.testing.assert_array_equal(values, expected)


def boxes_read_only(description):
    """As `boxes`, from a copy in memory: the installed samples are not ours to open for writing."""
    copy = np.fromfile(description.path, np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "memmap", lambda *_: copy)
        yield from boxes(description)


def test_netcdf4_dimensions_attributes_and_the_only_variable_are_found():
    path = Path(pytest.importorskip("iris_sample_data").__file__).parent / "sample_data" / "ostia_monthly.nc"
    description = describe(path)
    assert description.variable == "surface_temperature"
    assert isinstance(description.layout, ChunkedLayout)
    assert description.attributes["units"] == "K"
    assert not any(key.startswith(("_Netcdf4", "DIMENSION_LIST", "CLASS")) for key in description.attributes)
    assert description.dimensions == ("time", "latitude", "longitude")
    assert layouts.text(description) == "chunks of (1, 18, 432), 54 in the file"


@pytest.mark.parametrize(
    "dtype",
    ["i1", "<u2", ">i4", "<f4", ">f8", "f2", "?", "c8", "c16", "S7", "V5", "g", [("a", ">i4"), ("b", "<f8", (2,))]],
    ids=str,
)
@pytest.mark.parametrize("chunks", [None, (2, 3)])
def test_every_dtype_is_found_contiguous_and_chunked(path, dtype, chunks):
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, (5, 7 * dtype.itemsize), "u1").view(dtype)
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=values, chunks=chunks)
    description = check_against_h5py(path)
    assert isinstance(description.layout, ChunkedLayout if chunks else StridedLayout)


def test_enumerations_and_opaque_times_are_their_numbers(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("e", data=[1, 2], dtype=h5py.enum_dtype({"a": 1, "b": 2}, "i2"))
        file.create_dataset("t", data=np.array([1, 2], "M8[s]").astype(h5py.opaque_dtype("M8[s]")))
        file["named"] = np.dtype("f4")
        file.create_dataset("n", data=[1.0, 2.0], dtype=file["named"])
    for name in "etn":
        description = check_against_h5py(path, name)
        assert isinstance(description.layout, StridedLayout)
        assert description.dtype.metadata is None


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("maxshape", [None, (None, 9, 5), (None, None, 5)])
def test_ragged_edge_chunks_are_stored_whole(path, libver, maxshape):
    values = np.arange(7 * 9 * 5, dtype=">i4").reshape(7, 9, 5)
    with h5py.File(path, "w", libver=libver) as file:
        file.create_dataset("v", data=values, chunks=(3, 4, 2), maxshape=maxshape)
    description = check_against_h5py(path)
    assert description.layout.offsets.shape == (3, 3, 3)
    assert description.end == description.layout.offsets.max() + 3 * 4 * 2 * 4


def test_chunks_left_over_by_resizing_are_right(path):
    with h5py.File(path, "w") as file:
        v = file.create_dataset("v", data=np.arange(100).reshape(10, 10), chunks=(4, 3), maxshape=(None, None))
        v.resize((5, 14))
        v[:, 13] = 1
    assert check_against_h5py(path).layout.offsets.shape == (2, 5)


@pytest.mark.parametrize("userblock", [0, 512, 4096])
@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_offsets_count_from_the_beginning_of_a_file_with_a_user_block(path, userblock, libver):
    with h5py.File(path, "w", userblock_size=userblock, libver=libver) as file:
        file["v"] = np.arange(1.0, 20.0)
        file.create_dataset("c", data=np.arange(35).reshape(5, 7), chunks=(2, 3))
        file.create_dataset("one", data=np.arange(35).reshape(5, 7), chunks=(5, 7))
    for name in ("v", "c", "one"):
        check_against_h5py(path, name)


@pytest.mark.parametrize("shape", [(), (6,), (5, 7)])
@pytest.mark.parametrize("fill", [None, 9])
def test_unallocated_datasets_read_as_their_fill_value(path, shape, fill):
    with h5py.File(path, "w") as file:
        file.create_dataset("v", shape, ">f8", fillvalue=fill)
    description = check_against_h5py(path)
    assert description.layout == ChunkedLayout(shape, np.full((1,) * len(shape), -1))
    assert description.end == 0


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_partially_allocated_chunks_read_as_their_fill_value(path, libver):
    with h5py.File(path, "w", libver=libver) as file:
        v = file.create_dataset("v", (7, 9), "i4", chunks=(3, 4), fillvalue=-1)
        v[4, 5] = 3
        file.create_dataset("none", (7, 9), "i4", chunks=(3, 4), fillvalue=-1)
    assert (check_against_h5py(path).layout.offsets >= 0).sum() == 1
    assert (check_against_h5py(path, "none").layout.offsets < 0).all()


@pytest.mark.parametrize("chunks", [None, (3, 4)])
def test_a_dataset_that_is_never_filled_reads_as_zeros(path, chunks):
    with h5py.File(path, "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_fill_value(np.array(7.0))
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        if chunks:
            plist.set_chunk(chunks)
        h5py.h5d.create(file.id, b"v", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((7, 9)), plist)
    assert check_against_h5py(path).fill == bytes(8)


@pytest.mark.parametrize("options", [{}, {"chunks": (3, 4)}, {"chunks": (3, 4), "maxshape": (None, None)}], ids=str)
@pytest.mark.parametrize("dtype", [">f8", "i2", "?", [("a", "i4"), ("b", ">f8")], "enum"], ids=str)
def test_allocated_places_can_be_written_and_hdf5_reads_them(path, options, dtype):
    with h5py.File(path, "w") as file:
        file_dtype = h5py.enum_dtype({"a": 0, "b": 1}, "i2") if dtype == "enum" else np.dtype(dtype)
        v = file.create_dataset("v", (7, 9), file_dtype, **options)
        if options:
            v[0, 0] = np.ones((), file_dtype)[()]
    before = read(path, "v")
    description = allocate(describe(path, "v"))
    np.testing.assert_array_equal(read(path, "v"), before)  # allocating changes no value
    assert isinstance(description.layout, StridedLayout) or (description.layout.offsets >= 0).all()
    values = np.random.default_rng(0).integers(0, 2, (7, 9)).astype(description.dtype)
    for box, part in boxes(description):
        part[...] = values[box]
    np.testing.assert_array_equal(read(path, "v"), values)
    assert allocate(description) is description


def test_allocating_fills_with_the_fill_value(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("c", (7, 9), "i4", chunks=(3, 4), fillvalue=-5)
        file.create_dataset("v", (7, 9), "i4", fillvalue=-5)
        file.create_dataset("s", (), "i4", fillvalue=-5)
    for name in "cvs":
        allocate(describe(path, name))
        assert (read(path, name) == -5).all()
        check_against_h5py(path, name)


def make_library_datasets(path):
    """One dataset of each kind whose bytes are out of reach; returns the reason of each."""
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


FILTERS = {
    "gzip": {"compression": "gzip"},
    "shuffle-gzip": {"compression": "gzip", "compression_opts": 1, "shuffle": True},
    "fletcher32": {"fletcher32": True},
    "shuffle": {"shuffle": True},
    "all": {"compression": "gzip", "shuffle": True, "fletcher32": True},
}


@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("dtype", [">i2", "<f8", "<c16", "S3", "?"])
def test_filtered_chunks_are_read_by_swath_as_h5py_reads_them(path, filters, dtype):
    values = np.random.default_rng(1).integers(0, 9, (37, 23)).astype(dtype)
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=values, chunks=(10, 7), **FILTERS[filters])
        partly = file.create_dataset(
            "partly", (37, 23), dtype, chunks=(10, 7), fillvalue=values[0, 1], **FILTERS[filters]
        )
        partly[12:15] = values[12:15]
    expected = read(path, "partly")
    with swath.open(path, "v") as a, swath.open(path, "partly") as b:
        for index in (..., np.s_[3:30:4, ::-2], np.s_[36], np.s_[5, 5], np.s_[4:4]):
            np.testing.assert_array_equal(a[index], values[index])
            np.testing.assert_array_equal(b[index], expected[index])
        assert a.counters.method == "chunks"


def test_chunks_that_skip_filters_are_read_too(path):
    values = np.arange(40, dtype="<i4").reshape(4, 10)
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("v", (4, 10), "<i4", chunks=(2, 10), compression="gzip", shuffle=True)
        dataset[2:] = values[2:]
        dataset.id.write_direct_chunk((0, 0), values[:2].tobytes(), filter_mask=0b11)
    np.testing.assert_array_equal(read(path, "v"), values)
    with swath.open(path, "v") as a:
        np.testing.assert_array_equal(a[...], values)


def test_what_ranks_write_into_filtered_chunks_is_read_again(path):
    values = np.zeros((30, 20), "<i4")
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=values, chunks=(7, 7), compression="gzip", shuffle=True, fletcher32=True)

    def work(comm):
        with swath.open(path, "v", mode="r+", comm=comm) as a:
            distribution = swath.Distribution((swath.Block(), swath.Whole()), (2, 1))
            mine = (
                np.random.default_rng(comm.rank).integers(0, 1 << 30, (15, 20)).astype("<i4")
            )  # no chunk keeps its size
            a.write(mine, distribution)
            assert a.counters.method == "chunks"
            np.testing.assert_array_equal(a.read(distribution), mine)
            assert a.counters.method == "chunks"
            return mine

    shares = run_ranks(2, work)
    np.testing.assert_array_equal(read(path, "v"), np.concatenate(shares))


def test_damaged_filtered_chunks_are_reported_and_nothing_crashes(path):
    values = np.random.default_rng(2).integers(0, 9, (40, 40)).astype("<i4")
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=values, chunks=(20, 20), compression="gzip", shuffle=True, fletcher32=True)
    whole = path.read_bytes()
    table = describe(path, "v").layout.places
    random = np.random.default_rng(3)
    for _ in range(30):
        at = int(table.offsets[0, 0]) + int(random.integers(table.nbytes[0, 0]))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << random.integers(8))]) + whole[at + 1 :])
        with swath.open(path, "v") as a:
            np.testing.assert_array_equal(a[20:], values[20:])
            with pytest.raises(FormatError, match=r"chunk \(0, 0\).*fletcher32"):
                a.read()
    path.write_bytes(whole)
    description = describe(path, "v")
    assert pickle.loads(pickle.dumps(description)) == description
    os.truncate(path, description.end - 1)
    with pytest.raises((FormatError, StoreError)):
        swath.open(path, "v")


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
        np.testing.assert_array_equal(read(path, name), values[::-1])


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
        np.testing.assert_array_equal(read(path, name), expected)
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
    assert describe(path).variable == "good"  # the only one with numbers


def test_wrong_names_list_what_there_is(path):
    with h5py.File(path, "w") as file:
        file["ocean/temperature"] = [1.0, 2.0]
        file["ocean/salinity"] = [1.0, 2.0]
    with pytest.raises(ArgumentError, match=r"no variable 'temperatur'; there are ocean/temperature, ocean/salinity"):
        describe(path, "temperatur")
    with pytest.raises(ArgumentError, match=r"'ocean' is a group.*ocean/salinity, ocean/temperature"):
        describe(path, "ocean")
    with pytest.raises(ArgumentError, match=r"variable=; there are ocean/salinity, ocean/temperature"):
        describe(path)
    for name in ("", "/", ".", "a\0b", "ocean/temperature/x", "ocean//", "\udcff"):
        with pytest.raises(ArgumentError):
            describe(path, name)
    assert describe(path, "/ocean/temperature").variable == "ocean/temperature"


def test_links_are_followed_inside_the_file_only(path, tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["v"] = [1.0, 2.0]
    with h5py.File(path, "w") as file:
        file["v"] = [3.0, 4.0]
        file["soft"] = h5py.SoftLink("/v")
        file["dangling"] = h5py.SoftLink("/nowhere")
        file["outside"] = h5py.ExternalLink("other.h5", "v")
        file["gone"] = h5py.ExternalLink("gone.h5", "v")
    assert describe(path, "soft").layout == describe(path, "v").layout
    with pytest.raises(UnsupportedError, match=r"link into .*other\.h5; open that file"):
        describe(path, "outside")
    for name in ("dangling", "gone"):
        with pytest.raises((ArgumentError, FormatError)):
            describe(path, name)


def test_attributes_keep_their_types(path):
    with h5py.File(path, "w") as file:
        file["v"] = [1.0]
        attributes = file["v"].attrs
        attributes.update({"text": "°C", "bytes": np.bytes_(b"K"), "one": np.float32(1.5), "flag": True, "n": [7]})
        attributes.update({"several": np.arange(3, dtype=">i2"), "texts": ["a", "b"], "fixed": np.array([b"a", b"bc"])})
        attributes.update({"nothing": h5py.Empty("f4"), "no text": h5py.Empty("S3"), "complex": 1j})
        attributes.create("level", 2, dtype=h5py.enum_dtype({"LOW": 1, "HIGH": 2}, "u1"))
        attributes["reference"] = file["v"].ref
        attributes["structure"] = np.array((1, 2.0), [("a", "i4"), ("b", "f8")])
    found = describe(path).attributes
    assert pickle.loads(pickle.dumps(found)).keys() == found.keys()
    several, nothing = found.pop("several"), found.pop("nothing")
    assert several.dtype == np.dtype(">i2")
    assert several.tolist() == [0, 1, 2]
    assert (nothing.dtype, nothing.shape) == (np.dtype("f4"), (0,))
    expected = {
        "text": "°C",
        "bytes": "K",
        "one": np.float32(1.5),
        "flag": np.True_,
        "n": np.int64(7),
        "texts": ["a", "b"],
        "fixed": ["a", "bc"],
        "no text": "",
        "complex": np.complex128(1j),
        "level": np.uint8(2),
    }
    assert found == expected
    assert {name: type(value) for name, value in found.items()} == {n: type(v) for n, v in expected.items()}


def test_truncated_and_damaged_files_are_format_errors_with_the_path(path):
    with h5py.File(path, "w") as file:
        file["v"] = np.arange(1000.0)
        file.create_dataset("c", data=np.arange(1000).reshape(10, 100), chunks=(3, 30))
    whole = path.read_bytes()
    for cut in range(8, len(whole), 197):
        path.write_bytes(whole[:cut])
        with pytest.raises(FormatError, match=r"a\.h5"):
            describe(path, "v")
    rng = np.random.default_rng(0)
    for _ in range(100):
        raw = bytearray(whole)
        for at in rng.integers(8, 3000, 4):
            raw[at] = rng.integers(256)
        path.write_bytes(raw)
        for name in "vc":
            with contextlib.suppress(Error):
                assert describe(path, name).end <= len(raw)


def is_refused(path, name):
    """Whether an array cannot be read, which is then said by an error of the format; also if its name is lost."""
    try:
        with swath.open(path, name) as a:
            if a.nbytes < 1 << 20:
                a[...]
        return False
    except Error as raised:
        error = raised
    assert type(error) in (FormatError, UnsupportedError) or "there is no variable" in str(error), repr(error)
    assert str(path) in str(error)
    return True


def test_damaged_trees_of_chunks_are_format_errors(path):
    """Any byte of the B-tree that says where chunks are; also read whole, and by the command line."""
    values = np.arange(40).reshape(8, 5)
    with h5py.File(path, "w", libver="earliest") as file:
        file.create_dataset("c", data=values, chunks=(4, 4))
    whole = path.read_bytes()
    tree = whole.index(b"TREE\x01")
    wrong = 0
    for at in range(tree, tree + 24 + 4 * 40):
        for value in (0, 1, 0x7F, 0xFF):
            path.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
            wrong += is_refused(path, "c")
    assert wrong > 100
    path.write_bytes(whole)


def test_a_chunk_that_a_tree_places_outside_the_array_is_named(path):
    with h5py.File(path, "w", libver="earliest") as file:
        file.create_dataset("c", data=np.arange(40).reshape(8, 5), chunks=(4, 4))
    whole = bytearray(path.read_bytes())
    # Behind 24 bytes: of each chunk size and mask, 4 bytes each, where it begins, 3 times 8, and its address.
    begins = whole.index(b"TREE\x01") + 24 + 40 + 8
    whole[begins : begins + 8] = (400).to_bytes(8, "little")
    path.write_bytes(whole)
    with pytest.raises(FormatError, match=r"places a chunk of element \(400, 4\) at byte \d+, but .* shape \(8, 5\)"):
        swath.open(path, "c")
    assert cli.main(["info", f"{path}:c"]) == 2


def test_any_damage_is_an_error_of_the_format_or_an_array(path):
    """Without text of variable length, over which HDF5's library itself trips when it is damaged."""
    with h5py.File(path, "w") as file:
        file["v"] = np.arange(50.0)
        file["v"].attrs["n"] = [1, 2, 3]
        file.create_dataset("g/c", data=np.arange(300).reshape(10, 30), chunks=(3, 7))
        file.create_dataset(
            "z", data=np.arange(300).reshape(10, 30), chunks=(4, 10), compression="gzip", fletcher32=True
        )
        file.create_dataset("s", data=np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]))
    whole = path.read_bytes()
    used = np.flatnonzero(np.frombuffer(whole, np.uint8))
    used = used[used >= 8]
    random = np.random.default_rng(24)
    for _ in range(80):
        raw = bytearray(whole)
        for at in random.choice(used, size=random.integers(1, 4)):
            raw[at] = random.choice([0, 1, 4, 0x7F, 0x80, 0xFF, random.integers(256)])
        path.write_bytes(raw)
        for name in ("v", "g/c", "z", "s"):
            is_refused(path, name)
        assert cli.main(["info", str(path)]) in (0, 2)


def test_a_file_that_another_process_writes_is_refused(path):
    with h5py.File(path, "w") as file:
        file["v"] = [1.0]
    hold = f"import h5py, sys; f = h5py.File({str(path)!r}, 'r+'); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(StoreError, match="another program has this HDF5 file open"):
            describe(path, "v")
        other.stdin.close()
    describe(path, "v")


def test_no_handle_stays_open_and_the_callers_own_go_on_working(path):
    with h5py.File(path, "w") as file:
        file["v"] = [1.0]
    with h5py.File(path, "r") as mine:
        dataset = mine["v"]
        describe(path, "v")
        contents(path)
        assert dataset[0] == 1.0
        with pytest.raises(StoreError, match="HDF5 cannot change it"):
            library_write(describe(path, "v"), (0,), 2)
    links = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if fd_exists(fd)]
    assert str(path) not in links


def fd_exists(fd):
    return os.path.islink(f"/proc/self/fd/{fd}")


@pytest.mark.parametrize("dtype", ["<f8", ">i4", "?", "c16", "S5", [("a", "i4"), ("b", ">f8")]], ids=str)
@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (0, 5), (3, 0)])
def test_what_is_written_in_place_is_what_h5py_reads(path, dtype, shape):
    made = create(path, shape, dtype)
    assert made.dtype == np.dtype(dtype)
    assert os.path.getsize(path) >= made.end
    values = np.random.default_rng(0).integers(0, 2, shape).astype("u1").astype(made.dtype)
    for box, part in boxes(made):
        part[box] = values[box]
    np.testing.assert_array_equal(read(path, "data"), values)
    assert describe(path, "data") == made


def test_names_attributes_and_fill_are_created_and_nothing_is_written(path):
    made = create(
        path,
        (2**16, 2**16),
        "f4",
        fill=-1.5,
        variable="/ocean/sst",
        dimensions=("lat", "lon"),
        attributes={"units": "K", "range": [1.0, 2.0]},
    )
    status = os.stat(path)
    assert status.st_size >= made.end == made.layout.offset + 2**34
    assert status.st_blocks * 512 < 2**20
    assert made.fill == np.float32(-1.5).tobytes()
    assert made.variable == "ocean/sst"
    assert made.attributes.pop("range").tolist() == [1.0, 2.0]
    assert made.attributes == {"_FillValue": np.float32(-1.5), "units": "K"}
    assert contents(path).variables["ocean/sst"].dimensions == made.dimensions == ("lat", "lon")
    with h5py.File(path, "r") as file:
        assert file["ocean/sst"].fillvalue == -1.5
        assert file["ocean/sst"][2**15, 7] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dtype": "U3"}, "HDF5 cannot store dtype"),
        ({"dtype": "M8[s]"}, "HDF5 cannot store dtype"),
        ({"order": "F"}, "C order only.*transpose"),
        ({"order": (1, 0)}, "C order only"),
        ({"variable": "a\0b"}, "name"),
        ({"variable": ""}, "name"),
        ({"variable": "/"}, "name"),
        ({"variable": "."}, "name"),
    ],
)
def test_what_hdf5_cannot_store_is_refused_and_leaves_nothing(path, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        create(path, **{"shape": (2, 3), "dtype": "f4", **arguments})
    assert not path.exists()


def test_twenty_thousand_chunks_are_found_in_seconds(path):
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("v", data=np.arange(80_000).reshape(200, 400), chunks=(2, 2))
    description = describe(path)
    assert description.layout.offsets.shape == (100, 200)
    assert (description.layout.offsets >= 0).all()


@pytest.mark.parametrize("written", [False, True])
def test_elements_of_a_new_chunked_dataset_that_were_never_written_are_the_fill_value(tmp_path, written):
    path = tmp_path / "new.h5"
    with swath.create(path, (7, 5), "f8", chunks=(4, 2), fill=3.5, variable="x") as a:
        if written:
            a.write(np.ones((2, 5)), selection=np.s_[1:3])
    expected = np.full((7, 5), 3.5)
    if written:
        expected[1:3] = 1
    with h5py.File(path) as file:
        assert np.array_equal(file["x"][...], expected)
    with swath.open(path, "x") as a:
        assert np.array_equal(a[...], expected)

"""HDF5 and netCDF-4 files: the described bytes are compared with h5py's values."""

import ctypes
import itertools
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import swath
from swath.errors import ArgumentError, FormatError, StoreError, UnsupportedError
from swath.files import layouts
from swath.formats import (
    ChunkedLayout,
    CodedLayout,
    LibraryLayout,
    StridedLayout,
    allocate,
    contents,
    describe,
    library_read,
    library_write,
)
from swath.simulated import run_ranks

h5py = pytest.importorskip("h5py")

from hdf5_cases import read_by_h5py  # noqa: E402
from hdf5_property_cases import DONT_FILTER_PARTIAL_CHUNKS, call  # noqa: E402
from new_files import create  # noqa: E402

SAMPLES = ["ostia_monthly.nc", "A1B_north_america.nc", "hybrid_height.nc", "rotated_pole.nc", "orca2_votemper.nc"]


def boxes(description):
    """Yield for each stored chunk its place in the array, and an ndarray view of the file's bytes."""
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
    """Return the array that the described bytes of the file form, by NumPy alone."""
    out = np.empty(description.shape, description.dtype)
    for box, values in boxes(description):
        out[box] = values
    return out


def check_against_h5py(path, name="v"):
    """Return the description of dataset `name`; all its bytes are compared with h5py's before."""
    description = describe(path, name)
    expected = read_by_h5py(path, name)
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
        expected = read_by_h5py(path, variable.name)
        if isinstance(description.layout, (LibraryLayout, CodedLayout)):
            values = library_read(description, (slice(None),) * len(description.shape))
        else:
            values = np.empty(description.shape, description.dtype)
            for box, part in boxes_read_only(description):
                values[box] = part
        assert values.dtype == description.dtype
        np.testing.assert_array_equal(values, expected)


def boxes_read_only(description):
    """Yield the same as `boxes`, from a copy in memory: the tests must not open installed samples for writing."""
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
    before = read_by_h5py(path, "v")
    description = allocate(describe(path, "v"))
    np.testing.assert_array_equal(read_by_h5py(path, "v"), before)  # the allocation changes no value
    assert isinstance(description.layout, StridedLayout) or (description.layout.offsets >= 0).all()
    values = np.random.default_rng(0).integers(0, 2, (7, 9)).astype(description.dtype)
    for box, part in boxes(description):
        part[...] = values[box]
    np.testing.assert_array_equal(read_by_h5py(path, "v"), values)
    assert allocate(description) is description


def test_allocating_fills_with_the_fill_value(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("c", (7, 9), "i4", chunks=(3, 4), fillvalue=-5)
        file.create_dataset("v", (7, 9), "i4", fillvalue=-5)
        file.create_dataset("s", (), "i4", fillvalue=-5)
    for name in "cvs":
        allocate(describe(path, name))
        assert (read_by_h5py(path, name) == -5).all()
        check_against_h5py(path, name)


def with_raw_edges(path, values, chunks, *filters, maxshape=None):
    """Make dataset "v"; chunks that extend beyond the dataset are stored without its filters."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk(chunks)
    for name in filters:
        getattr(plist, f"set_{name}")()
    call("H5Pset_chunk_opts", plist, ctypes.c_uint(DONT_FILTER_PARTIAL_CHUNKS))
    longest = None if maxshape is None else tuple(h5py.h5s.UNLIMITED if n is None else n for n in maxshape)
    with h5py.File(path, "w", libver="latest") as file:
        space = h5py.h5s.create_simple(values.shape, longest)
        h5py.Dataset(h5py.h5d.create(file.id, b"v", h5py.h5t.py_create(values.dtype), space, plist))[...] = values


@pytest.mark.parametrize("filters", [("shuffle",), ("deflate",), ("shuffle", "deflate", "fletcher32")], ids=str)
def test_chunks_at_the_edge_that_are_stored_without_filters_are_read_written_and_grow(path, filters):
    values = np.arange(70, dtype="i4").reshape(10, 7)
    with_raw_edges(path, values, (4, 4), *filters, maxshape=(None, 7))
    with swath.open(path, "v", mode="r+") as a:
        np.testing.assert_array_equal(a[...], values)
        a[...] = values + 5
        a[9, 6] = -1
        a.append(values[:3])
    expected = np.concatenate([values + 5, values[:3]])
    expected[9, 6] = -1
    np.testing.assert_array_equal(read_by_h5py(path, "v"), expected)
    swath.copy(path, path.with_name("b.h5"))
    np.testing.assert_array_equal(read_by_h5py(path.with_name("b.h5"), "v"), expected)


def test_new_rows_leave_the_fill_value_beyond_the_columns_that_there_are(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=np.ones((3, 4)), chunks=(3, 5), maxshape=(None, 9), fillvalue=7)
    with swath.open(path, "v", mode="r+") as a:
        a.append(np.ones((3, 4)))
    with h5py.File(path, "r+") as file:
        file["v"].resize((6, 6))
        np.testing.assert_array_equal(file["v"], [[1, 1, 1, 1, 7, 7]] * 6)


@pytest.mark.parametrize("padding", ["STR_NULLTERM", "STR_NULLPAD", "STR_SPACEPAD"])
@pytest.mark.parametrize("layout", ["compact", "scalar", "contiguous"])
def test_fixed_length_text_of_utf_8_is_written(path, layout, padding):
    stored = h5py.h5t.C_S1.copy()
    stored.set_size(7)
    stored.set_cset(h5py.h5t.CSET_UTF8)
    stored.set_strpad(getattr(h5py.h5t, padding))
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT if layout == "compact" else h5py.h5d.CONTIGUOUS)
    space = h5py.h5s.create(h5py.h5s.SCALAR) if layout == "scalar" else h5py.h5s.create_simple((3,))
    with h5py.File(path, "w") as file:
        h5py.h5d.create(file.id, b"v", stored, space, plist)
    with swath.open(path, "v", mode="r+") as a:
        a[...] = "grün".encode()
    assert np.all(read_by_h5py(path, "v") == "grün".encode())


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
    expected = read_by_h5py(path, "partly")
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
    np.testing.assert_array_equal(read_by_h5py(path, "v"), values)
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
    np.testing.assert_array_equal(read_by_h5py(path, "v"), np.concatenate(shares))


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
    np.testing.assert_array_equal(read_by_h5py(path, "data"), values)
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


def test_a_dataset_without_room_behind_a_user_block_reads_as_its_fill_value_and_is_written(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("never", (3,), "i4", fillvalue=5)
        file["other"] = np.arange(4)
    head = path.read_bytes()[:1024]
    with swath.open(path, "never") as a:
        np.testing.assert_array_equal(a[...], [5, 5, 5])
    with swath.open(path, "never", mode="r+") as a:
        a[1:] = [7, 8]
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["never"], [5, 7, 8])
        np.testing.assert_array_equal(file["other"], np.arange(4))
    assert path.read_bytes()[:512] == head[:512]

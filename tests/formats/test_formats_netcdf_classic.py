"""netCDF classic files: our header parser is compared with netCDF4 and SciPy; record variables; damage."""

import io
import itertools
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from new_files import create
from swath import formats
from swath.errors import ArgumentError, FormatError, UnsupportedError
from swath.formats import StridedLayout, contents, describe, netcdf_classic
from swath.formats.changes import FileChanges
from swath.formats.description import NewArray

netCDF4 = pytest.importorskip("netCDF4")

VERSIONS = {"NETCDF3_CLASSIC": b"CDF\1", "NETCDF3_64BIT_OFFSET": b"CDF\2", "NETCDF3_64BIT_DATA": b"CDF\5"}
CLASSIC_TYPES = ["i1", "S1", "i2", "i4", "f4", "f8"]
TYPES = [*CLASSIC_TYPES, "u1", "u2", "u4", "i8", "u8"]


def placed(description):
    """Return the array that the described bytes of the file form, by NumPy alone."""
    raw = np.fromfile(description.path, np.uint8)
    layout = description.layout
    out = np.empty(description.shape, description.dtype)
    for index in np.ndindex(description.shape[:1]):
        start = layout.offset + sum(i * s for i, s in zip(index, layout.strides, strict=False))
        out[index] = np.ndarray(out.shape[1:], out.dtype, raw, start, layout.strides[1:])
    return out


def check_against_netcdf4(path):
    """Check that every variable of the file equals netCDF4's, and return their number."""
    with netCDF4.Dataset(path) as dataset:
        dataset.set_auto_maskandscale(False)
        dataset.set_auto_chartostring(False)
        names = list(dataset.variables)
        for name, variable in dataset.variables.items():
            description = describe(path, name)
            assert description.shape == variable.shape
            assert description.dtype == np.dtype(variable.dtype).newbyteorder(">")
            np.testing.assert_array_equal(placed(description), variable[...])
            assert set(description.attributes) == set(variable.ncattrs())
            for key, value in description.attributes.items():
                expected = variable.getncattr(key)
                np.testing.assert_array_equal(value, expected)
                assert np.asarray(value).dtype == np.asarray(expected).dtype
            assert description.dimensions == variable.dimensions
            unlimited = tuple(dataset.dimensions[name].isunlimited() for name in variable.dimensions)
            assert description.unlimited == (unlimited if any(unlimited) else ())
    assert list(contents(path).variables) == names
    return len(names)


def random_values(rng, shape, dtype):
    values = rng.integers(0, 100, shape)
    return values.astype("u1").view("S1") if dtype == "S1" else values.astype(dtype)


def write_file(path, version, dtypes, records, seed=0):
    """Write a fixed and a record variable of each type, with odd sizes, and a scalar."""
    rng = np.random.default_rng(seed)
    with netCDF4.Dataset(path, "w", format=version) as dataset:
        dataset.createDimension("t", None)
        dataset.createDimension("y", 3)
        dataset.createDimension("x", 5)
        dataset.title = "a title"
        for dtype in dtypes:
            fixed = dataset.createVariable(f"fixed_{dtype}", dtype, ("y", "x"))
            record = dataset.createVariable(f"record_{dtype}", dtype, ("t", "x"))
            scalar = dataset.createVariable(f"scalar_{dtype}", dtype, ())
            fixed.units = "m s-1"
            record.setncattr("numbers", np.array([1, 2, 3], "i2"))
            fixed[...] = random_values(rng, (3, 5), dtype)
            record[:records] = random_values(rng, (records, 5), dtype)
            scalar[...] = random_values(rng, (1,), dtype)[0]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("records", [0, 1, 4])
def test_fixed_and_record_variables_of_every_type_equal_netcdf4(tmp_path, version, records):
    types = TYPES if version == "NETCDF3_64BIT_DATA" else CLASSIC_TYPES
    write_file(tmp_path / "a.nc", version, types, records)
    assert (tmp_path / "a.nc").read_bytes()[:4] == VERSIONS[version]
    assert check_against_netcdf4(tmp_path / "a.nc") == 3 * len(types)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("dtype", "width"), list(itertools.product(["i1", "i2", "S1", "f4", "f8"], [1, 3, 5])))
def test_a_single_record_variable_has_no_padding(tmp_path, version, dtype, width):
    values = random_values(np.random.default_rng(1), (7, width), dtype)
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format=version) as dataset:
        dataset.createDimension("t", None)
        dataset.createDimension("x", width)
        dataset.createVariable("fixed", "i2", ("x",))[...] = 1
        dataset.createVariable("v", dtype, ("t", "x"))[:7] = values
    check_against_netcdf4(tmp_path / "a.nc")
    description = describe(tmp_path / "a.nc", "v")
    assert description.layout.strides == (width * values.itemsize, values.itemsize)
    np.testing.assert_array_equal(placed(description), values)


def test_two_odd_record_variables_are_padded_to_four_bytes(tmp_path):
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as dataset:
        dataset.createDimension("t", None)
        dataset.createDimension("x", 3)
        dataset.createVariable("a", "i1", ("t", "x"))[:5] = np.arange(15).reshape(5, 3)
        dataset.createVariable("b", "i2", ("t", "x"))[:5] = np.arange(15).reshape(5, 3)
    a, b = describe(tmp_path / "a.nc", "a"), describe(tmp_path / "a.nc", "b")
    assert a.layout.strides == (12, 1)  # 3 bytes padded to 4, and 6 padded to 8
    assert b.layout.strides == (12, 2)
    assert b.layout.offset == a.layout.offset + 4
    assert b.end == os.stat(tmp_path / "a.nc").st_size - 2  # the last record's padding


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_scipy_are_read_and_scipy_agrees(tmp_path, version):
    scipy_io = pytest.importorskip("scipy.io")
    path = str(tmp_path / "a.nc")
    rng = np.random.default_rng(2)
    with scipy_io.netcdf_file(path, "w", version=version) as file:
        file.createDimension("t", None)
        file.createDimension("x", 3)
        for dtype in ("i1", "i2", "i4", "f4", "f8"):
            file.createVariable(f"r_{dtype}", dtype, ("t", "x"))[:4] = rng.integers(0, 9, (4, 3))
            file.createVariable(f"f_{dtype}", dtype, ("x",))[:] = rng.integers(0, 9, 3)
    with scipy_io.netcdf_file(path, mmap=False) as file:
        for name, variable in file.variables.items():
            np.testing.assert_array_equal(placed(describe(path, name)), variable[:])


@pytest.mark.parametrize("name", ["space_weather.nc", "mesh_C4_synthetic_float.nc"])
def test_every_variable_of_real_files_equals_netcdf4(name):
    samples = Path(pytest.importorskip("iris_sample_data").__file__).parent / "sample_data"
    assert check_against_netcdf4(samples / name) > 1


def test_names_and_text_beyond_ascii_are_kept(tmp_path):
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as dataset:
        dataset.createDimension("größe", 2)
        variable = dataset.createVariable("温度", "f4", ("größe",))
        variable.setncattr("einheit", "°C")
        variable[...] = [1, 2]
    description = describe(tmp_path / "a.nc", "温度")
    assert description.attributes == {"einheit": "°C"}
    assert contents(tmp_path / "a.nc").variables["温度"].dimensions == ("größe",)
    check_against_netcdf4(tmp_path / "a.nc")


def test_latin_1_text_of_old_files_is_read(tmp_path):
    header = build_header(attributes=[("units", 2, "°C".encode("latin-1"))])
    (tmp_path / "a.nc").write_bytes(header + bytes(64))
    assert describe(tmp_path / "a.nc", "v").attributes == {"units": "°C"}


def build_header(
    version=1,
    numrecs=2,
    dimensions=(("t", 0), ("x", 3)),
    attributes=(),
    variables=(("v", (0, 1), 3),),
    begin=None,
    vsize=0,
):
    """Return a header that may contain errors. `variables` are (name, dimension ids, type)."""
    width = 8 if version == 5 else 4
    out = io.BytesIO()

    def count(n):
        out.write(n.to_bytes(width, "big"))

    def padded(raw):
        out.write(raw + bytes(-len(raw) % 4))

    def name(text):
        count(len(text.encode()))
        padded(text.encode())

    def tag(number, entries):
        out.write(struct.pack(">i", number if entries else 0))
        count(len(entries))

    out.write(b"CDF" + bytes([version]))
    count(numrecs)
    tag(10, dimensions)
    for text, length in dimensions:
        name(text)
        count(length)
    tag(12, ())
    tag(11, variables)
    for text, ids, code in variables:
        name(text)
        count(len(ids))
        for i in ids:
            count(i)
        tag(12, attributes)
        for key, of_type, raw in attributes:
            name(key)
            out.write(struct.pack(">i", of_type))
            count(len(raw))
            padded(raw)
        out.write(struct.pack(">i", code))
        count(vsize)
        at = begin if begin is not None else 400
        out.write(at.to_bytes(4 if version == 1 else 8, "big"))
    return out.getvalue() + bytes(max(0, 400 - len(out.getvalue())))


def test_the_built_header_is_a_true_one(tmp_path):
    for version in (1, 2, 5):
        (tmp_path / "a.nc").write_bytes(build_header(version) + np.arange(6, dtype=">i2").tobytes())
        description = describe(tmp_path / "a.nc", "v")
        np.testing.assert_array_equal(placed(description), np.arange(6).reshape(2, 3))
        assert description.end == 412


def test_vsize_is_not_trusted(tmp_path):
    for vsize in (0, 7, 2**32 - 1):
        (tmp_path / "a.nc").write_bytes(build_header(vsize=vsize) + bytes(12))
        assert describe(tmp_path / "a.nc", "v").layout == StridedLayout(400, (6, 2))


@pytest.mark.parametrize("version", [1, 5])
def test_a_streaming_file_has_the_records_that_fit(tmp_path, version):
    every = 2 ** (64 if version == 5 else 32) - 1
    for extra, records in ((0, 0), (5, 0), (6, 1), (17, 2), (18, 3)):
        (tmp_path / "a.nc").write_bytes(build_header(version, numrecs=every) + bytes(extra))
        assert describe(tmp_path / "a.nc", "v").shape == (records, 3)
    two = (("t", 0), ("x", 3)), (("v", (0, 1), 3),)
    header = build_header(version, numrecs=every, dimensions=two[0], variables=two[1], begin=2**31)
    (tmp_path / "a.nc").write_bytes(header)
    assert describe(tmp_path / "a.nc", "v").shape == (0, 3)


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        ({"version": 3}, "version 3 of netCDF classic is unknown"),
        ({"begin": 8}, "data of v begin at byte 8, inside the header"),
        ({"begin": 2**31 - 1}, r"up to byte 2147483659, but the file has 412 bytes"),
        ({"numrecs": 3}, r"up to byte 418, but the file has 412 bytes: 6 are missing"),
        ({"variables": (("v", (0, 2), 3),)}, "variable v has dimension 2; the file has only 2"),
        ({"variables": (("v", (1, 0), 3),)}, "record dimension at a place other than the first"),
        ({"variables": (("v", (0,), 7),)}, r"the type of v is 7; expected 1 to 6"),
        ({"variables": (("v", (0,), 0),)}, r"the type of v is 0"),
        ({"variables": (("v", (0,), 3), ("v", (0,), 3))}, "two variables v"),
        ({"variables": (("v", (1,), 3), ("w", (1,), 3))}, "places v up to byte 406, and w from 400 on"),
        ({"variables": (("v", (0,), 3), ("w", (0,), 3))}, "places v up to byte 402, and w from 400 on"),
        ({"dimensions": (("t", 0), ("x", 0))}, "there is a record dimension already"),
        ({"dimensions": (("", 0), ("x", 3))}, "the name of dimension 0 is empty"),
        ({"version": 5, "dimensions": (("t", 2**63), ("x", 2**63)), "numrecs": 0}, "beyond 64-bit offsets"),
        ({"version": 5, "numrecs": 2**63}, "are too many"),
        ({"version": 5, "numrecs": 0, "begin": 2**63}, "of v begin .* and end beyond 64-bit offsets"),
    ],
)
def test_a_header_that_lies_is_refused_with_its_field(tmp_path, lie, message):
    version = lie.get("version", 1)
    if version == 3:
        raw = b"CDF\3" + bytes(408)
        (tmp_path / "a.nc").write_bytes(raw)
        with pytest.raises(FormatError, match=message):
            describe(tmp_path / "a.nc", "v", format="netcdf-classic")
        return
    (tmp_path / "a.nc").write_bytes(build_header(**lie) + bytes(12))
    with pytest.raises(FormatError, match=message):
        describe(tmp_path / "a.nc", "v")


def test_a_name_that_is_not_utf8_is_latin1(tmp_path):
    raw = build_header(variables=(("vvvv", (0, 1), 3),)).replace(b"vvvv", b"v\xff\xfev")
    (tmp_path / "a.nc").write_bytes(raw + bytes(12))
    assert describe(tmp_path / "a.nc").variable == "vÿþv"


def test_a_truncated_header_names_the_offset(tmp_path):
    with netCDF4.Dataset(tmp_path / "whole.nc", "w", format="NETCDF3_64BIT_DATA") as dataset:
        dataset.createDimension("x", 3)
        dataset.createVariable("v", "f8", ("x",)).units = "K"
    whole = (tmp_path / "whole.nc").read_bytes()
    header_bytes = describe(tmp_path / "whole.nc", "v").layout.offset
    for cut in range(4, header_bytes):
        (tmp_path / "a.nc").write_bytes(whole[:cut])
        with pytest.raises(
            FormatError, match=r"netCDF header at byte \d+: .*(truncated|are left)|bytes: 24 are missing"
        ):
            describe(tmp_path / "a.nc", "v")


def test_data_may_lack_only_their_padding(tmp_path):
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as dataset:
        dataset.createDimension("t", None)
        dataset.createDimension("x", 3)
        dataset.createVariable("a", "f8", ("t",))[:4] = 1
        dataset.createVariable("b", "i2", ("t", "x"))[:4] = np.arange(12).reshape(4, 3)
    size = os.stat(tmp_path / "a.nc").st_size
    os.truncate(tmp_path / "a.nc", size - 2)
    np.testing.assert_array_equal(placed(describe(tmp_path / "a.nc", "b")), np.arange(12).reshape(4, 3))
    os.truncate(tmp_path / "a.nc", size - 3)
    with pytest.raises(FormatError, match=r"b: .*1 are missing"):
        describe(tmp_path / "a.nc", "b")
    assert describe(tmp_path / "a.nc", "a").shape == (4,)  # all data of this variable are there


def test_a_wrong_name_suggests_the_right_one_and_no_name_finds_the_only_variable(tmp_path):
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as dataset:
        for name in ("lat", "lon"):
            dataset.createDimension(name, 2)
            dataset.createVariable(name, "f4", (name,)).bounds = f"{name}_edges"
            dataset.createVariable(f"{name}_edges", "f4", (name,))
        dataset.createDimension("characters", 5)
        dataset.createVariable("label", "S1", ("characters",))
        dataset.createVariable("surface_temperature", "f4", ("lat", "lon"))
    assert describe(tmp_path / "a.nc").variable == "surface_temperature"
    with pytest.raises(ArgumentError, match=r"no variable 'surface_temp'; there are surface_temperature, .*lat"):
        describe(tmp_path / "a.nc", "surface_temp")
    with netCDF4.Dataset(tmp_path / "a.nc", "a") as dataset:
        dataset.createVariable("other", "f4", ("lat",))
    with pytest.raises(ArgumentError, match=r"variable=; there are surface_temperature, other$"):
        describe(tmp_path / "a.nc")


def test_the_fill_value_is_the_attribute_or_the_default_of_the_type(tmp_path):
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_64BIT_DATA") as dataset:
        dataset.createDimension("x", 2)
        dataset.createVariable("own", "i4", ("x",), fill_value=-5)
        for dtype in TYPES:
            dataset.createVariable(dtype, dtype, ("x",))
    assert describe(tmp_path / "a.nc", "own").fill == np.array(-5, ">i4").tobytes()
    for dtype in TYPES:
        default = netCDF4.default_fillvals[dtype]
        expected = np.array(default.encode() if dtype == "S1" else default, np.dtype(dtype).newbyteorder(">"))
        assert describe(tmp_path / "a.nc", dtype).fill == expected.tobytes()


@pytest.mark.parametrize("flavour", ["", ":cdf1", ":cdf2", ":cdf5"])
@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (0, 5), (2, 3, 1)])
def test_what_is_written_in_place_is_what_netcdf4_reads(tmp_path, flavour, shape):
    for dtype in TYPES if flavour in ("", ":cdf5") else CLASSIC_TYPES:
        path = tmp_path / f"{dtype}.nc"
        made = create(path, shape, f"<{dtype}", format=f"netcdf-classic{flavour}")
        assert made.dtype == np.dtype(dtype).newbyteorder(">")
        assert path.read_bytes()[3] == int(flavour[-1:] or 5)
        assert os.stat(path).st_size >= made.end
        values = random_values(np.random.default_rng(3), shape or (1,), dtype).reshape(shape).astype(made.dtype)
        with open(path, "r+b") as file:
            os.pwrite(file.fileno(), values.tobytes(), made.layout.offset)
        with netCDF4.Dataset(path) as dataset:
            dataset.set_auto_maskandscale(False)
            dataset.set_auto_chartostring(False)
            np.testing.assert_array_equal(dataset["data"][...], values)
        np.testing.assert_array_equal(placed(describe(path)), values)


def test_names_attributes_and_fill_are_created_and_nothing_is_written(tmp_path):
    made = create(
        tmp_path / "a.nc3",
        (2**17, 2**17),
        "f4",
        fill=-1.5,
        variable="sst",
        dimensions=("lat", "lon"),
        attributes={"units": "K", "range": [1.0, 2.0], "count": 3},
    )
    status = os.stat(made.path)
    assert status.st_size == made.end == made.layout.offset + 2**36
    assert status.st_blocks * 512 < 2**20
    assert made.fill == np.array(-1.5, ">f4").tobytes()
    assert {key: np.asarray(value).tolist() for key, value in made.attributes.items()} == {
        "_FillValue": -1.5,
        "units": "K",
        "range": [1.0, 2.0],
        "count": 3,
    }
    with netCDF4.Dataset(made.path) as dataset:
        assert dataset["sst"].dimensions == ("lat", "lon")
        assert dataset["sst"].units == "K"
        assert dataset["sst"][5, 7] == 0


@pytest.mark.parametrize("flavour", ["cdf1", "cdf2", "cdf5"])
def test_attributes_of_every_kind_are_created_as_netcdf4_reads_them(tmp_path, flavour):
    attributes = {
        "text": "°C",
        "bytes": b"ab",
        "empty": "",
        "integer": -3,
        "integers": [1, 2, 3],
        "real": 2.5,
        "single": np.float32(1.25),
        "shorts": np.array([1, -2], ">i2"),
        "byte": np.int8(-1),
    }
    if flavour == "cdf5":
        attributes |= {"long": 2**40, "unsigned": np.array([2**64 - 1], "u8")}
    made = create(tmp_path / "a.nc", (3,), "i2", format=f"netcdf-classic:{flavour}", attributes=attributes)
    assert set(made.attributes) == set(attributes)
    with netCDF4.Dataset(made.path) as dataset:
        assert VERSIONS[dataset.data_model][3] == int(flavour[3:])
        for key, value in attributes.items():
            found = dataset["data"].getncattr(key)
            np.testing.assert_array_equal(found, value.decode() if isinstance(value, bytes) else value)
            np.testing.assert_array_equal(made.attributes[key], value.decode() if isinstance(value, bytes) else value)
    assert made.layout.offset % 4096 == 0
    assert made.layout.offset >= 8192


@pytest.mark.parametrize("flavour", ["cdf1", "cdf2", "cdf5"])
@pytest.mark.parametrize("shape", [(), (0, 3), (70_000, 70_000)])
def test_netcdf4_can_go_on_with_a_created_file(tmp_path, flavour, shape):
    made = create(tmp_path / "a.nc", shape, "i1", format=f"netcdf-classic:{flavour}", attributes={"a": 1})
    with netCDF4.Dataset(made.path, "a") as dataset:
        dataset["data"].b = "new"
        assert dataset["data"].shape == shape
        last = tuple(n - 1 for n in shape)
        dataset["data"][last if 0 not in shape else (0, slice(None))] = 7
    again = describe(made.path)
    assert again.attributes == {"a": 1, "b": "new"}
    assert again.layout.offset == made.layout.offset
    assert os.stat(made.path).st_blocks * 512 < 2**20
    with open(made.path, "rb") as file:
        assert os.pread(file.fileno(), 1, again.end - 1) == b"\7"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dtype": "c16"}, r"cannot store dtype complex128; it stores int8, S1, int16.*uint64"),
        ({"dtype": "?"}, "cannot store dtype bool"),
        ({"dtype": [("a", "i4")]}, "cannot store"),
        ({"dtype": "i8", "format": "netcdf-classic:cdf2"}, r"CDF-2\) cannot store dtype int64; it stores.*float64$"),
        ({"shape": (3, 0)}, "zero-length dimension"),
        ({"order": "F"}, "C order only.*transpose"),
        ({"attributes": {"_FillValue": 3}}, "as fill="),
        ({"attributes": {"a": True}}, "cannot store dtype bool"),
        ({"attributes": {"a": [[1, 2], [3, 4]]}}, "a list of numbers"),
        ({"attributes": {"a": 2**40}, "format": "netcdf-classic:cdf1"}, "cannot store dtype int64"),
        ({"variable": "a/b"}, "allows no name 'a/b'"),
        ({"variable": "a "}, "no blank at its end"),
        ({"dimensions": ("x", "y" * 257)}, "at most 256 bytes"),
        ({"attributes": {"": 1}}, "allows no name ''"),
        ({"shape": (2**31, 4), "format": "netcdf-classic:cdf1"}, "at most 2147483644 elements"),
    ],
)
def test_what_netcdf_classic_cannot_store_is_refused_and_leaves_nothing(tmp_path, arguments, message):
    defaults = {"shape": (2, 3), "dtype": "f4", "format": "netcdf-classic"}
    with pytest.raises(ArgumentError, match=message):
        create(tmp_path / "a.nc", **{**defaults, **arguments})
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def valid_headers(tmp_path_factory):
    """Return the first bytes of valid files of the three versions, and the sizes of these files."""
    folder = tmp_path_factory.mktemp("valid")
    found = []
    for version in VERSIONS:
        types = TYPES if version == "NETCDF3_64BIT_DATA" else CLASSIC_TYPES
        write_file(folder / "a.nc", version, types[:3], 2)
        found.append((folder / "a.nc").read_bytes())
    return [*found, *(build_header(v) + bytes(12) for v in (1, 2, 5))]


def check_damaged(path, raw):
    """Check that `raw` gives a FormatError, or descriptions whose bytes are all in the file.

    The same must hold when a variable is added to it.
    """
    path.write_bytes(raw)
    try:
        found = list(contents(path).variables)
    except FormatError:
        return
    for name in found:
        try:
            description = describe(path, name)
        except FormatError:
            continue
        assert description.end <= len(raw)
        if 0 not in description.shape:
            last = sum((n - 1) * s for n, s in zip(description.shape, description.layout.strides, strict=True))
            assert description.layout.offset + last + description.dtype.itemsize == description.end
    check_added(path, raw, found)


def check_added(path, raw, names):
    new = NewArray((), np.dtype("f4"), (), np.float32(1), "new_one", None, {}, None)
    with FileChanges("netcdf-classic", str(path), is_new=True) as changes:
        try:
            netcdf_classic.add(changes, new)
        except (FormatError, ArgumentError, UnsupportedError):
            assert path.read_bytes() == raw
        else:
            assert list(contents(path).variables) == [*names, "new_one"]


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_a_format_error_or_a_description(valid_headers, tmp_path_factory, data):
    raw = bytearray(data.draw(st.sampled_from(valid_headers)))
    value = st.sampled_from([0, 1, 2, 4, 10, 11, 12, 0x7F, 0x80, 0xFF]) | st.integers(0, 255)
    for at, new in data.draw(st.lists(st.tuples(st.integers(4, len(raw) - 1), value), max_size=8)):
        raw[at] = new
    at = data.draw(st.integers(4, len(raw)))
    raw[at:at] = data.draw(st.binary(max_size=8))
    raw = raw[: data.draw(st.just(len(raw)) | st.integers(4, len(raw)))]
    check_damaged(tmp_path_factory.getbasetemp() / "damaged.nc", raw)


def test_no_single_wrong_byte_of_a_header_escapes(tmp_path):
    for version in (1, 5):
        whole = build_header(version, attributes=[("units", 2, b"K"), ("bytes", 1, b"abc")]) + bytes(12)
        for at in range(4, 250 if version == 5 else 170):
            for value in (0, 3, 0x7F, 0xFF):
                check_damaged(tmp_path / "a.nc", whole[:at] + bytes([value]) + whole[at + 1 :])


def test_a_variable_of_more_dimensions_than_numpy_has_is_unsupported(tmp_path):
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("one", 1)
        file.createVariable(
            "v", "i2", ("one",) * 65 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else ("one",) * 33
        )
    with pytest.raises(UnsupportedError, match="dimensions; NumPy has arrays of at most"):
        formats.describe(tmp_path / "a.nc", "v")


def test_a_huge_count_in_a_huge_file_takes_no_memory_and_no_time(tmp_path):
    """A hole of 2^40 bytes has room for any count: the entries themselves must be refused."""
    for at in (12, 20):
        raw = bytearray(build_header(5))
        raw[at : at + 4] = struct.pack(">i", 10)
        raw[at + 4 : at + 12] = (2**36).to_bytes(8, "big")
        (tmp_path / "a.nc").write_bytes(raw)
        os.truncate(tmp_path / "a.nc", 2**40)
        with pytest.raises(FormatError):
            describe(tmp_path / "a.nc")

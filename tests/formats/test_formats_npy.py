"""NumPy's .npy files."""

import numpy as np
import numpy.lib.format as npy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from new_files import create
from swath.errors import ArgumentError, FormatError, UnsupportedError
from swath.formats import contents, describe

DTYPES = [
    *("<i2", ">i4", "<f8", ">f8", "?", "c16", "f2", "S5", "U3", "M8[s]", "V7"),
    np.dtype([("a", ">i2"), ("b", "<f8", (2, 2))]),
    np.dtype({"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [0, 8], "itemsize": 24}),
]


def placed(description):
    """Return the array that the described bytes of the file form, by NumPy alone."""
    raw = np.fromfile(description.path, np.uint8)
    layout = description.layout
    return np.ndarray(description.shape, description.dtype, raw, layout.offset, layout.strides)


def filled(shape, dtype):
    dtype = np.dtype(dtype)
    count = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer((np.arange(count) % 2).astype(np.uint8).tobytes(), dtype).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 4), (0, 3)])
def test_what_numpy_saves_is_found(tmp_path, dtype, order, shape):
    values = np.array(filled(shape, dtype), order=order)
    np.save(tmp_path / "a.npy", values)
    description = describe(tmp_path / "a.npy")
    assert description.shape == shape
    assert description.dtype == values.dtype
    np.testing.assert_array_equal(placed(description), values)  # not the padding of structures: NumPy does not copy it


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_header_is_read(tmp_path, version):
    name = "e" if version == (1, 0) else "é" if version == (2, 0) else "温度é"
    values = np.array([(1, 2.5), (3, 4.5)], dtype=[(name, "<i4"), ("b'\\", ">f8")])
    with open(tmp_path / "a.npy", "wb") as file:
        npy.write_array(file, values, version=version)
    description = describe(tmp_path / "a.npy")
    assert description.dtype == values.dtype
    np.testing.assert_array_equal(placed(description), values)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4), (3, 0)])
def test_what_is_written_in_place_is_what_numpy_loads(tmp_path, dtype, order, shape):
    values = filled(shape, dtype)
    made = create(tmp_path / "a.npy", shape, dtype, order=order)
    raw = np.fromfile(made.path, np.uint8)
    assert len(raw) >= made.end
    np.ndarray(shape, made.dtype, raw, made.layout.offset, made.layout.strides)[...] = values
    raw.tofile(made.path)
    loaded = np.load(made.path)
    assert loaded.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(loaded, values)  # not the padding of structures, which NumPy does not assign
    assert loaded.flags.f_contiguous or order == "C"


def test_non_latin_field_names_can_be_created(tmp_path):
    dtype = np.dtype([("温度", "f4")])
    assert describe(create(tmp_path / "a.npy", (3,), dtype).path).dtype == dtype


def test_a_permutation_that_is_c_or_f_order_is_accepted_and_others_are_not(tmp_path):
    assert create(tmp_path / "a.npy", (2, 3, 4), "f4", order=(2, 1, 0)).layout.strides == (4, 8, 24)
    assert create(tmp_path / "b.npy", (2, 3, 4), "f4", order=(0, 1, 2)).layout.strides == (48, 16, 4)
    with pytest.raises(ArgumentError, match="create a raw file"):
        create(tmp_path / "c.npy", (2, 3, 4), "f4", order=(1, 0, 2))


def test_a_truncated_file_names_both_sizes(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(100))
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(whole[:-1])
    with pytest.raises(FormatError, match=r"up to byte 928.* 927 bytes"):
        describe(tmp_path / "a.npy")
    for cut in range(8, 128):
        (tmp_path / "a.npy").write_bytes(whole[:cut])
        with pytest.raises(FormatError):
            describe(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }", "impossible shape"),
        (f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({2**62}, {2**62}), }}", "64-bit"),
        ("{'descr': '<f8', 'fortran_order': False, }", "keys"),
        ("{'descr': '<f8', 'fortran_order': 3, 'shape': (3,), }", "fortran_order"),
        ("[" * 400, "not a readable"),
    ],
)
def test_a_header_that_cannot_be_true_is_refused(tmp_path, header, message):
    raw = header.encode()
    (tmp_path / "a.npy").write_bytes(npy.magic(1, 0) + len(raw).to_bytes(2, "little") + raw)
    with pytest.raises(FormatError, match=message):
        describe(tmp_path / "a.npy")


def test_a_header_length_beyond_the_file_allocates_nothing(tmp_path):
    (tmp_path / "a.npy").write_bytes(npy.magic(2, 0) + b"\xff\xff\xff\xff{}")
    with pytest.raises(FormatError, match="claims 4294967295 bytes, 2 are left"):
        describe(tmp_path / "a.npy")


def test_an_unknown_version_is_refused(tmp_path):
    (tmp_path / "a.npy").write_bytes(npy.magic(4, 0) + bytes(100))
    with pytest.raises(FormatError, match=r"4\.0 is unknown"):
        describe(tmp_path / "a.npy")


def test_python_objects_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array([1, None], object), allow_pickle=True)
    with pytest.raises(UnsupportedError, match="object"):
        describe(tmp_path / "a.npy")


def test_variables_and_names(tmp_path):
    np.save(tmp_path / "a.npy", np.asfortranarray(np.zeros((3, 4))))
    (variable,) = contents(tmp_path / "a.npy").variables.values()
    assert (variable.name, variable.shape, variable.dtype) == ("", (3, 4), np.float64)
    with pytest.raises(ArgumentError, match="without a name"):
        describe(tmp_path / "a.npy", "v")


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_header_is_a_format_error_or_a_description(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("npy") / "a.npy"
    with open(path, "wb") as file:
        npy.write_array(file, np.zeros(3, [("é", "i4")]), version=data.draw(st.sampled_from([(2, 0), (3, 0)])))
    raw = bytearray(path.read_bytes())
    for at, value in data.draw(st.lists(st.tuples(st.integers(6, 90), st.integers(0, 255)), max_size=6)):
        raw[at] = value
    path.write_bytes(raw[: data.draw(st.integers(6, len(raw)))])
    try:
        description = describe(path)
    except (FormatError, UnsupportedError):
        return
    assert description.end <= len(raw)

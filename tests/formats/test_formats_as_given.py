"""A new file has its fill values, names, attributes and growing lengths as given, or they are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from hdf5_cases import KINDS, add, changing, new, started
from swath import formats
from swath.formats import hdf5
from swath.formats.changes import Changes
from swath.formats.contents import Dimension, Group
from swath.formats.description import CodedLayout
from swath.formats.new_file import NewFile

h5py = pytest.importorskip("h5py")


@pytest.mark.parametrize(("dtype", "fill"), [(">f4", 1.5), ("<f4", 1.5), (">i2", 7)])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_behind_those_of_a_whole_new_file_read_as_its_fill_value(
    tmp_path: Path, kind: str, dtype: str, fill: Any
) -> None:
    path = str(tmp_path / "t.h5")
    t = new("t", (None, 4), dtype, ("time", "x"), fill=fill, chunks=(4, 4))
    t = t.__class__(**{**vars(t), "shape": (5, 4)})
    root = Group("", {}, {"time": Dimension("time", 5, True), "x": Dimension("x", 4)})
    formats.create_file(path, kind, NewFile(None, (root,), (t,)))
    with h5py.File(path, "r+") as file:
        file["t"].resize(8, 0)
        assert (file["t"][5:] == fill).all()


def test_coded_rows_that_were_given_room_are_in_the_file_itself(tmp_path: Path) -> None:
    path = started(tmp_path / "t.h5", "hdf5")
    add(path, new("t", (None, 4), codecs="zlib"))
    with changing(path) as changes:
        layout = hdf5.extend(changes, "t", 2).layout
    assert isinstance(layout, CodedLayout)
    assert layout.path == path


@pytest.mark.parametrize("chunks", [None, (1, 4), (2, 2)])
def test_coded_rows_are_read_as_soon_as_they_are_appended(tmp_path: Path, chunks: Any) -> None:
    with swath.create_file(tmp_path / "t.h5") as file:
        t = file.create("t", (None, 4), "f4", codecs="zlib", fill=-1, chunks=chunks)
        for row in range(3):
            t.append(np.full(4, row, "f4"))
            assert t.read()[:, 0].tolist() == list(range(row + 1))
    with h5py.File(tmp_path / "t.h5") as stored:
        assert stored["t"][:, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("suffix", [".raw", ".npy"])
def test_what_cannot_grow_is_not_created_without_a_first_length(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(swath.ArgumentError, match="does not grow"):
        swath.create(tmp_path / f"t{suffix}", (None, 4), "f4")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("fill", "dtype"),
    [(1.5, "i4"), (np.int64(300), "u1"), (np.float64(70000), "i2"), ("abcdef", "S3"), (b"abcdef", "S3")],
)
def test_a_fill_value_that_would_become_another_is_refused(tmp_path: Path, fill: Any, dtype: str) -> None:
    with pytest.raises(swath.ArgumentError, match="is not a value of dtype"):
        swath.create(tmp_path / "t.h5", (2,), dtype, fill=fill)


@pytest.mark.parametrize(
    ("fill", "dtype"), [(3.0, "i4"), (np.int64(200), "u1"), (True, "i2"), ("abc", "S3"), (b"ab", "S3"), (np.nan, "f4")]
)
def test_a_fill_value_of_another_type_is_kept_where_it_fits(tmp_path: Path, fill: Any, dtype: str) -> None:
    with swath.create(tmp_path / "t.h5", (2,), dtype, fill=fill) as array:
        array.write(np.zeros(2, dtype))
        assert array._description.fill == np.array(fill, dtype).tobytes()


@pytest.mark.parametrize("is_added", [False, True])
def test_a_classic_name_may_be_given_in_another_form_of_unicode(tmp_path: Path, is_added: bool) -> None:
    path = tmp_path / "t.nc"
    if is_added:
        swath.create_file(path, format="netcdf-classic").close()
    with swath.create(path, (2,), "f4", variable="e\u0301", format="netcdf-classic") as array:
        array.write(np.ones(2, "f4"))
    assert list(swath.open_file(path)) == ["\u00e9"]


@pytest.mark.parametrize("suffix", [".nc", ".nc4", ".h5", ".zarr"])
def test_bytes_of_an_attribute_that_are_not_utf8_are_latin1_and_not_lost(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    with swath.create(path, (2,), "f4", variable="t", attributes={"place": b"\xc5rhus"}) as array:
        array.write(np.ones(2, "f4"))
    with swath.open(path, "t") as array:
        assert array.attributes["place"] == "\u00c5rhus"


def test_a_file_is_repaired_before_it_is_seen_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = started(tmp_path / "t.h5", "hdf5")
    repaired = []
    monkeypatch.setattr(formats, "repair", repaired.append)
    with Changes(path, is_durable=False):
        assert formats.contents_of_many(path) is not None
    assert repaired == [path]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_rows_that_another_program_added_to_a_consolidated_store_are_appended_to(
    tmp_path: Path, zarr_format: int
) -> None:
    zarr = pytest.importorskip("zarr")
    path = tmp_path / "t.zarr"
    flavour = f"zarr:v{zarr_format}"
    with swath.create_file(path, format=flavour) as f:
        f.create("t", (None, 2), "f4", dimensions=("time", "x")).append(np.zeros((3, 2), "f4"), records=3)
    group = zarr.open_group(path, mode="r+", use_consolidated=False)
    group["t"].resize((6, 2))
    group["t"][3:] = 1
    with swath.open_file(path, mode="r+") as f:
        assert f["t"].shape == (6, 2)
        f["t"].append(np.full((4, 2), 2, "f4"), records=4)
    with swath.open(path, "t") as a:
        assert a[:, 0].tolist() == [0] * 3 + [1] * 3 + [2] * 4


FORMATS = ("netcdf-classic", "netcdf-classic:cdf1", "netcdf4", "hdf5", "zarr", "zarr:v2")
DATES = np.array(["2020-01-01"], "M8[ns]")
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "dimensions of numbers": ({"dimensions": [1, 2]}, r"dimensions must be a list of names.*not \[1, 2\]"),
    "dimensions in one text": ({"dimensions": "xy"}, "dimensions must be a list of names.*not 'xy'"),
    "dimensions in bytes": ({"dimensions": b"xy"}, "dimensions must be a list of names.*not b'xy'"),
    "a number of dimensions": ({"dimensions": 2}, "dimensions 2 must be different names"),
    "dimensions in lists": ({"dimensions": [["x"], "y"]}, "dimensions must be a list of names"),
    "dimensions of None": ({"dimensions": [None, "y"]}, "dimensions must be a list of names"),
    "half a pair in a dimension": ({"dimensions": ["x\udc80", "y"]}, "dimensions must be a list of names"),
    "attributes in one text": ({"attributes": "abc"}, "attributes must be names with their values.*not 'abc'"),
    "attributes in a list": ({"attributes": [("a", 1)]}, "attributes must be names with their values"),
    "the empty text for attributes": ({"attributes": ""}, "attributes must be names with their values"),
    "the name of an attribute": ({"attributes": {1: 2}}, "the name of an attribute must be a string, not 1"),
    "a member of an attribute": ({"attributes": {"a": {1: 2}}}, "attribute|called 1"),
    "a fill value": ({"fill": 1e300}, "fill 1e.300 is not a value of dtype float32, which would make.*inf"),
    "a large fill value": ({"fill": 10**60}, "fill 10+ is not a value of dtype float32"),
    "one as an attribute": ({"attributes": {"_FillValue": 1e300}}, "no.? a? ?value of dtype float32|as fill="),
    "a date": ({"attributes": {"a": DATES[0]}}, "attribute|datetime64"),
    "dates": ({"attributes": {"a": DATES}}, "attribute|datetime64"),
    "a list of dates": ({"attributes": {"a": [DATES[0], DATES[0]]}}, "attribute|datetime64"),
    "a date in a dictionary": ({"attributes": {"a": {"b": DATES[0]}}}, "attribute|datetime64"),
}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_stored_as_it_is_given_is_refused_in_words(tmp_path: Path, case: str, kind: str) -> None:
    given, words = REFUSED[case]
    path = tmp_path / "a.file"
    with pytest.raises(swath.ArgumentError, match=words):
        swath.create(path, (2, 3), "f4", format=kind, variable="v", **given)
    assert list(tmp_path.iterdir()) == []
    with swath.create_file(path, format=kind) as file:
        with pytest.raises(swath.ArgumentError, match=words):
            file.create("v", (2, 3), "f4", **given)
        assert list(file) == []
    with swath.open_file(path) as file:
        assert list(file) == []


@pytest.mark.parametrize("fill", [np.inf, -np.inf, np.nan, 3e38, -1e-300, np.float64(0.1), 2**100])
@pytest.mark.parametrize("kind", FORMATS)
def test_a_fill_value_that_is_rounded_or_infinite_is_stored(tmp_path: Path, kind: str, fill: Any) -> None:
    swath.create(tmp_path / "a.file", (2, 3), "f4", format=kind, fill=fill).close()
    with swath.open(tmp_path / "a.file") as array:
        np.testing.assert_array_equal(array.read(), np.full((2, 3), fill, "f4"))


@pytest.mark.parametrize(("fill", "dtype"), [(1e300, "c8"), (complex(1, -1e39), "c8"), (1e5, "f2")])
def test_fill_values_that_would_become_infinite_are_refused_for_every_dtype(
    tmp_path: Path, fill: Any, dtype: str
) -> None:
    for suffix in (".h5", ".zarr", ".npy", ".raw"):
        with pytest.raises(swath.ArgumentError, match="is not a value of dtype"):
            swath.create(tmp_path / f"a{suffix}", (2, 3), dtype, fill=fill)
        with swath.create(tmp_path / f"b{suffix}", (2, 3), dtype, fill=complex(np.inf, 1) if dtype == "c8" else np.inf):
            pass


@pytest.mark.parametrize(
    "given",
    [{"variable": "v\udc80"}, {"attributes": {"a\udc80": 1}}, {"attributes": {"a": "x\udc80"}}],
    ids=["variable", "attribute", "text"],
)
@pytest.mark.parametrize("kind", [one for one in FORMATS if not one.startswith("zarr")])
def test_halves_of_surrogate_pairs_are_refused(tmp_path: Path, kind: str, given: dict[str, Any]) -> None:
    with pytest.raises(swath.ArgumentError, match=r"dc80|\\x80"):
        swath.create(tmp_path / "a.file", (2, 3), "f4", format=kind, **{"variable": "v", **given})
    assert list(tmp_path.iterdir()) == []

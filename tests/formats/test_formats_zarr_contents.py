"""The contents of whole Zarr stores of xarray and zarr-python, with and without consolidated metadata."""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import warnings
from typing import Any

import numpy as np
import pytest

from swath import formats
from swath.errors import ArgumentError, FormatError, UnsupportedError
from swath.formats import npy, raw
from swath.formats import zarr as swath_zarr
from swath.formats.contents import Contents, Dimension
from zarr_cases import OTHER_VALUES, V2, V3, changes_in, new_array, places_in, put, store, zarr

xr = pytest.importorskip("xarray")

Path = pathlib.Path
KINDS = [(version, consolidated) for version in (2, 3) for consolidated in (False, True)]


def written(path: Path, dataset: Any, version: int, **options: Any) -> str:
    """Write a store by xarray."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # features that version 3 does not specify yet
        dataset.to_zarr(str(path), zarr_format=version, **options)
    return str(path)


def a_data_set() -> Any:
    """Return coordinates, times, packed numbers, text, and attributes of many kinds."""
    numbers = np.arange(12.0).reshape(2, 3, 2)
    packed = xr.Variable(("time", "y"), [[1.5, np.nan, 2.5]] * 2)
    packed.encoding = {"dtype": "i2", "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": np.int16(-99)}
    return xr.Dataset(
        {
            "t": (
                ("time", "y", "x"),
                numbers.astype("f4"),
                {"units": "K", "valid_range": [0, 400], "names": ["a", "b"]},
            ),
            "packed": packed,
            "flags": (("y",), np.array([1, 2, 3], "u1"), {"_FillValue": np.uint8(255), "flag_values": np.arange(3)}),
            "station": (("y",), np.array(["a", "bb", "ccc"])),
            "code": (("y",), np.array([b"a", b"bb", b"ccc"])),
            "long_text": (("y",), np.array(["a", "", "a longer one"], dtype=object)),
            "is_land": (("x",), np.array([True, False])),
            "wave": (("x",), np.array([1 + 2j, 3j], "c8")),
            "crs": ((), np.int32(0), {"grid_mapping_name": "latitude_longitude", "ellipsoid": {"a": 6378137.0}}),
        },
        coords={"time": np.array(["2020-01-01", "2020-01-03"], "M8[ns]"), "y": np.arange(3) * 0.5, "x": [10, 20]},
        attrs={"title": "a run", "version": 3, "weights": [0.5, 1.5], "nothing": [], "mixed": [1, "a"]},
    )


def same_value(ours: Any, theirs: Any) -> bool:
    """Return whether two attributes are equal: xarray has lists for arrays, and Python's numbers for the dtype's."""
    if isinstance(ours, np.ndarray):
        return ours.ndim == 1 and isinstance(theirs, list) and ours.tolist() == theirs
    return bool(ours == theirs or (ours != ours and theirs != theirs))  # the second case is NaN


def check_as_xarray_sees(found: Contents, group: str, dataset: Any) -> None:
    ours = {v.short_name: v for v in found.variables.values() if v.group == group}
    assert ours.keys() == set(dataset.variables)
    assert {n: d.length for n, d in found.groups[group].dimensions.items()} == dict(dataset.sizes)
    assert found.groups[group].attributes.keys() == dataset.attrs.keys()
    assert all(same_value(found.groups[group].attributes[k], v) for k, v in dataset.attrs.items())
    for name, theirs in dataset.variables.items():
        variable = ours[name]
        assert (variable.shape, variable.dimensions, variable.unsupported) == (theirs.shape, theirs.dims, "")
        expected = np.dtype(object) if theirs.dtype.kind in "OT" else theirs.dtype
        assert variable.dtype is not None
        assert variable.dtype.newbyteorder("=") == expected.newbyteorder("=")
        assert variable.chunks == theirs.encoding["chunks"]
        assert variable.attributes.keys() == theirs.attrs.keys(), name
        assert all(same_value(variable.attributes[k], v) for k, v in theirs.attrs.items()), name


@pytest.mark.parametrize(("version", "consolidated"), KINDS)
def test_a_store_of_xarray_holds_what_xarray_sees(tmp_path: Path, version: int, consolidated: bool) -> None:
    path = written(tmp_path / "a.zarr", a_data_set(), version, consolidated=consolidated)
    found = swath_zarr.contents(path)
    assert (found.format, found.version, list(found.groups)) == ("zarr", f"Zarr {version}", [""])
    with xr.open_zarr(path, decode_cf=False, consolidated=consolidated) as dataset:
        check_as_xarray_sees(found, "", dataset)
        for name, theirs in dataset.variables.items():
            described = formats.describe(path, str(name))
            assert described.dimensions == theirs.dims
            assert described.attributes.keys() == found.variables[str(name)].attributes.keys()
    assert {v.name for v in found.variables.values() if v.is_coordinate} == {
        *("time", "x", "y"),
        *("code", "long_text", "station"),
    }


@pytest.mark.parametrize(("version", "consolidated"), KINDS)
def test_groups_of_a_tree_of_data_sets_are_found(tmp_path: Path, version: int, consolidated: bool) -> None:
    surface = xr.Dataset({"t": (("y", "x"), np.ones((3, 2)))}, attrs={"level": "top"})
    deep = xr.Dataset({"t": (("z",), np.arange(4.0)), "x": (("z",), np.arange(4))})
    tree = xr.DataTree.from_dict({"/": a_data_set(), "/ocean/surface": surface, "/ice/deep": deep})
    path = written(tmp_path / "a.zarr", tree, version, consolidated=consolidated)
    found = swath_zarr.contents(path)
    assert list(found.groups) == ["", "ice", "ice/deep", "ocean", "ocean/surface"]
    assert found.groups["ocean/surface"].attributes == {"level": "top"}
    assert found.groups["ocean/surface"].dimensions == {}, "they are those of the groups above"
    assert found.dimension("ocean/surface", "y") == Dimension("y", 3)
    assert found.groups["ice/deep"].dimensions == {"z": Dimension("z", 4)}
    with xr.open_zarr(path, group="ice/deep", decode_cf=False, consolidated=consolidated) as dataset:
        check_as_xarray_sees(found, "ice/deep", dataset)


@pytest.mark.parametrize("version", [2, 3])
def test_consolidated_metadata_are_the_one_file_that_is_read(tmp_path: Path, version: int) -> None:
    path = Path(written(tmp_path / "a.zarr", a_data_set(), version, consolidated=True))
    expected = swath_zarr.contents(str(path))
    shutil.rmtree(path / "t")
    found = swath_zarr.contents(str(path))
    assert found.variables.keys() == expected.variables.keys()
    assert found.variables["t"].shape == (2, 3, 2)
    with pytest.raises(FormatError, match="'t' that is not there"):
        formats.describe(path, "t")


@pytest.mark.parametrize("version", [2, 3])
def test_an_array_that_has_grown_since_is_described_by_its_own_metadata(tmp_path: Path, version: int) -> None:
    path = written(tmp_path / "a.zarr", a_data_set(), version, consolidated=True)
    zarr.open_array(str(tmp_path / "a.zarr/t")).resize((5, 3, 2))
    assert swath_zarr.contents(path).variables["t"].shape == (2, 3, 2)
    assert formats.describe(path, "t").shape == (5, 3, 2)


BAD = [
    {"kind": "elsewhere", "metadata": {}},
    {"kind": "inline", "metadata": []},
    {"kind": "inline", "metadata": {"b": {**V3, "zarr_format": 2}}},
    {"kind": "inline", "metadata": {"../b": V3}},
    {"kind": "inline", "metadata": {"g/b": V3}},
    {"kind": "inline", "metadata": {"b": {**V3, "node_type": "thing"}}},
    {"kind": "inline", "metadata": {"b": None}},
    5,
]


@pytest.mark.parametrize("consolidated", BAD)
def test_consolidated_metadata_that_cannot_be_true_are_left_aside(tmp_path: Path, consolidated: Any) -> None:
    group = {"zarr_format": 3, "node_type": "group", "consolidated_metadata": consolidated}
    (tmp_path / "zarr.json").write_text(json.dumps(group))
    store(tmp_path, V3)
    assert list(swath_zarr.contents(str(tmp_path)).variables) == ["a.zarr"]


BAD_V2: list[Any] = [
    {"zarr_consolidated_format": 2, "metadata": {"b/.zarray": V2}},
    {"zarr_consolidated_format": 1, "metadata": []},
    {"zarr_consolidated_format": 1, "metadata": {"b/.zarray": 5}},
    {"zarr_consolidated_format": 1, "metadata": {"b/.zarray": V2, "b/.zattrs": 5}},
    {"zarr_consolidated_format": 1, "metadata": {"g/b/.zarray": V2}},
    {"zarr_consolidated_format": 1, "metadata": {"b/../../c/.zarray": V2}},
]


@pytest.mark.parametrize("consolidated", BAD_V2)
def test_of_version_2_too(tmp_path: Path, consolidated: Any) -> None:
    (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / ".zmetadata").write_text(json.dumps(consolidated))
    store(tmp_path, V2)
    assert list(swath_zarr.contents(str(tmp_path)).variables) == ["a.zarr"]


def test_arrays_that_nobody_reads_are_listed_with_the_reason(tmp_path: Path) -> None:
    zarr.open_group(str(tmp_path), mode="w")
    store(tmp_path, {**V3, "codecs": [{"name": "bytes"}, {"name": "zfp"}]})
    variable = swath_zarr.contents(str(tmp_path)).variables["a.zarr"]
    assert (variable.shape, variable.dtype) == ((5, 4), None)
    assert "zfp" in variable.unsupported
    assert variable.is_coordinate


def test_of_arrays_that_disagree_the_first_tells_the_length_of_a_dimension(tmp_path: Path) -> None:
    root = zarr.open_group(str(tmp_path), mode="w")
    for name, length in (("a", 3), ("b", 4)):
        root.create_array(name, shape=(length,), dtype="f4", dimension_names=("x",))
    root.create_array("c", shape=(4, 2), dtype="f4", dimension_names=("x", None))
    found = swath_zarr.contents(str(tmp_path))
    assert found.groups[""].dimensions == {"x": Dimension("x", 3)}
    assert found.variables["c"].dimensions == ("x", "")


def test_a_store_that_is_one_array_has_one_variable_without_a_name(tmp_path: Path) -> None:
    for version in (2, 3):
        path = str(tmp_path / f"{version}.zarr")
        zarr.create_array(path, shape=(3, 4), dtype="i2", chunks=(2, 2), zarr_format=version, attributes={"a": 1.5})
        (variable,) = swath_zarr.contents(path).variables.values()
        assert (variable.name, variable.shape, variable.chunks) == ("", (3, 4), (2, 2))
        assert variable.attributes["a"] == 1.5
        assert swath_zarr.contents(path).groups[""].attributes == {}


def test_numbers_of_attributes_stay_what_json_has(tmp_path: Path) -> None:
    stored = {"i": 1, "f": 1.0, "one": [5], "both": [1, 2.5], "large": [2**64], "flags": [True, 1], "deep": [[1], [2]]}
    root = zarr.open_group(str(tmp_path), mode="w", attributes={**stored, "_ncproperties": "x"})
    root.create_array("a", shape=(1,), dtype="f4")
    found = swath_zarr.contents(str(tmp_path)).groups[""].attributes
    assert (type(found["i"]), type(found["f"])) == (int, float)
    assert (found["one"].tolist(), found["one"].dtype.kind, found["both"].dtype.kind) == ([5], "i", "f")
    assert all((type(found[name]), found[name]) == (list, stored[name]) for name in ("large", "flags", "deep"))
    assert "_ncproperties" not in found, "as in xarray"


def test_formats_of_one_array_have_contents_too(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 3), "<i4"))
    for found in (
        npy.contents(str(tmp_path / "a.npy")),
        raw.contents(str(tmp_path / "a.npy"), (2, 3), "<i4", offset=128),
    ):
        assert list(found.groups) == [""]
        assert [(v.name, v.shape, v.dtype) for v in found.variables.values()] == [("", (2, 3), np.dtype("<i4"))]
    assert npy.contents(str(tmp_path / "a.npy")).format == "npy"


@pytest.mark.parametrize("flavour", ["v2", "v3"])
def test_any_value_in_any_place_of_a_store_is_right_or_an_error_of_the_format(tmp_path: Path, flavour: str) -> None:
    """Try one of the values in each place, also in consolidated metadata."""
    path = str(tmp_path / "a.zarr")
    random = np.random.default_rng(26)
    swath_zarr.start(path, flavour)
    told = changes_in(path)
    swath_zarr.set_attributes(told, "", {"weights": [0.5, 1.5]})
    grows = {"dimensions": ("time", "x"), "unlimited": (True, False)}
    swath_zarr.add(told, new_array("group/t", (0, 3), "<i2", fill=-9, attributes={"units": "K"}, **grows))
    swath_zarr.finish(path)
    for file in [file for file in Path(path).rglob("*") if file.is_file()]:
        whole = json.loads(file.read_text())
        for at in places_in(whole):
            file.write_text(json.dumps(put(whole, at, OTHER_VALUES[random.integers(len(OTHER_VALUES))])))
            with contextlib.suppress(FormatError):
                assert swath_zarr.contents(path).format == "zarr"
            with contextlib.suppress(FormatError, UnsupportedError, ArgumentError):
                assert len(formats.describe(path, "group/t").shape) == 2
        file.write_text(json.dumps(whole))
    assert formats.describe(path, "group/t").unlimited == (True, False)

"""Copies keep what the target can store, and list the rest: in the plan, in the result, and in a comparison."""

from __future__ import annotations

import json
import subprocess
import warnings
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr
from scipy.io import netcdf_file

import swath
from swath.copying import execute
from swath.simulated import run_ranks

ENGINES = {".nc3": "netcdf4", ".nc4": "netcdf4", ".h5": "h5netcdf", ".zarr": "zarr"}
TARGETS: list[tuple[str, str | None]] = [
    ("b.nc3", None),
    ("b.nc4", None),
    ("b.h5", None),
    ("b.zarr", "zarr"),
    ("b.zarr", "zarr:v2"),
]


# ---- Fill values -----------------------------------------------------------------------------------------------------


def packed(path: Path, dtype: str, fill: Any) -> None:
    """Make a classic file whose `_FillValue` is no possible element; netCDF's library only reads such files."""
    with netcdf_file(path, "w", version=2) as file:
        file.createDimension("x", 4)
        v = file.createVariable("v", dtype, ("x",))
        v[:] = [0, 1, 112, 3]
        v.scale_factor = 0.5
        v._attributes["_FillValue"] = fill


@pytest.mark.filterwarnings("ignore:.*_FillValue.*", "ignore:invalid value encountered", "ignore:variable 'v' has")
@pytest.mark.parametrize(("name", "kind"), TARGETS)
@pytest.mark.parametrize(
    ("dtype", "fill"),
    [("i2", np.float64("nan")), ("i2", np.int32(70000)), ("i1", np.int16(368)), ("i2", np.float64(1e20))],
)
def test_a_fill_value_that_is_no_element_makes_no_element_missing(
    tmp_path: Path, dtype: str, fill: Any, name: str, kind: str | None
) -> None:
    packed(tmp_path / "a.nc", dtype, fill)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copied = swath.copy(tmp_path / "a.nc", tmp_path / name, format=kind)
    with (
        xr.open_dataset(tmp_path / "a.nc", engine="netcdf4") as one,
        xr.open_dataset(tmp_path / name, engine=ENGINES[Path(name).suffix]) as other,
    ):
        np.testing.assert_array_equal(one.v.values, other.v.values)
        assert not np.isnan(other.v.values).any()
    found = swath.verify(tmp_path / "a.nc", tmp_path / name)
    if name == "b.zarr":
        assert "v: attribute _FillValue" in copied.left_out[0]
        assert "v: attribute _FillValue: only in the first" in str(found)
    else:
        assert copied.left_out == ()
        assert found
        kept = netCDF4.Dataset(tmp_path / name)["v"]._FillValue if name != "b.h5" else stored(tmp_path / name)
        assert np.asarray(kept).dtype.newbyteorder("=") == fill.dtype
        np.testing.assert_array_equal(np.ravel(kept), [fill])


def stored(path: Path) -> Any:
    with h5py.File(path) as file:
        return file["v"].attrs["_FillValue"]


def test_minus_one_is_no_fill_value_of_unsigned_numbers(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["v"] = np.array([1, 255], "u1")
        file["v"].attrs["_FillValue"] = np.int64(-1)
    with pytest.warns(UserWarning, match="v: attribute _FillValue .*no value of dtype uint8"):
        swath.copy(tmp_path / "a.h5", tmp_path / "b.zarr")
    assert "_FillValue" not in zarr.open_group(tmp_path / "b.zarr", mode="r")["v"].attrs
    swath.copy(tmp_path / "a.h5", tmp_path / "b.h5")
    assert stored(tmp_path / "b.h5") == -1


def test_the_fill_value_of_one_array_that_no_element_can_be_is_kept_or_named(tmp_path: Path) -> None:
    packed(tmp_path / "a.nc", "i2", np.int32(70000))
    with pytest.warns(UserWarning, match="attribute _FillValue .*70000"):
        swath.copy(tmp_path / "a.nc", tmp_path / "b.zarr", variable="v")
    swath.copy(tmp_path / "a.nc", tmp_path / "b.h5", variable="v")
    assert stored(tmp_path / "b.h5") == 70000


# ---- Attributes ------------------------------------------------------------------------------------------------------


def odd(path: Path) -> None:
    """Make attributes and datasets that only HDF5 has."""
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(3)
        file["type"] = np.dtype([("a", "i4")])
        a = file["x"].attrs
        a["structure"] = np.array((1, 2.5), [("a", "i4"), ("b", "f8")])
        a["opaque"] = np.void(b"ab\0c")
        a.create("ragged", np.array([np.arange(2), np.arange(3)], dtype=object), dtype=h5py.vlen_dtype("i4"))
        a["texts"] = np.array([["a", "b"], ["c", "d"]], dtype=h5py.string_dtype())
        a["reference"] = file["x"].ref
        a["region"] = file["x"].regionref[1:]
        a["nothing"] = h5py.Empty("f4")
        a["CLASS"] = "IMAGE"
        a["table"] = np.ones((2, 3), "f4")
        a["fixed"] = np.array([b"a", b"bcd"])
        a.create("named", np.array((7,), [("a", "i4")]), dtype=file["type"])
        file.create_dataset("cloud", data=[0, 1], dtype=h5py.enum_dtype({"clear": 0, "cloudy": 1}, "u1"))
        file["null"] = h5py.Empty("i4")
        file.create_dataset("references", data=np.array([file["x"].ref, file["cloud"].ref], h5py.ref_dtype))
        ragged = file.create_dataset("sequences", (2,), h5py.vlen_dtype("i4"))
        ragged[0], ragged[1] = [1, 2], [3]
        file.create_dataset("arrays", (2,), np.dtype(("f4", (3,))))[:] = np.arange(6).reshape(2, 3)


def test_netcdf4_keeps_types_that_users_define(tmp_path: Path) -> None:
    point = np.dtype([("lat", "f4"), ("lon", "f4")])
    with netCDF4.Dataset(tmp_path / "a.nc4", "w") as file:
        file.createDimension("x", 2)
        kind = file.createCompoundType(point, "point")
        ragged = file.createVLType("i4", "ragged")
        cloud = file.createEnumType("u1", "cloud_t", {"clear": 0, "cloudy": 1})
        file.createVariable("points", kind, ("x",))[:] = np.array([(1, 2), (3, 4)], point)
        file["points"].units = "degrees"
        file.createVariable("cloud", cloud, ("x",))[:] = np.array([1, 0], "u1")
        rows = file.createVariable("rows", ragged, ("x",))
        rows[0], rows[1] = np.array([1, 2], "i4"), np.array([3], "i4")
        file.createVariable("v", "i4", ("x",)).origin = np.array([(5, 6)], point)
    told = str(swath.explain_copy(tmp_path / "a.nc4", tmp_path / "b.nc4"))
    assert "points, as it is, by HDF5's library" in told
    assert swath.copy(tmp_path / "a.nc4", tmp_path / "b.nc4").left_out == ()
    with netCDF4.Dataset(tmp_path / "b.nc4") as file:
        assert list(file.cmptypes) == ["point"]
        assert file.enumtypes["cloud_t"].enum_dict == {"clear": 0, "cloudy": 1}
        assert file["points"].dimensions == file["cloud"].dimensions == file["rows"].dimensions == ("x",)
        assert file["points"][:].tolist() == [(1, 2), (3, 4)]
        assert file["points"].units == "degrees"
        assert file["cloud"][:].tolist() == [1, 0]
        assert [row.tolist() for row in file["rows"][:]] == [[1, 2], [3]]
        assert file["v"].origin.tolist() in ([(5, 6)], (5, 6))
    assert swath.verify(tmp_path / "a.nc4", tmp_path / "b.nc4")


def test_hdf5_keeps_labels_names_of_scales_and_dimensions_without_either(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"], file["t"], file["plain"] = np.arange(3.0), np.ones((2, 3)), np.ones(4)
        file["x"].make_scale("another name")
        file["t"].dims[1].attach_scale(file["x"])
        file["t"].dims[0].label = "row"
        file.create_dataset("grows", (2, 3), "i2", maxshape=(None, 3), fillvalue=7)
        file.create_dataset("letters", (2,), "S3", fillvalue=b"abc")
        file["letters"][0] = b"x"
    swath.copy(tmp_path / "a.h5", tmp_path / "b.h5")
    with h5py.File(tmp_path / "b.h5") as file:
        assert sorted(file) == ["grows", "letters", "plain", "t", "x"]
        assert file["t"].dims[1][0] == file["x"]
        assert len(file["t"].dims[0]) == 0
        assert [dimension.label for dimension in file["t"].dims] == ["row", ""]
        assert file["x"].attrs["NAME"] == b"another name"
        assert file["grows"].maxshape == (None, 3)
        assert (file["grows"].fillvalue, file["letters"].fillvalue) == (7, b"abc")
        assert file["letters"][...].tolist() == [b"x", b"abc"]


ODD = ("structure", "opaque", "ragged", "reference", "region", "named")
ODD_DATASETS = ("null", "references", "sequences", "arrays")


def test_hdf5_keeps_attributes_and_datasets_of_all_its_types(tmp_path: Path) -> None:
    odd(tmp_path / "a.h5")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert swath.copy(tmp_path / "a.h5", tmp_path / "b.h5").left_out == ()
    with h5py.File(tmp_path / "a.h5") as one, h5py.File(tmp_path / "b.h5") as other:
        assert sorted(one) == sorted(other)
        a, b = one["x"].attrs, other["x"].attrs
        assert sorted(a) == sorted(b)
        for name in a:
            assert a.get_id(name).dtype == b.get_id(name).dtype, name
            assert a.get_id(name).shape == b.get_id(name).shape, name
        assert b["structure"] == a["structure"]
        assert b["opaque"].tobytes() == b"ab\0c"
        assert [list(row) for row in b["ragged"]] == [[0, 1], [0, 1, 2]]
        assert b["texts"].tolist() == [["a", "b"], ["c", "d"]]
        assert other[b["reference"]].name == "/x"
        assert other[b["region"]][b["region"]].tolist() == [1, 2]
        assert isinstance(b["nothing"], h5py.Empty)
        assert b.get_id("named").get_type().committed()
        assert h5py.check_enum_dtype(other["cloud"].dtype) == {"clear": 0, "cloudy": 1}
        assert other["null"].shape is None
        assert [other[reference].name for reference in other["references"]] == ["/x", "/cloud"]
        assert [list(row) for row in other["sequences"]] == [[1, 2], [3]]
        np.testing.assert_array_equal(other["arrays"][...], one["arrays"][...])
    assert swath.verify(tmp_path / "a.h5", tmp_path / "b.h5")


@pytest.mark.parametrize("name", ["b.nc4", "b.zarr", "b.nc3"])
def test_what_only_hdf5_has_is_named_before_and_after(tmp_path: Path, name: str) -> None:
    odd(tmp_path / "a.h5")
    source, target = tmp_path / "a.h5", tmp_path / name
    with pytest.raises(swath.ArgumentError, match="nothing was written") as refused:
        swath.copy(source, target)
    assert not target.exists()
    told = {
        "the error": str(refused.value),
        "the plan": str(swath.explain_copy(source, target, skip_unsupported=True)),
        "the result": "\n".join(swath.copy(source, target, skip_unsupported=True).left_out),
        "verify": str(swath.verify(source, target)),
        "verify by library": str(swath.verify(source, target, by_library=True)),
    }
    for where, words in told.items():
        for attribute in ODD:
            assert f"x: attribute {attribute}: " in words, (where, attribute)
        for dataset in ODD_DATASETS:
            assert f"{dataset}: " in words or f": {dataset}" in words, (where, dataset)
    if name != "b.nc4":
        for where in ("the plan", "the result", "verify", "verify by library"):
            assert "cloudy" in told[where], where
    with swath.open_file(target) as made:
        assert set(made) == {"x", "cloud"}


def test_one_array_without_attributes_of_structures_says_so(tmp_path: Path) -> None:
    odd(tmp_path / "a.h5")
    with pytest.warns(UserWarning, match="attribute structure: a structure of a, b"):
        swath.copy(tmp_path / "a.h5", tmp_path / "b.h5", variable="x")


# ---- Links -----------------------------------------------------------------------------------------------------------


def linked(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 3)
        file.createVariable("a", "f4", ("x",))[:] = [1, 2, 3]
    with h5py.File(path, "r+") as file:
        file["a_hard"] = file["a"]
        file["a_soft"] = h5py.SoftLink("/a")


@pytest.mark.parametrize(("name", "kind"), TARGETS)
def test_links_to_variables_are_copied(tmp_path: Path, name: str, kind: str | None) -> None:
    linked(tmp_path / "a.nc4")
    with swath.open_file(tmp_path / "a.nc4") as file, netCDF4.Dataset(tmp_path / "a.nc4") as theirs:
        assert sorted(file) == sorted(theirs.variables) == ["a", "a_hard", "a_soft"]
    assert swath.copy(tmp_path / "a.nc4", tmp_path / name, format=kind).left_out == ()
    with xr.open_dataset(tmp_path / name, engine=ENGINES[Path(name).suffix]) as copied:
        for one in ("a", "a_hard", "a_soft"):
            assert copied[one].values.tolist() == [1, 2, 3]
            assert copied[one].dims == ("x",)
    assert swath.verify(tmp_path / "a.nc4", tmp_path / name)
    if name in ("b.nc4", "b.h5"):
        with h5py.File(tmp_path / name) as file:
            assert file["a_hard"] == file["a"]
            assert file.get("a_soft", getlink=True).path == "/a"


def test_links_elsewhere_are_kept_in_hdf5_and_named_for_others(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["g/v"] = np.arange(3)
        file["again"] = h5py.SoftLink("/g")
        file["g/up"] = file["/"]
        file["nowhere"] = h5py.SoftLink("/nothing")
        file["outside"] = h5py.ExternalLink("other.h5", "/z")
    swath.copy(tmp_path / "a.h5", tmp_path / "b.h5")
    with h5py.File(tmp_path / "b.h5") as file:
        assert file.get("again", getlink=True).path == "/g"
        assert file["g/up"] == file["/"]
        assert file.get("nowhere", getlink=True).path == "/nothing"
        assert file.get("outside", getlink=True).filename == "other.h5"
    with pytest.raises(swath.ArgumentError) as refused:
        swath.copy(tmp_path / "a.h5", tmp_path / "b.zarr")
    left_out = swath.copy(tmp_path / "a.h5", tmp_path / "b.zarr", skip_unsupported=True).left_out
    verified = str(swath.verify(tmp_path / "a.h5", tmp_path / "b.zarr", by_library=True))
    for name in ("again", "g/up", "nowhere", "outside"):
        for words in (str(refused.value), "\n".join(left_out), verified):
            assert f"{name}" in words


@pytest.mark.parametrize("suffix", ["h5", "nc4", "nc3", "zarr"])
def test_labels_that_cannot_be_names_of_dimensions_are_kept_or_named(tmp_path: Path, suffix: str) -> None:
    """One label of two lengths, and one that is the name of a dimension of another length."""
    source, target = tmp_path / "a.h5", tmp_path / f"b.{suffix}"
    with h5py.File(source, "w") as file:
        file["x"] = np.arange(2)
        file["x"].make_scale("x")
        for name in ("twice", "other"):
            file[name] = np.zeros((2, 3))
            file[name].dims[1].label = "x" if name == "other" else "row"
        file["twice"].dims[0].label = "row"
        file["other"].dims[0].attach_scale(file["x"])
    left_out = swath.copy(source, target).left_out
    with swath.open_file(target) as copied:
        found = {name: copied.contents.variables[name].dimensions for name in ("twice", "other")}
    if suffix == "h5":
        assert found == {"twice": ("row", "row"), "other": ("x", "x")}
        assert left_out == ()
        return
    assert [one[0] for one in found.values()] == ["row", "x"]
    assert not {"row", "x"} & {one[1] for one in found.values()}
    for name, label in (("twice", "row"), ("other", "x")):
        assert f"{name}: label {label} of a dimension: another of that name has another length" in left_out


def test_a_link_from_where_dimensions_are_not_seen_is_left_out_of_netcdf4(tmp_path: Path) -> None:
    """netCDF's library did not open the copy."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["g/v"] = np.zeros((2, 3))
        file["g/v"].dims[1].label = "column"
        file["from outside"], file["g/beside it"] = h5py.SoftLink("/g/v"), h5py.SoftLink("/g/v")
    left_out = swath.copy(tmp_path / "a.h5", tmp_path / "b.nc4").left_out
    assert left_out == ("from outside: a link to g/v, whose dimensions are not seen from the link's group",)
    with netCDF4.Dataset(tmp_path / "b.nc4") as file:
        assert list(file.variables) == []
        assert set(file["g"].variables) == {"v", "beside it"}


def test_references_to_what_a_copy_leaves_out_are_named(tmp_path: Path) -> None:
    source, target = tmp_path / "a.h5", tmp_path / "b.h5"
    pair = np.dtype([("number", "i4"), ("to", h5py.ref_dtype)])
    with h5py.File(source, "w") as file:
        file["g/gone"], file["kept"] = np.arange(3), np.arange(3)
        gone, kept = file["g/gone"].ref, file["kept"].ref
        file.attrs["one"] = gone
        file.attrs["fine"] = kept
        file["kept"].attrs["several"] = np.array([kept, gone, None], h5py.ref_dtype)
        file["kept"].attrs.create("structure", np.array((1, gone), pair), dtype=pair)
        file["kept"].attrs["region"] = file["g/gone"].regionref[0:2]
        file["elements"] = np.array([gone, kept], h5py.ref_dtype)
        file["all there"] = np.array([kept], h5py.ref_dtype)
    lost = "references to g/gone, which the copy has not: they become null"
    expected = ["attribute one", "kept: attribute several", "kept: attribute structure", "kept: attribute region"]
    for how in ({"exclude": ["g/gone"]}, {"exclude": ["g"]}):
        explained = swath.explain_copy(source, target, overwrite=True, **how).left_out
        with pytest.warns(UserWarning, match="kept: attribute several: references to g/gone"):
            copied = swath.copy(source, target, overwrite=True, **how)
        assert sorted(copied.left_out) == sorted(explained) == sorted(f"{x}: {lost}" for x in [*expected, "elements"])
        with h5py.File(target) as file:
            assert not file.attrs["one"]
            assert file[file["all there"][0]] == file["kept"]
    assert swath.copy(source, target, overwrite=True).left_out == ()
    with h5py.File(target) as file:
        assert file[file.attrs["one"]] == file["g/gone"]


# ---- Text of variable length -----------------------------------------------------------------------------------------

TEXTS = ["0001", "0005", "größe", ""]


def with_texts(path: Path) -> None:
    """Make texts like those in ERA5's files, and texts of two dimensions and of none."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 3)
        file.createVariable("expver", str, ("time",))[:] = np.array(TEXTS, object)
        file["expver"].long_name = "version"
        file.createVariable("one", str, ())[...] = "a single one"
        file.createVariable("grid", str, ("time", "x"))[:] = np.array([["a", "bb", "ccc"]] * 4, object)
        file.createVariable("t", "f4", ("time", "x"), compression="zlib")[:] = np.arange(12.0).reshape(4, 3)


def as_text(values: Any) -> list[Any]:
    array = np.asarray(values)
    array = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array.astype(object)
    return array.tolist()


@pytest.mark.parametrize(("name", "kind"), TARGETS)
def test_text_of_variable_length_is_copied_into_every_format(tmp_path: Path, name: str, kind: str | None) -> None:
    with_texts(tmp_path / "a.nc4")
    copied = swath.copy(tmp_path / "a.nc4", tmp_path / name, format=kind)
    assert copied.left_out == ()
    assert "expver, text of variable length" in str(swath.explain_copy(tmp_path / "a.nc4", tmp_path / "x.zarr"))
    with xr.open_dataset(tmp_path / name, engine=ENGINES[Path(name).suffix]) as found:
        assert as_text(found["expver"].values) == TEXTS
        assert found["expver"].dims == ("time",)
        assert found["expver"].attrs == {"long_name": "version"}
        assert as_text(found["one"].values) == "a single one"
        assert as_text(found["grid"].values) == [["a", "bb", "ccc"]] * 4
    assert swath.verify(tmp_path / "a.nc4", tmp_path / name)
    if name == "b.nc4":
        with netCDF4.Dataset(tmp_path / name) as file:
            assert file["expver"].dtype is str
    if name == "b.zarr":
        root = zarr.open_group(tmp_path / name, mode="r", use_consolidated=False)
        assert np.asarray(root["expver"][...]).tolist() == TEXTS
    swath.copy(tmp_path / name, tmp_path / "back.nc4")
    assert swath.verify(tmp_path / "a.nc4", tmp_path / "back.nc4")


def test_text_in_many_chunks_is_the_same_text(tmp_path: Path) -> None:
    texts = np.array([f"{n}" * (n % 7) for n in range(7 * 11)], object).reshape(7, 11)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("v", data=texts, dtype=h5py.string_dtype(), chunks=(2, 3))
        file["w"] = 1
    for kind in ("zarr", "zarr:v2"):
        swath.copy(tmp_path / "a.h5", tmp_path / "b.zarr", format=kind, overwrite=True)
        made = zarr.open_group(tmp_path / "b.zarr", mode="r")["v"]
        assert made.chunks == (2, 3)
        assert np.asarray(made[...]).tolist() == texts.tolist()


def test_one_array_of_text_is_copied(tmp_path: Path) -> None:
    with_texts(tmp_path / "a.nc4")
    swath.copy(tmp_path / "a.nc4", tmp_path / "b.zarr", variable="expver", target_variable="version")
    assert np.asarray(zarr.open_group(tmp_path / "b.zarr", mode="r")["version"][...]).tolist() == TEXTS
    assert swath.verify(tmp_path / "a.nc4", tmp_path / "b.zarr", variable="expver", other_variable="version")
    with pytest.raises(swath.UnsupportedError, match="text of variable length, which is copied into netCDF, HDF5"):
        swath.copy(tmp_path / "a.nc4", tmp_path / "b.npy", variable="expver")


@pytest.mark.parametrize("name", ["b.nc4", "b.h5", "b.zarr"])
@pytest.mark.parametrize("variable", [["expver", "grid"], "expver"], ids=str)
def test_text_of_variable_length_is_added_to_a_file_that_exists(tmp_path: Path, name: str, variable: Any) -> None:
    with_texts(tmp_path / "a.nc4")
    swath.copy(tmp_path / "a.nc4", tmp_path / name, variable=["t", "one"])
    swath.copy(tmp_path / "a.nc4", tmp_path / name, variable=variable)
    names = [variable] if isinstance(variable, str) else variable
    with swath.open_file(tmp_path / "a.nc4") as source, swath.open_file(tmp_path / name) as added:
        assert sorted(added) == sorted(["one", "t", *names])
        for one in added:
            assert as_text(added[one][...]) == as_text(source[one][...])


def test_a_text_that_differs_is_found(tmp_path: Path) -> None:
    with_texts(tmp_path / "a.nc4")
    swath.copy(tmp_path / "a.nc4", tmp_path / "b.nc4")
    with netCDF4.Dataset(tmp_path / "b.nc4", "a") as file:
        file["expver"][1] = "0009"
    for by_library in (False, True):
        found = swath.verify(tmp_path / "a.nc4", tmp_path / "b.nc4", by_library=by_library).variables["expver"]
        assert (found.differing, found.first_index, found.first_values) == (1, (1,), ("0005", "0009"))


def test_text_with_zero_bytes_goes_into_zarr_only(tmp_path: Path) -> None:
    root = zarr.open_group(tmp_path / "a.zarr", mode="w")
    root.create_array("v", shape=(2,), dtype=str)[:] = np.array(["a\0b", "c"])
    with pytest.raises(swath.ArgumentError, match="v: texts with zero bytes"):
        swath.copy(tmp_path / "a.zarr", tmp_path / "b.nc4")
    swath.copy(tmp_path / "a.zarr", tmp_path / "b.zarr")
    assert zarr.open_group(tmp_path / "b.zarr", mode="r")["v"][...].tolist() == ["a\0b", "c"]


# ---- What is left out ------------------------------------------------------------------------------------------------


def test_what_is_excluded_is_not_copied(tmp_path: Path) -> None:
    linked(tmp_path / "a.nc4")
    with netCDF4.Dataset(tmp_path / "a.nc4", "a") as file:
        file.createGroup("deep").createVariable("v", "i4", ("x",))[:] = 1
    swath.copy(tmp_path / "a.nc4", tmp_path / "b.nc4", exclude=["a", "deep"])
    with netCDF4.Dataset(tmp_path / "b.nc4") as file:
        assert sorted(file.variables) == ["a_hard", "a_soft"]
        assert file["a_hard"][:].tolist() == [1, 2, 3]
        assert list(file.groups) == []
    with pytest.raises(swath.ArgumentError, match="exclude='b': the file has nothing of that name; it has a, "):
        swath.copy(tmp_path / "a.nc4", tmp_path / "c.nc4", exclude=["b"])
    with pytest.raises(swath.ArgumentError, match="expected a list of names"):
        swath.copy(tmp_path / "a.nc4", tmp_path / "c.nc4", exclude="a")


def test_the_command_excludes_skips_and_says_what_it_left_out(tmp_path: Path) -> None:
    odd(tmp_path / "a.h5")

    def swath_command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["swath", *arguments], capture_output=True, text=True, cwd=tmp_path, check=False)

    ended = swath_command("copy", "a.h5", "b.zarr")
    assert ended.returncode == 2
    assert "--skip-unsupported" in ended.stderr
    ended = swath_command("copy", "a.h5", "b.zarr", "--skip-unsupported", "--exclude", "cloud")
    assert ended.returncode == 0
    assert "left out: x: attribute structure: a structure of a, b" in ended.stdout
    ended = swath_command("verify", "a.h5", "b.zarr", "--by-library", "--json")
    assert ended.returncode == 1
    told = json.loads(ended.stdout)
    assert "only in the first: cloud" in told["differences"]
    assert [name.split()[0] for name in told["libraries"]] == ["h5py", "zarr"]


# ---- Ranks, and copies that go on ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["b.nc4", "b.zarr"])
def test_an_interrupted_copy_with_text_goes_on_to_the_same(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_texts(tmp_path / "a.nc4")
    with netCDF4.Dataset(tmp_path / "a.nc4", "a") as file:
        file.createDimension("y", 300_000)
        file.createVariable("large", "f8", ("y",))[:] = np.arange(300_000)

    def fails(*_: Any) -> float:
        raise swath.StoreError("No space left on device", 28)

    monkeypatch.setattr(execute, "_copy_large", fails)
    with pytest.raises(swath.StoreError, match="what is done is kept"):
        swath.copy(tmp_path / "a.nc4", tmp_path / name, exclude=["one"])
    monkeypatch.undo()
    with pytest.raises(swath.ArgumentError, match="the interrupted copy was another one"):
        swath.copy(tmp_path / "a.nc4", tmp_path / name, resume=True)
    assert swath.copy(tmp_path / "a.nc4", tmp_path / name, resume=True, exclude=["one"]).resumed_bytes > 0
    found = swath.verify(tmp_path / "a.nc4", tmp_path / name, by_library=True)
    assert found.differences == ("only in the first: one",)
    assert all(found.variables.values())


def test_ranks_copy_and_verify_text_together(tmp_path: Path) -> None:
    with_texts(tmp_path / "a.nc4")
    for copied in run_ranks(
        3, lambda comm: swath.copy(tmp_path / "a.nc4", tmp_path / "b.zarr", comm=comm, skip_unsupported=True)
    ):
        assert copied.left_out == ()
    for by_library in (False, True):
        how = {"by_library": by_library}
        assert all(
            run_ranks(3, lambda comm, how=how: swath.verify(tmp_path / "a.nc4", tmp_path / "b.zarr", comm=comm, **how))
        )
    with pytest.raises(swath.DisagreementError, match="exclude"):
        run_ranks(
            2,
            lambda comm: swath.copy(
                tmp_path / "a.nc4", tmp_path / "c.zarr", comm=comm, exclude=["one"] if comm.rank else ["grid"]
            ),
        )

"""`swath.verify(by_library=True)` finds what Swath's own reader cannot, and raises no false alarms."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import zarr

import swath
from swath import formats
from swath.simulated import run_ranks


def two_variables(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 30)
        file.title = "two"
        v = file.createVariable("v", "i2", ("time", "x"), fill_value=-9, compression="zlib", chunksizes=(4, 7))
        v[:] = np.arange(300).reshape(10, 30)
        v.units = "K"
        file.createVariable("w", "f8", ("x",))[:] = np.arange(30)


def test_libraries_compare_values_in_boxes_that_ranks_share(tmp_path: Path) -> None:
    two_variables(tmp_path / "a.nc4")
    swath.copy(tmp_path / "a.nc4", tmp_path / "b.zarr")
    for ranks in (1, 3):
        found = run_ranks(
            ranks,
            lambda comm: swath.verify(
                tmp_path / "a.nc4", tmp_path / "b.zarr", comm=comm, memory=1000 * comm.size, by_library=True
            ),
        )
        assert all(found)
        assert {one.variables["v"].elements for one in found} == {300}
    root = zarr.open_group(tmp_path / "b.zarr", mode="r+", use_consolidated=False)
    root["v"][7, 20] = -3
    root["v"][9, 1] = -3
    for one in run_ranks(
        2, lambda comm: swath.verify(tmp_path / "a.nc4", tmp_path / "b.zarr", comm=comm, memory=1500, by_library=True)
    ):
        v = one.variables["v"]
        assert (v.differing, v.first_index, v.first_values) == (2, (7, 20), (230, -3))


def test_no_part_of_swath_reads_a_file_that_libraries_verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two_variables(tmp_path / "a.nc4")
    swath.copy(tmp_path / "a.nc4", tmp_path / "b.h5")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Swath's own reader was asked")

    for name in ("describe", "contents", "contents_of_many", "describe_many", "library_read"):
        monkeypatch.setattr(formats, name, refuse)
    assert swath.verify(tmp_path / "a.nc4", tmp_path / "b.h5", by_library=True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v.attrs.__setitem__("_FillValue", np.int16(-8)), "v: attribute _FillValue: "),
        (lambda v: v.attrs.__delitem__("_FillValue"), "v: attribute _FillValue: "),
        (lambda v: v.attrs.__setitem__("units", "C"), "v: attribute units: 'K' and 'C'"),
        (lambda v: v.attrs.__setitem__("odd", np.void(b"ab")), "v: attribute odd: only in the second"),
        (lambda v: v.file.__setitem__("again", h5py.SoftLink("/v")), "again"),
        (lambda v: v.file.__setitem__("type", np.dtype([("a", "i4")])), "only in the second: type type"),
        (lambda v: v.file.attrs.__setitem__("title", "one"), "attribute title: 'two' and 'one'"),
        (lambda v: v.attrs.__setitem__("number", np.int32(1)), "v: attribute number: only in the second"),
    ],
)
def test_libraries_tell_of_changed_metadata(tmp_path: Path, change: object, words: str) -> None:
    two_variables(tmp_path / "a.nc4")
    swath.copy(tmp_path / "a.nc4", tmp_path / "b.h5")
    with h5py.File(tmp_path / "b.h5", "r+") as file:
        change(file["v"])  # type: ignore[operator]
    found = swath.verify(tmp_path / "a.nc4", tmp_path / "b.h5", by_library=True)
    assert not found
    assert words in str(found)
    json.dumps(found.to_dict(), default=str)


def test_libraries_tell_types_of_attributes_apart(tmp_path: Path) -> None:
    for name, value in (("a.nc4", np.int16(3)), ("b.nc4", np.float64(3))):
        with netCDF4.Dataset(tmp_path / name, "w") as file:
            file.createVariable("v", "i2", ()).level = value
    assert swath.verify(tmp_path / "a.nc4", tmp_path / "b.nc4")
    found = swath.verify(tmp_path / "a.nc4", tmp_path / "b.nc4", by_library=True)
    assert "v: attribute level: of type int16 and float64" in str(found)


def test_metadata_of_the_nodes_count_and_not_their_copies(tmp_path: Path) -> None:
    two_variables(tmp_path / "a.nc4")
    swath.copy(tmp_path / "a.nc4", tmp_path / "b.zarr")
    path = tmp_path / "b.zarr" / "v" / "zarr.json"
    metadata = json.loads(path.read_text())
    metadata["attributes"]["units"] = "C"
    path.write_text(json.dumps(metadata))
    assert "v: attribute units: 'K' and 'C'" in str(swath.verify(tmp_path / "a.nc4", tmp_path / "b.zarr"))
    found = swath.verify(tmp_path / "a.nc4", tmp_path / "b.zarr", by_library=True)
    assert "v: attribute units: 'K' and 'C'" in found.differences
    assert any("consolidated metadata say of v what its own do not" in words for words in found.differences)


@pytest.mark.parametrize("by_library", [False, True])
def test_right_copies_raise_no_alarm(tmp_path: Path, by_library: bool) -> None:
    with h5py.File(tmp_path / "texts.h5", "w") as file:
        file["s"] = np.array([b"ab", b"cde"], "S3")
    with netCDF4.Dataset(tmp_path / "none.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.title = "no variables"
    with h5py.File(tmp_path / "books.h5", "w") as file:
        file.attrs["_ncfoo"] = "the user's"
        file["v"] = 1
        file["v"].attrs["_nc_bar"] = 2
    for source, target in (
        ("texts.h5", "b.nc4"),
        ("texts.h5", "b.nc"),
        ("texts.h5", "b.zarr"),
        ("none.nc", "c.nc"),
        ("none.nc", "c.zarr"),
        ("books.h5", "d.zarr"),
        ("books.h5", "d.nc4"),
    ):
        swath.copy(tmp_path / source, tmp_path / target)
        found = swath.verify(tmp_path / source, tmp_path / target, by_library=by_library)
        assert found, (source, target, str(found))


def test_characters_that_are_compressed_are_compared_with_texts(tmp_path: Path) -> None:
    texts = np.array([b"ab", b"cde"], "S3")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["s"] = texts
    with netCDF4.Dataset(tmp_path / "b.nc4", "w") as file:
        file.createDimension("dim0", 2)
        file.createDimension("string3", 3)
        s = file.createVariable("s", "S1", ("dim0", "string3"), compression="zlib", chunksizes=(2, 2))
        s[:] = texts.view("S1").reshape(2, 3)
    assert swath.verify(tmp_path / "a.h5", tmp_path / "b.nc4")


def test_single_variables_are_compared_with_their_attributes(tmp_path: Path) -> None:
    for name, units in (("a.nc4", "K"), ("b.nc4", "C")):
        with netCDF4.Dataset(tmp_path / name, "w") as file:
            file.createVariable("v", "i2", ()).units = units
    assert "attribute units: 'K' and 'C'" in str(swath.verify(tmp_path / "a.nc4", tmp_path / "b.nc4"))


def test_one_variable_is_compared_by_its_libraries(tmp_path: Path) -> None:
    two_variables(tmp_path / "a.nc4")
    swath.copy(tmp_path / "a.nc4", tmp_path / "b.npy", variable="v", axes=(1, 0))
    how = {"variable": "v", "axes": (1, 0), "by_library": True}
    assert swath.verify(tmp_path / "a.nc4", tmp_path / "b.npy", **how)
    values = np.load(tmp_path / "b.npy")
    values[4, 2] = 0
    np.save(tmp_path / "b.npy", values)
    found = swath.verify(tmp_path / "a.nc4", tmp_path / "b.npy", **how)
    assert (found.differing, found.first_index) == (1, (4, 2))


def test_what_no_library_reads_is_refused(tmp_path: Path) -> None:
    two_variables(tmp_path / "a.nc4")
    (tmp_path / "b.bin").write_bytes(bytes(100))
    with pytest.raises(swath.FormatError, match="no known format"):
        swath.verify(tmp_path / "a.nc4", tmp_path / "b.bin", by_library=True)
    with (
        swath.open(tmp_path / "a.nc4", "v") as array,
        pytest.raises(swath.ArgumentError, match="a library reads a file: give its path"),
    ):
        swath.verify(array, tmp_path / "a.nc4", by_library=True)
    (tmp_path / "c.nc4").write_bytes((tmp_path / "a.nc4").read_bytes()[:2000])
    with pytest.raises(swath.FormatError, match=r"c\.nc4: h5py cannot read it"):
        swath.verify(tmp_path / "a.nc4", tmp_path / "c.nc4", by_library=True)


@pytest.mark.parametrize("kind", ["of a dataset", "of a region", "in an attribute", "in a structure", "of structures"])
def test_two_names_of_one_object_are_one_reference(tmp_path: Path, kind: str) -> None:
    """For an object with several names, HDF5 returns the name that it finds first."""
    for name, names in (("a.h5", ("one", "g/two")), ("b.h5", ("g/two", "one")), ("c.h5", ("one", "g/two"))):
        with h5py.File(tmp_path / name, "w", libver="latest") as file:  # whose links are in the order of their making
            file[names[0]] = np.arange(4)
            file[names[1]] = file[names[0]]
            file["other"] = np.arange(4)
            to = file["other"] if name == "c.h5" else file[names[0]]
            references = np.array([to.regionref[1:3] if kind == "of a region" else to.ref], object)
            dtype = h5py.regionref_dtype if kind == "of a region" else h5py.ref_dtype
            if kind == "in an attribute":
                file.attrs.create("v", references, dtype=dtype)
            elif kind == "in a structure":
                file.attrs.create("v", np.array([(1, to.ref)], [("a", "i4"), ("b", dtype)]))
            elif kind == "of structures":
                file["v"] = np.array([(1, to.ref)], [("a", "i4"), ("b", dtype)])
            else:
                file.create_dataset("v", data=references, dtype=dtype)
    same = swath.verify(tmp_path / "a.h5", tmp_path / "b.h5", by_library=True)
    # What is a link to what differs in these files; of references nothing does.
    assert not [words for words in same.differences if "hard link" not in words], str(same)
    assert all(same.variables.values())
    assert "a reference to /" in str(swath.verify(tmp_path / "a.h5", tmp_path / "c.h5", by_library=True))


def test_a_copy_that_netcdf4_cannot_read_is_told(tmp_path: Path) -> None:
    """netCDF's library cannot read a variable that has an attribute of two dimensions."""
    two_variables(tmp_path / "a.nc4")
    swath.copy(tmp_path / "a.nc4", tmp_path / "b.nc4")
    with h5py.File(tmp_path / "b.nc4", "r+") as file:
        file["v"].attrs["table"] = np.ones((2, 2))
    found = swath.verify(tmp_path / "a.nc4", tmp_path / "b.nc4", by_library=True)
    assert any("netCDF4 cannot read it" in words for words in found.differences)
    assert any("v: attribute table: only in the second" in words for words in found.differences)

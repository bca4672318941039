"""Damaged and unusual files, opened by xarray: an error that names the file and the problem, or a data set; never a
random exception."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from xarray_cases import xr

h5py = pytest.importorskip("h5py")
pytest.importorskip("dask")

from swath.xarray import SwathBackendEntrypoint as Engine  # noqa: E402

VECTOR = [1.0, 2.0]
WRONG: list[tuple[str, Any, str]] = [
    ("scale_factor", VECTOR, "scale_factor = .* cannot be used; expected one finite number"),
    ("scale_factor", "text", "scale_factor = 'text' cannot be used; expected one finite number"),
    ("scale_factor", [], "scale_factor = .* cannot be used"),
    ("add_offset", VECTOR, "add_offset = .* cannot be used; expected one finite number"),
    ("add_offset", "text", "add_offset = 'text' cannot be used"),
    ("add_offset", float("nan"), "add_offset = .*nan.* cannot be used; expected one finite number"),
    ("scale_factor", float("inf"), "scale_factor = .*inf.* cannot be used"),
    ("_Unsigned", [1, 2], '_Unsigned = .* cannot be used; expected the text "true" or "false"'),
    ("_Encoding", "nonsense", "_Encoding = 'nonsense' cannot be used"),
    ("coordinates", 5, "coordinates = .*5.* cannot be used; expected names of variables"),
    ("units", "days since never", "xarray cannot decode variable v: unable to decode time units 'days since never'"),
    ("units", "hours since", "xarray cannot decode variable v: unable to decode time units 'hours since'"),
    ("calendar", "nonsense", "xarray cannot decode variable v: .*calendar 'nonsense'"),
    ("calendar", 5, "xarray cannot decode variable v: .*calendar"),
]
HARMLESS: list[tuple[str, Any]] = [
    ("_FillValue", "text"),
    ("missing_value", "text"),
    ("missing_value", [1, 2]),
    ("valid_range", "text"),
    ("valid_range", [1.5]),
    ("valid_min", [1, 2]),
    ("units", 5),
    ("units", [1, 2]),
    ("coordinates", "nothing here"),
    ("grid_mapping", 5),
    ("bounds", "gone"),
    ("dtype", "nonsense"),
    ("CLASS", 5),
    ("NAME", "This is a netCDF dimension but not a netCDF variable"),
    ("DIMENSION_LIST", "text"),
    ("DIMENSION_LIST", [1, 2]),
    ("DIMENSION_LABELS", 5),
    ("REFERENCE_LIST", 5),
    ("_Netcdf4Dimid", "text"),
    ("_Netcdf4Coordinates", [99]),
]


def in_hdf5(path: Path, attributes: dict[str, Any]) -> Path:
    with h5py.File(path / "a.h5", "w") as file:
        file["v"] = np.array([1, 2, 3], "i2")
        file["other"] = np.arange(4)
        file["v"].attrs.update(attributes)
    return path / "a.h5"


def in_classic(path: Path, attributes: dict[str, Any]) -> Path:
    scipy_io = pytest.importorskip("scipy.io")
    with scipy_io.netcdf_file(path / "a.nc", "w") as file:
        file.createDimension("x", 3)
        file.createVariable("v", "i2", ("x",))[:] = [1, 2, 3]
        file.createVariable("other", "i2", ("x",))[:] = [1, 2, 3]
        for name, value in attributes.items():
            stored = np.asarray(value, "i4") if np.asarray(value).dtype.kind == "i" else value
            setattr(file.variables["v"], name, np.asarray(stored, "f8") if isinstance(value, list) else stored)
    return path / "a.nc"


def in_zarr(path: Path, attributes: dict[str, Any]) -> Path:
    for name in ("v", "other"):
        with swath.create(path / f"{name}.zarr", (3,), "i2", dimensions=("x",)) as a:
            a[...] = [1, 2, 3]
    store = path / "a.zarr"
    store.mkdir()
    (store / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    for name in ("v", "other"):
        with swath.open_file(path / f"{name}.zarr") as file:
            inside = next(iter(file))
        os.rename(path / f"{name}.zarr" / inside, store / name)
    metadata = json.loads((store / "v" / "zarr.json").read_text())
    metadata["attributes"] = attributes
    (store / "v" / "zarr.json").write_text(json.dumps(metadata))
    return store


MAKERS: dict[str, Callable[[Path, dict[str, Any]], Path]] = {"hdf5": in_hdf5, "classic": in_classic, "zarr": in_zarr}


def with_units(name: str, value: Any) -> dict[str, Any]:
    return {"units": "days since 2000-01-01", name: value} if name == "calendar" else {name: value}


@pytest.mark.parametrize("kind", MAKERS)
def test_an_attribute_that_cannot_be_decoded_is_an_error_that_names_it_and_its_variable(
    tmp_path: Path, kind: str
) -> None:
    for number, (name, value, message) in enumerate(WRONG):
        if kind == "classic" and value == []:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        path = MAKERS[kind](folder, with_units(name, value))
        for opened in (xr.open_dataset, xr.open_datatree):
            with pytest.raises(swath.FormatError, match=message) as raised:
                opened(path, engine=Engine)
            assert str(raised.value).startswith(f"{path}: ")
            assert "variable v" in str(raised.value)
        with xr.open_dataset(path, engine=Engine, decode_cf=False) as found:
            assert found.v.values.tolist() == [1, 2, 3]
        with xr.open_dataset(path, engine=Engine, drop_variables="v") as found:
            assert list(found) == ["other"]


def test_text_that_is_to_be_scaled_and_numbers_for_names_are_errors_that_name_the_variable(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["v"] = np.array(["a", "b"], h5py.string_dtype())
        file["v"].attrs["add_offset"] = 2.0
    with pytest.raises(swath.FormatError, match="variable v has add_offset, and its elements are no numbers"):
        xr.open_dataset(tmp_path / "a.h5", engine=Engine)
    with xr.open_dataset(tmp_path / "a.h5", engine=Engine, mask_and_scale=False) as found:
        assert found.v.values.tolist() == ["a", "b"]
    for name in ("grid_mapping", "bounds", "cell_measures"):
        path = in_hdf5(tmp_path, {name: [1, 2]})
        xr.open_dataset(path, engine=Engine).close()
        with pytest.raises(swath.FormatError, match=f"variable v: {name} = .* cannot be used"):
            xr.open_dataset(path, engine=Engine, decode_coords="all")


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.filterwarnings("ignore")
def test_an_attribute_of_another_type_hinders_nobody(tmp_path: Path, kind: str) -> None:
    for number, (name, value) in enumerate(HARMLESS):
        folder = tmp_path / str(number)
        folder.mkdir()
        if name == "_FillValue" and kind != "hdf5":
            continue  # which the makers of these cannot store
        path = MAKERS[kind](folder, {name: value})
        with xr.open_dataset(path, engine=Engine) as found:
            assert found.v.shape == (3,), name
            assert found.v.load() is not None
        with swath.open(path, "v", decode=True) as a:
            assert a[...].shape == (3,)
        with swath.open_file(path) as file:
            assert set(file) == {"v", "other"}


def nested_hdf5(path: Path, depth: int) -> Path:
    with h5py.File(path / "a.h5", "w") as file:
        group = file
        for _ in range(depth):
            group = group.create_group("g")
        group["v"] = np.arange(3)
        file["top"] = np.arange(2)
    return path / "a.h5"


def nested_zarr(path: Path, depth: int) -> Path:
    store = path / "a.zarr"
    store.mkdir()
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    below = {"/".join(["g"] * count): group for count in range(1, depth + 1)}
    kept = {"kind": "inline", "must_understand": False, "metadata": below}
    (store / "zarr.json").write_text(json.dumps({**group, "consolidated_metadata": kept}))
    return store


@pytest.mark.parametrize("make", [nested_hdf5, nested_zarr])
def test_1500_nested_groups_are_data_sets(tmp_path: Path, make: Callable[[Path, int], Path]) -> None:
    path = make(tmp_path, 1500)
    with xr.open_dataset(path, engine=Engine) as found:
        assert list(found) == (["top"] if make is nested_hdf5 else [])
    with xr.open_dataset(path, engine=Engine, group="/".join(["g"] * 1500)) as found:
        assert list(found) == (["v"] if make is nested_hdf5 else [])


@pytest.mark.not_by_library("zarr reads no groups so deep")
def test_a_store_of_1010_folders_in_folders_is_copied(tmp_path: Path) -> None:
    folder = tmp_path / "a.zarr"
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1010):
        metadata = os.open("zarr.json", os.O_WRONLY | os.O_CREAT, dir_fd=here)
        os.write(metadata, b'{"zarr_format": 3, "node_type": "group", "attributes": {}}')
        os.close(metadata)
        os.mkdir("g", dir_fd=here)
        inside = os.open("g", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inside
    os.close(here)
    try:
        swath.copy(folder, tmp_path / "b.h5")
        with h5py.File(tmp_path / "b.h5") as file:
            assert "/".join(["g"] * 1009) in file
    finally:
        subprocess.run(["rm", "-r", folder], check=True)  # which pytest could not


@pytest.mark.parametrize("make", [nested_hdf5, nested_zarr])
@pytest.mark.not_by_library("zarr finds no groups without metadata")
def test_nested_groups_are_a_tree_and_are_copied(tmp_path: Path, make: Callable[[Path, int], Path]) -> None:
    depth = int(os.environ.get("SWATH_NESTED_GROUPS", "200"))
    path = make(tmp_path, depth)
    with xr.open_datatree(path, engine=Engine) as tree:
        assert len(list(tree.subtree)) == depth + 1
    swath.copy(path, tmp_path / ("b.zarr" if make is nested_hdf5 else "b.h5"))


def test_links_in_circles_and_to_nowhere_are_no_endless_loops(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["loop"] = h5py.SoftLink("/loop")
        file["one"], file["two"] = h5py.SoftLink("/two"), h5py.SoftLink("/one")
        file["gone"] = h5py.SoftLink("/nowhere")
        file["outside"] = h5py.ExternalLink("no.h5", "/x")
        file["itself"] = h5py.ExternalLink("a.h5", "/itself")
        group = file.create_group("g")
        group["up"], group["again"] = file["/"], group
        file["v"] = np.arange(3)
    for name in ("loop", "one", "gone", "outside", "itself"):
        with pytest.raises(swath.Error, match=r"a\.h5"):
            swath.open(tmp_path / "a.h5", name)
    with xr.open_datatree(tmp_path / "a.h5", engine=Engine) as tree:
        assert list(tree.dataset) == ["v"]
        assert [node.path for node in tree.subtree] == ["/", "/g"]


def test_a_dimension_whose_name_has_another_length_loses_the_name_and_its_values_are_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.arange(3)
        file["x"].make_scale("x")
        file["v"] = np.arange(4)
        file["v"].dims[0].attach_scale(file["x"])
        file["w"] = np.arange(6).reshape(2, 3)
        file["w"].attrs["DIMENSION_LABELS"] = np.array(["y", "y"], h5py.string_dtype())
    with pytest.warns(UserWarning, match=r"a\.h5: v has 4 elements along its dimension 'x', whose length is 3"):
        opened = xr.open_dataset(tmp_path / "a.h5", engine=Engine)
    with opened as found:
        assert found.x.dims == ("x",)
        assert found.v.values.tolist() == [0, 1, 2, 3]
        assert found.v.dims[0].startswith("phony_dim_")
        assert found.w.dims == ("y", "x")


@pytest.mark.parametrize("name", ["a/b", "x\0"])
def test_a_dimension_that_hdf5_cannot_name_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    path = in_zarr(tmp_path, {})
    metadata = json.loads((path / "v" / "zarr.json").read_text())
    metadata["dimension_names"] = [name]
    (path / "v" / "zarr.json").write_text(json.dumps(metadata))
    with pytest.raises(swath.ArgumentError, match=r"v: HDF5 allows no dimension"):
        swath.explain_copy(path, tmp_path / "b.h5")
    assert not (tmp_path / "b.h5").exists()


def test_a_text_that_no_terminal_shows_does_not_end_the_command_line(tmp_path: Path) -> None:
    path = in_hdf5(tmp_path, {"units": "\x1b[31mred\x07", "long_name": "x" * 100_000})
    told = subprocess.run(
        [sys.executable, "-m", "swath.commands.cli", "info", str(path)], capture_output=True, check=False
    )
    assert told.returncode == 0, told.stderr

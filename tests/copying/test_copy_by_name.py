"""Copies with names of dimensions, and of several variables: other libraries read the requested layout."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr

import swath
from swath.copying import execute
from swath.copying.by_name import permutation
from swath.copying.journal import BEGIN
from swath.simulated import run_ranks

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*:UserWarning:zarr", "ignore::zarr.errors.UnstableSpecificationWarning"
)

CASES = int(os.environ.get("SWATH_NAMED_COPIES", "4"))
LENGTHS = {"time": 9, "level": 3, "lat": 6, "lon": 8}
ENGINES = {"nc": "netcdf4", "nc4": "netcdf4", "h5": "h5netcdf", "zarr": "zarr"}


def a_file(path: Path, seed: int = 0) -> None:
    """Make a netCDF-4 file by netCDF4: packed, deflated and plain variables, coordinates, bounds, a group."""
    chosen = random.Random(seed)
    values = np.random.default_rng(seed)
    with netCDF4.Dataset(path, "w") as file:
        file.title = "made by netCDF4"
        for name, length in LENGTHS.items():
            file.createDimension(name, None if name == "time" else length)
        file.createDimension("bnds", 2)
        file.createVariable("crs", "i4", ()).grid_mapping_name = "latitude_longitude"
        time = file.createVariable("time", "f8", ("time",))
        time.setncatts({"units": "days since 2000-01-01", "bounds": "time_bnds"})
        time[:] = np.arange(9)
        file.createVariable("time_bnds", "f8", ("time", "bnds"))[:] = np.arange(18).reshape(9, 2)
        for name in ("lat", "lon", "level"):
            file.createVariable(name, "f4", (name,))[:] = np.arange(LENGTHS[name])
        for number, name in enumerate(("a", "b", "c", "d", "region/e")):
            dimensions = chosen.sample(list(LENGTHS), chosen.randint(1, 4)) if number else ["time", "lat", "lon"]
            dimensions.sort(key="time".__ne__)
            lengths = [LENGTHS[d] for d in dimensions]
            coded: dict[str, Any] = {}
            if not number or chosen.random() < 0.7:
                coded = {"zlib": True, "complevel": chosen.randint(1, 9), "shuffle": chosen.random() < 0.5}
                coded["chunksizes"] = [chosen.randint(1, n) for n in lengths]
            made = file.createVariable(name, "i2", dimensions, fill_value=-99, **coded)
            made.setncatts({"scale_factor": 0.5, "units": "K", "grid_mapping": "crs"})
            made.set_auto_maskandscale(False)
            made[:] = values.integers(0, 100, lengths)


def opened(path: Path, group: str | None = None) -> Any:
    return xr.open_dataset(path, engine=ENGINES[path.suffix[1:]], group=group, decode_times=False)


def level_in_zarr(codec: Any) -> int | None:
    """Return the level of deflate; in Zarr 3 it is gzip, or, after a shuffle, Blosc with zlib."""
    if isinstance(codec, zarr.codecs.GzipCodec):
        return codec.level
    is_deflate = isinstance(codec, zarr.codecs.BloscCodec) and codec.cname.value == "zlib"
    return codec.clevel if is_deflate else None


def layout_of(path: Path, name: str) -> tuple[tuple[int, ...] | None, int | None]:
    """Return the chunks and the level of deflate of a variable, as other libraries report them."""
    if path.suffix == ".zarr":
        array = zarr.open(path, mode="r")[name]
        levels = [level for level in map(level_in_zarr, array.compressors) if level is not None]
        return array.chunks, levels[0] if levels else None
    with h5py.File(path) as file:
        return file[name].chunks, file[name].compression_opts if file[name].compression == "gzip" else None


def cut_short(monkeypatch: pytest.MonkeyPatch, copy: Callable[[], Any]) -> None:
    """Let a copy fail after its first part is on the medium."""
    enter = execute.State.enter

    def enter_and_fail(state: execute.State, done: Any) -> None:
        enter(state, done)
        if state.entered > BEGIN:
            raise swath.StoreError("No space left on device", 28)

    with monkeypatch.context() as patch:
        patch.setattr(execute.State, "enter", enter_and_fail)
        with pytest.raises(swath.StoreError, match="resume=True"):
            copy()


# ---- Every variable of a file ----------------------------------------------------------------------------------------


def expected_chunks(
    dimensions: Sequence[str], asked: dict[str, int], before: dict[str, int] | None, own: str
) -> tuple[int, ...] | None:
    """Return the chunks of a variable that the documents promise, by the names of its dimensions."""
    if before is None and ((own,) == tuple(dimensions) or not set(asked) & set(dimensions)):
        return None
    return tuple(
        LENGTHS.get(d, 2) if asked.get(d) == -1 else asked.get(d, (before or {}).get(d, LENGTHS.get(d, 2)))
        for d in dimensions
    )


@pytest.mark.parametrize("suffix", ["nc", "h5", "zarr"])
@pytest.mark.parametrize("seed", range(CASES))
def test_a_file_is_rechunked_and_turned_by_names_of_dimensions(tmp_path: Path, suffix: str, seed: int) -> None:
    chosen = random.Random(1000 + seed)
    source, target = tmp_path / "a.nc", tmp_path / f"b.{suffix}"
    a_file(source, seed)
    axes = tuple(chosen.sample(list(LENGTHS), chosen.randint(2, 4)))
    chunks = {name: chosen.choice([1, 2, 3, LENGTHS[name], -1]) for name in chosen.sample(list(LENGTHS), 2)}
    swath.copy(source, target, axes=axes, chunks=chunks, memory=chosen.choice([None, "1MiB"]))
    with netCDF4.Dataset(source) as file:
        before = {name: file[name] for name in (*file.variables, "region/e")}
        wanted = {
            name: (variable.dimensions, variable.chunking(), variable.filters()) for name, variable in before.items()
        }
    for group in (None, "region"):
        with opened(source, group) as one, opened(target, group) as other:
            assert dict(one.attrs) == dict(other.attrs)
            for name, variable in one.variables.items():
                turned = [variable.dims[d] for d in permutation([str(d) for d in variable.dims], axes)]
                xr.testing.assert_identical(
                    variable.transpose(*turned).drop_encoding(), other.variables[name].drop_encoding()
                )
                assert variable.dtype == other.variables[name].dtype
    for name, (dimensions, chunking, filters) in wanted.items():
        turned = [dimensions[d] for d in permutation(dimensions, axes)]
        kept = None if chunking == "contiguous" or not dimensions else dict(zip(dimensions, chunking, strict=True))
        promised = expected_chunks(turned, chunks, kept, name.rpartition("/")[2])
        found, level = layout_of(target, name)
        if promised is not None:
            assert found == promised, name
            assert level == (filters["complevel"] if filters["zlib"] else None), name
        elif suffix != "zarr":
            assert found is None, name
    if suffix == "nc":
        with netCDF4.Dataset(target) as file:
            assert file.data_model == "NETCDF4"
            assert file.dimensions["time"].isunlimited()
            assert not file.dimensions["lat"].isunlimited()
            assert file["a"].filters() == wanted["a"][2]


def test_names_that_a_variable_has_are_put_in_order_and_the_others_stay_where_they_are() -> None:
    assert permutation(("time", "level", "lat", "lon"), ("lat", "lon", "time")) == (2, 1, 3, 0)
    assert permutation(("time", "lat"), ("lat", "lon", "time")) == (1, 0)
    assert permutation(("time", "bnds"), ("lat", "lon", "time")) == (0, 1)
    assert permutation(("x", "x"), ("x",)) == (0, 1)
    assert permutation((), ("x",)) == ()


def test_a_file_of_netcdf_classic_is_turned_where_records_stay_first(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
        for name, length in (("time", None), ("y", 2), ("x", 3)):
            file.createDimension(name, length)
        file.createVariable("t", "f4", ("time", "y", "x"))[:] = np.arange(24).reshape(4, 2, 3)
    swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", axes=("x", "y"), format="netcdf-classic:cdf1")
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        assert file.data_model == "NETCDF3_CLASSIC"
        assert file["t"].dimensions == ("time", "x", "y")
        np.testing.assert_array_equal(file["t"][:], np.arange(24).reshape(4, 2, 3).transpose(0, 2, 1))
    with pytest.raises(swath.ArgumentError, match="netcdf-classic file cannot hold all of it, and nothing was written"):
        swath.copy(tmp_path / "a.nc", tmp_path / "c.nc", axes=("x", "time"), format="netcdf-classic")
    swath.copy(tmp_path / "a.nc", tmp_path / "c.nc", axes=("x", "time"))
    with netCDF4.Dataset(tmp_path / "c.nc") as file:
        assert file["t"].dimensions == ("x", "y", "time")
        np.testing.assert_array_equal(file["t"][:], np.arange(24).reshape(4, 2, 3).transpose(2, 1, 0))


def test_texts_are_turned_with_their_characters_last(tmp_path: Path) -> None:
    texts = np.array([[f"{y}-{x}".encode() for x in range(3)] for y in range(2)], "S4")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["s"] = texts
        for place, name in enumerate(("y", "x")):
            file[name] = np.arange(texts.shape[place])
            file[name].make_scale(name)
            file["s"].dims[place].attach_scale(file[name])
    swath.copy(tmp_path / "a.h5", tmp_path / "b.nc", axes=("x", "y"), chunks={"x": 2})
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        assert file["s"].dimensions == ("x", "y", "string4")
        assert file["s"].chunking() == [2, 2, 4]
        np.testing.assert_array_equal(netCDF4.chartostring(file["s"][:]), texts.T.astype("U4"))


def test_shards_and_orders_are_asked_for_by_names(tmp_path: Path) -> None:
    a_file(tmp_path / "a.nc")
    swath.copy(
        tmp_path / "a.nc",
        tmp_path / "b.zarr",
        chunks={"time": 2, "lat": 3, "lon": 4},
        shards={"time": 4, "lon": 8},
        order=("lon", "lat", "time"),
    )
    array = zarr.open(tmp_path / "b.zarr", mode="r")["a"]
    assert (array.chunks, array.shards) == ((2, 3, 4), (4, 3, 8))
    assert "order=(2, 1, 0)" in str(array.metadata.codecs)
    swath.copy(tmp_path / "b.zarr", tmp_path / "c.zarr", chunks={"time": 3})
    array = zarr.open(tmp_path / "c.zarr", mode="r")["a"]
    assert (array.chunks, array.shards) == ((3, 3, 4), (6, 3, 8))  # whole chunks, as many elements at least
    with opened(tmp_path / "a.nc") as one, opened(tmp_path / "c.zarr") as other:
        xr.testing.assert_equal(one.load(), other.load())
    one_array = tmp_path / "d.zarr"
    swath.copy(tmp_path / "b.zarr", one_array, variable="a", axes=("lon", "time"))
    array = zarr.open(one_array, mode="r")["a"]
    assert (array.chunks, array.shards, array.metadata.dimension_names) == (
        (4, 3, 2),
        (8, 3, 4),
        ("lon", "lat", "time"),
    )


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"chunks": {"tim": 2}}, r"chunks= names a dimension 'tim', .* \(is it 'time'\?\); they have time, bnds, lat"),
        ({"chunks": {"time": 0}}, "0 elements along 'time' cannot be"),
        ({"chunks": {"time": 2.5}}, "2.5 elements along 'time' cannot be"),
        ({"axes": ("lat", "lat")}, "different names of dimensions"),
        ({"axes": ("lat", 0)}, "cannot be mixed"),
        ({"order": ("lat", "nowhere")}, "order= names a dimension 'nowhere'"),
        ({"shards": {"time": 4}}, "stores no shards; leave out shards=, or make .zarr"),
        ({"chunks": {"time": 2}, "format": "netcdf-classic"}, "stores no chunks; leave out chunks=, or make .nc4"),
        ({"order": ("lon", "lat", "time")}, "C order only"),
        ({"chunks": (3, 3, 3), "axes": ("lat", "lon")}, "name one of its variables"),
        ({"variable": ["a", "b"], "chunks": (3, 3, 3)}, "chunks= in numbers is of one array"),
        ({"variable": ["a", "b"], "dtype": "f4"}, "dtype= is of one array"),
        ({"variable": ["a", "b"], "target_variable": "c"}, "target_variable= is of one array"),
        ({"variable": ["a", "b"], "format": "npy"}, "a npy file is of one array"),
        ({"variable": ["a", "nowhere"]}, "there is no variable 'nowhere'"),
        ({"variable": []}, "a name, or a list of names"),
        ({"variable": "a", "chunks": {"level": 2}}, "chunks= names a dimension 'level'"),
    ],
)
def test_what_is_asked_for_by_name_and_cannot_be_is_refused(tmp_path: Path, how: dict[str, Any], said: str) -> None:
    a_file(tmp_path / "a.nc")
    with pytest.raises(swath.ArgumentError, match=said):
        swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", **how)
    with pytest.raises(swath.ArgumentError, match=said):
        swath.explain_copy(tmp_path / "a.nc", tmp_path / "b.nc", **how)
    assert os.listdir(tmp_path) == ["a.nc"]


def test_names_of_dimensions_are_refused_of_an_array_that_has_none(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 4)))
    with pytest.raises(swath.ArgumentError, match="their dimensions have no names: give numbers"):
        swath.copy(tmp_path / "a.npy", tmp_path / "b.h5", chunks={"x": 2})


def test_an_interrupted_copy_goes_on_with_the_same_chunks_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        for name, length in (("y", 400), ("x", 500)):
            file.createDimension(name, length)
        for name in "uv":
            file.createVariable(name, "f8", ("y", "x"))[:] = np.random.default_rng(0).random((400, 500))
    how: dict[str, Any] = {"chunks": {"x": 50}, "axes": ("x", "y"), "checkpoint_bytes": 1}
    cut_short(monkeypatch, lambda: swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", **how))
    with pytest.raises(swath.ArgumentError, match=r"chunks was .*50.*, is .*25"):
        swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", resume=True, **{**how, "chunks": {"x": 25}})
    with pytest.raises(swath.ExistsError, match="resume=True"):
        swath.explain_copy(tmp_path / "a.nc", tmp_path / "b.nc", chunks={"x": 50}, axes=("x", "y"))
    assert swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", resume=True, **how).resumed_bytes > 0
    with opened(tmp_path / "a.nc") as one, opened(tmp_path / "b.nc") as other:
        xr.testing.assert_identical(one.transpose("x", "y").load(), other.load())


# ---- Some variables --------------------------------------------------------------------------------------------------


def test_several_variables_are_copied_alone_or_with_what_describes_them(tmp_path: Path) -> None:
    a_file(tmp_path / "a.nc")
    swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", variable=["a", "region/e"])
    with netCDF4.Dataset(tmp_path / "b.nc") as file, netCDF4.Dataset(tmp_path / "a.nc") as source:
        assert list(file.variables) == ["a"]
        assert list(file["region"].variables) == ["e"]
        used = {*source["a"].dimensions, *source["region/e"].dimensions}
        assert set(file.dimensions) == used
        assert file.title == "made by netCDF4"
        assert file["a"].filters() == source["a"].filters()
        assert file["a"].chunking() == source["a"].chunking()
    swath.copy(tmp_path / "a.nc", tmp_path / "c.nc", variable="a", coordinates=True)
    with opened(tmp_path / "a.nc") as one, opened(tmp_path / "c.nc") as other:
        assert set(other.variables) == {"a", "time", "time_bnds", "lat", "lon", "crs"}
        xr.testing.assert_identical(one[list(other.variables)].load(), other.load())


@pytest.mark.parametrize("suffix", ["nc", "h5", "zarr"])
def test_one_variable_keeps_its_chunks_and_its_compression(tmp_path: Path, suffix: str) -> None:
    a_file(tmp_path / "a.nc")
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        chunks, level = tuple(file["a"].chunking()), file["a"].filters()["complevel"]
        values = file["a"][:]
    target = tmp_path / f"b.{suffix}"
    swath.copy(tmp_path / "a.nc", target, variable="a")
    assert layout_of(target, "a") == (chunks, level)
    swath.copy(tmp_path / "a.nc", target, variable="a", axes=(2, 0, 1), overwrite=True)
    assert layout_of(target, "a") == ((chunks[2], chunks[0], chunks[1]), level)
    swath.copy(tmp_path / "a.nc", target, variable="a", dtype="f8", casting="unsafe", overwrite=True)
    assert layout_of(target, "a") == (chunks, level)
    with opened(target) as found:
        np.testing.assert_array_equal(found["a"].values, values)
    swath.copy(tmp_path / "a.nc", target, variable="a", codecs=[], overwrite=True)
    assert layout_of(target, "a") == (chunks, None)
    swath.copy(tmp_path / "a.nc", target, variable="a", chunks=(9, 2, 2), overwrite=True)
    assert layout_of(target, "a") == ((9, 2, 2), level)


def test_chunks_are_left_out_where_none_are_asked_for(tmp_path: Path) -> None:
    a_file(tmp_path / "a.nc")
    swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", chunks=())
    swath.copy(tmp_path / "a.nc", tmp_path / "c.nc", variable="a", chunks=())
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        for variable in (*file.variables.values(), file["region/e"]):
            grows = "time" in variable.dimensions  # what grows has chunks
            assert variable.ndim == 0 or (variable.chunking() == "contiguous") != grows
    with netCDF4.Dataset(tmp_path / "c.nc") as file:
        assert file["a"].chunking() == "contiguous"
    assert swath.verify(tmp_path / "a.nc", tmp_path / "b.nc")
    swath.copy(tmp_path / "a.nc", tmp_path / "c.npy", variable="a", chunks=())


def test_compression_is_kept_where_only_the_library_reads_the_chunks(tmp_path: Path) -> None:
    values = np.arange(6000.0).reshape(60, 100)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("known", data=values, chunks=(6, 10), compression="gzip", compression_opts=7)
        file.create_dataset("rare", data=values, chunks=(6, 10), compression="lzf")
    for name, level in (("known", 7), ("rare", 4)):
        swath.copy(tmp_path / "a.h5", tmp_path / f"{name}.h5", variable=name)
        assert layout_of(tmp_path / f"{name}.h5", name) == ((6, 10), level)
    swath.copy(tmp_path / "a.h5", tmp_path / "both.h5")
    for name, level in (("known", 7), ("rare", 4)):
        assert layout_of(tmp_path / "both.h5", name) == ((6, 10), level)
        with h5py.File(tmp_path / "both.h5") as file:
            np.testing.assert_array_equal(file[name][:], values)


# ---- A file that exists ----------------------------------------------------------------------------------------------


TARGETS = {"b.nc": {}, "b.h5": {}, "b.zarr": {}, "c.nc": {"format": "netcdf-classic:cdf2"}}


@pytest.mark.parametrize("name", TARGETS)
def test_variables_are_added_to_a_file_that_exists(tmp_path: Path, name: str) -> None:
    a_file(tmp_path / "a.nc")
    target, how = tmp_path / name, TARGETS[name]
    swath.copy(tmp_path / "a.nc", target, variable=["a", "lat"], **how)
    swath.copy(tmp_path / "a.nc", target, variable=["b", "c"], coordinates=True)
    swath.copy(tmp_path / "a.nc", target, variable="d")
    swath.copy(tmp_path / "a.nc", target, variable="a", target_variable="turned", dtype="f4", casting="unsafe")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nc", name]
    with opened(tmp_path / "a.nc") as one, opened(target) as other:
        assert {"a", "b", "c", "d", "turned", "lat", "crs"} <= set(other.variables)
        for variable in set(other.variables) - {"turned"}:
            xr.testing.assert_identical(one[variable].variable.load(), other[variable].variable.load())
        np.testing.assert_array_equal(other["turned"].values, one["a"].values)
        assert other.attrs["title"] == "made by netCDF4"
    if "format" in how:
        with netCDF4.Dataset(target) as file:
            assert file.data_model == "NETCDF3_64BIT_OFFSET"


def test_an_array_without_a_name_is_added_under_the_one_that_is_given(tmp_path: Path) -> None:
    a_file(tmp_path / "b.nc")
    np.save(tmp_path / "n.npy", np.arange(5.0))
    swath.copy(tmp_path / "n.npy", tmp_path / "b.nc", target_variable="n")
    with pytest.raises(swath.ExistsError, match="holds 'n' already"):
        swath.copy(tmp_path / "n.npy", tmp_path / "b.nc", target_variable="n")
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        np.testing.assert_array_equal(file["n"][:], np.arange(5.0))
        assert file["a"].shape == (9, 6, 8)


def test_a_variable_that_is_there_is_refused_and_so_are_other_lengths_and_other_coordinates(tmp_path: Path) -> None:
    a_file(tmp_path / "a.nc")
    swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", variable=["a", "lat"])
    before = (tmp_path / "b.nc").read_bytes()

    def refused(source: str, error: type[Exception], said: str, **how: Any) -> None:
        for attempt in (swath.copy, swath.explain_copy):
            with pytest.raises(error, match=said):
                attempt(tmp_path / source, tmp_path / "b.nc", **how)
        assert (tmp_path / "b.nc").read_bytes() == before

    refused("a.nc", swath.ExistsError, "holds 'a' already: choose another name", variable="a")
    refused("a.nc", swath.ExistsError, "holds 'a' already", variable=["b", "a"])
    refused("a.nc", swath.ExistsError, "exists")  # all of a file makes a new one
    refused("a.nc", swath.ExistsError, "exists", variable="b", format="hdf5")
    with netCDF4.Dataset(tmp_path / "c.nc", "w") as file:
        file.createDimension("lat", 6)
        file.createDimension("lon", 5)
        file.createVariable("lat", "f4", ("lat",))[:] = np.arange(6) + 0.5
        file.createVariable("v", "f4", ("lat",))[:] = 1
        file.createVariable("w", "f4", ("lon",))[:] = 1
    refused("c.nc", swath.ArgumentError, "a coordinate lat with other values than", variable="v", coordinates=True)
    refused("c.nc", swath.ArgumentError, "w has 5 elements .* whose length is 8", variable="w")
    swath.copy(tmp_path / "c.nc", tmp_path / "b.nc", variable="v")
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        np.testing.assert_array_equal(file["lat"][:], np.arange(6))
        np.testing.assert_array_equal(file["v"][:], 1)


@pytest.mark.parametrize("name", TARGETS)
def test_a_file_that_exists_stays_as_it_is_until_all_of_what_is_added_is_there(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_file(tmp_path / "a.nc")
    np.save(tmp_path / "n.npy", np.arange(400 * 500.0).reshape(400, 500))
    swath.copy(tmp_path / "a.nc", tmp_path / name, variable="a", **TARGETS[name])
    with opened(tmp_path / name) as before:
        before.load()
    how: dict[str, Any] = {"variable": "data", "checkpoint_bytes": 1}
    swath.copy(tmp_path / "n.npy", tmp_path / "n.nc", target_variable="data")
    cut_short(monkeypatch, lambda: swath.copy(tmp_path / "n.nc", tmp_path / name, **how))
    with opened(tmp_path / name) as after:
        xr.testing.assert_identical(before, after.load())
    assert swath.copy(tmp_path / "n.nc", tmp_path / name, resume=True, **how).resumed_bytes > 0
    with opened(tmp_path / name) as after:
        xr.testing.assert_identical(before, after.drop_vars("data").load())
        np.testing.assert_array_equal(after["data"].values, np.load(tmp_path / "n.npy"))


def test_a_file_that_changes_while_variables_are_added_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_file(tmp_path / "a.nc")
    swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", variable="a")
    complete = execute.State.complete

    def changed_meanwhile(state: execute.State) -> None:
        with netCDF4.Dataset(tmp_path / "b.nc", "a") as file:
            file.history = "changed by somebody else"
        complete(state)

    monkeypatch.setattr(execute.State, "complete", changed_meanwhile)
    with pytest.raises(swath.StoreError, match=r"b\.nc has changed while variables were added"):
        swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", variable="b")
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        assert (list(file.variables), file.history) == (["a"], "changed by somebody else")


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_ranks_copy_by_names_and_into_a_file_that_exists(tmp_path: Path, ranks: int) -> None:
    a_file(tmp_path / "a.nc")

    def work(comm: Any) -> None:
        how: dict[str, Any] = {"comm": comm, "workers": ranks}
        swath.copy(
            tmp_path / "a.nc", tmp_path / "b.nc", chunks={"time": 2}, axes=("lat", "lon", "level", "time"), **how
        )
        for name in ("c.nc", "c.zarr"):
            swath.copy(tmp_path / "a.nc", tmp_path / name, variable=["a", "lat"], **how)
            swath.copy(tmp_path / "a.nc", tmp_path / name, variable=["b"], coordinates=True, **how)
        if ranks > 1:
            with pytest.raises(swath.DisagreementError, match="chunks"):
                swath.copy(tmp_path / "a.nc", tmp_path / "d.nc", chunks={"time": 2 + comm.rank}, **how)

    run_ranks(ranks, work)
    with opened(tmp_path / "a.nc") as source:
        with opened(tmp_path / "b.nc") as turned:
            xr.testing.assert_identical(source.transpose("lat", "lon", "level", "time", ...).load(), turned.load())
        for name in ("c.nc", "c.zarr"):
            with opened(tmp_path / name) as added:
                xr.testing.assert_identical(source[list(added.variables)].load(), added.load())
    assert sorted(os.listdir(tmp_path)) == ["a.nc", "b.nc", "c.nc", "c.zarr"]


# ---- The plan refuses what the run refuses ---------------------------------------------------------------------------


def asked_at_random(chosen: random.Random, ndim: int, *, is_text: bool) -> dict[str, Any]:
    """Return arguments of a copy, some of which are impossible."""
    how: dict[str, Any] = {}
    if chosen.random() < 0.4:
        how["chunks"] = tuple(chosen.choice([0, 1, 3, 100]) for _ in range(chosen.choice([ndim, ndim, 1])))
    if chosen.random() < 0.2:
        how["shards"] = tuple(chosen.choice([2, 6]) for _ in range(ndim))
    if chosen.random() < 0.3:
        how["order"] = chosen.choice(["C", "F", tuple(chosen.sample(range(ndim), ndim)), (0, 0)])
    if chosen.random() < 0.3:
        how["axes"] = chosen.choice([tuple(chosen.sample(range(ndim), ndim)), (0, 5)])
    if chosen.random() < 0.4:
        how["codecs"] = chosen.choice([["zlib"], ["shuffle", "zlib"], ["crc32c"], ["nothing"], []])
    if chosen.random() < 0.4 and not is_text:
        how["dtype"] = chosen.choice(["f4", "f2", "c16", "i1", "?", "S3", "M8[s]", "O", ">i8"])
        how["casting"] = chosen.choice(["same_kind", "unsafe"])
    if chosen.random() < 0.3:
        how["memory"] = chosen.choice([100, "64KiB", "nothing"])
    if chosen.random() < 0.2:
        how["target_variable"] = chosen.choice(["x", "a/b", "", "a\0b", "."])
    return how


def test_the_plan_refuses_what_the_run_refuses(tmp_path: Path) -> None:
    """Both raise the same message, and leave nothing."""
    chosen = random.Random(7)
    refused = 0
    sources = []
    for number, (shape, dtype) in enumerate((((6, 7, 8), "f8"), ((12, 5), "i2"), ((), "f4"), ((4,), "S5"))):
        path = tmp_path / f"{number}.h5"
        with h5py.File(path, "w") as file:
            file["v"] = np.ones(shape, dtype) if dtype != "S5" else np.full(shape, b"text")
            file["v"].attrs["note"] = np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]) if number == 1 else "plain"
        sources.append((path, len(shape)))
    there = tmp_path / "there.npy"
    np.save(there, np.zeros(3))
    for case in range(60 * CASES):
        source, ndim = chosen.choice(sources)
        target = tmp_path / chosen.choice(["t.nc", "t.h5", "t.zarr", "t.npy", "t.bin", "there.npy", "nowhere/t.nc"])
        how = asked_at_random(chosen, ndim, is_text=source.name == "3.h5")
        if chosen.random() < 0.5 and target.name == "t.nc":
            how["format"] = "netcdf-classic:cdf1"
        before = sorted(os.listdir(tmp_path))
        told: list[str] = []
        for attempt in (swath.explain_copy, swath.copy):
            try:
                attempt(source, target, **how)
                told.append("")
            except swath.Error as error:
                told.append(str(error))
            if attempt is swath.explain_copy or told[-1]:
                assert sorted(os.listdir(tmp_path)) == before, (case, how, told)
        assert told[0] == told[1], (case, source.name, target.name, how)
        refused += told[0] != ""
        if not told[0]:
            shutil.rmtree(target) if target.is_dir() else target.unlink()
    assert 0.2 < refused / (60 * CASES) < 0.95


def test_the_plan_of_a_file_refuses_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", np.zeros(1000))
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=100))
    for attempt in (swath.explain_copy, swath.copy):
        with pytest.raises(swath.StoreError, match="100 B are free"):
            attempt(tmp_path / "a.npy", tmp_path / "b.npy")
    assert os.listdir(tmp_path) == ["a.npy"]

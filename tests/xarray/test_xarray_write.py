"""`ds.swath.to_file`: xarray's own engines read the data sets, in every format."""

from __future__ import annotations

import itertools
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from xarray_cases import DATA_SETS, NOT_CLASSIC, plain, xr

dask_array = pytest.importorskip("dask.array")
h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")
pytest.importorskip("netCDF4")
pytest.importorskip("h5netcdf")

import dask  # noqa: E402

import swath.xarray  # noqa: E402 - registers `ds.swath`
from swath.xarray import SwathBackendEntrypoint as Engine  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

FORMATS = {
    "netcdf-classic:cdf1": ("a.nc", ("scipy", "netcdf4")),
    "netcdf-classic:cdf2": ("a.nc", ("scipy",)),
    "netcdf-classic": ("a.nc", ("netcdf4",)),
    "netcdf4": ("a.nc4", ("netcdf4", "h5netcdf")),
    "hdf5": ("a.h5", ("netcdf4", "h5netcdf")),
    "zarr": ("a.zarr", ("zarr",)),
    "zarr:v2": ("a.zarr", ("zarr",)),
}
CASES = [
    (case, kind)
    for case in DATA_SETS
    for kind in FORMATS
    if not (case in NOT_CLASSIC and kind in ("netcdf-classic:cdf1", "netcdf-classic:cdf2"))
]


def chunked(data_set: Any) -> Any:
    """Return every numeric variable in blocks that are no whole chunks."""
    return data_set.chunk({name: max(length - 2, 1) for name, length in data_set.sizes.items()})


@pytest.mark.parametrize(("case", "kind"), CASES)
def test_what_is_written_is_what_other_engines_read(tmp_path: Path, case: str, kind: str) -> None:
    name, engines = FORMATS[kind]
    expected = xr.decode_cf(DATA_SETS[case]()) if case == "masked" else DATA_SETS[case]()
    for data_set in (DATA_SETS[case](), chunked(DATA_SETS[case]())):
        if case == "empty" and not kind.startswith("zarr"):
            data_set.encoding["unlimited_dims"] = {"time"}
        data_set.swath.to_file(tmp_path / name, format=kind, mode="w")
        for engine in (*engines, Engine):
            with xr.open_dataset(tmp_path / name, engine=engine) as found:
                xr.testing.assert_identical(found.load(), expected)


@pytest.mark.parametrize("kind", FORMATS)
def test_dimensions_grow_in_the_file_as_they_did(tmp_path: Path, kind: str) -> None:
    name, engines = FORMATS[kind]
    for data_set in (plain(), chunked(plain())):
        data_set.swath.to_file(tmp_path / name, format=kind, mode="w", unlimited_dims=["time"])
        for engine in (*engines, Engine):
            with xr.open_dataset(tmp_path / name, engine=engine) as found:
                xr.testing.assert_identical(found.load(), plain())
                if engine != "zarr":  # it knows none
                    assert found.encoding["unlimited_dims"] == {"time"}
        with swath.open_file(tmp_path / name, mode="r+") as file:
            file["t"].append(np.ones((3, 5), "f4"))
            file["time"].append(np.array(9, file["time"].dtype))
            assert file["t"].shape == (5, 3, 5)


def test_a_data_set_of_a_file_that_grows_is_written_so(tmp_path: Path) -> None:
    plain().to_netcdf(tmp_path / "a.nc", unlimited_dims=["time"])
    with xr.open_dataset(tmp_path / "a.nc", engine=Engine) as found:
        found.swath.to_file(tmp_path / "b.nc4")
        with pytest.warns(
            UserWarning, match=r"Unlimited dimension\(s\) {'time'} declared in 'dataset.encoding', but not"
        ):
            found.transpose("x", ...).swath.to_file(tmp_path / "c.nc3")
    with swath.open_file(tmp_path / "b.nc4") as file:
        assert file.dimensions["time"].is_unlimited
    for wrong in ("nothing", "x"):
        with pytest.raises(swath.ArgumentError, match=f"'{wrong}'.*cannot grow"):
            plain().swath.to_file(tmp_path / "d.nc3", unlimited_dims=wrong)
    assert not (tmp_path / "d.nc3").exists()


def test_a_dimension_without_elements_is_one_that_grows_in_netcdf_classic(tmp_path: Path) -> None:
    data_set = xr.Dataset({"v": (("time", "x"), np.zeros((0, 2)))})
    data_set.swath.to_file(tmp_path / "a.nc", format="netcdf-classic")
    with xr.open_dataset(tmp_path / "a.nc", engine="netcdf4") as found:
        xr.testing.assert_identical(found.load(), data_set)
        assert found.encoding["unlimited_dims"] == {"time"}
    with pytest.raises(swath.ArgumentError, match="dimension time has no elements"):
        data_set.transpose("x", "time").swath.to_file(tmp_path / "b.nc", format="netcdf-classic")
    data_set.transpose("x", "time").swath.to_file(tmp_path / "b.nc4")


def test_a_file_that_exists_is_replaced_or_added_to_only_where_that_is_asked(tmp_path: Path) -> None:
    for name in ("a.nc3", "a.nc4", "a.zarr"):
        path = tmp_path / name
        plain().swath.to_file(path)
        with pytest.raises(swath.ExistsError, match='mode="a" to add to it'):
            plain().swath.to_file(path)
        more = xr.Dataset({"more": ("x", np.arange(5.0)), "scalar": ((), 8.5)}, attrs={"title": "another"})
        more.swath.to_file(path, mode="a")
        with xr.open_dataset(path, engine=Engine) as found:
            expected = plain().assign(more=("x", np.arange(5.0)), scalar=((), 8.5)).assign_attrs(title="another")
            xr.testing.assert_identical(found.load(), expected)
        with pytest.raises(swath.ArgumentError, match=r't is there as .*mode="w"'):
            xr.Dataset({"t": ("other", [1.0])}).swath.to_file(path, mode="a")
        more.swath.to_file(path, mode="w")
        with xr.open_dataset(path, engine=Engine) as found:
            xr.testing.assert_identical(found.load(), more)
        with pytest.raises(swath.ArgumentError, match="mode 'x'; expected \"w-\""):
            more.swath.to_file(path, mode="x")


def test_a_data_set_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    plain().swath.to_file(tmp_path / "a.nc4")
    before = (tmp_path / "a.nc4").read_bytes()

    def fail(block: Any) -> Any:
        raise RuntimeError("no such block")

    broken = xr.Dataset({"v": ("x", dask_array.ones(10, chunks=5).map_blocks(fail, dtype="f8"))})
    with pytest.raises(RuntimeError, match="no such block"):
        broken.swath.to_file(tmp_path / "a.nc4", mode="w")
    assert (tmp_path / "a.nc4").read_bytes() == before
    assert os.listdir(tmp_path) == ["a.nc4"]


def test_groups_and_trees_are_written_and_opened(tmp_path: Path) -> None:
    tree = xr.DataTree.from_dict({"/": plain(), "/ocean": plain().drop_vars("t"), "/ocean/deep": DATA_SETS["texts"]()})
    for name, engine in (("a.nc4", "netcdf4"), ("a.h5", "h5netcdf"), ("a.zarr", "zarr")):
        tree.swath.to_file(tmp_path / name)
        with xr.open_datatree(tmp_path / name, engine=engine) as found:
            xr.testing.assert_identical(found.load(), tree)
        with xr.open_datatree(tmp_path / name, engine=Engine) as found:
            xr.testing.assert_identical(found.load(), tree)
        xr.Dataset({"v": ("n", [1, 2])}, attrs={"a": 1}).swath.to_file(tmp_path / name, group="/g/h/", mode="a")
        with xr.open_dataset(tmp_path / name, engine=engine, group="g/h") as found:
            assert found.v.values.tolist() == [1, 2]
            assert found.attrs == {"a": 1}
    with pytest.raises(swath.ArgumentError, match="group"):
        plain().swath.to_file(tmp_path / "a.nc", group="g", format="netcdf-classic")
    with pytest.raises(swath.ArgumentError, match="group 'void' has no variables"):
        xr.Dataset().swath.to_file(tmp_path / "a.nc4", group="void", mode="a")


@pytest.mark.parametrize(("name", "engine"), [("a.nc4", "netcdf4"), ("a.h5", "h5netcdf"), ("a.zarr", "zarr")])
def test_groups_may_be_empty_and_have_dimensions_of_their_own_length(tmp_path: Path, name: str, engine: str) -> None:
    groups = {
        "/fine": xr.Dataset({"v": ("x", np.arange(6))}, attrs={"step": 1}),
        "/fine/coarse": xr.Dataset({"w": ("y", np.arange(3))}),
        "/other": xr.Dataset({"v": ("x", np.arange(2))}),
        "/void": xr.Dataset(attrs={"nothing": "here"}),
        "/void/deeper": xr.Dataset(),
    }
    tree = xr.DataTree.from_dict(groups)
    tree.swath.to_file(tmp_path / name)
    for reader in (engine, Engine):
        with xr.open_datatree(tmp_path / name, engine=reader) as found:
            xr.testing.assert_identical(found.load(), tree)


def test_chunks_and_codecs_are_those_of_the_encoding(tmp_path: Path) -> None:
    encoding = {"t": {"chunksizes": (2, 3, 5), "zlib": True, "complevel": 7, "fletcher32": True}}
    plain().swath.to_file(tmp_path / "a.nc4", encoding=encoding)
    with h5py.File(tmp_path / "a.nc4") as file:
        t = file["t"]
        assert (t.chunks, t.compression, t.compression_opts, t.shuffle, t.fletcher32) == (
            (2, 3, 5),
            "gzip",
            7,
            True,
            True,
        )
        assert file["count"].compression is None
    with xr.open_dataset(tmp_path / "a.nc4", engine=Engine) as found:
        found.swath.to_file(tmp_path / "b.h5")  # as it was
    with h5py.File(tmp_path / "b.h5") as file:
        assert (file["t"].chunks, file["t"].compression, file["t"].compression_opts) == ((2, 3, 5), "gzip", 7)
    gzip = {"name": "gzip", "configuration": {"level": 3}}
    encoding = {"t": {"chunks": (1, 2, 3), "shards": (2, 4, 6), "compressors": [gzip]}}
    plain().swath.to_file(tmp_path / "a.zarr", encoding=encoding)
    stored = zarr.open(tmp_path / "a.zarr")["t"]
    assert (stored.chunks, stored.shards) == ((1, 2, 3), (2, 4, 6))
    assert [codec.to_dict() for codec in stored.compressors] == [gzip]
    with xr.open_dataset(tmp_path / "a.zarr", engine=Engine) as found:
        found.swath.to_file(tmp_path / "b.zarr")
        found.to_zarr(tmp_path / "c.zarr", zarr_format=3)
    for again in ("b.zarr", "c.zarr"):
        stored = zarr.open(tmp_path / again)["t"]
        assert (stored.chunks, stored.shards) == ((1, 2, 3), (2, 4, 6))
        assert [codec.to_dict() for codec in stored.compressors] == [gzip]
    with xr.open_dataset(tmp_path / "a.nc4", engine=Engine) as found:
        found.swath.to_file(tmp_path / "d.zarr")  # what only HDF5 has is left out
        found.swath.to_file(tmp_path / "d.nc")


def test_numcodecs_and_codecs_of_zarr_python_are_taken_as_they_are(tmp_path: Path) -> None:
    numcodecs = pytest.importorskip("numcodecs")
    data_set = xr.Dataset({"v": ("x", np.arange(100))})
    for version, codec in (
        ("zarr:v2", numcodecs.Blosc("zstd", 3, numcodecs.Blosc.BITSHUFFLE)),
        ("zarr:v2", numcodecs.Zstd(2)),
        ("zarr", zarr.codecs.BloscCodec(cname="lz4", clevel=2, shuffle="shuffle", typesize=8)),
        ("zarr", zarr.codecs.GzipCodec(level=2)),
    ):
        data_set.swath.to_file(tmp_path / "a.zarr", format=version, mode="w", encoding={"v": {"compressors": [codec]}})
        (stored,) = zarr.open(tmp_path / "a.zarr")["v"].compressors
        if version == "zarr":
            assert stored.to_dict() == codec.to_dict()
        else:
            assert stored.get_config() == codec.get_config()


def test_a_zarr_store_is_opened_by_reading_one_file(tmp_path: Path) -> None:
    for version in ("zarr:v2", "zarr:v3"):
        plain().swath.to_file(tmp_path / "a.zarr", format=version, mode="w")
        found = xr.open_zarr(tmp_path / "a.zarr", consolidated=True)
        xr.testing.assert_identical(found.load(), plain())


@pytest.mark.parametrize("kind", ["netcdf-classic:cdf1", "netcdf-classic:cdf2"])
def test_numbers_that_the_format_has_not_are_narrowed_where_they_fit(tmp_path: Path, kind: str) -> None:
    narrow = xr.Dataset({name: ("n", np.array([1, 2, 100], name)) for name in ("i8", "u8", "u4", "u2", "u1")})
    wide = xr.Dataset({"w": ("n", np.array([1, 2**40]))})
    for kept in (narrow, chunked(narrow)):
        kept.swath.to_file(tmp_path / "a.nc", format=kind, mode="w")
        with xr.open_dataset(tmp_path / "a.nc", engine="scipy") as found:
            xr.testing.assert_equal(found.load(), narrow)
    for lost in (wide, chunked(wide)):
        with pytest.raises(swath.ArgumentError, match="'w': could not safely cast array from int64 to int32"):
            lost.swath.to_file(tmp_path / "b.nc", format=kind)
        assert not (tmp_path / "b.nc").exists()


def test_what_cannot_be_stored_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.nc4"
    data_set = xr.Dataset({"v": ("x", [1.0, 2.0])})
    for encoding, message in (
        ({"w": {}}, "there is no variable 'w'; there are v"),
        ({"v": {"shards": (1,)}}, "unexpected encoding parameters shards for netcdf4"),
        ({"v": "zlib"}, "must be castable to a dictionary"),
        ({"v": {"dtype": str}}, "text of fixed length"),
        ({"v": {"compression": "lzf"}}, "lzf"),
    ):
        with pytest.raises(swath.ArgumentError, match=message):
            data_set.swath.to_file(path, encoding=encoding)
    for wrong, message in (
        (xr.Dataset({"a/b": ("x", [1])}), "Forward slashes '/' are not allowed"),
        (xr.Dataset({3: ("x", [1])}), "3: Forward slashes"),
        (xr.Dataset({"v": ("a/b", [1])}), "'a/b': Forward slashes"),
        (xr.Dataset({"v": ("x", [1])}, attrs={3: 1}), "names that are text, not 3"),
        (xr.Dataset({"v": ("x", [1], {"a": {"b": 1}})}), "attribute '?a"),
    ):
        with pytest.raises(swath.ArgumentError, match=message):
            wrong.swath.to_file(path)
    with pytest.raises(swath.ArgumentError, match="memory 'much'"):
        data_set.swath.to_file(path, memory="much")
    assert os.listdir(tmp_path) == []


def test_every_block_is_computed_once_and_no_more_at_a_time_than_the_budget_holds(tmp_path: Path) -> None:
    computed: list[tuple[int, ...]] = []
    written: list[int] = []

    def block(block_info: Any = None) -> Any:
        location = block_info[None]["array-location"]
        computed.append(tuple(begin for begin, _ in location))
        return np.full([end - begin for begin, end in location], len(computed), "f8")

    whole = dask_array.map_blocks(block, chunks=((10,) * 8, (7, 7, 6)), dtype="f8", meta=np.empty((0, 0)))
    data_set = xr.Dataset({"a": (("y", "x"), whole), "b": (("y", "x"), whole + 1)})
    original = dask.compute

    def counted(*parts: Any) -> Any:
        written.append(sum(part.nbytes for part in parts))
        return original(*parts)

    encoding = {name: {"chunksizes": (20, 20)} for name in "ab"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dask, "compute", counted)
        with dask.config.set(scheduler="sync"):
            data_set.swath.to_file(tmp_path / "a.h5", encoding=encoding, memory=2 * 20 * 20 * 8)
    assert max(written) <= 2 * 20 * 20 * 8
    assert sum(written) == 2 * 80 * 20 * 8
    assert sorted(computed) == sorted({(y, x) for y in range(0, 80, 10) for x in (0, 7, 14)})  # shared by a and b
    with xr.open_dataset(tmp_path / "a.h5", engine="h5netcdf") as found:
        np.testing.assert_array_equal(found.b.values, found.a.values + 1)


def test_a_file_is_written_when_its_delayed_object_is_computed(tmp_path: Path) -> None:
    delayed = chunked(plain()).swath.to_file(tmp_path / "a.nc4", compute=False)
    assert os.listdir(tmp_path) == []
    assert delayed.compute() is None
    with xr.open_dataset(tmp_path / "a.nc4", engine=Engine) as found:
        xr.testing.assert_identical(found.load(), plain())


def test_a_file_is_copied_from_itself_in_another_format(tmp_path: Path) -> None:
    """The file is opened lazily, with and without dask, in every format, and copied back."""
    plain().swath.to_file(tmp_path / "0.nc4")
    names = ["0.nc4", "1.zarr", "2.h5", "3.nc3", "4.nc4"]
    for chunks in (None, {}):
        for before, after in itertools.pairwise(names):
            with xr.open_dataset(tmp_path / before, engine=Engine, chunks=chunks) as found:
                found.swath.to_file(tmp_path / after, mode="w")
        with xr.open_dataset(tmp_path / names[-1], engine="netcdf4") as found, warnings.catch_warnings():
            warnings.simplefilter("error")
            xr.testing.assert_identical(found.load(), plain())


@pytest.mark.parametrize("suffix", ["nc3", "nc4", "zarr"])
def test_values_of_a_variable_that_is_there_are_read_as_what_they_were(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    old = xr.Dataset({"t": ("x", np.array([1.0, np.nan, 3.0]))})
    new = xr.Dataset({"t": ("x", np.array([4.0, np.nan, 6.0]))})
    old.swath.to_file(path, encoding={"t": {"dtype": "f4", "scale_factor": 0.5}})
    new.swath.to_file(path, mode="a")
    np.testing.assert_array_equal(xr.load_dataset(path, engine="swath").t, new.t)


@pytest.mark.parametrize("suffix", ["nc3", "nc4", "zarr"])
def test_values_encoded_with_another_fill_value_are_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    old = xr.Dataset({"t": ("x", np.array([1.0, np.nan, 3.0]))})
    old.swath.to_file(path, encoding={"t": {"dtype": "i2", "_FillValue": -1}})
    with pytest.raises(swath.ArgumentError, match=r"t has _FillValue -1, and missing values are encoded as -99"):
        (old + 1).swath.to_file(path, mode="a", encoding={"t": {"dtype": "i2", "_FillValue": -99}})
    np.testing.assert_array_equal(xr.load_dataset(path, engine="swath").t, old.t)


@pytest.mark.parametrize("suffix", ["nc3", "nc4", "zarr"])
def test_whole_numbers_that_a_variable_cannot_hold_are_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    xr.Dataset({"t": ("x", np.array([1, 2, 3], "i4"))}).swath.to_file(path)
    with pytest.raises(swath.ArgumentError, match=r"t is .*i4|t is int32"):
        xr.Dataset({"t": ("x", np.array([2**40, 2, 3], "i8"))}).swath.to_file(path, mode="a")
    xr.Dataset({"t": ("x", np.array([9, 8, 7], "i8"))}).swath.to_file(path, mode="a")
    assert xr.load_dataset(path, engine="swath").t.values.tolist() == [9, 8, 7]


def test_a_data_array_of_a_new_file_is_refused_where_the_old_one_would_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with swath.create(path, (3,), "f4", variable="t") as a:
        a[...] = 1
    with swath.create(path, (3,), "f4", variable="t", overwrite=True) as a:
        a[...] = 2
        with pytest.raises(swath.ArgumentError, match="the file is new"):
            a.to_xarray()


def test_a_data_array_finds_its_file_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with swath.create("a.nc", (3,), "f4", variable="t") as a:
        a[...] = 1
    with swath.open("a.nc", "t") as a:
        monkeypatch.chdir("/")
        assert a.to_xarray().values.tolist() == [1, 1, 1]


def test_a_variable_that_cannot_be_read_is_left_out_by_name(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as h:
        h["ok"] = np.arange(3)
        h.create_dataset("lists", (2,), dtype=h5py.vlen_dtype("i4"))
    with (
        pytest.warns(UserWarning, match="lists is left out"),
        xr.open_dataset(tmp_path / "a.h5", engine="swath") as data_set,
    ):
        assert list(data_set) == ["ok"]


@pytest.mark.parametrize("name", ["a.nc4", "a.h5", "a.zarr"])
def test_so_little_memory_that_chunks_are_decoded_again_and_again_is_refused(tmp_path: Path, name: str) -> None:
    data_set = xr.Dataset({"v": (("time", "x"), np.arange(600.0).reshape(60, 10))}).chunk({"time": 1})
    words = {"chunks": (30, 10)} if name == "a.zarr" else {"chunksizes": (30, 10), "zlib": True}
    words |= {"compressors": ["zstd"]} if name == "a.zarr" else {}
    with pytest.raises(
        swath.ArgumentError, match=r"v: memory=100 bytes is too little: .* 30 times.* at least 2400 bytes"
    ):
        data_set.swath.to_file(tmp_path / name, encoding={"v": words}, memory=100)
    assert not os.listdir(tmp_path)
    data_set.swath.to_file(tmp_path / name, encoding={"v": words}, memory=2400)
    with xr.open_dataset(tmp_path / name, engine="zarr" if name == "a.zarr" else "netcdf4") as found:
        np.testing.assert_array_equal(found.v, data_set.v)


@pytest.mark.parametrize("name", ["a.nc4", "a.h5"])
def test_any_dimension_of_a_new_netcdf4_or_hdf5_file_may_grow(tmp_path: Path, name: str) -> None:
    for data_set in (plain(), chunked(plain())):
        data_set.swath.to_file(tmp_path / name, mode="w", unlimited_dims=["x", "time"])
        with h5py.File(tmp_path / name) as file:
            assert file["t"].maxshape == (None, 3, None)
            assert file["count"].maxshape == (3, None)
            assert file["x"].maxshape == (None,)
            assert file["t"].chunks is not None
        for engine in ("netcdf4", "h5netcdf", Engine):
            with xr.open_dataset(tmp_path / name, engine=engine) as found:
                xr.testing.assert_identical(found.load(), plain())
                assert found.encoding["unlimited_dims"] == {"time", "x"}
    if name == "a.nc4":
        with pytest.importorskip("netCDF4").Dataset(tmp_path / name, "a") as file:  # they do grow
            file["count"][:, 5] = 7
            assert file["t"].shape == (4, 3, 6)
    with xr.open_dataset(tmp_path / name, engine=Engine) as found:
        found.swath.to_file(tmp_path / f"b{name}")
    with h5py.File(tmp_path / f"b{name}") as file:
        assert file["count"].maxshape == (3, None)
    for other in ("b.nc3", "b.zarr"):
        with pytest.raises(swath.ArgumentError, match=r"'x'.*cannot grow"):
            plain().swath.to_file(tmp_path / other, unlimited_dims=["x"])

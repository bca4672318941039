"""`engine="swath"` of xarray: data sets are equal to those of other engines."""

from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath import formats
from xarray_cases import CASES, DATA_SETS, WRITERS, entry_point, plain, xr

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")
pytest.importorskip("zarr")
pytest.importorskip("h5netcdf")

from swath.xarray import SwathBackendEntrypoint as Engine  # noqa: E402
from swath.xarray import lazy  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

OF_ZARR_PYTHON = ("compressors", "filters", "serializer", "fill_value", "shards")
"""Keys that the zarr engine gives as objects of zarr-python."""


def sample_files() -> list[Path]:
    package = pytest.importorskip("iris_sample_data")
    return sorted((Path(package.__file__).parent / "sample_data").glob("*.nc"))


def same(found: Any, expected: Any) -> bool:
    return bool(str(found) == str(expected) or found == expected)


def same_encoding(found: Any, expected: Any, engine: str) -> None:
    """Every key of the other engine, with the same meaning."""
    assert found.encoding.get("unlimited_dims", set()) == expected.encoding.get("unlimited_dims", set())
    if engine == "scipy":  # says next to nothing
        return
    for name, variable in expected.variables.items():
        words = {k: v for k, v in variable.encoding.items() if engine != "zarr" or k not in OF_ZARR_PYTHON}
        for key, value in words.items():
            if (key == "dtype" and value is not str and np.dtype(value).kind in "OST") or key == "complevel":
                continue  # engines differ in what they call text, and in the level of what is not compressed
            assert key in found[name].encoding, (name, key, value)
            assert same(found[name].encoding[key], value), (name, key)


def check_same(path: Path, engine: str, **options: Any) -> None:
    for more in ({}, {"decode_cf": False}, {"chunks": {}}):
        with (
            xr.open_dataset(path, engine=Engine, **options, **more) as found,
            xr.open_dataset(path, engine=engine, **options, **more) as expected,
        ):
            assert {n: (v.dims, v.chunks) for n, v in found.variables.items()} == {
                n: (v.dims, v.chunks) for n, v in expected.variables.items()
            }
            if more == {"chunks": {}}:
                continue
            xr.testing.assert_identical(found, expected)
            assert {n: v.dtype.kind for n, v in found.variables.items()} == {
                n: v.dtype.kind.replace("T", "O") for n, v in expected.variables.items()
            }
            same_encoding(found, expected, engine)


@pytest.mark.parametrize(("case", "writer"), CASES)
def test_a_file_is_what_other_engines_open(tmp_path: Path, case: str, writer: str) -> None:
    write, name, engines = WRITERS[writer]
    write(DATA_SETS[case](), tmp_path / name)
    for engine in engines:
        check_same(tmp_path / name, engine)


def test_every_sample_file_is_what_other_engines_open() -> None:
    files = sample_files()
    assert len(files) >= 10
    for path in files:
        check_same(path, "netcdf4")
        if h5py.is_hdf5(path):
            check_same(path, "h5netcdf")


def grouped(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 4)
        file.createVariable("time", "f8", ("time",))[:] = [1, 2]
        ocean = file.createGroup("ocean")
        ocean.depth = np.int16(5)
        ocean.createDimension("z", 3)
        ocean.createVariable("t", "f4", ("time", "z", "x"), fill_value=-1)[:] = np.arange(24).reshape(2, 3, 4)
        deep = ocean.createGroup("deep/er")
        deep.createVariable("u", "i4", ("x",))[:] = [1, 2, 3, 4]
        file.createGroup("nothing")


def test_groups_are_data_sets_trees_and_dictionaries(tmp_path: Path) -> None:
    path = tmp_path / "g.nc"
    grouped(path)
    for group in (None, "/", "ocean", "/ocean/deep/er", "nothing"):
        check_same(path, "netcdf4", group=group)
    for group in (None, "ocean"):
        found = xr.open_groups(path, engine=Engine, group=group)
        expected = xr.open_groups(path, engine="netcdf4", group=group)
        assert list(found) == list(expected)
        for name, data_set in expected.items():
            xr.testing.assert_identical(found[name], data_set)
        with (
            xr.open_datatree(path, engine=Engine, group=group) as tree,
            xr.open_datatree(path, engine="netcdf4", group=group) as expected_tree,
        ):
            xr.testing.assert_identical(tree, expected_tree)
    with pytest.raises(swath.NotFoundError, match="group not found: 'air'; its groups: nothing, ocean, ocean/deep"):
        xr.open_dataset(path, engine=Engine, group="air")


def test_dimensions_without_a_name_have_those_that_netcdf_invents(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, shape in (("a", (3, 4)), ("b", (4, 4, 3)), ("c", (5,)), ("g/d", (3, 5)), ("g/e/f", (2, 2))):
            file[name] = np.arange(np.prod(shape)).reshape(shape)
        file["x"] = np.arange(7.0)
        file["x"].make_scale("x")
        file["named"] = np.zeros((7,))
        file["named"].dims[0].attach_scale(file["x"])
    for group in (None, "g", "g/e"):
        check_same(tmp_path / "a.h5", "netcdf4", group=group)


def test_numbers_of_the_other_byte_order_are_read_as_numbers(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("x", 4)
        file.createVariable("big", ">f4", ("x",), endian="big", fill_value=-1)[:] = [1, 2, -1, 4]
        file.createVariable("little", "<i2", ("x",), endian="little")[:] = [1, 2, 3, 4]
    check_same(tmp_path / "a.nc", "netcdf4")
    assert xr.open_dataset(tmp_path / "a.nc", engine=Engine).big.dtype.isnative


def test_text_of_variable_length_and_enumerations_are_read(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("x", 3)
        file.createVariable("s", str, ("x",))[:] = np.array(["a", "", "été"], object)
        clouds = file.createEnumType("i1", "cloud", {"clear": 0, "rain": 1, "missing": 127})
        file.createVariable("c", clouds, ("x",), fill_value=127)[:] = [0, 1, 127]
    expected = xr.open_dataset(tmp_path / "a.nc", engine="netcdf4")
    found = xr.open_dataset(tmp_path / "a.nc", engine=Engine)
    xr.testing.assert_identical(found, expected)
    assert found.c.encoding["dtype"].metadata == expected.c.encoding["dtype"].metadata
    found.to_netcdf(tmp_path / "b.nc")
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        assert file["c"].datatype.enum_dict == {"clear": 0, "rain": 1, "missing": 127}
    assert list(found.s[[2, 0]].values) == ["été", "a"]


def test_indexing_reads_what_numpy_would_and_no_more(tmp_path: Path) -> None:
    values = np.arange(20 * 30 * 40, dtype="f8").reshape(20, 30, 40)
    xr.Dataset({"v": (("a", "b", "c"), values)}).to_zarr(
        tmp_path / "a.zarr", encoding={"v": {"chunks": (5, 7, 11), "compressors": None}}
    )
    found = xr.open_dataset(tmp_path / "a.zarr", engine=Engine, cache=False).v
    rng = np.random.default_rng(5)
    for _ in range(40):
        keys: list[Any] = []
        for n in values.shape:
            start, stop = sorted(rng.integers(0, n, 2).tolist())
            keys.append(
                [
                    int(rng.integers(-n, n)),
                    slice(start, stop, int(rng.integers(1, 4))),
                    slice(stop + 1, start or None, -int(rng.integers(1, 4))),
                    rng.integers(-n, n, rng.integers(0, 6)),
                ][rng.integers(4)]
            )
        expected = values
        for axis, key in reversed(list(enumerate(keys))):
            expected = expected[(slice(None),) * axis + (key,)]
        np.testing.assert_array_equal(found[tuple(keys)].values, expected)
    points = [xr.DataArray(rng.integers(0, n, (2, 9)), dims=("p", "q")) for n in values.shape]
    np.testing.assert_array_equal(found[tuple(points)].values, values[tuple(p.values for p in points)])
    np.testing.assert_array_equal(
        found[points[0], :, points[2]].transpose("p", "q", "b").values, values[points[0].values, :, points[2].values]
    )


def test_points_far_apart_are_boxes_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.raw").write_bytes(bytes(1000 * 1000 * 8))
    with swath.open(tmp_path / "a.raw", shape=(1000, 1000), dtype="f8") as array:
        found = array.to_xarray()
        ends = xr.DataArray([3, 997], dims="p")
        found[ends, ends].load()
        assert array.counters.read_bytes < 100_000
        found[[3, 997]].load()
        assert array.counters.read_bytes < 100_000


def test_a_data_set_is_pickled_as_its_path_and_opened_again(tmp_path: Path) -> None:
    plain().to_netcdf(tmp_path / "a.nc")
    with xr.open_dataset(tmp_path / "a.nc", engine=Engine) as found:
        sent = pickle.dumps(found)
        assert len(sent) < 10_000
    xr.testing.assert_identical(pickle.loads(sent), plain())
    xr.testing.assert_identical(pickle.loads(sent).t[1:, ::2].load(), plain().t[1:, ::2])


def test_many_threads_read_at_once_while_files_are_closed_for_others(tmp_path: Path) -> None:
    values = np.arange(60000, dtype="i4").reshape(300, 200)
    for number in range(4):
        xr.Dataset({"v": (("y", "x"), values + number)}).to_netcdf(tmp_path / f"{number}.nc")
    wrong: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(50):
                number, y, x = int(rng.integers(4)), int(rng.integers(300)), int(rng.integers(200))
                got = opened[number].v[y : y + 5, [x, 0]].values
                if not (got == values[y : y + 5, [x, 0]] + number).all():
                    wrong.append((number, y, x))
                if rng.random() < 0.2:
                    opened[rng.integers(4)].close()  # under the hands of the other threads
        except Exception as error:  # noqa: BLE001
            wrong.append(error)

    with xr.set_options(file_cache_maxsize=2):
        opened = [xr.open_dataset(tmp_path / f"{n}.nc", engine=Engine, cache=False) for n in range(4)]
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def open_descriptors(folder: Path) -> list[str]:
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return [os.readlink(link) for link in links if os.path.islink(link) and str(folder) in os.readlink(link)]


def test_closing_a_data_set_and_letting_go_of_it_close_the_file(tmp_path: Path) -> None:
    plain().to_netcdf(tmp_path / "a.nc")
    found = xr.open_dataset(tmp_path / "a.nc", engine=Engine)
    assert open_descriptors(tmp_path)
    found.close()
    assert open_descriptors(tmp_path) == []
    again = xr.open_dataset(tmp_path / "a.nc", engine=Engine)
    again.t.load()
    del again
    assert open_descriptors(tmp_path) == []


def test_a_file_of_many_variables_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    xr.Dataset({f"v{n}": (("y", "x"), np.ones((2, 3))) for n in range(30)}).to_netcdf(tmp_path / "a.nc")
    calls: list[str] = []
    for name in ("contents", "describe", "describe_seen"):
        original = getattr(formats, name)
        monkeypatch.setattr(formats, name, lambda *a, _o=original, _n=name, **k: (calls.append(_n), _o(*a, **k))[1])
    found = xr.open_dataset(tmp_path / "a.nc", engine=Engine)
    assert calls == ["contents"]
    found.v3.load()
    found.v3[:1].load()
    assert calls == ["contents", "describe_seen"]


def test_xarray_finds_the_engine_by_its_name() -> None:
    point = entry_point()
    assert point.name == "swath"
    assert point.load() is Engine
    engines = xr.backends.plugins.build_engines([point])
    assert isinstance(engines["swath"], Engine)
    assert "Swath" in repr(engines["swath"])


def test_what_can_be_opened_is_told_by_its_first_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain().to_netcdf(tmp_path / "no.suffix")
    plain().to_netcdf(tmp_path / "three", format="NETCDF3_CLASSIC")
    plain().to_zarr(tmp_path / "a.zarr")
    np.save(tmp_path / "a.npy", np.arange(3))
    (tmp_path / "a.nc").write_bytes(b"no netCDF file")
    engine = Engine()
    assert engine.guess_can_open(tmp_path / "no.suffix")
    assert engine.guess_can_open(os.fspath(tmp_path / "three"))
    for other in ("a.nc", "a.npy", "missing", "."):
        assert not engine.guess_can_open(tmp_path / other)
    for other in ("https://example.org/a.nc", b"CDF\1", 3):
        assert not engine.guess_can_open(other)
    assert not engine.guess_can_open(tmp_path / "a.zarr")  # the zarr package is here, whose it is
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert engine.guess_can_open(tmp_path / "a.zarr")


def test_paths_are_text_bytes_and_path_like_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain().to_netcdf(tmp_path / "a.nc")
    for path in (tmp_path / "a.nc", os.fspath(tmp_path / "a.nc"), os.fsencode(tmp_path / "a.nc")):
        xr.testing.assert_identical(xr.open_dataset(path, engine=Engine), plain())
    monkeypatch.setenv("HOME", os.fspath(tmp_path))
    xr.testing.assert_identical(xr.open_dataset("~/a.nc", engine=Engine), plain())
    for wrong in ("https://example.org/a.nc", (tmp_path / "a.nc").read_bytes(), memoryview(b""), 3):
        with pytest.raises(swath.ArgumentError):
            xr.open_dataset(wrong, engine=Engine)
    with pytest.raises(swath.NotFoundError):
        xr.open_dataset(tmp_path / "missing.nc", engine=Engine)
    (tmp_path / "a.txt").write_text("no file of arrays")
    with pytest.raises(swath.FormatError, match="no known format begins with"):
        xr.open_dataset(tmp_path / "a.txt", engine=Engine)
    (tmp_path / "short.nc").write_bytes((tmp_path / "a.nc").read_bytes()[:200])
    with pytest.raises(swath.Error):
        xr.open_dataset(tmp_path / "short.nc", engine=Engine)


def test_an_npy_file_is_a_data_set_of_one_variable(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6).reshape(2, 3))
    found = xr.open_dataset(tmp_path / "a.npy", engine=Engine)
    assert list(found.variables) == ["data"]
    assert found.data.dims == ("phony_dim_0", "phony_dim_1")
    np.testing.assert_array_equal(found["data"].values, np.arange(6).reshape(2, 3))


def test_many_files_are_one_data_set(tmp_path: Path) -> None:
    pytest.importorskip("dask")
    whole = plain().isel(time=slice(0, 3))
    for number in range(3):
        whole.isel(time=slice(number, number + 1)).to_netcdf(tmp_path / f"{number}.nc")
    found = xr.open_mfdataset(
        str(tmp_path / "*.nc"), engine=Engine, data_vars="minimal", coords="minimal", compat="override"
    )
    xr.testing.assert_equal(found, whole)


def test_dropped_variables_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain().to_netcdf(tmp_path / "a.nc")
    read: list[str] = []
    original = lazy.LazyArray._read
    monkeypatch.setattr(lazy.LazyArray, "_read", lambda self, *a: (read.append(self.name), original(self, *a))[1])
    found = xr.open_dataset(tmp_path / "a.nc", engine=Engine, drop_variables=["time", "t"])
    assert set(found.variables) == {"count", "scalar", "x", "label"}
    assert set(read) == {"x"}

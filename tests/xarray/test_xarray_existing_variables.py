"""`to_file(mode="a")` onto existing variables: old values or new ones, and none is read as another value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from xarray_cases import xr

dask_array = pytest.importorskip("dask.array")
pytest.importorskip("h5py")

import swath.xarray  # noqa: E402 - registers `ds.swath`

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.parametrize("suffix", ["nc3", "nc4", "zarr"])]

PACKED = {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}


def of(*values: Any, dtype: Any = None, **attributes: Any) -> xr.Dataset:
    return xr.Dataset({"t": ("x", np.array(values, dtype), attributes)})


def read(path: Path) -> Any:
    return xr.load_dataset(path, engine="swath").t.values


def fail(_: Any) -> Any:
    raise RuntimeError("no such block")


def failing() -> Any:
    return dask_array.ones(4000, chunks=4000).map_blocks(fail, dtype="f8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"scale_factor": 5.0}, r"t has scale_factor 0\.5, and these values have scale_factor 5\.0"),
        ({"add_offset": 1.0}, r"t has no add_offset, and these values have add_offset 1\.0"),
    ],
)
def test_values_packed_otherwise_are_refused(tmp_path: Path, suffix: str, words: Any, message: str) -> None:
    path = tmp_path / f"a.{suffix}"
    of(1.0, 2.0, 3.0).swath.to_file(path, encoding={"t": PACKED})
    more = of(10.0, 20.0, 30.0).assign(b=("y", failing()))
    with pytest.raises(swath.ArgumentError, match=message):
        more.swath.to_file(path, mode="a", encoding={"t": {**PACKED, **words}}, memory=64)
    np.testing.assert_array_equal(read(path), [1, 2, 3])


def test_values_that_may_be_old_or_new_are_no_others(tmp_path: Path, suffix: str) -> None:
    """Values that are written before a failure are packed as in the file, not as in another file."""
    path = tmp_path / f"a.{suffix}"
    of(1.0, 2.0, 3.0).swath.to_file(path, encoding={"t": PACKED})
    of(10.0, np.nan, 30.0).swath.to_file(tmp_path / "b.nc", encoding={"t": {**PACKED, "scale_factor": 5.0}})
    with xr.open_dataset(tmp_path / "b.nc", engine="swath") as other:
        more = other.assign(b=("y", failing()))
        with pytest.raises(RuntimeError, match="no such block"):
            more.swath.to_file(path, mode="a", memory=64)
    found = read(path)
    assert found.tolist() == [1, 2, 3] or np.array_equal(found, [10, np.nan, 30], equal_nan=True)


def test_values_are_packed_as_the_file_has_them(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    of(1.0, np.nan, 3.0).swath.to_file(path, encoding={"t": PACKED})
    for new in (of(4.0, np.nan, -6.5), of(4.0, np.nan, -6.5).chunk(x=2), of(4.0, np.nan, -6.5, dtype="f4")):
        new.swath.to_file(path, mode="a")
        np.testing.assert_array_equal(read(path), [4, np.nan, -6.5])
    of(7, 8, 9).swath.to_file(path, mode="a")
    np.testing.assert_array_equal(read(path), [7, 8, 9])
    for lost in (20_000.0, np.inf, -0.5):  # which is packed as -1, and that is read as missing
        with pytest.raises(swath.ArgumentError, match=f"which {lost} has no value of"):
            of(4.0, np.nan, lost).swath.to_file(path, mode="a")
    np.testing.assert_array_equal(read(path), [7, 8, 9])


def test_units_of_another_kind_are_refused_and_times_have_those_of_the_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    days, hours = (np.datetime64("2000-01-02T00", "ns") + np.arange(3) * np.timedelta64(1, unit) for unit in "Dh")
    of(*days).swath.to_file(path, encoding={"t": {"units": "seconds since 2000-01-01", "dtype": "i4"}})
    of(*hours).swath.to_file(path, mode="a")
    np.testing.assert_array_equal(read(path), hours)
    with swath.open_file(path) as file:
        assert file["t"].attributes["units"] == "seconds since 2000-01-01"
    with pytest.raises(swath.ArgumentError, match="t has units seconds since 2000-01-01, and these values have units"):
        of(*days).swath.to_file(path, mode="a", encoding={"t": {"units": "days since 2000-01-01", "dtype": "i4"}})
    np.testing.assert_array_equal(read(path), hours)
    of(1.0, 2.0, units="K").swath.to_file(path, mode="w")
    with pytest.raises(swath.ArgumentError, match="t has units K, and these values have units degC"):
        of(3.0, 4.0, units="degC").swath.to_file(path, mode="a")
    of(3.0, 4.0).swath.to_file(path, mode="a")
    np.testing.assert_array_equal(read(path), [3, 4])


def test_values_that_are_read_from_what_they_overwrite_are_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    values = np.arange(8.0)
    xr.Dataset({"t": ("x", values), "u": ("x", values + 10)}).swath.to_file(path)
    with xr.open_dataset(path, engine="swath", chunks={"x": 2}) as found:
        backwards = found.isel(x=slice(None, None, -1))
        for wrong in (backwards, backwards.rename(t="u", u="v"), (found[["t"]] + 1).assign(w=found.t.sum())):
            with pytest.raises(swath.ArgumentError, match=r"is read from [tu] of the same file .* load\(\)"):
                wrong.swath.to_file(path, mode="a", memory=16)
        backwards.rename(t="v", u="w").swath.to_file(path, mode="a", memory=16)  # which nothing is read from
        backwards[["t"]].load().swath.to_file(path, mode="a", memory=16)
    with swath.open(path, "u") as u:
        wrong = xr.Dataset({"u": ("x", u.to_dask(chunks=(2,))[::-1])})
        with pytest.raises(swath.ArgumentError, match="is read from u of the same file"):
            wrong.swath.to_file(path, mode="a", memory=16)
    found = xr.load_dataset(path, engine="swath")
    for name, expected in {"t": values[::-1], "u": values + 10, "v": values[::-1], "w": values[::-1] + 10}.items():
        np.testing.assert_array_equal(found[name], expected)


@pytest.mark.parametrize("chunks", [None, 2])
def test_numbers_beyond_the_type_are_refused(tmp_path: Path, suffix: str, chunks: int | None) -> None:
    path = tmp_path / f"a.{suffix}"
    of(1, 2, 3, dtype="f4").swath.to_file(path)
    new = of(1e300, 2.0, 3.0)
    with pytest.raises(swath.ArgumentError, match=r"t is (>f4|float32)"):
        (new if chunks is None else new.chunk(x=chunks)).swath.to_file(path, mode="a")
    np.testing.assert_array_equal(read(path), [1, 2, 3])
    of(np.inf, np.nan, 0.1).swath.to_file(path, mode="a")
    np.testing.assert_array_equal(read(path), np.array([np.inf, np.nan, 0.1], "f4"))


@pytest.mark.parametrize("chunks", [None, 2])
def test_values_that_the_file_has_for_missing_ones_are_refused(tmp_path: Path, suffix: str, chunks: int | None) -> None:
    path = tmp_path / f"a.{suffix}"
    of(1, 2, 3, dtype="i4").swath.to_file(path, encoding={"t": {"_FillValue": -1}})
    new = of(-1, 2, 3, dtype="i4")
    new = new if chunks is None else new.chunk(x=chunks)
    with pytest.raises(swath.ArgumentError, match="t has _FillValue -1, and some of these values are that"):
        new.swath.to_file(path, mode="a")
    np.testing.assert_array_equal(read(path), [1, 2, 3])
    new.swath.to_file(path, mode="a", encoding={"t": {"_FillValue": -1}})  # said to be missing
    np.testing.assert_array_equal(read(path), [np.nan, 2, 3])

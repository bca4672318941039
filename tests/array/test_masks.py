"""Masked arrays are stored with their fill value, and `decoded` reads the meaning of stored values."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import swath
from swath import Block, Boxes, Distribution, Whole
from swath.simulated import run_ranks

STORED = np.array([[1, -1, 3], [4, 5, -9], [7, 8, 9], [-1, -1, 12]], "i2")
MISSING = STORED < 0
ROWS = Distribution((Block(), Whole()), grid=(2, 1))


@pytest.fixture(params=["NETCDF3_CLASSIC", "NETCDF4"])
def packed(request: Any, tmp_path: Path) -> Path:
    """Make a file of packed values: with two missing values, float32 factors; and without missing values."""
    path = tmp_path / "packed.nc"
    with netCDF4.Dataset(path, "w", format=request.param) as file:
        for name, length in zip("yx", STORED.shape, strict=True):
            file.createDimension(name, length)
        for name in ("t", "plain"):
            variable = file.createVariable(name, "i2", ("y", "x"), fill_value=-1 if name == "t" else None)
            variable.set_auto_maskandscale(False)
            variable[:] = STORED
        attributes = {"missing_value": np.int16(-9), "scale_factor": np.float32(0.5), "add_offset": np.float32(10)}
        file["t"].setncatts({**attributes, "units": "K"})
    return path


def expected(path: Path, name: str = "t") -> np.ma.MaskedArray[Any, Any]:
    with netCDF4.Dataset(path) as file:
        return file[name][:]


def assert_same(found: Any, wanted: Any) -> None:
    assert isinstance(found, np.ma.MaskedArray)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(wanted))
    np.testing.assert_array_equal(found.filled(0), wanted.filled(0))


def test_values_stay_the_stored_ones_unless_decoded_is_asked_for(packed: Path) -> None:
    with swath.open(packed, "t") as a:
        np.testing.assert_array_equal(a[...], STORED)
        np.testing.assert_array_equal(a.read(), STORED)
        assert type(a[...]) is np.ndarray
        assert_same(a.decoded[...], expected(packed))
    with swath.open(packed, "t", decode=True) as decoded:
        assert_same(decoded.read(), expected(packed))
        assert_same(decoded[1:, ::2], expected(packed)[1:, ::2])
        assert (decoded.dtype, decoded.shape, decoded.ndim, len(decoded)) == (np.float32, (4, 3), 2, 4)
        assert dict(decoded.attributes) == {"units": "K"}
        assert decoded.dimensions == ("y", "x")
        assert (decoded.variable, decoded.path, decoded.chunks) == ("t", str(packed), None)
        assert decoded[0, 1] is np.ma.masked
        assert decoded[0, 0] == np.float32(10.5)
        assert isinstance(decoded[0, 0], np.float32)
        assert np.isnan(decoded.fill_value)
    with pytest.raises(swath.ArgumentError, match="closed"):
        decoded[...]


def test_numpy_gets_nan_for_what_is_masked_and_an_error_where_there_is_none(packed: Path) -> None:
    with swath.open(packed, "t", decode=True) as decoded:
        np.testing.assert_array_equal(np.asarray(decoded), expected(packed).filled(np.nan))
        assert np.nanmax(decoded) == 16.0
        assert [row.count() for row in decoded] == [2, 2, 3, 1]
        with pytest.raises(ValueError, match="no view"):
            np.asarray(decoded, copy=False)
    with netCDF4.Dataset(packed, "a") as file:
        file["plain"].missing_value = np.int16(-1)
    with swath.open(packed, "plain", decode=True) as decoded:
        with pytest.raises(swath.ArgumentError, match=r"some elements are masked, and dtype int16 has no NaN"):
            np.asarray(decoded)
        np.testing.assert_array_equal(np.asarray(decoded.stored), STORED)


def test_elements_that_nobody_wrote_are_masked_in_netcdf_without_a_fill_value(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("x", 5)
        for dtype in ("f4", "i4", "i1"):
            file.createVariable(dtype, dtype, ("x",))[1:3] = [1, 2]
    for dtype in ("f4", "i4", "i1"):
        with swath.open(tmp_path / "a.nc", dtype, decode=True) as decoded:
            assert decoded[...].tolist() == [None, 1, 2, None, None]
            assert_same(decoded[...], expected(tmp_path / "a.nc", dtype))
    np.save(tmp_path / "a.npy", np.zeros(3))
    with swath.open(tmp_path / "a.npy", decode=True) as decoded:
        assert decoded[...].mask is np.ma.nomask


@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_decode_their_shares(packed: Path, ranks: int) -> None:
    rows = Distribution((Block(), Whole()), grid=(ranks, 1))
    wanted = expected(packed)

    def work(comm: Any) -> None:
        with swath.open(packed, "t", comm=comm, decode=True) as decoded:
            mine = np.ix_(*rows.indices(STORED.shape, comm.rank))
            assert_same(decoded.read(rows), wanted[mine])
            low = min(comm.rank, 3)
            (part,) = decoded.read(Boxes([((low, 0), (low + 1, 2))]))
            assert_same(part, wanted[low : low + 1, :2])

    run_ranks(ranks, work)


def test_decoded_values_are_not_written(packed: Path) -> None:
    before = packed.read_bytes()
    with swath.open(packed, "t", mode="r+", decode=True) as decoded:
        for write in (decoded.write, decoded.append, lambda values: decoded.__setitem__(..., values)):
            with pytest.raises(swath.ArgumentError, match=r"only read; write stored ones, by `\.stored`"):
                write(np.zeros((4, 3), "f4"))
    assert packed.read_bytes() == before


def test_an_attribute_of_no_use_is_told_with_the_variable(packed: Path) -> None:
    with netCDF4.Dataset(packed, "a") as file:
        file["plain"].scale_factor = "0.1"
    with pytest.warns(UserWarning, match=r"packed.nc:plain: scale_factor = '0.1' is not used"):
        swath.open(packed, "plain", decode=True).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        swath.open(packed, "plain").close()


# ---- masked arrays are written ---------------------------------------------------------------------------------------

MASKED = np.ma.MaskedArray(np.abs(STORED), mask=MISSING)


@pytest.mark.parametrize("how", ["write", "index", "strided", "other byte order", "box", "part"])
def test_masked_elements_are_stored_as_the_fill_value(packed: Path, how: str) -> None:
    wanted = np.where(MISSING, -1, STORED)
    values = MASKED.astype(">i2" if how == "other byte order" else "<i2")
    with swath.open(packed, "t", mode="r+") as a:
        values = values.astype(a.dtype) if how in ("strided", "box") else values
        a[...] = 0
        if how == "write":
            a.write(values)
        elif how == "index":
            a[...] = values.astype("f8")
        elif how == "box":
            a.write([values[:2], values[2:]], Boxes([((0, 0), (2, 3)), ((2, 0), (4, 3))]))
        elif how == "part":
            a[:2] = values[:2]
            a[2:] = values[2:]
        else:
            a.write(np.ma.asarray(np.ma.copy(values.T, order="C")).T)
        np.testing.assert_array_equal(a[...], wanted)
        a[0] = np.ma.masked
        assert a[0].tolist() == [-1] * 3
    assert values.data.tolist() == np.abs(STORED).tolist()  # those of the caller stay


def test_missing_value_stands_in_where_there_is_no_fill_value(packed: Path) -> None:
    with netCDF4.Dataset(packed, "a") as file:
        file["plain"].missing_value = np.array([-9, -8], "i2")
    with swath.open(packed, "plain", mode="r+") as a:
        a[...] = MASKED
        np.testing.assert_array_equal(a[...], np.where(MISSING, -9, STORED))
        np.testing.assert_array_equal(np.ma.getmaskarray(a.decoded[...]), MISSING)


def test_a_mask_that_cannot_be_stored_is_refused_before_anything_is_written(packed: Path) -> None:
    before = packed.read_bytes()
    with swath.open(packed, "plain", mode="r+") as a:
        with pytest.raises(swath.ArgumentError, match=r"plain: values: 4 elements are masked, and the variable has no"):
            a.write(MASKED.astype(a.dtype))
        with pytest.raises(swath.ArgumentError, match=r"^write .*: 2 elements are masked"):
            a[3] = MASKED[3]
        boxes = Boxes([((2, 0), (3, 3)), ((3, 0), (4, 3))])
        with pytest.raises(swath.ArgumentError, match=r"values\[1\]: 2 elements are masked"):
            a.write([MASKED[2:3].astype(a.dtype), MASKED[3:].astype(a.dtype)], boxes)
    assert packed.read_bytes() == before


def test_a_masked_array_without_masked_elements_is_written_as_any_other(packed: Path, tmp_path: Path) -> None:
    for mask in (np.ma.nomask, np.zeros_like(MISSING)):
        with swath.create(tmp_path / "a.raw", STORED.shape, STORED.dtype, overwrite=True) as a:
            a.write(np.ma.MaskedArray(STORED, mask=mask))
        np.testing.assert_array_equal(np.fromfile(tmp_path / "a.raw", "i2"), STORED.ravel())


def test_a_masked_array_of_another_dtype_is_refused_for_that(packed: Path) -> None:
    with swath.open(packed, "t", mode="r+") as a, pytest.raises(swath.ArgumentError, match="dtype float64, but the"):
        a.write(MASKED.astype("f8"))


def test_a_mask_of_one_rank_that_cannot_be_stored_is_an_error_on_all(packed: Path) -> None:
    before = packed.read_bytes()

    def work(comm: Any) -> str:
        with swath.open(packed, "plain", mode="r+", comm=comm) as a:
            mine = MASKED[2 * comm.rank : 2 * comm.rank + 2].astype(a.dtype)
            mine = mine if comm.rank == 1 else mine.filled(0)
            with pytest.raises(swath.ArgumentError) as raised:
                a.write(mine, ROWS)
            return str(raised.value)

    found = set(run_ranks(2, work))
    assert len(found) == 1
    assert "rank 1: write " in found.pop()
    assert packed.read_bytes() == before


def test_ranks_that_write_masks_where_others_have_none_agree(packed: Path) -> None:
    def work(comm: Any) -> None:
        with swath.open(packed, "t", mode="r+", comm=comm) as a:
            mine = MASKED[2 * comm.rank : 2 * comm.rank + 2].astype(a.dtype)
            a.write(mine if comm.rank == 1 else mine.filled(0), ROWS)

    run_ranks(2, work)
    with swath.open(packed, "t") as a:
        assert a[...].tolist() == [[1, 0, 3], [4, 5, 0], [7, 8, 9], [-1, -1, 12]]


def test_masks_do_not_vanish_between_memories() -> None:
    rows, columns = Distribution((Block(), Whole()), (1, 1)), Distribution((Whole(), Block()), (1, 1))
    with pytest.raises(swath.ArgumentError, match=r"some elements are masked: move part\.data"):
        swath.redistribute(MASKED, rows, columns, MASKED.shape)


def test_a_new_variable_with_a_fill_value_takes_masks(tmp_path: Path) -> None:
    with swath.create(tmp_path / "a.nc", STORED.shape, "i2", variable="t", fill=-5) as a:
        a[...] = MASKED
        assert_same(a.decoded[...], np.ma.MaskedArray(STORED, mask=MISSING))
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        np.testing.assert_array_equal(np.ma.getmaskarray(file["t"][:]), MISSING)


@pytest.mark.parametrize("suffix", ["nc3", "h5", "zarr"])
def test_masked_records_are_appended_or_refused_and_the_array_is_then_as_it_was(tmp_path: Path, suffix: str) -> None:
    record = np.ma.MaskedArray([1, 2, 3], mask=[0, 1, 0], dtype="i2")
    with swath.create_file(tmp_path / f"a.{suffix}") as f:
        t = f.create("t", (None, 3), "i2", dimensions=("time", "x"), attributes={"missing_value": np.int16(-9)})
        u = f.create("u", (None, 3), "i2", dimensions=("time", "x"))
        t.append(record.astype(t.dtype))
        with pytest.raises(swath.ArgumentError, match="1 elements are masked"):
            u.append(record.astype(u.dtype))
        assert u.shape == (0, 3)
        u.append(record.filled(0).astype(u.dtype))
    with swath.open_file(tmp_path / f"a.{suffix}") as f:
        assert f["t"][...].tolist() == [[1, -9, 3]]
        assert f["t"].decoded[...].tolist() == [[1, None, 3]]
        assert f["u"][...].tolist() == [[1, 0, 3]]

"""Stored values are masked and scaled like those of netCDF4-python."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import hypothesis
import netCDF4
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swath
from swath.array.decoding import Decoding, cast_exactly, stored_fill

NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
FACTORS = st.sampled_from(
    [np.float32(0.5), np.float64(0.01), np.float32(1), np.float64(1), np.float64(0), np.int16(3), np.float32(0)]
)


@st.composite
def variables(draw: st.DrawFn) -> tuple[np.dtype[Any], np.ndarray[Any, Any], dict[str, Any]]:
    """Draw a dtype, values, and attributes; attributes that mask are taken from the values, so that they do mask."""
    dtype = np.dtype(draw(st.sampled_from(NUMBERS)))
    numbers = st.integers(-4, 4) if dtype.kind != "u" else st.integers(0, 8)
    values = np.array(draw(st.lists(numbers, min_size=8, max_size=8)), dtype)
    specials = [np.asarray(netCDF4.default_fillvals[dtype.str[1:]], dtype), *([np.nan] if dtype.kind == "f" else [])]
    values[draw(st.integers(0, 7))] = draw(st.sampled_from(specials))
    one = st.sampled_from(list(values))
    attributes: dict[str, Any] = {}
    for name, value in {
        "_FillValue": one,
        "missing_value": one | st.lists(one, min_size=2, max_size=3).map(lambda found: np.array(found, dtype)),
        "valid_min": one,
        "valid_max": one,
        "valid_range": st.lists(one, min_size=2, max_size=2).map(lambda found: np.array(found, dtype)),
        "scale_factor": FACTORS,
        "add_offset": FACTORS,
        "_Unsigned": st.sampled_from(["true", "false"]),
    }.items():
        if draw(st.integers(0, 3)) == 0:
            attributes[name] = draw(value)
    return dtype, values, attributes


def decoded_by_netcdf4(dtype: np.dtype[Any], values: Any, attributes: dict[str, Any]) -> np.ma.MaskedArray[Any, Any]:
    with netCDF4.Dataset("in memory", "w", diskless=True, persist=False) as dataset:
        dataset.createDimension("x", len(values))
        variable = dataset.createVariable("v", dtype, ("x",), fill_value=attributes.get("_FillValue"))
        variable.setncatts({name: value for name, value in attributes.items() if name != "_FillValue"})
        variable.set_auto_maskandscale(False)
        variable[:] = values
        variable.set_auto_maskandscale(True)
        try:
            return variable[:]
        except TypeError:  # netCDF4's own fill value has a sign that the values lack
            if attributes.get("_Unsigned") != "true":
                raise
            hypothesis.reject()


@settings(deadline=None, max_examples=200)
@given(variables())
def test_values_are_decoded_as_netcdf4_python_does(variable: Any) -> None:
    dtype, values, attributes = variable
    expected = decoded_by_netcdf4(dtype, values, attributes)
    fill = netCDF4.default_fillvals[dtype.str[1:]]
    for order in "<>":
        stored = values.astype(dtype.newbyteorder(order))
        decoding = Decoding.of(stored.dtype, attributes, None if "_FillValue" in attributes else fill)
        found = decoding.decode(stored)
        assert (found.dtype, found.dtype) == (expected.dtype, decoding.dtype)
        np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
        kept = ~np.ma.getmaskarray(expected)
        assert found.data[kept].tobytes() == expected.data[kept].tobytes()


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({"missing_value": "none"}, "no value of dtype int16"),
        ({"_FillValue": np.float64(0.5)}, "no value of dtype int16"),
        ({"missing_value": np.float64("nan")}, "no value of dtype int16"),
        ({"valid_range": np.array([1, 2, 3], "i2")}, "3 values, not two"),
        ({"scale_factor": "0.1"}, "expected a number; values are not scaled"),
        ({"scale_factor": np.array([1.0, 2.0]), "add_offset": 1.0}, "values are not scaled"),
    ],
)
def test_an_attribute_that_cannot_be_used_is_told_and_left_out(attributes: dict[str, Any], why: str) -> None:
    stored = np.arange(5, dtype="i2")
    with pytest.warns(UserWarning, match=f"t: {next(iter(attributes))} = .* is not used: .*{why}"):
        decoding = Decoding.of(stored.dtype, attributes, name="t")
    found = decoding.decode(stored.copy())
    assert found.mask is np.ma.nomask
    np.testing.assert_array_equal(found.data, stored)
    assert found.dtype == stored.dtype


def test_a_missing_value_of_an_array_without_sign_may_be_given_either_way() -> None:
    for value in (np.uint8(255), np.int8(-1)):
        decoding = Decoding.of(np.dtype("i1"), {"_Unsigned": "true", "missing_value": value})
        assert decoding.decode(np.array([-1, -2], "i1")).tolist() == [None, 254]


def test_a_fill_value_is_the_stored_one_until_values_are_scaled() -> None:
    plain = Decoding.of(np.dtype(">i2"), {"_FillValue": np.int16(-7)})
    assert plain.decode(np.array([-7, 1], ">i2")).filled().tolist() == [-7, 1]
    scaled = Decoding.of(np.dtype("f4"), {"_FillValue": np.float32(-7), "scale_factor": np.float32(2)})
    np.testing.assert_array_equal(scaled.decode(np.array([-7, 1], "f4")).filled(), [np.nan, 2])


def test_what_has_no_numbers_is_masked_by_its_attributes_alone() -> None:
    text = Decoding.of(np.dtype("S2"), {"_FillValue": b"no", "scale_factor": 2.0}, b"")
    assert text.decode(np.array([b"no", b"ab", b""])).tolist() == [None, b"ab", b""]
    pairs = np.ones(3, [("a", ">i4"), ("b", "<f8")])
    decoded = Decoding.of(pairs.dtype, {"missing_value": 1}).decode(pairs)
    assert decoded.dtype == pairs.dtype
    assert decoded.tolist() == [(1, 1.0)] * 3


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"_FillValue": np.int16(-1), "missing_value": np.int16(-2)}, -1),
        ({"missing_value": np.array([-2, -3], "i2")}, -2),
        ({"_FillValue": np.float64(0.5), "missing_value": np.float64(-2)}, -2),
        ({"missing_value": "x"}, None),
        ({"scale_factor": 1.0}, None),
    ],
)
def test_missing_elements_are_stored_as_the_fill_value_else_the_missing_value(
    attributes: dict[str, Any], expected: int | None
) -> None:
    found = stored_fill(np.dtype(">i2"), attributes)
    assert found == expected
    assert found is None or found.dtype == ">i2"


def test_missing_characters_are_masked_as_netcdf4_python_masks_them(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("x", 3)
        file.createVariable("flag", "S1", ("x",), fill_value=b"-")[:] = [b"a", b"-", b"c"]
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        theirs = file["flag"][:]
    ours = swath.open(tmp_path / "a.nc", "flag", decode=True)[...]
    assert ours.mask.tolist() == theirs.mask.tolist() == [False, True, False]


def test_a_cast_is_exact_or_none() -> None:
    assert cast_exactly([1.0, 2.0], np.dtype("i2")) is not None
    assert np.isnan(cast_exactly(np.nan, np.dtype("f4")))  # type: ignore[arg-type]
    for value, dtype in [(1e20, "f4"), (300, "i1"), (-1, "u1"), ("5", "i4"), (b"abc", "S2"), (2**53 + 1, "f8")]:
        assert cast_exactly(value, np.dtype(dtype)) is None, value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cast_exactly(np.inf, np.dtype("i4")) is None

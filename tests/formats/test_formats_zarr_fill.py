"""_FillValue in Zarr stores, as xarray writes and reads it, in both versions and for every kind of element."""

from __future__ import annotations

import json
import math
import pathlib
import warnings
from typing import Any

import numpy as np
import pytest

import swath
from swath import formats
from swath.errors import ArgumentError
from swath.formats import zarr as swath_zarr
from zarr_cases import changes_in, new_array, zarr

xr = pytest.importorskip("xarray")

Path = pathlib.Path
FILLS: list[tuple[str, Any]] = [
    ("<f4", -999.0),
    (">f4", 1e20),
    ("<f8", math.nan),
    ("<f8", math.inf),
    ("<f2", 0.5),
    ("<i2", -32768),
    (">i4", 7),
    ("<u8", 2**64 - 1),
    ("?", True),
    ("<c8", 1.5 - 2j),
    ("<c16", complex(math.nan, 1)),
]


def is_same(ours: Any, theirs: Any) -> bool:
    return np.array(ours).tobytes() == np.array(theirs).astype(np.array(ours).dtype).tobytes()


@pytest.mark.parametrize("flavour", ["v2", "v3"])
@pytest.mark.parametrize(("dtype", "fill"), FILLS)
def test_a_fill_value_is_missing_in_xarray_and_the_same_from_both(
    tmp_path: Path, flavour: str, dtype: str, fill: Any
) -> None:
    path = tmp_path / "a.zarr"
    values = np.zeros(4, dtype)
    values[1:3] = fill
    with swath.create(path, (4,), dtype, fill=fill, variable="a", dimensions=("x",), format=f"zarr:{flavour}") as array:
        array.write(values)
    ours = formats.describe(path, "a").attributes["_FillValue"]
    assert isinstance(ours, np.generic)
    assert ours.dtype == np.dtype(dtype).newbyteorder("=")
    with xr.open_zarr(path, consolidated=False, decode_cf=False, chunks=None) as raw:
        assert is_same(ours, raw.a.attrs["_FillValue"])
        assert raw.a.values.tobytes() == values.astype(raw.a.dtype).tobytes()
    with xr.open_zarr(path, consolidated=False, chunks=None) as masked:
        if np.dtype(dtype).kind != "b":  # booleans cannot be missing in xarray
            assert masked.a.isnull().values.tolist() == [False, True, True, False]
        assert is_same(ours, masked.a.encoding.get("_FillValue", fill))
    assert swath_zarr.contents(str(path)).variables["a"].attributes.keys() == {"_FillValue"}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("dtype", "fill"), FILLS)
def test_what_xarray_masks_has_the_same_fill_value_here(tmp_path: Path, version: int, dtype: str, fill: Any) -> None:
    path = str(tmp_path / "a.zarr")
    values = np.zeros(4, np.dtype(dtype).newbyteorder("="))
    values[1:3] = fill
    variable = xr.Variable(("x",), values, {"_FillValue": values[1]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        xr.Dataset({"a": variable}).to_zarr(path, zarr_format=version, consolidated=False)
    with xr.open_zarr(path, consolidated=False, decode_cf=False, chunks=None) as raw:
        theirs = raw.a.attrs["_FillValue"]
    found = formats.describe(path, "a").attributes
    assert found.keys() == {"_FillValue"}
    assert found["_FillValue"].dtype == values.dtype
    assert is_same(found["_FillValue"], theirs)


@pytest.mark.parametrize("flavour", ["v2", "v3"])
def test_without_a_fill_value_nothing_is_missing(tmp_path: Path, flavour: str) -> None:
    with swath.create(
        tmp_path / "a.zarr", (3,), "f4", variable="a", dimensions=("x",), format=f"zarr:{flavour}"
    ) as array:
        array[0] = 0
    assert formats.describe(tmp_path / "a.zarr", "a").attributes == {}
    with xr.open_zarr(tmp_path / "a.zarr", consolidated=False, chunks=None) as found:
        assert found.a.values.tolist() == [0, 0, 0], "not one of them is NaN"
    assert np.array_equal(zarr.open_array(str(tmp_path / "a.zarr/a"), mode="r")[...], [0, 0, 0])


@pytest.mark.parametrize("flavour", ["v2", "v3"])
@pytest.mark.parametrize(("dtype", "fill"), [("S3", b"ab"), ("<U3", "é"), ("<M8[s]", 5), ("V2", b"ab")])
def test_of_text_and_times_xarray_opens_what_has_a_fill_value(
    tmp_path: Path, flavour: str, dtype: str, fill: Any
) -> None:
    """xarray writes such an attribute in version 3, but cannot read it: Swath leaves it out."""
    path = tmp_path / "a.zarr"
    with swath.create(path, (2,), dtype, fill=np.array(fill, dtype), variable="a", format=f"zarr:{flavour}") as array:
        pass
    found = formats.describe(path, "a")
    assert found.fill == np.array(fill, dtype).tobytes()
    assert ("_FillValue" in found.attributes) == (flavour == "v2")
    assert dict(zarr.open_array(str(path / "a"), mode="r").attrs) == {}
    del array


@pytest.mark.parametrize(
    ("stored", "seen"),
    [(5.5, np.float32(5.5)), ("AAAAAAAA+D8=", np.float32(1.5)), ("nonsense", "nonsense"), ([1, 2], [1, 2])],
)
def test_an_attribute_that_others_wrote_is_decoded_where_it_can_be(tmp_path: Path, stored: Any, seen: Any) -> None:
    zarr.create_array(str(tmp_path / "a.zarr"), shape=(2,), dtype="f4", attributes={"_FillValue": stored})
    found = formats.describe(tmp_path / "a.zarr").attributes["_FillValue"]
    assert (np.array_equal(found, seen), isinstance(found, np.float32)) == (True, isinstance(seen, np.float32))


def test_the_attribute_and_what_was_never_written_may_differ_in_version_3_alone(tmp_path: Path) -> None:
    asked = new_array("a", (2,), "<i2", fill=0, attributes={"_FillValue": np.int16(-9)})
    swath_zarr.start(str(tmp_path / "3.zarr"), "v3")
    told = {"3": changes_in(tmp_path / "3.zarr")}
    found = swath_zarr.add(told["3"], asked)
    assert (found.fill, found.attributes) == (b"\0\0", {"_FillValue": np.int16(-9)})
    assert json.loads((tmp_path / "3.zarr/a/zarr.json").read_text())["attributes"] == {"_FillValue": -9}
    swath_zarr.start(str(tmp_path / "2.zarr"), "v2")
    told["2"] = changes_in(tmp_path / "2.zarr")
    with pytest.raises(ArgumentError, match="one fill value: fill= is 0, _FillValue among the attributes is -9"):
        swath_zarr.add(told["2"], asked)
    for flavour in "23":
        alone = new_array("b", (2,), "<i2", attributes={"_FillValue": -9})
        found = swath_zarr.add(told[flavour], alone)
        assert np.frombuffer(found.fill, "<i2")[0] == -9, "what was never written is missing"
        assert found.attributes == {"_FillValue": -9}
    with pytest.raises(ArgumentError, match="not a value of dtype int16"):
        swath_zarr.add(told["3"], new_array("c", (2,), "<i2", attributes={"_FillValue": "x"}))

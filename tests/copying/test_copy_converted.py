"""Elements that get another dtype in a copy keep their meaning: missing values and bounds are converted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath

h5py = pytest.importorskip("h5py")


def made(folder: Path, values: Any, **attributes: Any) -> Path:
    path = folder / "a.h5"
    with h5py.File(path, "w") as file:
        file["v"] = values
        file["v"].attrs.update(attributes)
    return path


@pytest.mark.parametrize("suffix", ["nc3", "nc", "h5", "zarr"])
@pytest.mark.parametrize("name", ["_FillValue", "missing_value"])
@pytest.mark.parametrize(("of", "to"), [("f8", "f4"), ("i2", "f8"), ("i4", "i2"), ("u1", "i4")])
def test_what_is_missing_is_missing_still(tmp_path: Path, suffix: str, name: str, of: str, to: str) -> None:
    missing = {"f8": 1e20, "i2": -999, "i4": -999, "u1": 255}[of]  # 1e20 is another number as f4
    values = np.array([1, 2, missing, 4], of)
    path = made(
        tmp_path, values, **{name: values.dtype.type(missing), "units": "m", "valid_max": values.dtype.type(100)}
    )
    target = tmp_path / f"b.{suffix}"
    kind = "netcdf-classic" if suffix == "nc3" else None
    swath.copy(path, target, variable="v", dtype=to, casting="unsafe", format=kind)
    with swath.open(target, "v") as b:
        assert b.dtype == np.dtype(to).newbyteorder(">" if suffix == "nc3" else "=")
        assert np.ma.getmaskarray(b.decoded[...]).tolist() == [False, False, True, False]
        assert b[2] == b.attributes[name]
        assert b.attributes["units"] == "m"
        if suffix != "zarr":
            assert np.asarray(b.attributes["valid_max"]).dtype == np.dtype(to)


@pytest.mark.parametrize(
    ("of", "to", "attributes", "words"),
    [
        ("i4", "i2", {"_FillValue": np.int32(-2147483647)}, r"_FillValue -2147483647 is no int16: .* become 1"),
        ("i2", "u2", {"missing_value": np.int16(-9)}, r"missing_value -9 is no uint16"),
        ("i2", "u2", {"missing_value": np.array([5, -9], "i2")}, r"missing_value \[ 5 -9\] is no uint16"),
        ("f8", "f4", {"_FillValue": 1e300}, r"_FillValue 1e\+300 is no float32: .* become inf"),
        ("f8", "i4", {"_FillValue": np.nan}, r"_FillValue nan is no int32"),
        ("i1", "i4", {"_Unsigned": "true"}, r"unsigned by the attribute _Unsigned"),
        ("i1", "f4", {"_Unsigned": "true"}, r"unsigned by the attribute _Unsigned"),
    ],
)
def test_values_that_would_mean_others_are_refused(
    tmp_path: Path, of: str, to: str, attributes: dict[str, Any], words: str
) -> None:
    path = made(tmp_path, np.array([1, 2, 3], of), **attributes)
    with pytest.raises(swath.ArgumentError, match=words):
        swath.copy(path, tmp_path / "b.nc", variable="v", dtype=to, casting="unsafe")
    assert not (tmp_path / "b.nc").exists()
    swath.copy(path, tmp_path / "b.npy", variable="v", dtype=to, casting="unsafe")  # without attributes: NumPy's rule
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), np.array([1, 2, 3], to))
    swath.copy(path, tmp_path / "b.h5", variable="v")
    with swath.open(tmp_path / "b.h5") as b:
        for name, value in attributes.items():
            np.testing.assert_array_equal(b.attributes[name], value)


def test_bounds_that_the_new_type_has_not_stay_as_they_are(tmp_path: Path) -> None:
    path = made(tmp_path, np.array([1, 2, 300], "i4"), valid_range=np.array([0, 70000], "i4"))
    swath.copy(path, tmp_path / "b.h5", variable="v", dtype="i2", casting="unsafe")
    with swath.open(tmp_path / "b.h5") as b:
        assert list(b.attributes["valid_range"]) == [0, 70000]

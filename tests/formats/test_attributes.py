"""Attributes are stored at once, with their type, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.simulated import run_ranks

FORMATS = {"nc": "netcdf-classic", "nc4": "netcdf4", "h5": "hdf5", "zarr": "zarr", "v2.zarr": "zarr:v2"}
GIVEN: dict[str, Any] = {
    "units": "K",
    "scale_factor": np.float32(0.5),
    "missing_value": np.int16(-9),
    "levels": np.array([1, 2, 3], "i4"),
}


def created(folder: Path, suffix: str) -> Path:
    path = folder / f"a.{suffix}"
    with swath.create(path, (3, 4), "i2", variable="t", format=FORMATS[suffix], attributes={"old": 1.5}) as a:
        a[...] = 7
    return path


def assert_given(found: Any, suffix: str) -> None:
    """Check attributes against the given ones. Zarr has attributes in JSON, whose numbers have no types."""
    for name, value in GIVEN.items():
        np.testing.assert_array_equal(found[name], value)
        if name != "units" and not suffix.endswith("zarr"):
            assert np.asarray(found[name]).dtype == value.dtype, name


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_put_in_is_stored_with_its_type(tmp_path: Path, suffix: str, ranks: int) -> None:
    path = created(tmp_path, suffix)

    def work(comm: Any) -> None:
        with swath.open(path, "t", mode="r+", comm=comm) as a:
            a.attributes.update(GIVEN)
            a.attributes["note"] = "one more"
            del a.attributes["old"]
            assert_given(a.attributes, suffix)
            assert a.decoded.dtype == np.float32

    run_ranks(ranks, work)
    with swath.open(path, "t") as a:
        assert_given(a.attributes, suffix)
        assert a.attributes["note"] == "one more"
        assert "old" not in a.attributes
        assert (a[...] == 7).all()
        assert (a.decoded[...] == 3.5).all()


@pytest.mark.parametrize("suffix", FORMATS)
def test_attributes_of_the_file_and_of_groups_are_stored_too(tmp_path: Path, suffix: str) -> None:
    path = created(tmp_path, suffix)
    with swath.open_file(path, mode="r+") as f:
        f.attributes["title"] = "A run"
        if FORMATS[suffix] != "netcdf-classic":
            f.create("g/u", (2,), "f4")
            f.groups["g"].attributes["depth"] = np.float32(3)
    with swath.open_file(path) as f:
        assert f.attributes["title"] == "A run"
        if FORMATS[suffix] != "netcdf-classic":
            assert f.groups["g"].attributes["depth"] == 3


@pytest.mark.parametrize("suffix", FORMATS)
def test_attributes_of_a_file_open_for_reading_stay_as_they_are(tmp_path: Path, suffix: str) -> None:
    path = created(tmp_path, suffix)
    with swath.open(path, "t") as a:
        with pytest.raises(swath.ArgumentError, match=r'opened for reading; open it with mode="r\+"'):
            a.attributes["units"] = "K"
        with pytest.raises(swath.ArgumentError, match="opened for reading"):
            del a.attributes["old"]
        assert "units" not in a.attributes
        assert a.attributes["old"] == 1.5
    with pytest.raises(swath.ArgumentError, match="closed"):
        a.attributes["units"] = "K"


@pytest.mark.parametrize("suffix", ["npy", "raw"])
def test_a_format_without_attributes_says_so(tmp_path: Path, suffix: str) -> None:
    with swath.create(tmp_path / f"a.{suffix}", (3,), "f4") as a:
        a[...] = 0
        with pytest.raises(swath.ArgumentError, match="no attributes"):
            a.attributes["units"] = "K"
        assert dict(a.attributes) == {}


def test_what_is_no_attribute_is_refused_and_nothing_of_it_is_stored(tmp_path: Path) -> None:
    path = created(tmp_path, "nc")
    before = path.read_bytes()
    with swath.open(path, "t", mode="r+") as a:
        for given in ({"": 1}, {3: 1}, {"x": None}, {"x": object()}, {"ok": 1, "x": object()}):
            with pytest.raises(swath.ArgumentError):
                a.attributes.update(given)
        with pytest.raises(KeyError):
            del a.attributes["nothing"]
        assert list(a.attributes) == ["old"]
    assert path.read_bytes() == before


class Refused:
    """A value that no format can hold as an attribute."""


WRONG: list[tuple[Any, str]] = [
    ({3: 1}, "expected names and values, not 3"),
    ({"x": None}, "not 'x' = None; `del` removes one"),
    (5, "expected names and values, as a mapping: "),
    (["abc"], "expected names and values, as a mapping: "),
    ({}, "ask for different things"),
    ({"x": Refused()}, "ask for different things"),
]


@pytest.mark.parametrize("wrong_rank", [0, 1])
@pytest.mark.parametrize(("wrong", "words"), WRONG)
def test_ranks_hear_of_what_another_cannot_store(tmp_path: Path, wrong: Any, words: str, wrong_rank: int) -> None:
    path = created(tmp_path, "nc")
    before = path.read_bytes()

    def work(comm: Any) -> str:
        with swath.open(path, "t", mode="r+", comm=comm) as a:
            with pytest.raises(swath.Error) as found:
                a.attributes.update(wrong if comm.rank == wrong_rank else {"x": 1})
            assert dict(a.attributes) == {"old": 1.5}
            return str(found.value)

    told = run_ranks(3, work)
    assert set(told) == {told[0]}
    assert words in told[0]
    assert path.read_bytes() == before


def test_ranks_that_delete_different_attributes_are_told(tmp_path: Path) -> None:
    path = created(tmp_path, "nc")

    def work(comm: Any) -> None:
        with swath.open(path, "t", mode="r+", comm=comm) as a:
            with pytest.raises(swath.errors.DisagreementError):
                del a.attributes["old" if comm.rank else "older"]
            with pytest.raises(KeyError, match="older"):
                del a.attributes["older"]
            assert dict(a.attributes) == {"old": 1.5}
            a.attributes.update()

    run_ranks(2, work)

"""`swath.verify`: the differences, their number, and the first one, compared with NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.lib.recfunctions import repack_fields

import swath


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=st.lists(st.integers(0, 12), max_size=3).map(tuple),
    places=st.lists(st.integers(0, 10_000), max_size=4),
    orders=st.tuples(st.sampled_from("CF"), st.sampled_from("CF")),
    memory=st.integers(9000, 30_000),
)
def test_differences_are_those_that_numpy_finds(
    tmp_path: Path, shape: tuple[int, ...], places: list[int], orders: tuple[str, str], memory: int
) -> None:
    a = np.arange(int(np.prod(shape)), dtype="<f8").reshape(shape)
    b = a.astype(">f4")
    for place in places:
        if b.size:
            b.reshape(-1)[place % b.size] += 1
    for name, values, order in (("a", a, orders[0]), ("b", b, orders[1])):
        np.save(tmp_path / f"{name}.npy", np.asarray(values, order=order))
    found = swath.verify(tmp_path / "a.npy", tmp_path / "b.npy", memory=memory)
    differing = np.argwhere(a != b)
    assert found.equal == bool(found) == (len(differing) == 0)
    assert (found.elements, found.differing) == (a.size, len(differing))
    first = tuple(map(int, differing[0])) if len(differing) else None
    assert found.first_index == first
    assert found.first_values == (None if first is None else (float(a[first]), float(b[first])))


def test_a_nan_equals_a_nan_and_nothing_else(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([np.nan, 1, np.nan]))
    np.save(tmp_path / "b.npy", np.array([np.nan, 1, 2.0]))
    assert swath.verify(tmp_path / "a.npy", tmp_path / "a.npy")
    found = swath.verify(tmp_path / "a.npy", tmp_path / "b.npy")
    assert (found.differing, found.first_index) == (1, (2,))


PART = np.dtype([("x", "<f4", (2,)), ("z", ">c8")], align=True)
RECORD = np.dtype([("a", "i1"), ("n", PART, (3,)), ("when", "<M8[s]"), ("b", "<f8")], align=True)


def records(dtype: np.dtype[Any]) -> np.ndarray:
    """Return every kind of NaN, in every kind of field."""
    values = np.zeros(20, dtype)
    values["a"] = np.arange(20)
    values["n"]["x"][3:, 1, 0] = np.nan
    values["n"]["z"][5:, 2] = complex(np.nan, 4)
    values["n"]["z"][7:, 0] = complex(1, np.nan)
    values["when"][::2] = np.datetime64("NaT")
    values["b"][1::3] = np.nan
    return values


def test_structures_with_nans_are_compared_field_by_field(tmp_path: Path) -> None:
    a = records(RECORD)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", records(repack_fields(RECORD, recurse=True)).astype(RECORD.newbyteorder()))
    assert swath.verify(tmp_path / "a.npy", tmp_path / "a.npy")
    assert swath.verify(tmp_path / "a.npy", tmp_path / "b.npy")

    def differing(change: Any) -> list[int]:
        b = records(RECORD)
        change(b)
        np.save(tmp_path / "b.npy", b)
        found = swath.verify(tmp_path / "a.npy", tmp_path / "b.npy")
        assert found.equal == (found.differing == 0)
        json.dumps(found.to_dict(), default=str)  # plain, arrays in a structure too
        return [found.differing, *(found.first_index or ())]

    assert differing(lambda b: b["a"].__setitem__(4, 99)) == [1, 4]
    assert differing(lambda b: b["n"]["x"].__setitem__((slice(9, 12), 1, 0), 0)) == [3, 9]
    assert differing(lambda b: b["n"]["x"].__setitem__((2, 1, 0), np.nan)) == [1, 2]
    assert differing(lambda b: b["n"]["z"].__setitem__((5, 2), complex(np.nan, 5))) == [1, 5]
    assert differing(lambda b: b["when"].__setitem__(2, np.datetime64(7, "s"))) == [1, 2]
    assert differing(lambda b: b["b"].__setitem__(slice(None), np.nan)) == [13, 0]
    assert differing(lambda b: None) == [0]


def test_the_parts_of_a_complex_number_and_times_may_have_no_value(tmp_path: Path) -> None:
    for values, others in (
        ([complex(np.nan, 1), complex(2, np.nan), 3], [complex(np.nan, 2), complex(2, np.nan), complex(3, np.nan)]),
        (np.array(["NaT", "NaT", 1], "M8[s]"), np.array([5, "NaT", "NaT"], "M8[s]")),
        (np.array(["NaT", "NaT", 1], "m8[s]"), np.array([5, "NaT", "NaT"], "m8[s]")),
    ):
        np.save(tmp_path / "a.npy", values)
        np.save(tmp_path / "b.npy", others)
        assert swath.verify(tmp_path / "a.npy", tmp_path / "a.npy")
        found = swath.verify(tmp_path / "a.npy", tmp_path / "b.npy")
        assert (found.differing, found.first_index) == (2, (0,))


def test_shapes_that_differ_are_a_difference(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 3)))
    np.save(tmp_path / "b.npy", np.zeros((3, 2)))
    found = swath.verify(tmp_path / "a.npy", tmp_path / "b.npy")
    assert not found
    assert "shapes (2, 3) and (3, 2)" in str(found)
    assert swath.verify(tmp_path / "a.npy", tmp_path / "b.npy", axes=(1, 0))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<f8", "S3"),
        ("<f8", [("x", "<i4")]),
        ([("x", "<f8")], [("y", "<f8")]),
        ([("x", "<f8", (2,))], [("x", "<f8", (2, 1))]),
        ([("x", [("y", "<f8")])], [("x", [("y", "S8")])]),
        ("V3", "V4"),
    ],
)
def test_what_cannot_be_compared_is_said(tmp_path: Path, one: Any, other: Any) -> None:
    np.save(tmp_path / "a.npy", np.zeros(4, one))
    np.save(tmp_path / "b.npy", np.zeros(4, other))
    with pytest.raises(swath.ArgumentError, match="cannot be compared"):
        swath.verify(tmp_path / "a.npy", tmp_path / "b.npy")


def test_the_text_says_first_place_and_how_many(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6).reshape(2, 3))
    np.save(tmp_path / "b.npy", np.array([[0, 1, 2], [3, 9, 9]]))
    assert str(swath.verify(tmp_path / "a.npy", tmp_path / "b.npy")) == (
        "different: 2 of 6 elements; the first at (1, 1): 4 and 9"
    )

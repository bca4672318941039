"""`swath.verify`: what differs, how much of it, and which is the first, against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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


def test_shapes_that_differ_are_a_difference(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 3)))
    np.save(tmp_path / "b.npy", np.zeros((3, 2)))
    found = swath.verify(tmp_path / "a.npy", tmp_path / "b.npy")
    assert not found
    assert "shapes (2, 3) and (3, 2)" in str(found)
    assert swath.verify(tmp_path / "a.npy", tmp_path / "b.npy", axes=(1, 0))


@pytest.mark.parametrize("other", ["S3", [("x", "<i4")]])
def test_what_cannot_be_compared_is_said(tmp_path: Path, other: Any) -> None:
    np.save(tmp_path / "a.npy", np.zeros(4))
    np.save(tmp_path / "b.npy", np.zeros(4, other))
    with pytest.raises(swath.ArgumentError, match="cannot be compared"):
        swath.verify(tmp_path / "a.npy", tmp_path / "b.npy")


def test_the_text_says_first_place_and_how_many(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6).reshape(2, 3))
    np.save(tmp_path / "b.npy", np.array([[0, 1, 2], [3, 9, 9]]))
    assert str(swath.verify(tmp_path / "a.npy", tmp_path / "b.npy")) == (
        "different: 2 of 6 elements; the first at (1, 1): 4 and 9"
    )

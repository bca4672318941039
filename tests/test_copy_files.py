"""Whole files are copied: what the source's library wrote the target's library reads; the rest is named."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import file_cases
import swath
from file_cases import CLASSIC, FORMAT, KINDS, SUFFIX, Held

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*:UserWarning:zarr", "ignore::zarr.errors.UnstableSpecificationWarning"
)

ENGINES = {**dict.fromkeys((*CLASSIC, "netcdf4"), "netcdf4"), "hdf5": "h5netcdf", "zarr": "zarr", "zarr:v2": "zarr"}
PAIRS = list(itertools.product(KINDS, KINDS))
FEW = [pair for number, pair in enumerate(PAIRS) if number % 4 == 0]
SLOW = [pytest.param(*pair, marks=pytest.mark.slow) for pair in PAIRS if pair not in FEW]


def same_attributes(a: dict[str, Any], b: dict[str, Any], *, are_typed: bool, where: str) -> None:
    assert a.keys() == b.keys(), where
    for name, one in a.items():
        other = b[name]
        np.testing.assert_array_equal(np.atleast_1d(one), np.atleast_1d(other), err_msg=f"{where}: {name}")
        if are_typed:
            types = [np.asarray(value).dtype.newbyteorder("=").str.rstrip("0123456789") for value in (one, other)]
            assert types[0] == types[1], f"{where}: {name}"
            if np.asarray(one).dtype.kind != "U":
                assert np.asarray(one).dtype == np.asarray(other).dtype, f"{where}: {name}"


def check_same(a: Held, b: Held, kinds: tuple[str, str]) -> None:
    """All is equal: values, names, dimensions, attributes, fill values; types where both formats have them."""
    are_typed = not any(kind.startswith("zarr") for kind in kinds)
    assert list(a.groups) == list(b.groups) or sorted(a.groups) == sorted(b.groups)
    for group, attributes in a.groups.items():
        same_attributes(attributes, b.groups[group], are_typed=are_typed, where=f"group {group}")
    assert sorted(a.variables) == sorted(b.variables)
    for name, one in a.variables.items():
        other = b.variables[name]
        values, dimensions = other.values, other.dimensions
        if one.values.dtype == "S8" and values.dtype == "S1":
            values, dimensions = values.view("S8")[..., 0], dimensions[:-1]
        np.testing.assert_array_equal(one.values, values, err_msg=name)
        assert one.values.dtype.newbyteorder("=") == values.dtype.newbyteorder("="), name
        assert one.dimensions == dimensions, name
        same_attributes(one.attributes, other.attributes, are_typed=are_typed, where=name)
        np.testing.assert_array_equal(np.array(one.fill), np.array(other.fill), err_msg=name)
        if one.chunks and kinds[1] not in CLASSIC:
            assert one.chunks == other.chunks[: one.values.ndim], name
    named = {name: found for name, found in b.dimensions.items() if name != "string8"}
    if kinds[1].startswith("zarr") or kinds[0].startswith(
        "zarr"
    ):  # which have no unlimited ones, and places of their own
        assert {n: found[0] for n, found in a.dimensions.items() if n != "string8"} == {
            n: found[0] for n, found in named.items()
        }
    else:
        assert {name: found for name, found in a.dimensions.items() if name != "string8"} == named


@pytest.mark.parametrize(("source", "target"), [*FEW, *SLOW])
def test_what_two_formats_share_is_copied(tmp_path: Path, source: str, target: str) -> None:
    held = file_cases.example(source, target)
    assert len(held.variables) >= 12
    a, b = tmp_path / f"a{SUFFIX[source]}", tmp_path / f"b{SUFFIX[target]}"
    file_cases.make(a, source, held)
    copied = swath.copy(a, b, format=FORMAT[target])
    check_same(file_cases.read(a, source), file_cases.read(b, target), (source, target))
    assert copied.bytes == sum(one.values.nbytes for one in held.variables.values())
    assert sorted(path.name for path in tmp_path.iterdir()) == [a.name, b.name]
    assert swath.verify(a, b)
    groups = [group for group in held.groups if any(name.rpartition("/")[0] == group for name in held.variables)]
    for group in groups:
        with (
            xr.open_dataset(a, engine=ENGINES[source], group=group or None) as one,
            xr.open_dataset(b, engine=ENGINES[target], group=group or None) as other,
        ):
            xr.testing.assert_equal(one.load(), other.load())

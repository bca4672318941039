"""`overwrite=True` replaces only what it should, and not before the new file can be made."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.simulated import run_ranks


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("a.npy", {"dtype": object}),
        ("a.npy", {"attributes": {"a": 1}}),
        ("a.npy", {"engine": "nonsense"}),
        ("a.npy", {"streams": -3}),
        ("a.nc", {"dimensions": ("x", "y")}),
        ("a.zarr", {"chunks": (0,)}),
        ("a.zarr", {"codecs": ["no such codec"]}),
        ("a.zarr", {"attributes": {"a": object()}}),
    ],
)
def test_what_cannot_be_made_replaces_nothing(tmp_path: Path, name: str, wrong: dict[str, Any]) -> None:
    path = tmp_path / name
    with swath.create(path, (3,), "f4") as a:
        a[...] = [1, 2, 3]
    for atomic in (False, True):
        with pytest.raises((swath.ArgumentError, swath.UnsupportedError)):
            swath.create(path, **{"shape": (3,), "dtype": "i4", "overwrite": True, "atomic": atomic, **wrong})
        assert os.listdir(tmp_path) == [name]
        with swath.open(path) as a:
            assert a[...].tolist() == [1, 2, 3]


@pytest.mark.parametrize("name", ["a.npy", "a.zarr"])
def test_what_can_be_made_replaces_it_at_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with swath.create(path, (3,), "f4") as a:
        a[...] = [1, 2, 3]
    with swath.create(path, (2,), "i4", overwrite=True, atomic=False) as a:
        assert os.listdir(tmp_path) == [name]
        a[...] = [4, 5]
    with swath.open(path) as a:
        assert a[...].tolist() == [4, 5]


def test_a_fault_of_one_rank_puts_the_old_file_back(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(3))

    def create(comm: Any) -> str:
        engine = "fault:nonsense" if comm.rank == 1 else None
        with pytest.raises(swath.Error) as raised:
            swath.create(path, (2,), "i4", overwrite=True, atomic=False, comm=comm, engine=engine)
        return type(raised.value).__name__

    assert len(set(run_ranks(3, create))) == 1
    assert np.load(path).tolist() == [0, 1, 2]
    assert os.listdir(tmp_path) == ["a.npy"]


@pytest.mark.parametrize("has_old", [False, True])
def test_a_store_does_not_replace_what_was_made_meanwhile_and_is_none(tmp_path: Path, has_old: bool) -> None:
    path = tmp_path / "a.zarr"
    if has_old:
        swath.create(path, (4,), "i4").close()
    store = swath.create(path, (4,), "i4", overwrite=True)
    store[...] = 1
    if has_old:
        os.rename(path, tmp_path / "old.zarr")
    path.mkdir()
    (path / "thesis.txt").write_text("mine")
    with pytest.raises(swath.ExistsError, match=r"a\.zarr: there is something else than a Zarr store"):
        store.close()
    assert (path / "thesis.txt").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["a.zarr", *(["old.zarr"] if has_old else [])]

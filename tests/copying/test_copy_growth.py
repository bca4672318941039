"""Copies of HDF5 keep the limits of growth of a dataset, or report that they are lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import swath

VALUES = np.arange(24, dtype="i4").reshape(4, 6)
MAXSHAPES: dict[str, Any] = {
    "ends": (10, 6),
    "group/both": (9, 20),
    "group/one": (None, 20),
    "fixed": (4, 6),
    "endless": (None, None),
}


def datasets_that_grow(path: Path, **options: Any) -> None:
    with h5py.File(path, "w") as file:
        for name, maxshape in MAXSHAPES.items():
            chunks = (4, 3) if maxshape == VALUES.shape else (8, 3)  # of more rows than there are yet
            file.create_dataset(name, data=VALUES, maxshape=maxshape, chunks=chunks, fillvalue=-7, **options)
        file.create_dataset("text", data=["a", "bb"], maxshape=(5,), dtype=h5py.string_dtype())


def found_in(path: Path) -> dict[str, tuple[Any, Any]]:
    """Each dataset's longest shape, and its chunks."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, one: found.update({name: (one.maxshape, one.chunks)} if isinstance(one, h5py.Dataset) else {})
        )
    return found


@pytest.mark.parametrize("options", [{}, {"compression": 4}], ids=["plain", "compressed"])
def test_datasets_that_grow_to_an_end_do_so_in_copies(tmp_path: Path, options: dict[str, Any]) -> None:
    datasets_that_grow(tmp_path / "a.h5", **options)
    copied = swath.copy(tmp_path / "a.h5", tmp_path / "b.h5")
    assert copied.left_out == ()
    assert found_in(tmp_path / "b.h5") == found_in(tmp_path / "a.h5")
    assert found_in(tmp_path / "b.h5")["ends"] == ((10, 6), (8, 3))
    assert swath.verify(tmp_path / "a.h5", tmp_path / "b.h5", by_library=True)
    with h5py.File(tmp_path / "b.h5", "r+") as file:
        with pytest.raises(RuntimeError, match="cannot exceed the existing maximal size"):
            file["ends"].resize((11, 6))
        for name, new in (("ends", (10, 6)), ("group/both", (9, 20)), ("group/one", (12, 20)), ("endless", (9, 9))):
            file[name].resize(new)
            assert (file[name][:4, :6] == VALUES).all()
            assert (file[name][4:] == -7).all(), name  # chunks that were stored, and those that were not
            assert (file[name][:, 6:] == -7).all(), name
    np.testing.assert_array_equal(swath.open(tmp_path / "b.h5", "group/both")[:4, :6], VALUES)


@pytest.mark.parametrize("name", ["b.nc4", "b.zarr"])
def test_a_format_without_such_ends_is_said_to_lose_them(tmp_path: Path, name: str) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("ends", data=VALUES, maxshape=(None, 20), chunks=(8, 3))
        file.create_dataset("fixed", data=VALUES, chunks=(4, 3))
    words = "ends: it may grow to (without end, 20) elements"
    assert words in str(swath.explain_copy(tmp_path / "a.h5", tmp_path / name))
    with pytest.warns(UserWarning, match="it may grow to"):
        copied = swath.copy(tmp_path / "a.h5", tmp_path / name)
    (said,) = copied.left_out
    assert said.startswith(words)


def test_a_copy_without_chunks_is_said_to_lose_them(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("ends", data=VALUES, maxshape=(10, 6), chunks=(8, 3))
        file.create_dataset("fixed", data=VALUES, chunks=(4, 3))
    copied = swath.copy(tmp_path / "a.h5", tmp_path / "b.h5", chunks=(), skip_unsupported=True)
    assert copied.left_out == ("ends: it may grow to (10, 6) elements: without chunks it cannot grow",)
    assert found_in(tmp_path / "b.h5")["ends"] == ((4, 6), None)


def test_turned_dimensions_keep_their_own_ends(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        v = file.create_dataset("v", data=VALUES, maxshape=(10, 7), chunks=(8, 3))
        file.create_dataset("w", data=VALUES, maxshape=(11, 6), chunks=(8, 3))
        for one in (v, file["w"]):
            one.dims[0].label, one.dims[1].label = "y", "x"
    swath.copy(tmp_path / "a.h5", tmp_path / "b.h5", axes=("x", "y"))
    assert {name: one[0] for name, one in found_in(tmp_path / "b.h5").items()} == {"v": (7, 10), "w": (6, 11)}


def test_a_dataset_that_is_added_to_a_file_keeps_its_end(tmp_path: Path) -> None:
    datasets_that_grow(tmp_path / "a.h5")
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file.create_dataset("old", data=VALUES)
    swath.copy(tmp_path / "a.h5", tmp_path / "b.h5", variable=["ends", "group/one"])
    assert {name: one[0] for name, one in found_in(tmp_path / "b.h5").items()} == {
        "old": (4, 6),
        "ends": (10, 6),
        "group/one": (None, 20),
    }


def test_libraries_tell_of_another_end(tmp_path: Path) -> None:
    for name, maxshape in (("a.h5", (10, 6)), ("b.h5", (11, 6))):
        with h5py.File(tmp_path / name, "w") as file:
            file.create_dataset("v", data=VALUES, maxshape=maxshape)
    found = swath.verify(tmp_path / "a.h5", tmp_path / "b.h5", by_library=True)
    assert found.differences == ("v: it may grow to (10, 6) and to (11, 6) elements",)

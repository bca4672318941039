"""HDF5 datasets of random types, creation properties and histories: Swath reads and writes the same as h5py."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath

h5py = pytest.importorskip("h5py")

from hdf5_property_cases import RandomDataset, are_equal, random_box, random_values  # noqa: E402

CASES = int(os.environ.get("SWATH_HDF5_PROPERTY_CASES", "60"))
BLOCKS = 4


SKIPPED: dict[str, int] = {}
"""HDF5's errors for datasets that it cannot make, h5py's errors for elements that it cannot read, with their counts."""


class History:
    """The operations on the dataset "g/v" of two files that are made alike, so both should have the same content."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = random.Random(f"{seed} history")
        self._numbers = np.random.default_rng(seed)
        self.made = RandomDataset(seed)
        self.ours, self.theirs = folder / "ours.h5", folder / "theirs.h5"
        for path in (self.ours, self.theirs):
            self.made.make(path)
        self.known = np.full(self.made.shape, self.made.is_filled)
        with h5py.File(self.ours) as file:
            self.dtype = file["g/v"].dtype

    def values(self, shape: tuple[int, ...]) -> np.ndarray:
        return random_values(self._numbers, self.dtype, shape)

    def by_h5py(self, change: Any, *paths: Path) -> None:
        for path in paths or (self.ours, self.theirs):
            with h5py.File(path, "r+") as file:
                change(file["g/v"])

    def write_by_h5py(self) -> None:
        """Write a box into both files."""
        box, values = self.box_and_values()
        self.by_h5py(lambda v: v.__setitem__(box, values))

    def box_and_values(self) -> tuple[Any, np.ndarray]:
        box = random_box(self.rng, self.known.shape)
        values = self.values(self.known[box].shape)
        self.known[box] = True
        return box, values

    def resize_by_h5py(self, *, grows: bool) -> None:
        if not self.made.chunks or self.made.layout != "chunked":
            return
        old = self.known.shape
        longest = [n + 6 if m is None else m for n, m in zip(old, self.made.maxshape, strict=True)]
        shape = tuple(self.rng.randint(n if grows else 1, m) for n, m in zip(old, longest, strict=True))
        if shape != old and all(m is None or n <= m for n, m in zip(shape, self.made.maxshape, strict=True)):
            self.by_h5py(lambda v: v.resize(shape))
            known = np.full(shape, self.made.is_filled)
            both = tuple(slice(0, min(a, b)) for a, b in zip(old, shape, strict=True))
            known[both] = self.known[both]
            self.known = known

    def write_by_both(self) -> None:
        """Write a box into one file by Swath, into the other by h5py."""
        box, values = self.box_and_values()
        with swath.open(self.ours, "g/v", mode="r+") as a:
            a[box] = values
            assert are_equal(a[box], values) or self.made.stored != h5py.h5t.py_create(self.dtype, logical=True)
        self.by_h5py(lambda v: v.__setitem__(box, values), self.theirs)

    def append_by_both(self) -> None:
        if self.made.layout != "chunked" or self.made.maxshape[0] is not None:
            return
        values = self.values((self.rng.randint(1, 5), *self.known.shape[1:]))
        before = len(self.known)
        with swath.open(self.ours, "g/v", mode="r+") as a:
            a.append(values)

        def grow(v: Any) -> None:
            v.resize(before + len(values), 0)
            v[before:] = values

        self.by_h5py(grow, self.theirs)
        self.known = np.concatenate([self.known, np.ones(values.shape, bool)])

    def check(self) -> None:
        """Compare h5py's values of both files with Swath's."""
        found = []
        for path in (self.ours, self.theirs):
            with h5py.File(path) as file:
                found.append(file["g/v"][()])
                np.testing.assert_array_equal(file["before"], np.arange(5))
                np.testing.assert_array_equal(file["behind"], np.arange(7))
        assert are_equal(found[0], found[1], self.known), "h5py reads what Swath wrote"
        box = random_box(self.rng, self.known.shape)
        with swath.open(self.ours, "g/v") as a:
            assert a.dtype == swath_dtype(self.dtype)
            assert are_equal(a[...], found[0], self.known), "Swath reads what h5py reads"
            assert are_equal(a[box], np.asarray(found[0])[box], self.known[box]), f"Swath reads {box}"


def swath_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    from swath.formats.description import without_metadata

    return without_metadata(dtype)


def run_case(seed: int, folder: Path) -> bool:
    """Compare the results of all operations; return False if HDF5 cannot make such a dataset."""
    try:
        history = History(seed, folder)
        history.write_by_h5py()
        with h5py.File(history.ours) as file:
            file["g/v"][()]
    except (ValueError, OSError, TypeError, KeyError) as error:
        words = str(error)[:120]
        SKIPPED[words] = SKIPPED.get(words, 0) + 1
        return False
    history.check()
    for _ in range(2):
        for do in (history.write_by_h5py, lambda: history.resize_by_h5py(grows=False), history.write_by_both):
            if history.rng.random() < 0.7:
                do()
        history.check()
    history.append_by_both()
    history.check()
    history.resize_by_h5py(grows=True)
    history.check()
    return True


@pytest.mark.parametrize("block", range(BLOCKS))
def test_swath_and_h5py_agree_on_datasets_of_random_creation_properties(tmp_path: Path, block: int) -> None:
    seeds = range(block, CASES, BLOCKS)
    made = 0
    for seed in seeds:
        (tmp_path / f"{seed}").mkdir()
        try:
            made += run_case(seed, tmp_path / f"{seed}")
        except BaseException as error:
            words = f"seed {seed}: {'; '.join(RandomDataset(seed).words)}"
            error.add_note(words) if sys.version_info >= (3, 11) else print(words)
            raise
    assert made > len(seeds) * 0.6, SKIPPED

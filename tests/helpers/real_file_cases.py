"""Files of every kind, and reads and writes of them by ranks and by their libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath import Block, Cyclic, Distribution, Whole, balanced_grid

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")


def stored(path: Path, variable: str) -> np.ndarray:
    """The values as stored, by the format's own library."""
    if h5py.is_hdf5(path):
        with h5py.File(path, "r") as file:
            return np.asarray(file[variable][()])
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        return np.asarray(file[variable][...])


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether the values are the same bit for bit, in any byte order."""
    return a.shape == b.shape and a.astype(b.dtype, copy=False).tobytes() == b.tobytes()


def distributions(shape: tuple[int, ...], ranks: int) -> Iterator[Distribution]:
    """Yield a few distributions that fit."""
    ndim = len(shape)
    if ndim == 0:
        yield Distribution((), ())
        return
    yield Distribution((Block(), *[Whole()] * (ndim - 1)), (ranks,))
    yield Distribution((*[Whole()] * (ndim - 1), Cyclic()), (ranks,))
    mixed = [(Cyclic(2), Block(), Cyclic(3))[d % 3] for d in range(ndim)]
    yield Distribution(mixed, balanced_grid(mixed, ranks))


def share(array: np.ndarray, d: Distribution, rank: int) -> np.ndarray:
    """Return the share of `rank` by NumPy."""
    return array[np.ix_(*d.indices(array.shape, rank))] if array.ndim else array


def hdf5(**options: Any) -> Callable[[Path], str]:
    def make(path: Path) -> str:
        with h5py.File(path, "w") as file:
            file["before"] = np.arange(5)
            values = np.arange(13 * 29).reshape(13, 29).astype(options.get("dtype", "<f8"))
            file.create_dataset("v", data=values, **{k: v for k, v in options.items() if k != "dtype"})
            file["v"].attrs["units"] = "K"
            file["after"] = np.arange(7.0)
        return "v"

    return make


def create_all(path: Path, values: np.ndarray, **options: Any) -> None:
    with swath.create(path, values.shape, values.dtype, **options) as b:
        b.write(values)


OLD, NEW = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4) * 7

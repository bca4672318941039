"""Checks the files of the programs: h5py or netCDF4 reads all variables, never Swath."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from swath_bench.measure import WrongDataError

FILTERS = ("gzip", 1, True)


def first_variable(shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Return the elements of variable 0, as program/frame.c makes them; variable v has v more."""
    i = np.arange(int(np.prod(shape)), dtype=np.uint32)
    mixed = i * np.uint32(2654435761)
    mixed = (mixed ^ mixed >> np.uint32(15)) * np.uint32(2246822519)
    noise = (mixed ^ mixed >> np.uint32(13)) >> np.uint32(20)
    slope = (i % 1000).astype(np.float32) / np.float32(8)
    return (slope + noise.astype(np.float32) / np.float32(4096)).reshape(shape)


def check(path: str, variables: int, shape: tuple[int, ...], compresses: bool) -> None:
    """Raise WrongDataError unless the file has all variables, with their elements and filters."""
    first = first_variable(shape)
    with _opened(path) as file:
        for number in range(variables):
            name = f"v{number:04}"
            stored = file[name]
            if compresses and (stored.compression, stored.compression_opts, stored.shuffle) != FILTERS:
                raise WrongDataError(f"{path}: {name}: filters {stored.compression}, {stored.compression_opts}")
            if not np.array_equal(np.asarray(stored[...]), first + np.float32(number)):
                raise WrongDataError(f"{path}: {name} has other elements")


def _opened(path: str) -> Any:
    if os.path.splitext(path)[1] == ".nc3":
        import netCDF4

        file = netCDF4.Dataset(path)
        file.set_auto_maskandscale(False)
        return file
    import h5py

    return h5py.File(path)

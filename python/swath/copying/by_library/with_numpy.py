"""`.npy` files as NumPy says it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.copying.by_library.held import Held, Stored


def held(path: str) -> Held:
    """Return what the file holds: one array without a name."""
    found = np.load(path, mmap_mode="r", allow_pickle=False)
    return Held(f"numpy {np.__version__}", "npy", frozenset(), {"": {}}, {"": Stored(tuple(found.shape), found.dtype)})


@contextlib.contextmanager
def values(path: str) -> Iterator[Any]:
    """Give what reads a box."""

    def read(name: str, box: tuple[slice, ...]) -> npt.NDArray[Any]:
        del name
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[box])  # mapped anew: pages are let go of

    yield read

"""`.npy` files as NumPy reads them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.copying.by_library.held import Held, Stored


def held(path: str) -> Held:
    """Return the contents of the file: one array without a name."""
    found = np.load(path, mmap_mode="r", allow_pickle=False)
    return Held(f"numpy {np.__version__}", "npy", frozenset(), {"": {}}, {"": Stored(tuple(found.shape), found.dtype)})


@contextlib.contextmanager
def values(path: str) -> Iterator[Any]:
    """Open the file, to read boxes."""

    def read(name: str, box: tuple[slice, ...]) -> npt.NDArray[Any]:
        del name
        # a new mapping each time: its pages are freed
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[box])

    yield read

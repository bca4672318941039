"""Writing an array's fill value: a new file is all zero bytes, which is another value."""

from __future__ import annotations

import math

import numpy as np

from swath import _core
from swath.errors import StoreError
from swath.formats import ChunkedLayout, Description, StridedLayout


def fill_part(engine: _core.Engine, description: Description, rank: int, ranks: int) -> None:
    """Writes the fill value over this rank's part of the array's bytes: of every chunk an equal part.

    Raises StoreError where that is no part of a file, and as writing does.
    """
    layout, itemsize = description.layout, description.dtype.itemsize
    if isinstance(layout, StridedLayout):
        begins, elements = np.array([layout.offset]), math.prod(description.shape)
    elif isinstance(layout, ChunkedLayout):
        begins, elements = layout.offsets.ravel(), math.prod(layout.chunk_shape)
    else:
        raise StoreError(f"{description.path}: cannot write a fill value to a layout of this kind")
    first, last = (elements * r // ranks * itemsize for r in (rank, rank + 1))
    for begin in begins.tolist():
        _core.fill_range(engine, begin + first, begin + last, description.fill, ranks == 1)

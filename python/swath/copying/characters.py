"""Arrays of characters, as netCDF stores texts of fixed length, treated as arrays of texts. Pure."""

from __future__ import annotations

import dataclasses

import numpy as np

from swath.errors import UnsupportedError
from swath.formats import ChunkedLayout, Description, StridedLayout


def text_of_characters(description: Description) -> Description:
    """Return an array of characters as one of texts of fixed length, without its last dimension: the same bytes.

    Raises UnsupportedError if the bytes of a text are not contiguous.
    """
    length = description.shape[-1]
    dtype = np.dtype(f"S{length}")
    layout = description.layout
    if isinstance(layout, StridedLayout):
        layout = StridedLayout(layout.offset, layout.strides[:-1])
    elif isinstance(layout, ChunkedLayout) and layout.chunk_shape[-1] == length:
        layout = ChunkedLayout(layout.chunk_shape[:-1], layout.offsets[..., 0])
    else:
        raise UnsupportedError(f"{description.name}: its characters do not follow each other, text by text")
    return dataclasses.replace(
        description,
        shape=description.shape[:-1],
        dtype=dtype,
        layout=layout,
        fill=bytes(length),
        dimensions=description.dimensions[:-1],
        unlimited=description.unlimited[:-1],
    )

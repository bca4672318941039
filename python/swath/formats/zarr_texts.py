"""Arrays of text of variable length in a Zarr store: their chunks as bytes. The core makes their metadata.

The format of a chunk is numcodecs' "vlen-utf8": the number of texts, then the length and the bytes of each; numbers are
little-endian and have 32 bits. It is compressed by gzip, which every reader has.
"""

from __future__ import annotations

import gzip
import os
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import _core
from swath.formats.description import LibraryLayout
from swath.formats.files import store_errors
from swath.formats.zarr_library import folder_of

LEVEL = 5


def write(path: str, variable: str, chunks: Iterable[tuple[tuple[slice, ...], npt.NDArray[Any]]]) -> None:
    """Store whole chunks of an array: each is a box of it, and its texts."""
    folder = folder_of(path, variable)
    is_v3 = os.path.exists(os.path.join(folder, "zarr.json"))
    separator, first, scalar = ("/", "c/", "c") if is_v3 else (".", "", "0")
    layout = _core.open_format_file("zarr", path).describe(variable).layout
    assert isinstance(layout, LibraryLayout)
    shape = layout.chunk_shape or ()
    for box, texts in chunks:
        place = [str(part.start // n) for part, n in zip(box, shape, strict=True)]
        name = os.path.join(folder, first + separator.join(place) if place else scalar)
        whole = np.full(shape, "", object)
        whole[tuple(slice(0, n) for n in texts.shape)] = texts if texts.ndim else texts[()]
        with store_errors(name, "write"):
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "wb") as file:
                file.write(gzip.compress(encoded(whole), LEVEL, mtime=0))


def encoded(texts: npt.NDArray[Any]) -> bytes:
    r"""Return a chunk's texts in the format of numcodecs' "vlen-utf8".

    >>> encoded(np.array(["ab", ""], object))
    b'\x02\x00\x00\x00\x02\x00\x00\x00ab\x00\x00\x00\x00'
    """
    parts = [struct.pack("<I", texts.size)]
    for one in texts.ravel():
        raw = one.encode()
        parts += [struct.pack("<I", len(raw)), raw]
    return b"".join(parts)

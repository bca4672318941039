"""Text of variable length: read as `str` piece by piece, and written by the target's library, or as characters.

Its elements are not a fixed number of bytes, so that no plan of tiles applies: one process writes them when the
target's file is made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import _core, formats
from swath.array.opening import open_described
from swath.copying.boxes import Box, boxes, each_chunk
from swath.copying.characters import text_of_characters
from swath.copying.text_parts import TextPart, is_text
from swath.errors import UnsupportedError
from swath.files.open_options import OpenOptions
from swath.formats import Description
from swath.formats.description import text
from swath.ranks.ranks import Ranks

ELEMENTS_AT_ONCE = 1 << 16
"""The number of texts that are in memory together."""
TYPICAL_BYTES = 64
"""The size that is assumed for a text when chunks are chosen."""


class Texts:
    """An array of texts, of variable or of fixed length, or of characters, that is read as `str`.

    Args:
        source: the array.
        like: the array that it is compared with: if that has one dimension less, characters are joined.
    """

    def __init__(self, source: Description, like: Description | None = None) -> None:
        joins = like is not None and source.dtype == np.dtype("S1") and len(source.shape) == len(like.shape) + 1
        self._source = source
        self._joins = joins
        self.is_text = is_text(source) or source.dtype.kind in "SU"
        self.shape = source.shape[:-1] if joins else source.shape
        chunks = getattr(source.layout, "chunk_shape", None)
        self.chunk_shape: tuple[int, ...] | None = None if chunks is None else tuple(chunks)

    def read(self, box: Box) -> npt.NDArray[Any]:
        """Return the texts of a box, an array of `str`."""
        options = OpenOptions("r", None, learns=False, minds_name=False)
        whole = (*box, slice(None)) if self._joins else box
        with contextlib.closing(open_described(self._source, Ranks(_core.solo_comm()), options)) as array:
            read = np.asarray(array[whole])
        if self._joins:
            read = _joined(read)
        flat = np.empty(read.size, object)
        for number, one in enumerate(read.ravel()):
            flat[number] = text(one) if isinstance(one, bytes) else str(one)
        return flat.reshape(read.shape)

    def pieces(self) -> Iterator[tuple[Box, npt.NDArray[Any]]]:
        """Yield the whole array, box by box."""
        for box in boxes(self.shape, self.chunk_shape, ELEMENTS_AT_ONCE):
            yield box, self.read(box)


def _joined(characters: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if characters.shape[-1] == 0:
        return np.zeros(characters.shape[:-1], "S1")
    return np.ascontiguousarray(characters).view(f"S{characters.shape[-1]}")[..., 0]


def longest_bytes(source: Description) -> int:
    """Return the bytes of the longest text, at least 1. Reads all of it."""
    lengths = (len(one.encode()) for _, piece in Texts(source).pieces() for one in piece.ravel())
    return max(max(lengths, default=0), 1)


def refuse_zero_bytes(source: Description, kind: str) -> None:
    """Raise UnsupportedError for texts that contain zero bytes, which only Zarr stores. Reads all of it."""
    if source.format != "zarr" or formats.is_folder(kind):
        return
    for _, piece in Texts(source).pieces():
        if any("\0" in one for one in piece.ravel()):
            raise UnsupportedError("texts with zero bytes in them, which end a text there")


def write_texts(part: TextPart, path: str) -> None:
    """Write the elements of a text part into a file that has an array for them."""
    texts = Texts(part.source)
    if not part.new.dtype.hasobject:
        _write_characters(part, path, texts)
    elif formats.is_folder(part.format):
        for box in each_chunk(texts.shape, part.new.chunks or ()):
            formats.write_texts(path, part.format, part.new.name, [(box, texts.read(box))])
    else:
        formats.write_texts(path, part.format, part.new.name, texts.pieces())


def _write_characters(part: TextPart, path: str, texts: Texts) -> None:
    target = text_of_characters(formats.describe(path, part.new.name))
    options = OpenOptions("r+", None, learns=False, minds_name=False)
    with contextlib.closing(open_described(target, Ranks(_core.solo_comm()), options)) as array:
        for box, piece in texts.pieces():
            encoded = [one.encode() for one in piece.ravel()]
            array[box] = np.array(encoded, target.dtype).reshape(piece.shape)

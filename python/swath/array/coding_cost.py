"""What coding chunks costs, measured on elements as they are: data and levels of codecs differ by a factor of ten."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import _core
from swath.array.open_array import Array
from swath.files.layouts import codec_tuples
from swath.formats.description import Codec, CodedLayout

CHUNK_BYTES = 256 << 10
"""Elements are coded in chunks of at most so many bytes: longer ones cost the same a byte, and take longer."""
READ_BYTES = 16 << 20
"""So much of a source is decoded for one box, if its chunks are not larger."""
SECONDS_MAX = 0.05
MEASURED_BYTES_MIN = 4 << 20
"""A smaller array is read or written before its elements have been measured."""
SAMPLES = 3
"""Boxes of an array that are coded: at its beginning, its middle and its end."""


@dataclasses.dataclass(frozen=True)
class CodingCost:
    """Processor seconds of one core for a byte of elements, and what the codecs make of them.

    Attributes:
        ratio: bytes of elements to stored bytes.
        decode, encode: seconds a byte of elements; None where they were not measured: the profile's.
    """

    ratio: float
    decode: float | None = None
    encode: float | None = None

    @property
    def seconds(self) -> tuple[float, float] | None:
        """Return the seconds a byte of decoding and of encoding; None where they were not measured."""
        return None if self.decode is None or self.encode is None else (self.decode, self.encode)


def measured(
    codecs: Sequence[Codec], samples: Sequence[npt.NDArray[Any]], chunk_bytes: int = CHUNK_BYTES
) -> CodingCost:
    """Return what these codecs cost for these elements.

    Args:
        codecs: in the order of encoding.
        samples: packed arrays of elements, none empty.
        chunk_bytes: of the chunks that the elements are, or will be, stored in.

    Raises:
        UnsupportedError: a codec that this build has not.
    """
    encode: list[float] = []
    decode: list[float] = []
    elements = stored = 0.0
    for sample in samples:
        of_chunk = max(min(chunk_bytes, CHUNK_BYTES, sample.nbytes), 1)
        seconds_max = SECONDS_MAX / len(samples)
        encoding, decoding, ratio = _core.time_coding(codec_tuples(codecs), sample, of_chunk, seconds_max)
        encode.append(statistics.fmean(encoding))
        decode.append(statistics.fmean(decoding))
        elements += sample.nbytes
        stored += sample.nbytes / ratio
    return CodingCost(elements / max(stored, 1.0), statistics.fmean(decode), statistics.fmean(encode))


def boxes_of(source: Any, chunk: Sequence[int] | None = None) -> list[npt.NDArray[Any]]:
    """Return a few boxes of an ndarray or an open array as they lie in chunks: whole chunks, or their first part.

    Args:
        source: none of whose dimensions is empty.
        chunk: elements along each dimension; by default of the source's own chunks, or all of it where it has none.
    """
    of_source = source.chunks if isinstance(source, Array) and source.chunks is not None else (1,) * source.ndim
    unit = [min(c, n) for c, n in zip(chunk or _own_chunk(source), source.shape, strict=True)]
    lengths = _first_part(unit, of_source, source.dtype.itemsize)
    found: dict[tuple[int, ...], npt.NDArray[Any]] = {}
    for place in range(SAMPLES):
        starts = tuple((n - c) * place // (SAMPLES - 1) // c * c for n, c in zip(source.shape, unit, strict=True))
        if starts not in found:
            box = tuple(slice(start, start + length) for start, length in zip(starts, lengths, strict=True))
            found[starts] = np.ascontiguousarray(source[box])
    return list(found.values())


def _own_chunk(source: Any) -> Sequence[int]:
    chunk = source.chunks if isinstance(source, Array) else None
    return source.shape if chunk is None else chunk


def _first_part(unit: Sequence[int], of_source: Sequence[int], itemsize: int) -> list[int]:
    """Return the extents of the first bytes of a chunk, for which not too many chunks of the source are decoded."""
    lengths = list(unit)
    for d in range(len(lengths)):  # from the slowest
        while lengths[d] > 1 and (
            math.prod(lengths) * itemsize > CHUNK_BYTES or _touched(lengths, of_source) * itemsize > READ_BYTES
        ):
            lengths[d] = -(-lengths[d] // 2)
    return lengths


def _touched(lengths: Sequence[int], of_source: Sequence[int]) -> int:
    """Return the elements of the source's chunks that such a box has elements of."""
    return math.prod(-(-n // c) * c for n, c in zip(lengths, of_source, strict=True))


def of_array(array: Array) -> CodingCost | None:
    """Return what its own codecs cost for some of its elements, which are read.

    None where it has no codecs of ours, or is too small for it to matter.
    """
    layout = array._description.layout
    if not isinstance(layout, CodedLayout) or not layout.codecs or array.nbytes < MEASURED_BYTES_MIN:
        return None
    chunk_bytes = math.prod(layout.chunk_shape) * array.dtype.itemsize
    return measured(layout.codecs, boxes_of(array), chunk_bytes)

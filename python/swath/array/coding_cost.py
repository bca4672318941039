"""Measures the cost of codecs on the array's own elements: data and codec levels change it by a factor of ten."""

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
"""The largest chunk that is measured, in bytes. Larger ones cost the same per byte, but take longer."""
READ_BYTES = 16 << 20
"""Bytes of a source that may be decoded for one box; a single larger chunk is decoded, too."""
SECONDS_MAX = 0.05
MEASURED_BYTES_MIN = 4 << 20
"""Smaller arrays are not measured: the measurement takes longer than the operation."""
SAMPLES = 3
"""The number of measured boxes: at the beginning, the middle and the end of the array."""


@dataclasses.dataclass(frozen=True)
class CodingCost:
    """The cost of codecs in processor seconds of one core per byte of elements, and their compression ratio.

    Attributes:
        ratio: bytes of elements divided by stored bytes.
        decode, encode: seconds per byte of elements; None if they were not measured: use the profile's.
    """

    ratio: float
    decode: float | None = None
    encode: float | None = None

    @property
    def seconds(self) -> tuple[float, float] | None:
        """Return the seconds per byte of decoding and of encoding; None if they were not measured."""
        return None if self.decode is None or self.encode is None else (self.decode, self.encode)


def measured(
    codecs: Sequence[Codec], samples: Sequence[npt.NDArray[Any]], chunk_bytes: int = CHUNK_BYTES
) -> CodingCost:
    """Return what these codecs cost for these elements.

    Args:
        codecs: the codecs in the order of encoding.
        samples: packed arrays of elements, none empty.
        chunk_bytes: the bytes of the chunks in which the elements are, or will be, stored.

    Raises:
        UnsupportedError: this build lacks a codec.
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
    """Return a few boxes of an ndarray or an open array: whole chunks, or their first parts.

    Args:
        source: an array with no empty dimension.
        chunk: the chunk's elements along each dimension; by default those of the source, or all if it has no chunks.
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
    """Return the extents of the first part of a chunk, small enough that few chunks of the source are decoded."""
    lengths = list(unit)
    for d in range(len(lengths)):  # from the slowest dimension
        while lengths[d] > 1 and (
            math.prod(lengths) * itemsize > CHUNK_BYTES or _touched(lengths, of_source) * itemsize > READ_BYTES
        ):
            lengths[d] = -(-lengths[d] // 2)
    return lengths


def _touched(lengths: Sequence[int], of_source: Sequence[int]) -> int:
    """Return the number of elements in the source's chunks that such a box touches."""
    return math.prod(-(-n // c) * c for n, c in zip(lengths, of_source, strict=True))


def of_array(array: Array) -> CodingCost | None:
    """Return what the codecs of an array cost for some of its elements, which are read.

    Returns None if it has no codecs of the core, or is too small to matter.
    """
    layout = array._description.layout
    if not isinstance(layout, CodedLayout) or not layout.codecs or array.nbytes < MEASURED_BYTES_MIN:
        return None
    chunk_bytes = math.prod(layout.chunk_shape) * array.dtype.itemsize
    return measured(layout.codecs, boxes_of(array), chunk_bytes)

"""How much codecs make of an array's chunks: ratios that the caller gives, or that are measured on a sample."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.advice.candidates import HDF5_CODECS, ZARR_CODECS, Codecs
from swath.array import opening
from swath.array.open_array import Array
from swath.errors import ArgumentError

SAMPLE_BYTES = 2 << 20
SAMPLES = 3
"""Boxes of an array that are compressed: at its beginning, its middle and its end."""


def ratios(codecs: Any, sample: Any) -> dict[Codecs, float]:
    """Return the ratio of each of the codecs: bytes of the elements to bytes that are stored.

    Args:
        codecs: names, several joined by "+" in the order of encoding ("shuffle+zstd"); or a mapping of these to ratios.
        sample: an ndarray, or an open array some of which is read; where ratios are not given.

    Raises:
        ArgumentError: a codec that no format has; ratios neither given nor to be measured.
    """
    if codecs is None:
        return {}
    given: Iterable[Any] = [codecs] if isinstance(codecs, str) else codecs
    if not isinstance(given, Iterable):
        raise ArgumentError(f"codecs: expected names, or a mapping of names to ratios, not {codecs!r}")
    found: dict[Codecs, float] = {}
    for one in given:
        names = _names(one)
        if isinstance(given, Mapping):
            found[names] = _ratio(one, given[one])
        elif sample is None:
            raise ArgumentError(
                f'codecs: "{one}": how much it makes of the array depends on what is in it: give the ratio, as in '
                f"codecs={{{one!r}: 2.5}}, or a sample= of the elements"
            )
        else:
            found[names] = _measured(names, sample)
    return found


def _names(text: Any) -> Codecs:
    names = tuple(text.split("+")) if isinstance(text, str) else ()
    known = dict.fromkeys((*ZARR_CODECS, *HDF5_CODECS))
    if not names or not any(all(name in of for name in names) for of in (ZARR_CODECS, HDF5_CODECS)):
        raise ArgumentError(
            f'codecs: {text!r}: expected {", ".join(known)}, or several that one format has, joined: "shuffle+zstd"'
        )
    return names


def _ratio(text: Any, ratio: Any) -> float:
    if not isinstance(ratio, (int, float)) or isinstance(ratio, bool) or not 0 < ratio < float("inf"):
        raise ArgumentError(f"codecs: {text}: ratio {ratio!r}: expected bytes to stored bytes, more than 0")
    return float(ratio)


def _measured(names: Codecs, sample: Any) -> float:
    """Return the ratio of boxes of the sample, each written as one chunk."""
    is_zarr = all(name in ZARR_CODECS for name in names)
    elements = stored = 0
    with tempfile.TemporaryDirectory(prefix="swath-ratio-") as folder:
        for number, box in enumerate(_boxes(sample)):
            path = os.path.join(folder, f"{number}.zarr" if is_zarr else f"{number}.h5")
            with opening.create(
                path, box.shape, box.dtype, chunks=box.shape, codecs=list(names), streams=None
            ) as array:
                array.write(box)
            elements += box.nbytes
            stored += _bytes_of_chunks(path) if is_zarr else _bytes_in_hdf5(path)
    return elements / max(stored, 1)


def _bytes_of_chunks(folder: str) -> int:
    files = (os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name != "zarr.json")
    return sum(map(os.path.getsize, files))


def _bytes_in_hdf5(path: str) -> int:
    import h5py

    with h5py.File(path) as file:
        return sum(one.id.get_storage_size() for one in file.values())


def _boxes(sample: Any) -> list[npt.NDArray[Any]]:
    """Return a few boxes of it. Raise ArgumentError for what is no array."""
    if not isinstance(sample, (np.ndarray, Array)) or 0 in sample.shape or sample.ndim == 0:
        raise ArgumentError(f"sample: expected an ndarray, or an open array, of some elements, not {sample!r}")
    lengths = list(sample.shape)
    while int(np.prod(lengths)) * sample.dtype.itemsize > SAMPLE_BYTES and max(lengths) > 1:
        longest = lengths.index(max(lengths))
        lengths[longest] = -(-lengths[longest] // 2)
    found: dict[tuple[int, ...], npt.NDArray[Any]] = {}
    for place in range(SAMPLES):
        starts = tuple((n - length) * place // (SAMPLES - 1) for n, length in zip(sample.shape, lengths, strict=True))
        if starts not in found:
            box = tuple(slice(start, start + length) for start, length in zip(starts, lengths, strict=True))
            found[starts] = np.ascontiguousarray(sample[box])
    return list(found.values())

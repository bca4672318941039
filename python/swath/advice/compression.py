"""Compression ratios and costs of codecs for an array's chunks: from the caller, or measured on a sample."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from swath import formats
from swath.advice.candidates import HDF5_CODECS, ZARR_CODECS, Codecs
from swath.array import coding_cost
from swath.array.coding_cost import CodingCost
from swath.array.open_array import Array
from swath.errors import ArgumentError
from swath.formats import CodedLayout


def costs(codecs: Any, sample: Any) -> dict[Codecs, CodingCost]:
    """Return the ratio of each of the codecs, bytes of the elements to stored bytes, and the cost of coding.

    Args:
        codecs: names, several joined by "+" in the order of encoding ("shuffle+zstd"); or a mapping of these to ratios.
        sample: an ndarray, or an open array, part of which is read: ratios that are not given, and the cost of coding,
            are measured on it. If no codecs are given, those of an open array are used.

    Raises:
        ArgumentError: a codec that no format has; a ratio that is neither given nor can be measured.
    """
    if codecs is None:
        own = _own(sample)
        return {own: _measured(own, sample)} if own else {}
    given: Iterable[Any] = [codecs] if isinstance(codecs, str) else codecs
    if not isinstance(given, Iterable):
        raise ArgumentError(f"codecs: expected names, or a mapping of names to ratios, not {codecs!r}")
    found: dict[Codecs, CodingCost] = {}
    for one in given:
        names = _names(one)
        if isinstance(given, Mapping):
            found[names] = _given(names, _ratio(one, given[one]), sample)
        elif sample is None:
            raise ArgumentError(
                f'codecs: "{one}": how much it makes of the array depends on what is in it: give the ratio, as in '
                f"codecs={{{one!r}: 2.5}}, or a sample= of the elements"
            )
        else:
            found[names] = _measured(names, sample)
    return found


def _own(sample: Any) -> Codecs:
    """Return the codecs of an open array, if a new array can have them, too."""
    layout = sample._description.layout if isinstance(sample, Array) else None
    if not isinstance(layout, CodedLayout) or 0 in sample.shape:
        return ()
    names = tuple("lz4" if codec.name == "hdf5-lz4" else codec.name for codec in layout.codecs)
    return names if any(all(name in of for name in names) for of in (ZARR_CODECS, HDF5_CODECS)) else ()


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


def _given(names: Codecs, ratio: float, sample: Any) -> CodingCost:
    """Return the caller's ratio, with the seconds of coding if there is a sample to measure them on."""
    if not isinstance(sample, (np.ndarray, Array)) or sample.nbytes < coding_cost.MEASURED_BYTES_MIN:
        return CodingCost(ratio)
    return dataclasses.replace(_measured(names, sample), ratio=ratio)


def _measured(names: Codecs, sample: Any) -> CodingCost:
    """Return the result of the codecs, as `swath.create` configures them, on boxes of the sample."""
    if not isinstance(sample, (np.ndarray, Array)) or 0 in sample.shape or sample.ndim == 0:
        raise ArgumentError(f"sample: expected an ndarray, or an open array, of some elements, not {sample!r}")
    kind = "zarr" if all(name in ZARR_CODECS for name in names) else "hdf5"
    codecs = formats.check_codecs(kind, list(names), sample.dtype.itemsize)
    return coding_cost.measured(codecs, coding_cost.boxes_of(sample))

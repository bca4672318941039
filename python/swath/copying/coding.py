"""The costs of decoding the source of a copy and encoding its target, measured or from the profile."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import _core, formats
from swath.array import coding_cost
from swath.array.opening import open_described
from swath.copying.costs import Costs
from swath.copying.request import Part
from swath.errors import Error
from swath.files.open_options import OpenOptions
from swath.formats import CodedLayout, Description
from swath.formats.description import Codec
from swath.ranks.ranks import Ranks

MEASURED_ALIKE = 3
"""Of arrays with the same codecs only this many are measured: a file may have thousands."""

Coded = tuple[tuple[Codec, ...], tuple[Codec, ...], str]
"""Codecs of a source and of its target, and the dtype of the elements."""


class CodingCosts:
    """Adds the costs of decoding a source and encoding a target to the costs of a copy.

    They are measured on some elements if the source is large enough, since data and levels of codecs change them by a
    factor of ten; otherwise they come from the profile.

    Args:
        costs: without coding.
        profile: of the store of the target.
    """

    def __init__(self, costs: Costs, profile: _core.Profile) -> None:
        self._costs = costs
        self._profile = profile
        self._measured: dict[Coded, list[tuple[float, float]]] = {}

    def of(self, part: Part) -> Costs:
        """Return the costs for one array."""
        source, target = codecs_of_source(part.source), codecs_of_target(part)
        if not source and not target:
            return self._costs
        decode, encode = self._seconds(part, (source, target, part.source.dtype.str))
        return dataclasses.replace(self._costs, decode=decode, encode=encode)

    def _seconds(self, part: Part, coded: Coded) -> tuple[float, float]:
        if part.target_side.nbytes >= coding_cost.MEASURED_BYTES_MIN:
            of_alike = self._measured.setdefault(coded, [])
            if len(of_alike) < MEASURED_ALIKE:
                with contextlib.suppress(Error, OSError):  # the copy itself reports the error
                    of_alike.append(_measured(part, coded))
            if of_alike:
                decoding, encoding = zip(*of_alike, strict=True)
                return statistics.fmean(decoding), statistics.fmean(encoding)
        return _seconds_of_profile(self._profile, coded[0], coded[1])


def with_coding_of_profile(
    costs: Costs, profile: _core.Profile, source: Sequence[Codec], target: Sequence[Codec]
) -> Costs:
    """Return the costs with those of decoding and encoding by these codecs, from the profile."""
    decode, encode = _seconds_of_profile(profile, source, target)
    return dataclasses.replace(costs, decode=decode, encode=encode)


def _seconds_of_profile(
    profile: _core.Profile, source: Sequence[Codec], target: Sequence[Codec]
) -> tuple[float, float]:
    names = [[codec.name for codec in codecs] for codecs in (source, target)]
    return profile.coding(names[0])[0], profile.coding(names[1])[1]


def _measured(part: Part, coded: Coded) -> tuple[float, float]:
    """Return the seconds per byte of decoding the source, and of encoding the target."""
    source, target, _ = coded
    decoding = encoding = None
    described = formats.describe_again(part.source)
    options = OpenOptions("r", None, learns=False)
    with contextlib.closing(open_described(described, Ranks(_core.solo_comm()), options)) as array:
        if source:
            decoding = coding_cost.measured(source, coding_cost.boxes_of(array)).decode
        if target:
            written = [_as_written(one, part) for one in coding_cost.boxes_of(array, _chunk_of_target(part))]
            encoding = coding_cost.measured(target, written).encode
    return decoding or 0.0, encoding or 0.0


def _chunk_of_target(part: Part) -> tuple[int, ...]:
    """Return the lengths of the target's chunk in the dimensions of the source."""
    assert part.new.chunks is not None
    place = {axis: d for d, axis in enumerate(part.axes)}
    return tuple(part.new.chunks[place[axis]] for axis in range(len(part.axes)))


def _as_written(sample: npt.NDArray[Any], part: Part) -> npt.NDArray[Any]:
    """Return elements of the source in the target's dtype and order of dimensions."""
    turned = np.transpose(sample, part.axes)
    if part.converts:
        with np.errstate(all="ignore"):
            return np.ascontiguousarray(turned.astype(part.dtype))
    return np.ascontiguousarray(turned)


def codecs_of_source(source: Description) -> tuple[Codec, ...]:
    """Return the codecs of an array's chunks; () if they are not coded, or if only a library can decode them."""
    layout = source.layout
    return tuple(layout.codecs) if isinstance(layout, CodedLayout) else ()


def codecs_of_target(part: Part) -> tuple[Codec, ...]:
    """Return the codecs of the target's chunks."""
    if part.new.chunks is None:
        return ()
    return formats.check_codecs(part.format, part.new.codecs, part.dtype.itemsize)

"""Chunks, shards and orders of dimensions that the caller gives by names of dimensions, for all variables. Pure.

named = NamedLayout.of(axes=("lat", "lon", "time"), chunks={"time": 600, "lat": 45})
named.axes(("time", "lat", "lon"))                      # (1, 2, 0)
named.chunks(("lat", "lon", "time"), (90, 180, 1200), None)  # (45, 180, 600)
"""

from __future__ import annotations

import dataclasses
import difflib
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from swath.errors import ArgumentError

WHOLE = -1
"""The length of a chunk that has the whole dimension."""
Names = tuple[str, ...]
Lengths = Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class NamedLayout:
    """The arguments that use names of dimensions; None if an argument is not given.

    Attributes:
        turned: the names in the order of the target's dimensions.
        ordered: the names from the slowest to the fastest dimension of the target's elements; or "C", or "F".
        chunk: elements of a chunk along a dimension; empty for arrays without chunks.
        shard: elements of a shard along a dimension.
    """

    turned: Names | None = None
    ordered: Names | str | None = None
    chunk: Lengths | None = None
    shard: Lengths | None = None

    @staticmethod
    def of(*, axes: Any = None, order: Any = None, chunks: Any = None, shards: Any = None) -> NamedLayout:
        """Return the layout of the arguments of `swath.copy`. Raises ArgumentError if one of them has no names."""
        return NamedLayout(
            None if axes is None else _names("axes", axes),
            order if order in (None, "C", "F") else _names("order", order),
            None if chunks is None else _lengths("chunks", chunks),
            None if shards is None else _lengths("shards", shards),
        )

    def check(self, where: str, dimensions: Iterable[Sequence[str]]) -> None:
        """Raise ArgumentError, with the list of existing names, if no variable has a dimension of a given name.

        Args:
            where: the file of the variables, for messages.
            dimensions: of each variable.
        """
        there = list(dict.fromkeys(name for names in dimensions for name in names if name))
        for argument, asked in (
            ("axes", self.turned),
            ("order", self.ordered if isinstance(self.ordered, tuple) else None),
            ("chunks", self.chunk),
            ("shards", self.shard),
        ):
            for name in asked or ():
                if name not in there:
                    close = difflib.get_close_matches(name, there, 1)
                    raise ArgumentError(
                        f"{where}: {argument}= names a dimension {name!r}, which no variable that is copied has"
                        + (f" (is it {close[0]!r}?)" if close else "")
                        + (
                            f"; they have {', '.join(there)}"
                            if there
                            else "; their dimensions have no names: give numbers"
                        )
                    )

    def axes(self, dimensions: Sequence[str]) -> tuple[int, ...]:
        """Return the number of the source's dimension for each dimension of the target."""
        return permutation(dimensions, self.turned or ())

    def order(self, dimensions: Sequence[str]) -> tuple[int, ...] | None:
        """Return the order of the elements of a target with these dimensions; None if no order was given."""
        if self.ordered is None:
            return None
        if isinstance(self.ordered, str):
            return tuple(range(len(dimensions)))[:: 1 if self.ordered == "C" else -1]
        found = permutation(dimensions, self.ordered)
        return found if any(name in dimensions for name in self.ordered) else None

    def chunks(
        self, dimensions: Sequence[str], shape: Sequence[int], before: Sequence[int] | None
    ) -> tuple[int, ...] | None:
        """Return the chunks of a target.

        Args:
            dimensions: of the target.
            shape: of the target.
            before: the chunks without these arguments; dimensions that are not named keep these lengths. None for no
                chunks: there a chunk is as long as the dimension.
        """
        return None if self.chunk == {} else _with(self.chunk, dimensions, shape, before)

    def shards(
        self, dimensions: Sequence[str], shape: Sequence[int], before: Sequence[int] | None, chunk: Sequence[int] | None
    ) -> tuple[int, ...] | None:
        """Return the shards of a target; along dimensions without an argument they keep their number of chunks.

        Args:
            dimensions: of the target.
            shape: of the target.
            before: the shards without these arguments.
            chunk: its chunks.
        """
        if self.shard is not None and any(name in self.shard for name in dimensions):
            return _with(self.shard, dimensions, shape, before or chunk)
        if before is None or chunk is None:
            return None
        return tuple(-(-length // part) * part for length, part in zip(before, chunk, strict=True))


def is_by_name(value: Any) -> bool:
    """Return whether an argument `axes`, `order`, `chunks` or `shards` uses names of dimensions."""
    if isinstance(value, Mapping):
        return True
    if isinstance(value, str) or not isinstance(value, Iterable):
        return False
    return any(isinstance(item, str) for item in value)


def is_none(chunks: Any) -> bool:
    """Return whether an argument `chunks` is (), which means no chunks."""
    return isinstance(chunks, Sequence) and len(chunks) == 0


def permutation(dimensions: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    """Return the dimensions with the named ones in the order of the names; the others keep their places.

    >>> permutation(("time", "level", "lat", "lon"), ("lat", "lon", "time"))
    (2, 1, 3, 0)
    """
    places = [place for place, name in enumerate(dimensions) if name in names]
    turned = list(range(len(dimensions)))
    for place, axis in zip(places, sorted(places, key=lambda place: names.index(dimensions[place])), strict=True):
        turned[place] = axis
    return tuple(turned)


def _with(
    asked: Lengths | None, dimensions: Sequence[str], shape: Sequence[int], before: Sequence[int] | None
) -> tuple[int, ...] | None:
    if asked is None or not any(name in asked for name in dimensions):
        return None if before is None else tuple(before)
    lengths = []
    for place, (name, length) in enumerate(zip(dimensions, shape, strict=True)):
        whole = max(length, 1)
        kept = whole if before is None else before[place]
        wanted = asked.get(name, kept)
        lengths.append(whole if wanted == WHOLE else wanted)
    return tuple(lengths)


def _names(argument: str, value: Any) -> Names:
    names = tuple(value) if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) else ()
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise ArgumentError(
            f"{argument}={value!r}: expected different names of dimensions, or all numbers; they cannot be mixed"
        )
    return names


def _lengths(argument: str, value: Any) -> Lengths:
    if argument == "chunks" and is_none(value):
        return {}
    if not isinstance(value, Mapping) or not value:
        raise ArgumentError(
            f"{argument}={value!r}: expected a length by the name of each dimension, as other arguments have names: "
            f'{argument}={{"time": 600}}'
        )
    found = {}
    for name, length in value.items():
        try:
            number = operator.index(length)
        except TypeError:
            number = 0
        if not isinstance(name, str) or (number < 1 and number != WHOLE):
            raise ArgumentError(
                f"{argument}={value!r}: {length!r} elements along {name!r} cannot be: expected at least 1, or -1 for "
                "the whole dimension"
            )
        found[name] = number
    return found

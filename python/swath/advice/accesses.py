"""The accesses of a program to an array, with weights, as text or data. Pure.

    "[:, j]:10"                     ten reads of one column, any column
    "[i:i+64, :]:all"               reads of 64 rows each, until all rows were read
    "write [block, :]:5"            five collective writes, rows in blocks over the ranks
    "b [i, j:j+8]"                  one read, of the array with the name b

Chunk shapes are chosen from several accesses of an array and their frequencies: Sarawagi and Stonebraker, Efficient
Organization of Large Multidimensional Arrays (1994), section 3; Otoo, Rotem, Seshadri, Optimal Chunking of Large
Multidimensional Arrays for Data Warehousing (2007), section 3.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from swath import _core
from swath.errors import ArgumentError
from swath.space import (
    Block,
    Cyclic,
    Distribution,
    Rule,
    Selection,
    Whole,
    balanced_grid,
    normalise_selection,
    selected_shape,
)

PLACES_OF_INDICES = 2
"""A free index is priced at this many of its values: the price is the mean over these places."""
PLACES_OF_WINDOWS = 16
"""The same for a free window, which may cross the edge of a chunk or not."""
GRAMMAR = (
    'expected "[...]" with an item for each dimension: ":", a slice "a:b:c", an index, a letter for any index "i", for '
    'any window "i:i+64", or a rule block, block(k), cyclic, cyclic(k), *; before it "write", behind it how often: '
    '":10", ":all"'
)

_ACCESS = re.compile(
    r"\s*(?:(?P<direction>read|write)\s+)?(?:(?P<array>[A-Za-z_]\w*)\s*)?\[(?P<items>[^\]]*)\]\s*(?::\s*(?P<times>\S+)\s*)?"
)
_FREE = re.compile(r"(?P<name>[A-Za-z]\w*)(?:\s*:\s*(?P<again>[A-Za-z]\w*)\s*\+\s*(?P<count>\d+))?")
_RULE = re.compile(r"(?P<kind>block|cyclic|whole|\*)(?:\(\s*(?P<size>\d+)\s*\))?", re.IGNORECASE)
_SLICE = re.compile(r"(-?\d*)\s*:\s*(-?\d*)(?:\s*:\s*(-?\d*))?")
_INDEX = re.compile(r"-?\d+")


@dataclass(frozen=True)
class Access:
    """An access of a program to an array, and how often it happens.

    Attributes:
        selection: an item for each dimension: an integer, a slice, or a `Free`; `...` for the rest.
        distribution: how the selected array is distributed over ranks; None: one process reads or writes it.
        times: how often it happens.
        write: whether it is a write.
        array: the name of the array, if there are several.
        text: its name in tables.
    """

    selection: Any = ...
    distribution: Distribution | None = None
    times: float = 1.0
    write: bool = False
    array: str = ""
    text: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.times, (int, float)) or isinstance(self.times, bool) or not 0 < self.times < math.inf:
            raise ArgumentError(f"access {self.text or self.selection}: times {self.times!r}: expected more than 0")
        if self.distribution is not None and not isinstance(self.distribution, Distribution):
            raise ArgumentError(
                f"access {self.text}: distribution: expected a swath.Distribution, not {self.distribution!r}"
            )


@dataclass(frozen=True)
class Free:
    """An index, or a window of `count` indices, at any place along its dimension.

    Attributes:
        count: the number of indices; None for one, which drops the dimension as an integer does.
    """

    count: int | None = None


@dataclass(frozen=True)
class Operations:
    """An access to an array of known shape, as operations with a price.

    Attributes:
        text: its name in tables.
        direction: "read" or "write".
        times: how often it happens.
        selections: the access at several places; its price is their mean price.
        distribution: of each selection; None: one process.
        ranks: the number of ranks that take part.
        lengths: the number of indices along each dimension that one rank takes at once.
        weights: of the places; (): all are equal.
        given: the distribution of elements at each place, if there is no `distribution` (boxes).
    """

    text: str
    direction: str
    times: float
    selections: tuple[Selection, ...]
    distribution: Distribution | None
    ranks: int
    lengths: tuple[int, ...]
    weights: tuple[float, ...] = ()
    given: tuple[_core.Decomposition, ...] = ()

    @property
    def parts(self) -> tuple[float, ...]:
        """Return the share of each place in all times; the sum is 1."""
        weights = self.weights or (1.0,) * len(self.decompositions)
        return tuple(weight / math.fsum(weights) for weight in weights)

    @functools.cached_property
    def decompositions(self) -> tuple[_core.Decomposition, ...]:
        """Return the distribution of elements over ranks, at each of the places."""
        if self.given:
            return self.given
        if self.distribution is None:
            return tuple(map(_core.Decomposition.alone, self.selections))
        of_core = self.distribution._core
        return tuple(_core.Decomposition.distributed(of_core, one, self.ranks) for one in self.selections)


def parse(text: str, ranks: int = 1) -> tuple[Access, bool]:
    """Return the access that `text` describes, and whether it is repeated for every index ("all").

    Args:
        text: see above.
        ranks: the number of ranks for rules (block, cyclic).

    Raises ArgumentError, which quotes the wrong part, with what is expected.
    """
    match = _ACCESS.fullmatch(text)
    if match is None:
        raise ArgumentError(f'access "{text}": {GRAMMAR}')
    items: list[Any] = []
    rules: list[Rule] = []
    names: list[str] = []
    for part in match["items"].split(",") if match["items"].strip() else []:
        item, rule, name = _item(text, part.strip())
        items.append(item)
        if name in names:
            raise ArgumentError(f'access "{text}": the index {name} stands twice; a diagonal is not one access')
        names += [name] if name else []
        if not isinstance(item, int) and not (isinstance(item, Free) and item.count is None):
            rules.append(rule)
    distribution = None
    if any(not isinstance(rule, Whole) for rule in rules):
        if ... in items:
            raise ArgumentError(f'access "{text}": with block or cyclic give an item for each dimension, not "..."')
        distribution = Distribution(rules, balanced_grid(rules, ranks))
    times = match["times"]
    is_all = times == "all"
    access = Access(
        tuple(items) or ...,
        distribution,
        1.0 if times is None or is_all else _times(text, times),
        match["direction"] == "write",
        match["array"] or "",
        _short(text, match),
    )
    return access, is_all


def _short(text: str, match: re.Match[str]) -> str:
    """Return the access without its frequency."""
    return " ".join((text if match["times"] is None else text[: match.start("times")].rstrip().rstrip(":")).split())


def _times(text: str, times: str) -> float:
    try:
        return float(times)
    except ValueError:
        raise ArgumentError(f'access "{text}": "{times}" is not how often; expected a number, or "all"') from None


def _item(text: str, part: str) -> tuple[Any, Rule, str]:
    """Return the selection, the distribution rule, and the name of a free index."""
    if part == "...":
        return ..., Whole(), ""
    if rule := _RULE.fullmatch(part):
        kind, size = rule["kind"].lower(), None if rule["size"] is None else int(rule["size"])
        if kind == "block":
            return slice(None), Block(size), ""
        if kind == "cyclic":
            return slice(None), Cyclic(1 if size is None else size), ""
        return slice(None), Whole(), ""
    if free := _FREE.fullmatch(part):
        if free["again"] is not None and (free["again"] != free["name"] or int(free["count"]) == 0):
            raise ArgumentError(f'access "{text}": "{part}" cannot be: expected a window such as "i:i+64"')
        return Free(None if free["count"] is None else int(free["count"])), Whole(), free["name"]
    if _INDEX.fullmatch(part):
        return int(part), Whole(), ""
    if cut := _SLICE.fullmatch(part):
        return slice(*(int(number) if number else None for number in cut.groups())), Whole(), ""
    raise ArgumentError(f'access "{text}": "{part}" cannot be: {GRAMMAR}')


def checked(
    given: Any, ranks: int, shape: tuple[int, ...], array: str = "", places: Sequence[Sequence[float]] = ()
) -> list[Operations]:
    """Return the accesses of the array called `array`, of `shape`. Raise ArgumentError for invalid accesses."""
    found = []
    for what, times in as_list(given):
        access, is_all = _access(what, ranks)
        if access.array == array:
            found.append(operations(replace(access, times=access.times * times), shape, is_all=is_all, places=places))
    return found


def as_list(given: Any) -> list[tuple[Any, float]]:
    """Return accesses from any allowed type, each with its frequency. Raise ArgumentError."""
    several: Iterable[Any]
    if isinstance(given, Mapping):
        several = list(given.items())
    elif isinstance(given, (str, Access)):
        several = [given]
    elif isinstance(given, Sequence) and not isinstance(given, bytes):
        several = given
    else:
        raise ArgumentError(f"accesses: expected texts, swath.Access or a list of them, not {given!r}")
    return [one if isinstance(one, tuple) and len(one) == 2 else (one, 1.0) for one in several]


def array_of(given: Any, ranks: int) -> str:
    """Return the array of an access; "" if it names none."""
    return _access(given, ranks)[0].array


def _access(given: Any, ranks: int) -> tuple[Access, bool]:
    if isinstance(given, str):
        return parse(given, ranks)
    if isinstance(given, Access):
        return given, False
    raise ArgumentError(f'accesses: expected a text such as "[:, j]:10" or a swath.Access, not {given!r}')


def operations(
    access: Access, shape: tuple[int, ...], *, is_all: bool = False, places: Sequence[Sequence[float]] = ()
) -> Operations:
    """Return `access` of an array of `shape`. Raise ArgumentError if it is not possible.

    Args:
        access: of the array.
        shape: in elements.
        is_all: whether the access is repeated for every free index.
        places: the places of free indices, as a part of all values of each dimension; the default is those with a
            price.
    """
    items = _completed(access, shape)
    starts = list(dict.fromkeys(_starts(items, shape, places, side_by_side=is_all)))
    chosen = [_at(items, one, shape) for one in starts]
    ranks = 1
    if access.distribution is not None:
        ranks = max(access.distribution.ranks) + 1 if access.distribution.ranks else access.distribution.size
        access.distribution.local_shape(selected_shape(chosen[0]), 0)  # raises if it is not possible
    first = chosen[0]
    times = access.times * (_turns(items, shape) if is_all else 1)
    text = access.text or _text(access, items)
    return Operations(
        text,
        "write" if access.write else "read",
        times,
        tuple(chosen),
        access.distribution,
        ranks,
        lengths_at_once(access, first),
    )


def _starts(
    items: Sequence[Any], shape: tuple[int, ...], places: Sequence[Sequence[float]], *, side_by_side: bool
) -> Iterator[tuple[int | None, ...]]:
    """Yield the places of free indices and windows together; None for other items.

    Windows with "all" are placed side by side, other windows anywhere.
    """
    free = [d for d, item in enumerate(items) if isinstance(item, Free)]
    has_windows = any(items[d].count is not None for d in free)
    count = PLACES_OF_WINDOWS if has_windows else PLACES_OF_INDICES if free else 1
    for place in places or (_evenly(number, count, len(items)) for number in range(count)):
        starts: list[int | None] = [None] * len(items)
        for d in free:
            length = items[d].count or 1
            start = int(place[d] * (shape[d] - length + 1))
            starts[d] = start // length * length if side_by_side else start
        yield tuple(starts)


def _evenly(number: int, count: int, dimensions: int) -> list[float]:
    """Return one of `count` points that are spread evenly over [0, 1) along each dimension, and over all of them.

    Equal steps along the first; along the others multiples of irrational numbers (Kronecker's sequence).
    """
    steps = (math.sqrt(prime) % 1 for prime in itertools.cycle((2, 3, 5, 7, 11)))
    return [(number + 0.5) / count, *((0.5 + number * next(steps)) % 1 for _ in range(dimensions - 1))]


def _completed(access: Access, shape: tuple[int, ...]) -> list[Any]:
    items = list(access.selection) if isinstance(access.selection, tuple) else [access.selection]
    rest = [place for place, item in enumerate(items) if item is ...]
    name = access.text or str(access.selection)
    if len(rest) > 1 or len(items) - len(rest) > len(shape) or (not rest and len(items) < len(shape)):
        raise ArgumentError(f"access {name}: {len(items)} items for an array of {len(shape)} dimensions, {shape}")
    for place in rest:
        items[place : place + 1] = [slice(None)] * (len(shape) - len(items) + 1)
    for d, (item, n) in enumerate(zip(items, shape, strict=True)):
        if isinstance(item, Free) and item.count is not None and item.count > n:
            raise ArgumentError(f"access {name}: a window of {item.count} along dimension {d}, which has {n} indices")
        if isinstance(item, Free) and n == 0:
            raise ArgumentError(f"access {name}: no index can be chosen along dimension {d}, which has none")
    return items


def _at(items: list[Any], starts: Sequence[int | None], shape: tuple[int, ...]) -> Selection:
    """Return the selection with every free index at `starts`."""
    chosen: list[Any] = []
    for item, start in zip(items, starts, strict=True):
        if not isinstance(item, Free) or start is None:
            chosen.append(item)
        else:
            chosen.append(start if item.count is None else slice(start, start + item.count))
    return normalise_selection(tuple(chosen), shape)


def _turns(items: list[Any], shape: tuple[int, ...]) -> int:
    """Return the number of accesses until every free index was used."""
    return math.prod(-(-n // (item.count or 1)) for item, n in zip(items, shape, strict=True) if isinstance(item, Free))


def lengths_at_once(access: Access, selection: Selection) -> tuple[int, ...]:
    """Return the number of indices that one rank takes at once along each dimension of the array."""
    counts = [count for _, _, count, _ in selection]
    if access.distribution is None:
        return tuple(counts)
    kept = [d for d, (_, _, _, dropped) in enumerate(selection) if not dropped]
    for d, rule, processes in zip(kept, access.distribution.rules, access.distribution.grid, strict=True):
        if isinstance(rule, Block):
            counts[d] = min(counts[d], rule.size or -(-counts[d] // processes))
        elif isinstance(rule, Cyclic):
            counts[d] = min(counts[d], rule.size)
    return tuple(counts)


def _text(access: Access, items: list[Any]) -> str:
    def one(item: Any, letter: str) -> str:
        if isinstance(item, Free):
            return letter if item.count is None else f"{letter}:{letter}+{item.count}"
        if isinstance(item, slice):
            bounds = [item.start, item.stop, *([item.step] if item.step is not None else [])]
            return ":".join("" if bound is None else str(bound) for bound in bounds)
        return str(item)

    letters = itertools.chain("ijklmn", (f"i{n}" for n in itertools.count()))
    text = f"[{', '.join(one(item, letter) for item, letter in zip(items, letters, strict=False))}]"
    if access.distribution is not None:
        text += " by " + ", ".join(repr(rule).lower() for rule in access.distribution.rules)
    return ("write " if access.write else "") + (f"{access.array} " if access.array else "") + text

"""Patterns of access with a price: how many ranks move how many regions of which size, and by which method. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from swath.errors import ArgumentError

METHODS = ("auto", "direct", "sieve", "list", "two-phase")
GRAMMAR = (
    "read or write, then ranks=4 regions=4096 size=8 gap=0 calls=1 method=auto times=1 aggregators=2, "
    "each of which may be left out"
)


@dataclass(frozen=True)
class Pattern:
    """An access of all ranks to a file. Regions of the ranks alternate: rank 0, rank 1, …, then rank 0 again.

    Attributes:
        way: "read" or "write".
        ranks: the number of ranks that take part.
        regions: the contiguous regions of the file that each rank moves.
        size: the bytes of a region.
        gap: the bytes that nobody moves between neighbouring regions.
        calls: the calls of the program for each region; 1 for a region that is moved at once.
        method: the method, of `METHODS`; "direct" for calls of the program itself.
        times: how often all this happens.
        aggregators: the number of aggregators of two-phase; 0: as the plan chooses.
    """

    way: str
    ranks: int = 1
    regions: int = 1
    size: int = 1
    gap: int = 0
    calls: int = 1
    method: str = "auto"
    times: int = 1
    aggregators: int = 0

    @property
    def words(self) -> str:
        """Return it as `parsed` reads it. Values that are the default ones are left out."""
        own = [
            f"{one.name}={getattr(self, one.name)}"
            for one in fields(self)[1:]
            if getattr(self, one.name) != one.default
        ]
        return " ".join([self.way, *own])

    @property
    def bytes(self) -> int:
        """Return the bytes of all ranks and times."""
        return self.ranks * self.regions * self.size * self.times


def parsed(text: str) -> Pattern:
    """Return the pattern that `Pattern.words` describes.

    Raises:
        ArgumentError: it is no pattern; the error says what was expected.
    """
    way, *rest = text.split() or [""]
    known = {one.name for one in fields(Pattern)} - {"way"}
    said: dict[str, Any] = {}
    for word in rest:
        name, _, value = word.partition("=")
        if name not in known or not value:
            raise _wrong(text, f"{word!r} is no part of it")
        said[name] = value if name == "method" else _count(text, word, value, 0 if name == "gap" else 1)
    if way not in ("read", "write"):
        raise _wrong(text, f"it begins with {way!r}")
    if said.get("method", "auto") not in METHODS:
        raise _wrong(text, f"the method is {said['method']!r}: expected one of {', '.join(METHODS)}")
    return Pattern(way, **said)


def _count(text: str, word: str, value: str, least: int) -> int:
    if not value.isdecimal() or int(value) < least:
        raise _wrong(text, f"{word!r}: expected a whole number, at least {least}")
    return int(value)


def _wrong(text: str, why: str) -> ArgumentError:
    return ArgumentError(f'price "{text}": {why}; expected {GRAMMAR}')

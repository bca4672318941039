"""Everything that has a price, in words: patterns of access, and the numbers of a store that patterns do not have."""

from __future__ import annotations

from dataclasses import dataclass

from swath.advice.runs.pattern import GRAMMAR, Pattern, parsed
from swath.advice.runs.prices import Prices
from swath.errors import ArgumentError

WITHOUT_JUMPS = "without-jumps"
FORMS = (
    f"a pattern ({GRAMMAR})",
    f"{WITHOUT_JUMPS} PATTERN",
    "copy size=BYTES",
    "sync size=BYTES",
    "slowdown read|write streams=N",
)
"""What `priced` reads."""


@dataclass(frozen=True)
class Price:
    """A price.

    Attributes:
        value: the number.
        unit: "s" for seconds; "times" for a slowdown.
        bytes: the bytes that are moved.
    """

    value: float
    unit: str = "s"
    bytes: int = 0


def priced(prices: Prices, words: str, cached: float = 0.0) -> Price:
    """Return the price of what `words` say.

    A pattern has the seconds of its slowest rank, without a sync. "without-jumps" is its price as if each call of a
    rank followed the one before. "copy" is a copy in memory, "sync" a sync of so many written bytes. "slowdown" is how
    many times longer a transfer takes while so many ranks transfer at once.

    Args:
        prices: the prices.
        words: one of `FORMS`.
        cached: the part of the read bytes that is in the page cache.

    Raises:
        ArgumentError: the words are none of these; the error says what was expected.
    """
    first, _, rest = words.strip().partition(" ")
    if first in ("read", "write"):
        pattern = parsed(words)
        return Price(prices.seconds(pattern, cached), bytes=pattern.bytes)
    if first == WITHOUT_JUMPS:
        pattern = parsed(rest)
        return Price(prices.without_jumps(pattern), bytes=pattern.bytes)
    if first in ("copy", "sync"):
        size = _number(words, rest, "size", least=0)
        return Price((prices.copy if first == "copy" else prices.sync)(size), bytes=size)
    way, _, streams = rest.partition(" ")
    if first == "slowdown" and way in ("read", "write"):
        return Price(prices.slowdown(way, _number(words, streams, "streams", least=1), cached), "times")
    raise ArgumentError(f'price "{words}": it begins with {first!r}; expected {"; or ".join(FORMS)}')


def copy_words(size: float) -> str:
    """Return the words for a copy in memory."""
    return f"copy size={round(size)}"


def sync_words(size: float) -> str:
    """Return the words for a sync of so many written bytes."""
    return f"sync size={round(size)}"


def slowdown_words(way: str, streams: int) -> str:
    """Return the words for the slowdown by streams."""
    return f"slowdown {way} streams={streams}"


def without_jumps_words(pattern: Pattern) -> str:
    """Return the words for the price of a pattern whose calls follow each other."""
    return f"{WITHOUT_JUMPS} {pattern.words}"


def _number(words: str, rest: str, name: str, *, least: int) -> int:
    said, _, value = rest.strip().partition("=")
    if said != name or not value.isdecimal() or int(value) < least:
        raise ArgumentError(f'price "{words}": expected {name}= and a whole number, at least {least}')
    return int(value)

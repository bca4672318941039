"""What the rules ask of a run: its measures and prices, as values with the commands that print them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from swath.advice.runs import measures
from swath.advice.runs.estimate import Estimate, Formula, Literal, RankSeconds, Value, greatest, least, stated
from swath.advice.runs.factors import Factor
from swath.advice.runs.observed import Accesses
from swath.advice.runs.pattern import Pattern
from swath.advice.runs.price_words import priced, without_jumps_words
from swath.advice.runs.priced_run import PricedRun

COUNTERS_FACTOR = 2.0
"""Seconds that follow from counters alone are less certain by this factor."""


@dataclass
class Question(PricedRun):
    """The question of one run, on which all rules work.

    Attributes:
        left: for each access, by file and way, the part of its seconds that earlier advice leaves.
    """

    left: dict[tuple[str, str], Formula] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for one in self.run.accesses:  # what is hidden in the run is left out from the beginning
            rank = one.slowest_rank
            if rank >= 0 and self.hidden(one, rank) > 0:
                hidden = self.measure("hidden", "overlap", one.way, one.file, f"rank={rank}")
                self.left[one.file, one.way] = (1 - hidden / self.seconds_now(one, rank)).named("left")

    def measure(self, name: str, *words: str) -> Value:
        """Return a number of the run, with the command that prints it.

        Args:
            name: its name in formulas.
            words: the words of `swath.advice.runs.measures`; a file's name is one of them.
        """
        measure, said = measures.found(words)
        prices = self.prices.command if measure.is_priced else ""
        return Value(measure.of(self, *said), name, self._command(prices, shlex.join(words)))

    def price(self, name: str, words: str, cached: float = 0.0) -> Value:
        """Return a price, with the command that prints it.

        Args:
            name: its name in formulas.
            words: the words of `swath.advice.runs.price_words`.
            cached: the part of the read bytes that is in the page cache.
        """
        part = f" --cached {cached:g}" if cached else ""
        command = f"swath advise{self.prices.command}{part} --price {shlex.quote(words)}"
        number = self.kept(("price", words, cached), lambda: priced(self.prices, words, cached).value)
        return Value(number, name, command)

    def learned(self, title: str, factor: Factor) -> Value:
        """Return a factor that replays have taught, with the command that prints it."""
        command = self._command(self.prices.command, shlex.join(("learned", title)))
        return Value(factor.factor, "learned", command)

    def _command(self, prices: str, words: str) -> str:
        return f"swath advise {shlex.quote(self.run.log.path)}{prices} --measure {shlex.quote(words)}"

    @property
    def uncertainty(self) -> Formula:
        """Return the factor within which prices are right for this log."""
        whose = "of a measured store" if self.prices.is_measured else "that were not measured here"
        factor = stated(self.prices.factor, "uncertainty", f"prices {whose} are right within this factor")
        if not self.run.only_counters:
            return factor
        return factor * stated(COUNTERS_FACTOR, "counters", "counters alone are less certain by this factor")

    def seconds(self, one: Accesses) -> RankSeconds:
        """Return the seconds of each rank in an access now, without what earlier advice saves."""
        numbers = self.rank_seconds(one)
        seconds = RankSeconds(numbers, lambda rank: self.seconds_now(one, rank))
        left = self.left.get((one.file, one.way))
        return seconds if left is None else seconds.times(left)

    def seconds_now(self, one: Accesses, rank: int) -> Value:
        """Return the seconds of a rank in an access, whatever earlier advice saves."""
        if not self.prices.is_elsewhere:
            return self.measure("seconds_now", "seconds", one.way, one.file, f"rank={rank}")
        if (one.file, one.way) in self.planned:
            return self.measure("seconds_now", "planned", one.way, one.file)
        return self.price("price_now", self.now(one).words)

    def compared(self, one: Accesses, after: Pattern, more: Formula | None = None) -> Estimate:
        """Return what it saves if the calls of an access follow another pattern.

        The seconds now are scaled by the ratio of two prices. The interval also contains seconds minus price.

        Args:
            one: the access.
            after: the pattern after the change.
            more: seconds that the change costs besides.
        """
        now, cached, uncertainty = self.now(one), self.cached(one), self.uncertainty
        before, then = self.price("price_now", now.words, cached), self.price("price_then", after.words, cached)
        cost = then if more is None else then + more
        seconds = self.seconds(one)
        slowest = seconds.slowest
        ratio = least(cost / before, 1).named("ratio") if before.number > 0 else Literal(1)
        scaled = slowest * ratio
        likely = slowest * (1 - ratio)
        low = slowest - greatest(cost, scaled) * uncertainty
        high = slowest - least(cost, scaled) / uncertainty
        if self.prices.is_elsewhere:  # the seconds now are prices, too, and regions may lie so close that no head moves
            near = self.price("price_near", without_jumps_words(now)) - cost * uncertainty
            low = least(low, near, likely / uncertainty)
            high = greatest(high, likely * uncertainty)
        return Estimate(seconds, low, likely, high)

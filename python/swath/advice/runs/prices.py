"""Seconds of patterns of access, by the cost model of plans and the profile of a store."""

from __future__ import annotations

import shlex
import tempfile
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from swath import _core
from swath.advice.runs.pattern import Pattern

MEASURED_FACTOR = 1.25
"""Seconds are right within this factor if the profile of the store was measured (docs/calibration.md)."""
STATED_FACTOR = 2.0
"""The same for the profile of the stated defaults."""
DISK = "disk:"
"""The prefix of a modelled disk in the name of a store."""


@dataclass(frozen=True)
class Saving:
    """Seconds that a change saves: the likely number, and an interval around it.

    Attributes:
        low: the least; negative if the change may cost time.
        likely: the prediction.
        high: the most.
    """

    low: float
    likely: float
    high: float


@dataclass(frozen=True)
class Prices:
    """Prices by one profile.

    Attributes:
        profile: the measured costs.
        store: the words of the store for `--store`; "" if the profile has the stated defaults.
        is_measured: whether a store was measured.
        is_elsewhere: whether the store is another one than that of the log: then calls are priced, not taken from the
            log.
        machine: the words of the machine for `--machine`; "" if none is given.
    """

    profile: _core.Profile
    store: str = ""
    is_measured: bool = False
    is_elsewhere: bool = False
    machine: str = ""

    @property
    def factor(self) -> float:
        """Return the factor within which prices are right."""
        return MEASURED_FACTOR if self.is_measured else STATED_FACTOR

    @property
    def command(self) -> str:
        """Return the words of the command line that select these prices."""
        if self.machine:
            return f" --machine {shlex.quote(self.machine)}"
        return f" --store {shlex.quote(self.store)}" if self.store else ""

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """Return the numbers of the profile."""
        return self.profile.to_dict()

    @cached_property
    def _learning(self) -> _core.Learning:
        return _core.Learning(self.profile, True)

    @cached_property
    def _file(self) -> _core.File:
        # An engine reports its capabilities for an open file; nothing is read from the file.
        with tempfile.NamedTemporaryFile() as file:
            return _core.open_file(file.name, "r", _core.FileOptions("posix"))

    def seconds(self, pattern: Pattern, cached: float = 0.0) -> float:
        """Return the seconds of the slowest rank, without a sync at the end.

        Args:
            pattern: what is moved.
            cached: the part of the read bytes that is in the page cache.
        """
        if pattern.method == "direct" and (pattern.calls > 1 or pattern.ranks == 1):
            return pattern.times * self._by_calls(pattern, cached)
        pitch = pattern.size + pattern.gap
        shape = (pattern.regions, pattern.ranks, pattern.size)
        layout = _core.Layout.strided(shape, 1, 0, (pattern.ranks * pitch, pitch, 1))
        form = _core.ArrayForm("advice", shape, 1, layout)
        rules = [("whole", 0), ("cyclic", 1), ("whole", 0)]
        distribution = _core.Distribution(rules, [1, pattern.ranks, 1], [])
        chosen = [(0, 1, extent, False) for extent in shape]
        decomposition = _core.Decomposition.distributed(distribution, chosen, pattern.ranks)
        operation = _core.Operation(form, pattern.way, decomposition, pattern.method)
        given = {"name": "advice", "learning": self._learning, "is_new": True}
        array = _core.Array(_core.solo_comm(), self._file, form, b"", given)
        return pattern.times * float(array.explain(operation, cached).price["seconds"])

    def without_jumps(self, pattern: Pattern) -> float:
        """Return the seconds of the calls of one rank, as if each followed the one before."""
        calls = pattern.times * pattern.regions * pattern.calls
        return calls * self.request(pattern.way, pattern.size / pattern.calls)

    def request(self, way: str, size: float, cached: float = 0.0) -> float:
        """Return the seconds of one request that follows the one before."""
        return self._of_medium(way, "", size, cached)

    def sync(self, dirty_bytes: float) -> float:
        """Return the seconds of a sync."""
        return float(self.numbers["sync_seconds"] + dirty_bytes * self.numbers["sync_byte_seconds"])

    def slowdown(self, way: str, streams: float, cached: float = 0.0) -> float:
        """Return how many times longer a transfer takes while as many ranks transfer at once."""
        return self._of_medium(way, "_slowdown", streams, cached)

    def copy(self, moved: float) -> float:
        """Return the seconds of a copy in memory."""
        return moved * float(np.interp(1 << 20, *np.array(self.numbers["gather"]).T))

    def _by_calls(self, pattern: Pattern, cached: float) -> float:
        calls = pattern.regions * pattern.calls
        size = pattern.size / pattern.calls
        jumps = pattern.regions if pattern.gap or pattern.ranks > 1 else 0
        jump = self._of_medium(pattern.way, "_gap", pattern.gap, cached)
        if pattern.ranks > 1:  # every second region lies before the last one: who comes first in a round is not known
            jump = (jump + self._of_medium(pattern.way, "_jump", 0, cached)) / 2
        seconds = calls * self.request(pattern.way, size, cached) + jumps * jump
        return seconds * self.slowdown(pattern.way, pattern.ranks, cached)

    def _of_medium(self, way: str, what: str, at: float, cached: float) -> float:
        """Return a number of the page cache and of the device, by the part that is cached. Writes go to the cache."""
        if way == "write" or not self.numbers["device.read"]:
            cached = 1.0
        found = 0.0
        for part, medium in ((cached, "cache"), (1 - cached, "device")):
            if part:
                found += part * self._at(medium, way, what, at)
        return found

    def _at(self, medium: str, way: str, what: str, at: float) -> float:
        value = self.numbers[f"{medium}.{way}{what}"]
        if what == "_jump":
            return float(value)
        if what != "_gap":
            return _at(value, at, in_proportion=not what)
        jump = float(self.numbers[f"{medium}.{way}_jump"])
        return jump if not value or at >= value[-1][0] else min(jump, _at(value, at, in_proportion=False))


def _at(curve: list[list[float]], at: float, *, in_proportion: bool) -> float:
    """Return the value of a curve; beyond its last point it is constant, or proportional."""
    if not curve:
        return 1.0
    x, y = np.array(curve).T
    if in_proportion and at > x[-1]:
        return float(y[-1] * at / x[-1])
    return float(np.interp(at, x, y))

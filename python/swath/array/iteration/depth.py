"""Decides how far a loop reads ahead, from the times of its steps. Pure: equal measurements give equal decisions.

The model is that of application-controlled prefetching (Patterson and others, *Informed Prefetching and Caching*, 1995,
section 3). A step without prefetching takes computing + reading; a step with it takes the larger of both. More depth
than is needed to keep the device busy hides nothing more. A decision of the model is tried for some steps, and kept
only if it is faster: reading may use the processor on which the program computes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

HANDING_OVER_SECONDS = 60e-6
"""The cost of reading a step in another thread, in seconds."""
PAYS = 0.03
"""Reading ahead pays only if it hides at least this part of a step's time."""
NOISE = 0.1
"""Noise: the relative difference between the times of equal steps."""
CPU_BYTES_A_SECOND = 400e6
"""Faster reads come from memory and use a core: they may slow down the computing."""
FORGETS = 0.25
"""Weight of the latest step in the running means."""
DEPTH_FIRST = 2
DEPTH_MAX = 8


@dataclasses.dataclass(frozen=True)
class Measured:
    """The mean times of a step, in seconds.

    Attributes:
        steps: the number of measured steps.
        computing: the time between two calls for the next step.
        reading: the time of the operation itself.
        asking: the time of the call for the next step: waiting, and the work of the loop.
        waiting: the time of waiting for the operation.
        nbytes: the bytes of a step.
    """

    steps: int = 0
    computing: float = 0.0
    reading: float = 0.0
    asking: float = 0.0
    waiting: float = 0.0
    nbytes: int = 0

    @property
    def wall(self) -> float:
        """Return the time of a step."""
        return self.computing + self.asking

    def with_step(self, seconds: tuple[float, ...], nbytes: int) -> Measured:
        """Return the means with one more step: computing, reading, asking, waiting."""
        part = max(1 / (self.steps + 1), FORGETS)
        old = (self.computing, self.reading, self.asking, self.waiting)
        means = (mean + part * (one - mean) for mean, one in zip(old, seconds, strict=True))
        computing, reading, asking, waiting = means
        return Measured(self.steps + 1, computing, reading, asking, waiting, max(self.nbytes, nbytes))

    def numbers(self) -> list[float]:
        """Return the numbers that ranks compare. The largest counts, but of `steps` the smallest."""
        return [-self.steps, self.computing, self.reading, self.asking, self.waiting, self.nbytes]

    @staticmethod
    def of_numbers(numbers: Sequence[float]) -> Measured:
        """Return the measurements of the slowest ranks, from the compared numbers."""
        steps, computing, reading, asking, waiting, nbytes = numbers
        return Measured(int(-steps), computing, reading, asking, waiting, int(nbytes))


@dataclasses.dataclass(frozen=True)
class Measurements:
    """The times of steps that were read ahead, and of those that were not.

    Attributes:
        ahead: steps that were read ahead.
        without: steps that were not.
    """

    ahead: Measured = dataclasses.field(default_factory=Measured)
    without: Measured = dataclasses.field(default_factory=Measured)

    def with_step(self, is_ahead: bool, seconds: tuple[float, ...], nbytes: int) -> Measurements:
        """Return them with one more step."""
        if is_ahead:
            return dataclasses.replace(self, ahead=self.ahead.with_step(seconds, nbytes))
        return dataclasses.replace(self, without=self.without.with_step(seconds, nbytes))

    def before_trial(self, *, is_ahead: bool) -> Measurements:
        """Return the measurements for the begin of a trial, with or without reading ahead."""
        return dataclasses.replace(self, **{"ahead" if is_ahead else "without": Measured()})

    def numbers(self) -> list[float]:
        """Return the numbers that the ranks compare."""
        return [*self.ahead.numbers(), *self.without.numbers()]

    @staticmethod
    def of_numbers(numbers: Sequence[float]) -> Measurements:
        """Return the measurements that count for all ranks."""
        half = len(numbers) // 2
        return Measurements(Measured.of_numbers(numbers[:half]), Measured.of_numbers(numbers[half:]))


@dataclasses.dataclass(frozen=True)
class Decision:
    """The number of steps to read ahead from now on, and the reason in words."""

    depth: int
    reason: str
    is_trial: bool = False
    """Whether this depth is a trial: its steps are measured, and the next decision follows soon."""


def depth_of_memory(memory: int, step_bytes: int) -> int:
    """Return how many steps may be read ahead, besides the step in use and the previous one, which the program holds.

    It is -1 if these two alone need more than `memory`.
    """
    return max(memory // max(step_bytes, 1) - 2, -1) if step_bytes else DEPTH_MAX


def fixed(prefetch: int) -> Decision:
    """Return the decision for a requested depth."""
    return Decision(prefetch, f"prefetch={prefetch} was asked for")


def first_decision(depth_max: int) -> Decision:
    """Return the decision at the begin of a loop, before any measurement."""
    if depth_max < 1:
        return Decision(0, "off: the memory holds no step beside the one in use and the one before it")
    return Decision(0, "off: nothing is measured yet")


def decide(depth_max: int, measured: Measurements, *, depth: int, is_long_ago: bool = False) -> Decision:
    """Return how far to read ahead, from the steps measured with reading ahead and without it.

    Args:
        depth_max: the largest depth for which the memory suffices.
        measured: the measurements of all ranks.
        depth: the current depth.
        is_long_ago: whether the last trial of the alternative was long ago.
    """
    ahead, without = measured.ahead, measured.without
    latest = ahead if depth > 0 else without
    if depth_max < 1:
        return first_decision(depth_max)
    if latest.steps == 0:
        return Decision(depth, first_decision(depth_max).reason if depth == 0 else "on: nothing is measured yet")
    computing, reading = latest.computing, latest.reading
    shorter, longer = min(computing, reading), max(computing, reading)
    each = f"a step computes {seconds_text(computing)}, reads {seconds_text(reading)}"
    if reading < HANDING_OVER_SECONDS:
        return Decision(0, f"off: {each}: handing it over would take as long")
    if shorter - HANDING_OVER_SECONDS < PAYS * longer:
        little = "reading to hide" if reading < computing else "computing to hide it behind"
        return Decision(0, f"off: {each}: there is too little {little}")
    # One step ahead suffices if all reads take the same time. If some are late, more steps ahead are needed.
    is_late = depth > 0 and reading < computing
    wanted = DEPTH_FIRST + (math.ceil(latest.waiting / computing) if is_late else 0)
    ahead_now = min(wanted, depth_max, DEPTH_MAX)
    if ahead.steps == 0 or (is_long_ago and depth == 0):
        return Decision(ahead_now, f"on for some steps: {each}: is it faster so?", is_trial=True)
    is_from_memory = latest.nbytes > CPU_BYTES_A_SECOND * reading
    if is_long_ago and is_from_memory:
        return Decision(0, f"off for some steps: {each} from memory: is it faster without?", is_trial=True)
    # A thread that waits for a device does not use the processor.
    most = (1 - PAYS if is_from_memory else 1 + NOISE) * without.wall
    if without.steps and ahead.wall > most:
        return Decision(
            0,
            f"off: a step took {seconds_text(ahead.wall)} with it, {seconds_text(without.wall)} without: it costs more "
            "than it hides",
        )
    return Decision(ahead_now, f"on: {each}: {seconds_text(shorter)} can be hidden, {ahead_now} steps are read ahead")


def is_point(step: int) -> bool:
    """Return whether the depth is decided again before this step: after 2, 4, 8, … 64 steps, then every 64."""
    return step >= 2 and (step % 64 == 0 or (step < 64 and step & (step - 1) == 0))


def seconds_text(seconds: float) -> str:
    """Return 0.0031 as "3.1 ms"."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        amount = seconds * factor
        if amount >= 1 or unit == "µs":
            break
    return f"{amount:.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}"

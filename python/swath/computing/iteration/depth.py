"""How far a loop reads ahead, from what its steps took. Pure: ranks that agree on what was measured decide the same.

The model is that of application-controlled prefetching (Patterson and others, *Informed Prefetching and Caching*, 1995,
section 3): a step without it takes computing + reading, one with it the larger of both; more than is needed to keep the
device busy hides nothing more.
"""

from __future__ import annotations

import dataclasses
import math

HANDING_OVER_SECONDS = 60e-6
"""What it costs to have a step read by another thread."""
PAYS = 0.03
"""Of a step's time, the least that must be hidden."""
CPU_BYTES_A_SECOND = 400e6
"""What is read faster comes from memory, and takes a core to read: it may disturb the computing."""
DEPTH_FIRST = 2
DEPTH_MAX = 8


@dataclasses.dataclass(frozen=True)
class Measured:
    """What steps took, in seconds of one step on average.

    Attributes:
        steps: how many were measured.
        computing: between two calls for the next step.
        reading: the operation itself.
        waiting: how long the program waited for it.
        nbytes: of a step.
    """

    steps: int = 0
    computing: float = 0.0
    reading: float = 0.0
    waiting: float = 0.0
    nbytes: int = 0

    @property
    def wall(self) -> float:
        """Return how long a step took."""
        return self.computing + self.waiting

    @staticmethod
    def of_all(ranks: list[Measured]) -> Measured:
        """Return what counts for ranks that go on together: the slowest of each."""
        if not ranks:
            return Measured()
        return Measured(
            min(one.steps for one in ranks),
            max(one.computing for one in ranks),
            max(one.reading for one in ranks),
            max(one.waiting for one in ranks),
            max(one.nbytes for one in ranks),
        )


@dataclasses.dataclass(frozen=True)
class Decision:
    """How many steps are read ahead from now on, and why, in words."""

    depth: int
    reason: str
    is_trial: bool = False
    """Only to see what steps take without; decided again soon."""


def depth_of_memory(memory: int, step_bytes: int) -> int:
    """Return how many steps may be read ahead: beside the one that the program has, and the one before, which it holds.

    It is -1 where the two alone take more than `memory`.
    """
    return max(memory // max(step_bytes, 1) - 2, -1) if step_bytes else DEPTH_MAX


def first_decision(depth_max: int) -> Decision:
    """Return how a loop begins, before anything is measured."""
    if depth_max < 1:
        return Decision(0, "off: the memory holds no step beside the one in use and the one before it")
    return Decision(min(DEPTH_FIRST, depth_max), "on: nothing is measured yet")


def decide(depth_max: int, ahead: Measured, without: Measured) -> Decision:
    """Return how far to read ahead, from the steps measured with reading ahead and without it."""
    first = first_decision(depth_max)
    if first.depth == 0 or ahead.steps + without.steps == 0:
        return first
    latest = ahead if ahead.steps else without
    computing, reading = latest.computing, latest.reading
    shorter, longer = min(computing, reading), max(computing, reading)
    each = f"a step computes {seconds_text(computing)}, reads {seconds_text(reading)}"
    if reading < HANDING_OVER_SECONDS:
        return Decision(0, f"off: {each}: handing it over would take as long")
    if shorter - HANDING_OVER_SECONDS < PAYS * longer:
        little = "reading to hide" if reading < computing else "computing to hide it behind"
        return Decision(0, f"off: {each}: there is too little {little}")
    if ahead.steps and without.steps and ahead.wall > (1 - PAYS) * without.wall:
        return Decision(
            0,
            f"off: a step took {seconds_text(ahead.wall)} with it, {seconds_text(without.wall)} without: it costs more "
            "than it hides",
        )
    if ahead.steps and not without.steps and ahead.nbytes > CPU_BYTES_A_SECOND * reading:
        return Decision(0, f"off for some steps: {each} from memory: is it faster without?", is_trial=True)
    # One step suffices for what takes the same every time; who is late now and then needs some in store.
    wanted = DEPTH_FIRST + (math.ceil(latest.waiting / computing) if reading < computing else 0)
    depth = min(wanted, depth_max, DEPTH_MAX)
    return Decision(depth, f"on: {each}: {seconds_text(shorter)} can be hidden, {depth} steps are read ahead")


def is_point(step: int) -> bool:
    """Return whether it is decided anew before that step: after 2, 4, 8, … 64 steps, then after every 64."""
    return step >= 2 and (step % 64 == 0 or (step < 64 and step & (step - 1) == 0))


def seconds_text(seconds: float) -> str:
    """Return 0.0031 as "3.1 ms"."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        amount = seconds * factor
        if amount >= 1 or unit == "µs":
            break
    return f"{amount:.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}"

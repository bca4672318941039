"""Statistics of repetitions: medians and spread."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

REPETITIONS = 5
BRIEF_SECONDS = 1e-3
"""The time of a repetition on this core only: shorter than a scheduler's time slice, so most are not interrupted."""
NOISY = 0.25
"""A larger spread is measured for longer, and noted."""


@dataclasses.dataclass(frozen=True)
class Sample:
    """A median, and the spread of repetitions: interquartile range divided by the median."""

    median: float
    spread: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Sample:
        """Return the sample of at least one value."""
        median = statistics.median(values)
        low, high = np.percentile(values, (25, 75))
        return cls(median, float((high - low) / median) if median > 0 else 0.0)


def in_turn(runs: Sequence[Callable[[], float]], seconds: float, deadline: float) -> list[Sample]:
    """Run the functions in turn, repeatedly; for half as long again if the spread is large.

    Args:
        runs: each returns the seconds that it measured.
        seconds: the time for them.
        deadline: in `time.monotonic`; after it, each runs three times only.
    """
    values: list[list[float]] = [[] for _ in runs]
    begin = time.monotonic()
    while True:
        for run, seen in zip(runs, values, strict=True):
            seen.append(run())
        now = time.monotonic()
        samples = [Sample.of(seen) for seen in values]
        rounds = len(values[0])
        if rounds >= REPETITIONS and now - begin >= seconds:
            calm = all(sample.spread <= NOISY for sample in samples)
            if calm or now - begin >= 1.5 * seconds:
                return samples
        # The median of two values is their mean, which one interruption can change completely.
        if rounds >= 3 and (now - begin >= 3 * seconds or now > deadline):
            return samples


def slowdowns(samples: Sequence[Sample]) -> list[Sample]:
    """Return for one, two, ... at the same time the factor by which each takes longer than one alone."""
    return [Sample(max(1.0, sample.median / samples[0].median), sample.spread) for sample in samples]


def seconds_of(work: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin

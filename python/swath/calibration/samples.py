"""What repetitions say: medians, and how far they lay apart."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

REPETITIONS = 5
BRIEF_SECONDS = 1e-3
"""One repetition of what only this core does: shorter than a scheduler's slice, so that most are not interrupted."""
NOISY = 0.25
"""A spread beyond this is measured for longer, and noted."""


@dataclasses.dataclass(frozen=True)
class Sample:
    """A median, and how far repetitions lay apart: interquartile range by median."""

    median: float
    spread: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Sample:
        """Return the sample of at least one value."""
        median = statistics.median(values)
        low, high = np.percentile(values, (25, 75))
        return cls(median, float((high - low) / median) if median > 0 else 0.0)


def in_turn(runs: Sequence[Callable[[], float]], seconds: float, deadline: float) -> list[Sample]:
    """Do the runs in turn, again and again; for half as long again where they lie far apart.

    Args:
        runs: each returns the seconds that it measured.
        seconds: to spend on them.
        deadline: of `time.monotonic`; after it each run is repeated three times only.
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
        # The median of two would be their mean, which one interruption can make anything.
        if rounds >= 3 and (now - begin >= 3 * seconds or now > deadline):
            return samples


def slowdowns(samples: Sequence[Sample]) -> list[Sample]:
    """Return for one, two, ... at once how many times longer each takes than one alone."""
    return [Sample(max(1.0, sample.median / samples[0].median), sample.spread) for sample in samples]


def seconds_of(work: Callable[[], object]) -> float:
    """Return the seconds of a call, by the clock."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin

"""What whole iterations took overrules what was predicted: the share on disk climbs to where they are shortest. Pure.

The model says where to begin, and how far away it is worth looking: a share is tried only if it is predicted to take at
most `LOSS_MAX` longer than the best that was measured; a little step more the way that waiting for the disk shows. A
trial is taken for better only if it gains `GAIN_MIN`, so that noise moves nothing; what has been tried stays known, and
is tried again only after a rest that doubles each time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

GAIN_MIN = 0.03
"""Of an iteration's time: less is noise."""
LOSS_MAX = 0.08
"""A trial is not predicted to take so much longer than the best."""
LITTLE_LOSS_MAX = 0.16
"""A step of `STEP_MIN` to more on disk, where the program does not wait for it, or to less, where it does."""
NEAR = 0.04
"""Shares that are no further apart are the same one."""
CLOSE = 0.1
"""An end that is so close is tried whatever is predicted: it cannot take much longer, and is simpler."""
STEP_FIRST, STEP_MIN = 0.2, 0.05
REST_FIRST, REST_MAX = 8, 64
"""Iterations without a trial, once there is nothing left to try."""
REMEMBERED = 3
"""The least of so many iterations is what a share takes."""
CHANGED = 0.25
"""The best share takes so much longer than it did, twice in a row: things have changed, and all is measured anew."""
WAITS = 0.03
"""The part of an iteration that the program waits for the disk, from which on less on disk is tried first."""
UNDECIDED_MAX = 3
"""A trial that is not written after so many iterations is given up."""


@dataclasses.dataclass(frozen=True)
class Iteration:
    """A whole iteration in which nothing was written, of all ranks.

    Attributes:
        share: of the bytes that may be on disk, how many were read from there.
        seconds: of the longest rank.
        waited: part of the ranks' time in which they waited for the disk.
    """

    share: float
    seconds: float
    waited: float


class Climb:
    """Shares that were measured, and the one to be next."""

    def __init__(self) -> None:
        self._times: dict[float, list[float]] = {}
        self._home: float | None = None
        self._trial: float | None = None
        self._undecided = 0
        self._step = STEP_FIRST
        self._waited = 0.0
        self._pause = 0
        self._rest = REST_FIRST
        self._late = 0

    @property
    def has_measured(self) -> bool:
        """Whether any share was measured."""
        return self._home is not None

    def learn(self, seen: Iteration) -> None:
        """Take in what an iteration took."""
        self._undecided = 0
        share = self._near(seen.share)
        times = self._times.setdefault(seen.share if share is None else share, [])
        times.append(seen.seconds)
        del times[:-REMEMBERED]
        share = seen.share if share is None else share
        if self._home is None or (self._trial is None and share != self._home):
            self._home, self._late = share, 0  # what was to be could not be had
        if share == self._home:
            self._waited = seen.waited
            self._notice_change(seen.seconds)
        if self._trial is not None:
            self._conclude(share, seen)
        elif self._pause:
            self._pause -= 1

    def next(self, model: float, predicted: Callable[[float], float]) -> tuple[float, str]:
        """Return the share of the next iteration, and why.

        Args:
            model: the share that is predicted to be best.
            predicted: seconds of an iteration at a share.
        """
        if self._home is None:
            return model, "predicted"
        if self._trial is not None:
            self._undecided += 1
            if self._undecided <= UNDECIDED_MAX:
                return self._trial, self._words("tried")
            self._times[self._trial] = [float("inf")]  # it could not be had
            self._trial, self._undecided, self._pause = None, 0, 1
        scale = self._least(self._home) / max(predicted(self._home), 1e-12)
        if self._pause == 0:
            for share, most in self._candidates(model):
                if self._near(share) is None and predicted(share) * scale <= most * self._least(self._home):
                    self._trial = share
                    return share, self._words("tried")
            self._have_a_rest()
        return self._home, self._words("kept")

    def _candidates(self, model: float) -> list[tuple[float, float]]:
        """Return shares to try, and at most how many times as long as the best each may be predicted to take."""
        assert self._home is not None
        way = -1 if self._waited > WAITS else 1
        shares, step = [], self._step
        while step >= STEP_MIN:
            shares += [self._home + way * step, self._home - way * step]
            step /= 2
        inside = [min(max(share, 0.0), 1.0) for share in (*shares, 0.0, 1.0)]
        close = [end for end in (0.0, 1.0) if abs(end - self._home) <= CLOSE]
        little = min(max(self._home + way * STEP_MIN, 0.0), 1.0)
        return [
            (model, 1 - GAIN_MIN),
            *((share, 1 + LOSS_MAX) for share in inside),
            (little, 1 + LITTLE_LOSS_MAX),
            *((end, float("inf")) for end in close),
        ]

    def _conclude(self, share: float, seen: Iteration) -> None:
        """Make the trial the new home where it is better."""
        assert self._home is not None
        assert self._trial is not None
        if self._near(self._trial) is None:
            self._times[self._trial] = [float("inf")]  # the disk takes no more
        if share != self._home and seen.seconds < (1 - GAIN_MIN) * self._least(self._home):
            self._home, self._waited, self._late = share, seen.waited, 0
            self._step = min(2 * self._step, 1.0)
        else:
            self._step = max(self._step / 2, STEP_MIN)
            self._pause = 1
        self._trial = None

    def _have_a_rest(self) -> None:
        assert self._home is not None
        self._pause, self._rest = self._rest, min(2 * self._rest, REST_MAX)
        self._step = STEP_FIRST
        self._times = {self._home: self._times[self._home]}

    def _notice_change(self, seconds: float) -> None:
        assert self._home is not None
        self._late = self._late + 1 if seconds > (1 + CHANGED) * self._least(self._home) else 0
        if self._late == 2:
            self._times = {self._home: self._times[self._home][-2:]}
            self._step, self._rest, self._pause, self._late = STEP_FIRST, REST_FIRST, 0, 0

    def _least(self, share: float) -> float:
        return min(self._times[share])

    def _near(self, share: float) -> float | None:
        """Return the share that was measured, or could not be had, and is the same as this one."""
        found = min(self._times, key=lambda one: abs(one - share), default=None)
        if found is None or abs(found - share) > NEAR or (share in (0.0, 1.0) and found != share):
            return None  # an end is like no other share
        return found

    def _words(self, what: str) -> str:
        measured = ", ".join(
            f"{share:.0%} {min(times):.3g} s"
            for share, times in sorted(self._times.items())
            if min(times) < float("inf")
        )
        where = self._home if what == "kept" else self._trial
        return f"{where:.0%} is {what}: measured {measured}"

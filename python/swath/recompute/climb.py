"""Corrects the predicted share on disk by the measured times of whole iterations (hill climbing). Pure.

The model gives the first share, and the distance of the search: a share is tried only if its prediction is at most
`LOSS_MAX` above the best measured time; slightly more in the direction that the waits for the disk suggest. A trial is
accepted only if it saves `GAIN_MIN`, so that noise changes nothing; the results of trials are kept, and a share is
tried again only after a pause, which doubles each time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

GAIN_MIN = 0.03
"""A part of an iteration's time: less is noise."""
LOSS_MAX = 0.08
"""The most that a trial's prediction may exceed the best time."""
LITTLE_LOSS_MAX = 0.16
"""The same for a step of `STEP_MIN` to more on disk, if the program does not wait for it, or to less, if it does."""
NEAR = 0.04
"""Shares with at most this distance are the same."""
CLOSE = 0.1
"""An end at this distance is tried in any case: it cannot take much longer, and is simpler."""
STEP_FIRST, STEP_MIN = 0.2, 0.05
REST_FIRST, REST_MAX = 8, 64
"""The number of iterations without a trial, when there is nothing left to try."""
REMEMBERED = 3
"""The time of a share is the least of this many iterations."""
CHANGED = 0.25
"""If the best share takes this much longer twice in a row, conditions have changed, and all is measured again."""
WAITS = 0.03
"""If the program waits for the disk for this part of an iteration, less on disk is tried first."""
UNDECIDED_MAX = 3
"""A trial that is not written after this many iterations is given up."""


@dataclasses.dataclass(frozen=True)
class Iteration:
    """A whole iteration without writes, of all ranks.

    Attributes:
        share: the part of the bytes for the disk that was read from there.
        seconds: of the slowest rank.
        waited: the part of the ranks' time in which they waited for the disk.
    """

    share: float
    seconds: float
    waited: float


class Climb:
    """The measured shares, and the next one."""

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
        """Add the measurement of an iteration."""
        self._undecided = 0
        share = self._near(seen.share)
        times = self._times.setdefault(seen.share if share is None else share, [])
        times.append(seen.seconds)
        del times[:-REMEMBERED]
        share = seen.share if share is None else share
        if self._home is None or (self._trial is None and share != self._home):
            self._home, self._late = share, 0  # the wanted share was not possible
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
            model: the share with the best prediction.
            predicted: gives the predicted seconds of an iteration at a share.
        """
        if self._home is None:
            return model, "predicted"
        if self._trial is not None:
            self._undecided += 1
            if self._undecided <= UNDECIDED_MAX:
                return self._trial, self._words("tried")
            self._times[self._trial] = [float("inf")]  # it was not possible
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
        """Return shares to try, each with the most that its prediction may take, relative to the best time."""
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
        """Make the trial the current share if it is better."""
        assert self._home is not None
        assert self._trial is not None
        if self._near(self._trial) is None:
            self._times[self._trial] = [float("inf")]  # the disk is full
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
        """Return the tried share that is the same as this one."""
        found = min(self._times, key=lambda one: abs(one - share), default=None)
        if found is None or abs(found - share) > NEAR or (share in (0.0, 1.0) and found != share):
            return None  # an end is different from every other share
        return found

    def _words(self, what: str) -> str:
        measured = ", ".join(
            f"{share:.0%} {min(times):.3g} s"
            for share, times in sorted(self._times.items())
            if min(times) < float("inf")
        )
        where = self._home if what == "kept" else self._trial
        return f"{where:.0%} is {what}: measured {measured}"

"""How a profile learns from operations: measured seconds beside predicted ones, at collective points only.

A profile that is wrong corrects itself, within bounds: one factor for each direction, medium and scale, and one for
each method there (core/plan/profile.h). All ranks must price alike: what a rank measured is not used before all ranks
know of it. It travels with the next agreement, and the slowest rank's time counts.
"""

from __future__ import annotations

import collections
import os
import statistics

from swath import _core
from swath.profile import StoredProfile

OPERATIONS_A_TIME = 4
"""Short ones are learned from in groups (core/plan/operation_times.h), by their median: for so many a group counts as
much as one long operation."""
NOT_WORTH_LEARNING = 0.1
"""A group of several that is off by no more teaches nothing: plans that are kept stay as good as they are. Nor does an
operation whose fixed part is more than its work."""

PLANS_KNOWN = 64
"""An operation by a plan that was measured before so many others teaches nothing."""


class Learning:
    """The profile of one open array, and what its operations teach it.

    Attributes:
        profile: the numbers that prices are made from; the same on all ranks.
        frozen: nothing is learned.
        times: what operations took.
    """

    def __init__(self, stored: StoredProfile | None, *, frozen: bool = False) -> None:
        """`stored`: the store's profile; None for the stated defaults. `frozen`: nothing may be learned."""
        self.profile = _core.default_profile() if stored is None else stored.core
        self.frozen = frozen or (stored is not None and stored.frozen) or os.environ.get("SWATH_LEARNING") == "0"
        self._stored = stored
        self.times = _core.OperationTimes()
        self._plans: collections.OrderedDict[int, _core.Plan] = collections.OrderedDict()
        self._has_learned = False

    def number_of(self, plan: _core.Plan) -> int:
        """Return what `times` calls it; the last `PLANS_KNOWN` are known."""
        number = id(plan)
        if number not in self._plans:
            self._plans[number] = plan  # and so nothing else gets its number
            if len(self._plans) > PLANS_KNOWN:
                self._plans.popitem(last=False)
        return number

    def measured(self, plan: _core.Plan, *, seconds: float) -> None:
        """This rank's own time of an operation that all ranks carried out by this plan."""
        self.times.measured(self.number_of(plan), int(seconds * 1e9))

    def own_nanoseconds(self) -> int:
        """Return what this rank has measured and not yet told, 0 for nothing."""
        return self.times.own_nanoseconds

    def set_slowest(self, nanoseconds: int) -> None:
        """All ranks have told what they measured of the operation before: the slowest of them so much."""
        self.times.set_slowest(nanoseconds)
        if self.times.is_complete:
            self.learn()

    def learn(self) -> None:
        """From the group that is complete."""
        number, nanoseconds = self.times.take()
        plan = self._plans.get(number)
        if plan is not None and not self.frozen:
            not_worth = NOT_WORTH_LEARNING if len(nanoseconds) > 1 else 0.0
            times = max(len(nanoseconds) // OPERATIONS_A_TIME, 1)
            self._observe(plan, statistics.median_low(nanoseconds) * 1e-9, times, not_worth)

    def _observe(self, plan: _core.Plan, seconds: float, times: int, not_worth: float) -> None:
        """`seconds` are those of the work: what is fixed, checks and agreement, is not among them, nor corrected."""
        price = plan.price
        work = price["seconds"] - price["fixed"]
        if work <= 0 or work / price["correction"] < price["fixed"] or abs(seconds / work - 1) <= not_worth:
            return
        self.profile = self.profile.observed(price["place"], seconds / work * price["correction"], times)
        self._has_learned = True

    def keep(self) -> None:
        """Add what was learned to the store's profile on disk, where there is one; for one rank of all."""
        if self._has_learned and self._stored is not None:
            self._stored.save_corrections(self.profile.corrections)

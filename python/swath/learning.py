"""How a profile learns from operations: measured seconds beside predicted ones, at collective points only.

A profile that is wrong corrects itself, within bounds: one factor for each direction, medium and scale, and one for
each method there (core/plan/profile.h). All ranks must price alike: what a rank measured is not used before all ranks
know of it. It travels with the next agreement, and the slowest rank's time counts.
"""

from __future__ import annotations

import os
import statistics

from swath import _core
from swath.profile import StoredProfile

GROUP_SECONDS = 16e-3
"""A shorter operation tells little but noise, and what is learned costs a new plan: operations by one plan are learned
from, their median, as soon as they took so long together ..."""
GROUP_OPERATIONS = 16
"""... or are so many."""
OPERATIONS_A_TIME = 4
"""For so many short ones a group counts as much as one long operation."""
NOT_WORTH_LEARNING = 0.1
"""A group of several that is off by no more teaches nothing: plans that are kept stay as good as they are. Nor does an
operation whose fixed part is more than its work."""


class Learning:
    """The profile of one open array, and what its operations teach it.

    Attributes:
        profile: the numbers that prices are made from; the same on all ranks.
        frozen: nothing is learned.
    """

    def __init__(self, stored: StoredProfile | None, *, frozen: bool = False) -> None:
        """`stored`: the store's profile; None for the stated defaults. `frozen`: nothing may be learned."""
        self.profile = _core.default_profile() if stored is None else stored.core
        self.frozen = frozen or (stored is not None and stored.frozen) or os.environ.get("SWATH_LEARNING") == "0"
        self._stored = stored
        self._waiting: tuple[_core.Plan, float] | None = None
        self._group: list[float] = []
        self._group_plan: _core.Plan | None = None
        self._has_learned = False

    def measured(self, plan: _core.Plan, *, seconds: float) -> None:
        """This rank's own time of an operation that all ranks carried out by this plan."""
        if not self.frozen:
            self._waiting = (plan, seconds)

    def own_nanoseconds(self) -> int:
        """What this rank has measured and not yet told, 0 for nothing."""
        return 0 if self._waiting is None else int(self._waiting[1] * 1e9)

    def told(self, nanoseconds: int) -> None:
        """All ranks have told what they measured of the operation before: the slowest of them so much."""
        waiting, self._waiting = self._waiting, None
        if waiting is None or nanoseconds == 0:
            return
        plan = waiting[0]
        if plan is not self._group_plan:
            self._group, self._group_plan = [], plan
        self._group.append(nanoseconds * 1e-9)
        if len(self._group) == GROUP_OPERATIONS or sum(self._group) >= GROUP_SECONDS:
            group, self._group = self._group, []
            not_worth = NOT_WORTH_LEARNING if len(group) > 1 else 0.0
            self._observe(plan, statistics.median_low(group), max(len(group) // OPERATIONS_A_TIME, 1), not_worth)

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

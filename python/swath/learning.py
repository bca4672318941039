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

SHORT_SECONDS = 1e-3
"""Of shorter operations a single one tells little but noise, and what is learned costs a new plan."""
SHORT_GROUP = 16
"""So many short ones in a row, by the same plan, are learned from at once: their median."""
SHORT_TIMES = 4
"""A group counts as so many operations."""
NOT_WORTH_LEARNING = 0.1
"""A group that is off by no more teaches nothing: plans that are kept stay as good as they are. Nor does an operation
whose fixed part is more than its work."""


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
        self._short: list[float] = []
        self._short_plan: _core.Plan | None = None
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
        plan, seconds = waiting[0], nanoseconds * 1e-9
        if seconds >= SHORT_SECONDS:
            self._observe(plan, seconds, 1)
            return
        if plan is not self._short_plan:
            self._short, self._short_plan = [], plan
        self._short.append(seconds)
        if len(self._short) == SHORT_GROUP:
            typical = statistics.median_low(self._short)
            self._short = []
            self._observe(plan, typical, SHORT_TIMES, not_worth=NOT_WORTH_LEARNING)

    def _observe(self, plan: _core.Plan, seconds: float, times: int, not_worth: float = 0.0) -> None:
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

"""How a profile learns from operations: measured seconds beside predicted ones, at collective points only.

A profile that is wrong corrects itself, within bounds: one factor for each direction and medium, and one for each
method there (core/plan/profile.h). All ranks must price alike: what a rank measured is not used before all ranks know
of it. It travels with the next agreement, and the slowest rank's time counts.
"""

from __future__ import annotations

import os

from swath import _core
from swath.profile import StoredProfile

TOO_SHORT_SECONDS = 1e-3
"""Of shorter operations the fixed part and the noise tell nothing of the method."""


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
        self._waiting: tuple[_core.Plan, float, float] | None = None
        self._has_learned = False

    def measured(self, plan: _core.Plan, *, cached: float, seconds: float) -> None:
        """This rank's own time of an operation that all ranks carried out by this plan."""
        if not self.frozen:
            self._waiting = (plan, cached, seconds)

    def own_nanoseconds(self) -> int:
        """What this rank has measured and not yet told, 0 for nothing."""
        return 0 if self._waiting is None else int(self._waiting[2] * 1e9)

    def told(self, nanoseconds: int) -> None:
        """All ranks have told what they measured of the operation before: the slowest of them so much."""
        waiting, self._waiting = self._waiting, None
        seconds = nanoseconds * 1e-9
        if waiting is None or seconds < TOO_SHORT_SECONDS:
            return
        plan, cached, _ = waiting
        price = plan.price
        predicted = price["seconds"] / price["correction"]
        self.profile = self.profile.observed(plan.method, plan.direction == "write", cached, seconds / predicted)
        self._has_learned = True

    def keep(self) -> None:
        """Add what was learned to the store's profile on disk, where there is one; for one rank of all."""
        if self._has_learned and self._stored is not None:
            self._stored.save_corrections(self.profile.corrections)

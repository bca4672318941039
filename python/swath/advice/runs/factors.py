"""Factors that replays have taught: for each store and kind of advice, how much of the predicted seconds was saved.

They are in one file beside the profiles of stores (docs/advise.md): a profile corrects prices of methods, and these are
of changes, which a method does not name.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from swath.base import cache_folder, own_files

FACTOR_MOST = 4.0
"""A learned factor lies between the inverse of this number and the number."""
MEMORY = 8
"""A new replay weighs at least one part in so many."""


@dataclass(frozen=True)
class Factor:
    """What replays have shown of one kind of advice, for one store.

    Attributes:
        factor: replayed seconds divided by predicted ones.
        observations: the number of replays.
    """

    factor: float = 1.0
    observations: int = 0

    def observed(self, ratio: float) -> Factor:
        """Return the factor after one more replay, which is bounded: one disturbed replay must not spoil the rest."""
        weight = 1 / min(self.observations + 1, MEMORY)
        bounded = min(max(ratio, 1 / FACTOR_MOST), FACTOR_MOST)
        return Factor(self.factor ** (1 - weight) * bounded**weight, self.observations + 1)


def file() -> str:
    """Return the path of the file."""
    return os.path.join(cache_folder.profiles(), "advice.json")


def factors(source: str) -> dict[str, Factor]:
    """Return the factors of a store by the titles of advice; none if nothing was learned, or the file is damaged.

    Args:
        source: the origin of the prices, as `Profile.source` says it.
    """
    try:
        of_store = own_files.read_json(file())[source]
        return {str(title): Factor(float(one["factor"]), int(one["observations"])) for title, one in of_store.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}

"""Batches that are kept in memory, kept on disk, or computed again: `swath.Balanced`.

`choice` says which batch goes where, `prices` what computing and reading were seen to take (both pure); `batch_file` is
the file, `loop` one iteration, `balanced` the class.
"""

from swath.recompute.balanced import Balanced
from swath.recompute.choice import Place
from swath.recompute.plan import BalancedIteration, BalancedPlan

__all__ = ["Balanced", "BalancedIteration", "BalancedPlan", "Place"]

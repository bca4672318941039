"""Batches that are kept in memory, kept on disk, or computed again: `swath.Balanced`.

`choice` decides where each batch goes, `prices` has the measured times of computing and reading (both pure);
`batch_file` is the file, `loop` one iteration, `balanced` the class.
"""

import warnings
from typing import Any

from swath.recompute.balanced import Balanced
from swath.recompute.choice import Source
from swath.recompute.plan import BalancedIteration, BalancedPlan

__all__ = ["Balanced", "BalancedIteration", "BalancedPlan", "Source"]


def __getattr__(name: str) -> Any:
    if name != "Place":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        "swath.recompute.Place is swath.recompute.Source now; the old name goes in version 0.3",
        DeprecationWarning,
        stacklevel=2,
    )
    return Source

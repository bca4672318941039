"""Copying an array into another layout within a budget of memory, and comparing two arrays.

request ──▶ make_plan()   pure (copy_layout.py, one_pass.py, price.py, plan.py): tiles, passes, seconds
        ──▶ journal       the finished parts, so that a copy that was killed can continue
        ──▶ pipeline      read ahead, shuffle, write behind, write back
"""

from swath.copying.compare import Comparison
from swath.copying.explain import Explained
from swath.copying.plan import CopyPlan, FilePlan
from swath.copying.run import Copied, copy, explain_copy
from swath.copying.verify import FileComparison, verify

__all__ = [
    "Comparison",
    "Copied",
    "CopyPlan",
    "Explained",
    "FileComparison",
    "FilePlan",
    "copy",
    "explain_copy",
    "verify",
]

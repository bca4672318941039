"""The names of what Swath adapts by itself: traces note them for each array, so that advice does not propose them."""

from __future__ import annotations

PREFETCH = "prefetch"
"""Reads are under way while the program computes."""
WRITE_BEHIND = "write behind"
"""Writes are under way while the program computes."""
RECOMPUTE = "recompute"
"""Swath decides what is kept and what is computed again."""

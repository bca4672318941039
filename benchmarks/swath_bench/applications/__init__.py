"""The programs in applications/, as they were found, optimised with Swath, and by other libraries, over ranks.

Source: Kandaswamy, Kandemir, Choudhary, Bernholdt, *Performance Implications of Architectural and Software Techniques
on I/O-Intensive Applications* (2002), tables 7 and 8, figures 8 and 9. `options` has the programs and their sizes,
`running` builds and runs them, `summary` compares before with after, `tables` prints.
"""

from __future__ import annotations

from swath_bench.applications.options import CASES, SCALES, Options, needs, quick_options
from swath_bench.applications.running import measure
from swath_bench.applications.summary import summarise
from swath_bench.applications.tables import show

__all__ = ["CASES", "SCALES", "Options", "measure", "needs", "quick_options", "show", "summarise"]

"""How well advice and replays hold: replays beside runs, predicted beside replayed gains, the advised order of changes.

Programs with one flaw each (`programs`) and the applications as they were found are traced, on modelled disks and on
this machine's disk. `options` has the programs, `running` traces and replays them, `summary` compares, `tables` prints.
"""

from __future__ import annotations

from swath_bench.advice.options import CASES, Options, needs, quick_options
from swath_bench.advice.running import measure
from swath_bench.advice.summary import summarise
from swath_bench.advice.tables import show

__all__ = ["CASES", "Options", "measure", "needs", "quick_options", "show", "summarise"]

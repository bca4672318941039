"""A copy in a process of its own, to be killed or measured: run as a program by test_copy_faults.py and others.

python copy_program.py run SOURCE TARGET JSON        copies with the options in JSON; "passes": 2 forces two passes
python copy_program.py memory SOURCE TARGET JSON     the same, and prints how much memory it took, as JSON
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import swath
from memory_cases import status
from swath.copying import plan as planning


def force_two_passes() -> None:
    """Whatever they cost."""
    planning.SHORT_SECONDS = 0.0
    planning.SECOND_PASS_PAYS = 1e9
    planning._floor = lambda source, target, costs: 0.0


def measured(source: str, target: str, options: dict[str, Any]) -> dict[str, Any]:
    """Peak memory beside the idle interpreter, which has copied something small before.

    The peak is that of all resident memory; pages of files that are mapped are those of libraries, loaded before.
    """
    small, copied = Path(f"{target}.small.npy"), Path(target).with_stem("small")
    np.save(small, np.zeros((64, 64)))
    swath.copy(small, copied, axes=(1, 0), memory=1 << 20)  # with it the format's library is loaded
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that from now on
    before = status("VmRSS")
    plan = swath.copy(source, target, **options).plan
    return {"peak": status("VmHWM") - before, "planned": plan.memory_bytes, "passes": len(plan.passes)}


def main() -> None:
    """Copies."""
    what, source, target, given = sys.argv[1:]
    options = json.loads(given)
    if options.pop("passes", 1) == 2:
        force_two_passes()
    if what == "memory":
        print(json.dumps(measured(source, target, options)))
    else:
        swath.copy(source, target, **options)


if __name__ == "__main__":
    main()

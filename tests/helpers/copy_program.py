"""A copy in a separate process, to be killed or measured: test_copy_faults.py and others run it as a program.

A complete copy is verified by the libraries of its formats.

python copy_program.py run SOURCE TARGET JSON        copies with the options in JSON; "passes": 2 forces two passes
python copy_program.py memory SOURCE TARGET JSON     the same, and prints how much memory it took, as JSON
"""

from __future__ import annotations

import gc
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

import by_library
import swath
from memory_cases import status
from swath.copying import plan as planning


def force_two_passes() -> None:
    """Use two passes at any cost."""
    planning.SECOND_PASS_PAYS = 1e9
    planning._gain_max = lambda *_: math.inf


def measured(source: str, target: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the peak memory above that of the idle interpreter, which has made a small copy before.

    The peak includes all resident memory; pages of mapped files belong to libraries, which were loaded before.
    """
    small, copied = Path(f"{target}.small.npy"), Path(target).with_stem("small")
    np.save(small, np.zeros((64, 64)))
    swath.copy(small, copied, axes=(1, 0), memory=1 << 20)  # with it the format's library is loaded
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that from now on
    before = status("VmRSS")
    copied = swath.copy(source, target, **options)
    plan, peak = copied.plan, status("VmHWM")
    by_library.check(source, target, copied, options)
    return {"peak": peak - before, "planned": plan.memory_bytes, "passes": len(plan.passes)}


def main() -> None:
    """Copies."""
    what, source, target, given = sys.argv[1:]
    options = json.loads(given)
    if options.pop("passes", 1) == 2:
        force_two_passes()
    if what == "memory":
        print(json.dumps(measured(source, target, options)))
    else:
        by_library.verified(swath.copy)(source, target, **options)


if __name__ == "__main__":
    main()

"""NASA7's kernels on arrays that stay on disk; each result is compared with NumPy's in memory.

python applications/nasa7/nasa7.py --kernel mxm --variant optimised --size 1024
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from disk import VARIANTS, Disk
from inputs import cut_of, inputs, reference

from kernels import KERNELS

TOLERANCE = 1e-9
"""The largest accepted error, relative to the largest element."""


def run(kernel: str, variant: str, size: int, panel: int, folder: Path) -> dict[str, Any]:
    """Run one kernel; raises ArithmeticError if its result is not NumPy's."""
    values = inputs(kernel, size)
    disk = Disk(folder, variant, panel)
    stored = {name: disk.put(name, each, cut_of(kernel, name)) for name, each in values.items()}
    began = time.perf_counter()
    result = KERNELS[kernel](disk, stored)
    disk.flush()
    total = time.perf_counter() - began
    expected = reference(kernel, values)
    error = float(np.max(np.abs(result.stored[...] - expected)) / np.max(np.abs(expected)))
    disk.close()
    if not error <= TOLERANCE:
        raise ArithmeticError(
            f"{kernel}, {variant}: the result differs from NumPy's by {error:.1e}; expected {TOLERANCE}"
        )
    return {
        "application": "nasa7",
        "kernel": kernel,
        "variant": variant,
        "size": size,
        "ranks": 1,
        "bytes": disk.bytes,
        "total_seconds": total,
        "io_seconds": disk.seconds,
        "error": error,
        "checked": True,
    }


def main() -> None:
    """Run the kernels that the command line names; prints a line of JSON for each."""
    parser = argparse.ArgumentParser(prog="nasa7.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernel", choices=[*KERNELS, "all"], default="all")
    parser.add_argument("--variant", choices=VARIANTS, default="optimised")
    parser.add_argument("--size", type=int, default=256, help="of a kernel's arrays along a dimension (256)")
    parser.add_argument("--panel", type=int, default=32, help="of them in memory at a time (32)")
    parser.add_argument("--folder", type=Path, default=Path(), help="for the arrays, which are gone at the end (.)")
    given = parser.parse_args()
    for kernel in KERNELS if given.kernel == "all" else [given.kernel]:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            print(json.dumps(run(kernel, given.variant, given.size, given.panel, Path(folder))))


if __name__ == "__main__":
    main()

"""Runs three iterations over 128 MiB of batches of 1 MiB, half of them on disk, and measures their peak memory.

    python balanced_memory_program.py PATH MEMORY

Prints JSON: the bytes above those before, and the batches read and taken from memory in the last iteration.
"""

from __future__ import annotations

import json
import sys

import numpy as np

import swath
from memory_cases import MIB, status

BATCHES = 128


def produce(batch: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.full(MIB // 8, float(batch))


def main(path: str, memory: int) -> None:
    with swath.Balanced(produce, [MIB // 8] * 4, path=path, disk=1.0, memory=0) as first:  # what is loaded when used
        for _ in range(2):
            for _ in first:
                pass
    before = status("VmRSS")
    with swath.Balanced(produce, [MIB // 8] * BATCHES, path=path, disk=0.5, memory=memory) as balanced:
        for _ in range(3):
            for batch, values in balanced:
                assert values[0] == values[-1] == batch
        last = balanced.iterations[-1]
    peak = status("VmHWM") - before
    print(json.dumps({"peak": peak, "read": last.batches_read, "from_memory": last.batches_from_memory}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

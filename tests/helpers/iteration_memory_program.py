"""Runs a loop over 96 MiB in steps of 1 MiB, and measures its peak memory, in a separate process.

    python iteration_memory_program.py PATH KIND MEMORY PREFETCH

KIND: blocks, iterate, decoded or writer. Prints the bytes above those before the loop.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import swath
from memory_cases import MIB, status

STEPS = 96


def go_through(a: Any, kind: str, how: dict[str, Any]) -> float:
    total = 0.0
    if kind == "writer":
        row = np.ones(a.shape[1], a.dtype)
        with a.writer(behind=how["prefetch"], memory=how["memory"]) as w:
            for i in range(a.shape[0]):
                row[...] = i
                w.write(row, selection=i)
        return total
    loop = a.iterate(**how) if kind == "iterate" else ((v) for _, v in a.blocks((1, None), **how))
    for values in loop:
        total += float(values.sum())
    return total


def opened(path: str, kind: str) -> Any:
    variable = None if path.endswith(".raw") else "u"
    how: dict[str, Any] = {"shape": (STEPS, MIB // 8), "dtype": "<f8"} if variable is None else {"variable": variable}
    return swath.open(path, **how, mode="r+" if kind == "writer" else "r", decode=kind == "decoded")


def main(path: str, kind: str, memory: int, prefetch: Any) -> None:
    small = {"prefetch": prefetch, "memory": "4MiB"}
    with opened(path, kind) as a:  # what is loaded when used
        if kind == "writer":
            a.write(np.zeros(a.shape[1], a.dtype), selection=0)
        else:
            for _ in zip(range(3), a.blocks((1, 100), **small), strict=False):
                pass
    with opened(path, kind) as a:
        before = status("VmRSS")
        go_through(a, kind, {"prefetch": prefetch, "memory": memory})
        print(status("VmHWM") - before)


if __name__ == "__main__":
    asked = sys.argv[4]
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), asked if asked == "auto" else int(asked))

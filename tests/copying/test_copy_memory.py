"""A copy's memory stays within its budget plus a tenth, measured in a separate process; the plan predicts it, too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swath.copying.plan import OVERHEAD_BYTES
from tree import HELPERS

MIB = 1 << 20
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "transposed": ("b.npy", {"axes": (1, 0)}),
    "chunks": ("b.h5", {"chunks": (256, 200)}),
    "transposed-converted": ("b.npy", {"axes": (1, 0), "dtype": ">f4"}),
    "two-passes": ("b.npy", {"axes": (1, 0), "passes": 2}),
    "as-it-is": ("b.npy", {"dtype": ">f8"}),
    "zarr": ("b.zarr", {"chunks": (256, 256), "codecs": []}),
    "zarr-compressed": ("b.zarr", {"axes": (1, 0), "chunks": (256, 512), "codecs": "zstd"}),
    "zarr-blosc": ("b.zarr", {"chunks": (256, 512), "codecs": ["blosc"]}),
    "zarr-shards": ("b.zarr", {"chunks": (64, 256), "shards": (256, 512), "codecs": ["blosc", "crc32c"]}),
}


def measure(folder: Path, case: str, rows: int, memory: int) -> dict[str, int]:
    """Return the bytes of the plan and of the peak, for a copy of rows x 2048 numbers."""
    source = folder / "a.npy"
    values = np.lib.format.open_memmap(source, "w+", "<f8", (rows, 2048))
    values[:] = 1
    values.flush()
    name, options = CASES[case]
    command = [sys.executable, str(HELPERS / "copy_program.py"), "memory", str(source), str(folder / name)]
    command.append(json.dumps({**options, "memory": memory}))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HELPERS), *sys.path])}
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=500, check=False)
    assert ended.returncode == 0, ended.stderr
    told: dict[str, int] = json.loads(ended.stdout)
    assert told["passes"] == options.get("passes", 1)
    return told


@pytest.mark.parametrize("case", ["transposed", "chunks", "transposed-converted", "zarr", "zarr-blosc", "zarr-shards"])
def test_memory_stays_within_the_budget(tmp_path: Path, case: str) -> None:
    told = measure(tmp_path, case, 6000, 48 * MIB)  # an array of 94 MiB
    assert told["planned"] <= 48 * MIB
    assert told["peak"] <= 1.1 * 48 * MIB
    assert told["peak"] >= 0.5 * (told["planned"] - OVERHEAD_BYTES), "not all was measured"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("memory", [32, 128])
def test_memory_stays_within_the_budget_and_near_the_plan(tmp_path: Path, case: str, memory: int) -> None:
    told = measure(tmp_path, case, 20_000, memory * MIB)  # an array of 312 MiB
    assert told["planned"] <= memory * MIB
    assert told["peak"] <= 1.1 * memory * MIB
    assert told["peak"] <= 1.1 * told["planned"]

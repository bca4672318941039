"""Copies that tests start, kill and interrupt."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from tree import HELPERS

JOURNAL = ".b.npy.swath-copy.journal"

OPTIONS: dict[str, Any] = {"axes": (1, 0), "dtype": ">f4", "memory": 60_000, "checkpoint_bytes": 40_000}


def source_of(folder: Path, shape: tuple[int, int] = (400, 300)) -> np.ndarray:
    values = np.random.default_rng(3).random(shape)
    np.save(folder / "a.npy", values)
    return values


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def start(folder: Path, target: str = "b.npy", **options: Any) -> subprocess.Popen[bytes]:
    """Start a copy of a.npy in a separate process."""
    command = [sys.executable, str(HELPERS / "copy_program.py"), "run"]
    command += [str(folder / "a.npy"), str(folder / target), json.dumps(options)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HELPERS), *sys.path])}
    return subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)


def writes_of(folder: Path) -> int:
    """Return the number of writes of a whole copy."""
    how = {key: value for key, value in OPTIONS.items() if key != "checkpoint_bytes"}
    anew: dict[str, Any] = {"overwrite": True, "resume": False}
    return swath.explain_copy(folder / "a.npy", folder / "b.npy", **anew, **how).plan.passes[0].write_requests


def interrupted(folder: Path, **options: Any) -> str:
    """Run a copy that finds the disk full after half of its writes and some checkpoints; return its message."""
    writes = writes_of(folder)
    with pytest.raises(swath.StoreError) as raised:
        swath.copy(folder / "a.npy", folder / "b.npy", engine=f"fault:write@{writes // 2}=ENOSPC", **OPTIONS, **options)
    assert raised.value.errno == errno.ENOSPC
    return str(raised.value)

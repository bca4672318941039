"""NASA7's kernels on disk beside NumPy's results, and IPARS' records: the same values from every way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from application_programs import APPLICATIONS
from mpi_runs import mpiexec, needs_mpi
from yielding import preloaded

KERNELS = ["mxm", "cfft2d", "cholsky", "btrix", "gmtry", "emit", "vpenta"]


def lines(command: list[object]) -> list[dict[str, Any]]:
    """The lines of JSON that a program prints."""
    env = {**os.environ, "HYDRA_LAUNCHER": "fork", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    ended = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-4000:]
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.mark.parametrize("variant", ["found", "optimised", "memmap"])
def test_kernels_on_disk_have_the_results_of_numpy(tmp_path: Path, variant: str) -> None:
    program = APPLICATIONS / "nasa7" / "nasa7.py"
    found = lines([sys.executable, program, "--variant", variant, "--size", 50, "--panel", 16, "--folder", tmp_path])
    assert [each["kernel"] for each in found] == KERNELS
    assert all(0 <= each["error"] < 1e-12 for each in found), found
    assert all(each["bytes"] > 0 for each in found)
    assert os.listdir(tmp_path) == []


def test_another_result_than_numpys_ends_the_program(tmp_path: Path) -> None:
    program = APPLICATIONS / "nasa7" / "nasa7.py"
    code = "import sys; sys.path.insert(0, sys.argv[1]); import numpy as np, nasa7\n"
    code += "nasa7.reference = lambda *_: np.ones((20, 20))\n"
    code += "from pathlib import Path; nasa7.run('mxm', 'found', 20, 8, Path(sys.argv[2]))"
    ended = subprocess.run(
        [sys.executable, "-c", code, program.parent, tmp_path], capture_output=True, text=True, timeout=60, check=False
    )
    assert "ArithmeticError: mxm, found: the result differs from NumPy's" in ended.stderr


def reservoir(records: int, cells: tuple[int, int, int]) -> np.ndarray:
    """All records of IPARS: [record, z, y, x, variable]."""
    r, z, y, x, v = np.ogrid[:records, : cells[0], : cells[1], : cells[2], :17]
    found: np.ndarray = ((31 * r + 7 * z + 3 * y + x + 17 * v) % 64 / 64).astype("f4")
    return found


@pytest.mark.parametrize("ranks", [1, 3])
def test_records_have_the_same_values_from_every_way(tmp_path: Path, ranks: int) -> None:
    needs_mpi()
    expected = reservoir(4, (5, 7, 6))
    speed = np.linalg.norm(expected[..., 8:11], axis=-1)
    bypassed = np.count_nonzero((expected[..., 0] > 0.7) & (speed < 0.6))
    assert bypassed > 0
    for variant in ("found", "optimised", "mpi"):
        path = tmp_path / f"{variant}.raw"
        command: list[object] = [
            mpiexec(),
            "-n",
            ranks,
            *preloaded(),
            sys.executable,
            APPLICATIONS / "ipars" / "ipars.py",
        ]
        command += ["--variant", variant, "--cells", 5, 7, 6, "--records", 4, "--file", path]
        (told,) = lines(command)
        stored = expected.transpose(0, 4, 2, 3, 1) if variant == "optimised" else expected
        assert path.read_bytes() == stored.tobytes(), variant
        assert (told["bypassed"], told["ranks"], told["bytes"]) == (bypassed, ranks, expected.nbytes)

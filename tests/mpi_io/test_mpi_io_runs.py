"""One contiguous run in file and memory is one transfer, without a plan: the same bytes as with any other call."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mpi_runs import needs_mpi, run_ranks
from swath.mpi_io import preload


@pytest.mark.parametrize("seed", range(3))
def test_random_parts_of_views_are_moved_as_numpy_says(tmp_path: Path, seed: int) -> None:
    needs_mpi()
    environment = preload.environment(os.environ, report=True)
    done = run_ranks(2, "mpi_io_runs.py", tmp_path / "data", seed, environment=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "ok\n"
    for name in ("independent read", "independent write", "collective read", "collective write"):
        line = next(one for one in done.stderr.splitlines() if f"{name} by one contiguous transfer: operations" in one)
        assert float(line.rpartition("predicted ")[2].removesuffix(" s)")) > 0, line
    assert "write by direct" in done.stderr or "write by list" in done.stderr or "write by sieve" in done.stderr

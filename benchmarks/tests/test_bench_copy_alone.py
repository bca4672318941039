"""`swath bench copy` without peers: a small run succeeds, and its summary agrees with the measurements."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpi_runs import needs_mpi
from swath_bench import copy, copy_contenders


def test_the_benchmark_sums_up_what_it_measured() -> None:
    def measured(contender: str, repetition: int, seconds: float, **more: float) -> dict[str, Any]:
        what = {"contender": contender, "case": "transpose", "repetition": repetition, "ranks": 1}
        sizes = {"bytes": 100, "memory": 40, "peak_bytes": 30, "device_bytes": 100, "sync_seconds": 0.1}
        return {**what, **sizes, "seconds": seconds, **more}

    predicted = {"predicted_seconds": 3.0, "predicted_bytes": 33}
    rows = [measured(copy_contenders.FLOOR, n, s) for n, s in enumerate((99.0, 2.0, 2.2))]
    rows += [measured("Swath", n, s, **predicted) for n, s in enumerate((99.0, 4.0))]
    rows += [measured("NumPy, panels of rows", 1, 5.0), measured("NumPy, panels of columns", 1, 8.0)]
    summary = copy.summarise({"measurements": rows})
    (ours,) = [row for row in summary["rows"] if row["contender"] == "Swath"]
    assert ours["of_floor"] == pytest.approx(4.0 / 2.1)
    assert ours["of_best_loop"] == pytest.approx(4.0 / 5.0)
    assert ours["of_memory"] == 0.75
    assert summary["median_seconds_error"] == pytest.approx(0.25)
    assert summary["worst_memory_error"] == pytest.approx(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("grid", [False, True])
def test_bench_copy_in_small(tmp_path: Path, grid: bool) -> None:
    needs_mpi()
    record = tmp_path / "copy.json"
    asked = [sys.executable, "-m", "swath_bench", "copy", "--quick", "--bytes", "1MiB", "--chunk", "32"]
    asked += ["--json", str(record), "--folder", str(tmp_path), *(["--grid"] if grid else ["--ranks", "1,2"])]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=100, check=False, cwd=Path(__file__).parent)
    assert done.returncode == 0, done.stderr
    assert "Predicted against measured" in done.stdout
    (result,) = json.loads(record.read_text())
    rows = result["summary"]["rows"]
    ours = [row for row in rows if row["contender"] == "Swath"]
    if grid:
        assert len(ours) == 12
    else:
        assert {(row["case"], row["ranks"]) for row in ours} == {
            ("transpose", 1),
            ("transpose", 2),
            ("tile", 1),
            ("tile", 2),
        }
        assert all(row["of_floor"] > 0 and row["of_best_loop"] > 0 for row in ours)
    assert all(row["seconds"] > 0 and row["predicted_seconds"] > 0 for row in ours)
    assert os.listdir(tmp_path) == ["copy.json"]

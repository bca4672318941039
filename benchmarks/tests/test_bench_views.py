"""The benchmark of views, tiny: it measures the right cases and checks all data; speed is not tested."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from mpi_runs import needs_mpi
from swath.errors import ArgumentError
from swath.ranks.ranks import ranks_of
from swath_bench import views
from swath_bench.measure import FileUnderTest, WrongDataError


def result_of(seconds: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """The result of `run` for contenders with these times, the first and later; repetition 0 is slow."""
    return {
        "measurements": [
            {
                "contender": name,
                "direction": direction,
                "turn": turn,
                "repetition": repetition,
                "seconds": taken * (1000 if repetition == 0 else repetition),
                "cached_bytes_before": 64,
            }
            for name, turns in seconds.items()
            for direction in views.DIRECTIONS
            for turn, taken in zip((views.FIRST, views.LATER), turns, strict=True)
            for repetition in range(4)
        ]
    }


def test_views_are_compared_with_the_same_elements_by_other_means() -> None:
    result = result_of({views.DISTRIBUTION: (4, 1), views.VIEW: (8, 1.5), views.LISTED: (5, 2), views.MPI_IO: (15, 12)})
    summarised = views.summarise(result)
    for direction in views.DIRECTIONS:
        ratios = summarised["ratios"][direction]
        assert ratios[views.FIRST] == {"view_to_distribution": 2, "mpi_io_to_listed": 3}
        assert ratios[views.LATER] == {"view_to_distribution": 1.5, "mpi_io_to_listed": 6}
    assert summarised["cached_bytes_before_min"] == 64
    shown = io.StringIO()
    told = {**result, "summary": summarised, "file_bytes": 64, "options": {"ranks": 2, "places": 3, "repetitions": 3}}
    views.show(Console(file=shown, width=200), told)
    assert "the view takes 1.50 x the distribution's time (first 2.00)" in shown.getvalue()
    assert "MPI-IO takes 6.0 x the listed view's (first 3.0)" in shown.getvalue()


def test_more_places_than_elements_are_refused() -> None:
    with pytest.raises(ArgumentError, match="from 2 to the 8 elements of the file"):
        views.Options(bytes=64, places=9)


def test_a_contender_that_writes_other_elements_is_found_out(tmp_path: Path) -> None:
    ranks = ranks_of(None)
    file = FileUnderTest(ranks, str(tmp_path / "a.bin"), 10)
    with file.opened():
        file.fill(3)
        views._check_written(ranks, file, np.array([], dtype=np.int64), 3, "nobody")
        with pytest.raises(WrongDataError, match="somebody: wrong data"):
            views._check_written(ranks, file, np.array([4]), 3, "somebody")


def test_it_runs(tmp_path: Path) -> None:
    needs_mpi()
    command = [sys.executable, "-m", "swath_bench", "views", "--quick", "--json", "record.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "10,000 places listed" in done.stdout
    (recorded,) = json.loads((tmp_path / "record.json").read_text())
    assert len(recorded["measurements"]) == 3 * 2 * 4 * 2
    assert os.listdir(tmp_path) == ["record.json"]

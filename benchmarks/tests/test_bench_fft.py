"""`swath bench fft`: its cases are transforms, results are checked, and the summary agrees with the measurements."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from mpi_runs import needs_mpi
from swath.errors import ArgumentError
from swath_bench import __main__ as command
from swath_bench import fft
from swath_bench.measure import WrongDataError


def test_a_wrong_row_ends_the_run(tmp_path: Path) -> None:
    source, target = str(tmp_path / "a.npy"), str(tmp_path / "b.npy")
    fft._make(source, (30, 20))
    made = np.fft.fft2(np.load(source))
    np.save(target, made)
    fft._check(source, target)
    made[15, 3] += 1e-3
    np.save(target, made)
    with pytest.raises(WrongDataError, match="row 15"):
        fft._check(source, target)


def test_unknown_peers_are_refused() -> None:
    with pytest.raises(ArgumentError, match="numpy"):
        fft.Options(peers=("numpy",))


def test_the_summary_sets_medians_beside_the_floor_of_the_same_disk() -> None:
    times = {("here", fft.FLOOR): [2.0, 4.0], ("here", "Swath"): [6.0, 9.0], ("disk", fft.FLOOR): [10.0]}
    measured = [
        {"disk": disk, "contender": who, "ranks": 1, "seconds": s, "peak_bytes": 50}
        for (disk, who), all_of_it in times.items()
        for s in all_of_it
    ]
    measured.append({"disk": "here", "contender": "cubed", "ranks": 1, "refused": "no network"})
    result = {"measurements": measured, "options": {"bytes": 100, "memory": 100}}
    result["summary"] = fft.summarise(result)
    row = next(row for row in result["summary"]["rows"] if row["contender"] == "Swath")
    assert (row["seconds"], row["of_floor"], row["of_memory"]) == (7.5, 2.5, 0.5)
    console = Console(width=120, record=True)
    fft.show(console, result)
    assert "cubed: refused: no network" in console.export_text()


@pytest.mark.slow
def test_it_runs(tmp_path: Path) -> None:
    needs_mpi()
    told = tmp_path / "told.json"
    assert command.main(["fft", "--quick", "--folder", str(tmp_path), "--json", str(told), "--ranks", "1,2"]) == 0
    rows = json.loads(told.read_text())[-1]["summary"]["rows"]
    assert [(row["contender"], row["ranks"]) for row in rows] == [(fft.FLOOR, 1)] + [
        (case, ranks) for case in fft.CASES for ranks in (1, 2)
    ]

"""The benchmark of a simulation's files, tiny: wrong files are found, ratios and goals are right, and it runs."""

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
from swath.errors import ArgumentError, UnsupportedError
from swath_bench import simulation
from swath_bench.measure import WrongDataError
from swath_bench.simulation import cases, checks, compiling, summary


def made(path: Path, change: float = 0, compression: int = 1) -> str:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for number in range(2):
            values = checks.first_variable((8, 4)) + np.float32(number)
            values[7, 3] += change
            filters = {"compression": "gzip", "compression_opts": compression, "shuffle": True}
            file.create_dataset(f"v{number:04}", data=values, chunks=(2, 4), **filters)
    return str(path)


def test_a_right_file_passes_and_one_wrong_element_or_filter_does_not(tmp_path: Path) -> None:
    checks.check(made(tmp_path / "a.h5"), 2, (8, 4), True)
    with pytest.raises(WrongDataError, match="v0000 has other elements"):
        checks.check(made(tmp_path / "b.h5", change=1 / 4096), 2, (8, 4), True)
    with pytest.raises(WrongDataError, match="filters gzip, 2"):
        checks.check(made(tmp_path / "c.h5", compression=2), 2, (8, 4), True)


def cell(case: str, **seconds: list[float]) -> dict[str, Any]:
    contenders = {
        who.replace("_", " "): {"repetitions": [{"seconds": s} for s in of_it], "refused": None}
        for who, of_it in seconds.items()
    }
    return {"case": case, "mpi": "mpicc", "shape": [4, 4], "contenders": contenders}


def test_goals_are_ratios_of_medians_to_the_fastest_peer() -> None:
    gathered = cell(cases.GATHERED, Swath=[1, 2, 9], netCDF_gathered=[9, 10, 11])
    dump = cell(cases.DUMP, Swath_classic=[1.0], Swath_HDF5=[2.0], PnetCDF=[1.5], HDF5=[3.0])
    both = cell(cases.CYCLIC_READ, **{"Swath from C": [1.0], "Swath from Python": [0.9]})
    result = {"cells": [gathered, dump, both], "options": {"ranks": 4, "rounds": 3, "variables": 5, "bytes": 99}}
    told = simulation.summarise(result)
    ratios = [[(goal["ratio"], goal["reached"]) for goal in one["goals"]] for one in told["cells"]]
    assert ratios == [[(5, True)], [(1.5, True), (0.75, False)], [(0.9, False)]]
    shown = io.StringIO()
    simulation.show(Console(file=shown, width=200), {**result, "summary": told})
    assert "PnetCDF takes 0.75 times the time of Swath HDF5 (wanted 1: NO)" in shown.getvalue()
    assert "5 variables of 4 x 4 floats" in shown.getvalue()


def test_a_refused_peer_is_no_peer_and_is_said() -> None:
    dump = cell(cases.DUMP, Swath=[1.0], PnetCDF=[0.5], HDF5=[3.0])
    dump["contenders"]["PnetCDF"]["refused"] = "wrong data"
    told = summary.summarise({"cells": [dump]})
    assert [goal["whom"] for goal in told["cells"][0]["goals"]] == ["HDF5"]
    assert told["refused"] == [{"contender": "PnetCDF", "reason": "wrong data", "cells": ["dump, mpicc"]}]


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match='--cases: "dumped" is unknown: expected some of gathered, dump'):
        cases.Options(cases=("dumped",))
    with pytest.raises(ArgumentError, match="--bytes 1000: expected at least 256000 for 1000 variables"):
        cases.Options(bytes=1000)
    with pytest.raises(UnsupportedError, match="swath-config is not there"):
        compiling.installed_at(str(tmp_path))


def test_the_blocks_of_ranks_are_the_whole() -> None:
    options = cases.Options(ranks=4)
    assert options.shape_of(cases.GATHERED)[0] % 4 == 0
    assert options.grid_of(cases.GATHERED) == (4, 1)
    assert options.grid_of(cases.DUMP) == (1, 2, 2)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_it_runs(tmp_path: Path) -> None:
    needs_mpi()
    command = [sys.executable, "-m", "swath_bench", "simulation", "--quick", "--json", "record.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert os.listdir(tmp_path) == ["record.json"]
    (recorded,) = json.loads((tmp_path / "record.json").read_text())
    assert [one["case"] for one in recorded["cells"]] == list(simulation.CASES)
    for one in recorded["cells"]:
        for who, entry in one["contenders"].items():
            wants = {cases.CYCLIC_READ: 2}.get(one["case"], 1)
            assert entry["refused"] or len(entry["repetitions"]) == wants, who
            assert not (who.startswith("Swath") and entry["refused"])

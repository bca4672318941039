"""The benchmark of redistribution, tiny: it compares the right cases, and checks all data; speed is not tested."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpi_runs import needs_mpi
from swath_bench import redistribute as bench


def result_of(rates: dict[str, list[float]]) -> dict[str, Any]:
    """The result of `run` for contenders with these rates for every pair; repetition 0 is absurdly fast."""
    return {
        "measurements": [
            {"pair": list(pair), "contender": name, "repetition": repetition, "gigabytes_per_second": rate}
            for pair in bench.PAIRS
            for name, given in rates.items()
            for repetition, rate in enumerate([1e9, *given])
            if name != bench.MPI4PY_FFT or pair == bench.PAIR_OF_MPI4PY_FFT
        ]
    }


def test_ours_is_compared_with_the_faster_peer_and_with_memcpy_of_the_same_repetition() -> None:
    rates = {
        bench.OURS: [4.0, 6.0, 1.0],
        bench.ALLTOALLW: [1.0, 2.0, 1.0],
        bench.MPI4PY_FFT: [2.0, 1.0, 1.0],
        bench.MEMCPY: [8.0, 12.0, 2.0],
    }
    summarised = bench.summarise(result_of(rates))
    first, *others = summarised["pairs"]
    assert first["to_memcpy"]["median"] == 0.5
    assert first["to_best_peer"] == {"median": 2, "low": 2, "high": 2}
    assert all(of["to_best_peer"]["median"] == 3 for of in others)
    assert (summarised["to_memcpy_min"], summarised["to_best_peer_min"]) == (0.5, 2)


def test_the_bound_is_the_fastest_memcpy_of_a_repetition() -> None:
    result = result_of({bench.OURS: [4.0], bench.ALLTOALLW: [1.0], bench.MEMCPY: [8.0]})
    for m in result["measurements"]:
        if m["contender"] == bench.MEMCPY and tuple(m["pair"]) == bench.PAIRS[2]:
            m["gigabytes_per_second"] *= 2
    assert bench.summarise(result)["to_memcpy_min"] == 0.25


@pytest.mark.parametrize(
    ("positions", "expected"),
    [([], (0, 1, 0)), ([3], (3, 1, 1)), ([2, 3, 4], (2, 1, 3)), ([1, 4, 7], (1, 3, 3))],
)
def test_positions_are_described_as_vector_datatypes_take_them(
    positions: list[int], expected: tuple[int, int, int]
) -> None:
    found = bench._progression(np.array(positions, np.int64))
    assert (found.start, found.step, found.count) == expected


def test_shares_are_equal_for_any_number_of_ranks() -> None:
    assert bench.Options(ranks=3, bytes=8 << 20).extent % 3 == 0
    assert bench.Options(ranks=4).extent ** 2 * 8 <= 256 << 20


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_quick_run_measures_every_pair_with_every_contender(ranks: int, tmp_path: Path) -> None:
    needs_mpi()
    command = [sys.executable, "-m", "swath_bench", "redistribute", "--quick", "--json", "record.json"]
    ran = subprocess.run(
        [*command, "--ranks", str(ranks)],
        cwd=tmp_path,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    (record,) = json.loads((tmp_path / "record.json").read_text())
    measured = [(tuple(m["pair"]), m["contender"], m["repetition"]) for m in record["measurements"]]
    contenders = {bench.OURS, bench.ALLTOALLW, bench.MEMCPY}
    for pair in bench.PAIRS:
        for repetition in range(4):
            assert contenders <= {name for p, name, r in measured if (p, r) == (pair, repetition)}
    assert len(measured) == len(set(measured))
    assert record["extent"] % ranks == 0
    assert "row-cyclic" in ran.stdout
    assert "GB/s" in ran.stdout

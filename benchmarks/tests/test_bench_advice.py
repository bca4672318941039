"""The benchmark of advice: its medians, its options, and runs of its programs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swath.errors import ArgumentError
from swath_bench import __main__ as command
from swath_bench.advice import options, programs, summary


def a_cell(
    run: float, replay: float, advice: list[tuple[float, float | None]], order: tuple[float, float] | None
) -> dict[str, Any]:
    gains = [{"title": "do", "predicted": one, "replayed": other, "why": ""} for one, other in advice]
    orders = None if order is None else {"advised": order[0], "best": order[1], "best_order": [], "orders": 2}
    return {
        "case": "rows",
        "disk": "here",
        "run_seconds": run,
        "replay_seconds": replay,
        "advice": gains,
        "order": orders,
    }


def test_medians_are_of_runs_gains_and_orders() -> None:
    cells = [
        a_cell(1.0, 1.1, [(2.0, 1.0), (1.0, None)], (1.04, 1.0)),
        a_cell(1.0, 0.7, [(3.0, 4.0), (1.0, -0.5)], (2.0, 1.0)),
        a_cell(2.0, 2.0, [(5.0, 5.0)], None),
        a_cell(0.009, 0.1, [(1.0, -5.0)], None),  # too short to count
    ]
    (found,) = summary.summarise({"cells": cells})["disks"]
    assert found["replay_difference"] == pytest.approx(0.1)
    assert (found["runs"], found["advice"], found["replayed"]) == (3, 5, 4)
    assert found["prediction_error"] == pytest.approx(0.25)
    assert found["right_sign"] == 0.75
    assert (found["best_orders"], found["orders"]) == (1, 2)


def test_without_advice_there_are_no_medians_of_it() -> None:
    (found,) = summary.summarise({"cells": [a_cell(1.0, 1.0, [], None)]})["disks"]
    assert (found["prediction_error"], found["right_sign"], found["orders"]) == (None, None, 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cases", "rows,lu"], '--cases: "lu" is unknown: expected some of rows, one-rank'),
        (["--disk", "floppy"], '--disk: "floppy" is unknown'),
        (["--scale", "huge"], '--scale: "huge" is unknown'),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments: list[str], words: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(words)):
        command.options_of("advice", command.parser().parse_args(["advice", *arguments]))


def test_every_program_is_a_case() -> None:
    assert set(programs.PROGRAMS) < set(options.CASES)
    assert set(programs.READ_BYTES) | set(programs.WITH_RANKS) | {"syncs"} == set(programs.PROGRAMS)


def test_a_program_is_traced_advised_and_replayed(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "swath_bench", "advice", "--quick", "--cases", "passes", "--json", "a.json"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ended = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert set(os.listdir(tmp_path)) <= {"a.json", "cache"}
    (result,) = json.loads((tmp_path / "a.json").read_text())
    (cell,) = result["cells"]
    assert (cell["case"], cell["disk"]) == ("passes", "here")
    assert cell["run_seconds"] > 0
    assert cell["replay_seconds"] > 0
    caching = [one for one in cell["advice"] if one["title"] == "caching: keep in memory what is read again"]
    assert [one["replayed"] is not None for one in caching] == [True] * len(caching)
    assert [one["disk"] for one in result["summary"]["disks"]] == ["here"]
    assert "this folder" in ended.stdout

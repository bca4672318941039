"""The benchmark of the applications: before beside after, table 8, its options, and runs of all programs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from application_programs import APPLICATIONS, mpi_with_fortran
from fortran_programs import fortran_prefix
from mpi_runs import needs_mpi
from swath.errors import ArgumentError, UnsupportedError
from swath_bench import __main__ as command
from swath_bench.applications import running, summary
from swath_bench.applications.options import CASES, Options, cells_of


def a_cell(case: str, ranks: int, seconds: dict[str, list[float]]) -> dict[str, Any]:
    """Each run has a second beside its input and output."""
    runs = {
        variant: [{"bytes": 1000, "io_seconds": each, "total_seconds": each + 1} for each in of_variant]
        for variant, of_variant in seconds.items()
    }
    return {"case": case, "ranks": ranks, "disk": None, "runs": runs}


def test_after_is_set_beside_before_and_the_fastest_other() -> None:
    cell = a_cell("ast", 4, {"found": [9.0, 3.0, 4.0], "optimised": [1.0, 1.0, 9.0], "mpi": [2.0, 2.0, 1.0]})
    (found,) = summary.summarise({"cells": [cell]})["cells"]
    assert found["variants"]["found"]["io_seconds"] == 4.0
    assert found["variants"]["found"]["io_seconds_range"] == [3.0, 9.0]
    assert found["variants"]["optimised"]["bytes_per_second"] == 1000.0
    assert (found["total_saved_percent"], found["io_saved_percent"], found["before_to_after"]) == (60.0, 75.0, 2.5)
    assert (found["fastest_other"], found["other_to_after"]) == ("mpi", 2.0)


def test_files_that_ranks_do_not_share_are_not_compared() -> None:
    cell = a_cell("btio", 4, {"simple": [3.0], "swath": [2.0], "full": [4.0], "fortran": [5.0], "epio": [0.5]})
    (found,) = summary.summarise({"cells": [cell]})["cells"]
    assert (found["fastest_other"], found["other_to_after"]) == ("simple", 1.5)
    assert found["variants"]["epio"]["io_seconds"] == 0.5


def test_what_helped_on_the_most_ranks_is_marked() -> None:
    slow = {"found": [1.0], "optimised": [2.0], "memmap": [1.0]}
    cells = [a_cell("ast", 1, {"found": [1.0], "optimised": [5.0], "mpi": [1.0]})]
    cells += [a_cell("ast", 9, {"found": [1.0], "optimised": [0.8], "mpi": [1.0]}), a_cell("nasa7", 1, slow)]
    found = summary.summarise({"cells": cells})
    none = {"collective I/O": False, "prefetching": False, "file layout": False, "efficient interface": False}
    assert found["marks"] == {"ast": {**none, "collective I/O": True}, "nasa7": none}
    assert found["sentences"][0].startswith(
        "AST, 1 ranks: 200 % more time in all than as found; input and output 0.20 x"
    )


def test_cells_have_the_ranks_that_a_program_can_have() -> None:
    found = cells_of(Options(ranks=(1, 2, 4)), None)
    ranks = {name: [cell.ranks for cell in found if cell.case == name] for name in CASES}
    assert ranks == {"btio": [1, 4], "ast": [1, 2, 4], "flash": [1, 2, 4], "ipars": [1, 2, 4], "nasa7": [1]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cases", "btio,lu"], '--cases: "lu" is unknown: expected some of btio, ast, flash, ipars, nasa7'),
        (["--scale", "huge"], '--scale: "huge" is unknown'),
        (["--disk", "floppy"], '--disk: "floppy" is unknown'),
        (["--memory", "1MiB"], "--memory: applications has no such option"),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments: list[str], words: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(words)):
        command.options_of("applications", command.parser().parse_args(["applications", *arguments]))


def test_without_the_applications_it_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(f"there is no btio in {tmp_path}: swath bench applications")):
        running.find_applications(str(tmp_path))
    assert running.find_applications(str(APPLICATIONS)) == APPLICATIONS
    assert running.find_applications(None) == APPLICATIONS


def run(folder: Path, *arguments: object) -> tuple[dict[str, Any], str]:
    words = [sys.executable, "-m", "swath_bench", "applications", "--quick", "--application", APPLICATIONS]
    words += ["--json", "a.json", *arguments]
    ended = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert os.listdir(folder) == ["a.json"]
    (result,) = json.loads((folder / "a.json").read_text())
    return result, ended.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_programs_of_python_are_run_and_others_are_named(tmp_path: Path) -> None:
    needs_mpi()
    result, told = run(tmp_path, "--cases", "btio,ipars,nasa7", "--ranks", 2)
    assert [(cell["case"], cell["ranks"]) for cell in result["summary"]["cells"]] == [("ipars", 2), ("nasa7", 1)]
    for cell in result["summary"]["cells"]:
        assert set(cell["variants"]) == set(CASES[cell["case"]].variants)
        assert all(0 < each["io_seconds"] <= each["total_seconds"] for each in cell["variants"].values())
    assert "left out: BTIO: is compiled against an installed Swath: give --prefix" in told
    assert "optimised (after)" in told
    assert "Table 8" in told


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_programs_in_fortran_and_c_are_built_and_run(tmp_path: Path) -> None:
    needs_mpi()
    mpi = mpi_with_fortran()
    words = ["--cases", "btio,ast,flash", "--ranks", 1, "--prefix", fortran_prefix(mpi), "--mpicc", mpi.mpicc]
    result, told = run(tmp_path, *words)
    sizes = {cell["case"]: cell["variants"] for cell in result["summary"]["cells"]}
    assert list(sizes) == ["btio", "ast", "flash"]
    assert {each["bytes"] for each in sizes["btio"].values()} == {CASES["btio"].bytes["test"]}
    assert {each["bytes"] for each in sizes["ast"].values()} == {CASES["ast"].bytes["test"]}
    assert "left out" not in told


@pytest.mark.slow
def test_a_program_that_fails_ends_the_benchmark(tmp_path: Path) -> None:
    needs_mpi()
    mpi = mpi_with_fortran()
    words = [sys.executable, "-m", "swath_bench", "applications", "--cases", "ast", "--ranks", "1", "--quick"]
    words += ["--application", str(APPLICATIONS), "--prefix", str(tmp_path), "--mpicc", str(mpi.mpicc)]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 2
    assert f"ast: not built against {tmp_path}" in ended.stderr

"""The benchmark of programs of MPI-IO, tiny: it measures the right cases, and detects wrong data."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mpi_runs import mpiexec, needs_mpi
from swath.errors import ArgumentError, UnsupportedError
from swath_bench import mpi_io
from swath_bench.mpi_io import cells, compiling, running, summary

MIB = 1 << 20
BREAKS = """
#include <mpi.h>
#include <stdint.h>
int MPI_File_read_at(MPI_File file, MPI_Offset offset, void* to, int count, MPI_Datatype type, MPI_Status* status) {
  const int code = PMPI_File_read_at(file, offset, to, count, type, status);
  ((int64_t*)to)[PLACE] ^= 1;
  return code;
}
int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void* from, int count, MPI_Datatype type,
                      MPI_Status* status) {
  const int64_t zero = 0;
  MPI_Status unused;
  const int code = PMPI_File_write_at(file, offset, from, count, type, status);
  PMPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  PMPI_File_write_at(file, 8 * PLACE, &zero, 8, MPI_BYTE, &unused);
  return code;
}
"""


def repetition(number: int, seconds: float, **others: float) -> dict[str, Any]:
    told = {"repetition": number, "view_seconds": 0.25 * seconds, "move_seconds": 0.75 * seconds, "floor_seconds": 0.5}
    return {
        **told,
        "view_memory_bytes": 1 * MIB,
        "memory_bytes": 2 * MIB,
        "calls": 1,
        "bytes": 8 * MIB,
        "processor_seconds": 1,
        **others,
    }


def cell(case: str, without: list[float], with_it: list[float], **others: float) -> dict[str, Any]:
    """A cell with these times of both; their first repetitions take a hundred times as long."""
    runs = [
        {
            "contender": contender,
            "cached_bytes": 4,
            "file_bytes": 4,
            "repetitions": [repetition(0, 100 * seconds[0], **others)]
            + [repetition(number, one, **others) for number, one in enumerate(seconds, 1)],
        }
        for contender, seconds in ((running.WITHOUT, without), (running.WITH, with_it))
    ]
    asked = {"case": case, "access": "collective", "direction": "write", "ranks": 2, "bytes": 8 * MIB}
    return {**asked, "runs": runs, "refused": {}}


def test_ratios_are_of_medians_without_the_first_repetition() -> None:
    told = summary.summarise_cell(cell("cyclic", [8, 9, 10, 100], [1, 1, 2, 30]))
    assert told["ratio"] == pytest.approx(9.5 / 1.5)
    assert told["first_ratio"] == pytest.approx(8)
    assert told["floor_share"] == pytest.approx(0.5 / 1.5)
    assert told[running.WITH]["bytes_per_second"] == pytest.approx(8 * MIB / 1.5)
    assert told[running.WITH]["memory_bytes"] == 2 * MIB


@pytest.mark.parametrize(
    ("case", "without", "with_it", "calls", "reached"),
    [
        ("cyclic", [5.0], [1.0], 1, True),
        ("cyclic", [4.9], [1.0], 1, False),
        ("cyclic", [0.7], [0.7], 1, True),  # 0.71 x the floor
        ("cyclic", [0.72], [0.72], 1, False),
        ("segments", [1.0], [1.1], 1, True),
        ("segments", [1.0], [1.11], 1, False),
        ("calls-64", [0.001], [0.0015], 1000, True),  # 0.375 µs a call
        ("calls-64", [0.001], [0.002], 1000, False),  # 0.75 µs a call
    ],
)
def test_what_is_wanted_depends_on_the_case(
    case: str, without: list[float], with_it: list[float], calls: int, reached: bool
) -> None:
    assert summary.summarise_cell(cell(case, without, with_it, calls=calls))["reached"] is reached


def test_of_busy_cores_less_is_wanted() -> None:
    one = cell("calls-1k", [1.0], [1.5])
    assert summary.summarise_cell(one)["reached"] is False
    assert summary.summarise_cell(one, busy=True)["reached"] is True
    assert summary.summarise_cell(cell("calls-1k", [1.0], [1.6]), busy=True)["reached"] is False


def test_calls_of_one_size_are_bounded_and_no_fewer_than_one() -> None:
    options = cells.Options(ranks=(2,), bytes=64 * MIB, cases=("calls-64", "calls-16m"))
    assert cells.bytes_of("calls-64", options, 2) == 2 * 64 * cells.CALLS_MAX
    assert cells.bytes_of("calls-16m", options, 2) == 64 * MIB
    assert cells.bytes_of("calls-16m", cells.Options(bytes=1 * MIB), 4) == 64 * MIB


def test_who_was_refused_has_no_figures_and_is_said() -> None:
    one = cell("cyclic", [4, 4], [1, 1])
    one["runs"] = one["runs"][1:]
    one["refused"] = {running.WITHOUT: "more than 3 s"}
    result = {
        "cells": [one],
        "left_out": ["btio-A on 2 ranks"],
        "options": {"ranks": [2], "rounds": 1, "repetitions": 2},
    }
    shown = io.StringIO()
    mpi_io.show(Console(file=shown, width=200), {**result, "summary": mpi_io.summarise(result)})
    assert "left out: btio-A on 2 ranks" in shown.getvalue()
    assert "cyclic, collective write, 2 ranks, without: more than 3 s" in shown.getvalue()


def test_btio_is_for_squares_of_ranks() -> None:
    options = cells.Options(ranks=(1, 2, 4), cases=("btio-A", "vara"), directions=("read",))
    assert [(c.case, c.ranks) for c in cells.cells_of(options)] == [
        *(("btio-A", 1), ("vara", 1)),
        ("vara", 2),
        *(("btio-A", 4), ("vara", 4)),
    ]
    assert cells.left_out(options) == ["btio-A on 2 ranks: it is for a square of ranks"]


def test_unknown_cases_are_refused() -> None:
    with pytest.raises(ArgumentError, match="--cases cyclic,cycle: expected some of cyclic,"):
        cells.Options(cases=("cyclic", "cycle"))


def test_an_mpicc_without_an_mpiexec_is_refused(tmp_path: Path) -> None:
    compiler = tmp_path / "mpicc.own"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    with pytest.raises(UnsupportedError, match=r"mpiexec\.own is not there"):
        compiling.find_mpi(str(compiler))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> compiling.Program:
    needs_mpi()
    return compiling.compile_program(None, str(tmp_path_factory.mktemp("program")))


def moved(program: compiling.Program, folder: Path, *asked: str, preload: str = "") -> subprocess.CompletedProcess[str]:
    paths = [str(folder / name) for name in ("file", "floor", "answer")]
    command = [program.mpiexec, "-n", "1", program.path, *asked, *paths]
    environment = {**os.environ, **running.SETTINGS, "LD_PRELOAD": preload}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("direction", "pattern", "place", "says"),
    [
        ("read", "gaps", 6, "1 elements are wrong"),
        ("read", "gaps", 7, "0 elements are wrong, and 4097 changed where 4096 were moved"),
        ("write", "hyperslab", 5, "1 elements are wrong"),
        ("write", "hyperslab", 7, "0 elements are wrong, and 4097 changed where 4096 were moved"),
    ],
)
def test_the_program_finds_wrong_elements_and_changed_gaps(
    program: compiling.Program, tmp_path: Path, direction: str, pattern: str, place: int, says: str
) -> None:
    (tmp_path / "breaks.c").write_text(BREAKS)
    mpicc, _ = compiling.find_mpi(None)
    library = str(tmp_path / "breaks.so")
    asked = [mpicc, "-shared", "-fPIC", f"-DPLACE={place}", str(tmp_path / "breaks.c"), "-o", library]
    subprocess.run(asked, check=True)
    of_4096 = "32768" if pattern == "gaps" else "65536"
    well = moved(program, tmp_path, pattern, "independent", direction, of_4096, "1")
    assert well.returncode == 0, well.stderr
    wrong = moved(program, tmp_path, pattern, "independent", direction, of_4096, "1", preload=library)
    assert wrong.returncode != 0
    assert says in wrong.stderr


def test_a_pattern_says_for_how_many_ranks_it_is(program: compiling.Program, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("file", "floor", "answer")]
    command = [program.mpiexec, "-n", "2", program.path, "btio-A", "collective", "read", "65536", "1", *paths]
    environment = {**os.environ, **running.SETTINGS}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "the pattern is not for so many ranks" in done.stderr


def run_bench(folder: Path, *options: str) -> dict[str, Any]:
    needs_mpi()
    assert mpiexec() is not None
    command = [sys.executable, "-m", "swath_bench", "mpi-io", *options, "--json", "record.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "MPI-IO programs without and with the drop-in" in done.stdout
    assert os.listdir(folder) == ["record.json"]
    (recorded,) = json.loads((folder / "record.json").read_text())
    assert isinstance(recorded, dict)
    return recorded


def check_runs(recorded: dict[str, Any]) -> None:
    for one in recorded["cells"]:
        assert not one["refused"]
        assert {run["contender"] for run in one["runs"]} == set(running.CONTENDERS)
        for run in one["runs"]:
            assert (run["contender"] == running.WITH) == any("served" in line for line in run["report"])


def test_it_runs(tmp_path: Path) -> None:
    recorded = run_bench(tmp_path, "--quick", "--busy", "--cases", "hyperslab,segments,calls-64")
    assert len(recorded["cells"]) == 2 + 4 + 4
    assert recorded["options"]["busy"]
    check_runs(recorded)


@pytest.mark.timeout(500)
@pytest.mark.parametrize(
    "ranks", [pytest.param(1, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.exhaustive)]
)
def test_all_cases_run(tmp_path: Path, ranks: int) -> None:
    # In many small calls, more ranks than cores wait for one another: seconds, on a busy machine minutes.
    cases = [name for name in mpi_io.CASES if ranks == 1 or name != "small"]
    recorded = run_bench(tmp_path, "--quick", "--ranks", str(ranks), "--cases", ",".join(cases))
    is_square = ranks in (1, 4)
    assert {one["case"] for one in recorded["cells"]} == {c for c in cases if is_square or not c.startswith("btio")}
    check_runs(recorded)

"""MPI-IO calls of programs that Swath does not serve: `swath trace` sees each one, of every MPI, in C and Fortran."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import yielding
from installed_library import MPIS, OPENMPI, Mpi, surroundings
from mpi_io_runs import backend_folder
from swath.errors import UnsupportedError
from swath.mpi_io import backends, preload
from swath.trace.characteristics import characterise
from swath.trace.opening import read_log
from swath.trace.reading import Event, read_trace
from tree import PROGRAMS

COUNT, BLOCKS = 100, 3
"""Of traced_calls.c: integers in a block, and blocks of a rank."""
BLOCK = 4 * COUNT
Call = tuple[str, str, bool, Any, int]
"""Name, function, collective, place, bytes. The place is an offset, a range, or None."""


def _parameter(mpi: Mpi) -> object:
    """The backend of Open MPI may have to be built: these tests are slow."""
    marks = (pytest.mark.slow, pytest.mark.timeout(1200)) if mpi is OPENMPI else ()
    return pytest.param(mpi, id=mpi.name, marks=marks)


@pytest.fixture(params=map(_parameter, MPIS))
def mpi(request: pytest.FixtureRequest) -> Mpi:
    found: Mpi = request.param
    if not found.mpicc.exists():
        pytest.skip(f"{found.mpicc} is not installed")
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for backends that are not installed."""
    try:
        preload.library()
    except UnsupportedError as error:
        pytest.skip(str(error))
    return tmp_path_factory.mktemp("backends")


@pytest.fixture
def environment(mpi: Mpi, built: Path) -> dict[str, str]:
    """The environment in which programs of the MPI are traced."""
    mpicxx = mpi.mpicc.with_name(mpi.mpicc.name.replace("mpicc", "mpicxx"))
    folder = backend_folder("openmpi" if mpi is OPENMPI else "mpich", mpicxx, built)
    preloaded = {"LD_PRELOAD": library} if (library := yielding.library()) else {}
    env = surroundings(Path(sys.prefix), {**preloaded, backends.VARIABLE: folder})
    return {name: value for name, value in env.items() if name not in ("SWATH_MPI_IO", "SWATH_TRACE")}


def compiled(mpi: Mpi, folder: Path, source: str, *flags: str) -> Path:
    compiler = mpi.mpicc if source.endswith(".c") else mpi.mpifort
    if not compiler.exists() or (compiler is mpi.mpifort and shutil.which("gfortran") is None):
        pytest.skip(f"{compiler} or gfortran is not installed")
    program = folder / Path(source).stem
    subprocess.run([compiler, *flags, PROGRAMS / "mpi_io" / source, "-o", program], check=True, capture_output=True)
    return program


def run_traced(mpi: Mpi, folder: Path, environment: dict[str, str], ranks: int, *command: object) -> None:
    """Run with `swath trace`, which must succeed and print nothing."""
    words: list[object] = [sys.executable, "-m", "swath.commands.cli", "trace", "--into", folder / "trace"]
    words += [*mpi.mpiexec, "-n", ranks, *command]
    done = subprocess.run(
        list(map(str, words)), env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "swath" not in done.stderr


def mpi_calls(folder: Path, path: Path) -> list[list[Event]]:
    """The MPI-IO calls on a file, of each rank."""
    found: dict[int, list[Event]] = {}
    for trace in read_trace(str(folder / "trace")):
        events = [event for event in trace.events if event.category == "mpi-io"]
        if events:
            assert trace.cut == ""
            assert {event.arguments["path"] for event in events} == {str(path)}
            assert trace.rank not in found
            found[trace.rank] = events
    return [found[rank] for rank in sorted(found)]


def as_call(event: Event) -> Call:
    said = event.arguments
    place = said.get("offset", (said["begin"], said["end"]) if "begin" in said else None)
    moved = said.get("read_bytes", 0) + said.get("written_bytes", 0)
    return event.name, said["function"].removeprefix("MPI_File_"), said.get("collective", False), place, moved


def expected_calls(rank: int, ranks: int, has_large_counts: bool) -> list[Call]:
    first, stride, all_bytes = rank * BLOCK, ranks * BLOCK, BLOCKS * ranks * BLOCK

    def span(begin: int, blocks: int) -> Any:
        """The place of blocks, in the view of the rank."""
        at = first + begin * stride
        return at if blocks == 1 or ranks == 1 else (at, at + (blocks - 1) * stride + BLOCK)

    through_view: list[Call] = [
        ("open", "open", True, None, 0),
        ("truncate", "set_size", True, None, 0),
        ("view", "set_view", True, None, 0),
        ("write", "write_at_all", True, span(0, BLOCKS), BLOCKS * BLOCK),
        ("seek", "seek", False, None, 0),
        ("write", "write", False, span(1, 1), BLOCK),
        ("write", "write_all_begin", True, span(2, 1), BLOCK),
        ("wait", "write_all_end", True, None, 0),
        ("sync", "sync", True, None, 0),
        ("read", "read_at", False, span(1, 1), BLOCK),
        ("read", "iread_at", False, span(0, 2), 2 * BLOCK),
    ]
    through_bytes: list[Call] = [
        ("view", "set_view", True, None, 0),
        ("read", "read_at_all", True, first, BLOCK),
        ("read", "read_at", False, all_bytes - 40, 40),
        ("write", "write_ordered", True, None, BLOCK),
        ("read", "read_at_c" if has_large_counts else "read_at", False, 0, BLOCK),
        ("close", "close", True, None, 0),
        ("open", "open", True, None, 0),
        ("write", "write_at", False, None, 0),
        ("close", "close", True, None, 0),
    ]
    return through_view + through_bytes + ([("unlink", "delete", False, None, 0)] if rank == 0 else [])


@pytest.mark.parametrize("ranks", [1, 4])
def test_each_call_is_traced_with_its_function_place_and_bytes(
    mpi: Mpi, environment: dict[str, str], tmp_path: Path, ranks: int
) -> None:
    program = compiled(mpi, tmp_path, "traced_calls.c")
    run_traced(mpi, tmp_path, environment, ranks, program, tmp_path / "x")
    events = mpi_calls(tmp_path, tmp_path / "x")
    assert len(events) == ranks
    for rank, of_rank in enumerate(events):
        calls = list(map(as_call, of_rank))
        assert calls == expected_calls(rank, ranks, any(call[1] == "read_at_c" for call in calls))
        started = [call[1] for call, event in zip(calls, of_rank, strict=True) if event.arguments.get("started")]
        assert started == ["write_all_begin", "iread_at"]
        assert [call[1] for call, event in zip(calls, of_rank, strict=True) if "error" in event.arguments] == [
            "write_at"
        ]
        view = of_rank[2].arguments["view"]
        extent = (BLOCKS - 1) * ranks * BLOCK + BLOCK
        assert (view["displacement"], view["etype_bytes"]) == (rank * BLOCK, 4)
        assert (view["filetype_bytes"], view["filetype_extent"]) == (BLOCKS * BLOCK, extent)
        if ranks > 1:
            assert view["filetype"] == f"{BLOCKS} x {ranks * BLOCK} bytes apart of {BLOCK} bytes"
        assert all(event.seconds >= 0 for event in of_rank)


def test_mpi_io_is_a_layer_above_the_file_calls(mpi: Mpi, environment: dict[str, str], tmp_path: Path) -> None:
    program = compiled(mpi, tmp_path, "traced_calls.c")
    run_traced(mpi, tmp_path, environment, 2, program, tmp_path / "x")
    found = characterise(read_log(str(tmp_path / "trace")))
    written = {one.layer: one.bytes for one in found.operations if one.name == "write"}
    assert written["mpi-io"] == 2 * (BLOCKS + 3) * BLOCK
    assert written["posix"] >= 2 * BLOCKS * BLOCK


@pytest.mark.slow
@pytest.mark.parametrize("language", ["F77", "F90", "F08"])
def test_calls_of_fortran_are_traced_once(mpi: Mpi, environment: dict[str, str], tmp_path: Path, language: str) -> None:
    program = compiled(mpi, tmp_path, "program.F90", f"-D{language}")
    run_traced(mpi, tmp_path, environment, 2, program, tmp_path / "x")
    for of_rank in mpi_calls(tmp_path, tmp_path / "x"):
        functions = [event.arguments["function"].removeprefix("MPI_File_") for event in of_rank]
        assert functions == ["open", "set_view", "write_at_all", "sync", "sync", "read_at", "close"]


def test_files_that_swath_serves_have_operations_instead(tmp_path: Path) -> None:
    given = {"LD_PRELOAD": "/lib/a.so", "HOME": "/"}
    traced = preload.tracing_environment(given)
    if traced == given:
        pytest.skip("the stub was not built")
    assert traced["SWATH_MPI_IO"] == "trace"
    assert traced["LD_PRELOAD"] == f"/lib/a.so:{preload.library()}"
    served = preload.environment(traced)
    assert "SWATH_MPI_IO" not in served
    assert served["LD_PRELOAD"] == traced["LD_PRELOAD"]
    assert preload.tracing_environment(served) == served
    switched_off = {**given, "SWATH_MPI_IO": "off"}
    assert preload.tracing_environment(switched_off) == switched_off


def test_without_a_trace_the_calls_go_to_the_mpi(mpi: Mpi, environment: dict[str, str], tmp_path: Path) -> None:
    program = compiled(mpi, tmp_path, "traced_calls.c")
    env = preload.tracing_environment(environment)
    command = [*mpi.mpiexec, "-n", "2", *yielding.preloaded(*env["LD_PRELOAD"].split(":")), program, tmp_path / "x"]
    subprocess.run(list(map(str, command)), env=env, check=True, timeout=100)
    assert os.listdir(tmp_path) == ["traced_calls"]

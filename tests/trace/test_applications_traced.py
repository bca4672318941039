"""Traces of all applications at 1 to 4 ranks: each operation is read back as a record of another kind has it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from application_programs import APPLICATIONS, run_preloaded
from application_requests import (
    Box,
    Call,
    ast_box,
    ast_collective,
    btio_boxes,
    btio_full,
    btio_simple,
    flash_blocks,
    flash_calls,
    flash_variables,
)
from mpi_io_runs import reported, stub
from mpi_runs import run_well
from swath import _core
from swath.trace import file_calls
from swath.trace.reading import Event, ProcessTrace, is_operation, operation, read_trace
from tree import PROGRAMS

RANKS = [1, 2, 3, 4]
COUNTERS = ("read_bytes", "written_bytes")
BLOCKS, SIZE = 22, 4
"""Of FLASH: blocks of all ranks, and points of a block along each dimension."""
FFT = "import sys, swath; from mpi4py import MPI; comm = MPI.COMM_WORLD\n"
FFT += "if comm.rank == 0: a = swath.create('a.npy', (40, 36, 20), 'c8', overwrite=True); a[...] = 1 + 2j; a.close()\n"
FFT += "comm.Barrier(); swath.fftn('a.npy', 'b.npy', memory=100_000, comm=comm)\n"
SCF = ["--input", "dimer", "--basis", "6-31g", "--block", "12", "--folder", "."]
PYTHON: dict[str, tuple[str, list[str]]] = {
    "ipars-optimised": ("ipars/ipars.py", ["--cells", "5", "7", "6", "--records", "4", "--file", "x.raw"]),
    "scf-stored": ("scf/scf.py", [*SCF, "--integrals", "stored"]),
    "scf-prefetched": ("scf/scf.py", [*SCF, "--integrals", "prefetched"]),
    "scf-balanced": ("scf/scf.py", [*SCF, "--integrals", "balanced", "--disk", "0.5"]),
    "fft": ("fft", []),
}
OF_ONE_RANK: dict[str, tuple[str, list[str]]] = {
    f"nasa7-{variant}": ("nasa7/nasa7.py", ["--variant", variant, "--size", "30", "--panel", "8", "--folder", "."])
    for variant in ("found", "optimised")
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def run_recorded(
    folder: Path, ranks: int, program: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> list[ProcessTrace]:
    """Run an application in Python with a trace and a record of its own; return its traces, by rank."""
    monkeypatch.chdir(folder)
    path = APPLICATIONS / program
    if program == "fft":
        path = folder / "fft.py"
        path.write_text(FFT)
    environment = {"SWATH_TRACE": str(folder / "trace"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    run_well(ranks, "recorded_application.py", folder, path, *arguments, environment=environment)
    of_ranks = f"{sys.executable} {PROGRAMS / 'mpi' / 'recorded_application.py'}"  # and not of mpiexec
    traces = [trace for trace in read_trace(str(folder / "trace")) if trace.command.startswith(of_ranks)]
    assert [trace.rank for trace in traces] == list(range(ranks))
    assert all(trace.cut == "" for trace in traces)
    return traces


def recorded(folder: Path, rank: int) -> list[Any]:
    return [json.loads(line) for line in (folder / f"did-{rank}").read_text().splitlines()]


def exact_bytes(trace: ProcessTrace, event: Event) -> str:
    """The operation of one rank, in the form that the record has."""
    traced = trace.operations[event.arguments["operation"]]
    shares = [traced.share] if traced.share else []
    return _core.Operation.parse_parts(trace.arrays[traced.array].form, traced.access, shares).serialise().hex()


@pytest.mark.parametrize(
    ("name", "ranks"), [*((name, ranks) for name in PYTHON for ranks in RANKS), *((name, 1) for name in OF_ONE_RANK)]
)
def test_operations_of_python_are_read_back_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ranks: int
) -> None:
    if name.startswith("scf"):
        pytest.importorskip("pyscf")
    traces = run_recorded(tmp_path, ranks, *{**PYTHON, **OF_ONE_RANK}[name], monkeypatch)
    for rank, trace in enumerate(traces):
        did = [one for one in recorded(tmp_path, rank) if one[0] in ("execute", "start")]
        events = [(exact_bytes(trace, event), event.thread) for event in trace.events if is_operation(event)]
        assert did
        assert Counter(text for text, _ in events) == Counter(text for _, text, _ in did)
        asynchronous = {text for how, text, _ in did if how == "start"}
        for thread in {thread for _, _, thread in did}:
            expected = [text for _, text, of in did if of == thread and text not in asynchronous]
            assert [text for text, of in events if of == thread and text not in asynchronous] == expected


@pytest.mark.parametrize("ranks", RANKS)
def test_file_calls_of_python_are_read_back_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: int
) -> None:
    program, arguments = PYTHON["ipars-optimised"]
    environment = file_calls.environment({}, str(tmp_path / "trace"), with_file_calls=True)
    monkeypatch.setenv("LD_PRELOAD", environment["LD_PRELOAD"])
    traces = run_recorded(tmp_path, ranks, program, [*arguments, "--variant", "found"], monkeypatch)
    for rank, trace in enumerate(traces):
        events = [event for event in trace.events if event.arguments["path"] == str(tmp_path / "x.raw")]
        moved = [
            [event.name, event.arguments["offset"], sum(event.arguments.get(way, 0) for way in COUNTERS)]
            for event in events
            if event.name in ("read", "write")
        ]
        assert moved == recorded(tmp_path, rank)


# ---- applications in Fortran and C ----------------------------------------------------------------------------------


def run_traced(folder: Path, name: str, ranks: int, arguments: dict[str, object], *mode: str) -> list[ProcessTrace]:
    """Run an application with a trace; "served" or "passed on": with the stub of MPI-IO. Return its traces, by rank."""
    environment = {"SWATH_TRACE": str(folder / "trace"), "SWATH_MPI_IO_REPORT": "1" if mode == ("served",) else "0"}
    environment |= {"SWATH_MPI_IO": "trace"} if mode == ("passed on",) else {}
    libraries = [str(stub())] if mode else []
    printed = run_preloaded(name, ranks, folder, arguments, *libraries, environment=environment)
    (folder / "printed").write_text(printed)
    traces = [trace for trace in read_trace(str(folder / "trace")) if trace.events]
    assert sorted({trace.rank for trace in traces}) == list(range(ranks))
    assert all(trace.cut == "" for trace in traces)
    return traces


def operations_of(traces: list[ProcessTrace]) -> list[tuple[str, str, list[list[Box]]]]:
    """The operations that all ranks made: direction, array, boxes of each rank. Each rank has as many."""
    events = [[event for event in trace.events if is_operation(event)] for trace in traces]
    assert len({len(of_rank) for of_rank in events}) == 1
    found = []
    for together in zip(*events, strict=True):
        parts = list(zip(traces, together, strict=True))
        assert [event.arguments["rank"] for event in together] == list(range(len(traces)))
        one = operation(parts)
        boxes = one.decomposition.boxes_of_rank
        assert boxes is not None
        array = traces[0].arrays[traces[0].operations[together[0].arguments["operation"]].array].identity
        found.append((one.direction, array, [[(tuple(a), tuple(b)) for a, b in of_rank] for of_rank in boxes]))
    return found


def ranges_of(trace: ProcessTrace) -> list[tuple[int, int, int]]:
    """The range of the file in which the bytes of each operation lie, and their number."""
    made = (trace.operations[event.arguments["operation"]] for event in trace.events if is_operation(event))
    return [(one.begin, one.end, one.file_bytes) for one in made]


def as_range(call: Call) -> tuple[int, int, int]:
    """The same of a call of MPI-IO."""
    _, place, count = call
    return (*(place if isinstance(place, tuple) else (place, place + count)), count)


def moved_bytes(traces: list[ProcessTrace], direction: str) -> int:
    """The bytes that the ranks together moved from or to the file."""
    counter = "read_bytes" if direction == "read" else "written_bytes"
    return sum(event.arguments.get(counter, 0) for trace in traces for event in trace.events)


@pytest.mark.parametrize("ranks", [1, 4])
def test_operations_of_btio_are_the_cells_of_the_ranks(tmp_path: Path, ranks: int) -> None:
    traces = run_traced(tmp_path, "btio", ranks, {"mode": "swath", "class": "S", "steps": 10})
    found = [(direction, boxes) for direction, _, boxes in operations_of(traces)]
    boxes = [[btio_boxes(12, dump, rank, ranks) for rank in range(ranks)] for dump in range(2)]
    assert found == [(way, of_dump) for way in ("write", "read") for of_dump in boxes]
    for rank, trace in enumerate(traces):
        assert ranges_of(trace) == list(map(as_range, expected_calls("btio-full", rank, ranks)))
    assert moved_bytes(traces, "write") == (tmp_path / "btio.dat").stat().st_size


@pytest.mark.parametrize("ranks", RANKS)
def test_operations_of_ast_are_the_blocks_of_the_ranks(tmp_path: Path, ranks: int) -> None:
    traces = run_traced(tmp_path, "ast", ranks, {"variant": "optimised", "nx": 30, "ny": 26, "dumps": 2})
    found = [(direction, boxes) for direction, _, boxes in operations_of(traces)]
    boxes = [[[ast_box((30, 26), dump, rank, ranks)] for rank in range(ranks)] for dump in range(2)]
    assert found == [("write", boxes[0]), ("write", boxes[1]), ("read", boxes[1])]
    for rank, trace in enumerate(traces):
        assert ranges_of(trace) == list(map(as_range, expected_calls("ast-mpi", rank, ranks)))
    assert moved_bytes(traces, "write") == (tmp_path / "ast.dat").stat().st_size


@pytest.mark.parametrize("ranks", RANKS)
def test_operations_of_flash_are_the_variables_of_its_files(tmp_path: Path, ranks: int) -> None:
    traces = run_traced(tmp_path, "flash", ranks, {"way": "swath", "suffix": "nc3", "blocks": BLOCKS, "size": SIZE})
    files = [("write", "checkpoint"), ("write", "centres"), ("write", "corners"), ("read", "checkpoint")]
    expected = [(way, kind, name) for way, kind in files for name in flash_variables(kind, SIZE)]
    found = operations_of(traces)
    assert len(found) == len(expected)
    for (direction, array, boxes), (way, kind, name) in zip(found, expected, strict=True):
        assert direction == way
        assert f"flash_{kind}.nc3" in array
        assert name in array
        assert [[(start[0], stop[0]) for start, stop in of_rank] for of_rank in boxes] == [
            [flash_blocks(BLOCKS, rank, ranks)] for rank in range(ranks)
        ]


BTIO, AST = {"class": "S", "steps": 10}, {"nx": 30, "ny": 26, "dumps": 2}
FLASH = {"blocks": BLOCKS, "size": SIZE}
OF_MPI: dict[str, tuple[str, dict[str, object], list[int]]] = {
    "btio-full": ("btio", {"mode": "full", **BTIO}, [1, 4]),
    "btio-simple": ("btio", {"mode": "simple", **BTIO}, [1, 4]),
    "ast-mpi": ("ast", {"variant": "mpi", **AST}, RANKS),
    "flash-mpi": ("flash", {"way": "mpi", **FLASH}, RANKS),
    "flash-found": ("flash", {"way": "found", **FLASH}, RANKS),
}
CASES = [(name, ranks) for name, (_, _, of_ranks) in OF_MPI.items() for ranks in of_ranks]


def expected_calls(name: str, rank: int, ranks: int) -> list[Call]:
    """The calls of a rank that move data."""
    if name.startswith("btio"):
        calls = btio_full if name == "btio-full" else btio_simple
        return [call for way in ("write", "read") for dump in range(2) for call in calls(12, dump, rank, ranks, way)]
    if name == "ast-mpi":
        dumps = [("write", 0), ("write", 1), ("read", 1)]
        return [call for way, dump in dumps for call in ast_collective((30, 26), dump, rank, ranks, way)]
    share = flash_blocks(BLOCKS, rank, ranks)
    files = ("checkpoint", "centres", "corners")
    each = "write_at" if name == "flash-found" else "write_at_all"
    written = [call for kind in files for call in flash_calls(kind, SIZE, BLOCKS, share, each)]
    return written + flash_calls("checkpoint", SIZE, BLOCKS, share, "read_at_all")


def as_call(event: Event) -> Call:
    said = event.arguments
    place = said.get("offset", (said.get("begin"), said.get("end")))
    function = said["function"].removeprefix("MPI_File_").removesuffix("_c")  # mpi4py has large counts
    return function, place, said.get("read_bytes", said.get("written_bytes", 0))


@pytest.mark.parametrize(("name", "ranks"), CASES)
def test_calls_of_mpi_io_are_read_back_one_by_one(tmp_path: Path, name: str, ranks: int) -> None:
    program, arguments, _ = OF_MPI[name]
    traces = run_traced(tmp_path, program, ranks, arguments, "passed on")
    assert len(traces) == ranks
    for rank, trace in enumerate(traces):
        moves = [as_call(event) for event in trace.events if event.name in ("read", "write")]
        assert moves == expected_calls(name, rank, ranks)
        assert {event.category for event in trace.events} == {"mpi-io"}


@pytest.mark.parametrize(("name", "ranks"), CASES)
def test_operations_of_the_drop_in_are_those_of_its_report(tmp_path: Path, name: str, ranks: int) -> None:
    program, arguments, _ = OF_MPI[name]
    traces = run_traced(tmp_path, program, ranks, arguments, "served")
    moves = [[event for event in trace.events if event.name in ("read", "write")] for trace in traces]
    told = reported((tmp_path / "printed").read_text())
    for rank, of_rank in enumerate(moves):
        assert len(of_rank) == len(expected_calls(name, rank, ranks))
    assert sum(moved_bytes(traces, way) for way in ("read", "write")) == sum(one.bytes_moved for one in told)
    assert max(map(len, moves)) == sum(one.operations for one in told)
    sizes = [call[2] for rank in range(ranks) for call in expected_calls(name, rank, ranks)]
    assert sum(one.bytes for one in told) == sum(sizes)


@pytest.mark.parametrize("ranks", RANKS)
def test_calls_of_mpi4py_are_read_back_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: int) -> None:
    for name, value in (("LD_PRELOAD", str(stub())), ("SWATH_MPI_IO", "trace")):
        monkeypatch.setenv(name, value)
    program, arguments = PYTHON["ipars-optimised"]
    traces = run_recorded(tmp_path, ranks, program, [*arguments, "--variant", "mpi"], monkeypatch)
    z, y, x, records, variables = 5, 7, 6, 4, 17
    for rank, trace in enumerate(traces):
        block = -(-y // ranks)
        cells = z * x * max(min(block, y - rank * block), 0)
        expected = [("write", "write_at_all", 4 * cells * variables)] * records
        expected += [("read", "read_at_all", 4 * cells), ("read", "read_at_all", 4 * cells * 3)] * records
        expected += [("read", "read_at", 4 * records * z * variables)] if rank == 0 else []
        moves = [event for event in trace.events if event.name in ("read", "write")]
        assert [(event.name, *as_call(event)[::2]) for event in moves] == expected

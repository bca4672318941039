"""File calls of programs that Swath does not serve: `swath trace` sees them, and changes none of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from mpi_runs import needs_mpi, run_well
from swath.commands import cli
from swath.trace import file_calls
from swath.trace.reading import Event, ProcessTrace, read_trace
from tree import PROGRAMS

BYTES = 200
D, E, F, S = "d", "e", "f", "s"
CALLS = [
    ("open", D, None, 0),
    ("write", D, 0, BYTES),
    ("write", D, 1000, 20),
    ("write", D, BYTES, 150),
    ("write", D, 2000, 150),
    ("seek", D, 40, 0),
    ("read", D, 40, BYTES),
    ("read", D, 7, BYTES),
    ("read", D, 40 + BYTES, 150),
    ("read", D, 1990, 150),
    ("read", D, 10, 150),
    ("read", D, 40 + BYTES + 150, 100),
    ("write", D, 50, 100),
    ("write", D, 40 + BYTES + 250, 150),
    ("read", D, 1 << 20, 0),
    ("stat", D, None, 0),
    ("sync", D, None, 0),
    ("sync", D, None, 0),
    ("truncate", D, 4096, 0),
    ("map", D, 0, 0),
    ("open", E, None, 0),
    ("copy", E, 0, 300),
    ("close", E, None, 0),
    ("write", D, 40 + BYTES + 400, 9),
    ("close", D, None, 0),
    ("close", D, None, 0),
    ("open", "none", None, 0),
    ("stat", D, None, 0),
    ("rename", F, None, 0),
    ("unlink", F, None, 0),
    ("open", S, None, 0),
    ("write", S, 0, 8 * BYTES),
    ("flush", S, None, 0),
    ("read", S, 16, BYTES),
    ("close", S, None, 0),
]


@pytest.fixture(scope="module", params=["plain", "fortified"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C program, compiled; fortified, it calls other functions of the C library."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    made = tmp_path_factory.mktemp("program") / "file_calls"
    options = ["-O2", "-D_FORTIFY_SOURCE=2"] if request.param == "fortified" else ["-O1", "-D_FILE_OFFSET_BITS=64"]
    source = PROGRAMS / "file_calls.c"
    subprocess.run([compiler, *options, "-U_GNU_SOURCE", "-pthread", "-o", made, source], check=True)
    return made


def run_traced(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "swath.commands.cli", "trace", "--into", folder / "trace", *command]
    return subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, check=False)


def traces_of(folder: Path) -> list[ProcessTrace]:
    """The traces of processes that did anything with files of the folder, each with these events alone."""
    traces = read_trace(str(folder / "trace"))
    for trace in traces:
        trace.events = [event for event in trace.events if Path(event.arguments["path"]).parent == folder]
    return [trace for trace in traces if trace.events]


def as_call(event: Event) -> tuple[str, str, int | None, int]:
    moved = event.arguments.get("read_bytes", 0) + event.arguments.get("written_bytes", 0)
    return event.name, Path(event.arguments["path"]).name, event.arguments.get("offset"), moved


def test_each_call_is_traced_with_its_file_offset_and_bytes(tmp_path: Path, program: Path) -> None:
    ended = run_traced(tmp_path, program, "calls", BYTES)
    assert (ended.returncode, ended.stderr) == (0, "")
    (trace,) = traces_of(tmp_path)
    assert [as_call(event) for event in trace.events] == CALLS
    assert not trace.cut
    assert [event.name for event in trace.events if "error" in event.arguments] == ["open"]
    assert {event.category for event in trace.events if event.arguments["path"].endswith("/s")} == {"stdio"}
    assert all(0 <= event.seconds < 60 for event in trace.events)


def test_threads_lose_no_call(tmp_path: Path, program: Path) -> None:
    assert run_traced(tmp_path, program, "threads").returncode == 0
    (trace,) = traces_of(tmp_path)
    written = Counter(as_call(event)[1:] for event in trace.events if event.name == "write")
    assert written == Counter((f"t{i}", 8 * at, 8) for i in range(4) for at in range(1000))
    assert len({event.thread for event in trace.events}) == 4


@pytest.mark.parametrize("mode", ["children", "spawns"])
def test_children_have_traces_of_their_own(tmp_path: Path, program: Path, mode: str) -> None:
    """Before anything is traced, "spawns" makes a child that has the memory of its parent: in vain, as from Python."""
    assert run_traced(tmp_path, program, mode).returncode == 0
    child, parent = sorted(traces_of(tmp_path), key=lambda one: len(one.events))
    assert [as_call(event) for event in child.events] == [("open", "c", None, 0), ("write", "c", 0, 3)]
    assert sum(event.name == "write" for event in parent.events) == 4000
    assert not child.cut
    assert not parent.cut


def test_what_was_traced_before_exec_is_in_the_trace(tmp_path: Path, program: Path) -> None:
    assert run_traced(tmp_path, program, "exec").returncode == 0
    before, after = traces_of(tmp_path)
    assert before.process == after.process
    assert sum(event.name == "write" for event in before.events) == 4000
    assert [as_call(event) for event in after.events] == CALLS


SPAWNING = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "open('child', 'wb').write(b'12')"], check=True)
try:
    subprocess.run(["/none/such"])
except FileNotFoundError:
    pass
with open("after", "wb", buffering=0) as file:
    file.write(b"123")
"""


def test_a_program_that_starts_others_is_traced_after_that(tmp_path: Path) -> None:
    """Python starts processes by vfork: until the child has another program, it has the memory of its parent."""
    program = tmp_path / "program.py"
    program.write_text(SPAWNING)
    ended = run_traced(tmp_path, sys.executable, program)
    assert (ended.returncode, ended.stderr) == (0, "")
    written = [as_call(event)[1:] for trace in traces_of(tmp_path) for event in trace.events if event.name == "write"]
    assert sorted(written) == [("after", 0, 3), ("child", 0, 2)]


def test_a_killed_program_leaves_its_calls(tmp_path: Path, program: Path) -> None:
    assert run_traced(tmp_path, program, "killed").returncode < 0
    (trace,) = traces_of(tmp_path)
    assert sum(event.name == "write" for event in trace.events) == 4000
    assert "no end" in trace.cut


def test_operations_of_swath_are_not_traced_twice(tmp_path: Path) -> None:
    text = "import swath; a = swath.create('a.npy', (64, 64), 'f4'); a[...] = 1; a.close(); swath.open('a.npy')[...]"
    ended = run_traced(tmp_path, sys.executable, "-c", text)
    assert (ended.returncode, ended.stderr) == (0, "")
    events = [event for trace in read_trace(str(tmp_path / "trace")) for event in trace.events]
    assert [event.name for event in events if event.category == "swath"].count("read") == 1
    moved = [event.arguments.get("written_bytes", 0) for event in events if event.category == "posix"]
    assert max(moved) < 64 * 64 * 4


@pytest.mark.parametrize("ranks", [1, 3])
def test_requests_of_mpi_io_are_seen_where_swath_does_not_serve_it(tmp_path: Path, ranks: int) -> None:
    needs_mpi()
    environment = file_calls.environment({}, str(tmp_path / "trace"), with_file_calls=True)
    run_well(ranks, "mpi_io_traced.py", tmp_path / "x", environment=environment)
    traces = read_trace(str(tmp_path / "trace"))
    moved = [
        (trace.rank, event.arguments.get("written_bytes", 0))
        for trace in traces
        for event in trace.events
        if event.arguments.get("path") == str(tmp_path / "x") and event.name == "write"
    ]
    assert {rank for rank, _ in moved} <= set(range(ranks))
    assert sum(written for _, written in moved) >= (tmp_path / "x").stat().st_size


def test_only_operations_on_request(tmp_path: Path) -> None:
    ended = run_traced(tmp_path, "--operations", sys.executable, "-c", f"open({str(tmp_path / 'x')!r}, 'w').write('x')")
    assert ended.returncode == 0
    assert not list((tmp_path / "trace").iterdir())


def test_a_library_that_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_calls, "LIBRARY", str(tmp_path / "none.so"))
    assert cli.main(["trace", "--into", str(tmp_path / "trace"), "true"]) != 0

"""Traces: the operations of a run can be read from them, one by one, also if it was killed."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpi_io_runs
import swath
from mpi_runs import run_ranks, run_well
from swath.base.adaptive import PREFETCH, RECOMPUTE, WRITE_BEHIND
from swath.commands import cli
from swath.trace.characteristics import characterise
from swath.trace.opening import read_log
from swath.trace.reading import Event, ProcessTrace, is_operation, operation, read_trace

RANKS = [1, 2, 3, 4]
MOVED = ("write", "read")


def traced(folder: Path, ranks: int, end: str = "well") -> list[ProcessTrace]:
    environment = {"SWATH_TRACE": str(folder / "trace")}
    result = run_ranks(ranks, "traced_ranks.py", folder, end, environment=environment)
    assert (result.returncode == 0) == (end == "well"), result.stderr[-3000:]
    return read_trace(str(folder / "trace"))


def operations_of(trace: ProcessTrace) -> list[Event]:
    return [event for event in trace.events if is_operation(event)]


def did(folder: Path, rank: int) -> Any:
    return json.loads((folder / f"did-{rank}").read_text())


def check_operations(folder: Path, traces: list[ProcessTrace]) -> None:
    """Compare the traces with the lists that each rank wrote."""
    assert [trace.rank for trace in traces] == list(range(len(traces)))
    events = [operations_of(trace) for trace in traces]
    for rank, trace in enumerate(traces):
        expected = did(folder, rank)
        assert len(events[rank]) == len(expected)
        for at, (name, moved, shapes) in enumerate(expected):
            event = events[rank][at]
            is_of_all = event.arguments["ranks"] == len(traces)
            parts = list(zip(traces, (of[at] for of in events), strict=True)) if is_of_all else [(trace, event)]
            found = operation(parts)
            assert event.name == name == found.direction
            assert [list(shape) for shape in found.local_shapes(event.arguments["rank"])] == shapes
            assert sum(4 * int(np.prod(shape)) for shape in shapes) == moved
            assert found.serialise() == type(found).parse(found.serialise()).serialise()
            assert event.arguments["method"]
            assert event.seconds >= event.arguments.get("total_seconds", 0) >= 0
            if is_of_all:
                assert found.words == operation(parts[:1] if "boxes" not in found.words else parts).words


@pytest.mark.parametrize("ranks", RANKS)
def test_operations_are_read_back_as_they_were(tmp_path: Path, ranks: int) -> None:
    traces = traced(tmp_path, ranks)
    check_operations(tmp_path, traces)
    for trace in traces:
        assert trace.cut == ""
        assert trace.ended is not None
        assert trace.began <= min(event.began for event in trace.events) + 1
        assert "traced_ranks.py" in trace.command
        names = [event.name for event in trace.events]
        assert "open" in names
        assert {"read", "write"} <= set(names)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_killed_run_leaves_what_it_did(tmp_path: Path, ranks: int) -> None:
    traces = traced(tmp_path, ranks, "killed")
    check_operations(tmp_path, traces)
    assert all("no end" in trace.cut for trace in traces)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_operations_of_mpi_io_programs_are_traced(tmp_path: Path, ranks: int) -> None:
    environment = {"SWATH_TRACE": str(tmp_path / "trace")}
    mpi_io_runs.run_well(ranks, mpi_io_runs.python("mpi_io_traced.py", tmp_path / "x"), environment=environment)
    traces = read_trace(str(tmp_path / "trace"))
    assert [trace.rank for trace in traces] == list(range(ranks))
    written, read = ([next(one for one in trace.events if one.name == name) for trace in traces] for name in MOVED)
    for trace in traces:
        assert trace.cut == ""
        assert sum(event.name in MOVED for event in trace.events) == 2
    if ranks == 1:  # one run: no operation is planned
        for event, name in ((written[0], "written_bytes"), (read[0], "read_bytes")):
            assert event.arguments["offset"] == 0
            assert event.arguments[name] == 400
        return
    together = operation(list(zip(traces, written, strict=True)))
    assert together.direction == "write"
    assert together.ranks == ranks
    assert [event.arguments["ranks"] for event in read] == [1] * ranks


def test_an_operation_says_where_its_bytes_lie(tmp_path: Path) -> None:
    program = (
        "import numpy as np, swath\n"
        f"path = {str(tmp_path / 'a.raw')!r}\n"
        "a = swath.create(path, (10, 8), 'f4', format='raw'); a[...] = 1; a.close()\n"
        "a = swath.open(path, shape=(10, 8), dtype='f4')\n"
        "a[2:4], a[1:3, 5:6], a[4:4]\n"
    )
    environment = {**os.environ, "SWATH_TRACE": str(tmp_path / "trace")}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    (trace,) = read_trace(str(tmp_path / "trace"))
    made = [trace.operations[event.arguments["operation"]] for event in operations_of(trace)]
    places = [(one.begin, one.end, one.file_bytes) for one in made]
    assert places == [(0, 320, 320), (64, 128, 64), (4 * 13, 4 * 22, 8), (0, 0, 0)]


def test_what_swath_adapts_is_noted_for_each_array(tmp_path: Path) -> None:
    program = (
        "import sys, numpy as np, swath\n"
        "folder = sys.argv[1]\n"
        "for name in ('blocks', 'iterate', 'sync', 'read', 'write', 'writer'):\n"
        "    swath.create(f'{folder}/{name}.npy', (8, 4), 'f4').close()\n"
        "with swath.open(f'{folder}/blocks.npy') as a: list(a.blocks((2, None)))\n"
        "with swath.open(f'{folder}/iterate.npy') as a: list(a.iterate(prefetch=1))\n"
        "with swath.open(f'{folder}/sync.npy') as a: list(a.blocks((2, None), prefetch=0)); a[...]\n"
        "with swath.open(f'{folder}/read.npy') as a: a.read_async().result()\n"
        "with swath.open(f'{folder}/write.npy', mode='r+') as a: a.write_async(np.ones((8, 4), 'f4')).result()\n"
        "with swath.open(f'{folder}/writer.npy', mode='r+') as a:\n"
        "    with a.writer() as w: w.write(np.ones((8, 4), 'f4'))\n"
        "for disk in ('auto', 1.0):\n"
        "    given = {'path': f'{folder}/balanced-{disk}', 'disk': disk, 'memory': 0}\n"
        "    with swath.Balanced(lambda _: np.ones(9), [9] * 8, **given) as b:\n"
        "        for _ in range(3): list(b)\n"
    )
    environment = {**os.environ, "SWATH_TRACE": str(tmp_path / "trace")}
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True, env=environment)
    found = {os.path.basename(name): means for name, means in read_log(str(tmp_path / "trace")).adaptive.items()}
    balanced = [means for name, means in found.items() if "balanced" in name]
    assert {name: means for name, means in found.items() if "balanced" not in name} == {
        "blocks.npy": {PREFETCH},
        "iterate.npy": {PREFETCH},
        "read.npy": {PREFETCH},
        "write.npy": {WRITE_BEHIND},
        "writer.npy": {WRITE_BEHIND},
    }
    assert sorted(RECOMPUTE in means for means in balanced) == [False, True]
    assert all(PREFETCH in means for means in balanced)


def test_the_stripes_of_a_file_are_read(tmp_path: Path) -> None:
    file = small_trace(tmp_path)
    text = gzip.decompress(file.read_bytes())
    striped = tmp_path / "striped.pfw"
    striped.write_bytes(text.replace(b'"element_bytes":4', b'"element_bytes":4,"stripe_bytes":1048576,"servers":3'))
    for path, expected in ((striped, (1 << 20, 3)), (file, (0, 0))):
        (trace,) = read_trace(str(path))
        assert {(array.stripe_bytes, array.servers) for array in trace.arrays.values()} == {expected}


def test_without_the_variable_nothing_is_traced(tmp_path: Path) -> None:
    run_well(1, "traced_ranks.py", tmp_path, "well")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["did-0", "x.npy"]


def small_trace(folder: Path, reads: int = 3) -> Path:
    """Returns the only file of the trace of a program that reads."""
    program = (
        "import swath, sys\n"
        f"a = swath.create({str(folder / 'a.npy')!r}, (8, 8), 'f4', overwrite=True); a[...] = 1; a.close()\n"
        f"a = swath.open({str(folder / 'a.npy')!r})\n"
        f"for i in range({reads}): a[i % 8]\n"
        "a.close()\n"
    )
    environment = {**os.environ, "SWATH_TRACE": str(folder / "trace")}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    (file,) = (folder / "trace").iterdir()
    return file


def read_or_refused(file: Path) -> ProcessTrace | None:
    """Returns the trace, or None where it is refused with an error that names the file."""
    try:
        (found,) = read_trace(str(file))
    except swath.FormatError as error:
        if str(file) not in str(error):
            raise
        return None
    return found


def test_every_prefix_of_a_trace_is_read_or_refused_in_words(tmp_path: Path) -> None:
    file = small_trace(tmp_path)
    (whole,) = read_trace(str(file))
    stored = file.read_bytes()
    for length in range(7, len(stored), 7):
        file.write_bytes(stored[:length])
        (part,) = read_trace(str(file))
        assert part.cut
        assert part.events == whole.events[: len(part.events)]


def test_damage_is_said(tmp_path: Path) -> None:
    file = small_trace(tmp_path)
    (whole,) = read_trace(str(file))
    stored = file.read_bytes()
    random = np.random.default_rng(5)
    for _ in range(2000):
        damaged = bytearray(stored)
        damaged[random.integers(len(damaged))] ^= 1 << random.integers(8)
        file.write_bytes(damaged)
        found = read_or_refused(file)
        assert found is None or found.cut or found.events == whole.events


def test_damaged_lines_are_said(tmp_path: Path) -> None:
    text = gzip.decompress(small_trace(tmp_path).read_bytes())
    file = tmp_path / "mutated.pfw"
    random = np.random.default_rng(6)
    for _ in range(3000):
        damaged = bytearray(text)
        for _ in range(random.integers(1, 4)):
            damaged[random.integers(len(damaged))] = random.integers(256)
        file.write_bytes(damaged)
        found = read_or_refused(file)
        for event in [] if found is None else operations_of(found):
            with contextlib.suppress(swath.FormatError):
                operation([(found, event)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "no line says"),
        (b"[\n{}\n", "no line of a trace"),
        (b'[\n{"name":"swath_trace","ph":"M","pid":0,"args":{"version":99}}\n', "version 99"),
        (b'[\n{"name":"read","ph":"X","cat":"x","ts":1,"dur":"?","tid":1}\n', "line 2"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: bytes, expected: str) -> None:
    file = tmp_path / "x.pfw"
    file.write_bytes(text)
    with pytest.raises(swath.FormatError, match=expected):
        read_trace(str(file))


def test_a_folder_without_a_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(swath.FormatError, match="SWATH_TRACE="):
        read_trace(str(tmp_path))
    with pytest.raises(swath.NotFoundError):
        read_trace(str(tmp_path / "none"))


def test_the_table_adds_up(tmp_path: Path) -> None:
    traces = traced(tmp_path, 2)
    found = characterise(read_log(str(tmp_path / "trace")))
    events = [event for trace in traces for event in trace.events]
    assert found.processes == 2
    assert sum(one.calls for one in found.operations) == len(events)
    assert found.io_seconds("swath") == pytest.approx(sum(event.seconds for event in events))
    writes = next(one for one in found.operations if one.name == "write")
    assert writes.bytes == 4 * 12 * 10
    assert 0 < found.io_seconds("swath") <= found.execution_seconds


def test_the_commands(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    program = f"import swath; swath.create({str(tmp_path / 'a.npy')!r}, (4,), 'f4').close(); print('ran')"
    command = [
        str(Path(sys.executable).with_name("swath")),
        "trace",
        "--into",
        str(folder),
        sys.executable,
        "-c",
        program,
    ]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "ran\n"
    assert cli.main(["characterise", str(folder)]) == 0
    printed = capfd.readouterr().out
    assert "swath open" in printed
    assert "not complete" not in printed
    assert cli.main(["characterise", "--json", str(folder)]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["processes"] == 1
    assert {one["name"] for one in found["operations"]} >= {"open"}


def test_a_program_that_is_not_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trace", "--into", str(tmp_path / "t"), str(tmp_path / "none")]) == 2
    assert "none" in capfd.readouterr().err
    assert cli.main(["trace"]) == 2
    assert "name the program" in capfd.readouterr().err


def curves_of(folder: Path) -> dict[str, list[int]]:
    """Returns the values of each curve of the only trace, in their order."""
    (file,) = folder.iterdir()
    curves: dict[str, list[int]] = {}
    for line in gzip.decompress(file.read_bytes()).splitlines()[1:]:
        one = json.loads(line)
        if one["ph"] == "C":
            curves.setdefault(one["name"], []).append(one["args"]["value"])
    return curves


def test_tokens_and_bytes_in_flight_are_curves(tmp_path: Path) -> None:
    program = (
        "import os, swath\n"
        f"path = {str(tmp_path / 'a.npy')!r}\n"
        "a = swath.create(path, (64, 65536), 'f4'); a[...] = 1; a.close()\n"
        "a, b = (swath.open(path, streams=1) for _ in range(2))\n"
        "file = os.open(path, os.O_RDONLY); os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)\n"
        "a[...], b[3], b[::2, :7]\n"
    )
    environment = {**os.environ, "SWATH_TRACE": str(tmp_path / "trace")}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    curves = curves_of(tmp_path / "trace")
    assert max(curves["bytes in flight"]) >= 1 << 18
    assert curves["bytes in flight"][-1] == 0
    assert min(curves["bytes in flight"]) == 0
    assert set(curves["tokens held"]) == {0, 1}
    assert curves["tokens held"][-1] == 0

"""The operations of a trace of Swath are simulated as they were: the same arrays, shares, methods and requests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import swath
from mpi_runs import needs_mpi, run_ranks
from swath.commands import cli
from swath.simulation.from_trace import exact_operations
from swath.simulation.operations import ExactOperation
from swath.simulation.simulate import simulate
from swath.trace.opening import read_log
from swath.trace.reading import Event, is_operation, read_trace

PROGRAM = """
import sys
import numpy as np
import swath
from mpi4py import MPI
comm, path = MPI.COMM_WORLD, sys.argv[1]
blocks = swath.Distribution((swath.Block(), swath.Whole()), (comm.size, 1))
columns = swath.Distribution((swath.Whole(), swath.Cyclic(3)), (1, comm.size))
with swath.create(path, (12, 18), "<f8", order="F", comm=comm) as a:
    a.write(np.ones(blocks.local_shape((12, 18), comm.rank)), blocks, method="direct")
with swath.open(path, comm=comm) as a:
    a.read(columns, method="direct")
    a.read(blocks, method="two-phase")
    a.read(columns, selection=np.s_[2:9, ::2], method="list")
"""


@pytest.fixture(scope="module", params=[1, 3])
def traced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    needs_mpi()
    folder = tmp_path_factory.mktemp("traced")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    environment = {"SWATH_TRACE": str(folder / "trace")}
    result = run_ranks(request.param, str(program), folder / "a.npy", environment=environment)
    assert result.returncode == 0, result.stderr[-3000:]
    return folder / "trace", request.param


def events_of(folder: Path) -> list[list[Event]]:
    """The operations of each rank, as they were carried out."""
    return [[event for event in trace.events if is_operation(event)] for trace in read_trace(str(folder))]


def test_all_operations_of_the_trace_are_there_in_order(traced: tuple[Path, int]) -> None:
    operations, ranks = exact_operations(read_log(str(traced[0])))
    assert ranks == traced[1]
    assert [one.write for one in operations] == [True, False, False, False]
    assert [one.bytes for one in operations] == [12 * 18 * 8] * 3 + [7 * 9 * 8]
    assert {one.file_bytes for one in operations} == {128 + 12 * 18 * 8}


def test_the_requests_are_those_of_the_run(traced: tuple[Path, int]) -> None:
    """Two-phase is left out: its domains follow the stripes of the machine."""
    operations, ranks = exact_operations(read_log(str(traced[0])))
    found = simulate(operations, "feynman", ranks=ranks, settings={"servers.list": True})
    assert [one.partition(" ")[0] for one in found.methods] == ["direct", "direct", "two-phase", "list"]
    for number in (0, 1):
        real = [of_rank[number].arguments for of_rank in events_of(traced[0])]
        for name in ("read_requests", "write_requests"):
            assert found.values["operations"][number][name] == sum(int(one.get(name, 0)) for one in real)


def test_the_method_can_be_another_one(traced: tuple[Path, int]) -> None:
    operations, ranks = exact_operations(read_log(str(traced[0])), "two-phase")
    found = simulate(operations, "feynman", ranks=ranks)
    assert {one.partition(" ")[0] for one in found.methods} == {"two-phase"}


def test_the_command_simulates_the_trace(traced: tuple[Path, int], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["simulate", "--machine", "feynman", "--trace", str(traced[0])]) == 0
    assert "read" in capsys.readouterr().out


def test_operations_of_other_ranks_are_refused(traced: tuple[Path, int]) -> None:
    operations, ranks = exact_operations(read_log(str(traced[0])))
    with pytest.raises(swath.ArgumentError, match=f"{ranks + 1} ranks, it is one of {ranks}"):
        simulate(operations, "feynman", ranks=ranks + 1)


def test_damaged_operations_are_refused() -> None:
    damaged = ExactOperation(np.arange(40, dtype="u1").tobytes(), "a", 10, 10, write=False)
    with pytest.raises(swath.Error):
        simulate(damaged, "feynman", ranks=1)

"""The operations of a trace of Swath are simulated as they were: the same arrays, shares, methods and requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from mpi_runs import needs_mpi, run_ranks
from swath import _core
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

OWN_PROGRAM = """
import sys
import numpy as np
import swath
from mpi4py import MPI
comm, path = MPI.COMM_WORLD, sys.argv[1]
mine = path.replace(".npy", f"-{comm.rank}.npy")
blocks = swath.Distribution((swath.Block(), swath.Whole()), (comm.size, 1))
with swath.create(path, (12, 18), "<f8", comm=comm) as a:
    a.write(np.ones(blocks.local_shape((12, 18), comm.rank)), blocks, method="direct")
with swath.create(mine, (20, 10), "<f8", order="F") as a:
    for k in range(comm.rank + 1):
        a.write(np.ones((20 - k, 4)), selection=np.s_[k:, k : k + 4], method="direct")
with swath.open(path, comm=comm) as a:
    a[comm.rank : 2 * comm.rank + 1]
    a.read(blocks, method="direct")
    if comm.rank == comm.size - 1:
        a[3:7]
    boxes = swath.Boxes([((0, comm.rank), (5, comm.rank + 2))] * (comm.rank % 2 + 1))
    a.read(boxes, method="direct")
with swath.open(mine) as a:
    a.read(swath.Boxes([((0, 1), (7, 5)), ((9, 2), (12, 8))]), method="direct")
    a.read(swath.Places((np.array([1, 5, 5]), np.array([2, 3, 8]))), method="direct")
"""
GROUP_PROGRAM = """
import sys
import numpy as np
import swath
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
half = MPI.COMM_WORLD.Split(rank // 2)
is_together = sys.argv[2] == "halves" or rank < 2
path = sys.argv[1].replace(".npy", f"-of-{rank // 2}.npy" if is_together else f"-own-{rank}.npy")
with swath.create(path, (8,), "<f8", comm=half if is_together else None) as a:
    mine = swath.Distribution((swath.Block(),), (2,)) if is_together else None
    a.write(np.ones(4 if is_together else 8), mine, method="direct")
"""


def run_traced(program: str, ranks: int, folder: Path, *arguments: str) -> Path:
    """Run the program by so many ranks, and return its trace."""
    needs_mpi()
    (folder / "program.py").write_text(program)
    environment = {"SWATH_TRACE": str(folder / "trace")}
    result = run_ranks(ranks, str(folder / "program.py"), folder / "a.npy", *arguments, environment=environment)
    assert result.returncode == 0, result.stderr[-3000:]
    return folder / "trace"


@pytest.fixture(scope="module", params=[1, 3])
def traced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    folder = tmp_path_factory.mktemp("traced")
    return run_traced(PROGRAM, request.param, folder), request.param


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


# ---- operations of single ranks -------------------------------------------------------------------------------------

AMOUNTS = ("read_requests", "write_requests", "read_bytes", "written_bytes")


def amounts_of(found: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(found.get(name, 0)) for name in AMOUNTS)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_each_rank_makes_its_own_operations_as_in_the_run(ranks: int, tmp_path: Path) -> None:
    """Its own ones and those of all ranks, in its order, with the requests and the bytes of the run."""
    trace = run_traced(OWN_PROGRAM, ranks, tmp_path)
    operations, of_run = exact_operations(read_log(str(trace)))
    assert of_run == ranks
    found = simulate(operations, "feynman", ranks=ranks, settings={"servers.list": True}).values["operations"]
    together = [one for one in found if "rank" not in one]
    real = events_of(trace)
    for rank, events in enumerate(real):
        own = [one for one in found if one.get("rank", rank) == rank]
        assert [one["name"].partition(" ")[0] for one in own] == [event.name for event in events]
        for one, event in zip(own, events, strict=True):
            if ranks == 1 or "rank" in one:
                assert amounts_of(one) == amounts_of(event.arguments), (rank, one["name"], event)
    if ranks > 1:
        assert len(together) == 3
        of_all = [[event for event in events if event.arguments["ranks"] > 1] for events in real]
        for number, one in enumerate(together):
            sums = [sum(each) for each in zip(*(amounts_of(of[number].arguments) for of in of_all), strict=True)]
            assert amounts_of(one) == tuple(sums)


def rank_alone(rank: int, gap: float, count: int = 1) -> list[ExactOperation]:
    array = _core.ArrayForm("a", [1000], 8, _core.Layout.strided([1000], 8, 0, [8]))
    own = _core.Operation(array, "read", _core.Decomposition.alone([(0, 1, 1000, False)]), "direct", ())
    one = ExactOperation(own.serialise(), "a", 8000, 8000, write=False, gap_seconds=gap, name="read a", rank=rank)
    return [one] * count


def test_ranks_do_not_wait_for_the_operations_of_others() -> None:
    """Rank 1 begins its second one while rank 0 still computes."""
    found = simulate([*rank_alone(0, 100.0), *rank_alone(1, 1.0, count=2)], "feynman", ranks=2).values
    began = [one["began"] for one in found["operations"]]
    assert began == pytest.approx([100, 1, 2], rel=0.05)
    assert found["seconds"] == pytest.approx(100, rel=0.05)


def test_an_operation_of_all_ranks_waits_for_the_last_one(traced: tuple[Path, int]) -> None:
    operations, ranks = exact_operations(read_log(str(traced[0])))
    last = replace(operations[-1], gap_seconds=tuple(float(7 * rank) for rank in range(ranks)))
    found = simulate([last, *rank_alone(0, 0.0)], "feynman", ranks=ranks).values["operations"]
    assert found[0]["began"] == 0
    assert found[1]["began"] == pytest.approx(7 * (ranks - 1), abs=1)


def test_a_text_says_which_operations_single_ranks_made() -> None:
    text = str(simulate([*rank_alone(0, 0.0), *rank_alone(1, 1.0, count=2)], "feynman", ranks=2))
    assert "3 × read a: direct, by each of 2 ranks alone" in text


def test_a_rank_that_does_not_exist_is_refused() -> None:
    with pytest.raises(swath.ArgumentError, match="rank = 2: expected a rank below 2"):
        simulate(rank_alone(2, 0.0), "feynman", ranks=2)


@pytest.mark.parametrize("case", ["halves", "one half"])
def test_operations_of_some_ranks_together_are_refused(case: str, tmp_path: Path) -> None:
    trace = run_traced(GROUP_PROGRAM, 4, tmp_path, case)
    with pytest.raises(swath.UnsupportedError, match="operations of some of the ranks together cannot be simulated"):
        exact_operations(read_log(str(trace)))

"""What can be replayed is read from each tracer's log; what a log cannot tell is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import swath
from replay_cases import Call, write_log
from swath.replay.actions import Action, in_phases
from swath.replay.lengths import with_lengths
from swath.replay.loading import load
from swath.replay.traced import actions_of_traces, final_paths
from swath.trace.reading import Event, ProcessTrace


def test_the_calls_of_a_log_become_actions_in_their_order(tmp_path: Path) -> None:
    log = write_log(
        tmp_path,
        [
            [
                Call("open", "/d/a", 0.0),
                Call("read", "/d/a", 0.5, 100),
                Call("lseek", "/d/a", 0.6, 1000),
                Call("read", "/d/a", 0.7, 50),
                Call("fsync", "/d/a", 0.8),
                Call("close", "/d/a", 0.9),
            ]
        ],
    )
    run = load(log)
    found = [(one.name, one.offset, one.length) for one in run.actions[0]]
    assert [name for name, _, _ in found] == ["open", "read", "seek", "read", "sync", "close"]
    assert (found[1], found[3]) == (("read", 0, 100), ("read", 1000, 50))
    assert run.files[0].name == "/d/a"
    assert run.files[0].initial_bytes == 1050
    assert run.gap_seconds == pytest.approx(0.9 - 5 * 1e-3, abs=1e-6)


def test_ranks_wait_for_each_other_between_phases(tmp_path: Path) -> None:
    log = write_log(
        tmp_path,
        [
            [Call("pwrite", "/d/a", 0.0, 10, offset=0), Call("pwrite", "/d/a", 2.0, 10, offset=10)],
            [Call("pwrite", "/d/a", 0.01, 10, offset=20), Call("pwrite", "/d/a", 2.5, 10, offset=30)],
        ],
    )
    run = load(log)
    assert [[one.name for one in of] for of in run.actions] == [
        ["write", "barrier", "write", "barrier"],
        ["write", "barrier", "barrier", "write"],
    ]
    assert len(run.phases) == 3
    assert run.actions[1][3].gap == pytest.approx(0.5 - 1e-3, abs=1e-6)  # since the phase before, of the other rank


def action(name: str, began: float, offset: int, length: int) -> Action:
    return Action(name, "posix", 0, offset, length, seconds=0.1, began=began)


@pytest.mark.parametrize(
    ("calls", "initial"),
    [
        ([action("write", 0, 0, 100), action("read", 1, 0, 100)], 0),
        ([action("read", 0, 0, 100), action("write", 1, 0, 200)], 100),
        ([action("write", 0, 0, 50), action("read", 1, 0, 100)], 100),
        ([action("write", 0, 50, 50), action("read", 1, 0, 100)], 50),
        ([action("write", 0, 0, 100), action("write", 1, 0, 50), action("read", 2, 90, 10)], 0),
    ],
)
def test_a_file_was_as_long_as_what_is_read_before_it_is_written(calls: list[Action], initial: int) -> None:
    (found,) = with_lengths(["/d/a"], [calls])
    assert found.initial_bytes == initial
    assert found.end_bytes == max(one.offset + one.length for one in calls)


def test_reads_at_the_speed_of_memory_are_warm() -> None:
    slow, fast = (Action("read", "posix", 0, 0, 1 << 24, seconds=seconds) for seconds in (0.1, 0.003))
    assert with_lengths(["/d/a"], [[slow]])[0].is_cold
    assert with_lengths(["/d/a"], [[fast]])[0].is_cold is False


def test_a_gap_counts_from_the_end_of_the_call_before() -> None:
    placed, phases = in_phases([[action("read", 1.0, 0, 1), action("read", 3.0, 0, 1)]], 3.1)
    assert [one.gap for one in placed[0]] == pytest.approx([1.0, 1.9])
    assert len(phases) == 2


def test_names_of_one_file_become_one_path() -> None:
    identity = "/w/x.nc:u (>f4 (10, 20), netcdf-classic, from byte 128, layout 3f2a91bc0d5e7f12, opened as number 2)"
    found = final_paths({identity, "/w/.x.nc.swath-0123456789ab", "w/x.nc", "/w/y (1).npy", "z.npy"})
    assert {found[name] for name in (identity, "/w/.x.nc.swath-0123456789ab", "w/x.nc")} == {"/w/x.nc"}
    assert found["/w/y (1).npy"] == "/w/y (1).npy"
    assert found["z.npy"] == "z.npy"


def process(rank: int, number: int, *events: tuple[str, float, int]) -> ProcessTrace:
    """Return the trace of a process whose calls take a second each."""
    trace = ProcessTrace(f"{rank}-{number}", rank, 1, process=number)
    trace.events = [
        Event(name, "posix", began, 1.0, 1, {"path": "/d/a", "offset": 0, "written_bytes": moved, "flags": 577})
        for name, began, moved in events
    ]
    return trace


def test_launchers_are_no_ranks() -> None:
    found = actions_of_traces(
        [
            process(0, 1, ("stat", 0.0, 0), ("close", 90.0, 0)),
            process(0, 2, ("open", 1.0, 0), ("write", 3.0, 5000)),
            process(1, 3, ("write", 4.0, 5000)),
        ]
    )
    assert [[one.name for one in of] for of in found.actions] == [["open", "write"], ["write"]]
    assert found.actions[0][0].flags == 577
    assert any("launchers" in note and note.endswith("1") for note in found.notes)


def test_a_launcher_that_reads_much_is_no_rank_if_it_was_not_told_how_many_there_are() -> None:
    traces = [process(0, 1, ("read", 0.0, 9000), ("close", 90.0, 0)), process(0, 2, ("write", 3.0, 5000))]
    assert len(actions_of_traces([replace(one) for one in traces]).actions) == 2
    told = [traces[0], replace(traces[1], ranks=2), replace(process(1, 3, ("open", 1.0, 0)), ranks=2)]
    assert [[one.name for one in of] for of in actions_of_traces(told).actions] == [["write"], ["open"]]


def test_processes_of_a_rank_one_after_another_are_one_rank() -> None:
    found = actions_of_traces([process(0, 2, ("write", 9.0, 10)), process(0, 1, ("write", 0.0, 10))])
    assert [[one.began for one in of] for of in found.actions] == [[0.0, 9.0]]


def test_two_traces_of_a_process_are_one_rank() -> None:
    traces = [process(rank, 7 + rank, ("write", began, 10)) for rank in (0, 1) for began in (2.0, 1.0)]
    found = actions_of_traces(traces)
    assert [len(of) for of in found.actions] == [2, 2]


def test_two_busy_processes_of_one_number_are_two_ranks() -> None:
    found = actions_of_traces([process(0, n, ("write", 0.0, 10), ("write", 5.0, 10)) for n in (1, 2)])
    assert len(found.actions) == 2


def test_mpi_io_is_replayed_by_the_file_calls_below_it() -> None:
    trace = process(0, 1, ("write", 1.0, 10))
    call = Event("write", "mpi-io", 0.5, 2.0, 1, {"path": "/d/a", "offset": 0, "written_bytes": 10})
    other = Event("read", "mpi-io", 5.0, 1.0, 1, {"path": "/d/b", "offset": 7, "read_bytes": 20})
    scattered = Event("read", "mpi-io", 6.0, 1.0, 1, {"path": "/d/b", "begin": 7, "end": 99, "read_bytes": 20})
    trace.events += [call, other, scattered]
    found = actions_of_traces([trace])
    assert [(one.name, one.layer, one.offset, one.length) for one in found.actions[0]] == [
        ("write", "posix", 0, 10),
        ("read", "posix", 7, 20),
    ]
    assert any("offsets that the trace does not have (1 times)" in note for note in found.notes)


def test_an_empty_log_is_refused(tmp_path: Path) -> None:
    log = write_log(tmp_path, [[Call("open", "/d/a", 0.0)]])
    with pytest.raises(swath.UnsupportedError, match="no read or write that can be replayed"):
        load(log)


def test_counters_only_are_refused() -> None:
    darshan = pytest.importorskip("darshan")
    log = next(Path(darshan.__file__).parent.glob("**/sample.darshan"))
    with pytest.raises(swath.UnsupportedError, match="counters only"):
        load(str(log))


def test_a_cut_trace_is_said(tmp_path: Path) -> None:
    log = write_log(tmp_path, [[Call("pwrite", "/d/a", 0.0, 10, offset=0)]])
    (stored,) = Path(log).iterdir()
    stored.write_text(stored.read_text() + '{"id":9,"name":"pwr')
    run = load(log)
    assert not run.is_complete
    assert any("not complete" in note for note in run.notes)

"""Changes of a run: each one makes the actions of the changed program, keeps the bytes and the gaps, or is refused."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

import swath
from replay_cases import call, gaps, run_of, said
from swath import _core
from swath.replay import changes
from swath.replay.actions import UNKNOWN, Action, Run
from swath.replay.applying import apply
from swath.replay.changes import Change, parsed

OPERATION = _core.Operation(
    _core.ArrayForm("/d/a", (4, 6), 8, _core.Layout.strided((4, 6), 8, 128, (48, 8))),
    "read",
    _core.Decomposition.alone([(0, 1, 4, False), (0, 1, 6, False)]),
)
OPERATING = run_of([Action("operation", "swath", 0, length=192, direction="read", operation=0)],
                   operations=(OPERATION.serialise(),))  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        changes.Collective(),
        changes.Collective(file="a", phase=0),
        changes.AllRanks(file="a"),
        changes.AllRanks(ranks=4, file="a"),
        changes.Sieve(phase=1),
        changes.Cache(bytes=1 << 20, file="a"),
        changes.Method(method="two-phase"),
        changes.Streams(streams=4),
        changes.Streams(streams="auto"),
        changes.Layout(layout="64x64"),
        changes.Layout(layout="1,0,2", file="b"),
        changes.Prefetch(depth=3),
        changes.WriteBehind(),
        changes.Merge(bytes=1 << 20, phase=2),
        changes.OneSync(),
        changes.KeepOpen(),
        changes.Aggregators(aggregators=2),
        changes.Balance(fraction=0.25, seconds=0.5),
    ],
    ids=lambda change: change.words,
)
def test_words_of_a_change_are_read_back(change: Change) -> None:
    assert parsed(change.words) == change


@pytest.mark.parametrize(
    "text",
    [
        "",
        "faster",
        "cache",
        "cache=0",
        "sieve=1",
        "all-ranks=few",
        "merge=",
        "merge=0",
        "merge=many",
        "collective=1",
        "merge,phase=x",
        "merge,of=1",
        "prefetch=-1",
    ],
)
def test_a_wrong_text_is_no_change(text: str) -> None:
    with pytest.raises(swath.ArgumentError, match="replay: "):
        parsed(text)


def test_calls_that_follow_each_other_become_one() -> None:
    run = run_of([call("read", 10 * n, 10, gap=0.5) for n in range(5)] + [call("read", 70, 10)])
    found = apply(run, changes.Merge(bytes=30))
    assert said(found.actions[0]) == [("read", 0, 30), ("read", 30, 20), ("read", 70, 10)]
    assert gaps(found.actions[0]) == gaps(run.actions[0]) == 2.5
    assert found.changes == ("merge=30",)


def test_seeks_to_where_the_file_is_do_not_keep_calls_apart() -> None:
    run = run_of([call("write", 0, 10), call("seek", 10), call("write", 10, 10), call("seek", 5), call("write", 5, 10)])
    found = apply(run, changes.Merge(bytes=100))
    assert said(found.actions[0]) == [("write", 0, 20), ("seek", 5, 0), ("write", 5, 10)]


@pytest.mark.parametrize("between", ["sync", "close", "write"])
def test_nothing_is_merged_across_a_call_that_matters(between: str) -> None:
    run = run_of([call("read", 0, 10), call(between, 50, 10 * (between == "write")), call("read", 10, 10)])
    with pytest.raises(swath.ArgumentError, match="no calls follow each other"):
        apply(run, changes.Merge())


def test_reads_are_merged_across_barriers_unless_the_run_writes_the_file() -> None:
    reads = [call("read", 0, 10), Action("barrier"), call("read", 10, 10)]
    found = apply(run_of(reads, [Action("barrier")]), changes.Merge())
    assert [one.name for one in found.actions[0]] == ["read", "barrier"]
    with pytest.raises(swath.ArgumentError, match="no calls follow each other"):
        apply(run_of(reads, [call("write", 10, 10), Action("barrier")]), changes.Merge())


def test_a_file_is_synchronised_once_after_its_last_write() -> None:
    run = run_of([call("write", 0, 10), call("sync", gap=1), call("write", 10, 10), call("sync"), call("sync", file=1)])
    found = apply(run, changes.OneSync())
    assert [(one.name, one.file) for one in found.actions[0]] == [("write", 0), ("write", 0), ("sync", 0), ("sync", 1)]
    assert gaps(found.actions[0]) == 1


def test_a_file_is_opened_once_and_emptied_as_before() -> None:
    opened = replace(call("open"), flags=os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    run = run_of([opened, call("write", 0, 9), call("close"), opened, call("write", 0, 9), call("close", gap=2)])
    found = apply(run, changes.KeepOpen())
    assert [one.name for one in found.actions[0]] == ["open", "write", "truncate", "write", "close"]
    assert found.actions[0][2].offset == 0


def test_reads_are_left_out_and_computed_in_their_time() -> None:
    run = run_of([call("read", 10 * n, 10) for n in range(8)])
    found = apply(run, changes.Balance(fraction=0.25, seconds=3.0))
    assert sum(one.name == "read" for one in found.actions[0]) == 6
    assert gaps(found.actions[0]) == 6.0


def test_only_the_named_file_and_phase_are_changed() -> None:
    run = run_of([call("sync", file=file, phase=phase) for file in (0, 1) for phase in (0, 1) for _ in range(2)])
    found = apply(run, changes.OneSync(file="b", phase=1))
    assert [(one.file, one.phase) for one in found.actions[0]] == [
        (0, 0),
        (0, 0),
        (0, 1),
        (0, 1),
        (1, 0),
        (1, 0),
        (1, 1),
    ]


def test_accesses_of_a_phase_become_one_collective_access() -> None:
    ranks = [
        [call("write", 10 * (2 * n + rank), 10, gap=0.25) for n in range(3)]
        + [call("sync"), Action("barrier", phase=1), call("read", 20 * rank, 20, phase=1)]
        for rank in range(2)
    ]
    found = apply(run_of(*ranks), changes.Collective())
    for rank, actions in enumerate(found.actions):
        assert [one.name for one in actions] == ["collective", "sync", "barrier", "collective"]
        write, read = actions[0], actions[3]
        assert (write.direction, read.direction) == ("write", "read")
        assert write.pieces is not None
        assert write.pieces.offsets.tolist() == [10 * rank, 20 + 10 * rank, 40 + 10 * rank]
        assert write.pieces.lengths.tolist() == [10, 10, 10]
        assert (write.length, write.gap) == (30, 0.75)
        assert read.pieces is not None
        assert (read.pieces.offsets.tolist(), read.pieces.lengths.tolist()) == ([20 * rank], [20])


def test_ranks_without_bytes_take_part_in_the_same_order() -> None:
    first = [call("open"), call("read", 0, 10), call("write", 50, 10, file=1), call("close")]
    second = [call("open"), call("write", 60, 10, file=1), call("read", 10, 10), call("close")]
    third = [call("open"), call("close")]
    run = run_of(*([replace(one, began=float(at)) for at, one in enumerate(of)] for of in (first, second, third)))
    found = apply(run, changes.Collective())
    orders = [[(one.file, one.direction) for one in of if one.name == "collective"] for of in found.actions]
    assert orders == [[(0, "read"), (1, "write")]] * 3
    assert np.array_equal([one.length for one in found.actions[2] if one.name == "collective"], [0, 0])


def test_headers_that_are_written_again_stay_as_they_are() -> None:
    first = [call("write", 0, 8), call("write", 100, 400), call("write", 0, 8)]
    found = apply(run_of(first, [call("write", 500, 400)]), changes.Collective())
    assert said([one for one in found.actions[0] if one.name == "write"]) == [("write", 0, 8)] * 2
    assert [one.length for of in found.actions for one in of if one.name == "collective"] == [400, 400]


@pytest.mark.parametrize(
    ("run", "change", "why"),
    [
        (run_of([call("read", 0, 9)]), changes.Collective(), "one rank"),
        (run_of([call("read", 0, 9)], [call("read", 9, 9, phase=1)]), changes.Collective(), "no phase has"),
        (run_of([call("write", 0, 9)], [call("write", 4, 9)]), changes.Collective(), "overlap"),
        (run_of([call("write", 0, 9)]), changes.AllRanks(), "1 rank with calls: expected all-ranks=NUMBER, at least 2"),
        (run_of([call("write", 0, 9)], [call("stat")]), changes.AllRanks(ranks=1), "at least 2"),
        (run_of([call("write", 0, 9)], [call("write", 9, 9)]), changes.AllRanks(), "one rank alone"),
        (run_of([call("write", 0, 9)], [call("write", 0, 9, file=1)]), changes.AllRanks(), "a file of their own"),
        (run_of([call("read", 0, 9), call("read", 9, 9)]), changes.Sieve(), "several separate regions"),
        (run_of([call("read", 0, 9), call("write", 9, 9), call("read", 20, 9)]), changes.Sieve(), "no other call"),
        (run_of([call("read", 0, 9), call("read", 9, 9)]), changes.Cache(bytes=100), "reads bytes of a file again"),
        (run_of([call("write", UNKNOWN, 9)], [call("write", 9, 9)]), changes.Collective(), "not in the log"),
        (run_of([call("read", 0, 9)]), changes.Method(method="sieve"), "no operations of Swath"),
        (run_of([call("read", 0, 9)]), changes.Layout(layout="F"), "no operations of Swath"),
        (run_of([call("read", 0, 9)]), changes.Aggregators(aggregators=1), "no operations of Swath"),
        (run_of([call("read", 0, 9)]), changes.OneSync(), "more than once"),
        (run_of([call("read", 0, 9)]), changes.KeepOpen(), "more than once"),
        (run_of([call("read", 0, 9)]), changes.WriteBehind(), "no writes"),
        (run_of([call("write", 0, 9)]), changes.Prefetch(), "no reads"),
        (run_of([call("read", 0, 9)]), changes.Merge(file="none"), "uses no file 'none'"),
        (run_of([call("read", 0, 9)]), changes.Merge(phase=2), "has 2 phases"),
        (run_of([call("read", 0, 9)]), changes.Balance(fraction=1.5), "from 0 to 1"),
        (run_of([call("read", 0, 9)]), changes.Streams(streams="many"), "auto"),
        (OPERATING, changes.Layout(layout="64"), "expected"),
        (OPERATING, changes.Layout(layout="64x0"), "expected chunks of 2 lengths"),
    ],
)  # fmt: skip
def test_a_change_that_cannot_be_made_says_why(run: Run, change: Change, why: str) -> None:
    with pytest.raises(swath.ArgumentError, match=why) as raised:
        apply(run, change)
    assert change.words in str(raised.value)


def test_an_operation_gets_another_method_and_layout() -> None:
    found = apply(apply(OPERATING, changes.Method(method="sieve")), changes.Layout(layout="F"))
    operation = _core.Operation.parse(found.operations[found.actions[0][0].operation])
    assert operation.method == "sieve"
    assert str(operation.array.layout) == "F order at offset 0"
    assert found.files[0].end_bytes == 4 * 6 * 8
    tiled = apply(OPERATING, changes.Layout(layout="3x4"))
    assert tiled.files[0].end_bytes == 2 * 2 * 12 * 8
    assert tiled.changes == ("layout=3x4",)


@pytest.mark.parametrize(
    "name", ["/d/a (raw, '<f8', (4, 6), layout 0123456789abcdef)", "/d/a:u (hdf5, layout 0123456789abcdef)"]
)
def test_a_file_is_named_by_the_identity_of_an_array(name: str) -> None:
    found = apply(OPERATING, changes.Method(method="sieve", file=name))
    assert _core.Operation.parse(found.operations[found.actions[0][0].operation]).method == "sieve"
    with pytest.raises(swath.ArgumentError, match="uses no file"):
        apply(OPERATING, changes.Method(method="sieve", file=name.replace("/d/a", "/d/c")))


def test_reads_and_writes_are_marked_for_the_background() -> None:
    run = run_of([call("read", 0, 9), call("write", 9, 9)])
    found = apply(apply(run, changes.Prefetch(depth=2)), changes.WriteBehind(depth=3))
    assert [(one.ahead, one.behind) for one in found.actions[0]] == [(2, 0), (0, 3)]
    assert apply(run, changes.Streams(streams=2)).streams == 2

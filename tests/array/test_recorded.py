"""`swath.recorded`: the operations of a program on open arrays, on all ranks; small, readable again, and priced."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from mpi_runs import run_well
from swath.advice import from_recorded
from swath.array import recording
from swath.commands import cli
from swath.simulated import run_ranks

SHAPE = (96, 128)
ROWS = swath.Distribution((swath.Block(), swath.Whole()), (2, 1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", np.arange(float(SHAPE[0] * SHAPE[1])).reshape(SHAPE))
    return tmp_path / "a.npy"


def times(recorded: swath.Recorded) -> dict[tuple[str, Any], int]:
    """Return how often each form of operation was executed, by direction and counts."""
    (array,) = recorded.arrays
    return {(one.direction, tuple(count for _, count, _ in one.form)): one.times for one in array.operations}


def test_reads_and_writes_of_every_kind_are_counted(path: Path) -> None:
    with swath.open(path, mode="r+") as a:
        a[:, 3]  # before the block
        with swath.recorded(a) as done:
            for j in range(0, 40, 4):
                a[:, j]
            a.read(selection=np.s_[8:16])
            a[10:20, ::2] = 1.0
            a.read_async(selection=np.s_[5]).result()
            for _ in a.blocks((32, None), prefetch=2):
                pass
            with pytest.raises(swath.SelectionError):
                a[200]
        a[:, 3]  # behind it
        assert times(done) == {
            ("read", (96, 1)): 10,
            ("read", (8, 128)): 1,
            ("write", (10, 64)): 1,
            ("read", (1, 128)): 1,
            ("read", (32, 128)): 3,
        }
        (array,) = done.arrays
        columns = next(one for one in array.operations if one.times == 10)
        assert columns.places == {(0, j): 1 for j in range(0, 40, 4)}
        assert (array.name, array.shape, array.dtype) == ("a", SHAPE, "<f8")


def test_an_array_that_is_not_recorded_has_no_recorder_and_one_block_is_at_a_time(path: Path) -> None:
    with swath.open(path) as a:
        with swath.recorded(a):
            with pytest.raises(swath.ArgumentError, match="already"), swath.recorded(a):
                pass
            assert a._recorder is not None, "the block that goes on still records"
        assert a._recorder is None
        for wrong in ((), (a, a), (3,)):
            with pytest.raises(swath.ArgumentError), swath.recorded(*wrong):
                pass
        with pytest.raises(ZeroDivisionError), swath.recorded(a):
            raise ZeroDivisionError
        assert a._recorder is None


def test_places_are_few_however_many_there_were_and_no_operation_is_lost(tmp_path: Path) -> None:
    np.save(tmp_path / "long.npy", np.zeros((5000, 2)))
    with swath.open(tmp_path / "long.npy") as a, swath.recorded(a, path=tmp_path / "run.json") as done:
        for i in range(5000):
            a[i]
    ((operations,),) = (one.operations for one in done.arrays)
    assert operations.times == 5000
    assert recording.PLACES_KEPT // 2 <= len(operations.places) <= recording.PLACES_KEPT
    places = sorted(start[0] for start in operations.places)
    assert max(np.diff(places)) <= 5000 // len(places) * 3, "spread over all"
    (again,) = swath.Recorded.load(tmp_path / "run.json").arrays[0].operations
    assert (again.times, again.places.keys()) == (5000, operations.places.keys())
    assert (tmp_path / "run.json").stat().st_size < 20_000


def test_a_file_is_read_back_as_it_was_and_what_is_none_is_an_error(path: Path, tmp_path: Path) -> None:
    told = tmp_path / "run.json"
    with swath.open(path, mode="r+") as a, swath.recorded(a, path=told) as done:
        a[:, 7]
        a[2:9, ::-3]
        a.read(ROWS, rank=1)
        a.read(swath.Boxes([((0, 0), (3, 4)), ((5, 6), (7, 8))]))
        a.write(np.zeros(SHAPE), method="direct")
    again = swath.Recorded.load(told)
    assert again.arrays == done.arrays
    assert str(swath.advise_layout(again)) == str(swath.advise_layout(done))
    assert "5 operations" in repr(again)
    with pytest.raises(swath.NotFoundError):
        swath.Recorded.load(tmp_path / "none.json")
    plain = json.loads(told.read_text())
    for wrong in ({**plain, "version": 1}, {**plain, "arrays": 3}, {**plain, "arrays": [3]}, {"kind": "x"}, [], None):
        told.write_text(json.dumps(wrong))
        with pytest.raises(swath.FormatError, match=r"run\.json: expected operations"):
            swath.Recorded.load(told)
    saved = [one for one in plain["arrays"][0]["operations"] if "shares" not in one]
    (of_boxes,) = (one for one in plain["arrays"][0]["operations"] if "shares" in one)
    for wrong in (
        {**saved[0], "times": 0},
        {**saved[0], "access": "AAAA"},
        {**saved[0], "access": "not base64"},
        {**saved[0], "access": base64.b64encode(base64.b64decode(saved[0]["access"])[:-8]).decode()},
        {**saved[0], "shares": of_boxes["shares"]},
        {"times": 3, "access": of_boxes["access"]},
        "an operation",
    ):
        damaged = {**plain, "arrays": [{**plain["arrays"][0], "operations": [*saved, wrong]}]}
        told.write_text(json.dumps(damaged))
        with pytest.raises(swath.FormatError):
            swath.Recorded.load(told)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_what_ranks_do_together_counts_once_and_what_each_does_alone_on_all(path: Path, ranks: int) -> None:
    rules = (swath.Block(), swath.Whole())
    rows = swath.Distribution(rules, (ranks, 1))

    def work(comm: Any) -> swath.Recorded:
        boxes = swath.Boxes([((comm.rank, 0), (comm.rank + 1, 5))])
        with swath.open(path, comm=comm) as a, swath.recorded(a, path=path.parent / "run.json") as done:
            for _ in range(3):
                a.read(rows)
            for n in range(comm.rank + 1):
                a[:, n]
            a.read(boxes)
            a.read(boxes)
        return done

    for done in run_ranks(ranks, work):
        operations = done.arrays[0].operations
        (together,) = (one for one in operations if one.distribution is not None)
        assert (together.times, together.distribution) == (3, rows)
        (alone,) = (one for one in operations if one.distribution is None and not one.boxes)
        assert alone.times == ranks * (ranks + 1) // 2
        assert alone.places == {(0, n): ranks - n for n in range(ranks)}
        (of_boxes,) = (one for one in operations if one.boxes)
        assert of_boxes.times == 2
        assert of_boxes.boxes == tuple((((rank, 0), (rank + 1, 5)),) for rank in range(ranks))
    found = swath.Recorded.load(path.parent / "run.json")
    advice = swath.advise_layout(found)
    assert sum(times for _, times in advice.accesses) == 3 + ranks * (ranks + 1) // 2 + 2


def test_an_error_of_one_rank_reaches_the_others_at_the_end_of_the_block(path: Path) -> None:
    seen: dict[int, BaseException] = {}

    def work(comm: Any) -> None:
        with swath.open(path, comm=comm) as a:
            try:
                with swath.recorded(a):
                    a.read(ROWS)
                    if comm.rank == 1:
                        raise ValueError("rank 1's own")
            except Exception as error:  # noqa: BLE001 - which one is looked at below
                seen[comm.rank] = error
            a.read(ROWS)

    run_ranks(2, work)
    assert isinstance(seen[1], ValueError)
    assert "rank 1's own" in str(seen[0])


def test_a_file_that_cannot_be_written_is_an_error_of_all_ranks(path: Path) -> None:
    def work(comm: Any) -> None:
        with (
            swath.open(path, comm=comm) as a,
            pytest.raises(swath.StoreError, match="nowhere"),
            swath.recorded(a, path=path / "nowhere" / "run.json"),
        ):
            a.read(ROWS)

    run_ranks(2, work)


def test_recorded_accesses_are_priced_where_they_were_as_often_as_they_were(path: Path) -> None:
    with swath.open(path) as a, swath.recorded(a) as done:
        for j in range(100):
            a[:, j]
        a[3, :]
    stated = swath.advise_layout(["[:, j]:100", "[3, :]"], SHAPE, "f8", chunk_bytes=(256, "1MiB"))
    advice = swath.advise_layout(done, chunk_bytes=(256, "1MiB"))
    assert isinstance(advice, swath.LayoutAdvice)
    assert advice.accesses == (("[0:96, j]", 100.0), ("[3, 0:128]", 1.0))
    assert advice.best.name == stated.best.name
    assert advice.best.total == pytest.approx(stated.best.total, rel=0.1)
    (asked, _) = from_recorded.accesses_of(done.arrays[0])
    assert sum(asked.parts) == pytest.approx(1)
    with pytest.raises(swath.ArgumentError, match="leave them out"):
        swath.advise_layout(done, SHAPE, "f8")
    with pytest.raises(swath.ArgumentError, match="nothing was recorded"):
        swath.advise_layout(swath.Recorded())


def test_places_count_as_often_as_they_were_read(tmp_path: Path) -> None:
    """Columns 0 to 7 are in one chunk of 8, column 8 in the next: the frequencies decide."""
    np.save(tmp_path / "a.npy", np.zeros((4096, 64)))
    with swath.open(tmp_path / "a.npy") as a, swath.recorded(a) as done:
        for _ in range(99):
            a[:, 4:8]
        a[:, 6:10]
    (asked,) = from_recorded.accesses_of(done.arrays[0])
    assert asked.times == 100
    assert dict(zip((one[1][0] for one in asked.selections), asked.parts, strict=True)) == {4: 0.99, 6: 0.01}


def test_several_arrays_are_advised_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "a.npy", np.zeros((256, 256)))
    np.save(tmp_path / "b.npy", np.zeros((256, 128), "f4"))
    told = tmp_path / "run.json"
    with swath.open(tmp_path / "a.npy") as a, swath.open(tmp_path / "b.npy") as b, swath.recorded(a, b, path=told):
        for j in range(20):
            a[:, j]
            b[j]
    advice = swath.advise_layout(swath.Recorded.load(told), formats="npy")
    assert isinstance(advice, swath.JointAdvice)
    assert (advice["a"].best.name, advice["b"].best.name) == ("F order", "C order")
    assert cli.main(["layout", "--recorded", str(told), "--formats", "npy"]) == 0
    assert capsys.readouterr().out == str(advice)


def test_the_command_says_whether_a_copy_pays_for_what_was_recorded(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told, target = path.parent / "run.json", path.parent / "b.h5"
    with swath.open(path) as a, swath.recorded(a, path=told):
        for j in range(100):
            a[:, j]
    how = ["layout", "--recorded", str(told), "--file", str(path), "--formats", "hdf5", "--chunk-bytes", "1KiB,1MiB"]
    assert cli.main([*how, "--apply", str(target)]) == 0
    assert "use once" in capsys.readouterr().out
    with swath.open(target) as b:
        np.testing.assert_array_equal(b[...], np.load(path))
    for given, says in (
        (["--recorded", str(told), "--access", "[:, j]"], "--recorded"),
        (["--recorded", str(told), "8,8", "f8"], "leave them out"),
        (["8,8", "f8"], "--access"),
    ):
        assert cli.main(["layout", *given]) == 2
        assert says in capsys.readouterr().err


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_ranks_of_mpi_record_together(path: Path, ranks: int) -> None:
    told = path.parent / "run.json"
    run_well(ranks, "recorded.py", path, told)
    (array,) = swath.Recorded.load(told).arrays
    assert sorted(one.times for one in array.operations) == [1, ranks]

"""Changes that move bytes otherwise: by other ranks, in windows, from memory. Each byte arrives as before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import swath
from mpi_runs import needs_mpi
from replay_cases import Call, call, gaps, run_of, said, write_log
from swath.replay import changes
from swath.replay.actions import Action, Pieces, Run
from swath.replay.applying import apply
from swath.replay.arrays import Operations
from swath.replay.byte_ranges import ByteRanges
from swath.replay.loading import load
from swath.replay.replaying import run

FILE_BYTES = 4096


def moved(actions: Sequence[Action], direction: str, file: int = 0) -> npt.NDArray[np.int64]:
    """How often each byte of a file is moved."""
    found = np.zeros(FILE_BYTES, np.int64)
    for one in actions:
        if one.file != file or one.moves != direction:
            continue
        pieces = one.pieces or Pieces(np.array([one.offset]), np.array([one.length]))
        for offset, length in zip(pieces.offsets.tolist(), pieces.lengths.tolist(), strict=True):
            found[offset : offset + length] += 1
    return found


def random_reads(seed: int, count: int = 60) -> list[Action]:
    random = np.random.default_rng(seed)
    return [
        call("read", int(at), int(length), gap=0.125)
        for at, length in zip(random.integers(0, 3000, count), random.integers(1, 90, count), strict=True)
    ]


# ---- all ranks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 3, 7])
@pytest.mark.parametrize("name", ["read", "write"])
def test_each_rank_moves_an_equal_part_of_what_one_rank_moved_for_all(ranks: int, name: str) -> None:
    pieces = [(100 * n, 61) for n in (4, 0, 2, 3, 1, 11)]
    before = run_of([call("open"), *(call(name, at, length, gap=0.5) for at, length in pieces), call("close")])
    found = apply(before, changes.AllRanks(ranks=ranks))
    assert len(found.actions) == ranks
    collective = [one for of in found.actions for one in of if one.name == "collective"]
    assert len(collective) == ranks
    assert [one.direction for one in collective] == [name] * ranks
    assert [one.length for one in collective] == [366 * (r + 1) // ranks - 366 * r // ranks for r in range(ranks)]
    every = [one for of in found.actions for one in of]
    assert np.array_equal(moved(every, name), moved(before.actions[0], name))
    ends = [one.pieces.offsets[-1] + one.pieces.lengths[-1] for one in collective if one.pieces is not None]
    begins = [one.pieces.offsets[0] for one in collective if one.pieces is not None]
    assert all(end <= begin for end, begin in zip(ends, begins[1:], strict=False))
    assert [gaps(of) for of in found.actions] == [3.0] + [0.0] * (ranks - 1)
    assert [one.name for one in found.actions[0]] == ["open", "collective", "close"]


def test_phases_keep_their_barriers_and_files_of_several_ranks_stay() -> None:
    first = [call("write", 0, 8), call("write", 10, 8), Action("barrier", phase=1), call("write", 20, 8, phase=1)]
    second = [call("read", 0, 9, file=1), Action("barrier", phase=1), call("stat", phase=1)]
    third = [call("read", 9, 9, file=1), Action("barrier", phase=1)]
    found = apply(run_of(first, second, third), changes.AllRanks())
    assert [[one.name for one in of] for of in found.actions] == [
        ["collective", "barrier", "collective"],
        ["read", "collective", "barrier", "stat", "collective"],
        ["read", "collective", "barrier", "collective"],
    ]
    added = apply(run_of(first, second), changes.AllRanks(ranks=3, file="a"))
    assert [one.name for one in added.actions[2]] == ["collective", "barrier", "collective"]


def test_a_rank_is_not_added_to_collective_accesses_of_fewer() -> None:
    shared = run_of([call("write", 0, 8), call("write", 50, 8, file=1)], [call("write", 8, 8)])
    collective = apply(shared, changes.Collective())
    with pytest.raises(swath.ArgumentError, match="collective accesses of 2 ranks"):
        apply(collective, changes.AllRanks(ranks=3))
    assert len(apply(collective, changes.AllRanks()).actions[1]) == 2


# ---- sieving ---------------------------------------------------------------------------------------------------------


def test_small_regions_become_one_access_of_all_of_them() -> None:
    before = run_of([call("read", 100 * n, 10, gap=0.5) for n in (2, 0, 1)] + [call("seek", 7), call("read", 310, 5)])
    (access,) = apply(before, changes.Sieve()).actions[0][:1]
    assert (access.name, access.layer, access.method, access.direction) == ("pieces", "swath", "sieve", "read")
    assert access.pieces is not None
    assert access.pieces.offsets.tolist() == [0, 100, 200, 310]
    assert access.pieces.lengths.tolist() == [10, 10, 10, 5]
    assert (access.length, access.gap, access.seconds) == (35, 0.5, 4.0)
    assert [(one.name, one.gap) for one in apply(before, changes.Sieve()).actions[0][1:]] == [("wait", 1.0)]


@pytest.mark.parametrize("seed", range(5))
def test_sieving_reads_the_same_bytes(seed: int) -> None:
    before = run_of(random_reads(seed))
    found = apply(before, changes.Sieve())
    assert np.array_equal(moved(found.actions[0], "read") > 0, moved(before.actions[0], "read") > 0)
    assert gaps(found.actions[0]) == gaps(before.actions[0])


def test_bytes_that_are_read_again_are_in_another_access() -> None:
    reads = [call("read", at, 10) for at in (0, 100)]
    found = apply(run_of([*reads, *reads, *reads]), changes.Sieve())
    assert [one.name for one in found.actions[0]] == ["pieces"] * 3


@pytest.mark.parametrize("between", [call("write", 500, 10), call("truncate"), call("close"), call("sync")])
def test_a_call_on_the_file_separates_its_reads(between: Action) -> None:
    reads = [call("read", at, 10) for at in (0, 100)]
    found = apply(run_of([*reads, between, *reads]), changes.Sieve())
    assert [one.name for one in found.actions[0]] == ["pieces", between.name, "pieces"]
    other = apply(run_of([reads[0], replace(between, file=1), reads[1]]), changes.Sieve())
    assert [one.name for one in other.actions[0]] == ["pieces", between.name]


def test_reads_behind_a_barrier_stay_there_if_the_run_writes_the_file() -> None:
    reads = [call("read", 0, 10), Action("barrier"), call("read", 100, 10)]
    found = apply(run_of(reads, [Action("barrier")]), changes.Sieve())
    assert [one.name for one in found.actions[0]] == ["pieces", "barrier"]
    with pytest.raises(swath.ArgumentError, match="several separate regions"):
        apply(run_of(reads, [call("write", 100, 10), Action("barrier")]), changes.Sieve())


@pytest.mark.parametrize("size", [FILE_BYTES, 3100])
def test_the_picked_elements_are_those_of_the_file(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a"
    values = np.random.default_rng(3).integers(0, 256, size, dtype="u1")
    path.write_bytes(values.tobytes())
    before = run_of(random_reads(1))
    found = apply(before, changes.Sieve())
    operations = Operations(found, [str(path), ""], None, None)
    for one in found.actions[0]:
        if one.name != "pieces":
            continue
        assert one.pieces is not None
        picked = np.zeros(one.length, "u1")
        assert operations.carry_out_pieces(one, picked) >= one.length  # windows have what lies between
        pieces = zip(one.pieces.offsets, one.pieces.offsets + one.pieces.lengths, strict=True)
        assert np.array_equal(picked, np.concatenate([values[begin:end] for begin, end in pieces]))
    operations.close()


# ---- caching ---------------------------------------------------------------------------------------------------------


def copied(actions: Sequence[Action]) -> int:
    return sum(one.length for one in actions if one.name == "copy")


def test_what_fits_in_memory_is_read_once() -> None:
    reads = [call("read", 100 * n, 100, gap=0.5) for n in range(5)]
    before = run_of([*reads, *reads, *reads])
    found = apply(before, changes.Cache(bytes=500))
    assert said([one for one in found.actions[0] if one.is_call]) == said(reads)
    assert copied(found.actions[0]) == 1000
    assert gaps(found.actions[0]) == gaps(before.actions[0]) == 7.5
    part = apply(before, changes.Cache(bytes=250)).actions[0]
    assert said([one for one in part if one.name == "read"])[5:8] == [
        ("read", 250, 50),
        ("read", 300, 100),
        ("read", 400, 100),
    ]
    assert copied(part) == 500


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("memory", [500, 1500, FILE_BYTES])
def test_no_byte_is_missing_and_none_that_fits_is_read_again(seed: int, memory: int) -> None:
    before = run_of(random_reads(seed))
    found = apply(before, changes.Cache(bytes=memory))
    often, rarely = moved(before.actions[0], "read"), moved(found.actions[0], "read")
    assert np.array_equal(often > 0, rarely > 0)
    assert copied(found.actions[0]) == often.sum() - rarely.sum()
    kept = (often > 1) & (rarely == 1)
    assert kept.sum() <= memory
    if memory == FILE_BYTES:
        assert rarely.max() == 1


def test_a_rank_s_own_writes_leave_what_it_keeps_and_those_of_others_do_not() -> None:
    read = call("read", 0, 100)
    own = apply(run_of([read, call("write", 50, 10), read]), changes.Cache(bytes=100))
    assert [one.name for one in own.actions[0]] == ["read", "write", "copy"]
    for phase in (0, 1):
        barrier = Action("barrier", phase=1)
        mine = [read, barrier, replace(read, phase=1), replace(read, phase=1)]
        other = [barrier, call("write", 50, 10, phase=1)] if phase else [call("write", 50, 10), barrier]
        with_other = run_of(mine, other)
        if phase:
            with pytest.raises(swath.ArgumentError, match="reads bytes of a file again"):
                apply(with_other, changes.Cache(bytes=100))
        else:
            found = apply(with_other, changes.Cache(bytes=100))
            assert [one.name for one in found.actions[0]] == ["read", "barrier", "read", "copy"]


@pytest.mark.parametrize("between", ["truncate", "unlink"])
def test_a_file_that_is_emptied_is_read_again(between: str) -> None:
    run_before = run_of([call("read", 0, 9), call(between), call("read", 0, 9)])
    with pytest.raises(swath.ArgumentError, match="reads bytes of a file again"):
        apply(run_before, changes.Cache(bytes=100))


def test_seeks_to_what_is_in_memory_are_left_out() -> None:
    calls = [call("read", 0, 9), call("seek", 0), call("read", 0, 9), call("seek", 9), call("read", 9, 9)]
    found = apply(run_of(calls), changes.Cache(bytes=100))
    assert [one.name for one in found.actions[0]] == ["read", "copy", "seek", "read"]


def test_ranges_are_a_set_of_bytes() -> None:
    random, ranges, known = np.random.default_rng(7), ByteRanges(), np.zeros(400, bool)
    for _ in range(400):
        begin, end = sorted(random.integers(0, 400, 2).tolist())
        missing = np.zeros(400, bool)
        for first, last in ranges.missing(begin, end):
            missing[first:last] = True
        wanted = np.zeros(400, bool)
        wanted[begin:end] = ~known[begin:end]
        assert np.array_equal(missing, wanted)
        if end - begin < 20:
            ranges.add(begin, end)
            known[begin:end] = True
        assert ranges.bytes == known.sum()
        assert sum(last - first for first, last in ranges.items()) == known.sum()
    assert len(ranges) == np.count_nonzero(np.diff(np.concatenate([[0], known.view("i1")])) == 1)


# ---- carried out -----------------------------------------------------------------------------------------------------


def small_reads_in_passes(folder: Path) -> Run:
    """A rank that reads small regions of a file twice, and writes another file in pieces."""
    reads = [Call("pread", "/d/a", 0.01 * n, 300, 1000 * (n % 8)) for n in range(16)]
    writes = [Call("pwrite", "/d/b", 0.3 + 0.001 * n, 500, 500 * n) for n in range(8)]
    return load(write_log(folder, [reads + writes]))


@pytest.mark.parametrize("store", ["disk:p690-scsi", ""])
@pytest.mark.parametrize(
    ("change", "calls", "least", "most"),
    [
        (changes.Sieve(file="a"), 2 + 8, 16 * 300 + 4000, 2 * 7300 + 4000),
        (changes.Cache(bytes=1200, file="a"), 12 + 8, 12 * 300 + 4000, 12 * 300 + 4000),
        (changes.AllRanks(ranks=2, file="b"), 16 + 2, 16 * 300 + 4000, 16 * 300 + 4000),
    ],
    ids=lambda one: one.name if isinstance(one, changes.Change) else "",
)
def test_a_replay_makes_the_changed_accesses(
    tmp_path: Path, store: str, change: changes.Change, calls: int, least: int, most: int
) -> None:
    if isinstance(change, changes.AllRanks) and not store:
        needs_mpi()
    traced = small_reads_in_passes(tmp_path)
    before = run(traced, store or str(tmp_path), gaps=False)
    found = run(traced, store or str(tmp_path), [change], gaps=False)
    assert found.calls == calls
    assert least <= found.bytes <= most
    if store and not isinstance(change, changes.AllRanks):
        assert found.seconds < before.seconds
    assert [one.traced_seconds > 0 for one in found.ranks] == [True] + [False] * (len(found.ranks) - 1)

"""A replay makes the calls of the run again, in their order, on scratch files; whatever happens, nothing is left."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

import swath
from mpi_runs import needs_mpi, run_ranks
from replay_cases import SWATH, WAIT_SECONDS_MAX, Call, call_of, left_over, rank_traces, write_log
from swath.calibration.modelled import profile_of_disk
from swath.commands import cli
from swath.replay import changes, scratch
from swath.replay.arrays import Operations
from swath.replay.carrying import Rank, RealClock
from swath.replay.loading import load
from swath.replay.replaying import expected, run
from swath.store import profile
from swath.trace.reading import is_operation, read_trace
from tree import PROGRAMS

RANKS = [1, 2, 3, 4]
REPLAYED = {"open", "close", "read", "write", "seek", "sync", "truncate", "flush", "copy"}


def run_swath(folder: Path, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SWATH, *map(str, words)],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS_MAX,
        check=False,
    )


def log_of_ranks(folder: Path, ranks: int) -> str:
    """Ranks that write a file in turn, and read what the next one has written, in a second phase."""
    size = 5000
    calls = []
    for rank in range(ranks):
        own = [Call("open", "/d/shared", 0.0)]
        own += [Call("pwrite", "/d/shared", 0.01 * (n + 1), size, size * (ranks * n + rank)) for n in range(4)]
        own += [Call("fsync", "/d/shared", 0.06)]
        other = (rank + 1) % ranks
        own += [Call("pread", "/d/shared", 0.2 + 0.01 * n, size, size * (ranks * n + other)) for n in range(4)]
        calls.append([*own, Call("pread", "/d/old", 0.3, 100, 7), Call("close", "/d/shared", 0.4)])
    return write_log(folder, calls)


@pytest.mark.parametrize("ranks", RANKS)
def test_each_rank_makes_its_calls_in_their_order(tmp_path: Path, ranks: int) -> None:
    log = log_of_ranks(tmp_path, ranks)
    store = tmp_path / "store"
    store.mkdir()
    ended = run_swath(tmp_path, "trace", "--into", "again", *SWATH, "replay", log, "--store", store, "--json")
    assert ended.returncode == 0, ended.stderr
    traces = rank_traces(tmp_path / "again")
    assert len(traces) == ranks
    wanted = load(log)
    for rank, trace in enumerate(traces):
        names = [Path(one.name).name for one in wanted.files]
        expected_calls = [
            (one.name, names[one.file], None if one.offset < 0 else one.offset, one.length)
            for one in wanted.actions[rank]
            if one.is_call
        ]
        found = [call_of(event) for event in trace.events]
        opened, closed = (("open", "old", None, 0), ("close", "old", None, 0))  # neither is in the log
        assert found == [opened, *expected_calls, closed]
        ends = max(event.began + event.seconds for event in trace.events if event.name == "write")
        first = min(event.began for of in traces for event in of.events if event.name == "read")
        assert ends <= first  # the second phase begins when all ranks have ended the first one
    said = json.loads(ended.stdout)
    assert said["calls"] == said["traced_calls"] == sum(1 for _ in wanted.every_action())
    assert said["bytes"] == said["traced_bytes"] == ranks * (8 * 5000 + 100)
    assert left_over(store) == []


def test_a_program_s_own_calls_are_made_again(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    program = tmp_path / "file_calls"
    subprocess.run([compiler, "-O1", "-U_GNU_SOURCE", "-pthread", "-o", program, PROGRAMS / "file_calls.c"], check=True)
    work = tmp_path / "work"
    work.mkdir()
    assert run_swath(work, "trace", "--into", tmp_path / "trace", program, "calls", 200).returncode == 0
    ended = run_swath(
        tmp_path, "trace", "--into", "again", *SWATH, "replay", tmp_path / "trace", "--store", work, "--json"
    )
    assert ended.returncode == 0, ended.stderr
    (original,) = read_trace(str(tmp_path / "trace"))
    (again,) = rank_traces(tmp_path / "again")
    wanted = [
        ("write" if event.name == "copy" else event.name, *call_of(event)[1:])
        for event in original.events
        if event.name in REPLAYED and "error" not in event.arguments
    ]
    found = [call_of(event) for event in again.events if event.name in REPLAYED]
    second = wanted.index(("close", "d", None, 0)) + 1
    assert wanted.pop(second) == ("close", "d", None, 0)  # of a copy of the descriptor, by dup
    assert found == wanted
    assert left_over(work) == []


@pytest.mark.parametrize("ranks", RANKS)
def test_operations_of_swath_are_carried_out_exactly(tmp_path: Path, ranks: int) -> None:
    environment = {"SWATH_TRACE": str(tmp_path / "trace")}
    assert run_ranks(ranks, "traced_ranks.py", tmp_path, "well", environment=environment).returncode == 0
    ended = run_swath(
        tmp_path, "replay", tmp_path / "trace", "--store", tmp_path, "--json", SWATH_TRACE=str(tmp_path / "again")
    )
    assert ended.returncode == 0, ended.stderr
    original, again = read_trace(str(tmp_path / "trace")), read_trace(str(tmp_path / "again"))
    again = [one for one in again if any(is_operation(event) for event in one.events)]
    assert len(original) == len(again) == ranks
    for one, other in zip(original, again, strict=True):
        keys = [
            [
                (event.name, event.arguments["operation"], event.arguments.get("read_bytes"))
                for event in trace.events
                if is_operation(event)
            ]
            for trace in (one, other)
        ]
        assert keys[0] == keys[1]
    assert left_over(tmp_path) == []


def test_gaps_are_kept_or_left_out(tmp_path: Path) -> None:
    log = write_log(tmp_path, [[Call("pwrite", "/d/a", began, 100, 0) for began in (0.0, 0.3, 0.6)]])
    traced = load(log)
    result = run(traced, str(tmp_path))
    assert result.elapsed_seconds >= traced.gap_seconds > 0.59
    without = run(traced, "disk:p690-scsi", gaps=False)
    assert without.elapsed_seconds == pytest.approx(without.seconds)
    assert run(traced, "disk:p690-scsi").elapsed_seconds == pytest.approx(
        without.seconds + traced.gap_seconds, rel=0.01
    )


def test_a_rank_that_is_late_does_not_wait(tmp_path: Path) -> None:
    class LateClock(RealClock):
        now = staticmethod(partial(next, itertools.count(0.0, 0.6)))  # 0.6 s pass between two looks

        @staticmethod
        def sleep(seconds: float) -> None:
            assert seconds >= 0

    traced = load(write_log(tmp_path, [[Call("pwrite", "/d/a", began, 100, 0) for began in (0.0, 1.0, 2.0)]]))
    operations = Operations(traced, [str(tmp_path / "a")], None, None)
    timed = Rank(traced, 0, [str(tmp_path / "a")], operations, lambda: None, LateClock).carry_out()
    assert timed.moved == [100, 100, 100]


def test_only_scratch_files_are_written(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    log = log_of_ranks(tmp_path, 2)
    store = tmp_path / "store"
    store.mkdir()
    said = tmp_path / "calls"
    changing = "open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,truncate,link,symlink"
    ended = subprocess.run(
        [strace, "-ff", "-qq", "-y", "-o", said, "-e", f"trace={changing}", *SWATH, "replay", log, "--store", store],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS_MAX,
        check=False,
    )
    if "ptrace" in ended.stderr:
        pytest.skip(f"strace may not trace here: {ended.stderr.splitlines()[0]}")
    assert ended.returncode == 0, ended.stderr
    changed = [
        line
        for of_process in tmp_path.glob("calls.*")
        for line in of_process.read_text().splitlines()
        if re.match(r"\w+\(", line)
        and not re.search(r"= -1 E", line)
        and (not re.search(r"\bopen(at)?\(", line) or re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC)", line))
    ]
    touched = [line for line in changed if str(store / scratch.PREFIX) not in line]
    assert len(changed) - len(touched) > 4
    assert [line for line in touched if not re.search(r'"/dev/(null|tty|shm/[^"]*)"|<[^>]*swath-replay', line)] == []


def test_a_replay_without_room_does_not_begin(tmp_path: Path) -> None:
    log = write_log(tmp_path, [[Call("pwrite", "/d/a", 0.0, 10, 1 << 55)]])
    with pytest.raises(swath.StoreError, match=r"the scratch files need 32\.0 PiB, and .* are free"):
        run(load(log), str(tmp_path))
    assert left_over(tmp_path) == []


def test_what_a_replay_needs_is_said_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write_log(tmp_path, [[Call("pread", "/d/a", 0.0, 1000, 5000), Call("pwrite", "/d/b", 10.0, 2000, 0)]])
    needs = expected(load(log), str(tmp_path))
    assert needs.room_bytes == 8000
    assert needs.gap_seconds == pytest.approx(10 - 1e-3, abs=1e-6)
    assert cli.main(["replay", log, "--store", str(tmp_path), "--dry-run"]) == 0
    assert "7.8 KiB of room" in " ".join(capsys.readouterr().out.split())
    assert sorted(os.listdir(tmp_path)) == ["log"]


@pytest.mark.parametrize("change", ["collective", "merge=10000", "streams=1", "prefetch=2", "write-behind=2"])
def test_a_changed_run_moves_the_same_bytes(tmp_path: Path, change: str) -> None:
    calls = [
        [Call("pwrite", "/d/a", 0.01 * n, 1000, 1000 * (4 * rank + n)) for n in range(4)]
        + [Call("pread", "/d/b", 0.3 + 0.01 * n, 1000, 1000 * (4 * rank + n)) for n in range(4)]
        for rank in range(2)
    ]
    if change == "collective":
        needs_mpi()
    traced = load(write_log(tmp_path, calls))
    result = run(traced, str(tmp_path), [changes.parsed(change)], gaps=False)
    assert result.changes == (change,)
    assert result.bytes >= result.traced_bytes == 16000
    assert result.is_reproduced is None
    assert left_over(tmp_path) == []


def test_a_modelled_disk_gives_the_same_times_again(tmp_path: Path) -> None:
    calls = [[Call("pread", "/d/a", 0.1 * n, 512, 4096 * (2 * n + rank)) for n in range(16)] for rank in range(2)]
    traced = load(write_log(tmp_path, calls))
    first, second = (run(traced, "disk:p690-scsi") for _ in range(2))
    assert first.seconds == second.seconds > 0
    collective = run(traced, "disk:p690-scsi", [changes.Collective(), changes.Method(method="two-phase")])
    assert collective.seconds != first.seconds
    with pytest.raises(swath.UnsupportedError, match="real time"):
        run(traced, "disk:p690-scsi", [changes.Prefetch()])
    with pytest.raises(swath.ArgumentError, match="no such modelled disk: expected one of"):
        run(traced, "disk:none")


def test_operations_on_a_modelled_disk_are_planned_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    calls = [[Call("pread", "/d/a", 1e-3 * n, 64, 512 * (2 * n + rank)) for n in range(64)] for rank in range(2)]
    traced = load(write_log(tmp_path, calls))
    collective = [changes.Collective()]
    of_method = {
        method: run(traced, "disk:p690-scsi", [*collective, changes.Method(method=method)]).seconds
        for method in ("direct", "list", "two-phase", "sieve")
    }
    sources: set[str] = set()
    close = Operations.close

    def noting(operations: Operations) -> None:
        sources.update(array._core.profile.source for array in operations._files.values())
        close(operations)

    monkeypatch.setattr(Operations, "close", noting)
    chosen = run(traced, "disk:p690-scsi", collective)
    assert [source.split(",")[0] for source in sources] == ["measured on the modelled disk p690-scsi"]
    assert chosen.seconds <= 1.01 * min(of_method.values()), of_method
    disk = profile_of_disk("model:p690-scsi")
    assert "modelled disk p690-scsi" in disk.core.source
    assert profile.for_path(tmp_path, "model:p690-scsi") is None  # it is used in replays, and not kept
    with profile.used(disk):
        assert profile.for_path(tmp_path, "model:p690-scsi@scratch") == disk
        assert profile.for_path(tmp_path, "model:ssd") is None


def test_a_log_of_dxt_is_replayed(tmp_path: Path) -> None:
    darshan = pytest.importorskip("darshan")
    log = next(Path(darshan.__file__).parent.glob("**/ior_hdf5_example.darshan"))
    traced = load(str(log))
    result = run(traced, str(tmp_path), gaps=False)
    assert len(result.ranks) == 4
    assert result.bytes == result.traced_bytes == 8398304
    assert left_over(tmp_path) == []


def test_an_unknown_change_or_store_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write_log(tmp_path, [[Call("pwrite", "/d/a", 0.0, 10, 0)]])
    assert cli.main(["replay", log, "--with", "faster"]) == 2
    assert "there is no change 'faster'" in capsys.readouterr().err
    assert cli.main(["replay", log, "--store", str(tmp_path / "none")]) == 2
    assert "there is no such folder" in capsys.readouterr().err

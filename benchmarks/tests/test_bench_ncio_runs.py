"""Runs of the NCIO benchmark, by threads and by the command; wrong bytes end it."""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from mpi_runs import needs_mpi
from ncio_cases import CASES, cell, tiny
from swath.errors import ArgumentError
from swath.ranks.ranks import Ranks, ranks_of
from swath.simulated import run_ranks
from swath_bench import ncio
from swath_bench.measure import FileUnderTest, WrongDataError
from swath_bench.ncio import contenders, launch, options, running, tables
from swath_bench.ncio.options import Options, cells_of
from swath_bench.ncio.pattern import GAP_STAMP, UNTOUCHED, Pattern
from swath_bench.ncio.summary import summarise


def measured_by_threads(tmp_path: Path, ranks: int, asked: Options) -> list[dict[str, Any]]:
    path = str(tmp_path / "ncio.bin")
    run_ranks(ranks, lambda comm: ncio.run(Ranks(comm), path, asked))
    with open(running.cells_path(path), encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def where_each_phase_takes(seconds: float, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Any]]:
    """Carry out the operations, but report these times for their phases, so a busy machine changes nothing.
    Returns the expected measurement: the number of operations at a time, and the true times."""
    measured = []
    timed_phases = running.timed_phases

    def timed(*arguments: Any, **options: Any) -> Any:
        times, device = timed_phases(*arguments, **options)
        measured.append((options["repeats"], times))
        phases = len(arguments) - 1
        of_one = tuple(seconds * mark for mark in range(phases + 1))
        begins = [number * seconds * phases for number in range(len(times))]
        told = [[tuple(begin + mark for mark in of_one)] * len(times[0]) for begin in begins]
        return told, device

    monkeypatch.setattr(running, "timed_phases", timed)
    return measured


def test_every_cell_is_measured_by_every_method_and_its_file_is_gone(tmp_path: Path) -> None:
    cells = measured_by_threads(tmp_path, 2, tiny(sweeps=("count",)))
    assert os.listdir(tmp_path) == ["ncio.bin.cells"]
    assert [(c["case"], c["direction"], c["cache"]) for c in cells] == [
        (case, direction, cache) for case in CASES for direction in ("write", "read") for cache in ("warm", "cold")
    ]
    for found in cells:
        assert found["bytes"] == 2 * 5 * 8
        assert found["memory_noncontiguous"] is found["case"].startswith("nc-")
        assert found["file_noncontiguous"] is found["case"].endswith("-nc")
        assert list(found["contenders"]) == [f"swath {method}" for method in options.METHODS]
        for name, contender in found["contenders"].items():
            assert len(contender["repetitions"]) == 3
            assert (contender["chosen"] is not None) is (name == "swath auto")
            for r in contender["repetitions"]:
                assert r["seconds"] == pytest.approx(r["operation_seconds"] + r["sync_seconds"])
                assert (r["sync_seconds"] > 0) is (found["direction"] == "write")
                assert r["inner"] == 1 or (found["direction"], found["cache"]) == ("read", "warm")


@pytest.mark.parametrize(
    ("sync", "cache", "repeated"), [(True, "warm", False), (False, "warm", True), (False, "cold", False)]
)
def test_short_operations_are_repeated_only_where_all_of_them_meet_the_same(
    tmp_path: Path, sync: bool, cache: str, repeated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    where_each_phase_takes(running.INNER_SECONDS / 10, monkeypatch)
    asked = tiny(
        sweeps=("count",), cases=("c-c",), directions=("write",), caches=(cache,), methods=("direct",), sync=sync
    )
    (found,) = measured_by_threads(tmp_path, 1, asked)
    repetitions = found["contenders"]["swath direct"]["repetitions"]
    assert [r["inner"] for r in repetitions] == [10 if repeated else 1] * 3
    assert all((r["sync_seconds"] == 0) is not sync for r in repetitions)


def test_operations_that_last_long_enough_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tiny(sweeps=("count",), cases=("c-c",), directions=("read",), caches=("warm",), methods=("direct",))
    for seconds in running.INNER_SECONDS, 2 * running.SETTLING_SECONDS:
        with monkeypatch.context() as patched:
            where_each_phase_takes(seconds, patched)
            (found,) = measured_by_threads(tmp_path, 1, asked)
        assert [r["inner"] for r in found["contenders"]["swath direct"]["repetitions"]] == [1] * 3


@pytest.mark.parametrize("together", [True, False])
def test_ranks_begin_each_of_the_repeated_operations_together_unless_asked_otherwise(
    tmp_path: Path, together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = where_each_phase_takes(running.INNER_SECONDS / 10, monkeypatch)
    asked = tiny(
        sweeps=("count",),
        cases=("c-c",),
        directions=("read",),
        caches=("warm",),
        methods=("direct",),
        together=together,
    )
    (found,) = measured_by_threads(tmp_path, 2, asked)
    assert found["contenders"]["swath direct"]["repetitions"][-1]["inner"] == measured[-1][0] > 1
    for repeats, times in measured:
        assert len(times) == repeats
        for before, after in itertools.pairwise(times):
            assert all(start <= end for start, end in after)
            if together:
                assert min(start for start, _ in after) >= max(end for _, end in before)


def test_a_contender_that_takes_too_long_is_not_repeated_and_skipped_where_more_is_asked(tmp_path: Path) -> None:
    asked = tiny(sweeps=("count",), counts=(5, 6), cases=("c-c",), directions=("read",), limit_seconds=1e-9)
    cells = measured_by_threads(tmp_path, 2, asked)
    for found in cells:
        for contender in found["contenders"].values():
            if found["region_count"] == 5:
                assert (len(contender["repetitions"]), contender["skipped"]) == (1, None)
                assert contender["mean_seconds"] > 0
            else:
                assert contender["repetitions"] == []
                assert "s at region count 5" in contender["skipped"]
    printed = io.StringIO()
    result = {"options": dataclasses.asdict(asked), "cells": cells}
    tables.show(Console(file=printed, width=110), {**result, "summary": summarise(result)})
    assert "too slow" in printed.getvalue()


class Lying:
    """Moves the right bytes, then changes one element of the file, or of memory."""

    name, family, peer = "swath lying", "swath", False

    def __init__(self, honest: contenders.SwathContender, path: str, spoil: Callable[[str, np.ndarray], None]) -> None:
        self._honest, self._path, self._spoil = honest, path, spoil

    def operation(self, pattern: Pattern, direction: str, memory: np.ndarray) -> Callable[[], object]:
        move = self._honest.operation(pattern, direction, memory)

        def lie() -> None:
            move()
            self._spoil(self._path, memory)

        return lie

    def __getattr__(self, name: str) -> Any:
        return getattr(self._honest, name)


def in_file(element: int) -> Callable[[str, np.ndarray], None]:
    def spoil(path: str, memory: np.ndarray) -> None:
        with open(path, "r+b") as file:
            file.seek(8 * element)
            file.write(b"\x55")

    return spoil


def in_memory(row: int, column: int) -> Callable[[str, np.ndarray], None]:
    def spoil(path: str, memory: np.ndarray) -> None:
        memory[row, column] = 5

    return spoil


def longer(path: str, memory: np.ndarray) -> None:
    with open(path, "ab") as file:
        file.write(b"more")


@pytest.mark.parametrize(
    ("direction", "spoil", "words"),
    [
        ("write", in_file(3), r"rows 0 to 5 of the file: wrong data: at \(1, 0\)"),  # a region
        ("write", in_file(14), r"at \(4, 2\)"),  # the last gap
        ("write", longer, "the file has 124 bytes, not 120"),
        ("read", in_memory(4, 0), r"wrong data: at \(4, 0\) is 5"),
        ("read", in_memory(2, 1), r"between the regions in memory: wrong data: at \(2, 0\) is 5"),
        ("read", lambda path, memory: None, None),
        ("write", lambda path, memory: None, None),
    ],
)
def test_a_wrong_byte_ends_the_run_and_names_contender_and_cell(
    tmp_path: Path, direction: str, spoil: Callable[[str, np.ndarray], None], words: str | None
) -> None:
    asked = tiny(sweeps=("count",), cases=("nc-nc",), directions=(direction,), caches=("warm",), sync=False)
    (only,) = cells_of(asked, 1)
    path, ranks = str(tmp_path / "f.bin"), ranks_of(None)
    bench = running.Bench(ranks, path, asked)
    file = FileUnderTest(ranks, path, only.pattern.file_bytes // 8)
    with file.opened():
        file.fill(GAP_STAMP)
        lying = Lying(contenders.SwathContender("direct", ranks, path, only.pattern), path, spoil)
        opened = running.Opened([lying], {}, [(lying.name, "swath")])
        memory = np.full(only.pattern.memory_shape, UNTOUCHED, dtype=np.int64)
        if words is None:
            found = bench.measure_cell(only, file, opened, memory)
            assert len(found["contenders"]["swath lying"]["repetitions"]) == 3
        else:
            with pytest.raises(
                WrongDataError, match=f"swath lying: 1 ranks, nc-nc {direction} warm, 5 regions of 8 bytes.*{words}"
            ):
                bench.measure_cell(only, file, opened, memory)
        lying.close()


def test_who_wrote_since_the_last_look_at_a_large_file_is_named_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "ALWAYS_CHECKED_BYTES", 0)
    monkeypatch.setattr(running, "SETTLING_SECONDS", 0)  # one operation that does not count
    monkeypatch.setattr(running, "shuffled", lambda turns, repetition: turns[::-1] if repetition == 1 else turns)
    asked = tiny(sweeps=("count",), cases=("c-nc",), directions=("write",), caches=("warm",), sync=False, repetitions=2)
    (only,) = cells_of(asked, 1)
    path, ranks, calls = str(tmp_path / "f.bin"), ranks_of(None), []

    def spoil_a_gap_in_the_first_repetition(path: str, memory: np.ndarray) -> None:
        calls.append(0)
        if len(calls) == 2:
            in_file(4)(path, memory)

    bench = running.Bench(ranks, path, asked)
    file = FileUnderTest(ranks, path, only.pattern.file_bytes // 8)
    with file.opened():
        file.fill(GAP_STAMP)
        honest = contenders.SwathContender("sieve", ranks, path, only.pattern)
        direct = contenders.SwathContender("direct", ranks, path, only.pattern)
        lying = Lying(direct, path, spoil_a_gap_in_the_first_repetition)
        opened = running.Opened([lying, honest], {}, [(c.name, "swath") for c in (lying, honest)])
        memory = np.full(only.pattern.memory_shape, UNTOUCHED, dtype=np.int64)
        with pytest.raises(WrongDataError, match=r"swath sieve: .* swath lying, which wrote since the last check"):
            bench.measure_cell(only, file, opened, memory)
        lying.close()
        honest.close()


def test_what_cannot_be_expressed_is_refused_with_the_reason_and_the_others_go_on(tmp_path: Path) -> None:
    asked = tiny(sweeps=("count",), cases=("c-nc",), directions=("read",), caches=("warm",), methods=("direct",))
    (only,) = cells_of(asked, 1)
    path, ranks = str(tmp_path / "f.bin"), ranks_of(None)
    bench = running.Bench(ranks, path, asked)
    file = FileUnderTest(ranks, path, only.pattern.file_bytes // 8)
    with file.opened():
        file.fill(GAP_STAMP)
        honest = contenders.SwathContender("direct", ranks, path, only.pattern)
        refusing = contenders.SwathContender("nonsense", ranks, path, only.pattern)
        refusing.operation = lambda *given: (_ for _ in ()).throw(ArgumentError("no such access"))  # type: ignore[method-assign]
        order = [(honest.name, "swath"), (refusing.name, "swath"), ("mpich absent", "mpich")]
        opened = running.Opened([honest, refusing], {"mpich absent": "it cannot open this"}, order)
        memory = np.full(only.pattern.memory_shape, UNTOUCHED, dtype=np.int64)
        found = bench.measure_cell(only, file, opened, memory)["contenders"]
        honest.close()
        refusing.close()
    assert found["swath direct"]["mean_seconds"] > 0
    assert "no such access" in found["swath nonsense"]["refused"]
    assert (found["mpich absent"]["refused"], found["mpich absent"]["peer"]) == ("it cannot open this", True)


def test_what_was_measured_before_a_failure_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_on_ranks(benchmark: str, ranks: int, given: dict[str, Any], folder: str) -> dict[str, Any]:
        with open(running.cells_path(os.path.join(folder, "ncio.bin")), "w", encoding="utf-8") as kept:
            kept.write(json.dumps(cell({}, ranks=ranks)) + "\n" + "{broken off")
        if ranks == 4:
            raise launch.BenchmarkFailedError("it failed")
        return {"hints": {"mpich x": {"a": "b"}}}

    monkeypatch.setattr(launch, "run_on_ranks", run_on_ranks)
    kept: list[dict[str, Any]] = []
    with pytest.raises(launch.BenchmarkFailedError):
        ncio.measure(Options(), str(tmp_path), lambda result: kept.append(json.loads(json.dumps(result))))
    assert [[c["ranks"] for c in result["cells"]] for result in kept] == [[2], [2, 4]]
    assert kept[-1]["conditions"]["hints"] == {"mpich x (2 ranks)": {"a": "b"}}


@pytest.mark.slow
def test_the_command_measures_a_small_grid_beside_mpi_io_and_records_all(tmp_path: Path) -> None:
    needs_mpi()
    record = tmp_path / "ncio.json"
    grid = ["--sweeps", "size", "--sizes", "16", "--cases", "c-c,nc-nc"]
    asked = ["--quick", *grid, "--repetitions", "4", "--peers", "mpi", "--json", record]
    result = subprocess.run(
        [sys.executable, "-m", "swath.commands.cli", "bench", "ncio", *map(str, asked)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert os.listdir(tmp_path) == ["ncio.json"]
    recorded = json.loads(record.read_text())
    assert recorded["benchmark"] == "ncio"
    assert recorded["options"]["sizes"] == [16]
    assert len(recorded["cells"]) == 2 * 2 * 2
    assert {"kernel", "load_average", "load_average_after", "mpi", "engine", "profile used"} <= set(
        recorded["conditions"]
    )
    modes = [f"{contenders.mpi_family()} {mode}" for mode in contenders.mpi_modes(2)]
    for name, hints in contenders.mpi_modes(2).items():
        taken = recorded["conditions"]["hints"][f"{contenders.mpi_family()} {name} (2 ranks)"]
        assert {hint: taken[hint] for hint in hints} == hints
    for found in recorded["cells"]:
        assert found["bytes"] == 2 * 256 * 16
        assert list(found["contenders"]) == [*(f"swath {m}" for m in options.METHODS), *modes]
        assert found["contenders"]["swath auto"]["chosen"] in options.METHODS[:4]
        for contender in found["contenders"].values():
            assert (contender["refused"], contender["skipped"], len(contender["repetitions"])) == (None, None, 4)
            kept = [r["seconds"] for r in contender["repetitions"] if not r["dropped"]]
            assert len(kept) == 2
            assert contender["mean_seconds"] == pytest.approx(statistics.fmean(kept))
            assert contender["megabytes_per_second"] == pytest.approx(found["bytes"] / statistics.fmean(kept) / 1e6)
    assert recorded["summary"] == json.loads(json.dumps(summarise(recorded)))
    printed = " ".join(result.stdout.split())
    for sentence in recorded["summary"]["sentences"]:
        assert " ".join(sentence.split()) in printed
    assert "region bytes: nc-nc write, cold, 2 ranks; MB/s" in printed
    assert "cell 8 of 8" in result.stderr

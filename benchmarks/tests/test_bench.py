"""The benchmarks at tiny sizes: they measure the right cases, check all data, and count right; speed is not tested."""

from __future__ import annotations

import collections
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpi_runs import needs_mpi
from swath.errors import ArgumentError, StoreError
from swath.ranks.ranks import Ranks, ranks_of
from swath.simulated import run_ranks
from swath.space import TABLE_1, Distribution
from swath.store.standalone import page_cache
from swath_bench import __main__ as command
from swath_bench import interleaved, latency, measure, prefetch, table1, threads
from swath_bench.conditions import file_system


def bench(*arguments: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m swath_bench` in `cwd`."""
    needs_mpi()
    return subprocess.run(
        [sys.executable, "-m", "swath_bench", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def measured(folder: Path, *arguments: object) -> tuple[dict[str, Any], str]:
    """The record of one benchmark, and what it printed."""
    result = bench("--quick", "--json", "record.json", *arguments, cwd=folder)
    assert result.returncode == 0, result.stderr[-3000:]
    assert "repetition" in result.stderr or "table1: warm 3 of 3" in result.stderr
    (recorded,) = json.loads((folder / "record.json").read_text())
    assert os.listdir(folder) == ["record.json"]
    return recorded, result.stdout


# ---- arithmetic ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "median", "low", "high"),
    [
        ([5.0], 5, 5, 5),
        ([5.0, 7.0], 6, 5, 7),
        ([9.0, 1.0, 5.0], 5, 5, 5),
        ([100.0, 4.0, 2.0, 3.0, 5.0, 0.0], 3.5, 2, 5),
    ],
)
def test_highest_and_lowest_are_dropped_where_there_are_three(
    values: list[float], median: float, low: float, high: float
) -> None:
    assert measure.summary(values) == measure.Summary(median, low, high)


def test_nobody_always_follows_the_same_neighbour() -> None:
    orders = [measure.shuffled("abcdefgh", r) for r in range(6)]
    assert all(sorted(order) == list("abcdefgh") for order in orders)
    neighbours = collections.Counter(pair for order in orders for pair in itertools.pairwise(order))
    assert max(neighbours.values()) <= 3
    assert len({order[0] for order in orders}) >= 3
    assert orders == [measure.shuffled("abcdefgh", r) for r in range(6)]  # as every rank has it


def interleaved_result(rates: dict[tuple[str, str], list[float]]) -> dict[str, Any]:
    """The result of `run` for contenders with these rates; repetition 0 is absurdly fast."""
    names = dict.fromkeys(name for name, _ in rates)
    return {
        "contenders": [{"name": name, "peer": name.startswith("ROMIO")} for name in names],
        "measurements": [
            {
                "contender": name,
                "direction": direction,
                "repetition": repetition,
                "megabytes_per_second": rate,
                "cached_bytes_before": 4096 - repetition,
                "device_bytes": repetition,
            }
            for (name, direction), given in rates.items()
            for repetition, rate in enumerate([1e9, *given])
        ],
    }


def test_two_phase_is_compared_with_the_best_peer_of_each_direction() -> None:
    summary = interleaved.summarise(
        interleaved_result(
            {
                ("Swath two-phase", "write"): [600, 1, 9000],
                ("Swath two-phase", "read"): [800, 700, 900],
                ("ROMIO a", "write"): [100, 100, 100],
                ("ROMIO a", "read"): [400, 1, 9000],
                ("ROMIO b", "write"): [200, 1, 9000],
                ("ROMIO b", "read"): [100, 100, 100],
                ("contiguous blocks", "write"): [5000, 5000, 5000],
                ("contiguous blocks", "read"): [5000, 5000, 5000],
            }
        )
    )
    assert (summary["write"]["best_peer"], summary["write"]["two_phase_to_best_peer"]) == ("ROMIO b", 3)
    assert (summary["read"]["best_peer"], summary["read"]["two_phase_to_best_peer"]) == ("ROMIO a", 2)
    assert summary["read"]["contenders"]["ROMIO b"]["to_best_peer"] == 0.25
    assert (summary["cached_bytes_before_min"], summary["device_bytes_max"]) == (4093, 3)


def table1_result(cold: list[tuple[str, float]], warm: list[tuple[str, float]]) -> dict[str, Any]:
    """The result of `run` for one repetition of these reads, with 1 s for each redistribution."""

    def reads(cache: str, given: list[tuple[str, float]], cached: int, device: int) -> list[dict[str, Any]]:
        evidence = {"cached_bytes_before": cached, "device_bytes": device}
        return [
            {"phase": cache, "repetition": r, "distribution": name, "seconds": seconds, **evidence}
            for r, name, seconds in [(0, table1.CONFORMING, 1e6), *((1, *read) for read in given)]
        ]

    redistributions = [
        {"phase": "redistribution", "repetition": r, "distribution": "column-block", "seconds": 1.0} for r in (0, 1)
    ]
    measurements = [*reads("cold", cold, 0, 1000), *reads("warm", warm, 1000, 0), *redistributions]
    return {"file_bytes": 1000, "measurements": measurements}


def test_each_read_is_compared_with_the_conforming_ones_beside_it() -> None:
    def between(conforming: tuple[float, float], name: str, seconds: tuple[float, float]) -> list[tuple[str, float]]:
        before, after = conforming
        return [(table1.CONFORMING, before), *((name, s) for s in seconds), (table1.CONFORMING, after)]

    # 1 and 2 s give 2 ×; 2 and 4 s give 1 ×.
    drifting = [*between((1, 2), "column-block", (3, 3)), *between((2, 4), "row-block", (3, 3))]
    # Every second read is slow, of any kind.
    alternating = [*between((1, 2), "column-block", (3, 1.5)), *between((1, 2), "row-block", (3.5, 1.75))]
    summary = table1.summarise(table1_result(drifting, alternating))
    assert (summary["cold"]["slowest"], summary["cold"]["slowest_to_conforming"]) == ("column-block", 2)
    assert summary["cold"]["distributions"]["row-block"]["to_conforming"]["median"] == 1
    assert (summary["warm"]["slowest"], summary["warm"]["slowest_to_conforming"]) == ("row-block", 1.75)
    assert summary["cold"]["distributions"]["column-block"]["total_of_table_8"] == 3  # 2 s to read, 1 s to redistribute
    assert summary["cold"]["distributions"]["row-block"]["total_of_table_8"] == 2
    assert table1.was_cold(summary["cold"])


@pytest.mark.parametrize(
    ("cached", "device", "cold"),
    [(0.0, 1.0, True), (0.02, 1.0, False), (0.0, 0.5, False), (None, 1.0, True), (0.0, None, True)],
)
def test_a_read_that_found_its_file_in_memory_is_not_called_cold(
    cached: float | None, device: float | None, cold: bool
) -> None:
    assert table1.was_cold({"cached_part_max": cached, "device_part_min": device}) is cold


# ---- what is checked -------------------------------------------------------------------------------------------------


def test_one_wrong_element_on_one_rank_is_an_error_on_all() -> None:
    def work(comm: Any) -> str:
        ranks = Ranks(comm)
        found = np.arange(3_000_000, dtype=np.int64).reshape(1500, 2000)
        measure.check_equal(ranks, found, lambda i, j: np.arange(i * 2000, j * 2000).reshape(-1, 2000), "read by peer")
        if comm.rank == 1:
            found[1201, 3] = -7
        with pytest.raises(measure.WrongDataError) as raised:
            measure.check_equal(
                ranks, found, lambda i, j: np.arange(i * 2000, j * 2000).reshape(-1, 2000), "read by peer"
            )
        return str(raised.value)

    assert set(run_ranks(3, work)) == {
        "rank 1: read by peer: wrong data: at (1201, 3) is -7 (1 wrong elements)",
    }


def test_elements_that_a_write_left_out_or_should_not_have_written_are_found(tmp_path: Path) -> None:
    file = measure.FileUnderTest(ranks_of(None), str(tmp_path / "f.bin"), 3_000_000)
    with file.opened():
        file.fill(7)
        file.check(7, 0, 7, "nobody")
        half = measure.stamped(np.arange(1_500_000, dtype=np.int64), 8)
        with open(file.path, "r+b") as written:
            half.tofile(written)
        file.check(8, 1_500_000, 7, "half")
        with pytest.raises(measure.WrongDataError, match=r"at \(1500000,\).*\(1 wrong elements\)"):
            file.check(8, 1_500_001, 7, "one left out")
        with pytest.raises(measure.WrongDataError, match=r"at \(1499999,\).*\(1 wrong elements\)"):
            file.check(8, 1_499_999, 7, "one too many")


class LyingContender:
    """Moves all elements except the last one, or one too many, without an error."""

    name, peer = "ROMIO lying", True

    def __init__(self, file: measure.FileUnderTest, moved: int) -> None:
        self.elements = file.elements - 10
        self.indices = np.arange(self.elements, dtype=np.int64)
        self._path, self._moved = file.path, moved

    def move(self, direction: str, memory: measure.Values) -> None:
        if direction == "read":
            moved = min(self._moved, self.elements)
            memory[:moved] = np.fromfile(self._path, np.int64, moved)
        else:
            with open(self._path, "r+b") as file:
                np.resize(memory, self._moved).tofile(file)

    def details(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(("direction", "off_by"), [("read", -1), ("write", -1), ("write", 1)])
def test_a_peer_that_moves_wrong_data_ends_the_run(tmp_path: Path, direction: str, off_by: int) -> None:
    ranks = ranks_of(None)
    file = measure.FileUnderTest(ranks, str(tmp_path / "f.bin"), 1000)
    with file.opened():
        memory = np.zeros(990, dtype=np.int64)
        honest = interleaved._measure(ranks, file, LyingContender(file, 990), direction, memory, stamp=1)
        assert honest["bytes"] == 990 * 8
        with pytest.raises(measure.WrongDataError, match=f"{direction} by ROMIO lying: .*1 wrong elements"):
            interleaved._measure(ranks, file, LyingContender(file, 990 + off_by), direction, memory, stamp=3)


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("fresh", [False, True])
def test_table1_checks_what_it_reads(tmp_path: Path, wrong: bool, fresh: bool) -> None:
    ranks, options = ranks_of(None), table1.Options(1, 8 * 50 * 50, 1, fresh)

    class Array:
        def read(self, distribution: Distribution, *, method: str, out: measure.Values | None) -> measure.Values:
            assert (out is None) is fresh
            out = np.empty((50, 50), np.int64) if out is None else out
            out[:] = np.fromfile(file.path, np.int64).reshape(50, 50)
            out[49, 7] += wrong
            return out

    file = measure.FileUnderTest(ranks, str(tmp_path / "f.bin"), 2500)
    with file.opened():
        file.fill(table1.STAMP)
        bench = table1._Table1(ranks, file, Array(), options)  # type: ignore[arg-type]
        if wrong:
            with pytest.raises(measure.WrongDataError, match=r"warm read of block-cyclic: wrong data: at \(49, 7\)"):
                bench._measure_read("warm", 1, "block-cyclic", "two-phase")
        else:
            assert bench._measure_read("warm", 1, "block-cyclic", "two-phase")["distribution"] == "block-cyclic"


def test_a_file_can_be_put_out_of_the_page_cache_and_back(tmp_path: Path) -> None:
    file = measure.FileUnderTest(ranks_of(None), str(tmp_path / "f.bin"), 1 << 20)
    with file.opened():
        file.fill(1)
        if file.cached_bytes() is None:
            pytest.skip("this kernel has no cachestat")
        assert file.cached_bytes() == file.bytes
        if file_system(str(tmp_path)) in ("tmpfs", "ramfs"):
            pytest.skip("this file system keeps its pages")
        file.cool()
        assert file.cached_bytes() == 0
        before = page_cache.device_bytes_read()
        assert file.warm() == file.bytes
        after = page_cache.device_bytes_read()
        assert before is None or after is None or after - before >= file.bytes


def latency_result(seconds: dict[tuple[int, str, str], list[float]]) -> dict[str, Any]:
    """The result of `measure` for calls of this duration; repetition 0 is absurdly fast."""
    return {
        "measurements": [
            {"ranks": ranks, "group": group, "contender": name, "repetition": repetition, "seconds": took}
            for (ranks, group, name), given in seconds.items()
            for repetition, took in enumerate([1e-12, *given])
        ],
        "planning": {"seconds": {"read Block()": [3e-3, 1e-3, 8e-3]}},
    }


def test_small_reads_are_compared_with_the_system_call_of_their_own_group() -> None:
    summary = latency.summarise(
        latency_result(
            {
                (1, "alone", latency.PREADV): [2e-6, 1e-6, 9e-6],
                (1, "alone", "Swath a[i:j]"): [12e-6, 11e-6, 30e-6],
                (2, "runs", latency.ALONE): [4e-6],
                (2, "runs", "Swath, the same again"): [54e-6],
                (2, "elements", "Swath, the same again"): [60e-6],
            }
        )
    )
    rows = {(row["ranks"], row["group"], row["contender"]): row for row in summary["microseconds"]}
    alone = rows[1, "alone", "Swath a[i:j]"]
    assert (alone["fastest"], alone["median"]) == pytest.approx((11, 12))
    assert (alone["fastest_above"], alone["median_above"]) == pytest.approx((10, 10))
    assert rows[2, "runs", "Swath, the same again"]["fastest_above"] == pytest.approx(50)
    assert "fastest_above" not in rows[2, "elements", "Swath, the same again"]
    assert summary["planning_milliseconds"]["read Block()"] == pytest.approx({"fastest": 1, "median": 3})


# ---- whole runs ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_interleaved_measures_every_contender_and_records_all(tmp_path: Path) -> None:
    recorded, printed = measured(tmp_path, "interleaved", "--region", "16", "--ranks", "3", "--bytes", "100000")
    assert recorded["benchmark"] == "interleaved"
    assert recorded["options"] == {
        "ranks": 3,
        "bytes": 100_000,
        "region_bytes": 16,
        "repetitions": 3,
        "unsieved_fraction": 1 / 16,
    }
    assert recorded["file_bytes"] == 100_000 // 48 * 48
    contenders = {c["name"]: c for c in recorded["contenders"]}
    assert contenders["Swath two-phase"]["methods"] == {"write": "two-phase", "read": "two-phase"}
    assert contenders["contiguous blocks"]["methods"] == {"write": "direct", "read": "direct"}
    assert contenders["ROMIO independent, no sieving"]["bytes"] == 6250 // 48 * 48
    assert contenders["ROMIO collective, all aggregate"]["hints"]["cb_nodes"] == "3"
    for name, hints in interleaved.romio_hints(3).items():
        taken = contenders[name]["hints"]
        assert {hint: taken[hint] for hint in hints} == hints
    for direction in interleaved.DIRECTIONS:
        for name, contender in contenders.items():
            own = [m for m in recorded["measurements"] if (m["contender"], m["direction"]) == (name, direction)]
            assert [m["repetition"] for m in own] == [0, 1, 2, 3]
            for m in own:
                assert len(m["rank_seconds"]) == 3
                assert 0 < max(m["rank_seconds"]) <= m["seconds"]
                assert m["bytes"] == contender["bytes"]
                assert m["megabytes_per_second"] == pytest.approx(m["bytes"] / m["seconds"] / 1e6)
    assert {"cores", "load_average", "load_average_after", "kernel", "mpi", "file_system"} <= recorded[
        "conditions"
    ].keys()
    summary = recorded["summary"]
    assert summary == interleaved.summarise(recorded)
    assert (
        f"two-phase write is {summary['write']['two_phase_to_best_peer']:.1f} times ROMIO's best, read "
        f"{summary['read']['two_phase_to_best_peer']:.1f} times"
    ) in printed
    assert "page cache, not a device" in printed
    assert recorded["conditions"]["kernel"] in printed


@pytest.mark.slow
def test_table1_measures_every_distribution_cold_and_warm(tmp_path: Path) -> None:
    recorded, printed = measured(tmp_path, "table1", "--bytes", "300000")
    assert recorded["extent"] == 193  # ragged over four ranks
    assert recorded["file_bytes"] == 193 * 193 * 8
    of = {
        phase: [m for m in recorded["measurements"] if m["phase"] == phase]
        for phase in ("cold", "warm", "redistribution")
    }
    for cache in table1.CACHES:
        counted = [m["distribution"] for m in of[cache] if m["repetition"] > 0]
        assert sorted(counted) == sorted(6 * [*TABLE_1, *8 * [table1.CONFORMING]])
        for before, first, second, after in zip(*(counted[n::4] for n in range(4)), strict=True):
            assert (before, after) == (table1.CONFORMING, table1.CONFORMING)
            assert first == second != table1.CONFORMING
        assert recorded["summary"][cache]["distributions"].keys() == TABLE_1.keys()
    assert {m["distribution"] for m in of["redistribution"]} == TABLE_1.keys() - {"row-block"}
    assert all(m["cached_bytes_before"] in (None, recorded["file_bytes"]) for m in of["warm"])
    cold, warm = (recorded["summary"][cache] for cache in table1.CACHES)
    assert recorded["summary"] == table1.summarise(recorded)
    assert ("NOT COLD" in printed) is not table1.was_cold(cold)
    assert (
        f"{cold['slowest_to_conforming']:.2f} × the conforming one from a cold cache ({cold['slowest']}), "
        f"{warm['slowest_to_conforming']:.2f} × from a warm one ({warm['slowest']})"
    ) in " ".join(printed.split())
    for name in TABLE_1:
        assert printed.count(name) >= 2


def test_a_failing_rank_ends_all_and_leaves_no_file(tmp_path: Path) -> None:
    result = bench("--quick", "interleaved", cwd=tmp_path, SWATH_ENGINE="nonsense")
    assert result.returncode == 2
    assert "nonsense" in result.stderr
    assert "interleaved: mpiexec ended with status" in result.stderr.splitlines()[-1]
    assert os.listdir(tmp_path) == []


def test_an_asked_end_ends_the_ranks_and_leaves_no_file(tmp_path: Path) -> None:
    needs_mpi()
    asked = [sys.executable, "-m", "swath_bench", "interleaved", "--repetitions", "100000", "--bytes", "64KiB"]
    with subprocess.Popen(asked, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as job:
        assert job.stderr is not None
        assert "repetition 0" in job.stderr.readline()
        (folder,) = os.listdir(tmp_path)
        assert ranks_in(folder) != []
        job.send_signal(signal.SIGTERM)
        assert "Error" not in job.stderr.read()  # the ranks end before their file is removed
    assert job.returncode == 128 + signal.SIGTERM
    assert os.listdir(tmp_path) == []
    deadline = time.monotonic() + 10
    while ranks_in(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert ranks_in(folder) == []


def ranks_in(folder: str) -> list[str]:
    """The processes whose command line names `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended
            if folder in (process / "cmdline").read_text(errors="replace"):
                found.append(process.name)
    return found


def test_latency_measures_every_way_alone_and_together(tmp_path: Path) -> None:
    recorded, printed = measured(tmp_path, "latency", "--bytes", "1KiB", "--ranks", "2")
    taken = {(m["ranks"], m["group"], m["contender"]) for m in recorded["measurements"]}
    assert {name for ranks, group, name in taken if group == "core"} == {latency.PREAD, latency.CORE}
    assert {latency.PREADV, "Swath a[i:j]"} < {name for ranks, group, name in taken if group == "alone"}
    for group in ("runs", "elements"):
        ours = {"Swath, another request each time", "Swath, the same again", "MPI.File.Read_at_all"}
        assert ours <= {name for ranks, of, name in taken if (ranks, of) == (2, group)}
    for which in taken:
        own = [m for m in recorded["measurements"] if (m["ranks"], m["group"], m["contender"]) == which]
        assert [m["repetition"] for m in own] == [0, 1, 2, 3]
        assert all(0 < m["seconds"] < 1 for m in own)
    assert recorded["planning"]["ranks"] == 10_000
    assert all(took > 0 for of in recorded["planning"]["seconds"].values() for took in of)
    assert recorded["summary"] == latency.summarise(recorded)
    for words in ("One contiguous read of 1.0 KiB", "Swath a[i:j]", "2 ranks, 64 interleaved elements", "10,000 ranks"):
        assert words in printed


def test_threads_measures_one_array_beside_an_array_a_thread(tmp_path: Path) -> None:
    recorded, printed = measured(tmp_path, "threads", "--threads", "3")
    for case in (threads.CHUNKS, threads.COLUMNS):
        for contender in (threads.SHARED, threads.OWN, threads.ALONE):
            own = [m for m in recorded["measurements"] if (m["case"], m["contender"]) == (case, contender)]
            assert [m["repetition"] for m in own] == [0, 1, 2, 3]
            assert all(m["seconds"] > 0 for m in own)
    assert recorded["summary"] == threads.summarise(recorded)
    assert "3 threads on" in printed


@pytest.mark.parametrize("wrong", ["12", "8MiB"])
def test_latency_refuses_reads_that_its_file_cannot_give(wrong: str) -> None:
    given = command.parser().parse_args(["latency", "--bytes", wrong])
    with pytest.raises(ArgumentError, match=r"--bytes \d+: expected a multiple of 8, at most 1048576"):
        command.options_of("latency", given)


# ---- the command line ------------------------------------------------------------------------------------------------


def test_sizes_are_taken_in_units_of_1024() -> None:
    given = command.parser().parse_args(["interleaved", "--bytes", "3MiB", "--region", "16"])
    assert command.options_of("interleaved", given) == interleaved.Options(bytes=3 << 20, region_bytes=16)


def test_both_benchmarks_take_from_one_command_line_what_is_theirs() -> None:
    given = command.parser().parse_args(["--quick", "--ranks", "3", "--region", "16"])
    assert command.options_of("interleaved", given) == interleaved.Options(3, 1 << 20, 16, 3)
    assert command.options_of("table1", given) == table1.Options(3, 2 << 20, 3)
    given = command.parser().parse_args(["table1", "--fresh"])
    assert command.options_of("table1", given) == table1.Options(fresh=True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["table1", "--region", "16"], "--region: table1 has no such option"),
        (["interleaved", "--region", "12"], "--region 12: expected a multiple of 8 bytes"),
        (["interleaved", "--unsieved-fraction", "2"], "--unsieved-fraction 2.0: expected a part of 1"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(arguments: list[str], words: str) -> None:
    given = command.parser().parse_args(arguments)
    with pytest.raises(ArgumentError, match=words):
        command.options_of(given.benchmark, given)


@pytest.mark.parametrize("wrong", [["--bytes", "many"], ["--ranks", "0"], ["nonsense"]])
def test_arguments_that_cannot_be_end_with_status_2(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        command.parser().parse_args(wrong)
    assert raised.value.code == 2
    assert wrong[-1] in capsys.readouterr().err


def test_too_small_a_disk_or_memory_is_told_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"needs 1024\.0 PiB in .*give another --folder, or fewer --bytes"):
        command.check_room("table1", {"disk": 1 << 60, "memory": 0}, str(tmp_path))
    with pytest.raises(ArgumentError, match=r"needs 1024\.0 PiB of memory.*give fewer --bytes"):
        command.check_room("table1", {"disk": 0, "memory": 1 << 60}, str(tmp_path))
    with pytest.raises(StoreError, match="No such file"):
        command.check_room("table1", {"disk": 0, "memory": 0}, str(tmp_path / "absent"))


def test_a_record_that_cannot_be_written_is_told_before_measuring(tmp_path: Path) -> None:
    result = bench("--quick", "--json", "absent/record.json", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr == "swath_bench: --json absent/record.json: No such file or directory\n"


def test_it_refuses_to_run_inside_an_mpiexec(tmp_path: Path) -> None:
    result = bench("--quick", cwd=tmp_path, PMI_SIZE="2", PMI_RANK="0")
    assert result.returncode == 2
    assert "starts its own ranks: call it without mpiexec" in result.stderr


def test_prefetch_measures_loops_beside_what_could_be_reached(tmp_path: Path) -> None:
    recorded, printed = measured(tmp_path, "prefetch", "--quick")
    rows = {(row["disk"], row["ratio"], row["contender"]): row for row in recorded["summary"]["rows"]}
    for disk in ("p690-raid5", prefetch.MACHINE):
        for ratio in (0.0, 1.0):
            names = {name for of, at, name in rows if (of, at) == (disk, ratio)}
            assert {prefetch.READING, prefetch.COMPUTING, prefetch.WITHOUT, prefetch.AUTO, prefetch.HAND} <= names
            reading = rows[disk, ratio, prefetch.READING]["seconds"]
            bound = max(reading, rows[disk, ratio, prefetch.COMPUTING]["seconds"]) + reading / 6
            for name in names:
                row = rows[disk, ratio, name]
                assert row["of_bound"] == pytest.approx(row["seconds"] / bound)
    assert recorded["summary"] == prefetch.summarise(recorded)
    assert "p690-raid5, modelled" in printed
    assert "auto at 1.0: o" in printed

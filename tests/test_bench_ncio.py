"""The NCIO benchmark: its numbers are what was measured, wrong bytes end it, and its summary says what follows."""

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
from swath.bench import __main__ as command
from swath.bench import ncio
from swath.bench.measure import FileUnderTest, WrongDataError, stamped
from swath.bench.ncio import contenders, launch, options, running, tables
from swath.bench.ncio.cells import Asked, Outcome, contender_entry
from swath.bench.ncio.options import Options, cells_of
from swath.bench.ncio.pattern import GAP_STAMP, UNTOUCHED, Pattern
from swath.bench.ncio.summary import summarise
from swath.commands.cli import parser as swath_parser
from swath.errors import ArgumentError
from swath.ranks.ranks import Ranks, ranks_of
from swath.simulated import run_ranks

CASES = ("c-c", "nc-c", "c-nc", "nc-nc")

# ---- the pattern -----------------------------------------------------------------------------------------------------


def brute_force_image(pattern: Pattern, stamp: int) -> np.ndarray:
    """The file, region by region, from the description in words."""
    row = pattern.file_shape[1]
    image = stamped(np.arange(pattern.file_bytes // 8, dtype=np.int64), GAP_STAMP)
    for rank in range(pattern.ranks):
        for region in range(pattern.count):
            place = region * pattern.ranks + rank if pattern.file_spaced else rank * pattern.count + region
            elements = np.arange(place * row, place * row + pattern.region_bytes // 8)
            image[elements] = stamped(elements, stamp)
    return image.reshape(-1, row)


@pytest.mark.parametrize("case", CASES)
def test_regions_of_the_ranks_come_in_turn_in_a_noncontiguous_file(case: str) -> None:
    pattern = Pattern(ranks=3, count=4, region_bytes=16, spacing_bytes=24, case=case)
    expected = brute_force_image(pattern, 7)
    np.testing.assert_array_equal(pattern.file_image(0, 12, 7), expected)
    np.testing.assert_array_equal(pattern.file_image(5, 9, 7), expected[5:9])
    owned = np.concatenate([pattern.region_elements(rank, 0, 4).ravel() for rank in range(3)])
    assert np.unique(owned).size == pattern.bytes // 8
    np.testing.assert_array_equal(np.sort(owned), np.flatnonzero(expected.ravel() >= 7 << 40))


def test_a_case_without_spacing_is_called_noncontiguous_only_where_it_is() -> None:
    assert Pattern(2, 4, 8, 0, "c-nc").file_noncontiguous  # the other rank's regions lie between
    assert not Pattern(1, 4, 8, 0, "c-nc").file_noncontiguous
    assert not Pattern(2, 4, 8, 0, "nc-nc").memory_noncontiguous
    assert Pattern(1, 4, 8, 8, "nc-nc").memory_noncontiguous


# ---- the grid --------------------------------------------------------------------------------------------------------


def test_the_default_grid_is_the_papers_and_the_larger_regions() -> None:
    cells = cells_of(Options(), 2)
    values = {sweep: sorted({c.value for c in cells if c.sweep == sweep}) for sweep in options.SWEEPS}
    assert values["count"] == [2**power for power in range(11, 21)]
    assert values["size"] == [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 16384, 65536]
    assert values["spacing"] == [0, 8, 32, 128, 512, 1024, 2048, 4096]
    held = {(c.pattern.count, c.pattern.region_bytes) for c in cells if c.sweep == "spacing"}
    assert held == {(4096, 8)}
    assert {c.pattern.spacing_bytes for c in cells if c.sweep != "spacing"} == {128}
    assert {c.pattern.spacing_bytes for c in cells if c.sweep == "spacing" and c.pattern.case == "c-c"} == {128}
    assert len(cells) == 4 * (4 * 22 + 3 * 8 + 1)


def test_each_sweep_goes_up_and_the_cells_of_one_file_stand_together() -> None:
    cells = cells_of(Options(counts=(16, 4), sweeps=("count",)), 2)
    assert [c.pattern.count for c in cells] == [4] * 16 + [16] * 16
    files = [c.pattern.file_spaced for c in cells[:16]]
    assert files == [False] * 8 + [True] * 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--methods", "direct,fast"], '"fast" is no method: expected some of direct, sieve, list, two-phase, auto'),
        (["--sizes", "8,12"], "--sizes 12: expected multiples of 8"),
        (["--counts", "0,4"], "--counts 0,4: expected at least 1"),
        (["--region", "8"], "--region: ncio has no such option"),
        (["--limit-seconds", "0"], "--limit-seconds"),
        (["--syncs", "-1"], "--syncs -1: expected at least 0"),
        (["--methods", "datatype"], '"datatype" is no method: expected some of direct, sieve, list, two-phase, auto'),
        (["--store", "swath"], "--store swath: expected a pool, rados:POOL"),
        (["--store", "rados:?conf=a"], "expected a pool, rados:POOL"),
        (["--store", "rados:swath/a.bin"], "--store rados:swath/a.bin: expected a pool"),
        (["--store", "rados:swath", "--cache", "cold"], '"cold" is no cache: expected some of uncached'),
        (["--store", "rados:swath", "--peers", "mpi"], "--peers mpi: MPI-IO and the other peers read files"),
        (["--store", "rados:swath", "--peers"], "none reads a pool: leave out --peers"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(arguments: list[str], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        command.options_of("ncio", command.parser().parse_args(["ncio", *arguments]))


def test_every_part_of_the_protocol_is_a_flag_of_both_commands() -> None:
    given = [
        *("ncio", "--ranks", "3", "--sweeps", "size,count", "--cases", "c-nc", "--directions", "read"),
        *("--cache", "cold", "--methods", "auto", "--counts", "4,1k", "--sizes", "8,64KiB", "--spacings", "0,8"),
        *(
            "--base-count",
            "5",
            "--base-size",
            "16",
            "--base-spacing",
            "0",
            "--no-sync",
            "--no-together",
            "--repetitions",
            "2",
        ),
        *("--keep-extremes", "--pause", "0.5", "--limit-seconds", "3", "--peers", "mpi", "--syncs", "2"),
    ]
    expected = Options(
        ranks=(3,),
        sweeps=("size", "count"),
        cases=("c-nc",),
        directions=("read",),
        caches=("cold",),
        methods=("auto",),
        counts=(4, 1024),
        sizes=(8, 65536),
        spacings=(0, 8),
        base_count=5,
        base_size=16,
        base_spacing=0,
        sync=False,
        together=False,
        repetitions=2,
        keep_extremes=True,
        pause=0.5,
        limit_seconds=3,
        syncs=2,
        peers=("mpi",),
    )
    assert command.options_of("ncio", command.parser().parse_args(given)) == expected
    assert command.options_of("ncio", swath_parser().parse_args(["bench", *given])) == expected
    untouched = command.options_of("ncio", command.parser().parse_args(["ncio"]))
    assert untouched == Options()
    for field in dataclasses.fields(Options):  # none was forgotten above, but the store: others do not go with it
        if field.name == "store":
            continue
        assert getattr(expected, field.name) != getattr(untouched, field.name), field.name


def test_peers_without_names_are_all_there_are() -> None:
    asked = command.options_of("ncio", command.parser().parse_args(["ncio", "--peers"]))
    assert asked.peers == ncio.peer_names()
    assert {"mpi", "openmpi", "h5py", "zarr", "tensorstore"} <= set(asked.peers)


def test_options_survive_json_on_their_way_to_the_ranks() -> None:
    asked = Options(ranks=(2,), peers=("mpi",))
    assert Options(**json.loads(json.dumps(dataclasses.asdict(asked)))) == asked


# ---- from repetitions to numbers -------------------------------------------------------------------------------------


def repetition(seconds: float, sync: float = 0.0, read: int | None = 0, written: int | None = 0) -> dict[str, Any]:
    return {
        "seconds": seconds,
        "operation_seconds": seconds - sync,
        "sync_seconds": sync,
        "inner": 1,
        "device_read_bytes": read,
        "device_written_bytes": written,
        "cached_bytes_before": 4096,
        "dropped": False,
    }


def entry(
    *seconds: float, direction: str = "read", synced: bool = True, chosen: Any = None, **others: Any
) -> dict[str, Any]:
    given = {"repetitions": [{**repetition(s), "chosen": chosen} for s in seconds], **others}
    asked = Asked(direction, 1_000_000, synced, given.pop("keep_extremes", False))
    return contender_entry(given.pop("family", "swath"), asked, Outcome(**given))


def test_highest_and_lowest_are_marked_and_do_not_count() -> None:
    made = entry(3.0, 100.0, 1.0, 2.0)
    assert [r["dropped"] for r in made["repetitions"]] == [False, True, True, False]
    assert (made["mean_seconds"], made["low_seconds"], made["high_seconds"]) == (2.5, 2.0, 3.0)
    assert made["megabytes_per_second"] == pytest.approx(0.4)
    assert entry(3.0, 100.0, 1.0, 2.0, keep_extremes=True)["mean_seconds"] == 26.5
    assert entry(1.0, 2.0)["mean_seconds"] == 1.5
    nothing = entry(refused="cannot")
    assert (nothing["mean_seconds"], nothing["megabytes_per_second"], nothing["refused"]) == (None, None, "cannot")


@pytest.mark.parametrize(
    ("direction", "synced", "device", "reached"),
    [
        ("read", True, {"read": 1_000_000}, True),
        ("read", True, {"read": 999_999, "written": 1_000_000}, False),
        ("write", True, {"written": 1_000_000}, True),
        ("write", False, {"written": 1_000_000}, False),
        ("write", True, {"written": None}, None),
    ],
)
def test_what_reached_the_device_is_told_from_its_bytes(
    direction: str, synced: bool, device: dict[str, Any], reached: bool | None
) -> None:
    made = entry(direction=direction, synced=synced, repetitions=[repetition(1.0, **device)])
    assert made["reached_device"] is reached


# ---- the summary -----------------------------------------------------------------------------------------------------


def cell(contenders_of_cell: dict[str, dict[str, Any]], **others: Any) -> dict[str, Any]:
    given = {
        "sweep": "count",
        "case": "c-nc",
        "direction": "read",
        "cache": "warm",
        "ranks": 2,
        "region_count": 4096,
        "region_bytes": 8,
        "spacing_bytes": 128,
        "bytes": 1_000_000,
        "file_bytes": 2_000_000,
        "file_noncontiguous": True,
        "memory_noncontiguous": False,
    }
    return {**given, **others, "contenders": contenders_of_cell}


def steady(seconds: float, **others: Any) -> dict[str, Any]:
    return entry(seconds, seconds, **others)


def test_auto_is_compared_with_the_best_of_the_other_methods() -> None:
    cells = [
        cell({"swath direct": steady(1.0), "swath sieve": steady(2.0), "swath auto": steady(1.05, chosen="direct")}),
        cell({"swath direct": steady(4.0), "swath sieve": steady(2.0), "swath auto": steady(3.0, chosen="direct")}),
        cell({"swath direct": steady(4.0), "swath auto": steady(3.0)}, ranks=4),
    ]
    summary = summarise({"cells": cells})
    two, four = summary["groups"]
    assert (two["ranks"], two["cells"], four["ranks"], four["cells"]) == (2, 2, 4, 1)
    assert two["auto"]["within"] == 0.5
    assert two["auto"]["worst_ratio"] == 1.5
    assert "c-nc read warm, 4,096 regions of 8 bytes" in two["auto"]["worst_cell"]
    (beyond,) = two["auto"]["beyond"]
    assert (beyond["best"], beyond["chosen"], beyond["beyond_noise"]) == ("swath sieve", "direct", True)
    assert four["auto"]["within"] == 1
    assert summary["all"]["auto"]["within"] == pytest.approx(2 / 3)
    assert any("within 10% of the best method in 50.0% of 2 cells" in said for said in summary["sentences"])


def test_a_difference_below_the_spread_of_the_two_is_noise() -> None:
    noisy = entry(1.0, 2.0)  # spread 67 % of the mean
    summary = summarise({"cells": [cell({"swath direct": steady(1.0), "swath auto": noisy})]})["all"]["auto"]
    assert (summary["within"], summary["within_or_noise"], summary["worst_ratio"]) == (0, 1, 1.5)
    assert summary["worst_ratio_beyond_noise"] is None
    single = summarise({"cells": [cell({"swath direct": entry(1.0), "swath auto": entry(1.5)})]})["all"]["auto"]
    assert single["within_or_noise"] == 0  # one repetition kept: nothing is known of noise


def test_prediction_is_compared_with_the_operation_without_its_sync() -> None:
    repetitions = [repetition(11.0, sync=10.0), repetition(13.0, sync=10.0)]
    cells = [
        cell(
            {"swath direct": entry(direction="write", repetitions=repetitions, predicted_seconds=p)}, direction="write"
        )
        for p in (2.0, 3.0, 4.0)
    ]
    errors = summarise({"cells": cells})["all"]["prediction"]
    assert errors["auto"]["count"] == 0
    assert errors["all methods"]["count"] == 3
    assert errors["all methods"]["against_mean"] == {"lower_quartile": 0.25, "median": 0.5, "upper_quartile": 0.75}
    assert errors["all methods"]["against_fastest"]["median"] == 2  # 3 s beside 1 s


@pytest.mark.parametrize(
    ("peer", "auto", "slower"),
    [
        (1.0, 0.5, 0),
        (1.0, 1.01, 1),
        (500e-6, 590e-6, 0),  # within 100 µs
        (500e-6, 610e-6, 1),
        (1.5e-3, 1.59e-3, 1),  # over 1 ms the spread alone counts, and there is none
    ],
)
def test_the_best_mode_of_the_best_peer_is_what_auto_is_held_to(peer: float, auto: float, slower: int) -> None:
    peers = {
        "mpich independent": steady(peer, family="mpich"),
        "mpich collective": steady(10 * peer, family="mpich"),
        "openmpi collective": entry(family="openmpi", refused="cannot"),
    }
    found = summarise({"cells": [cell({"swath auto": steady(auto), **peers})]})["all"]["peers"]
    assert (found["compared"], len(found["slower"])) == (1, slower)
    assert [s["best_peer"] for s in found["slower"]] == ["mpich independent"] * slower


def test_a_spread_of_the_peer_is_allowed_for() -> None:
    peer = entry(1.0, 1.4, family="mpich")
    found = summarise({"cells": [cell({"swath auto": steady(1.3), "mpich independent": peer})]})["all"]["peers"]
    assert found["slower"] == []


@pytest.mark.parametrize(("highest", "slower"), [(550e-6, 1), (800e-6, 0)])
def test_a_spread_of_more_than_an_agreement_is_allowed_for_in_short_cells_too(highest: float, slower: int) -> None:
    peer = entry(500e-6, highest, family="mpich")
    found = summarise({"cells": [cell({"swath auto": steady(760e-6), "mpich independent": peer})]})["all"]["peers"]
    assert len(found["slower"]) == slower


def test_what_auto_took_most_often_is_what_it_chose() -> None:
    repetitions = [{**repetition(1.0), "chosen": chosen} for chosen in ("list", "sieve", "list")]
    assert entry(repetitions=repetitions, keep_extremes=True)["chosen"] == "list"
    assert entry(1.0)["chosen"] is None


def test_what_was_refused_or_skipped_is_not_compared_and_printed_as_such() -> None:
    result = {
        "options": dataclasses.asdict(Options()),
        "cells": [
            cell(
                {
                    "swath direct": entry(skipped="took 11 s at region count 2048"),
                    "swath auto": steady(1.0, chosen="two-phase"),
                    "mpich independent": entry(family="mpich", refused="cannot"),
                }
            )
        ],
    }
    result["summary"] = summarise(result)
    assert result["summary"]["all"]["auto"]["compared"] == 0
    printed = io.StringIO()
    tables.show(Console(file=printed, width=110), result)
    row = next(line for line in printed.getvalue().splitlines() if line.split()[:1] == ["4,096"])
    assert row.split() == ["4,096", "too", "slow", "1", "◂", "refused", "two-phase"]
    assert "noncontiguous in file; did not reach the device: page cache; spread of" in printed.getvalue()


# ---- measuring -------------------------------------------------------------------------------------------------------


def tiny(**others: Any) -> Options:
    given = {"counts": (5,), "sizes": (24,), "spacings": (16,), "base_count": 3, "base_spacing": 16, "pause": 0}
    return Options(**{**given, "repetitions": 3, "ranks": (1,), **others})


def measured_by_threads(tmp_path: Path, ranks: int, asked: Options) -> list[dict[str, Any]]:
    path = str(tmp_path / "ncio.bin")
    run_ranks(ranks, lambda comm: ncio.run(Ranks(comm), path, asked))
    with open(running.cells_path(path), encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


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
    tmp_path: Path, sync: bool, cache: str, repeated: bool
) -> None:
    asked = tiny(
        sweeps=("count",), cases=("c-c",), directions=("write",), caches=(cache,), methods=("direct",), sync=sync
    )
    (found,) = measured_by_threads(tmp_path, 1, asked)
    repetitions = found["contenders"]["swath direct"]["repetitions"]
    assert all((r["inner"] > 1) is repeated for r in repetitions)
    assert all((r["sync_seconds"] == 0) is not sync for r in repetitions)


@pytest.mark.parametrize("together", [True, False])
def test_ranks_begin_each_of_the_repeated_operations_together_unless_asked_otherwise(
    tmp_path: Path, together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def recorded(*arguments: Any, **options: Any) -> Any:
        seen.append((options["repeats"], found := timed_phases(*arguments, **options)))
        return found

    timed_phases = running.timed_phases
    monkeypatch.setattr(running, "timed_phases", recorded)
    asked = tiny(
        sweeps=("count",),
        cases=("c-c",),
        directions=("read",),
        caches=("warm",),
        methods=("direct",),
        together=together,
    )
    (found,) = measured_by_threads(tmp_path, 2, asked)
    assert found["contenders"]["swath direct"]["repetitions"][-1]["inner"] == seen[-1][0] > 1
    for repeats, (times, _) in seen:
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
    """Moves what it should, then spoils one element: of the file, or of memory."""

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


# ---- whole runs ------------------------------------------------------------------------------------------------------


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

"""The NCIO benchmark: its numbers are the measured ones, wrong bytes end it, and its summary is right."""

from __future__ import annotations

import dataclasses
import io
import json
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from ncio_cases import CASES, cell, entry, repetition, steady
from swath.commands.cli import parser as swath_parser
from swath.errors import ArgumentError
from swath_bench import __main__ as command
from swath_bench import ncio
from swath_bench.measure import stamped
from swath_bench.ncio import options, tables
from swath_bench.ncio.options import Options, cells_of
from swath_bench.ncio.pattern import GAP_STAMP, Pattern
from swath_bench.ncio.summary import summarise


def brute_force_image(pattern: Pattern, stamp: int) -> np.ndarray:
    """The file, made region by region from its definition."""
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
    for field in dataclasses.fields(Options):  # all fields were listed above except the store, which excludes others
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
    assert single["within_or_noise"] == 0  # one repetition was kept: the noise is unknown


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
    assert errors["all methods"]["against_fastest"]["median"] == 2  # 3 s compared with 1 s


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

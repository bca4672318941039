"""NCIO on files in Ceph pools, without a cluster (with one: test_rados_bench.py), and one sync for many writes."""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import swath
from ncio_cases import cell, steady, tiny
from swath.ranks.ranks import Ranks, ranks_of
from swath.simulated import run_ranks
from swath_bench import __main__ as command
from swath_bench import ncio
from swath_bench.ncio import options, tables
from swath_bench.ncio.options import Options, cells_of
from swath_bench.ncio.summary import summarise


def test_a_pool_has_all_methods_no_cache_and_a_grid_of_its_own() -> None:
    def asked(*given: str) -> Options:
        parsed = command.parser().parse_args(["ncio", "--store", "rados:swath?conf=a.conf", *given])
        found: Options = command.options_of("ncio", parsed)
        return found

    default = asked()
    assert default.methods == ("direct", "sieve", "list", "datatype", "two-phase", "auto")
    assert default.caches == ("uncached",)
    assert max(default.counts) == 65536
    assert default.pause < 1
    cells = cells_of(default, 2)
    assert {c.cache for c in cells} == {"uncached"}
    assert len(cells) < len(cells_of(Options(caches=("warm",)), 2)) / 1.5
    assert ncio.needs(default)["disk"] == 0
    given = asked("--quick", "--counts", "4", "--methods", "datatype,two-phase/sieve", "--pause", "1")
    assert (given.counts, given.methods, given.pause) == ((4,), ("datatype", "two-phase/sieve"), 1)
    assert given.sizes == options.quick_options().sizes
    assert Options(**json.loads(json.dumps(dataclasses.asdict(given)))) == given


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        ("rados:p", "rados:p/swath-bench-x.ncio.bin?stripe=65536,4,4194304"),
        ("rados:p?conf=/a/b&id=u", "rados:p/swath-bench-x.ncio.bin?conf=/a/b&id=u&stripe=65536,4,4194304"),
        ("rados:p?stripe=4096,2,8192", "rados:p/swath-bench-x.ncio.bin?stripe=4096,2,8192"),
        ("", "some/swath-bench-x/ncio.bin"),
    ],
)
def test_files_of_a_pool_have_the_papers_stripes_unless_others_are_named(store: str, expected: str) -> None:
    asked = options.for_store(Options(), store) if store else Options()
    assert asked.file_name("some/swath-bench-x/ncio.bin") == expected


def test_one_sync_for_all_writes_is_what_the_others_are_compared_with() -> None:
    def way(name: str, *seconds: float, ranks: int = 2) -> dict[str, Any]:
        return {
            "way": name,
            "ranks": ranks,
            "writes": 16,
            "region_count": 4096,
            "region_bytes": 8,
            "seconds": list(seconds),
        }

    measured = [
        way("one sync for all", 0.1, 9.0, 0.3, 0.2),
        way("a sync each", 0.5, 0.5, 0.4, 0.6),
        way("one sync for all", 1.0, ranks=4),
    ]
    summary = summarise({"cells": [], "syncs": measured})
    one, each, alone = summary["syncs"]
    assert (one["mean_seconds"], one["low_seconds"], one["high_seconds"], one["ratio"]) == (0.25, 0.2, 0.3, 1)
    assert each["ratio"] == pytest.approx(2)
    assert alone["ratio"] == 1
    assert summary["sentences"][0] == (
        "2 ranks, 16 writes of 4,096 regions of 8 bytes each: one sync for all 250 ms (200 to 300); "
        "a sync each 500 ms (500 to 500), 2.00 ×."
    )
    assert summarise({"cells": []})["syncs"] == []


def test_what_is_in_a_pool_is_not_said_to_have_missed_the_device() -> None:
    result = {
        "options": {**dataclasses.asdict(Options()), "store": "rados:p"},
        "cells": [cell({"swath datatype": steady(1.0)}, cache="uncached")],
    }
    printed = io.StringIO()
    tables.show(Console(file=printed, width=110), {**result, "summary": summarise(result)})
    said = " ".join(printed.getvalue().split())
    assert "noncontiguous in file; in a pool, no page cache between; spread of" in said
    assert "An answered write is on the medium of all replicas" in said
    assert "did not reach the device" not in said
    assert "Cold:" not in said


def test_writes_are_synced_each_and_together_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, asked = str(tmp_path / "ncio.bin"), tiny(syncs=3, repetitions=2)
    synced: list[int] = []
    sync = swath.Array.sync
    monkeypatch.setattr(swath.Array, "sync", lambda array: (synced.append(0), sync(array))[1])
    found = run_ranks(2, lambda comm: ncio.run(Ranks(comm), path, dataclasses.replace(asked, sweeps=())))[0]["syncs"]
    assert [(way["way"], way["ranks"], way["writes"]) for way in found] == [
        ("one sync for all", 2, 3),
        ("a sync each", 2, 3),
    ]
    assert all(len(way["seconds"]) == 2 and min(way["seconds"]) > 0 for way in found)
    assert len(synced) == 2 * 3 * (1 + 3)  # ranks, repetitions with the one that warms up, ways
    assert os.listdir(tmp_path) == ["ncio.bin.cells"]
    for without in ({"syncs": 0}, {"sync": False}, {"directions": ("read",)}):
        none = functools.partial(ncio.run, path=path, options=tiny(sweeps=(), **without))
        assert none(ranks_of(None))["syncs"] == []

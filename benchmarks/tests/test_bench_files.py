"""`swath bench files`: contenders do the requested work, data agree with NumPy, and missed goals are reported."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from mpi_runs import needs_mpi
from swath.errors import ArgumentError
from swath.ranks.ranks import ranks_of
from swath_bench import __main__ as command
from swath_bench import files as bench
from swath_bench.files import program, running, sources
from swath_bench.files.cases import CASES, HDF5, NETCDF, PEERS, SWATH
from swath_bench.files.checks import check
from swath_bench.files.contenders import CONTENDERS
from swath_bench.files.contenders.base import not_installed
from swath_bench.files.job import NAME, Job, block
from swath_bench.files.options import CACHES, Options, quick_options
from swath_bench.files.sizes import LEAST_BYTES, Sizes
from swath_bench.launch import BenchmarkFailedError
from swath_bench.measure import WrongDataError

h5py = pytest.importorskip("h5py")
pytest.importorskip("netCDF4")

TINY = Sizes(LEAST_BYTES, 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = str(tmp_path_factory.mktemp("sources"))
    sources.make(made, TINY)
    return made


def job(folder: str, case: str, target: Path, contender: str = HDF5) -> Job:
    return Job(case, contender, "warm", folder, str(target / "target"), TINY, ranks_of(None))


def in_words(result: dict[str, Any]) -> str:
    console = Console(width=220, record=True, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    bench.show(console, result)
    return " ".join(console.export_text().split())


# ---- what is asked ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"cases": ("sum",)}, r'--cases: "sum" is unknown: expected some of series, map'),
        ({"cases": ()}, r"--cases: expected some of"),
        ({"caches": ("hot",)}, r'--cache: "hot" is unknown: expected some of cold, warm'),
        ({"peers": ("pnetcdf",)}, r'--peers: "pnetcdf" is unknown: expected some of netCDF4, h5py'),
        ({"repetitions": 0}, r"--repetitions 0: expected at least 1"),
        ({"ranks": 0}, r"--ranks 0: expected at least 1"),
        ({"bytes": 100}, rf"--bytes 100: expected at least {LEAST_BYTES}"),
        ({"limit_seconds": 0}, r"--limit-seconds 0: expected more than 0"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        dataclasses.replace(quick_options(), **more)


@pytest.mark.parametrize("size", [LEAST_BYTES, 2 << 20, 300 << 20, 1 << 30])
def test_sizes_follow_from_the_bytes(size: int) -> None:
    sizes = Sizes(size, 1)
    assert 0.8 * size < 4 * np.prod(sizes.shape) <= size
    assert sizes.shape[0] >= 24
    assert 0.5 * size < 24 * 8 * np.prod(sizes.dumped) < 1.5 * size
    assert sizes.series_chunks[0] == sizes.shape[0]


def test_the_default_is_a_gibibyte_of_a_year_beside_all_peers() -> None:
    assert (Options().sizes.shape, Options().peers) == ((372, 720, 1000), PEERS)
    assert not Options().in_one_process
    assert dataclasses.replace(Options(), cases=("map",)).in_one_process


def test_who_stands_beside_swath_in_a_case_can_do_it() -> None:
    for case in CASES.values():
        for name in (SWATH, *case.peers):
            assert callable(getattr(CONTENDERS[name], case.work, None)), (case, name)
    assert {peer for case in CASES.values() for peer in case.peers} == set(PEERS) == set(CONTENDERS) - {SWATH}


def test_blocks_and_boxes_of_ranks_are_all_of_it(folder: str, tmp_path: Path) -> None:
    assert [block(10, 4, part) for part in range(4)] == [(0, 3), (3, 3), (6, 3), (9, 1)]
    assert block(3, 4, 3) == (3, 0)
    four = dataclasses.replace(job(folder, "dump-netcdf4-ranks", tmp_path), ranks=OfFour())
    counts = np.zeros(TINY.dumped, int)
    for rank in range(4):
        counts[four.dump_box(rank)] += 1
        expected = four.dump_distribution.local_shape(TINY.dumped, rank)
        assert counts[four.dump_box(rank)].shape == expected
    assert (counts == 1).all()


class OfFour:
    rank, size = 0, 4


# ---- what contenders do ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "contender"), [(name, who) for name, case in CASES.items() for who in (SWATH, *case.peers)]
)
def test_every_contender_does_what_numpy_does(case: str, contender: str, folder: str, tmp_path: Path) -> None:
    absent = not_installed(CASES[case].modules) or CONTENDERS[contender].absent()
    if absent or contender == "parallel h5py":
        pytest.skip(absent or "it needs ranks")
    took = program.once(CONTENDERS[contender], job(folder, case, tmp_path, contender))
    assert took["seconds"] > 0
    assert (took["sync_seconds"] > 0) == (CASES[case].writes and contender != SWATH)
    assert os.listdir(tmp_path) == []


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["series", "map", "columns"])
def test_a_wrong_value_that_was_read_is_found(case: str, folder: str, tmp_path: Path) -> None:
    asked = job(folder, case, tmp_path)
    values = np.array(asked.array()[asked.selection])
    check(asked, "", values)
    values.reshape(-1)[-1] += 1
    with pytest.raises(WrongDataError, match="what was read: at"):
        check(asked, "", values)
    with pytest.raises(WrongDataError, match="float64"):
        check(asked, "", values.astype("f8"))


@pytest.mark.parametrize(
    ("case", "name", "words"),
    [
        ("transpose", NAME, "rows slice"),
        ("rechunk", NAME, "rows slice"),
        ("dump-netcdf4", "v23", "v23: at"),
        ("append-netcdf4", "r2", "r2, record 2: at"),
    ],
)
def test_a_wrong_value_in_a_target_is_found(case: str, name: str, words: str, folder: str, tmp_path: Path) -> None:
    asked = job(folder, case, tmp_path)
    suffix = CONTENDERS[HDF5].target_suffix(asked)
    getattr(CONTENDERS[HDF5], asked.what.work)(asked)
    check(asked, suffix, None)
    with h5py.File(asked.made(suffix), "r+") as file:
        last = tuple(extent - 1 for extent in file[name].shape)
        file[name][last] += 1
    with pytest.raises(WrongDataError, match=words):
        check(asked, suffix, None)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"chunks": (1, 1, 1)}, "chunks of"),
        ({"chunks": TINY.series_chunks}, "filters None"),
        (
            {"chunks": TINY.series_chunks, "compression": "gzip", "compression_opts": 1, "shuffle": True},
            "filters gzip, 1",
        ),
    ],
)
def test_other_chunks_and_filters_than_asked_for_are_found(
    how: dict[str, Any], words: str, folder: str, tmp_path: Path
) -> None:
    asked = job(folder, "rechunk-deflated", tmp_path)
    with h5py.File(asked.made(".nc4"), "w") as file:
        file.create_dataset(NAME, data=asked.array(), **how)
    with pytest.raises(WrongDataError, match=words):
        check(asked, ".nc4", None)


# ---- the run ---------------------------------------------------------------------------------------------------------


def test_contenders_take_turns_in_another_order_each_round(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    order: list[tuple[str, str]] = []

    def run(cell: dict[str, Any], who: str, *_: object) -> tuple[list[dict[str, Any]], str]:
        order.append((cell["cache"], who))
        return [{"seconds": 1.0, "sync_seconds": 0.0}], ""

    measured(monkeypatch, tmp_path, run, Options(cases=("map",), peers=(NETCDF, HDF5), repetitions=3))
    rounds = [tuple(order[begin : begin + 6]) for begin in (0, 6, 12)]
    assert all(sorted(one) == sorted(itertools.product(CACHES, (SWATH, NETCDF, HDF5))) for one in rounds)
    assert len(set(rounds)) > 1


def test_a_peer_that_fails_is_refused_and_swath_that_fails_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    failing = {HDF5}

    def run(cell: dict[str, Any], who: str, *_: object) -> tuple[list[dict[str, Any]], str]:
        return ([], "wrong data") if who in failing else ([{"seconds": 1.0, "sync_seconds": 0.0}], "")

    asked = Options(cases=("map",), caches=("warm",), peers=(NETCDF, HDF5))
    result = measured(monkeypatch, tmp_path, run, asked)
    assert result["cells"][0]["contenders"][HDF5] == {"repetitions": [], "refused": "wrong data"}
    assert len(result["cells"][0]["contenders"][NETCDF]["repetitions"]) == 3
    failing.add(SWATH)
    with pytest.raises(BenchmarkFailedError, match="Swath, map warm: wrong data"):
        measured(monkeypatch, tmp_path, run, asked)


def measured(monkeypatch: pytest.MonkeyPatch, folder: Path, run: Any, asked: Options) -> dict[str, Any]:
    monkeypatch.setattr(running, "_run", run)
    monkeypatch.setattr(sources, "make", lambda *_: {"source.nc4": 1})
    return running.measure(asked, str(folder), lambda _: None)


@pytest.mark.slow
def test_the_command_measures_and_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["files", "--quick", "--bytes", "64KiB", "--peers", "h5py,nccopy", "--cache", "cold"]
    assert command.main([*arguments, "--cases", "rechunk", "--json", "f.json"]) == 0
    (recorded,) = json.loads(Path("f.json").read_text())
    (cell,) = recorded["summary"]["cells"]
    assert (cell["case"], cell["cache"], cell["fastest_peer"]) == ("rechunk", "cold", HDF5) or shutil.which("nccopy")
    assert cell["ratio"] > 0
    assert os.listdir(tmp_path) == ["f.json"]
    words = " ".join(capsys.readouterr().out.split())
    assert f"h5py {h5py.__version__}" in words
    assert "nccopy not measured in rechunk cold: not installed" in words or shutil.which("nccopy")


@pytest.mark.slow
def test_ranks_read_columns_together_and_dump_into_one_file(tmp_path: Path) -> None:
    needs_mpi()
    asked = dataclasses.replace(
        quick_options(),
        bytes=LEAST_BYTES,
        ranks=2,
        cases=("columns", "dump-netcdf4-ranks"),
        caches=("warm",),
        peers=(HDF5,),
    )
    result = running.measure(asked, str(tmp_path), lambda _: None)
    for cell in result["cells"]:
        assert cell["ranks"] == 2
        for who, entry in cell["contenders"].items():
            assert (entry["refused"], bool(entry["repetitions"])) == (None, True), (cell["case"], who)


# ---- what follows from the numbers -----------------------------------------------------------------------------------


def entry(*seconds: float, refused: str | None = None) -> dict[str, Any]:
    return {"repetitions": [{"seconds": s, "sync_seconds": 0.0} for s in seconds], "refused": refused}


def result_of(case: str, **contenders: dict[str, Any]) -> dict[str, Any]:
    cell = {"case": case, "cache": "cold", "ranks": 1, "contenders": contenders}
    result: dict[str, Any] = {
        "cells": [cell],
        "options": {"bytes": 1 << 30},
        "sources": {"shape": (1, 2, 3), "source.nc4": 9},
        "conditions": {"versions": {"h5py": "3"}, "hints": {SWATH: "defaults"}},
    }
    return {**result, "summary": bench.summarise(result)}


@pytest.mark.parametrize(
    ("case", "ours", "ratio", "is_reached", "twice"),
    [
        ("map", 0.9, 0.45, True, 1),
        ("map", 2.0, 1.0, True, 0),
        ("map", 2.4, 1.2, False, 0),
        ("open-netcdf4", 2.1, 1.05, True, 0),
        ("open-netcdf4", 2.4, 1.2, False, 0),
    ],
)
def test_swath_stands_beside_the_fastest_peer_and_what_is_missed_is_said(
    case: str, ours: float, ratio: float, is_reached: bool, twice: int
) -> None:
    result = result_of(
        case, Swath=entry(ours), h5py=entry(0.1, 2.0, 90.0), zarr=entry(5.0), xarray=entry(0.5, refused="wrong data")
    )
    (cell,) = result["summary"]["cells"]
    assert (cell["fastest_peer"], cell["ratio"], cell["is_reached"]) == ("h5py", pytest.approx(ratio), is_reached)
    assert (result["summary"]["missed"], result["summary"]["twice"]) == ([] if is_reached else [f"{case} cold"], twice)
    words = in_words(result)
    assert f"{ratio:.2f}" in words
    assert ("zarr 5.00" in words, "90.0" in words) == (True, False)
    assert f"xarray not measured in {case} cold: wrong data" in words


def test_a_row_without_peers_says_so() -> None:
    words = in_words(result_of("map", Swath=entry(1.0), h5py=entry(refused="not installed: h5py")))
    assert "none measured" in words
    assert "Without any peer: map cold." in words
    assert "h5py not measured in map cold: not installed: h5py" in words

"""`swath bench zarr`: all use the same store, every value is compared, and slower cells are reported."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import swath
from swath.errors import ArgumentError
from swath.store.standalone import page_cache
from swath_bench import __main__ as command
from swath_bench import zarr as bench
from swath_bench.launch import BenchmarkFailedError
from swath_bench.peers import environments as making
from swath_bench.peers.environments import ENVIRONMENTS, Environment, EnvironmentFailedError, Made
from swath_bench.peers.programs import reading
from swath_bench.zarr import contenders as programs
from swath_bench.zarr import stores
from swath_bench.zarr.contenders import SWATH, Contender, contenders_of
from swath_bench.zarr.options import CACHES, PATTERNS, PEERS, STORES, Options, quick_options

SMALL = Options(bytes=4 * 5 * 6 * 8**2, chunk=8, peers=(), rounds=1, repetitions=1)
"""5 × 6 chunks are requested; whole rows of about a square give 6 × 5."""


def options(**more: Any) -> Options:
    return dataclasses.replace(SMALL, **more)


def small_store(folder: Path, kind: str = "v3-zstd", asked: Options = SMALL) -> stores.Store:
    array = stores.make_array(asked, str(folder / "array.npy"))
    return stores.make_store(kind, asked, array, str(folder / f"{kind}.zarr"))


def this_python(environment: Environment) -> Made:
    """The environment of the tests instead of a separate one."""
    return Made(environment, sys.prefix, dict.fromkeys(environment.versions, "of the tests"))


def measured(asked: Options, folder: Path) -> dict[str, Any]:
    told = bench.measure(asked, str(folder), lambda _: None)
    result = {"options": dataclasses.asdict(asked), **told}
    return {**result, "summary": bench.summarise(result)}


def in_words(result: dict[str, Any]) -> str:
    console = Console(width=200, record=True, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    bench.show(console, result)
    return console.export_text()


# ---- what is asked ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"stores": ("v4",)}, r'--stores: "v4" is unknown: expected some of v3, v3-zstd'),
        ({"patterns": ("rows",)}, r'--patterns: "rows" is unknown: expected some of all, chunks, row'),
        ({"caches": ("hot",)}, r'--cache: "hot" is unknown: expected some of cold, warm'),
        ({"peers": ("dask",)}, r'--peers: "dask" is unknown: expected some of zarr, zarrs, tensorstore'),
        ({"stores": ()}, r"--stores: expected some of"),
        ({"rounds": 0}, r"--rounds 0: expected at least 1"),
        ({"bytes": 700}, r"--bytes 700: expected at least 1024, four chunks of 8 × 8 numbers"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        options(**more)


@pytest.mark.parametrize("size", [1024, 7000, 1 << 20, 1 << 30])
def test_the_array_is_about_a_square_of_whole_chunks_and_no_more_than_asked_for(size: int) -> None:
    asked = options(bytes=size)
    rows, columns = asked.shape
    assert rows % asked.chunk == columns % asked.chunk == 0
    assert 0.5 * size < 4 * rows * columns <= size
    assert 1 <= rows / columns < 2.1


def test_the_default_is_a_gibibyte_beside_all_peers() -> None:
    asked = Options()
    assert (math.prod(asked.shape) * 4, asked.peers) == (1 << 30, PEERS)
    assert {c.environment for c in contenders_of(asked.peers, 2)} == {SWATH, *PEERS}
    assert [c.name for c in contenders_of((), 2)] == [SWATH]


# ---- array, stores, selections ---------------------------------------------------------------------------------------


def test_values_follow_from_the_seed_and_are_rounded(tmp_path: Path) -> None:
    first, again, other = (
        np.load(stores.make_array(options(seed=seed), str(tmp_path / f"{number}.npy")))
        for number, seed in enumerate((1, 1, 2))
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    np.testing.assert_array_equal(first * stores.LEVELS, np.round(first * stores.LEVELS))
    assert first.std() > 1


@pytest.mark.parametrize("kind", STORES)
def test_every_store_holds_the_array_as_swath_and_zarr_python_read_it(kind: str, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    store = small_store(tmp_path, kind)
    expected = np.load(store.array)
    with swath.open(store.path) as a:
        np.testing.assert_array_equal(a[...], expected)
    found = zarr.open_array(store.path, mode="r")
    np.testing.assert_array_equal(found[...], expected)
    assert found.chunks == store.chunks == (8, 8)
    assert found.metadata.zarr_format == (2 if kind.startswith("v2") else 3)
    assert found.shards == store.shards == ((32, 32) if kind == "v3-sharded" else None)
    told = str(found.metadata.to_dict())
    for codec in ("zstd", "blosc", "crc32c"):
        assert (codec in told) is (codec in {"v3-sharded": "zstd crc32c"}.get(kind, kind))
    chunk_files = 4 if kind == "v3-sharded" else 30
    assert chunk_files < store.files <= chunk_files + 2
    assert store.stored_bytes == sum(os.path.getsize(path) for path in page_cache.files_of(store.path))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_selections_are_what_they_are_called(pattern: str) -> None:
    values = np.arange(math.prod(SMALL.shape)).reshape(SMALL.shape)
    chosen = stores.selections(pattern, SMALL)
    assert chosen == json.loads(json.dumps(chosen)) == stores.selections(pattern, SMALL)
    found = [values[reading.selection_of(selection)] for selection in chosen]
    shapes = {part.shape for part in found}
    rows, columns = SMALL.shape
    if pattern == "chunks":
        assert (len(found), shapes) == (30, {(8, 8)})
        assert all(part[0, 0] // columns % 8 == part[0, 0] % columns % 8 == 0 for part in found)
        assert len({int(part[0, 0]) for part in found}) == 30
        assert chosen != stores.selections(pattern, options(seed=2))
    else:
        one = {"all": SMALL.shape, "row": (columns,), "column": (rows,), "strided": (-(-rows // 7), -(-columns // 7))}
        assert (len(found), shapes) == (1, {one[pattern]})
    cells = [cell for cell in stores.cells_of("v3", SMALL) if cell["pattern"] == pattern]
    assert [cell["cache"] for cell in cells] == list(CACHES)
    assert {cell["bytes"] for cell in cells} == {4 * sum(part.size for part in found)}


def test_of_many_chunks_sixty_four_are_read() -> None:
    assert len(stores.selections("chunks", options(bytes=1 << 20))) == stores.CHUNKS_READ


# ---- how a program measures ------------------------------------------------------------------------------------------


class Liar(reading.Contender):
    """Reads the array's own file, but one row wrongly, or not at all."""

    def open(self) -> None:
        self.opened = self.settings.get("opened", 0) + 1
        self.settings["opened"] = self.opened
        self.values = np.load(self.settings["array"])

    def read(self, selections: Any) -> list[Any]:
        found = [np.array(self.values[selection]) for selection in selections]
        lie = self.settings["lie"] if found[0].ndim == 1 else ""
        if lie == "fails":
            raise OSError("no such\nchunk")
        if lie == "value":
            found[0][3] += 1
        return (
            [f.astype("f8") for f in found] if lie == "dtype" else [f[1:] for f in found] if lie == "shape" else found
        )


def told_by(store: stores.Store, lie: str, folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    kept = folder / "kept"
    kept.touch()
    settings = {"lie": lie, "array": store.array}
    request = {
        "store": store.path,
        "array": store.array,
        "cells": [cell for cell in store.cells if cell["pattern"] in ("all", "row")],
        "repetitions": 2,
        "kept": str(kept),
    }
    reading.Bench(Liar(store.path, 3, settings), request).run()
    return [json.loads(line) for line in kept.read_text().splitlines()], settings


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (
            "value",
            r"wrong data in \(\d+, slice\(0, 40, 1\)\): at \(3,\) is .*, not .* \(1 wrong elements from there on\)",
        ),
        ("dtype", r"read float64 of shape \(40,\), not float32 of shape \(40,\)"),
        ("shape", r"read float32 of shape \(39,\), not float32 of shape \(40,\)"),
        ("fails", r"^OSError: no such chunk$"),
    ],
)
def test_who_reads_wrong_data_or_fails_is_refused_there_and_goes_on(lie: str, words: str, tmp_path: Path) -> None:
    lines, _ = told_by(small_store(tmp_path), lie, tmp_path)
    refused = [line for line in lines if line["refused"] is not None]
    assert [line["index"] for line in lines] == [0, 1, 2, 3]
    assert [line["index"] for line in refused] == [2, 3]
    for line in refused:
        assert line["repetitions"] == []
        assert re.search(words, line["refused"])


@pytest.mark.parametrize(("short", "times"), [(0.0, 2), (math.inf, 2 * reading.SHORT_TIMES)])
def test_every_read_is_of_a_store_opened_anew_cold_or_warm_and_short_ones_are_repeated_more_often(
    short: float, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SHORT_SECONDS", short)
    store = small_store(tmp_path)
    lines, settings = told_by(store, "", tmp_path)
    assert [len(line["repetitions"]) for line in lines] == [times] * 4
    assert settings["opened"] == 4 * (times + 1)  # and one that does not count
    repetitions = [repetition for line in lines for repetition in line["repetitions"]]
    assert all(r["seconds"] > 0 and r["processor_seconds"] >= 0 for r in repetitions)
    warm = {r["cached_bytes_before"] for line in lines[1::2] for r in line["repetitions"]}
    assert warm <= {store.stored_bytes, None}


# ---- a benchmark, end to end -----------------------------------------------------------------------------------------


def test_swath_alone_reads_every_store_in_every_way(tmp_path: Path) -> None:
    result = measured(options(), tmp_path)
    assert [s["kind"] for s in result["stores"]] == list(STORES)
    assert len(result["cells"]) == len(STORES) * len(PATTERNS) * len(CACHES)
    for cell in result["cells"]:
        entry = cell["contenders"][SWATH]
        assert (entry["refused"], list(cell["contenders"])) == (None, [SWATH])
        assert {r["round"] for r in entry["repetitions"]} == {0}
    assert (result["summary"]["compared"], result["summary"]["refused"]) == (0, [])
    assert os.listdir(tmp_path) == ["array.npy"]
    assert "Of 0" not in in_words(result)
    json.dumps(result)


def test_zarr_python_stands_beside_swath_and_who_is_not_there_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("zarr")
    monkeypatch.setattr(making, "make", this_python)
    asked = options(peers=("zarr", "tensorstore"), stores=("v3-sharded",), caches=("warm",))
    result = measured(asked, tmp_path)
    summary = result["summary"]
    assert summary["compared"] == len(result["cells"]) == 5
    for cell in result["cells"]:
        for name in (SWATH, "zarr-python, defaults", "zarr-python, tuned"):
            assert cell["contenders"][name]["repetitions"]
    assert result["conditions"]["versions"] == {"zarr": "of the tests", "tensorstore": "of the tests"}
    assert result["conditions"]["settings"][SWATH] == "defaults"
    if importlib.util.find_spec("tensorstore") is None:
        reasons = {refused["contender"]: refused["reason"] for refused in summary["refused"]}
        assert list(reasons) == [c.name for c in contenders_of(["tensorstore"], 1)[1:]]
        assert all("No module named 'tensorstore'" in reason for reason in reasons.values())
        assert "tensorstore, tuned refused in v3-sharded all warm and 4 other cells: tensor" in in_words(result)


def test_all_take_turns_in_another_order_each_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def run(contender: Contender, *_: Any) -> tuple[dict[int, dict[str, Any]], str]:
        order.append(contender.name)
        repetition = {"seconds": 1.0, "processor_seconds": 1.0, "cached_bytes_before": 0}
        return {0: {"repetitions": [repetition], "refused": None}}, ""

    monkeypatch.setattr(programs, "run", run)
    monkeypatch.setattr(making, "make", this_python)
    once = {"stores": ("v3",), "patterns": ("row",), "caches": ("cold",)}
    result = measured(options(peers=("zarr",), rounds=3, **once), tmp_path)
    names = sorted(c.name for c in contenders_of(["zarr"], 1))
    rounds = [tuple(order[begin : begin + 3]) for begin in (0, 3, 6)]
    assert all(sorted(one) == names for one in rounds)
    assert len(set(rounds)) > 1
    for entry in result["cells"][0]["contenders"].values():
        assert [r["round"] for r in entry["repetitions"]] == [0, 1, 2]


def test_an_environment_that_cannot_be_made_is_refused_in_all_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(environment: Environment) -> Made:
        raise EnvironmentFailedError(f"{environment.name}: no network")

    monkeypatch.setattr(making, "make", fail)
    result = measured(options(peers=("zarrs",), stores=("v3",), patterns=("row",)), tmp_path)
    assert [(r["contender"], r["reason"], len(r["cells"])) for r in result["summary"]["refused"]] == [
        ("zarrs, defaults", "zarrs: no network", 2),
        ("zarrs, tuned", "zarrs: no network", 2),
    ]
    assert result["summary"]["compared"] == 0


def test_a_program_that_ends_early_is_refused_with_its_last_words(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    python = tmp_path / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho out of luck >&2; exit 7\n")
    python.chmod(0o755)
    made = Made(ENVIRONMENTS["zarr"], str(python.parent.parent), {})
    found, failed = programs.run(Contender("zarr-python", "zarr", "zarr"), made, store, 1, str(tmp_path))
    assert (found, failed) == ({}, "zarr-python: ended with status 7: out of luck")


def test_wrong_data_of_swath_ends_the_run_and_keeps_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "run", lambda *_: ({0: {"repetitions": [], "refused": "wrong data in (3,)"}}, ""))
    kept: list[dict[str, Any]] = []
    with pytest.raises(BenchmarkFailedError, match=r"Swath, v3, all, cold: wrong data in \(3,\)"):
        bench.measure(options(stores=("v3",)), str(tmp_path), kept.append)
    assert len(kept) == 1
    assert os.listdir(tmp_path) == ["array.npy"]


def test_the_command_measures_and_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["zarr", "--quick", "--stores", "v3-blosc", "--patterns", "row,column", "--cache", "warm"]
    assert command.main([*arguments, "--rounds", "1", "--chunk", "128", "--json", "z.json"]) == 0
    assert "v3-blosc column warm" in " ".join(capsys.readouterr().out.split())
    (recorded,) = json.loads(Path("z.json").read_text())
    assert recorded["options"]["chunk"] == 128
    assert recorded["conditions"]["cores"] >= 1
    assert recorded["summary"]["cells"][0]["contenders"][SWATH]["median"] > 0
    assert os.listdir(tmp_path) == ["z.json"]
    assert command.main(["zarr", "--quick", "--stores", "v4"]) == 2
    assert '"v4" is unknown' in capsys.readouterr().err


# ---- what follows from the numbers -----------------------------------------------------------------------------------


def entry(family: str, *seconds: float, refused: str | None = None, cached: int | None = None) -> dict[str, Any]:
    repetitions = [
        {"seconds": s, "processor_seconds": s / 2, "cached_bytes_before": cached, "round": 0} for s in seconds
    ]
    return {"family": family, "repetitions": repetitions, "refused": refused}


def summary_of(cache: str = "warm", **contenders: dict[str, Any]) -> dict[str, Any]:
    cell = {"store": "v3", "pattern": "all", "cache": cache, "bytes": 1, "contenders": contenders}
    return bench.summarise({"cells": [cell], "stores": [{"kind": "v3", "stored_bytes": 1000}]})


@pytest.mark.parametrize(("ours", "ratio", "slower", "beyond"), [(1.1, 0.55, 0, 0), (2.4, 1.2, 1, 0), (3.0, 1.5, 1, 1)])
def test_slower_is_beyond_noise_where_the_fastest_peer_does_not_scatter_as_far(
    ours: float, ratio: float, slower: int, beyond: int
) -> None:
    summary = summary_of(
        swath=entry("swath", ours),
        fast=entry("zarrs", 0.1, 1.8, 2.0, 2.4, 90.0),  # the highest and the lowest are dropped
        slow=entry("zarr", 4.0),
        wrong=entry("tensorstore", 0.5, refused="wrong data"),
    )
    (cell,) = summary["cells"]
    assert (cell["fastest_peer"], cell["ratio"]) == ("fast", pytest.approx(ratio))
    assert cell["noise"] == pytest.approx(0.3)
    assert cell["processor_ratio"] == pytest.approx(ours / 2 / 1.0)
    assert (summary["slower"], summary["slower_beyond_noise"], summary["compared"]) == (slower, beyond, 1)
    assert summary["refused"] == [{"contender": "wrong", "reason": "wrong data", "cells": ["v3 all warm"]}]


@pytest.mark.parametrize(
    ("cache", "cached", "count"), [("cold", 11, 2), ("cold", 10, 0), ("cold", None, 0), ("warm", 1000, 0)]
)
def test_cold_reads_that_were_none_are_counted(cache: str, cached: int | None, count: int) -> None:
    assert summary_of(cache, swath=entry("swath", 1.0, 1.0, cached=cached))["not_cold"] == count


# ---- the real ones ---------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", PEERS)
def test_a_peer_in_its_own_environment_reads_every_store(
    name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    try:
        making.make(ENVIRONMENTS[name])
    except EnvironmentFailedError as failure:
        pytest.skip(f"not to be had here: {failure}")
    result = measured(dataclasses.replace(quick_options(), peers=(name,), rounds=1), tmp_path)
    cells = len(STORES) * len(PATTERNS) * len(CACHES)
    assert result["summary"]["compared"] >= cells - 2 * len(STORES)
    refused = result["summary"]["refused"]
    if name == "zarrs":  # it has no steps
        assert {cell.split()[1] for r in refused for cell in r["cells"]} <= {"strided"}
    else:
        assert refused == []

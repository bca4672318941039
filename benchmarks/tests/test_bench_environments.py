"""Peers in separate environments: they measure the requested cells, by the schema, and failures give a reason."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swath.errors import ArgumentError
from swath_bench import copy_peers, layout
from swath_bench.measure import stamped
from swath_bench.ncio import peers
from swath_bench.ncio.options import CASES, Options
from swath_bench.ncio.pattern import Pattern, Values
from swath_bench.ncio.peers import RUNS, Run
from swath_bench.peers import environments as making
from swath_bench.peers.environments import ENVIRONMENTS, Environment, EnvironmentFailedError, Made
from swath_bench.peers.programs import regions
from swath_bench.peers.running import STANDALONE, Program
from swath_bench.zarr.contenders import contenders_of
from swath_bench.zarr.options import PEERS as ZARR_PEERS

H5PY = "h5py (1 process)"
KEYS = {
    "peer",
    "family",
    "chosen",
    "predicted_seconds",
    "repetitions",
    "mean_seconds",
    "low_seconds",
    "high_seconds",
    "megabytes_per_second",
    "reached_device",
    "refused",
    "skipped",
}
REPETITION_KEYS = {
    "seconds",
    "operation_seconds",
    "sync_seconds",
    "inner",
    "device_read_bytes",
    "device_written_bytes",
    "cached_bytes_before",
    "dropped",
}


def cell(
    case: str = "nc-nc", direction: str = "write", cache: str = "warm", ranks: int = 2, **more: Any
) -> dict[str, Any]:
    made = {
        "sweep": "count",
        "case": case,
        "direction": direction,
        "cache": cache,
        "ranks": ranks,
        "region_count": 20,
        "region_bytes": 16,
        "spacing_bytes": 24,
        "contenders": {"swath auto": {}},
        **more,
    }
    return {**made, "bytes": ranks * made["region_count"] * made["region_bytes"]}


def options(**more: Any) -> dict[str, Any]:
    return dataclasses.asdict(Options(repetitions=3, pause=0, **more))


def this_python(environment: Environment) -> Made:
    """The environment of the tests instead of a separate one."""
    return Made(environment, sys.prefix, {"h5py": "of the tests"})


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("h5py") is None:
        pytest.skip("no module h5py")
    monkeypatch.setattr(making, "make", this_python)


def check_schema(entry: dict[str, Any], direction: str) -> None:
    assert entry.keys() == KEYS
    assert entry["refused"] is None
    assert (entry["peer"], entry["chosen"], entry["predicted_seconds"]) == (True, None, None)
    assert [r["dropped"] for r in entry["repetitions"]].count(False) == 1
    for repetition in entry["repetitions"]:
        assert repetition.keys() == REPETITION_KEYS
        assert repetition["seconds"] == pytest.approx(repetition["operation_seconds"] + repetition["sync_seconds"])
        assert (repetition["sync_seconds"] > 0) is (direction == "write")
        assert repetition["inner"] == 1 or direction == "read"
    (kept,) = (r["seconds"] for r in entry["repetitions"] if not r["dropped"])
    assert entry["low_seconds"] == entry["mean_seconds"] == entry["high_seconds"] == kept
    json.dumps(entry)


# ---- the geometry ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("spacing", [0, 24])
def test_peers_are_told_the_regions_that_swath_moves(case: str, spacing: int) -> None:
    pattern = Pattern(3, 20, 16, spacing, case)
    told = regions._pattern({"pattern": peers.pattern_of(cell(case, ranks=3, spacing_bytes=spacing))})
    image = pattern.file_image(0, pattern.file_shape[0], 7)
    assert told.memory_shape == pattern.memory_shape
    np.testing.assert_array_equal(told.image(0, told.file_shape[0], 7), image)
    for rank in range(3):
        expected = stamped(pattern.region_elements(rank, 0, 20), 7)
        np.testing.assert_array_equal(told.regions(rank, 7), expected)
        np.testing.assert_array_equal(image[told.rows(rank), : told.units], expected)


# ---- what is known of peers ------------------------------------------------------------------------------------------


def test_every_peer_of_every_benchmark_can_be_installed_and_has_a_program() -> None:
    programs = {
        *((name, name) for name in copy_peers.NAMES),
        *((run.peer, run.peer) for run in RUNS),
        *((contender.environment, contender.program) for contender in contenders_of(ZARR_PEERS, 2)),
        *((name, name.replace("-", "_")) for name in layout.PEERS),
    }
    assert {environment for environment, _ in programs} == set(ENVIRONMENTS)
    for _, program in programs:
        assert importlib.util.find_spec(f"swath_bench.peers.programs.{program}") is not None


def test_programs_import_nothing_of_swath_but_swaths_own() -> None:
    folder = Path(making.__file__).parent / "programs"
    for path in sorted(folder.glob("*.py")):
        tree = ast.parse(path.read_text())
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) if not node.level}
        own = {name for name in imported if name.split(".")[0] == "swath"}
        assert own == ({"swath"} if path.stem == "swath" else set()), path


# ---- a peer program, end to end --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_h5py_measures_a_read_and_a_write_and_leaves_nothing_behind(tmp_path: Path) -> None:
    cells = [cell(), cell(direction="read")]
    told = peers.measure(["h5py"], 2, cells, options(), str(tmp_path))
    assert told["versions"] == {"h5py": "of the tests"}
    assert told["hints"] == {H5PY: {}}
    assert [list(contenders) for contenders in told["contenders"]] == [[H5PY], [H5PY]]
    for of, contenders in zip(cells, told["contenders"], strict=True):
        entry = contenders[H5PY]
        check_schema(entry, of["direction"])
        assert entry["family"] == "h5py"
        assert entry["megabytes_per_second"] == pytest.approx(of["bytes"] / entry["mean_seconds"] / 1e6)
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("here")
def test_every_case_cache_and_direction_passes_the_check_of_its_data(tmp_path: Path) -> None:
    cells = [
        cell(case, direction, cache, spacing_bytes=spacing)
        for case in CASES
        for direction in ("write", "read")
        for cache in ("warm", "cold")
        for spacing in (0, 24)
    ]
    told = peers.measure(["h5py"], 2, cells, options(sync=False), str(tmp_path))
    for contenders in told["contenders"]:
        assert contenders[H5PY]["refused"] is None
        assert len(contenders[H5PY]["repetitions"]) == 3


@pytest.mark.usefixtures("here")
def test_a_folder_may_be_named_from_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = peers.measure(["h5py"], 2, [cell()], options(), ".")
    assert told["contenders"][0][H5PY]["refused"] is None


@pytest.mark.usefixtures("here")
def test_what_a_program_cannot_go_on_from_is_said(tmp_path: Path) -> None:
    told = peers.measure(["h5py"], 2, [cell(), cell(sweep="depth")], options(limit_seconds=1e-9), str(tmp_path))
    refused = [contenders[H5PY]["refused"] for contenders in told["contenders"]]
    assert refused == [None, "h5py: ended with status 1: KeyError: 'depth'"]  # earlier measurements are kept


@pytest.mark.usefixtures("here")
def test_who_is_too_slow_is_not_tried_again_in_that_sweep(tmp_path: Path) -> None:
    cells = [cell(), cell(region_count=40), cell(direction="read"), cell(sweep="size")]
    told = peers.measure(["h5py"], 2, cells, options(limit_seconds=1e-9), str(tmp_path))
    slow, after, *others = (contenders[H5PY] for contenders in told["contenders"])
    assert (len(slow["repetitions"]), slow["skipped"]) == (1, None)
    assert after["repetitions"] == []
    assert after["skipped"] == f"took {slow['mean_seconds']:.3g} s at region count 20"
    assert [len(entry["repetitions"]) for entry in others] == [1, 1]


# ---- what peers do wrong ---------------------------------------------------------------------------------------------


class Memory(regions.Store):
    """A store for tests."""

    def create(self, pattern: regions.Pattern) -> None:
        np.save(self.path, pattern.image(0, pattern.file_shape[0], self.stamp))

    def rows(self, pattern: regions.Pattern, begin: int, end: int) -> Values:
        return np.asarray(np.load(self.path)[begin:end])


class Liar(regions.Contender):
    """Moves one element wrongly, or fails."""

    def __init__(self, name: str, store: regions.Store, lie: str) -> None:
        super().__init__(name, store, [0, 1])
        self._lie = lie

    def operation(self, pattern: regions.Pattern, direction: str, memories: list[Values]) -> Any:
        def move() -> None:
            if self._lie == "fails":
                raise OSError("no such hyperslab")
            array = np.load(self.store.path)
            for rank, memory in zip(self.held, memories, strict=True):
                if direction == "read":
                    memory[:, : pattern.units] = array[pattern.rows(rank), : pattern.units]
                else:
                    array[pattern.rows(rank), : pattern.units] = memory[:, : pattern.units]
            changed = {"region": (3, 0), "gap": (3, pattern.units)}.get(self._lie)
            if changed:
                (memories[1] if direction == "read" else array)[changed] += 1
            np.save(self.store.path, array)

        return move


@pytest.mark.parametrize(
    ("lie", "direction", "words"),
    [
        ("region", "read", r"wrong data in memory of rank 1: row 3, element 0 is \d+, not \d+ \(1 wrong elements\)"),
        ("gap", "read", r"wrong data in memory of rank 1: row 3, element 2 is 0, not -1 \(1 wrong"),
        ("region", "write", r"wrong data in the store: row 3, element 0 is \d+, not \d+ \(1 wrong elements\)"),
        ("gap", "write", r"wrong data in the store: row 3, element 2 is 18, not 17 \(1 wrong elements\)"),
        ("fails", "read", r"OSError: no such hyperslab"),
        ("", "read", None),
        ("", "write", None),
    ],
)
def test_a_peer_that_moves_wrong_data_or_fails_is_refused_with_the_reason(
    tmp_path: Path, lie: str, direction: str, words: str | None
) -> None:
    store = Memory(str(tmp_path / "store.npy"))
    kept = tmp_path / "kept"
    kept.touch()
    request = {
        "cells": [{**cell(direction=direction), "index": 0, "pattern": peers.pattern_of(cell())}],
        "options": options(),
        "folder": str(tmp_path),
        "kept": str(kept),
    }
    regions.Bench(regions.Ranks(), [Liar("a liar", store, lie)], request).run()
    found = json.loads(kept.read_text())["contenders"]["a liar"]
    if words is None:
        assert (found["refused"], len(found["repetitions"])) == (None, 3)
    else:
        assert found["repetitions"] == []
        assert re.search(words, found["refused"])


def made_of(tmp_path: Path, program: str) -> Made:
    """An environment whose Python is a shell script."""
    python = tmp_path / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{program}\n")
    python.chmod(0o755)
    return Made(ENVIRONMENTS["h5py"], str(python.parent.parent), {})


def test_a_program_that_ends_early_is_refused_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "make", lambda _: made_of(tmp_path, "echo out of luck >&2; exit 7"))
    told = peers.measure(["h5py"], 2, [cell()], options(), str(tmp_path))
    entry = told["contenders"][0][H5PY]
    assert entry["refused"] == "h5py: ended with status 7: out of luck"
    assert (entry["repetitions"], entry["mean_seconds"], entry["megabytes_per_second"]) == ([], None, None)


def test_a_program_that_hangs_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "SILENT_SECONDS", 0.5)
    pids = tmp_path / "pids"
    made = made_of(tmp_path, f"trap '' TERM; sleep 1000 & echo $! > {pids}; wait")
    found, failed = peers.run(made, Run("h5py", (H5PY,)), 2, [cell()], options(limit_seconds=0.1), str(tmp_path))
    assert (found, failed) == ({}, "h5py: no sign of life for 2 s, ended: it said nothing")
    deadline = time.monotonic() + 10
    while state_of(int(pids.read_text())) not in ("gone", "Z"):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def state_of(process: int) -> str:
    """The state as in /proc; "Z" if no process has read its exit status yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


def test_an_environment_that_pip_cannot_make_is_refused_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    absent = dataclasses.replace(ENVIRONMENTS["h5py"], requirements=("h5py @ file:///absent.whl",))
    monkeypatch.setitem(ENVIRONMENTS, "h5py", absent)
    told = peers.measure(["h5py"], 2, [cell()], options(), str(tmp_path))
    assert "h5py: " in told["contenders"][0][H5PY]["refused"]
    assert "absent.whl" in told["contenders"][0][H5PY]["refused"]
    assert told["versions"] == {}
    assert not (tmp_path / "cache" / "swath" / "environments" / "h5py" / making.MADE).exists()


def test_a_name_that_is_no_environment_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r'"netcdf" is no environment: expected some of openmpi, h5py, zarr, tens'):
        peers.measure(["h5py", "netcdf"], 2, [cell()], options(), str(tmp_path))


def test_programs_inherit_no_settings_of_another_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    unsieved = RUNS[1]
    settings = Program(this_python(ENVIRONMENTS["openmpi"]), "openmpi", "regions", 1, unsieved.settings).variables()
    assert "PMI_RANK" not in settings
    assert settings["PYTHONPATH"] == os.pathsep.join([os.path.dirname(making.__file__), *STANDALONE])
    assert settings["OMPI_MCA_fbtl_posix_read_datasieving"] == "0"


# ---- the real ones ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("cache"))


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name == "h5py" else pytest.mark.exhaustive) for name in peers.NAMES],
)
def test_an_environment_is_made_once_and_measures_by_the_schema(
    name: str, cache: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    try:
        made = making.make(ENVIRONMENTS[name])
    except EnvironmentFailedError as failure:
        pytest.skip(f"not to be had here: {failure}")
    capfd.readouterr()
    cells = [cell(), cell("c-nc", "read", "cold")]
    told = peers.measure([name], 2, cells, options(), str(tmp_path))
    assert "installing" not in capfd.readouterr().err
    assert told["versions"] == made.library_versions
    assert list(told["versions"]) == [name]
    named = [contender for run in RUNS if run.peer == name for contender in run.contenders]
    assert list(told["hints"]) == named
    for of, contenders in zip(cells, told["contenders"], strict=True):
        assert list(contenders) == named
        for entry in contenders.values():
            check_schema(entry, of["direction"])
            assert entry["family"] == name
    assert os.listdir(tmp_path) == []

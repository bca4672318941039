"""`swath bench copy --peers`: peers make the requested copies, Swath checks them, and failures give a reason."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from mpi_runs import needs_mpi
from swath.errors import ArgumentError
from swath.store.standalone import page_cache
from swath_bench import __main__ as command
from swath_bench import copy, copy_peers
from swath_bench.peers import environments as making
from swath_bench.peers.environments import Environment, EnvironmentFailedError, Made
from swath_bench.peers.programs import copying

HERE = os.path.dirname(os.path.abspath(__file__))
SHAPE = (75, 40)
CHUNK = 16
MEMORY = 96 << 10


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / copy_peers.SOURCE, np.arange(float(SHAPE[0] * SHAPE[1])).reshape(SHAPE))
    return tmp_path


def this_python(environment: Environment) -> Made:
    """The environment of the tests instead of a separate one."""
    return Made(environment, sys.prefix, {"zarr": "of the tests"})


def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Environments whose Python is a shell script."""
    python = tmp_path / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{program}\n")
    python.chmod(0o755)
    monkeypatch.setattr(making, "make", lambda environment: Made(environment, str(python.parent.parent), {}))


def job(contender: str, case: str = "transpose", repetition: int = 1) -> dict[str, Any]:
    return {"contender": contender, "case": case, "repetition": repetition, "memory": MEMORY}


def copied(folder: Path, contender: str, case: str = "transpose", limit_seconds: float = 60.0) -> dict[str, Any]:
    peers = copy_peers.Peers(str(folder), limit_seconds)
    peers.prepare(copy_peers.NAMES, MEMORY, SHAPE)
    return peers.measure(job(contender, case), SHAPE, CHUNK)


def request(folder: Path, **more: Any) -> dict[str, Any]:
    """A request to a program, for tests of the protocol."""
    peers = copy_peers.Peers(str(folder), 60.0)
    asked = peers._request(job("zarr-python, tuned"), "tuned", SHAPE, CHUNK, str(folder))
    return {**asked, "kept": str(folder / "kept.jsonl"), **more}


# ---- options ---------------------------------------------------------------------------------------------------------


def test_peers_without_names_are_all_there_are() -> None:
    asked = command.options_of("copy", command.parser().parse_args(["copy", "--peers", "--limit-seconds", "7"]))
    assert asked.peers == ("tensorstore", "zarr", "dask", "rechunker", "cubed")
    assert asked.limit_seconds == 7
    assert copy.needs(asked)["disk"] > copy.needs(copy.Options())["disk"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"peers": ("zarr", "mpi")}, '"mpi" is no peer of copy: expected some of tensorstore, zarr, dask'),
        ({"peers": ("zarr",), "grid": True}, "leave out --grid or --peers"),
        ({"limit_seconds": 0.0}, "--limit-seconds 0: expected more than 0"),
    ],
)
def test_what_cannot_be_measured_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        copy.Options(**wrong)


def test_every_repetition_that_counts_has_every_peer() -> None:
    jobs = [job for _, job in copy._jobs(copy.Options(peers=("zarr", "cubed"), repetitions=2))]
    assert jobs[0]["contender"] == "make"
    peers = [(j["case"], j["contender"], j["repetition"]) for j in jobs if j["contender"] in copy_peers.CONTENDERS]
    assert len(peers) == len(set(peers)) == 2 * 2 * 2 * 2
    assert {name for _, name, _ in peers} == {
        f"{t}, {s}" for t in ("zarr-python", "cubed") for s in ("defaults", "tuned")
    }
    assert {repetition for _, _, repetition in peers} == {1, 2}


# ---- what a program is told and does ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "memory"), [((1000, 64), 64 << 10), ((3, 1 << 20), 1 << 20), ((5, 4), 1 << 30)])
def test_chunks_are_whole_rows_within_a_part_of_the_budget(shape: tuple[int, int], memory: int) -> None:
    rows, columns = copy_peers.chunks_of_rows(shape, memory)
    assert columns == shape[1]
    assert 1 <= rows <= shape[0]
    assert rows == 1 or rows * columns * 8 <= min(memory // 16, 8 << 20)


@pytest.mark.parametrize("chunks", [(7, 40), (16, 16), (75, 40), (1, 3)])
@pytest.mark.parametrize("nbytes", [1, 4000, 1 << 20])
def test_blocks_are_whole_chunks_and_cover_the_target_once(folder: Path, chunks: tuple[int, int], nbytes: int) -> None:
    asked = {**request(folder), "target_shape": SHAPE, "chunks": chunks}
    one = copying.Job(**asked)
    seen = np.zeros(SHAPE, int)
    for rows, columns in one.blocks(nbytes):
        seen[rows, columns] += 1
        assert rows.start % chunks[0] == 0
        assert columns.start % chunks[1] == 0
        part = seen[rows, columns]
        assert part.nbytes <= max(nbytes, 8 * chunks[0] * chunks[1])
    assert (seen == 1).all()


def test_a_mapped_block_becomes_an_array_in_c_order() -> None:
    values = np.arange(700.0 * 5).reshape(700, 5)
    for block in (values, values.T, values[3:600, 1:4], values.T[:0]):
        made = copying.in_memory(block)
        np.testing.assert_array_equal(made, block)
        assert made.flags.c_contiguous
        assert not np.shares_memory(made, values)


def test_memory_of_children_counts_and_what_was_there_before_does_not(folder: Path) -> None:
    hold = "import sys, time; b = bytearray(48 << 20); print(1, flush=True); time.sleep(1)"

    def work(job: copying.Job) -> dict[str, Any]:
        with subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.read()
        os.makedirs(job.target)
        return {"hints": {}}

    before = bytearray(64 << 20)
    before[::4096] = b"x" * len(before[::4096])
    asked = request(folder)
    told = copying.measured(work, copying.Job(**asked))
    assert 48 << 20 <= told["peak_bytes"] < 112 << 20
    assert told["seconds"] >= told["sync_seconds"] >= 0


def test_everything_of_the_target_is_synced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    sync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    def work(job: copying.Job) -> dict[str, Any]:
        os.makedirs(f"{job.target}/c/0")
        for name in ("zarr.json", "c/0/0"):
            Path(job.target, name).write_text("")
        synced.clear()
        return {"hints": {}}

    monkeypatch.setattr(os, "fsync", noted)
    asked = request(folder)
    copying.measured(work, copying.Job(**asked))
    assert set(synced) == {asked["target"] + name for name in ("", "/zarr.json", "/c", "/c/0", "/c/0/0")}


def test_the_source_is_cold_when_the_clock_starts(folder: Path) -> None:
    source = folder / copy_peers.SOURCE
    source.read_bytes()
    cached: list[int | None] = []

    def work(job: copying.Job) -> dict[str, Any]:
        with open(source, "rb") as file:
            cached.append(page_cache.cached_bytes(file.fileno(), os.path.getsize(source)))
        os.makedirs(job.target)
        return {"hints": {}}

    copying.measured(work, copying.Job(**request(folder)))
    if cached == [None]:
        pytest.skip("the kernel does not tell what it caches")
    if page_cache.device_bytes_written(str(folder)) is None:
        pytest.skip("no block device: the page cache is the medium")
    assert cached == [0]


# ---- a program, end to end -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("case", copy.TIMED_CASES)
@pytest.mark.parametrize("contender", list(copy_peers.CONTENDERS))
def test_a_peer_copies_and_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, contender: str, case: str
) -> None:
    peer, _ = copy_peers.CONTENDERS[contender]
    if importlib.util.find_spec(peer) is None:
        pytest.skip(f"no module {peer}")
    monkeypatch.setattr(making, "make", this_python)
    told = copied(folder, contender, case)
    assert told["refused"] is None
    assert told["seconds"] > told["sync_seconds"] > 0
    assert told["peak_bytes"] >= 0
    assert told["hints"]["source"]
    json.dumps(told)
    assert sorted(os.listdir(folder)) == [copy_peers.SOURCE, copy_peers.STORE]


def test_what_a_program_cannot_do_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("zarr") is None:
        pytest.skip("no module zarr")
    monkeypatch.setattr(making, "make", this_python)
    (folder / copy_peers.SOURCE).write_bytes(b"no array")
    peers = copy_peers.Peers(str(folder), 60.0)
    told = peers.measure(job("zarr-python, tuned"), SHAPE, CHUNK)
    assert told["refused"].startswith("zarr-python, tuned: ValueError: ")


FAKE = """
import json, os, sys, numpy
r = json.load(open(sys.argv[1]))
os.mkdir(r["target"])
a = numpy.load(r["source"]).T.copy()
a[3, 5] += {error}
open(r["target"] + "/0.0", "wb").write(a.tobytes())
json.dump(dict(zarr_format=2, shape=a.shape, chunks=a.shape, dtype="<f8", fill_value=0, order="C", filters=None,
               compressor=None), open(r["target"] + "/.zarray", "w"))
open(r["kept"], "a").write(json.dumps(dict(seconds=1, sync_seconds=0, transposed=True, hints={{}})) + chr(10))
"""


@pytest.mark.parametrize("error", [0, 1])
def test_a_wrong_element_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    (folder / "fake.py").write_text(FAKE.format(error=error))
    script(folder, monkeypatch, f'shift 2; exec {sys.executable} {folder}/fake.py "$@"')
    refused = copied(folder, "dask, tuned")["refused"]
    if error:
        assert refused.startswith("dask, tuned: wrong data: ")
    else:
        assert refused is None


def test_a_program_that_ends_early_is_refused_once_and_for_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(folder, monkeypatch, f"echo x >> {folder}/starts; echo out of luck >&2; exit 7")
    peers = copy_peers.Peers(str(folder), 60.0)
    versions = peers.versions  # as a record has them from the beginning on
    for repetition in (1, 2):
        told = peers.measure(job("cubed, defaults", repetition=repetition), SHAPE, CHUNK)
        assert told == {"refused": "cubed, defaults: ended with status 7: out of luck"}
    assert (folder / "starts").read_text() == "x\n"
    assert list(versions) == ["cubed"]
    peers.measure(job("cubed, defaults", "tile"), SHAPE, CHUNK)
    assert (folder / "starts").read_text() == "x\nx\n"


def test_a_program_that_takes_too_long_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(folder, monkeypatch, """echo '{"begun": true}' >> kept.jsonl; sleep 1000""")
    begin = time.monotonic()
    told = copied(folder, "dask, defaults", limit_seconds=0.5)
    assert told == {"refused": "dask, defaults: took more than 0.5 s, ended"}
    assert time.monotonic() - begin < 30


def test_an_environment_that_cannot_be_made_is_tried_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def make(environment: Environment) -> Made:
        tried.append(environment.name)
        raise EnvironmentFailedError(f"{environment.name}: no network")

    monkeypatch.setattr(making, "make", make)
    peers = copy_peers.Peers(str(folder), 60.0)
    for contender in ("rechunker, defaults", "rechunker, tuned"):
        told = peers.measure(job(contender), SHAPE, CHUNK)
        assert told == {"refused": f"{contender}: rechunker: no network"}
    assert tried == ["rechunker"]
    assert peers.versions == {}


# ---- what follows ----------------------------------------------------------------------------------------------------


def measured(contender: str, seconds: float, peak: int, **more: Any) -> dict[str, Any]:
    what = {"contender": contender, "case": "tile", "repetition": 1, "ranks": 1, "bytes": 100, "memory": 100}
    return {**what, "seconds": seconds, "peak_bytes": peak, "device_bytes": 0, "sync_seconds": 0.1, **more}


def result(*rows: dict[str, Any]) -> dict[str, Any]:
    ours = measured("Swath", 2.0, 50, predicted_seconds=2.0, predicted_bytes=60)
    told = {"measurements": [ours, *rows], "options": {"bytes": 100, "memory": 100, "grid": False}}
    return {**told, "summary": copy.summarise(told)}


def test_swath_is_set_beside_the_fastest_peer_and_the_fastest_within_the_budget() -> None:
    refused = {**measured("cubed, tuned", 0, 0), "refused": "cubed, tuned: took more than 600 s, ended"}
    for name in ("seconds", "peak_bytes", "device_bytes", "sync_seconds"):
        del refused[name]
    told = result(
        measured("TensorStore, defaults", 1.0, 800),
        measured("dask, tuned", 3.0, 111),
        measured("zarr-python, tuned", 4.0, 110),
        refused,
    )
    rows = {row["contender"]: row for row in told["summary"]["rows"]}
    ours = rows["Swath"]
    assert (ours["best_peer_any"], ours["of_best_peer_any"]) == ("TensorStore, defaults", 2.0)
    assert (ours["best_peer_in_budget"], ours["of_best_peer_in_budget"]) == ("zarr-python, tuned", 0.5)
    assert [name for name, row in rows.items() if row["kept_budget"]] == ["Swath", "zarr-python, tuned"]
    (entry,) = told["summary"]["refused"]
    assert entry == {"case": "tile", "contender": "cubed, tuned", "reason": refused["refused"]}
    console = Console(width=200)
    with console.capture() as captured:
        copy.show(console, told)
    said = captured.get()
    assert "tile: Swath took 2.00 of the time of the fastest peer (TensorStore, defaults), and 0.50 of" in said
    assert "(8.00, not kept)" in said
    assert "tile: refused: cubed, tuned: took more than 600 s, ended" in said


def test_no_peer_within_the_budget_is_said() -> None:
    told = result(measured("dask, tuned", 3.0, 500))
    console = Console(width=200)
    with console.capture() as captured:
        copy.show(console, told)
    assert "(dask, tuned); no peer kept the budget." in captured.get()


# ---- the real ones ---------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
def test_real_environments_copy_and_are_right(tmp_path: Path) -> None:
    needs_mpi()
    record = tmp_path / "copy.json"
    asked = [sys.executable, "-m", "swath_bench", "copy", "--quick", "--bytes", "1MiB", "--chunk", "32", "--peers"]
    asked += ["--json", str(record), "--folder", str(tmp_path), "--limit-seconds", "60"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=800, check=False, cwd=HERE)
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(record.read_text())
    absent = [name for name in copy_peers.NAMES if name not in told["versions"]]
    refused = told["summary"]["refused"]
    assert all(any(copy_peers.TITLES[name] in entry["contender"] for name in absent) for entry in refused), refused
    assert os.listdir(tmp_path) == ["copy.json"]
    if absent:
        pytest.skip(f"not to be had here: {refused[0]['reason']}")
    compared = {row["contender"] for row in told["summary"]["rows"]}
    assert set(copy_peers.CONTENDERS) <= compared
    assert all(row["device_bytes"] is not None for row in told["summary"]["rows"])

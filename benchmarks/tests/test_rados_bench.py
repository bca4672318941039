"""`swath bench ncio --store rados:POOL`: the same grid, protocol and comparison on files in a Ceph pool."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ceph
from mpi_runs import needs_mpi
from swath import _core
from swath.ranks.ranks import Ranks, ranks_of
from swath.simulated import run_ranks
from swath_bench import ncio
from swath_bench.measure import WrongDataError
from swath_bench.ncio import contenders, options, running
from swath_bench.ncio.options import Options

pytestmark = ceph.needs_cluster

STORE = f"rados:{ceph.POOL}?conf={ceph.CONF}"


def tiny(**others: Any) -> Options:
    given = {"counts": (50,), "sizes": (24,), "spacings": (16,), "base_count": 30, "base_spacing": 16, "pause": 0}
    return options.for_store(Options(**{**given, "repetitions": 3, "ranks": (2,), "syncs": 0, **others}), STORE)


@pytest.mark.parametrize("stripe", ["", "&stripe=1000,3,7000"])
def test_every_cell_is_measured_by_every_method_and_its_file_is_gone(tmp_path: Path, stripe: str) -> None:
    asked = tiny(sweeps=("count",), syncs=3)
    asked = options.for_store(asked, STORE + stripe)
    path = str(tmp_path / "ncio.bin")
    told = run_ranks(2, lambda comm: ncio.run(Ranks(comm), path, asked))[0]
    cells = [json.loads(line) for line in Path(running.cells_path(path)).read_text().splitlines()]
    assert [(c["case"], c["direction"], c["cache"]) for c in cells] == [
        (case, direction, "uncached") for case in options.CASES for direction in ("write", "read")
    ]
    for cell in cells:
        assert list(cell["contenders"]) == [f"swath {method}" for method in options.POOL_METHODS]
        assert cell["contenders"]["swath auto"]["chosen"] in options.POOL_METHODS[:5]
        for contender in cell["contenders"].values():
            assert (contender["refused"], contender["reached_device"]) == (None, None)
            assert contender["predicted_seconds"] > 0
            assert len(contender["repetitions"]) == 3
    assert [way["way"] for way in told["syncs"]] == ["one sync for all", "a sync each", "a sync and a size each"]
    assert all(len(way["seconds"]) == 3 and min(way["seconds"]) > 0 for way in told["syncs"])
    assert tmp_path.name not in ceph.rados("ls")


@pytest.mark.parametrize(
    ("element", "words"),
    [
        (3, r"swath lying: 1 ranks, nc-nc write uncached, 50 regions of 8 bytes.* rows 0 to 50 .* at \(1, 0\)"),
        (149, r"at \(49, 2\)"),  # the last gap
        (150, "the file has 1208 bytes, not 1200"),
    ],
)
def test_a_wrong_byte_in_the_pool_ends_the_run(tmp_path: Path, element: int, words: str) -> None:
    class Lying(contenders.SwathContender):
        def operation(self, *given: Any) -> Any:
            move = super().operation(*given)

            def lie() -> None:
                move()
                _core.open_file(path, "r+").write_at(8 * element, b"\x55" * 8)

            return lie

    asked = tiny(sweeps=("count",), cases=("nc-nc",), directions=("write",))
    (only,) = options.cells_of(asked, 1)
    ranks, own = ranks_of(None), str(tmp_path / "ncio.bin")
    path = asked.file_name(own)
    bench = running.Bench(ranks, own, asked)
    file = running.file_under_test(ranks, own, only.pattern.file_bytes // 8, asked)
    with file.opened():
        file.fill(running.GAP_STAMP)
        lying = Lying("list", ranks, path, only.pattern)
        lying.name = "swath lying"
        opened = running.Opened([lying], {}, [(lying.name, "swath")])
        memory = running.np.full(only.pattern.memory_shape, -1, dtype="i8")
        with pytest.raises(WrongDataError, match=words):
            bench.measure_cell(only, file, opened, memory)
        lying.close()
    file.remove()


def test_the_command_measures_a_small_grid_and_reports_it(tmp_path: Path) -> None:
    needs_mpi()
    pytest.importorskip("matplotlib")
    grid = ["--quick", "--sweeps", "size", "--sizes", "16", "--cases", "c-c,nc-nc", "--store", STORE]
    kept = ["--json", "ncio.json", "--html", "ncio.html"]
    result = subprocess.run(
        [sys.executable, "-m", "swath.commands.cli", "bench", "ncio", *grid, *kept],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert sorted(os.listdir(tmp_path)) == ["ncio.html", "ncio.json"]
    recorded = json.loads((tmp_path / "ncio.json").read_text())
    assert recorded["options"]["store"] == STORE
    assert len(recorded["cells"]) == 2 * 2
    assert "rados" in recorded["conditions"]["engine"]
    for cell in recorded["cells"]:
        assert [name for name, c in cell["contenders"].items() if c["mean_seconds"] is not None] == [
            f"swath {method}" for method in options.POOL_METHODS
        ]
    printed = " ".join(result.stdout.split())
    assert "region bytes: nc-nc write, uncached, 2 ranks; MB/s" in printed
    assert "in a pool, no page cache between" in printed
    assert "a sync and a size each" in printed
    page = (tmp_path / "ncio.html").read_text()
    assert "write, no page cache, 2 ranks" in page
    assert "swath datatype" in page
    assert "swath-bench-" not in ceph.rados("ls")


def test_files_of_a_run_that_failed_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tiny()

    def run_on_ranks(benchmark: str, ranks: int, given: dict[str, Any], folder: str) -> dict[str, Any]:
        path = asked.file_name(os.path.join(folder, "ncio.bin"))
        running.PoolFile(ranks_of(None), path, 100).fill(0)
        assert tmp_path.name in ceph.rados("ls")
        raise running.Error("it failed")

    monkeypatch.setattr(ncio.launch, "run_on_ranks", run_on_ranks)
    with pytest.raises(running.Error, match="it failed"):
        ncio.measure(asked, str(tmp_path), lambda result: None)
    assert tmp_path.name not in ceph.rados("ls")

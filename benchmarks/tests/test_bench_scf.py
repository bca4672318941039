"""The benchmark of SCF: it adds up the application's operations, compares its energies, and says if it cannot run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpi_runs import needs_mpi
from swath.errors import ArgumentError, UnsupportedError
from swath_bench import __main__ as command
from swath_bench.launch import BenchmarkFailedError
from swath_bench.scf import options, report, running, summary
from swath_bench.scf.options import Options, Run

APPLICATION = Path(__file__).parents[2] / "applications" / "scf"


def a_run(share: str | None, seconds: float, *, disk: str | None = None) -> dict[str, Any]:
    """A record of the application: two ranks, four operations, two iterations."""
    events = [
        *([0, "open", 0.0, 0.25, 0], [0, "integrals", 0.5, 2.0, 100], [0, "write", 1.0, 0.5, 300_000]),
        *([0, "read", 2.0, 0.75, 300_000], [1, "read", 2.0, 0.5, 5_000], [1, "fock", 2.5, 1.0, 0]),
    ]
    mode = "stored" if share is None else "balanced"
    run = Run("small", 2, disk, mode, share)
    iteration = dict.fromkeys(summary.BACKGROUND, 3.0)
    return {
        "input": "small",
        "ranks": 2,
        "disk": disk,
        "integrals": mode,
        "share": share,
        "words": run.words,
        "seconds": seconds,
        "iteration_seconds": [9 * seconds, seconds / 2],
        "iterations": 2,
        "events": events,
        "energy": -1.5,
        "energy_difference": 1e-12,
        "plan": None,
        "disk_share": None if share is None else 0.5,
        "background": [[], []] if share is None else [[iteration, iteration], [iteration]],
    }


def test_operations_are_added_up_by_kind_with_their_parts_of_io_and_execution() -> None:
    found = summary.run_summary(a_run(None, 10.0))
    by_kind = {row["operation"]: row for row in found["operations"]}
    assert list(by_kind) == ["open", "read", "write", "flush", "close", "all I/O"]
    assert by_kind["read"] == {
        "operation": "read",
        "count": 2,
        "seconds": 1.25,
        "bytes": 305_000,
        "percent_of_io": 62.5,
        "percent_of_execution": 6.25,
    }
    assert by_kind["flush"]["count"] == by_kind["flush"]["seconds"] == 0
    assert (by_kind["all I/O"]["count"], by_kind["all I/O"]["seconds"]) == (4, 2.0)
    assert (found["execution_seconds"], found["integral_seconds"], found["fock_seconds"]) == (20, 2, 1)
    assert list(found["sizes"]["read"].values()) == [0, 1, 0, 1]
    assert list(found["sizes"]["write"].values()) == [0, 0, 0, 1]
    assert found["background"] == {}


def test_sizes_belong_to_the_class_that_they_begin() -> None:
    sizes = [0, 4095, 4096, 65535, 65536, 262143, 262144]
    found = summary.size_distribution([[0, "read", 0, 0, size] for size in sizes])
    assert list(found.values()) == [2, 2, 2, 1]


def test_background_is_that_of_all_ranks_and_iterations() -> None:
    found = summary.run_summary(a_run("auto", 1.0))["background"]
    assert found == dict.fromkeys(summary.BACKGROUND, 9.0)


def test_auto_is_compared_with_the_best_share_and_with_the_better_end() -> None:
    shares = {"0": 10.0, "50": 4.0, "100": 8.0, "auto": 5.0}
    runs = [a_run(None, 1.0), *(a_run(share, seconds, disk="ssd") for share, seconds in shares.items())]
    summarised = summary.summarise({"runs": runs})
    (sweep,) = summarised["sweeps"]
    assert (sweep["best_share"], sweep["auto_to_best"], sweep["ends_to_auto"]) == ("50", 1.25, 1.6)
    assert [point["seconds"] for point in sweep["points"]] == list(shares.values())
    assert summarised["sentences"] == [
        "small, 2 ranks on modelled disk ssd: an iteration is shortest with 50 % of the integrals on disk.",
        "small, 2 ranks on modelled disk ssd: the share that auto finds takes 1.25 × that time.",
        "small, 2 ranks on modelled disk ssd: the better end (0 or 100 %) takes 1.60 × the time of auto.",
    ]


def test_versions_are_set_beside_the_one_whose_integrals_are_stored() -> None:
    runs = [a_run(None, 10.0), a_run("50", 4.0), a_run("auto", 5.0, disk="ssd")]
    here, there = summary.summarise({"runs": runs})["versions"]
    assert (here["disk"], there["disk"]) == (None, "ssd")
    stored, balanced = here["versions"]
    assert (stored["seconds_saved_percent"], balanced["seconds_saved_percent"]) == (0.0, 60.0)
    # Two seconds as stored, and three iterations that waited three seconds each for room to write.
    assert (stored["io_seconds"], balanced["io_seconds"], balanced["io_seconds_saved_percent"]) == (2.0, 11.0, -450.0)
    assert there["versions"][0]["seconds_saved_percent"] is None


def test_what_balanced_wrote_behind_is_an_operation() -> None:
    rows = summary.run_summary(a_run("auto", 10.0))["operations"]
    behind = next(row for row in rows if row["operation"] == "write behind")
    assert (behind["count"], behind["bytes"], behind["seconds"]) == (9, 9, 9.0)
    assert rows[-1]["seconds"] == 11.0
    assert sum(row["percent_of_io"] for row in rows[:-1]) == pytest.approx(100) == rows[-1]["percent_of_io"]


def test_without_both_ends_or_auto_nothing_is_said_of_them() -> None:
    (sweep,) = summary.sweeps_of([a_run("50", 1.0), a_run("75", 2.0)])
    assert (sweep["best_share"], sweep["auto_to_best"], sweep["ends_to_auto"]) == ("50", None, None)
    assert summary.sweeps_of([a_run("auto", 1.0), a_run(None, 1.0)]) == []
    (only,) = summary.sweeps_of([a_run("0", 1.0), a_run("100", 2.0)])
    assert (only["auto_to_best"], only["ends_to_auto"]) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--integrals", "cached"], '--integrals: "cached" is unknown'),
        (["--shares", "0,101"], '--shares: "101": expected percents from 0 to 100, or auto'),
        (["--shares", "half"], '--shares: "half"'),
        (["--disk", "floppy"], '--disk: "floppy" is unknown'),
        (["--tasks", "2"], "--tasks: scf has no such option"),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments: list[str], words: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(words)):
        command.options_of("scf", command.parser().parse_args(["scf", *arguments]))


def test_options_are_understood() -> None:
    given = ["--inputs", "small,a.xyz", "--ranks", "1,4", "--integrals", "stored,balanced", "--shares", "0,12.5,auto"]
    given += ["--memory", "1MiB", "--disk", "ssd", "--basis", "sto-3g", "--application", "here"]
    expected = Options(
        ("small", "a.xyz"), "sto-3g", (1, 4), ("stored", "balanced"), ("0", "12.5", "auto"), 1 << 20, ("ssd",), "here"
    )
    assert command.options_of("scf", command.parser().parse_args(["scf", *given])) == expected
    assert [run.words for run in options.runs_of(expected, "ssd")][2:5] == [
        "small, 1 ranks, modelled disk ssd: balanced 12.5 %",
        "small, 1 ranks, modelled disk ssd: balanced auto",
        "small, 4 ranks, modelled disk ssd: stored",
    ]


def test_without_the_application_it_says_where_it_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(f"scf.py is not in {tmp_path}: swath bench scf runs an appl")):
        running.find_application(str(tmp_path))
    assert running.find_application(str(APPLICATION)) == APPLICATION
    monkeypatch.setattr(running, "__file__", str(tmp_path / "installed" / "running.py"))
    below = tmp_path / "checkout" / "docs"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    with pytest.raises(UnsupportedError, match="or give --application CHECKOUT/applications/scf"):
        running.find_application(None)
    (tmp_path / "checkout" / "applications" / "scf").mkdir(parents=True)
    (tmp_path / "checkout" / "applications" / "scf" / "scf.py").touch()
    assert running.find_application(None) == tmp_path / "checkout" / "applications" / "scf"


@pytest.mark.parametrize("energy", [-1.5 + 2e-8, float("nan")])
def test_another_energy_than_pyscfs_ends_the_benchmark(energy: float, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyscf")
    monkeypatch.setattr(running, "reference", lambda *_: -1.5)
    monkeypatch.setattr(running, "_run", lambda *_: {"energy": energy})
    with pytest.raises(BenchmarkFailedError, match=r"dimer, 2 ranks: stored: wrong energy .*: by pyscf.scf.RHF -1.5"):
        running.measure(Options(("dimer",), ranks=(2,), application=str(APPLICATION)), ".", lambda _: None)


@pytest.mark.slow
def test_the_report_has_a_mark_for_every_read_and_every_share(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    runs = [a_run(None, 1.0), *(a_run(share, 2.0) for share in ("0", "50", "auto"))]
    result = {"runs": runs, "options": {"inputs": ["small"]}, "conditions": {"processor": "A < B"}}
    report.write({**result, "summary": summary.summarise(result)}, str(tmp_path / "s.html"))
    page = (tmp_path / "s.html").read_text()
    assert page.count("s: read of") == 2 * len(runs)
    assert page.count("s: write of") == len(runs)
    assert len(re.findall(r"(?:0|50) % on disk: 2 s, an iteration 1 s", page)) == 2
    assert "A &lt; B" in page
    kept = re.search(r'<script type="application/json" id="result">(.*?)</script>', page, re.DOTALL)
    assert kept is not None
    assert json.loads(kept[1])["runs"] == json.loads(json.dumps(runs))


def test_it_runs_the_application_and_tells_all(tmp_path: Path) -> None:
    pytest.importorskip("pyscf")
    pytest.importorskip("matplotlib")
    needs_mpi()
    command_line = [sys.executable, "-m", "swath_bench", "scf", "--quick", "--integrals", "stored,balanced"]
    command_line += ["--shares", "50,auto"]
    command_line += ["--application", str(APPLICATION), "--json", "s.json", "--html", "s.html"]
    ended = subprocess.run(command_line, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert sorted(os.listdir(tmp_path)) == ["s.html", "s.json"]
    result = json.loads((tmp_path / "s.json").read_text())
    assert [(run["integrals"], run["share"]) for run in result["runs"]] == [
        ("stored", None),
        ("balanced", "50"),
        ("balanced", "auto"),
    ]
    of_all = {run["words"]: run for run in result["summary"]["runs"]}
    size, iterations = result["runs"][0]["integral_bytes"], result["runs"][0]["iterations"]
    stored = of_all["dimer, 2 ranks: stored"]["operations"]
    read = next(row for row in stored if row["operation"] == "read")
    assert (read["count"], read["bytes"] // size) == (6 * iterations + 1, iterations)  # 1: the input file
    assert "\ndimer, 2 ranks: stored\n" in ended.stdout
    written = of_all["dimer, 2 ranks: balanced 50 %"]["background"]
    assert 0.3 * size < written["bytes_written"] < 0.7 * size
    assert written["batches_computed"] < 6 * iterations
    assert "Figure 6: dimer, 2 ranks, this folder" in ended.stdout

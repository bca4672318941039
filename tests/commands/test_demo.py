"""`swath demo`: its work on simulated ranks, its output, and its failures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpi_runs import needs_mpi
from swath.array import opening
from swath.array.open_array import Array
from swath.commands import cli, demo_ranks
from swath.commands import demo as command
from swath.errors import InternalError, StoreError
from swath.simulated import run_ranks
from swath.space import TABLE_1, Block, Cyclic, Distribution, Whole
from swath.store import page_cache

pytest.importorskip("h5py")
pytest.importorskip("iris_sample_data")

Event = dict[str, Any]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_ranks, "DIRECT_REQUESTS_MAX", 5000)
    monkeypatch.setattr(demo_ranks, "REPEATS", 1)


def run_demo(folder: Path, ranks: int, size: int) -> list[Event]:
    """Return rank 0's reports, after a conversion to JSON and back."""
    events: list[Event] = []
    run_ranks(ranks, lambda comm: demo_ranks.run(comm, str(folder), size, events.append), seed=ranks)
    assert all(event["event"] in ("step", "part") for event in events)
    return [json.loads(json.dumps(event)) for event in events if event["event"] == "part"]


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_the_demo_verifies_every_distribution_of_table_1(tmp_path: Path, ranks: int) -> None:
    real, made = run_demo(tmp_path, ranks, 30)
    for part in (real, made):
        assert [row["distribution"] for row in part["rows"]] == list(TABLE_1)
        for row in part["rows"]:
            assert min(row["seconds"].values()) > 0
            assert (row["redistribute_seconds"] is None) == (row["distribution"] == part["conforming"])
    assert real["variable"] == "surface_temperature"
    assert made["table_8"]["here"]["column-block"]["best"] == 1


def test_requests_are_those_of_table_1_of_the_paper(tmp_path: Path) -> None:
    made = run_demo(tmp_path, 4, 64)[1]
    requests = {row["distribution"]: row["requests"]["direct"] for row in made["rows"]}
    assert requests == {
        "column-block": 4,
        "column-cyclic": 64,
        "row-block": 64 * 4,
        "row-cyclic": 64**2,
        "block-block": 64 * 2,
        "block-cyclic": 64 * 2,
        "cyclic-block": 64**2,
        "cyclic-cyclic": 64**2,
    }
    assert all(row["requests"]["two-phase"] <= 4 for row in made["rows"])


def test_the_files_hold_what_numpy_expects(tmp_path: Path) -> None:
    run_demo(tmp_path, 4, 25)
    made = np.load(tmp_path / "made.npy")
    assert made.flags.f_contiguous
    assert (made == np.arange(625.0).reshape(25, 25)).all()
    assert (np.load(tmp_path / "made_transposed.npy") == made.T).all()
    with opening.open(demo_ranks.real_file(), demo_ranks.REAL_VARIABLE) as a:
        assert np.load(tmp_path / "transposed.npy").tobytes() == np.ascontiguousarray(a[...].T).tobytes()


def test_many_requests_are_timed_on_a_part_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_ranks, "DIRECT_REQUESTS_MAX", 1000)
    made = run_demo(tmp_path, 4, 50)[1]
    rows = {row["distribution"]: row for row in made["rows"]}
    assert {name for name, row in rows.items() if row["direct_sample"]} == {
        "row-cyclic",
        "cyclic-block",
        "cyclic-cyclic",
    }
    row = rows["row-cyclic"]
    assert row["requests"]["direct"] == 2500
    assert row["direct_sample"]["columns"] == 20
    assert row["direct_sample"]["requests"] == 1000
    assert row["seconds"]["direct"] == pytest.approx(2.5 * row["direct_sample"]["seconds"])


def test_transposing_a_distribution_transposes_every_share() -> None:
    distribution = Distribution((Whole(), Block(), Cyclic(2)), grid=(1, 2, 3))
    full = np.arange(4 * 5 * 7).reshape(4, 5, 7)
    turned = demo_ranks.transposed(distribution)
    for rank in range(6):
        share = full[np.ix_(*distribution.indices(full.shape, rank))]
        assert (full.T[np.ix_(*turned.indices(full.T.shape, rank))] == share.T).all()


# ---- how it fails ----------------------------------------------------------------------------------------------------


def spoil(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, when: Any) -> None:
    """Clear the lowest bit of one element that `name` returns on rank 2, if `when` says so."""
    honest = getattr(module, name)

    def spoilt(*given: Any, **options: Any) -> Any:
        result = honest(*given, **options)
        if when(given, options) and result.size:
            result.reshape(-1).view(np.uint8)[-1] ^= 1
        return result

    monkeypatch.setattr(module, name, spoilt)


@pytest.mark.parametrize("method", ["direct", "two-phase"])
def test_a_wrong_element_of_a_read_fails_on_all_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    spoil(monkeypatch, Array, "read", lambda a, o: o.get("method") == method and a[0]._ranks.rank == 2)
    errors = []

    def work(comm: Any) -> None:
        with pytest.raises(InternalError) as error:
            demo_ranks.run(comm, str(tmp_path), 20, lambda event: None)
        errors.append(str(error.value))

    run_ranks(4, work)
    assert len(set(errors)) == 1
    assert len(errors) == 4
    assert f"rank 2: column-block read by {method}: 1 of " in errors[0]


def test_a_wrong_element_after_redistribution_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, demo_ranks, "redistribute", lambda a, o: o["comm"].rank == 2)
    with pytest.raises(InternalError, match=r"rank 2: column-block redistributed: 1 of "):
        run_demo(tmp_path, 4, 20)


def test_a_wrong_element_in_the_file_written_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Array.write

    def spoilt(self: Array, values: Any, *given: Any, **options: Any) -> None:
        honest(self, np.array(values) + (self._ranks.rank == 0), *given, **options)

    monkeypatch.setattr(Array, "write", spoilt)
    with pytest.raises(InternalError, match="written transposed"):
        run_demo(tmp_path, 4, 20)


def test_a_folder_that_is_not_there_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nosuch"):
        run_demo(tmp_path / "nosuch", 2, 20)


def fake_ranks(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Run `program` instead of mpiexec and its ranks."""
    monkeypatch.setattr(command, "_check_can_start", lambda: None)
    monkeypatch.setattr(command, "_command", lambda ranks, folder, size: [sys.executable, "-c", program])


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            """print('{"event": "error", "message": "rank 2: 1 of 9 elements are wrong"}')""",
            "1 of 9 elements are wrong",
        ),
        ("""print('{"event": "step", "text": "reading"}'); raise SystemExit(9)""", "status 9, while reading"),
    ],
)
def test_a_failure_of_the_ranks_is_told_and_status_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, program: str, said: str
) -> None:
    fake_ranks(monkeypatch, program)
    assert cli.main(["demo"]) == 1
    printed = capsys.readouterr()
    assert "verified" not in printed.out
    assert said in printed.err


def test_ranks_that_do_not_end_are_ended_and_it_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_ranks(monkeypatch, "import time; time.sleep(100)")
    assert cli.main(["demo", "--timeout", "1"]) == 1
    assert "no end after 1 s, while starting ranks" in capsys.readouterr().err


def test_what_else_ranks_print_is_passed_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_ranks(monkeypatch, "print('a library says'); print('[1]'); print('{}')")
    assert cli.main(["demo", "--json"]) == 0
    printed = capsys.readouterr()
    assert "a library says\n[1]\n{}\n" in printed.err
    assert json.loads(printed.out)["parts"] == []


@pytest.mark.parametrize(("option", "value"), [("--ranks", "0"), ("--size", "-3"), ("--timeout", "soon")])
def test_numbers_that_cannot_be_are_refused(capsys: pytest.CaptureFixture[str], option: str, value: str) -> None:
    assert cli.main(["demo", option, value]) == 2
    assert f"swath: {option}" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    needs_mpi()
    (tmp_path / "file").touch()
    assert cli.main(["demo", "--keep", str(tmp_path / "file")]) == 2
    assert "--keep" in capsys.readouterr().err


# ---- what it prints --------------------------------------------------------------------------------------------------


def test_the_tables_show_plan_and_measurement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_ranks, "DIRECT_REQUESTS_MAX", 1000)
    for part in run_demo(tmp_path, 4, 50):
        command._print_part(part)
    out = capsys.readouterr().out
    for name in TABLE_1:
        assert out.count(f"\n{name} ") >= 2
    assert "≈ direct access timed on the first 20 of 50 columns" in out
    assert ">1,072" in out  # the paper's direct row-cyclic read: more than 604.03 x 5960 / 3357
    assert "17.35" in out  # its speed-up of row-block
    assert "page cache" in out


def test_table_8_of_the_paper_comes_out_as_ratios() -> None:
    rows = [
        {"distribution": name, "redistribute_seconds": r, "seconds": {"direct": d, "two-phase": 1.5}}
        for name, r, d in (("column-block", None, 2.0), ("column-cyclic", 1.0, 6.0), ("row-cyclic", 2.0, 400.0))
    ]
    table = demo_ranks.table_8(rows)
    assert table["here"]["row-cyclic"] == {
        "best": 1,
        "redistribute": 1,
        "direct": 200,
        "two_phase": 0.75,
        "total": 2,
        "speedup": 100,
    }
    paper = {name: round(ratios["speedup"] or 0, 2) for name, ratios in table["paper"].items()}
    assert paper == {"column-block": 1, "column-cyclic": 1.92, "row-block": 17.35, "row-cyclic": 604.03}


@pytest.mark.parametrize(("cached", "said"), [(0.0, "these reads went to the disk"), (0.9, "not of a disk")])
def test_it_says_whether_reads_were_cold(cached: float, said: str) -> None:
    assert said in command._honest_words({"cached_fraction_max": cached})


def test_the_page_cache_is_seen_to_hold_what_was_just_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(1 << 20))
    assert page_cache.cached_fraction(str(path)) == 1
    page_cache.evict(str(path))
    assert 0 <= page_cache.cached_fraction(str(path)) <= 1  # a file system in memory keeps it


@pytest.mark.slow
def test_the_demo_runs_under_mpi_from_the_command_line(tmp_path: Path) -> None:
    needs_mpi()
    asked = [
        sys.executable,
        "-m",
        "swath.commands.cli",
        "demo",
        "--size",
        "300",
        "--keep",
        str(tmp_path / "kept"),
        "--json",
    ]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["verified"], result["ranks"], len(result["parts"])) == (True, 4, 2)
    assert sorted(p.name for p in (tmp_path / "kept").iterdir()) == [
        "made.npy",
        "made_transposed.npy",
        "transposed.npy",
    ]

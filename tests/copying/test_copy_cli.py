"""`swath copy` and `swath verify`: what they do, print and refuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mpi_runs import mpiexec, needs_mpi
from swath.commands import cli

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one, with an array in it."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.arange(60 * 50, dtype="<f8").reshape(60, 50))
    return tmp_path


def test_copy_says_how_fast_it_was_and_verify_that_it_is_right(capsys: Capture, folder: Path) -> None:
    assert cli.main(["copy", "a.npy", "b.h5", "--chunks", "16,20", "--memory", "100KiB"]) == 0
    assert capsys.readouterr().out.startswith("23.4 KiB in ")
    assert cli.main(["verify", "a.npy", "b.h5"]) == 0
    assert capsys.readouterr().out == "equal: 3,000 elements\n"


def test_verify_fails_where_something_differs(capsys: Capture, folder: Path) -> None:
    changed = np.load("a.npy")
    changed[3, 7] = -1
    np.save("b.npy", changed)
    assert cli.main(["verify", "a.npy", "b.npy"]) == 1
    assert capsys.readouterr().out == "different: 1 of 3,000 elements; the first at (3, 7): 157.0 and -1.0\n"
    assert cli.main(["verify", "a.npy", "b.npy", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["first_index"] == [3, 7]
    assert cli.main(["verify", "a.npy", "nowhere.npy"]) == 2


def test_explain_writes_nothing(capsys: Capture, folder: Path) -> None:
    assert cli.main(["copy", "a.npy", "b.npy", "--axes", "1,0", "--memory", "20KiB", "--explain"]) == 0
    out = capsys.readouterr().out
    for word in ("passes", "tiles of", "read 23.4 KiB", "memory", "disk      23.4 KiB", "seconds", "stated defaults"):
        assert word in out
    assert cli.main(["copy", "a.npy", "b.npy", "--axes", "1,0", "--memory", "20KiB", "--explain", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["memory_bytes"] <= 20 << 10
    assert os.listdir() == ["a.npy"]


def test_a_raw_source_is_described_and_a_raw_target_is_as_asked(folder: Path) -> None:
    values = np.arange(24, dtype=">i2").reshape(2, 3, 4)
    values.transpose(2, 0, 1).tofile("dump.bin")
    source = ["--source-shape", "2,3,4", "--source-dtype", ">i2", "--source-order", "2,0,1"]
    assert cli.main(["copy", "dump.bin", "b.npy", *source, "--dtype", "<i4"]) == 0
    np.testing.assert_array_equal(np.load("b.npy"), values)
    assert cli.main(["verify", "dump.bin", "b.npy", *source]) == 0
    assert cli.main(["copy", "b.npy", "c.bin", "--order", "1,2,0", "--dtype", "u1", "--cast", "unsafe"]) == 0
    np.testing.assert_array_equal(np.fromfile("c.bin", "u1").reshape(3, 4, 2), values.transpose(1, 2, 0))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--axes", "0,x"), '--axes "0,x"'),
        (("--dtype", "i4"), "--cast unsafe"),
        (("--memory", "much"), "256MiB"),
        (("--chunks", "8,8"), "stores no chunks"),
        (("--order", "2,1"), "order must be"),
        (("--format", "bmp"), "unknown"),
    ],
)
def test_copy_refuses_in_one_line(capsys: Capture, folder: Path, wrong: tuple[str, ...], said: str) -> None:
    assert cli.main(["copy", "a.npy", "b.npy", *wrong]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert os.listdir() == ["a.npy"]


def test_an_existing_target_needs_overwrite(capsys: Capture, folder: Path) -> None:
    assert cli.main(["copy", "a.npy", "b.npy"]) == 0
    assert cli.main(["copy", "a.npy", "b.npy"]) == 2
    assert "exists" in capsys.readouterr().err
    assert cli.main(["copy", "a.npy", "b.npy", "--overwrite", "--order", "F", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == 24_000
    assert np.load("b.npy").flags.f_contiguous


def test_resume_and_restart(capsys: Capture, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["copy", "a.npy", "b.npy", "--order", "F", "--memory", "6000", "--checkpoint", "2000"]
    monkeypatch.setenv("SWATH_ENGINE", "fault:write@600=ENOSPC")
    assert cli.main(command) == 2
    assert "--resume" in capsys.readouterr().err
    monkeypatch.delenv("SWATH_ENGINE")
    assert cli.main(command) == 2
    assert "--restart" in capsys.readouterr().err
    assert cli.main([*command, "--resume"]) == 0
    assert "were there from the interrupted copy" in capsys.readouterr().out
    assert cli.main(["verify", "a.npy", "b.npy"]) == 0
    assert sorted(os.listdir()) == ["a.npy", "b.npy"]


def test_under_mpiexec_all_ranks_copy_and_one_speaks(folder: Path) -> None:
    needs_mpi()
    environment = {**os.environ, "HYDRA_LAUNCHER": "fork"}
    for command in (["copy", "a.npy", "b.npy", "--axes", "1,0"], ["verify", "a.npy", "b.npy", "--axes", "1,0"]):
        launched = [str(mpiexec()), "-n", "3", sys.executable, "-m", "swath.commands.cli", *command]
        done = subprocess.run(launched, capture_output=True, text=True, timeout=60, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("\n") == 1
    np.testing.assert_array_equal(np.load("b.npy"), np.load("a.npy").T)

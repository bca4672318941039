"""The examples of Python work with any number of ranks; other libraries read their files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mpi_runs import mpiexec, needs_mpi
from tree import ROOT

EXAMPLES = ROOT / "examples" / "python"


def run(name: str, file: Path, ranks: int = 1) -> str:
    command = [sys.executable, str(EXAMPLES / name), str(file)]
    if ranks > 1:
        needs_mpi()
        command = [str(mpiexec()), "-n", str(ranks), *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_first_program(tmp_path: Path) -> None:
    netCDF4 = pytest.importorskip("netCDF4")
    assert run("first.py", tmp_path / "first.nc4").startswith("(5, 10)")
    with netCDF4.Dataset(tmp_path / "first.nc4") as made:
        assert np.array_equal(made["t"][:], np.arange(90 * 180).reshape(90, 180))
        assert made["t"].filters()["zlib"]


@pytest.mark.parametrize(("suffix", "dumping", "restarting"), [(".nc4", 4, 3), (".nc3", 2, 1), (".zarr", 1, 2)])
def test_a_dump_is_restarted_by_other_ranks(tmp_path: Path, suffix: str, dumping: int, restarting: int) -> None:
    xarray = pytest.importorskip("xarray")
    file = tmp_path / f"dump{suffix}"
    assert f"by {dumping} ranks" in run("dump.py", file, dumping)
    assert len(run("restart.py", file, restarting).splitlines()) == restarting
    engine = "zarr" if suffix == ".zarr" else "netcdf4"
    with xarray.open_dataset(file, engine=engine, decode_times=False) as made:
        assert made["time"].values.tolist() == [0, 0.5, 1, 1.5]
        expected = 100 * np.arange(4)[:, np.newaxis, np.newaxis] + np.arange(90)[:, np.newaxis]
        assert np.array_equal(made["t"].values, np.broadcast_to(expected, (4, 90, 180)))

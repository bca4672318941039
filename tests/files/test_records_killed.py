"""Ranks that append records are killed at any moment: whole records are left."""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import netCDF4
import numpy as np
import pytest

import mpi_runs
import swath
from tree import PROGRAMS

PROGRAM = PROGRAMS / "mpi" / "append_ranks.py"
RECORDS = 50
KILLS = int(os.environ.get("SWATH_TEST_KILLS", "2"))
"""The kills for each format and number of ranks; 50 were tested once."""


def start(path: Path, kind: str, ranks: int) -> subprocess.Popen[str]:
    command = [str(mpi_runs.mpiexec()), "-n", str(ranks), sys.executable, str(PROGRAM), str(path), kind, str(RECORDS)]
    environment = {**os.environ, "HYDRA_LAUNCHER": "fork"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)


@contextlib.contextmanager
def open_process(process: int) -> Iterator[int]:
    """Yield a descriptor that becomes readable when the process has ended, with all its locks.

    mpiexec may end earlier: it sees closed sockets of a killed rank while other files of it are still open.
    """
    handle = os.pidfd_open(process)
    try:
        yield handle
    finally:
        os.close(handle)


def killed_after(path: Path, kind: str, ranks: int, seed: int) -> int:
    """Kill all ranks a random time after a random record; return the number of reported records."""
    chance = random.Random(seed)
    last = chance.randrange(RECORDS - 2)
    told = -1
    processes = []
    program = start(path, kind, ranks)
    assert program.stdout is not None
    for line in program.stdout:
        word, *numbers = line.split()
        if word == "processes":
            processes = [int(number) for number in numbers]
            continue
        told = int(numbers[0])
        if told >= last:
            time.sleep(chance.random() * 0.01)
            break
    with contextlib.ExitStack() as stack:
        handles = [stack.enter_context(open_process(process)) for process in processes]
        for handle in handles:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        for handle in handles:
            assert select.select([handle], [], [], 30)[0], "a killed process does not end"
    program.stdout.close()
    program.wait(timeout=30)
    assert len(processes) == ranks
    return told + 1


def read_by_others(path: Path, kind: str) -> dict[str, np.ndarray]:
    if kind.startswith("zarr"):
        zarr = pytest.importorskip("zarr")
        group = zarr.open_group(str(path), mode="r")
        return {name: group[name][...] for name in ("time", "t", "u")}
    if kind == "hdf5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(path) as file:
            return {name: file[name][...] for name in ("time", "t", "u")}
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        return {name: file[name][...] for name in ("time", "t", "u")}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["netcdf-classic", "netcdf-classic:cdf1", "netcdf4", "hdf5", "zarr", "zarr:v2"])
def test_what_is_left_are_whole_records(tmp_path: Path, kind: str, ranks: int) -> None:
    mpi_runs.needs_mpi()
    for kill in range(KILLS):
        path = tmp_path / f"{kill}.file"
        told = killed_after(path, kind, ranks, seed=1000 * ranks + kill)
        if not kind.startswith(("netcdf-classic", "zarr")):
            swath.open_file(path).close()  # restores what HDF5 had begun
        found = read_by_others(path, kind)
        records = len(found["time"])
        assert told <= records
        for name, values in found.items():
            assert len(values) == records, name
            expected = np.arange(records).reshape(-1, *[1] * (values.ndim - 1))
            np.testing.assert_array_equal(values, np.broadcast_to(expected, values.shape), err_msg=name)
        assert start(path, kind, ranks).wait(timeout=60) == 0
        assert len(read_by_others(path, kind)["u"]) == RECORDS


ADDED_THEN_KILLED = """
import os, signal, sys
import numpy as np
import swath
file = swath.open_file(sys.argv[1], mode="r+")
added = file.create("added", (4, 3), "f8", dimensions=("y", "x"), fill=-9.0)
if sys.argv[2] == "part":
    added.write(np.ones((1, 3)), selection=np.s_[1:2])
file["t"].append(np.ones((1, 2)))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("part", ["nothing", "part"])
@pytest.mark.parametrize("name", ["a.nc", "a.nc4", "a.h5", "a.zarr"])
def test_a_variable_that_a_killed_program_added_has_its_fill_values(tmp_path: Path, name: str, part: str) -> None:
    """The record of `t` survives the kill, and with it the definition of the variable that was added before it."""
    kinds = {"a.nc": "netcdf-classic", "a.nc4": "netcdf4", "a.h5": "hdf5", "a.zarr": "zarr"}
    path = tmp_path / name
    with swath.create_file(path, format=kinds[name]) as file:
        file.create("t", (None, 2), "f8", dimensions=("time", "n"))
    program = [sys.executable, "-c", ADDED_THEN_KILLED, str(path), part]
    assert subprocess.run(program, check=False).returncode == -signal.SIGKILL
    with swath.open_file(path, mode="r+") as file:
        assert file["t"].shape == (1, 2)
        expected = np.full((4, 3), -9.0)
        if part == "part":
            expected[1] = 1
        np.testing.assert_array_equal(file["added"].read(), expected)

"""Swath, h5py and netCDF4 in threads of one process, through each HDF5 library: see hdf5_threads.py."""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tree import HELPERS

PROGRAM = HELPERS / "hdf5_threads.py"
OPERATIONS = os.environ.get("SWATH_HDF5_THREADS_OPERATIONS", "240")
"""The number for each library and order of imports; once 10,000 were run, also with HDF5 1.14."""
OLDER = next(iter(sorted(glob.glob("/usr/lib/*/libhdf5_serial.so.103"))), "")

pytest.importorskip("h5py")
pytest.importorskip("netCDF4")


@pytest.mark.timeout(1000)
@pytest.mark.parametrize(("library", "order"), [("", "before"), ("", "after"), *[(OLDER, "after")] * bool(OLDER)])
def test_no_thread_waits_for_ever_or_finds_a_wrong_value(tmp_path: Path, library: str, order: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SWATH_HDF5"}
    environment |= {"SWATH_HDF5": library} if library else {}
    command = [sys.executable, str(PROGRAM), str(tmp_path), order, OPERATIONS]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    said = json.loads(ended.stdout)
    assert sum(said["done"].values()) >= int(OPERATIONS)
    assert said["found_as"] == ("the one that SWATH_HDF5 names" if library else "h5py's")

"""Two processes, of four threads each, append to one file in turn: every record is there, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import append_race_program
import swath

RECORDS = int(os.environ.get("SWATH_TEST_RECORDS", "25"))
"""The number of records of each thread; 1,000 were tested once."""
PROCESSES = 2


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("suffix", ["nc3", "nc4", "h5", "zarr"])
def test_every_record_of_all_threads_and_processes_is_there_once(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    with swath.create_file(path) as file:
        file.create("t", (None, 5), "f8", dimensions=("time", "x"))
    command = [sys.executable, append_race_program.__file__, str(path)]
    started = [subprocess.Popen([*command, str(process), str(RECORDS)]) for process in range(PROCESSES)]
    assert [one.wait() for one in started] == [0] * PROCESSES
    with swath.open_file(path) as file:
        found = file["t"][...]
        assert file.dimensions["time"].length == len(found)
    np.testing.assert_array_equal(found, found[:, :1] * np.ones(5))
    threads = range(append_race_program.THREADS)
    expected = [
        append_race_program.number_of(process, thread, record)
        for process in range(PROCESSES)
        for thread in threads
        for record in range(RECORDS)
    ]
    assert sorted(found[:, 0]) == expected
    for process in range(PROCESSES):  # each thread's in its order
        for thread in threads:
            first = append_race_program.number_of(process, thread, 0)
            own = found[(first <= found[:, 0]) & (found[:, 0] < first + RECORDS), 0]
            assert (np.diff(own) > 0).all()
    assert [name for name in os.listdir(tmp_path) if "undo" in name] == []

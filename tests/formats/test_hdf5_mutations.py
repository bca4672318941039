"""Damaged HDF5 files give an error that names the file, or right values; crashes are those of HDF5's own library."""

from __future__ import annotations

import os
import pathlib
import shutil

import pytest

import hdf5_mutations

MUTATIONS = int(os.environ.get("SWATH_HDF5_MUTATIONS", "1000"))


@pytest.mark.slow
@pytest.mark.timeout(200 + MUTATIONS)
def test_mutated_files_are_errors_or_have_right_values(tmp_path: pathlib.Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler: nothing says in whose code a process crashed")
    found = hdf5_mutations.Mutations(tmp_path).run(0, MUTATIONS)
    assert found.messages == []
    assert found.counts["refused"] > MUTATIONS // 10
    assert found.counts["right"] > MUTATIONS // 10
    for what, numbers in found.crashes.items():
        # If the stack is damaged, too, no backtrace names the code.
        assert "in HDF5" in what or "while h5py read" in what or what.endswith("by h5py alone too"), (what, numbers)
    assert sum(map(len, found.crashes.values())) <= 1 + MUTATIONS // 100, found.crashes

"""A sync of several ranks: what stays, and that all hear what one of them meets.

How often they meet: core/files/collective_file_test.cc.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.errors import StoreError
from swath.simulated import run_ranks


@pytest.fixture
def path(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", np.zeros((8, 6)))
    return tmp_path / "a.npy"


@pytest.fixture
def of_two_variables(tmp_path: Path) -> Path:
    with swath.create_file(tmp_path / "a.nc", format="netcdf-classic") as file:
        file.create("a", (4,), "f8")
        file.create("b", (4,), "f8")
    return tmp_path / "a.nc"


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_changes_stay_when_the_file_is_synced(of_two_variables, nodes, seed):
    def work(comm: Any) -> None:
        with swath.open_file(of_two_variables, mode="r+", comm=comm) as file:
            file.attributes["title"] = "changed"
            file.sync()

    run_ranks(3, work, nodes=nodes, seed=seed)
    with swath.open_file(of_two_variables) as file:
        assert file.attributes["title"] == "changed"


@pytest.mark.parametrize("nodes", [1, 2])
def test_changes_that_cannot_stay_are_the_same_error_on_all_ranks(of_two_variables, nodes):
    def work(comm: Any) -> str:
        file = swath.open_file(of_two_variables, mode="r+", comm=comm)
        file.attributes["title"] = "lost"
        if comm.rank == 0:
            of_two_variables.rename(of_two_variables.with_name("b.nc"))
        with pytest.raises(StoreError, match=r"rank 0: sync .*a\.nc: .* has lost its name") as raised:
            file.sync()
        with pytest.raises(StoreError, match="has lost its name"):
            file.close()
        return str(raised.value)

    first, *others = run_ranks(3, work, nodes=nodes)
    assert others == [first, first]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_a_sync_that_fails_on_one_rank_is_the_same_error_on_all(path, ranks, seed):
    def work(comm: Any) -> str:
        a = swath.open(path, mode="r+", comm=comm, engine="fault:sync@0=EIO")
        with pytest.raises(StoreError, match=r"sync .*a\.npy") as raised:
            a.sync()
        return str(raised.value)

    first, *others = run_ranks(ranks, work, seed=seed)
    assert others == [first] * (ranks - 1)

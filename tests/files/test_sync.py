"""A sync of several ranks: the number of agreements, and errors that reach all ranks."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.errors import StoreError
from swath.formats.changes import FileChanges
from swath.ranks.ranks import Ranks
from swath.simulated import run_ranks

AgreedBy = Callable[[Callable[[], None]], list[str]]


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


@pytest.fixture
def agreed_by(monkeypatch: pytest.MonkeyPatch) -> AgreedBy:
    """Call a function on a rank, and return the first word of each agreement."""
    seen: dict[int, list[str]] = defaultdict(list)  # of a rank, which is a thread
    agree = Ranks.agree

    def recorded(self: Ranks, call: str, *arguments: Any, **options: Any) -> bool:
        seen[threading.get_ident()].append(call.split(maxsplit=1)[0])
        return agree(self, call, *arguments, **options)

    def agreed(call: Callable[[], None]) -> list[str]:
        seen[threading.get_ident()].clear()
        call()
        return list(seen[threading.get_ident()])

    monkeypatch.setattr(Ranks, "agree", recorded)
    return agreed


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_sync_where_only_elements_were_written_is_one_agreement(path, agreed_by, ranks, nodes):
    rows = swath.Distribution((swath.Block(), swath.Whole()), grid=(ranks, 1))

    def work(comm: Any) -> list[str]:
        with swath.open(path, mode="r+", comm=comm) as a:
            a.write(np.ones(rows.local_shape(a.shape, comm.rank)), rows)
            return agreed_by(a.sync)

    assert run_ranks(ranks, work, nodes=nodes) == [["sync"]] * ranks
    assert np.load(path).min() == 1


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_a_sync_of_changes_ends_when_they_stay(of_two_variables, agreed_by, nodes, seed):
    def work(comm: Any) -> list[str]:
        with swath.open_file(of_two_variables, mode="r+", comm=comm) as file:
            file.attributes["title"] = "changed"
            return agreed_by(file.sync)

    assert run_ranks(3, work, nodes=nodes, seed=seed) == [["sync", "keep"]] * 3
    with swath.open_file(of_two_variables) as file:
        assert file.attributes["title"] == "changed"


@pytest.mark.parametrize("nodes", [1, 2])
def test_changes_that_cannot_stay_are_the_same_error_on_all_ranks(of_two_variables, monkeypatch, nodes):
    def refuse(self: FileChanges) -> None:
        raise StoreError(f"{self.path}: no room", 28)

    def work(comm: Any) -> str:
        file = swath.open_file(of_two_variables, mode="r+", comm=comm)
        file.attributes["title"] = "lost"
        monkeypatch.setattr(FileChanges, "commit", refuse)
        with pytest.raises(StoreError, match=r"rank 0: .*a\.nc: no room") as raised:
            file.sync()
        with pytest.raises(StoreError, match="no room"):
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

"""Coded chunks: each is decoded once per node, and plans predict the counters of operations."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import swath
from chunk_cases import check_chunks, make_coded_case, make_coded_file
from mpi_runs import run_well
from swath import Block, Cyclic, Distribution, Whole
from swath.commands import cli
from swath.simulated import run_ranks

pytest.importorskip("h5py")

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@QUICK
@given(seed=st.integers(0, 2**32), ranks=st.integers(1, 4))
def test_plan_and_counters_agree_and_values_are_numpys(seed: int, ranks: int) -> None:
    rng = random.Random(seed)
    case = make_coded_case(rng, ranks)
    nodes, shared = rng.choice([1, 1, rng.randint(1, ranks)]), rng.random() < 0.8
    with tempfile.TemporaryDirectory() as folder:
        path, values = make_coded_file(case, Path(folder))
        run_ranks(
            ranks, lambda comm: check_chunks(case, path, values, comm), seed=seed, nodes=nodes, shared_memory=shared
        )


@pytest.mark.parametrize(("ranks", "environment"), [(4, {}), (3, {"SWATH_NODES": "2"})])
def test_plan_and_counters_agree_under_mpi(ranks: int, environment: dict[str, str]) -> None:
    assert "all right" in run_well(ranks, "chunk_ranks.py", 100 * ranks, 12, environment=environment)


def stored(path: Path, values: np.ndarray, chunks: tuple[int, ...]) -> Path:
    with swath.create(path, values.shape, values.dtype, chunks=chunks, codecs=["zstd"]) as a:
        a.write(values)
    return path


def total(ranks: int, path: Path, distribution: Distribution, **machine: Any) -> list[swath.Counters]:
    """Return the counters of each rank after it has read its share of the array in `path`."""

    def work(comm: Any) -> swath.Counters:
        with swath.open(path, comm=comm) as a:
            a.read(distribution)
            return a.counters

    return run_ranks(ranks, work, **machine)


@pytest.mark.parametrize(("nodes", "shared_memory", "times"), [(1, True, 1), (2, True, 2), (4, True, 4), (1, False, 4)])
def test_a_chunk_that_all_ranks_need_is_decoded_once_a_node(
    tmp_path: Path, nodes: int, shared_memory: bool, times: int
) -> None:
    path = stored(tmp_path / "a.zarr", np.arange(64 * 64.0).reshape(64, 64), (16, 16))
    counted = total(4, path, Distribution((Whole(), Cyclic()), grid=(1, 4)), nodes=nodes, shared_memory=shared_memory)
    assert sum(counters.chunks_decoded for counters in counted) == 16 * times
    assert max(counters.chunks_decoded for counters in counted) == 4 * times, "ranks decode alike"


def test_whole_chunks_are_decoded_by_their_own_rank_and_exchanged_with_nobody(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.zarr", np.zeros((64, 64)), (16, 16))
    for counters in total(4, path, Distribution((Block(), Whole()), grid=(4, 1))):
        assert (counters.chunks_decoded, counters.exchanged_bytes) == (4, 0)


def test_counters_have_the_names_that_are_guessed(tmp_path: Path) -> None:
    with swath.open(stored(tmp_path / "a.zarr", np.zeros((8, 8)), (4, 4))) as a:
        a.read()
        assert a.counters.bytes_read == a.counters.read_bytes > 0
        assert a.counters.decoded_bytes == 8 * 8 * 8
        assert a.counters.bytes_written == a.counters.written_bytes == 0


def test_a_table_is_explained_as_it_was_before_a_write(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("v", (40, 8), "f8", chunks=(16, 8), compression="gzip")[:20] = 1.0

    def work(comm: Any) -> swath.Plan:
        with swath.open(tmp_path / "a.h5", "v", mode="r+", comm=comm) as a:
            return a.explain(
                Distribution((Block(), Whole()), grid=(2, 1)), write=True, selection=np.s_[::2], analyze=True
            )

    plan = run_ranks(2, work)[0]
    assert plan.measured is not None
    assert (plan.measured.chunks_decoded, plan.measured.chunks_encoded) == (2, 3), "the third was not stored"
    total = plan.to_dict()["methods"]["chunks"]
    assert (total["chunks_decoded"], total["chunks_encoded"]) == (2, 3)


def test_a_write_is_explained_with_what_the_distribution_forces(tmp_path: Path) -> None:
    with swath.open(stored(tmp_path / "a.zarr", np.zeros((40, 8)), (16, 8))) as a:
        split = a.explain(Distribution((Block(), Whole()), grid=(2, 1)), write=True)
        whole = a.explain(Distribution((Block(32), Whole()), grid=(2, 1)), write=True)
    assert "1 chunk of several ranks: they write it one after another" in str(split)
    assert split.to_dict()["methods"]["chunks"]["units_shared"] == 1
    assert [split.cost("chunks", rank)["chunks_encoded"] for rank in (0, 1)] == [2, 2]
    assert "several ranks:" not in str(whole)
    assert whole.to_dict()["methods"]["chunks"]["chunks_decoded"] == 0


def test_what_was_measured_stands_beside_what_was_predicted(tmp_path: Path) -> None:
    with swath.open(stored(tmp_path / "a.zarr", np.ones((32, 32)), (8, 8)), mode="r+") as a:
        plan = a.explain(analyze=True)
        assert plan.measured is not None
        assert plan.measured.chunks_decoded == 16
        assert plan.seconds is not None
        assert plan.seconds > 0
        data = plan.to_dict()
        assert json.loads(json.dumps(data)) == data
        assert data["measured"]["read_bytes"] == data["methods"]["chunks"]["read_bytes"]
        assert data["times_decoded"] == 1
        assert "chunks decoded" in str(plan)
        written = a.explain(write=True, analyze=True)
        assert written.measured is not None
        assert written.measured.chunks_encoded == written.cost("chunks", 0)["chunks_encoded"] == 16
        with pytest.raises(swath.ArgumentError, match='by the method "chunks", not "direct"'):
            plan.cost("direct", 0)


def test_the_command_explains_chunks_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = stored(tmp_path / "a.zarr", np.zeros((64, 64)), (16, 16))
    asked = ["explain", str(path), "--dist", "*,cyclic", "--ranks", "3"]
    assert cli.main(asked) == 0
    assert "  decoded       16, 32.0 KiB, each once; read from the store: " in capsys.readouterr().out
    assert cli.main([*asked, "--write", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [rank["methods"]["chunks"]["chunks_encoded"] for rank in data["each_rank"]] == [16, 16, 16]


def test_of_more_files_than_are_looked_at_bytes_are_an_estimate(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.zarr", np.zeros((1500, 4)), (1, 4))
    with swath.open(path) as a:
        plan = a.explain()
        a.read()
        cost = plan.cost("chunks", 0)
        assert not cost["stored_exact"]
        assert "~ an estimate: not all files were looked at" in str(plan)
        assert cost["chunks_decoded"] == a.counters.chunks_decoded == 1500
        assert cost["read_bytes"] == a.counters.read_bytes, "all chunks are the same"


def test_the_last_plan_is_there_when_the_array_is_closed(tmp_path: Path) -> None:
    with swath.open(stored(tmp_path / "a.zarr", np.zeros((8, 8)), (4, 4))) as a:
        assert a.last_plan is None
        a.read()
    assert a.last_plan is not None
    assert a.last_plan.cost("chunks", 0)["chunks_decoded"] == 4

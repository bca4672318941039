"""For random shapes, dtypes, layouts, selections, distributions and rank counts, every method equals NumPy."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cases import check_reads, check_redistribution, check_writes, make_case, make_file
from swath import _core
from swath.simulated import run_ranks

QUICK = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))


def check_case(seed: int, ranks: int) -> None:
    rng = random.Random(seed)
    case = make_case(rng, ranks)
    nodes = rng.randint(1, ranks)
    shared = rng.random() < 0.8
    with tempfile.TemporaryDirectory() as folder:
        opened = make_file(case, Path(folder))

        def work(comm: _core.Comm) -> None:
            check_reads(case, opened, comm, comm.rank)
            check_writes(case, opened, comm, comm.rank, comm.barrier, comm.rank == 0)
            check_redistribution(case, comm, comm.rank, random.Random(seed))

        run_ranks(ranks, work, seed=seed, nodes=nodes, shared_memory=shared)


@QUICK
@given(seed=st.integers(0, 2**32), ranks=st.integers(1, 5))
def test_every_method_reads_and_writes_what_numpy_does(seed: int, ranks: int) -> None:
    check_case(seed, ranks)


@pytest.mark.exhaustive
@pytest.mark.timeout(3000)
@LONG
@given(seed=st.integers(0, 2**63), ranks=st.integers(1, 5))
def test_every_method_reads_and_writes_what_numpy_does_many_times(seed: int, ranks: int) -> None:
    check_case(seed, ranks)

"""`swath.Places`: elements by index arrays, beside NumPy; gaps byte for byte; what is refused; formats; MPI."""

from __future__ import annotations

import pickle
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import swath
from cases import make_case, make_file
from mpi_runs import run_well
from place_cases import check_reads_of_places, check_writes_of_places
from swath.simulated import run_ranks

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
FULL = np.arange(20 * 30, dtype="<i4").reshape(20, 30)


def check_case(seed: int, ranks: int) -> None:
    rng = random.Random(seed)
    case = make_case(rng, ranks)
    nodes = rng.randint(1, ranks)
    with tempfile.TemporaryDirectory() as folder:
        opened = make_file(case, Path(folder))

        def work(comm: Any) -> None:
            check_reads_of_places(case, opened, comm, comm.rank)
            check_writes_of_places(case, opened, comm, comm.rank, comm.rank == 0)

        run_ranks(ranks, work, seed=seed, nodes=nodes, shared_memory=rng.random() < 0.8)


@QUICK
@given(seed=st.integers(0, 2**32), ranks=st.integers(1, 5))
def test_every_method_reads_and_writes_what_index_arrays_do(seed: int, ranks: int) -> None:
    check_case(seed, ranks)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@LONG
@given(seed=st.integers(0, 2**63), ranks=st.integers(1, 5))
def test_every_method_reads_and_writes_what_index_arrays_do_many_times(seed: int, ranks: int) -> None:
    check_case(seed, ranks)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_ranks_of_mpi_read_and_write_what_index_arrays_do(ranks: int) -> None:
    assert "all right" in run_well(ranks, "place_ranks.py", 3000 * ranks, 15)

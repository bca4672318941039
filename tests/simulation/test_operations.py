"""The operations of benchmarks and of traces: which bytes each rank has."""

from __future__ import annotations

import numpy as np
import pytest

import swath
from swath.simulation.benchmarks import BENCHMARKS, btio, e3sm, madbench, ncio, operations_of
from swath.simulation.from_trace import operations_of_trace
from swath.simulation.operations import Operation, distributed
from swath.space import Block, Cyclic, Whole
from swath.trace.log import Kind, Log, requests_of


def owners(operation: Operation) -> np.ndarray:
    """Return how many ranks have each element."""
    counts = np.zeros(operation.shape, int)
    assert isinstance(operation.distribution, tuple)
    for boxes in operation.distribution:
        for low, high in boxes:
            counts[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] += 1
    return counts


@pytest.mark.parametrize("ranks", [1, 4, 9, 16])
@pytest.mark.parametrize("points", [8, 12, 13])
def test_each_cell_of_btio_has_one_rank(ranks: int, points: int) -> None:
    operation = btio(ranks, points=points)[0]
    assert (owners(operation) == 1).all()
    assert operation.bytes == points**3 * 40
    assert isinstance(operation.distribution, tuple)
    side = int(ranks**0.5)
    assert all(len(boxes) == side for boxes in operation.distribution)
    assert len({boxes[0][0][0] for boxes in operation.distribution}) == 1  # all begin in the same layer


def test_a_dump_of_class_a_has_the_bytes_that_the_benchmark_states() -> None:
    assert btio(16, points=64)[0].bytes == 10_485_760


def test_btio_refuses_ranks_that_are_no_square() -> None:
    with pytest.raises(swath.ArgumentError, match=r"BTIO: 6 ranks: expected a square: 4, or 9"):
        btio(6)


@pytest.mark.parametrize("ranks", [1, 3, 16])
def test_each_column_of_e3sm_has_one_rank(ranks: int) -> None:
    operation = e3sm(ranks, columns=500, levels=4)[0]
    assert (owners(operation) == 1).all()
    assert operation == e3sm(ranks, columns=500, levels=4)[0]
    assert operation != e3sm(ranks, columns=500, levels=4, seed=2)[0]


def test_ncio_has_the_papers_regions() -> None:
    (spaced,) = ncio(64, count=4096, region_bytes=8, spacing_bytes=128)
    assert spaced.bytes == 64 * 4096 * 8
    assert (spaced.shape, spaced.selection) == ((64 * 4096, 17), ((0, 0), (64 * 4096, 1)))
    assert spaced.distribution == swath.Distribution((Cyclic(1), Whole()), (64, 1))
    (contiguous,) = ncio(64, count=4096, file_spaced=False)
    assert (contiguous.shape, contiguous.selection) == ((64 * 4096, 1), None)


def test_madbench_writes_once_and_reads_twice() -> None:
    made = madbench(4, pixels=100, bins=3)
    assert [one.write for one in made] == [True] * 3 + [False] * 6
    assert {one.bytes for one in made} == {80_000}


def test_a_size_of_a_benchmark_is_set_by_its_name() -> None:
    assert operations_of("ncio", 4, settings=["count=16", "file_spaced=false"])[0].bytes == 4 * 16 * 8
    with pytest.raises(swath.ArgumentError, match=r'benchmark ncio: "counts=16": expected NAME=VALUE; names are count'):
        operations_of("ncio", 4, settings=["counts=16"])
    with pytest.raises(swath.ArgumentError, match=r'benchmark ncio: "count=many": expected int'):
        operations_of("ncio", 4, settings=["count=many"])
    with pytest.raises(swath.ArgumentError, match=r"benchmark ior: expected one of ncio, madbench, btio, e3sm"):
        operations_of("ior", 4)
    assert all(operations_of(name, 4, "direct")[0].method == "direct" for name in BENCHMARKS)


def log_of(rank: list[int], offset: list[int], length: list[int], began: list[float], kind: list[int]) -> Log:
    count = len(rank)
    requests = requests_of(
        count, kind=kind, file=[0] * count, rank=rank, offset=offset, length=length, began=began, seconds=[0.1] * count
    )
    kinds = [Kind("posix", "pwrite"), Kind("posix", "pread")]
    return Log("run7", "Swath", ranks=max(rank) + 1, files=["a.dat"], kinds=kinds, requests=requests)


def test_each_phase_of_a_trace_is_one_operation_of_all_ranks() -> None:
    found = operations_of_trace(
        log_of([0, 0, 1, 1, 0], [0, 10, 20, 30, 0], [10, 10, 10, 5, 40], [0, 0.1, 0, 0.1, 5.0], [0, 0, 0, 0, 1])
    )
    assert [(one.write, one.bytes, one.shape) for one in found] == [(True, 35, (35,)), (False, 40, (40,))]
    assert found[0].distribution == ((((0,), (20,)),), (((20,), (35,)),))
    assert found[1].distribution == ((((0,), (40,)),), ())
    assert found[0].gap_seconds == 0
    assert found[1].gap_seconds == pytest.approx(4.8)


def test_a_trace_without_offsets_is_refused() -> None:
    with pytest.raises(swath.ArgumentError, match=r"run7: no request with an offset and a rank is recorded"):
        operations_of_trace(log_of([0], [-1], [10], [0.0], [0]))


def test_an_operation_that_cannot_be_is_refused() -> None:
    with pytest.raises(swath.ArgumentError, match=r'method="fast": expected one of auto, direct'):
        distributed((4,), "f8", ranks=1, method="fast")
    with pytest.raises(swath.ArgumentError, match=r'dtype="f9": expected a type as NumPy writes it'):
        distributed((4,), "f9", ranks=1)
    with pytest.raises(swath.ArgumentError, match=r"1 rules for an array of 2 dimensions"):
        distributed((4, 4), "f8", (Block(),), ranks=1)
    with pytest.raises(swath.ArgumentError, match=r"shape=\(0,\): expected at least 1 element"):
        distributed((0,), "f8", ranks=1)
    with pytest.raises(swath.ArgumentError, match=r"4 processes for 2 ranks"):
        distributed((8, 8), "f8", (Block(), Block()), ranks=2, grid=(2, 2))

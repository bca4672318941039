"""`explain`: golden texts of typical cases, table 1 and equation 1 of the paper, and plans without lists.

The golden texts are tests/golden/*.txt; SWATH_UPDATE_GOLDEN=1 writes them again.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath import Block, Boxes, Cyclic, Distribution, Whole
from swath.simulated import run_ranks
from swath.space import TABLE_1, table_1
from tree import TESTS

GOLDEN = TESTS / "golden"
METHODS = ("direct", "sieve", "list", "two-phase")


def check_golden(name: str, plan: swath.Plan, folder: Path) -> None:
    """Compare the plan's text, without the folder of the test, with tests/golden/`name`.txt."""
    text = str(plan).replace(str(folder), "FOLDER")
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("SWATH_UPDATE_GOLDEN") == "1":
        path.write_text(text)
    assert text == path.read_text(), f"SWATH_UPDATE_GOLDEN=1 writes {path.name} anew"


def empty_file(path: Path, size: int) -> Path:
    """Make a file that is one hole."""
    with path.open("wb") as file:
        file.truncate(size)
    return path


def raw(folder: Path, shape: tuple[int, ...], dtype: str = "<f8", order: Any = "C", offset: int = 0) -> swath.Array:
    """Open a raw file of holes."""
    size = offset + math.prod(shape) * np.dtype(dtype).itemsize
    path = empty_file(folder / "a.raw", size)
    return swath.open(path, shape=shape, dtype=dtype, order=order, offset=offset)


def table_1_text(folder: Path, order: str) -> Iterator[swath.Plan]:
    with raw(folder, (1024, 1024), order=order) as a:
        for name in TABLE_1:
            yield a.explain(table_1(name, 4), cached=1)


@pytest.mark.parametrize("order", ["C", "F"])
def test_table_1_reads_as_it_did(tmp_path: Path, order: str) -> None:
    for name, plan in zip(TABLE_1, table_1_text(tmp_path, order), strict=True):
        check_golden(f"{order}-{name}", plan, tmp_path)


def chunked_hdf5(folder: Path) -> swath.Plan:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("v", data=np.zeros((100, 90)), chunks=(32, 25))
    with swath.open(folder / "a.h5", "v") as a:
        return a.explain(Distribution((Block(), Cyclic(7)), grid=(2, 2)), cached=1)


def record_variable(folder: Path) -> swath.Plan:
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(folder / "a.nc", "w", format="NETCDF3_64BIT_OFFSET") as file:
        file.createDimension("time", None)
        file.createDimension("x", 1000)
        for name in ("v", "w"):
            file.createVariable(name, "f4", ("time", "x"))[:] = np.zeros((50, 1000))
    with swath.open(folder / "a.nc", "v") as a:
        return a.explain(Distribution((Whole(), Block()), grid=(1, 3)), cached=1)


def boxes(folder: Path) -> swath.Plan:
    mine = [Boxes([((0, 0), (16, 16)), ((32, 16), (48, 40))]), Boxes([]), Boxes([((16, 0), (64, 16))])]
    path = empty_file(folder / "a.raw", 64 * 64 * 4)

    def work(comm: Any) -> swath.Plan:
        with swath.open(path, shape=(64, 64), dtype="<i4", comm=comm) as a:
            return a.explain(mine[comm.rank], cached=1)

    plans = run_ranks(3, work)
    assert len({str(plan) for plan in plans}) == 1
    return plans[0]


def scalar(folder: Path) -> swath.Plan:
    with raw(folder, (), offset=12) as a:
        return a.explain(cached=1)


def conforming(folder: Path) -> swath.Plan:
    with raw(folder, (4096, 1024), offset=128) as a:
        return a.explain(Distribution((Block(), Whole()), grid=(4,)), cached=1)


def write_with_holes(folder: Path) -> swath.Plan:
    with raw(folder, (2000, 1000), dtype="<f4") as a:
        return a.explain(Distribution((Block(), Cyclic()), grid=(1, 4)), selection=np.s_[:, ::3], write=True, cached=1)


def one_rank(folder: Path) -> swath.Plan:
    with raw(folder, (2000, 1000), dtype="<f4") as a:
        return a.explain(Distribution((Block(), Cyclic()), grid=(1, 4)), rank=2, cached=1)


def sparse(folder: Path) -> swath.Plan:
    with raw(folder, (10**6, 1000), dtype="<f4") as a:
        return a.explain(Distribution((Block(), Whole()), grid=(4,)), selection=np.s_[::1000, 3:5], cached=1)


def library(folder: Path) -> swath.Plan:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("v", data=np.zeros((100, 90)), chunks=(32, 25), compression="lzf")  # nobody else has it
    with swath.open(folder / "a.h5", "v") as a:
        return a.explain(Distribution((Block(), Whole()), grid=(2, 1)), write=True, cached=1)


def coded_array(folder: Path) -> Path:
    """Make shards of checksummed chunks: their stored bytes do not depend on a compressor."""
    with swath.create(folder / "a.zarr", (100, 90), "<f8", chunks=(16, 15), shards=(32, 30), codecs=["crc32c"]) as a:
        a[:70] = 1.0
    return folder / "a.zarr"


def coded(folder: Path) -> swath.Plan:
    with swath.open(coded_array(folder)) as a:
        return a.explain(Distribution((Block(), Whole()), grid=(2, 1)), cached=1)


def coded_write(folder: Path) -> swath.Plan:
    with swath.open(coded_array(folder)) as a:
        return a.explain(Distribution((Block(), Whole()), grid=(2, 1)), write=True, cached=1)


def coded_table(folder: Path) -> swath.Plan:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("v", data=np.zeros((100, 90)), chunks=(32, 25), fletcher32=True)
    path = folder / "a.h5"

    def work(comm: Any) -> swath.Plan:
        with swath.open(path, "v", comm=comm) as a:
            return a.explain(Distribution((Whole(), Cyclic(7)), grid=(1, 3)), selection=np.s_[::2], cached=0)

    return run_ranks(3, work, nodes=2)[0]


def regular_view(folder: Path) -> swath.Plan:
    path = raw(folder, (100_000,)).path

    def work(comm: Any) -> swath.Plan:
        with swath.open(path, shape=100_000, dtype="<f8", comm=comm) as a:
            return a.explain(swath.Places(range(comm.rank, 100_000, comm.size)), cached=1)

    return run_ranks(2, work)[0]


def listed_view(folder: Path) -> swath.Plan:
    path = raw(folder, (100_000,)).path

    def work(comm: Any) -> swath.Plan:
        with swath.open(path, shape=100_000, dtype="<f8", comm=comm) as a:
            mine = np.random.default_rng(1).permutation(100_000)[comm.rank : 20_000 : comm.size]
            return a.explain(swath.Places(mine, overlap=True), write=True, cached=1)

    return run_ranks(2, work)[0]


CASES = (
    *(chunked_hdf5, record_variable, boxes, scalar, conforming),
    *(write_with_holes, one_rank, sparse, library, coded, coded_write, coded_table),
    *(regular_view, listed_view),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.replace("_", "-"))
def test_a_telling_case_reads_as_it_did(tmp_path: Path, case: Callable[[Path], swath.Plan]) -> None:
    plan = case(tmp_path)
    check_golden(case.__name__.replace("_", "-"), plan, tmp_path)
    # All of it is plain data, too.
    data = plan.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["method"] == plan.method
    assert data["reason"] == plan.reason
    if "each_rank" in data:
        for method, total in data["methods"].items():
            ranks = [rank["methods"][method] for rank in data["each_rank"]]
            for what in ("requests", "read_bytes", "written_bytes", "exchanged_bytes", "locks"):
                assert total[what] == sum(rank[what] for rank in ranks), (method, what)
        assert data["bytes"] == sum(rank["bytes"] for rank in data["each_rank"])


def test_there_is_no_golden_text_without_its_case() -> None:
    names = {f"{order}-{name}" for order in "CF" for name in TABLE_1} | {c.__name__.replace("_", "-") for c in CASES}
    assert {path.stem for path in GOLDEN.glob("*.txt")} == names


def paper_table_1(N: int, P: int) -> dict[str, tuple[int, int]]:
    """Return R_dist and S_dist of table 1: an N x N array of bytes in column-major order over P processors, in full."""
    side = math.isqrt(P)
    return {
        "column-block": (P, N * N // P),
        "column-cyclic": (N, N),
        "row-block": (N * P, N // P),
        "row-cyclic": (N * N, 1),
        "block-block": (N * side, N // side),
        "block-cyclic": (N * side, N // side),
        "cyclic-block": (N * N, 1),
        "cyclic-cyclic": (N * N, 1),
    }


@pytest.mark.parametrize(("N", "P"), [(4, 4), (16, 4), (16, 16), (48, 16), (63, 9), (100, 25), (1024, 4), (4096, 64)])
@pytest.mark.parametrize("name", TABLE_1)
def test_requests_are_those_of_table_1(tmp_path: Path, name: str, N: int, P: int) -> None:
    R_dist, S_dist = paper_table_1(N, P)[name]
    with raw(tmp_path, (N, N), dtype="u1", order="F") as a:
        plan = a.explain(table_1(name, P))
    data = plan.to_dict()
    assert (data["runs"], data["run_bytes_max"], data["bytes"]) == (R_dist, S_dist, N * N)
    assert sum(plan.cost("direct", rank)["requests"] for rank in range(P)) == R_dist
    assert data["methods"]["direct"]["requests"] == R_dist
    assert data["methods"]["direct"]["exact"]
    # Equation 1, if the stripe divides S_dist, or S_dist divides the stripe.
    for stripe in (1, S_dist, 4 * S_dist, *(S_dist // k for k in (2, 3, 4, 8) if S_dist % k == 0)):
        assert plan.requests_with_stripes(stripe) == R_dist * (S_dist // min(S_dist, stripe))
    # Row-major files: "the same results apply by switching column with row and vice-versa" (section 2.2).
    with raw(tmp_path, (N, N), dtype="u1", order="C") as a:
        flipped = Distribution(TABLE_1[name][::-1], table_1(name, P).grid[::-1])
        switched = a.explain(flipped).to_dict()
    assert (switched["runs"], switched["run_bytes_max"]) == (R_dist, S_dist)


@pytest.mark.parametrize(("stripe", "R_trans"), [(512 << 10, 4), (256 << 10, 4), (128 << 10, 8)])
def test_the_papers_example_of_stripes(tmp_path: Path, stripe: int, R_trans: int) -> None:
    """Section 2.2: a 1 MB file, 4 processors, Column-Block."""
    with raw(tmp_path, (1024, 1024), dtype="u1", order="F") as a:
        plan = a.explain(table_1("column-block", 4))
    assert (plan.to_dict()["runs"], plan.to_dict()["run_bytes_max"]) == (4, 256 << 10)
    assert plan.requests_with_stripes(stripe) == R_trans


def test_the_longest_run_is_found_wherever_it_is(tmp_path: Path) -> None:
    """The last columns of a row and the first ones of the next are one run, after 10,000 shorter runs."""
    with raw(tmp_path, (2, 40_002), dtype="u1") as a:
        plan = a.explain(Distribution((Whole(), Cyclic(2)), grid=(1, 2)))
    assert plan.to_dict()["run_bytes_max"] == 4
    assert plan.to_dict()["runs"] == 2 * 20_001 - 1


def test_the_estimate_of_sieving_grows_with_the_array(tmp_path: Path) -> None:
    """A dense share costs about as much as a read of its span, counted window by window or estimated."""
    for elements in (10**6, 10**9, 10**12):
        with raw(tmp_path, (elements,)) as a:
            plan = a.explain(Distribution((Cyclic(),), grid=(4,)))
        for rank in range(4):
            cost = plan.cost("sieve", rank)
            assert cost["read_bytes"] == pytest.approx(8 * elements, rel=0.01)
            assert cost["requests"] == pytest.approx(8 * elements / (4 << 20), rel=0.01, abs=1)
            assert cost["exact"] == (elements < 10**12)
    with raw(tmp_path, (10**12,)) as a:  # far apart: only the wanted bytes are read
        cost = a.explain(Distribution((Cyclic(),), grid=(4,)), selection=np.s_[:: 10**7]).cost("sieve", 1)
    assert (cost["requests"], cost["read_bytes"]) == (pytest.approx(25_000, abs=1), pytest.approx(200_000, rel=0.01))


def test_every_number_of_a_plan_is_what_really_happens(tmp_path: Path) -> None:
    distribution = Distribution((Block(), Cyclic(3)), grid=(2, 2))
    path = empty_file(tmp_path / "a.raw", 300 * 200 * 8)

    def work(comm: Any, write: bool, method: str) -> tuple[dict[str, Any], dict[str, Any]]:
        with swath.open(path, shape=(300, 200), dtype="<f8", mode="r+", comm=comm) as a:
            plan = a.explain(distribution, method=method, write=write, selection=np.s_[:, ::2])
            if write:
                mine = np.zeros(distribution.local_shape((300, 100), comm.rank))
                a.write(mine, distribution, method=method, selection=np.s_[:, ::2])
            else:
                a.read(distribution, method=method, selection=np.s_[:, ::2])
            return plan.cost(method, comm.rank), a.counters.to_dict()

    for write in (False, True):
        for method in METHODS:
            for cost, counted in run_ranks(4, lambda comm, w=write, m=method: work(comm, w, m)):
                assert cost["exact"]
                for what in cost.keys() & counted.keys() - {"buffer_bytes"}:
                    assert cost[what] == counted[what], (method, write, what)
                assert counted["buffer_bytes"] <= cost["buffer_bytes"], (method, write)


def test_a_plan_does_not_grow_with_its_regions(tmp_path: Path) -> None:
    """CYCLIC(1) of 10^12 elements takes less than 1 MiB and 5 s more than 10^3 elements, in a separate process."""
    program = textwrap.dedent("""
        import json, sys, time
        import swath

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        def plan(elements):
            with open(sys.argv[1], "wb") as file:
                file.truncate(8 * elements)
            before, start = resident(), time.process_time()
            with swath.open(sys.argv[1], shape=elements, dtype="<f8") as a:
                d = swath.Distribution((swath.Cyclic(),), grid=(4,))
                plans = [a.explain(d, write=w, method=m) for w in (False, True) for m in sys.argv[2].split(",")]
                texts = [str(plan) + json.dumps(plan.to_dict()) for plan in plans]
            return resident() - before, time.process_time() - start, plans[0].to_dict()["runs"]

        plan(1000)  # what is loaded and cached once
        print(json.dumps([plan(1000), plan(10**12)]))
        """)
    path = tmp_path / "a.raw"
    try:
        empty_file(path, 8 * 10**12)
    except OSError as error:
        pytest.skip(f"this file system has no files of 8 TB: {error}")
    command = [sys.executable, "-c", program, str(path), ",".join((*METHODS, "auto"))]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    (small, _, few), (large, seconds, many) = json.loads(run.stdout)
    assert (few, many) == (10**3, 10**12)
    assert large - small < 1 << 20
    assert seconds < 5


def test_planning_is_quick_for_many_ranks_and_many_chunks(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with raw(tmp_path, (10**6, 10**3)) as a:
        start = time.process_time()  # of the processor: others may have it meanwhile
        plan = a.explain(Distribution((Block(), Cyclic(3)), grid=(100, 10)))
        assert "... and 984 more ranks" in str(plan)
        assert time.process_time() - start < 5
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("v", shape=(20_000, 10), dtype="f8", chunks=(1, 10), fillvalue=1.0)[:] = 0
    with swath.open(tmp_path / "a.h5") as a:
        start = time.process_time()
        str(a.explain(Distribution((Cyclic(3), Whole()), grid=(4, 1))))
        assert time.process_time() - start < 5


def test_explain_says_what_is_wrong(tmp_path: Path) -> None:
    with raw(tmp_path, (10, 10)) as a:
        with pytest.raises(swath.ArgumentError, match=r'method "fast" is not known; expected "auto", "direct"'):
            a.explain(method="fast")
        with pytest.raises(swath.ArgumentError, match='"speed" is not known; expected sieve_bytes'):
            a.explain(tuning={"speed": 3})
        with pytest.raises(swath.ArgumentError, match="window_bytes must be at least 1, not 0"):
            a.explain(tuning={"window_bytes": 0})
        with pytest.raises(swath.ArgumentError, match="1 dimension"):
            a.explain(Distribution((Block(),), grid=(2,)))
        with pytest.raises(
            swath.ArgumentError, match=r"expected a swath.Distribution, swath.Boxes or swath.Places, not tuple"
        ):
            a.explain((Block(), Block()))
        for plan in (a.explain(), a.explain(table_1("row-block", 5))):
            assert repr(plan) == f"<Plan: {plan.method} ({plan.reason})>"

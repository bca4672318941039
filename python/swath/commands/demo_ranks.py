"""The work of each rank of `swath demo`: read in every distribution, check every element, and time it.

`swath demo` starts the ranks (`python -m swath.commands.demo_ranks` under mpiexec) and prints the report of rank 0: one
JSON object a line. The work is a function of the communicator, so tests can run it on simulated ranks.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from swath.array import opening
from swath.array.open_array import Array
from swath.array.redistribution import redistribute
from swath.errors import Error, InternalError, UnsupportedError, to_wire
from swath.ranks.ranks import Ranks, ranks_of
from swath.space import TABLE_1, Distribution, Shape, Whole, table_1
from swath.store import page_cache

T = TypeVar("T")
Part = npt.NDArray[Any]
Indices = tuple[npt.NDArray[np.int64], ...]
Report = Callable[[dict[str, Any]], None]

REAL_FILE = "ostia_monthly.nc"
REAL_VARIABLE = "surface_temperature"
MADE_FILE = "made.npy"

DIRECT_REQUESTS_MAX = 500_000
"""With more requests than this, the demo times a part of the columns, and multiplies the time."""
REPEATS = 2
"""The number of measurements, of which the fastest counts: other programs may use the machine."""

TIMED = ("direct", "two-phase")
ONE_DIMENSIONAL = ("column-block", "column-cyclic", "row-block", "row-cyclic")

PAPER_TABLE_8: dict[str, dict[str, float | None]] = {
    "column-block": {"best": 3357, "redistribute": None, "direct": 3357},
    "column-cyclic": {"best": 3357, "redistribute": 1805, "direct": 9890},
    "row-block": {"best": 3357, "redistribute": 673, "direct": 69939},
    "row-cyclic": {"best": 3357, "redistribute": 2603, "direct": 604.03 * 5960},
}
"""Milliseconds for 5K x 5K on 16 processors of the Intel Touchstone Delta, two-phase-1993, table 8.

The last direct read took "hours": the paper gives its speed-up as more than 604.03, of a total read of 5960 ms.
"""


def real_file() -> str:
    """Return the file of satellite sea-surface temperatures in the package iris-sample-data.

    Raises UnsupportedError if the package is not installed.
    """
    try:
        import iris_sample_data
    except ImportError:
        raise UnsupportedError("the demo's data are not installed: pip install 'swath[demo]'") from None
    return os.path.join(os.path.dirname(iris_sample_data.__file__), "sample_data", REAL_FILE)


def run(comm: Any, folder: str, size: int, report: Report) -> None:
    """Run the whole demo. New files go to `folder`, results to `report`, on rank 0. Collective.

    Args:
        comm: an mpi4py communicator, or a comm of `swath.simulated`.
        folder: a folder that all ranks see.
        size: the number of rows, and of columns, of the created array.
        report: called on rank 0 with {"event": "step" | "part", ...}.

    Raises:
        InternalError: an element has a wrong value; on all ranks.
        StoreError, FormatError, UnsupportedError: as `swath.open` and `swath.create`; on all ranks.
    """
    ranks = ranks_of(comm)
    demo = _Demo(ranks, folder, report if ranks.rank == 0 else lambda event: None)
    demo.real_data()
    demo.made_data(size)


def transposed(distribution: Distribution) -> Distribution:
    """Return the distribution of the transposed array in which every rank holds the transpose of its share.

    Ranks 0 1 / 2 3 of a 2 x 2 grid become 0 2 / 1 3.
    """
    places = np.arange(distribution.size).reshape(distribution.grid)
    return Distribution(distribution.rules[::-1], distribution.grid[::-1], places.T.ravel().tolist())


def table_8(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return table 8 of two-phase-1993 as ratios to the best read: those of the paper ("paper") and ours ("here").

    `rows` belong to the column-major array. The best read is the direct read of the distribution that conforms to this
    order, column-block, as in the paper.
    """
    ours = {row["distribution"]: row for row in rows if row["distribution"] in ONE_DIMENSIONAL}
    best = ours["column-block"]["seconds"]["direct"]
    here = {
        name: {
            "best": best,
            "redistribute": row["redistribute_seconds"],
            "direct": row["seconds"]["direct"],
            "two_phase": row["seconds"]["two-phase"],
        }
        for name, row in ours.items()
    }
    return {
        "paper": {name: _ratios(times) for name, times in PAPER_TABLE_8.items()},
        "here": {name: _ratios(times) for name, times in here.items()},
    }


def _ratios(times: dict[str, float | None]) -> dict[str, float | None]:
    best, redistributed, direct = times["best"], times["redistribute"] or 0.0, times["direct"]
    assert best is not None
    assert direct is not None
    ratios = {name: None if seconds is None else seconds / best for name, seconds in times.items()}
    total = best + redistributed
    return {**ratios, "total": total / best, "speedup": direct / total}


class _Demo:
    """The two parts of the demo, on one rank."""

    def __init__(self, ranks: Ranks, folder: str, report: Report) -> None:
        self.ranks = ranks
        self.folder = folder
        self.report = report

    def real_data(self) -> None:
        """Read a variable of a real file in every distribution over its last two dimensions."""
        path = self.ranks.on_first("demo: data", real_file)
        serial = self.ranks.run_collectively("demo: serial read", lambda: _serial_read(path, REAL_VARIABLE))
        with opening.open(path, REAL_VARIABLE, comm=self.ranks) as a:
            part = _Part(self, a, conforming="row-block", expected=lambda indices: serial[np.ix_(*indices)])
            rows = part.measure()
            transpose = part.write_transposed("transposed.npy")
        self.report({"event": "part", "part": "real", **part.facts(), "rows": rows, "transposed": transpose})

    def made_data(self, size: int) -> None:
        """Read a created array of 8-byte elements in column-major order, as in the paper, in the same distributions."""
        path = os.path.join(self.folder, MADE_FILE)
        self.step(f"making an array of {size} x {size}")
        created_seconds = self._make(path, size)
        with opening.open(path, comm=self.ranks) as a:
            part = _Part(self, a, conforming="column-block", expected=lambda i: _made(i, size), evicted=True)
            self.check("created", self.slab(path), part.expected(self.columns(a.shape)))
            rows = part.measure()
            transpose = part.write_transposed("made_transposed.npy")
        self.report(
            {
                "event": "part",
                "part": "made",
                **part.facts(),
                "rows": rows,
                "created_seconds": created_seconds,
                "transposed": transpose,
                "table_8": table_8(rows),
            }
        )

    def _make(self, path: str, size: int) -> float:
        distribution = table_1("column-block", self.ranks.size)
        values = _made(distribution.indices((size, size), self.ranks.rank), size)

        def create() -> None:
            with opening.create(path, (size, size), "f8", order="F", overwrite=True, comm=self.ranks) as a:
                a.write(values, distribution)

        return self.timed(create)[1]

    def columns(self, shape: Shape) -> Indices:
        """Return the selection that divides the last dimension equally among the ranks."""
        begin, end = (shape[-1] * place // self.ranks.size for place in (self.ranks.rank, self.ranks.rank + 1))
        return (*(np.arange(extent) for extent in shape[:-1]), np.arange(begin, end))

    def slab(self, path: str) -> Part:
        """Return this rank's `columns` of a .npy file, as NumPy reads them without Swath."""

        def load() -> Part:
            stored = np.load(path, mmap_mode="r")
            return np.array(stored[..., self.columns(stored.shape)[-1]])

        return self.ranks.run_collectively(f"demo: numpy.load of {path}", load)

    def step(self, text: str) -> None:
        """Report the current step to the user."""
        self.report({"event": "step", "text": text})

    def timed(self, work: Callable[[], T]) -> tuple[T, float]:
        """Return the result, and the seconds of the slowest rank. Collective."""
        self.ranks.comm.barrier()
        begin = time.perf_counter()
        result = work()
        return result, max(self.ranks.gather_objects(time.perf_counter() - begin))

    def check(self, what: str, found: Part, expected: Part) -> None:
        """Raise InternalError on every rank if any bit of any rank's elements is wrong. Collective."""

        def compare() -> None:
            if (found.shape, found.dtype) != (expected.shape, expected.dtype):
                raise InternalError(f"demo: {what}: {found.dtype} {found.shape}, not {expected.dtype} {expected.shape}")
            bits = f"u{found.dtype.itemsize}"  # compares bits, because NaN is not equal to itself
            wrong = np.ascontiguousarray(found).view(bits) != np.ascontiguousarray(expected).view(bits)
            if not wrong.any():
                return
            place = tuple(int(p) for p in np.argwhere(wrong)[0])
            raise InternalError(
                f"demo: rank {self.ranks.rank}: {what}: {int(wrong.sum())} of {wrong.size} elements are wrong, the "
                f"first, {place} of this rank's share, is {found[place]} and should be {expected[place]}"
            )

        self.ranks.run_collectively(f"demo: check {what}", compare)


class _Part:
    """One array, which is read in every distribution of table 1 over its last two dimensions."""

    def __init__(
        self,
        demo: _Demo,
        a: Array,
        *,
        conforming: str,
        expected: Callable[[Indices], Part],
        evicted: bool = False,
    ) -> None:
        self.demo = demo
        self.array = a
        self.conforming = conforming
        self.expected = expected
        self.evicted = evicted
        self.cached_fraction = 0.0 if evicted else 1.0

    def facts(self) -> dict[str, Any]:
        """Return facts about the array and its file."""
        a = self.array
        return {
            "path": a.path,
            "variable": a.variable,
            "shape": a.shape,
            "dtype": str(a.dtype),
            "layout": a.layout,
            "ranks": self.demo.ranks.size,
            "conforming": self.conforming,
            "evicted": self.evicted,
            "cached_fraction_max": self.cached_fraction,
        }

    def distribution(self, name: str) -> Distribution:
        """Return the distribution of table 1, over the last two dimensions."""
        last_two = table_1(name, self.demo.ranks.size)
        leading = self.array.ndim - 2
        return Distribution((Whole(),) * leading + last_two.rules, (1,) * leading + last_two.grid)

    def measure(self) -> list[dict[str, Any]]:
        """Measure one row a distribution."""
        mine = self.array.read(self.distribution(self.conforming))
        return [self._row(name, mine) for name in TABLE_1]

    def write_transposed(self, file_name: str) -> dict[str, Any]:
        """Write the transposed array from one distribution, and check the file with NumPy."""
        held, shape = "cyclic-cyclic", self.array.shape[::-1]
        self.demo.step(f"writing the array transposed, from {held}")
        distribution = self.distribution(held)
        values = self.expected(distribution.indices(self.array.shape, self.demo.ranks.rank))
        path = os.path.join(self.demo.folder, file_name)

        def create() -> None:
            with opening.create(path, shape, self.array.dtype, overwrite=True, comm=self.demo.ranks) as b:
                b.write(values.T, transposed(distribution))

        seconds = self.demo.timed(create)[1]
        indices = self.demo.columns(shape)
        self.demo.check("written transposed", self.demo.slab(path), self.expected(indices[::-1]).T)
        return {"path": path, "shape": shape, "distribution": held, "seconds": seconds}

    def _row(self, name: str, conforming: Part) -> dict[str, Any]:
        a, rank = self.array, self.demo.ranks.rank
        self.demo.step(f"reading {a.variable or 'the array'} in {name}")
        distribution = self.distribution(name)
        plan = a.explain(distribution, cached=0.0 if self.evicted else 1.0)
        expected = self.expected(distribution.indices(a.shape, rank))
        if plan.method not in TIMED:
            self._check_read(name, distribution, plan.method, expected)
        direct_requests = _requests(plan, "direct")
        if direct_requests > DIRECT_REQUESTS_MAX:
            direct = self._sampled_direct(name, distribution, direct_requests)
        else:
            direct = self._timed_read(name, distribution, "direct", ..., expected)
        two_phase = self._timed_read(name, distribution, "two-phase", ..., expected)
        return {
            "distribution": name,
            "rules": ",".join(_rule_text(rule) for rule in distribution.rules),
            "grid": distribution.grid,
            "method": plan.method,
            "reason": plan.reason,
            "requests": {"direct": direct_requests, "two-phase": two_phase["requests"]},
            "seconds": {"direct": direct["seconds"], "two-phase": two_phase["seconds"]},
            "direct_sample": direct.get("sample"),
            "redistribute_seconds": self._redistributed(name, distribution, conforming, expected),
        }

    def _timed_read(
        self, name: str, distribution: Distribution, method: str, selection: Any, expected: Part
    ) -> dict[str, Any]:
        """Return the time of the fastest of several checked reads, and the counted requests of all ranks."""
        seconds = []
        for _ in range(REPEATS):
            self._evict()
            mine, taken = self.demo.timed(lambda: self.array.read(distribution, selection=selection, method=method))
            self.demo.check(f"{name} read by {method}", mine, expected)
            seconds.append(taken)
        requests = sum(self.demo.ranks.gather_objects(self.array.counters.read_requests))
        return {"seconds": min(seconds), "requests": requests}

    def _sampled_direct(self, name: str, distribution: Distribution, requests: int) -> dict[str, Any]:
        """Time direct access on the first columns, and multiply the time: the whole array would take minutes."""
        shape = self.array.shape
        columns = max(shape[-1] * DIRECT_REQUESTS_MAX // requests, 1)
        selection = (..., slice(0, columns))
        expected = self.expected(distribution.indices((*shape[:-1], columns), self.demo.ranks.rank))
        read = self._timed_read(name, distribution, "direct", selection, expected)
        sample = {"columns": columns, "of_columns": shape[-1], "requests": read["requests"], "seconds": read["seconds"]}
        return {"seconds": read["seconds"] * requests / max(read["requests"], 1), "sample": sample}

    def _check_read(self, name: str, distribution: Distribution, method: str, expected: Part) -> None:
        self.demo.check(f"{name} read by {method}", self.array.read(distribution), expected)

    def _redistributed(self, name: str, distribution: Distribution, mine: Part, expected: Part) -> float | None:
        """Return seconds from the conforming distribution to this one in memory; None for the conforming one itself."""
        if name == self.conforming:
            return None
        source, ranks = self.distribution(self.conforming), self.demo.ranks
        seconds = []
        for _ in range(REPEATS):
            moved, taken = self.demo.timed(
                lambda: redistribute(mine, source, distribution, self.array.shape, comm=ranks)
            )
            self.demo.check(f"{name} redistributed", moved, expected)
            seconds.append(taken)
        return min(seconds)

    def _evict(self) -> None:
        """Drop the file from the page cache if that was requested, and record how much is left. Collective."""
        if not self.evicted:
            return

        def work() -> float:
            page_cache.evict(self.array.path)
            return page_cache.cached_fraction(self.array.path)

        self.cached_fraction = max(self.cached_fraction, self.demo.ranks.on_first("demo: page cache", work))


def _serial_read(path: str, variable: str) -> Part:
    """Return the stored values, read by h5py; raise an error if Swath without ranks reads other values."""
    import h5py

    with h5py.File(path, "r") as file:
        values: Part = file[variable][...]
    with opening.open(path, variable) as a:
        alone = a[...]
    if alone.dtype != values.dtype or alone.tobytes() != values.tobytes():
        raise InternalError(f"demo: {path}:{variable}: the serial read is not what h5py reads")
    return values


def _made(indices: Indices, size: int) -> Part:
    """Return values: element (i, j) is i * size + j. All are different, and exact in 8 bytes."""
    rows, columns = indices
    return (rows[:, None] * size + columns[None, :]).astype(np.float64)


def _requests(plan: Any, method: str) -> int:
    return sum(int(plan.cost(method, rank)["requests"]) for rank in range(plan.ranks))


def _rule_text(rule: Any) -> str:
    kind, size = rule._rule()
    if kind == "whole":
        return "*"
    return kind if size in (0, 1) else f"{kind}({size})"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one rank, which `swath demo` has started under mpiexec. Rank 0 prints its report, one JSON object a line."""
    parser = argparse.ArgumentParser(
        prog="python -m swath.commands.demo_ranks", description="One rank of `swath demo`; use that."
    )
    parser.add_argument("--folder", required=True)
    parser.add_argument("--size", type=int, required=True)
    options = parser.parse_args(arguments)
    from mpi4py import MPI

    def report(event: dict[str, Any]) -> None:
        print(json.dumps(event), flush=True)

    ranks = ranks_of(MPI.COMM_WORLD)
    try:
        run(ranks, options.folder, options.size, report)
    except Error as error:
        if not ranks.all_raise(error):
            print(f"swath demo: rank {ranks.rank}:", file=sys.stderr, flush=True)
            raise  # the other ranks do not know the error: `python -m mpi4py` ends the job
        if ranks.rank == 0:
            report({"event": "error", **to_wire(error)})


if __name__ == "__main__":
    main()

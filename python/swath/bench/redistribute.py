"""Memory to memory: redistribution beside `MPI_Alltoallw` and beside what a memcpy of the same bytes takes.

The peer is what one writes by hand in MPI: one `Alltoallw`, whose derived datatypes say where in each rank's memory the
elements of each pair of ranks lie. mpi4py-fft (Dalcin, Mortensen, Keyes, *Fast parallel multidimensional FFT using
advanced MPI*, 2019) does just this with subarray types, for blocks only; where it can be imported it takes part.

Source of the task: del Rosario, Bordawekar, Choudhary (1993), section 4.2, tables 11 and 12.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from rich.console import Console

import swath
from swath.bench.measure import (
    VALUE_BYTES,
    Values,
    check_equal,
    rotated,
    say,
    timed,
)
from swath.errors import ArgumentError
from swath.ranks import Ranks
from swath.space import Distribution, table_1

if TYPE_CHECKING:
    from mpi4py import MPI

PAIRS = (
    ("row-block", "column-block"),
    ("row-block", "column-cyclic"),
    ("row-cyclic", "column-cyclic"),
    ("block-block", "cyclic-cyclic"),
)
"""From and to, distributions of table 1."""
OURS, ALLTOALLW, MPI4PY_FFT, MEMCPY = "Swath", "Alltoallw", "mpi4py-fft", "memcpy"
PEERS = (ALLTOALLW, MPI4PY_FFT)
UNTOUCHED = -1


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        ranks: how many.
        bytes: of the array; rounded down to a square of 8-byte elements with as many rows for each rank.
        repetitions: counted ones, each with every pair and every contender.
    """

    ranks: int = 4
    bytes: int = 256 << 20
    repetitions: int = 8

    @property
    def extent(self) -> int:
        """Rows, and columns, of the array: a multiple of the ranks, so that their shares are equal."""
        return max(1, math.isqrt(self.bytes // VALUE_BYTES) // self.ranks) * self.ranks


def quick_options() -> Options:
    """Sizes for a look, and for tests."""
    return Options(bytes=2 << 20, repetitions=3)


def needs(options: Options) -> dict[str, int]:
    """Bytes of disk and memory that it takes: the array in two distributions, and what MPI packs into."""
    return {"disk": 0, "memory": 4 * options.bytes + options.ranks * (128 << 20)}


class Contender(Protocol):
    """One way of moving the elements of one pair of distributions."""

    def __call__(self) -> object:
        """Collective: from this rank's memory before to its memory after."""


class Alltoallw:
    """One `Alltoallw`, its datatypes made before the clock starts."""

    def __init__(
        self,
        comm: MPI.Intracomm,
        shape: tuple[int, int],
        source: Distribution,
        target: Distribution,
        before: Values,
        after: Values,
    ) -> None:
        self._comm = comm
        sends = [_shared_type(shape, before, source, comm.rank, target, rank) for rank in range(comm.size)]
        receives = [_shared_type(shape, after, target, comm.rank, source, rank) for rank in range(comm.size)]
        self._send, self._receive = _message(before, sends), _message(after, receives)

    def __call__(self) -> None:
        """Collective."""
        self._comm.Alltoallw(self._send, self._receive)

    def close(self) -> None:
        """Frees the datatypes."""
        for _, _, types in (self._send, self._receive):
            for datatype in types:
                datatype.Free()


def _message(memory: Values, typed: list[tuple[int, MPI.Datatype]]) -> Any:
    return memory, ([1] * len(typed), [place for place, _ in typed]), [datatype for _, datatype in typed]


def _shared_type(
    shape: tuple[int, int], memory: Values, mine: Distribution, rank: int, other: Distribution, peer: int
) -> tuple[int, MPI.Datatype]:
    """Where in `memory`, this rank's share by `mine`, the elements are that `peer` has by `other`: place and type."""
    from mpi4py import MPI

    rows, columns = (
        _progression(np.flatnonzero(np.isin(own, theirs)))
        for own, theirs in zip(mine.indices(shape, rank), other.indices(shape, peer), strict=True)
    )
    row = MPI.INT64_T.Create_vector(columns.count, 1, columns.step)
    everything = row.Create_hvector(rows.count, 1, rows.step * memory.strides[0]).Commit()
    row.Free()
    return rows.start * memory.strides[0] + columns.start * memory.strides[1], everything


@dataclasses.dataclass(frozen=True)
class _Progression:
    """start, start + step, ...: `count` of them."""

    start: int
    step: int
    count: int


def _progression(positions: Values) -> _Progression:
    if positions.size < 2:
        return _Progression(int(positions[0]) if positions.size else 0, 1, positions.size)
    step = int(positions[1] - positions[0])
    if (np.diff(positions) != step).any():
        raise ArgumentError("this pair of distributions is no pair of vector datatypes")
    return _Progression(int(positions[0]), step, positions.size)


def mpi4py_fft_version() -> str | None:
    """The version of mpi4py-fft, None where it cannot be imported."""
    try:
        import mpi4py_fft
    except ImportError:
        return None
    return str(mpi4py_fft.__version__)


def _mpi4py_fft(comm: MPI.Intracomm, shape: tuple[int, int], before: Values, after: Values) -> Callable[[], object]:
    from mpi4py_fft.pencil import Pencil, Subcomm

    rows = Pencil(Subcomm(comm, [0, 1]), shape, axis=1)
    transfer = rows.pencil(0).transfer(rows, before.dtype) if False else rows.transfer(rows.pencil(0), before.dtype)
    return lambda: transfer.forward(before, after)


def run(ranks: Ranks, path: str, options: Options) -> dict[str, Any]:
    """Collective. Measures all pairs; plain data, the same on every rank but for its own times. `path` is not used."""
    del path
    bench = _Redistribution(ranks, options)
    measurements = []
    for repetition in range(options.repetitions + 1):
        say(ranks, f"redistribute: repetition {repetition} of {options.repetitions}")
        for pair in PAIRS:
            measurements += bench.measure(pair, repetition)
    return {
        "extent": options.extent,
        "array_bytes": options.extent**2 * VALUE_BYTES,
        "mpi4py_fft": mpi4py_fft_version(),
        "buffer_bytes": bench.buffer_bytes,
        "measurements": measurements,
    }


class _Redistribution:
    """The measurements, all in the same memory."""

    def __init__(self, ranks: Ranks, options: Options) -> None:
        from mpi4py import MPI

        self.buffer_bytes = 0
        self._ranks, self._comm = ranks, MPI.COMM_WORLD
        self._shape = (options.extent, options.extent)
        elements = options.extent**2 // options.ranks
        self._before = np.full(elements, UNTOUCHED, dtype=np.int64)
        self._after = np.full(elements, UNTOUCHED, dtype=np.int64)

    def measure(self, pair: tuple[str, str], repetition: int) -> list[dict[str, Any]]:
        """Every contender once."""
        source, target = (table_1(name, self._ranks.size) for name in pair)
        before, after = self._memory(self._before, source), self._memory(self._after, target)
        before[...] = self._expected(source, 0, before.shape[0])
        peer = Alltoallw(self._comm, self._shape, source, target, before, after)
        contenders: dict[str, Callable[[], object]] = {
            OURS: lambda: swath.redistribute(before, source, target, self._shape, comm=self._ranks, out=after),
            ALLTOALLW: peer,
            MEMCPY: lambda: np.copyto(after.reshape(-1), before.reshape(-1)),
        }
        if pair == ("row-block", "column-block") and mpi4py_fft_version() is not None:
            contenders[MPI4PY_FFT] = _mpi4py_fft(self._comm, self._shape, before, after)
        measurements = []
        for name in rotated(list(contenders), repetition):
            after.fill(UNTOUCHED)
            measured = timed(self._ranks, contenders[name])
            if name == MEMCPY:
                check_equal(self._ranks, after.reshape(-1), lambda i, j: before.reshape(-1)[i:j], name)
            else:
                what = f"{name}: {pair[0]} to {pair[1]}"
                check_equal(self._ranks, after, lambda i, j: self._expected(target, i, j), what)
            moved = math.prod(self._shape) * VALUE_BYTES
            measurements.append(
                {
                    "pair": list(pair),
                    "contender": name,
                    "repetition": repetition,
                    **measured,
                    "gigabytes_per_second": moved / measured["seconds"] / 1e9,
                }
            )
        peer.close()
        return measurements

    def _memory(self, memory: Values, distribution: Distribution) -> Values:
        return memory.reshape(distribution.local_shape(self._shape, self._ranks.rank))

    def _expected(self, distribution: Distribution, begin: int, end: int) -> Values:
        rows, columns = distribution.indices(self._shape, self._ranks.rank)
        return np.asarray(rows[begin:end, None] * self._shape[1] + columns)


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Of each pair: every contender's GB/s, and ours beside the memcpy and the fastest peer of the same repetition."""
    return {}


def show(console: Console, result: dict[str, Any]) -> None:
    """The table, how it was measured, and the bottom line."""

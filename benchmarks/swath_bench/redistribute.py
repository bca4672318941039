"""Memory to memory: redistribution compared with `MPI_Alltoallw` and with a memcpy of the same bytes.

The peer is a hand-written MPI program: one `Alltoallw`, whose derived datatypes describe the positions, in each rank's
memory, of the elements of each pair of ranks. mpi4py-fft (Dalcin, Mortensen, Keyes, *Fast parallel multidimensional
FFT using advanced MPI*, 2019) does this with subarray types, for blocks only; it takes part if it is installed.

Source of the task: del Rosario, Bordawekar, Choudhary (1993), section 4.2, tables 11 and 12.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.text import Text

import swath
from swath.base import units
from swath.commands import output
from swath.errors import InternalError
from swath.ranks.ranks import Ranks
from swath.space import Distribution, table_1
from swath_bench.measure import VALUE_BYTES, Values, check_equal, counted, say, shuffled, summary, timed

if TYPE_CHECKING:
    from mpi4py import MPI

PAIRS = (
    ("row-block", "column-block"),
    ("row-block", "column-cyclic"),
    ("row-cyclic", "column-cyclic"),
    ("block-block", "cyclic-cyclic"),
)
"""Source and target distributions, from table 1."""
PAIR_OF_MPI4PY_FFT = PAIRS[0]
"""mpi4py-fft supports blocks only."""
OURS, ALLTOALLW, MPI4PY_FFT, MEMCPY = "Swath", "Alltoallw", "mpi4py-fft", "memcpy"
PEERS = (ALLTOALLW, MPI4PY_FFT)
UNTOUCHED = -1


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        ranks: number of ranks.
        bytes: bytes of the array, rounded down to a square of 8-byte elements with equal rows for each rank.
        repetitions: number of counted repetitions, each with every pair and every contender.
    """

    ranks: int = 4
    bytes: int = 256 << 20
    repetitions: int = 8

    @property
    def extent(self) -> int:
        """Number of rows, and of columns, of the array: a multiple of the ranks, so that their shares are equal."""
        return max(1, math.isqrt(self.bytes // VALUE_BYTES) // self.ranks) * self.ranks


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests."""
    return Options(bytes=2 << 20, repetitions=3)


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory: the array in two distributions, and MPI's buffers."""
    return {"disk": 0, "memory": 4 * options.bytes + options.ranks * (128 << 20)}


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
    """Return position and type of the elements in `memory`, the share by `mine`, that `peer` has by `other`."""
    from mpi4py import MPI

    rows, columns = (
        _progression(np.flatnonzero(np.isin(own, theirs)))
        for own, theirs in zip(mine.indices(shape, rank), other.indices(shape, peer), strict=True)
    )
    if columns.step == 1:
        row = MPI.INT64_T.Create_contiguous(columns.count)
    else:
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
        raise InternalError("redistribute: this pair of distributions is no pair of vector datatypes")
    return _Progression(int(positions[0]), step, positions.size)


def mpi4py_fft_version() -> str | None:
    """Return the version of mpi4py-fft, None if it cannot be imported."""
    try:
        import mpi4py_fft
    except ImportError:
        return None
    return str(mpi4py_fft.__version__)


def _mpi4py_fft(comm: MPI.Intracomm, shape: tuple[int, int], before: Values, after: Values) -> Callable[[], object]:
    from mpi4py_fft.pencil import Pencil, Subcomm

    rows = Pencil(Subcomm(comm, [0, 1]), shape, axis=1)
    transfer = rows.transfer(rows.pencil(0), before.dtype)
    return lambda: transfer.forward(before, after)


def run(ranks: Ranks, path: str, options: Options) -> dict[str, Any]:
    """Collective. Measure all pairs; plain data, the same on every rank except its own times. `path` is not used."""
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
        "measurements": measurements,
    }


class _Redistribution:
    """The measurements, all in the same memory."""

    def __init__(self, ranks: Ranks, options: Options) -> None:
        from mpi4py import MPI

        self._ranks, self._comm = ranks, MPI.COMM_WORLD
        self._shape = (options.extent, options.extent)
        elements = options.extent**2 // options.ranks
        self._before = np.full(elements, UNTOUCHED, dtype=np.int64)
        self._after = np.full(elements, UNTOUCHED, dtype=np.int64)

    def measure(self, pair: tuple[str, str], repetition: int) -> list[dict[str, Any]]:
        """Run every contender once."""
        source, target = (table_1(name, self._ranks.size) for name in pair)
        before, after = self._memory(self._before, source), self._memory(self._after, target)
        before[...] = self._expected(source, 0, before.shape[0])
        by_hand = Alltoallw(self._comm, self._shape, source, target, before, after)
        contenders: dict[str, Callable[[], object]] = {
            OURS: lambda: swath.redistribute(before, source, target, self._shape, comm=self._ranks, out=after),
            ALLTOALLW: by_hand,
            MEMCPY: lambda: np.copyto(after.reshape(-1), before.reshape(-1)),
        }
        if pair == PAIR_OF_MPI4PY_FFT and mpi4py_fft_version() is not None:
            contenders[MPI4PY_FFT] = _mpi4py_fft(self._comm, self._shape, before, after)
        measurements = []
        for name in shuffled(list(contenders), repetition):
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
        by_hand.close()
        return measurements

    def _memory(self, memory: Values, distribution: Distribution) -> Values:
        return memory.reshape(distribution.local_shape(self._shape, self._ranks.rank))

    def _expected(self, distribution: Distribution, begin: int, end: int) -> Values:
        rows, columns = distribution.indices(self._shape, self._ranks.rank)
        return np.asarray(rows[begin:end, None] * self._shape[1] + columns)


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return for each pair every contender's GB/s, and ours divided by memcpy and the faster peer, by repetition.

    The bound of a repetition is its fastest memcpy, of any pair: a disturbed memcpy is no bound.
    """
    measurements = counted(result["measurements"])
    rates: dict[tuple[tuple[str, ...], str], dict[int, float]] = {}
    for m in measurements:
        rates.setdefault((tuple(m["pair"]), m["contender"]), {})[m["repetition"]] = m["gigabytes_per_second"]
    bounds = {
        repetition: max(rates[pair, MEMCPY][repetition] for pair in PAIRS) for repetition in rates[PAIRS[0], MEMCPY]
    }
    pairs: list[dict[str, Any]] = []
    for pair in PAIRS:
        ours = rates[pair, OURS]
        peers = [name for name in PEERS if (pair, name) in rates]
        to_bound = summary([rate / bounds[repetition] for repetition, rate in ours.items()])
        to_peer = summary(
            [rate / max(rates[pair, peer][repetition] for peer in peers) for repetition, rate in ours.items()]
        )
        pairs.append(
            {
                "pair": list(pair),
                "contenders": {
                    name: summary(list(rates[pair, name].values())).to_dict()
                    for name in (OURS, *PEERS, MEMCPY)
                    if (pair, name) in rates
                },
                "to_memcpy": to_bound.to_dict(),
                "to_best_peer": to_peer.to_dict(),
            }
        )
    return {
        "pairs": pairs,
        "to_memcpy_min": min(of["to_memcpy"]["median"] for of in pairs),
        "to_best_peer_min": min(of["to_best_peer"]["median"] for of in pairs),
    }


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the table, how it was measured, and the conclusion."""
    options, extent, summarised = result["options"], result["extent"], result["summary"]
    console.print(
        Text(
            f"Redistribution: {options['ranks']} ranks, {units.by((extent, extent))} 8-byte elements "
            f"({units.in_bytes(result['array_bytes'])}), memory to memory; GB/s of the array",
            style="bold",
        )
    )
    peers = PEERS if result["mpi4py_fft"] is not None else (ALLTOALLW,)
    numbers = (OURS, "(range)", *peers, MEMCPY, "× memcpy", "× best peer")
    table = output.table("from", "to", *numbers, right=numbers)
    for of in summarised["pairs"]:
        rates = of["contenders"]
        ours = rates[OURS]
        table.add_row(
            *of["pair"],
            f"{ours['median']:.2f}",
            f"({ours['low']:.2f}–{ours['high']:.2f})",
            *(f"{rates[peer]['median']:.2f}" if peer in rates else "-" for peer in peers),
            f"{rates[MEMCPY]['median']:.2f}",
            f"{of['to_memcpy']['median']:.2f}",
            f"{of['to_best_peer']['median']:.1f}",
        )
    console.print(table)
    console.print(Text(_honest_words(result), style="dim"), soft_wrap=True)
    console.print(
        Text(
            f"at least {summarised['to_memcpy_min']:.2f} of what a memcpy of the same bytes takes, and "
            f"{summarised['to_best_peer_min']:.1f} times Alltoallw",
            style="bold",
        )
    )


def _honest_words(result: dict[str, Any]) -> str:
    version = result["mpi4py_fft"]
    lines = [
        f"Median of {result['options']['repetitions']} repetitions without the fastest and slowest, after one that",
        "does not count; contenders in turn, into memory that has been touched; all data checked after each.",
        "memcpy: all ranks copy their share at once (numpy.copyto), what no redistribution can beat; the ratio is to",
        "the fastest of the same repetition. Alltoallw: vector datatypes, made before the clock starts.",
        "mpi4py-fft: not installed (it is Alltoallw with subarray types)."
        if version is None
        else f"mpi4py-fft {version}: blocks only.",
    ]
    return "\n".join(lines)

"""The operations of benchmarks, from their definitions: NCIO, MADbench, BTIO and E3SM-IO."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from swath.errors import ArgumentError
from swath.simulation.operations import Box, Operation, distributed
from swath.space import Block, Cyclic, Whole

DOUBLE = 8
RUN_COLUMNS = 3.0


def ncio(
    ranks: int,
    *,
    count: int = 4096,
    region_bytes: int = 8,
    spacing_bytes: int = 128,
    file_spaced: bool = True,
    write: bool = True,
) -> list[Operation]:
    """Return the access of NCIO: `count` regions of each rank, which come in turn in the file, then a sync.

    Source: Ching, Choudhary, Liao, Ward, Pundit, *Evaluating I/O Characteristics and Methods for Storing Structured
    Scientific Data* (2006), section 4. With `file_spaced` false each rank has one contiguous block.
    """
    units = region_bytes // DOUBLE
    width = units + (spacing_bytes // DOUBLE if file_spaced else 0)
    shape = (ranks * count, width)
    rules = (Cyclic(1) if file_spaced else Block(), Whole())
    selection = ((0, 0), (shape[0], units)) if width > units else None
    name = f"NCIO, {count:,} regions of {region_bytes:,} bytes, {spacing_bytes:,} between"
    return [distributed(shape, "f8", rules, ranks=ranks, selection=selection, write=write, sync=write, name=name)]


def madbench(ranks: int, *, pixels: int = 3000, bins: int = 16) -> list[Operation]:
    """Return the three phases of MADbench: each writes or reads a chunk of each bin, in lock-step.

    Source: Seelam, Kerstens, Teller, *Throttling I/O Streams to Accelerate File-IO Performance* (2007), section 4.
    All ranks share one file; a chunk is a rank's rows of a bin's matrix.
    """
    rules = (Block(), Whole())
    of_phases = (("dSdC", True), ("invD", False), ("W", False))
    return [
        distributed(
            (pixels, pixels),
            "f8",
            rules,
            ranks=ranks,
            write=write,
            sync=write and number + 1 == bins,
            file=f"bin{number}",
            name=f"MADbench {phase}",
        )
        for phase, write in of_phases
        for number in range(bins)
    ]


def btio(ranks: int, *, points: int = 64, dumps: int = 1, write: bool = True) -> list[Operation]:
    """Return dumps of NAS BTIO: points³ cells of five doubles, divided by the diagonal multi-partition.

    Class A has 64³ points, B 102³, C 162³. The number of ranks is a square.

    Raises ArgumentError for another number of ranks.
    """
    side = math.isqrt(ranks)
    if side * side != ranks:
        raise ArgumentError(f"BTIO: {ranks} ranks: expected a square: {side * side}, or {(side + 1) ** 2}")
    boxes = tuple(tuple(_cells(rank, side, points)) for rank in range(ranks))
    shape = (points, points, points, 5)
    return [
        Operation(shape, "f8", boxes, write=write, file=f"dump{dump}", name=f"BTIO, {points}³ points")
        for dump in range(dumps)
    ]


def _cells(rank: int, side: int, points: int) -> list[Box]:
    """Return the cells of a rank, as boxes of (z, y, x, component): cell c + 1 is one further in x, one back in y."""
    made = []
    for cell in range(side):
        x, y = (rank % side + cell) % side, (rank // side - cell) % side
        spans = [_part(index, side, points) for index in (cell, y, x)]
        made.append(((*(low for low, _ in spans), 0), (*(high for _, high in spans), 5)))
    return made


def _part(index: int, parts: int, points: int) -> tuple[int, int]:
    """Return a part of a dimension; the first `points` mod `parts` ones are one longer."""
    size, more = divmod(points, parts)
    low = index * size + min(index, more)
    return low, low + size + (index < more)


def e3sm(
    ranks: int,
    *,
    columns: int = 48_602,
    levels: int = 72,
    write: bool = True,
    seed: int = 1,
) -> list[Operation]:
    """Return a variable of E3SM-IO's F case: levels × columns, whose columns are spread over the ranks in short runs.

    The decomposition files of E3SM-IO are not part of Swath. These maps have their form: each rank has as many columns
    as the others, in runs whose mean length is `RUN_COLUMNS`, at random positions of the file.
    """
    random = np.random.default_rng(seed)
    ends = np.cumsum(random.geometric(1 / RUN_COLUMNS, size=columns))
    ends = np.append(ends[ends < columns], columns)
    runs = np.stack([np.append(0, ends[:-1]), ends], axis=1)
    owner = random.permutation(np.arange(len(runs)) % ranks)
    boxes = tuple(
        tuple(((0, int(low)), (levels, int(high))) for low, high in runs[owner == rank]) for rank in range(ranks)
    )
    name = f"E3SM-IO's form, F case: {levels} × {columns:,}"
    return [Operation((levels, columns), "f8", boxes, write=write, name=name)]


BENCHMARKS: dict[str, Callable[..., list[Operation]]] = {
    "ncio": ncio,
    "madbench": madbench,
    "btio": btio,
    "e3sm": e3sm,
}
"""The benchmarks by the names that `swath simulate --benchmark` takes."""


def operations_of(name: str, ranks: int, method: str = "auto", settings: Sequence[str] = ()) -> list[Operation]:
    """Return the operations of a benchmark.

    Args:
        name: a key of `BENCHMARKS`.
        ranks: the number of ranks.
        method: how all operations are carried out.
        settings: "NAME=VALUE" for arguments of the benchmark's function: "count=16384".

    Raises:
        ArgumentError: a benchmark or a setting that there is not.
    """
    if name not in BENCHMARKS:
        raise ArgumentError(f"benchmark {name}: expected one of {', '.join(BENCHMARKS)}")
    function = BENCHMARKS[name]
    known = {one: type(value) for one, value in (function.__kwdefaults__ or {}).items()}
    given = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign or key not in known:
            raise ArgumentError(f'benchmark {name}: "{setting}": expected NAME=VALUE; names are {", ".join(known)}')
        try:
            given[key] = _value(known[key], text)
        except ValueError:
            raise ArgumentError(f'benchmark {name}: "{setting}": expected {known[key].__name__}') from None
    return [one.by(method) for one in function(ranks, **given)]


def _value(kind: type, text: str) -> object:
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError
        return text == "true"
    return kind(text)

"""The coupling of arrays in one computation: statements of tiles, and the transfers of each tile loop. Pure.

    "B[j, i] = A[i, j]"                              a transpose
    "C[i, j] = A[i, k] * B[k, j]"                    a product; the operators between the arrays do not matter
    "C[i, j] = A[i, k] * B[k, j] for i by 128, j"    loops from the outermost in; other indices are taken as a whole

A program without memory for whole arrays works on tiles: a tile of every array of a statement is in memory at the same
time, with the same length along an index for all arrays. This couples their layouts: the best tile for one array
determines the tiles of the others. A tile is moved again whenever one of its indices changes; loops inside the
innermost loop of its own indices leave it in memory.

Kandaswamy et al., An Experimental Evaluation of I/O Optimizations on Different Applications (2002), section 3.3; loops
and reuse: Wolf and Lam, A Data Locality Optimizing Algorithm (1991).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from swath.errors import ArgumentError

Extents = tuple[int, ...]
Lengths = Mapping[str, int]
"""The length along each index."""

GRAMMAR = (
    'expected an array, "=" (or "+=", which reads it too), then the arrays that it is made of, each with an index a '
    'dimension: "C[i, j] = A[i, k] * B[k, j]"; after it loops, the outermost first: "for i by 128, j"; then how often: '
    '":10"'
)
TILINGS_MAX = 400

_OPERAND = re.compile(r"([A-Za-z_]\w*)\s*\[([^\]]*)\]")
_INDEX = re.compile(r"[A-Za-z]\w*")
_LOOP = re.compile(r"([A-Za-z]\w*)(?:\s+by\s+(\d+))?")
_TIMES = re.compile(r"(.*\S)\s*:\s*(\d+(?:\.\d*)?)\s*", re.DOTALL)


@dataclass(frozen=True)
class Operand:
    """An array in a statement, and the index along each of its dimensions."""

    array: str
    indices: tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """A statement that makes an array from others, tile by tile.

    Attributes:
        text: as the caller gave it, without the frequency.
        target: the array that is made.
        sources: the arrays that are read.
        accumulates: whether values are added to the target.
        loops: the loops over tiles, the outermost first, if they are given; None: any.
        steps: the length of a tile along some indices, if given.
        times: how often it is executed.
    """

    text: str
    target: Operand
    sources: tuple[Operand, ...]
    accumulates: bool
    loops: tuple[str, ...] | None
    steps: tuple[tuple[str, int], ...]
    times: float

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Return the target, then the sources."""
        return (self.target, *self.sources)

    @property
    def indices(self) -> tuple[str, ...]:
        """Return all indices, in the order of their names in the text."""
        return tuple(dict.fromkeys(index for operand in self.operands for index in operand.indices))


@dataclass(frozen=True)
class Tiling:
    """The loops and tiles of a statement.

    Attributes:
        loops: those with more than one iteration, the outermost first.
        steps: the length of a tile along each index.
        nbytes: the bytes of the tiles that are in memory at the same time.
    """

    loops: tuple[str, ...]
    steps: tuple[tuple[str, int], ...]
    nbytes: int

    def __str__(self) -> str:
        steps = ", ".join(f"{index} {step}" for index, step in self.steps)
        return f"tiles of {steps}" + (f"; loops {', '.join(self.loops)}" if self.loops else "")


@dataclass(frozen=True)
class Transfer:
    """Tiles of one array that are read or written.

    Attributes:
        array: its name.
        indices: the indices along its dimensions.
        direction: "read" or "write".
        window: elements of a tile along each dimension.
        times: the number of tiles.
    """

    array: str
    indices: tuple[str, ...]
    direction: str
    window: Extents
    times: float


def parse_statement(text: str) -> Statement:
    """Return the statement that `text` describes. Raise ArgumentError, which quotes it, with what is expected."""
    counted = _TIMES.fullmatch(text)
    body, times = (counted[1], float(counted[2])) if counted else (text.strip(), 1.0)
    made, _, loops = body.partition(" for ")
    left, sign, right = made.partition("=")
    accumulates = left.rstrip().endswith("+")
    targets = _operands(text, left.rstrip().removesuffix("+"))
    sources = _operands(text, right)
    if not sign or len(targets) != 1 or not sources or times <= 0:
        raise ArgumentError(f'coupling "{text}": {GRAMMAR}')
    named, steps = _loops(text, loops) if loops else (None, ())
    found = Statement(body, targets[0], tuple(sources), accumulates, named, steps, times)
    unknown = [index for index in named or () if index not in found.indices]
    if unknown:
        raise ArgumentError(f'coupling "{text}": no array has the index {unknown[0]}')
    return found


def _operands(text: str, part: str) -> list[Operand]:
    found = []
    for name, inside in _OPERAND.findall(part):
        indices = tuple(one.strip() for one in inside.split(","))
        wrong = [one for one in indices if not _INDEX.fullmatch(one)]
        if wrong or len(set(indices)) < len(indices):
            raise ArgumentError(f'coupling "{text}": "{name}[{inside}]": {GRAMMAR}')
        found.append(Operand(name, indices))
    return found


def _loops(text: str, loops: str) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    named: list[str] = []
    steps: list[tuple[str, int]] = []
    for part in loops.split(","):
        match = _LOOP.fullmatch(part.strip())
        if match is None or match[1] in named or match[2] == "0":
            raise ArgumentError(f'coupling "{text}": "{part.strip()}" is no loop: {GRAMMAR}')
        named.append(match[1])
        steps += [(match[1], int(match[2]))] if match[2] else []
    return tuple(named), tuple(steps)


def lengths_of(statement: Statement, shapes: Mapping[str, Extents]) -> dict[str, int]:
    """Return the length of each index. Raise ArgumentError if the arrays' shapes do not fit together."""
    lengths: dict[str, tuple[int, str]] = {}
    for operand in statement.operands:
        shape = shapes.get(operand.array)
        if shape is None:
            raise ArgumentError(f'coupling "{statement.text}": no shape is given of an array {operand.array}')
        if len(shape) != len(operand.indices):
            raise ArgumentError(
                f'coupling "{statement.text}": {operand.array} has {len(shape)} dimensions, not {len(operand.indices)}'
            )
        for index, n in zip(operand.indices, shape, strict=True):
            known, of = lengths.setdefault(index, (n, operand.array))
            if known != n:
                raise ArgumentError(
                    f'coupling "{statement.text}": {index} has {known} values in {of}, and {n} in {operand.array}'
                )
    return {index: n for index, (n, _) in lengths.items()}


def tilings(
    statement: Statement, shapes: Mapping[str, Extents], itemsizes: Mapping[str, int], memory: int
) -> list[Tiling]:
    """Return the tilings of a statement within `memory` bytes, those that move the fewest bytes first.

    Tiles are as large as possible: none can be longer along one index. Raise ArgumentError if none fits.
    """
    lengths = lengths_of(statement, shapes)
    steps = dict(statement.steps)
    choices = []
    for index in statement.indices:
        n = lengths[index]
        if index in steps:
            choices.append([min(steps[index], n)])
        elif statement.loops is not None and index not in statement.loops:
            choices.append([n])
        else:
            choices.append(sorted({-(-n // 2**k) for k in range(n.bit_length() + 1)}))
    found: dict[Tiling, float] = {}
    for chosen in itertools.product(*choices):
        tile = dict(zip(statement.indices, chosen, strict=True))
        nbytes = _tile_bytes(statement, tile, itemsizes)
        if nbytes > memory or _can_grow(statement, tile, choices, itemsizes, memory):
            continue
        for loops in _orders(statement, tile, lengths):
            tiling = Tiling(loops, tuple(tile.items()), nbytes)
            moved = transfers(statement, tiling, shapes)
            found[tiling] = sum(math.prod(one.window) * itemsizes[one.array] * one.times for one in moved)
    if not found:
        least = _tile_bytes(statement, {i: c[0] for i, c in zip(statement.indices, choices, strict=True)}, itemsizes)
        raise ArgumentError(
            f'coupling "{statement.text}": the smallest tiles take {least} bytes together, more than memory={memory}'
        )
    return sorted(found, key=lambda one: (found[one], one.steps, one.loops))[:TILINGS_MAX]


def _tile_bytes(statement: Statement, tile: Lengths, itemsizes: Mapping[str, int]) -> int:
    return sum(math.prod(tile[i] for i in one.indices) * itemsizes[one.array] for one in statement.operands)


def _can_grow(
    statement: Statement,
    tile: Lengths,
    choices: Sequence[Sequence[int]],
    itemsizes: Mapping[str, int],
    memory: int,
) -> bool:
    for index, choice in zip(statement.indices, choices, strict=True):
        longer = next((length for length in choice if length > tile[index]), None)
        if longer is not None and _tile_bytes(statement, {**tile, index: longer}, itemsizes) <= memory:
            return True
    return False


def _orders(statement: Statement, tile: Lengths, lengths: Lengths) -> Iterator[tuple[str, ...]]:
    """Yield the orders of the loops with more than one iteration."""
    looped = [index for index in statement.loops or statement.indices if tile[index] < lengths[index]]
    yield from [tuple(looped)] if statement.loops is not None else itertools.permutations(looped)


def transfers(statement: Statement, tiling: Tiling, shapes: Mapping[str, Extents]) -> list[Transfer]:
    """Return the reads and writes of each array, over all executions of the statement.

    Example: C[i, j] = A[i, k] * B[k, j] in 2 by 3 by 4 tiles, loops i, j, k: 24 tiles of A and of B are read, and 6 of
    C written. With the loops k, i, j, those of A are read 8 times, and those of C written 24 times, and read 18 times.
    """
    lengths = lengths_of(statement, shapes)
    tile = dict(tiling.steps)
    rounds = {index: -(-lengths[index] // tile[index]) for index in tiling.loops}
    found = []
    for place, operand in enumerate(statement.operands):
        own = [at for at, index in enumerate(tiling.loops) if index in operand.indices]
        visits = math.prod(rounds[index] for index in tiling.loops[: own[-1] + 1]) if own else 1
        window = tuple(tile[index] for index in operand.indices)
        reads, writes = visits, 0
        if place == 0:
            distinct = math.prod(rounds[tiling.loops[at]] for at in own)
            reads, writes = visits if statement.accumulates else visits - distinct, visits
        for direction, count in (("read", reads), ("write", writes)):
            if count > 0:
                found.append(Transfer(operand.array, operand.indices, direction, window, count * statement.times))
    return found

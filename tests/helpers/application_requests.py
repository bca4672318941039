"""The requests of the applications in Fortran and C, by arithmetic: the boxes and the MPI-IO calls of a rank."""

from __future__ import annotations

import math
from typing import Any

Box = tuple[tuple[int, ...], tuple[int, ...]]
"""The first index, and one past the last, of each dimension."""
Call = tuple[str, Any, int]
"""A call of MPI-IO: its function, its place in the file, its bytes. A place is an offset, or the range of the bytes."""
COMPONENTS, FIELDS, NUMBER = 5, 9, 8
FLASH_TREE = {"lrefine": (4, 1), "nodetype": (4, 1), "gid": (4, 15)}
FLASH_TREE |= {"coordinates": (8, 3), "blocksize": (8, 3), "bndbox": (8, 6)}
"""The bytes of a number, and the numbers of a block."""
FLASH_UNKNOWNS = ["dens", "velx", "vely", "velz", "pres", "ener", "temp", "gamc", "game", "enuc", "gpot"]
FLASH_UNKNOWNS += [f"f__{i}" for i in range(1, 10)] + [f"f_{i}" for i in range(10, 14)]
FLASH_PLOTTED = [FLASH_UNKNOWNS[number] for number in (0, 4, 6, 11)]


# ---- BTIO -----------------------------------------------------------------------------------------------------------


def btio_cells(n: int, rank: int, ranks: int) -> list[Box]:
    """The cells of a rank: (z, y, x)."""
    q = math.isqrt(ranks)
    ends = [0]
    for part in range(q):
        ends.append(ends[-1] + n // q + (part < n % q))
    places = [(c, (rank // q - c) % q, (rank % q + c) % q) for c in range(q)]
    return [(tuple(ends[part] for part in place), tuple(ends[part + 1] for part in place)) for place in places]


def btio_boxes(n: int, dump: int, rank: int, ranks: int) -> list[Box]:
    """The boxes of a rank in a dump: (dump, z, y, x, component)."""
    return [((dump, *start, 0), (dump + 1, *stop, COMPONENTS)) for start, stop in btio_cells(n, rank, ranks)]


def btio_simple(n: int, dump: int, rank: int, ranks: int, way: str) -> list[Call]:
    """A call for each row of a cell."""
    calls: list[Call] = []
    for (z0, y0, x0), (z1, y1, x1) in btio_cells(n, rank, ranks):
        for z in range(z0, z1):
            for y in range(y0, y1):
                point = ((dump * n + z) * n + y) * n + x0
                calls.append((f"{way}_at", point * COMPONENTS * NUMBER, (x1 - x0) * COMPONENTS * NUMBER))
    return calls


def btio_full(n: int, dump: int, rank: int, ranks: int, way: str) -> list[Call]:
    """One call for all cells."""
    rows = btio_simple(n, dump, rank, ranks, way)
    return [(f"{way}_at_all", *_together(rows))]


# ---- AST ------------------------------------------------------------------------------------------------------------


def ast_block(cells: tuple[int, int], rank: int, ranks: int) -> Box:
    """The cells of a rank: (y, x)."""
    wide = min(part for part in range(1, ranks + 1) if ranks % part == 0 and part * part >= ranks)
    grid = (wide, ranks // wide)
    place = (rank // grid[1], rank % grid[1])
    (x0, x1), (y0, y1) = (
        (cells[d] * place[d] // grid[d], cells[d] * (place[d] + 1) // grid[d]) for d in range(len(cells))
    )
    return (y0, x0), (y1, x1)


def ast_box(cells: tuple[int, int], dump: int, rank: int, ranks: int) -> Box:
    """The box of a rank in a dump: (dump, field, y, x)."""
    (y0, x0), (y1, x1) = ast_block(cells, rank, ranks)
    return (dump, 0, y0, x0), (dump + 1, FIELDS, y1, x1)


def ast_collective(cells: tuple[int, int], dump: int, rank: int, ranks: int, way: str) -> list[Call]:
    """One call for all fields."""
    (_, _, y0, x0), (_, _, y1, x1) = ast_box(cells, dump, rank, ranks)
    wide, high = cells
    rows: list[Call] = [
        (way, NUMBER * (((dump * FIELDS + field) * high + y) * wide + x0), NUMBER * (x1 - x0))
        for field in range(FIELDS)
        for y in range(y0, y1)
    ]
    return [(f"{way}_at_all", *_together(rows))]


# ---- FLASH ----------------------------------------------------------------------------------------------------------


def flash_variables(kind: str, size: int) -> dict[str, tuple[int, int]]:
    """The variables of a file, "checkpoint", "centres" or "corners", as FLASH_TREE lists those of its tree."""
    points = (size + (kind == "corners")) ** 3
    names = FLASH_UNKNOWNS if kind == "checkpoint" else FLASH_PLOTTED
    return FLASH_TREE | dict.fromkeys(names, (8 if kind == "checkpoint" else 4, points))


def flash_blocks(blocks: int, rank: int, ranks: int) -> tuple[int, int]:
    """The blocks of a rank: the first, and one past the last."""
    return blocks * rank // ranks, blocks * (rank + 1) // ranks


def flash_calls(kind: str, size: int, blocks: int, share: tuple[int, int], function: str) -> list[Call]:
    """A collective call for each variable; by "write_at", a call for each block and variable."""
    first, end = share
    calls: list[Call] = []
    place = 0
    for number, count in flash_variables(kind, size).values():
        of_block = number * count
        if function == "write_at":
            calls += [(function, place + block * of_block, of_block) for block in range(first, end)]
        else:
            calls.append((function, place + first * of_block, (end - first) * of_block))
        place += blocks * of_block
    return calls


def _together(rows: list[Call]) -> tuple[Any, int]:
    """The place and bytes of one call that moves the bytes of all these."""
    rows = sorted(rows, key=lambda row: row[1])
    begin, end, moved = rows[0][1], rows[-1][1] + rows[-1][2], sum(row[2] for row in rows)
    return begin if end - begin == moved else (begin, end), moved

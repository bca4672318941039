"""`JointAdvice`: the best layouts of several arrays for one computation, and its tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from swath.advice.result import LayoutAdvice, Payback, in_seconds
from swath.errors import ArgumentError

MIB = 1 << 20


@dataclass(frozen=True)
class Tiles:
    """The best tiles for a statement.

    Attributes:
        statement: as the caller gave it.
        steps: the length of a tile along each index.
        loops: those with more than one iteration, the outermost first.
        nbytes: the bytes of the tiles that are in memory at the same time.
    """

    statement: str
    steps: Mapping[str, int]
    loops: tuple[str, ...]
    nbytes: int

    def __str__(self) -> str:
        """For people: "tiles of i 512, j 512; loops i, j; 4.0 MiB"."""
        steps = ", ".join(f"{index} {step}" for index, step in self.steps.items())
        loops = f"loops {', '.join(self.loops)}" if self.loops else "all at once"
        return f"tiles of {steps}; {loops}; {self.nbytes / MIB:.1f} MiB"


@dataclass(frozen=True)
class JointAdvice:
    """The best layouts of several arrays together. `str()` is a table; `advice["A"]` is the `LayoutAdvice` of one.

    Attributes:
        arrays: the advice for each, by its name: its layouts are ranked for the advised tiles.
        tiles: for each statement that couples them.
        total: the seconds of all arrays in their advised layouts.
        runner_up: the second best tiles, each as a line of text; and the seconds of all with them. None: no other.
        c_order_total: the seconds of all in C order, with the best tiles for that.
        memory: the bytes for the tiles of a statement.
    """

    arrays: Mapping[str, LayoutAdvice]
    tiles: tuple[Tiles, ...]
    total: float
    runner_up: tuple[tuple[str, ...], float] | None
    c_order_total: float
    memory: int

    def __getitem__(self, name: str) -> LayoutAdvice:
        """Return the advice for one array. Raise ArgumentError, with the names, if there is none."""
        if name not in self.arrays:
            raise ArgumentError(f"advice: no array {name!r}; there are {', '.join(self.arrays)}")
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON; seconds, elements, bytes."""
        return {
            "arrays": {name: one.to_dict() for name, one in self.arrays.items()},
            "tiles": [
                {"statement": one.statement, "steps": dict(one.steps), "loops": list(one.loops), "bytes": one.nbytes}
                for one in self.tiles
            ],
            "total": self.total,
            "runner_up": self.runner_up and {"tiles": list(self.runner_up[0]), "total": self.runner_up[1]},
            "c_order_total": self.c_order_total,
            "memory": self.memory,
        }

    def __repr__(self) -> str:
        return f"<JointAdvice: {'; '.join(f'{name}: {one.best.name}' for name, one in self.arrays.items())}>"

    def __str__(self) -> str:
        lines = [f"{len(self.arrays)} arrays together, {in_seconds(self.total)}"]
        if self.tiles:
            lines[0] += f"; tiles within {self.memory / MIB:.0f} MiB"
        for one in self.tiles:
            lines += ["", f"  {one.statement}", f"    {one}"]
        lines += ["", *(f"  {name}  {one.best.name}" for name, one in self.arrays.items()), ""]
        ratio = self.c_order_total / max(self.total, 1e-12)
        tiles = ", with the tiles that suit it" if self.tiles else ""
        lines.append(f"  all in C order{tiles}: {in_seconds(self.c_order_total)} ({ratio:.1f} x)")
        if self.runner_up is not None:
            which, seconds = self.runner_up
            lines.append(f"  runner-up: {'; '.join(which)}: {in_seconds(seconds)} ({seconds / self.total:.2f} x)")
        for name, advice in self.arrays.items():
            lines += ["", f"{name}: {advice}".rstrip()]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class JointPayback(Payback):
    """The cost and the gain of copying all arrays into their advised layouts. One use is the whole computation."""

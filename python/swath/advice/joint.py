"""`JointAdvice`: the layouts of several arrays that suit one computation, and the tiles that it goes by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from swath.advice.result import LayoutAdvice, Payback, in_seconds
from swath.errors import ArgumentError

MIB = 1 << 20


@dataclass(frozen=True)
class Tiles:
    """The tiles by which a statement is best gone through.

    Attributes:
        statement: as it was given.
        steps: how long a tile is along each index.
        loops: those that go round more than once, the outermost first.
        nbytes: of the tiles that are in memory at once.
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
    """The layouts that suit some arrays together. `str()` is a table; `advice["A"]` is the `LayoutAdvice` of one.

    Attributes:
        arrays: the advice for each, by its name: its layouts are ranked for the tiles that are advised.
        tiles: of each statement that couples them.
        total: seconds of all arrays in the layouts that are advised.
        runner_up: the tiles that come second, each as a line of text; and the seconds of all with them. None: no other.
        c_order_total: seconds of all in C order, with the tiles that suit that best.
        memory: bytes that tiles of a statement may take together.
    """

    arrays: Mapping[str, LayoutAdvice]
    tiles: tuple[Tiles, ...]
    total: float
    runner_up: tuple[tuple[str, ...], float] | None
    c_order_total: float
    memory: int

    def __getitem__(self, name: str) -> LayoutAdvice:
        """Return the advice for one array. Raise ArgumentError that names them."""
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
    """What copies of all arrays into the advised layouts cost together, and gain. A use is the whole computation."""

"""A cell of a paper's table: what the paper says, and how it is simulated."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from swath.simulation.machine import parsed


@dataclasses.dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        paper: which paper.
        table: which table or figure.
        setting: what all methods that are compared have in common: sizes, processors.
        variant: the method, or the distribution with its method.
        theirs: the paper's number; or the position in the paper's order, 1 is the fastest.
        simulated: returns our number.
        unit: the unit of both numbers.
        requests: how many requests programs make, about.
        is_position: whether `theirs` is a position in an order.
        said: the sentence of the paper, where it has no number.
        groups: cells with a common group are compared with each other; none: those of one setting.
    """

    paper: str
    table: str
    setting: str
    variant: str
    theirs: float
    simulated: Callable[[], float]
    unit: str = "s"
    requests: int = 0
    is_position: bool = False
    said: str = ""
    groups: tuple[str, ...] = ()

    def carried_out(self, requests_max: int) -> dict[str, Any]:
        """Return the cell with our number, or with the reason for which it was left out."""
        made = {name.name: getattr(self, name.name) for name in dataclasses.fields(self) if name.name != "simulated"}
        if self.requests > requests_max:
            return {**made, "ours": None, "left_out": f"{self.requests:,} requests"}
        print(f"papers: {self.paper}, {self.table}: {self.setting}, {self.variant}", file=sys.stderr, flush=True)
        return {**made, "ours": self.simulated(), "left_out": None}


def data(name: str) -> Mapping[str, Any]:
    """Return a file of the papers' numbers."""
    path = resources.files("swath_bench.papers") / "data" / f"{name}.toml"
    return parsed(f"swath_bench/papers/data/{name}.toml", path.read_text(encoding="utf-8"))
